//! Debian packages that the tests need, installed by name.

use crate::{Outcome, run};
use std::path::Path;
use std::process::Command;

/// A package and a file that shows it is there.
const NEEDED: [(&str, &str); 4] = [
    ("sysstat", "/usr/lib/sysstat/sadc"),
    ("xz-utils", "/usr/bin/xz"),
    ("chromium", "/usr/bin/chromium"),
    ("fonts-dejavu-core", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"),
];

/// Installs what is missing; does nothing where all is there.
pub fn install() -> Outcome {
    let missing: Vec<&str> =
        NEEDED.iter().filter(|(_, file)| !Path::new(file).exists()).map(|(package, _)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("xtask: installing {}", missing.join(" "));
    let apt = |arguments: &[&str]| {
        run(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let help = |error: String| format!("{error}\nxtask: as root, run: apt-get install {}", missing.join(" "));
    apt(&["update", "-q"]).map_err(help)?;
    apt(&[&["install", "-q", "-y", "--no-install-recommends"][..], &missing].concat()).map_err(help)
}

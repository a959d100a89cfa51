//! Debian packages that the tests need, by name: installed, or, where installing would start a service, only unpacked.

use crate::{Outcome, root, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package and a file that shows it is there.
const NEEDED: [(&str, &str); 7] = [
    ("procps", "/usr/bin/kill"),
    ("e2fsprogs", "/usr/sbin/mkfs.ext4"),
    ("fuse3", "/usr/bin/fusermount3"),
    ("sysstat", "/usr/lib/sysstat/sadc"),
    ("xz-utils", "/usr/bin/xz"),
    ("chromium", "/usr/bin/chromium"),
    ("fonts-dejavu-core", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"),
];

/// Services whose programs the tests run themselves.
const UNPACKED: [(&str, &str); 2] =
    [("prometheus", "usr/bin/prometheus"), ("prometheus-node-exporter", "usr/bin/prometheus-node-exporter")];

/// Where they are unpacked to.
pub fn unpacked() -> PathBuf {
    root().join("target/debian")
}

/// Gets what is missing; does nothing where all is there.
pub fn install() -> Outcome {
    let folder = unpacked();
    let missing: Vec<&str> =
        NEEDED.iter().filter(|(_, file)| !Path::new(file).exists()).map(|(package, _)| *package).collect();
    let services: Vec<&str> = UNPACKED
        .iter()
        .filter(|(_, file)| !folder.join(file).exists())
        .map(|(package, _)| *package)
        .collect();
    if missing.is_empty() && services.is_empty() {
        return Ok(());
    }
    eprintln!("xtask: getting {}", [missing.clone(), services.clone()].concat().join(" "));
    let help = |error: String| format!("{error}\nxtask: as root, run: apt-get install {}", missing.join(" "));
    apt(&["update", "-q"], None).map_err(help)?;
    if !missing.is_empty() {
        apt(&[&["install", "-q", "-y", "--no-install-recommends"][..], &missing].concat(), None)
            .map_err(help)?;
    }
    if !services.is_empty() {
        unpack(&folder, &services)?;
    }
    Ok(())
}

fn apt(arguments: &[&str], folder: Option<&Path>) -> Outcome {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    run(&mut command)
}

fn unpack(folder: &Path, packages: &[&str]) -> Outcome {
    let said = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(said)?;
    apt(&[&["download", "-q"][..], packages].concat(), Some(folder))?;
    for entry in fs::read_dir(folder).map_err(said)?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "deb") {
            run(Command::new("dpkg-deb").arg("--extract").arg(&path).arg(folder))?;
            fs::remove_file(&path).map_err(said)?;
        }
    }
    Ok(())
}

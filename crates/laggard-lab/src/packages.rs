//! Debian packages that the laboratory needs, installed by name when something of theirs is missing.

use crate::host::command;
use std::process::Command;

/// What every bench needs, whatever the file system.
pub const BENCH: [&str; 7] = ["iproute2", "iptables", "ethtool", "fuse3", "e2fsprogs", "procps", "postmark"];

/// Installs those that are not installed yet.
pub fn install(packages: &[&str]) -> Result<(), String> {
    let is_installed = |package: &str| {
        let argv = ["dpkg-query", "-W", "-f", "${Status}", package];
        command::run(&argv).is_ok_and(|status| status.contains("install ok installed"))
    };
    let missing: Vec<&str> = packages.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("laggard-lab: installing {}", missing.join(", "));
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.args(["-q", "-o", "DPkg::Lock::Timeout=300"])
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive");
        let output =
            apt.output().map_err(|error| format!("apt-get: {error}; install {}", missing.join(", ")))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("apt-get: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    };
    let arguments = [&["install", "-y", "--no-install-recommends"][..], &missing].concat();
    // An old list of packages names versions that are gone.
    apt(&arguments).or_else(|_| apt(&["update"]).and_then(|()| apt(&arguments)))
}

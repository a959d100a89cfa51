//! Sources: one file each. A source reads one part of the host and yields tables; it never decides what a value means.
//!
//! Every source takes a root directory, so that a fake machine can be fed to it. A new source is one file and one line in
//! [`sources`].

pub mod address;
pub mod block;
pub mod disk;
pub mod host;
pub mod lustre;
pub mod net;
mod netlink;
pub mod peer;
pub mod tcp;

use crate::config::Config;
use laggard_activity::Table;
use laggard_activity::kind::Kind;
pub use laggard_activity::snapshot::number;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// One source of samples.
pub trait Source: Send {
    /// Its name in the configuration, in reports, and in gaps.
    fn name(&self) -> &'static str;
    /// What it yields.
    fn kinds(&self) -> Vec<&'static Kind>;
    /// Reads what is there now. An error is a gap with a reason; the next second it is asked again.
    fn read(&mut self) -> Result<Vec<Table>, String>;
    /// What it sees, for `laggard-agent check`: one line each.
    fn describe(&mut self) -> Vec<String> {
        match self.read() {
            Ok(tables) => tables.iter().flat_map(|table| &table.names).map(ToString::to_string).collect(),
            Err(_) => Vec::new(),
        }
    }
}

/// The sources that the configuration asks for.
pub fn sources(config: &Config) -> Vec<Box<dyn Source>> {
    let root = &config.root;
    let mut all: Vec<Box<dyn Source>> = Vec::new();
    if config.disk.enabled {
        all.push(Box::new(disk::Disks::new(root, &config.disk)));
    }
    if config.block.enabled {
        all.push(Box::new(block::Block::new(root, &config.disk)));
    }
    if config.net.enabled {
        all.push(Box::new(net::Interfaces::new(root, &config.net)));
    }
    if config.tcp.enabled {
        all.push(Box::new(tcp::Tcp::new(root)));
    }
    if config.peer.enabled() {
        all.push(Box::new(peer::Peers::new(&config.peer)));
        all.push(Box::new(address::Addresses::new(root)));
    }
    if config.lustre.enabled() {
        all.push(Box::new(lustre::Lustre::new(root)));
    }
    if config.host.enabled {
        all.push(Box::new(host::Host::new(root, &config.host)));
    }
    all
}

/// A file of /proc, kept open and read from its start each time.
pub struct ProcFile {
    path: PathBuf,
    file: Option<File>,
    bytes: Vec<u8>,
}

impl ProcFile {
    /// A file below a root.
    pub fn new(root: &Path, path: &str) -> ProcFile {
        ProcFile { path: root.join(path), file: None, bytes: Vec::new() }
    }

    /// Its text now.
    pub fn read(&mut self) -> Result<&str, String> {
        let outcome = self.fill();
        let text = outcome.and_then(|()| std::str::from_utf8(&self.bytes).map_err(std::io::Error::other));
        text.map_err(|error| {
            // Whatever it was, a fresh start is the best next try.
            self.file = None;
            format!("{}: {error}", self.path.display())
        })
    }

    fn fill(&mut self) -> std::io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => File::open(&self.path)?,
        };
        self.bytes.clear();
        loop {
            let filled = self.bytes.len();
            self.bytes.resize(filled.max(4096) * 2, 0);
            let count = file.read_at(&mut self.bytes[filled..], filled as u64)?;
            self.bytes.truncate(filled + count);
            if count == 0 {
                self.file = Some(file);
                return Ok(());
            }
        }
    }
}

/// Whether a name matches a pattern with `*` and `?`.
pub fn matches(pattern: &str, name: &str) -> bool {
    wildmatch::WildMatch::new(pattern).matches(name)
}

#[cfg(test)]
/// A folder of `../shared/data`. Where it is missing the test is skipped, aloud; in CI, where it must be, the test fails.
pub(crate) fn shared_data(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if folder.exists() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing", folder.display());
    eprintln!("skipped: {} is missing", folder.display());
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        assert!(
            matches("sd*", "sda")
                && matches("*", "")
                && matches("nvme?n1", "nvme0n1")
                && matches("*a*", "bab")
        );
        assert!(!matches("sd?", "sdaa") && !matches("sd", "sda") && !matches("", "x"));
    }

    #[test]
    fn a_file_is_read_anew_each_time_and_may_vanish() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "a".repeat(10_000)).unwrap();
        let mut file = ProcFile::new(folder.path(), "x");
        assert_eq!(file.read().unwrap().len(), 10_000);
        std::fs::write(&path, "bc").unwrap();
        assert_eq!(file.read().unwrap(), "bc");
        let mut gone = ProcFile::new(folder.path(), "y");
        assert!(gone.read().unwrap_err().contains("/y: No such file"));
    }
}

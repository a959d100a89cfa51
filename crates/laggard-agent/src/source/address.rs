//! Addresses of this host: /proc/net/fib_trie, /proc/net/if_inet6. Other hosts know this one by them.
//!
//! Cost: next to nothing; they are read once a minute. On a host with a large routing table that is the size of the read.

use super::{ProcFile, Source};
use laggard_activity::Table;
use laggard_activity::kind::{ADDRESS, Kind};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::{Duration, Instant};

const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The host's addresses.
pub struct Addresses {
    fib_trie: ProcFile,
    if_inet6: ProcFile,
    known: Table,
    looked: Option<Instant>,
}

impl Addresses {
    /// The addresses below a root.
    pub fn new(root: &Path) -> Addresses {
        let [fib_trie, if_inet6] =
            ["proc/net/fib_trie", "proc/net/if_inet6"].map(|path| ProcFile::new(root, path));
        Addresses { fib_trie, if_inet6, known: Table::new(&ADDRESS), looked: None }
    }
}

impl Source for Addresses {
    fn name(&self) -> &'static str {
        "address"
    }

    fn kinds(&self) -> Vec<&'static Kind> {
        vec![&ADDRESS]
    }

    fn read(&mut self) -> Result<Vec<Table>, String> {
        if self.looked.is_none_or(|looked| looked.elapsed() > LOOK_AGAIN) {
            // A host may lack either.
            let mut found = local_v4(self.fib_trie.read().unwrap_or(""));
            found.append(&mut local_v6(self.if_inet6.read().unwrap_or("")));
            self.known = Table::new(&ADDRESS);
            for address in found.iter().filter(|address| !address.is_loopback()) {
                self.known.push(address.to_string(), &[1]);
            }
            self.looked = Some(Instant::now());
        }
        Ok(vec![self.known.clone()])
    }
}

/// `|-- 10.0.0.1`, and on the next line `/32 host LOCAL`.
fn local_v4(text: &str) -> BTreeSet<IpAddr> {
    let mut last = None;
    let mut found = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse::<Ipv4Addr>().ok();
        } else if line == "/32 host LOCAL" {
            found.extend(last.map(IpAddr::V4));
        }
    }
    found
}

/// `fe80000000000000… 02 40 20 80 eth0`; addresses of one link only (scope 20) say nothing to others.
fn local_v6(text: &str) -> BTreeSet<IpAddr> {
    let parse = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let bits = u128::from_str_radix(words.next()?, 16).ok()?;
        (words.nth(2)? != "20").then(|| IpAddr::V6(Ipv6Addr::from(bits)))
    };
    text.lines().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_but_not_the_loopback() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/net")).unwrap();
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\nLocal:\n  |-- 10.0.0.1\n     /32 host LOCAL\n  |-- 10.0.0.255\n     /32 link BROADCAST\n  |-- 127.0.0.1\n     /32 host LOCAL\n";
        std::fs::write(root.path().join("proc/net/fib_trie"), trie).unwrap();
        let v6 = "fd000000000000000000000000000001 02 40 00 80 eth0\nfe800000000000000000000000000001 02 40 20 80 eth0\n";
        std::fs::write(root.path().join("proc/net/if_inet6"), v6).unwrap();
        let table = Addresses::new(root.path()).read().unwrap().remove(0);
        let names: Vec<&str> = table.names.iter().map(AsRef::as_ref).collect();
        assert_eq!(names, ["10.0.0.1", "fd00::1"]);
        assert_eq!(Addresses::new(Path::new("/nowhere")).read().unwrap().remove(0).names.len(), 0);
    }
}

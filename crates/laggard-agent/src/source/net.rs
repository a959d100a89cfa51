//! Network interfaces: /proc/net/dev.
//!
//! Cost: one read of /proc/net/dev.

use super::{ProcFile, Source, matches, number};
use crate::config::NetConfig;
use laggard_activity::Table;
use laggard_activity::kind::{Kind, NET};
use std::path::Path;

/// The interfaces of a host.
pub struct Interfaces {
    dev: ProcFile,
    config: NetConfig,
}

impl Interfaces {
    /// The interfaces below a root.
    pub fn new(root: &Path, config: &NetConfig) -> Interfaces {
        // Of this process's own network namespace: /proc/net is a link to it.
        Interfaces { dev: ProcFile::new(root, "proc/net/dev"), config: config.clone() }
    }

    fn is_recorded(config: &NetConfig, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        !any(&config.exclude) && (any(&config.include) || config.include.is_empty() && name != "lo")
    }
}

impl Source for Interfaces {
    fn name(&self) -> &'static str {
        "net"
    }

    fn kind(&self) -> &'static Kind {
        &NET
    }

    fn read(&mut self) -> Result<Table, String> {
        let mut table = Table::new(&NET);
        // Two lines of headings; a name may touch its first number: `eth0:123`.
        for line in self.dev.read()?.lines().skip(2) {
            let Some((name, numbers)) = line.split_once(':') else { continue };
            let values: Vec<i64> = numbers.split_ascii_whitespace().filter_map(number).collect();
            let &[
                rx_bytes,
                rx_packets,
                rx_errors,
                rx_dropped,
                _,
                _,
                _,
                _,
                tx_bytes,
                tx_packets,
                tx_errors,
                tx_dropped,
                ..,
            ] = values.as_slice()
            else {
                continue;
            };
            let name = name.trim();
            if Self::is_recorded(&self.config, name) {
                let row = [
                    rx_bytes, rx_packets, rx_errors, rx_dropped, tx_bytes, tx_packets, tx_errors, tx_dropped,
                ];
                table.push(name, &row);
            }
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0
  eth0:123456 70 1 2 0 0 0 0 654321 60 3 4 0 0 0 0
   ib0: 1 2 3
";

    #[test]
    fn interfaces_but_not_the_loopback() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/net")).unwrap();
        std::fs::write(root.path().join("proc/net/dev"), DEV).unwrap();
        let table = Interfaces::new(root.path(), &NetConfig::default()).read().unwrap();
        assert_eq!(table.names.len(), 1);
        assert_eq!((&*table.names[0], table.row(0)), ("eth0", &[123_456, 70, 1, 2, 654_321, 60, 3, 4][..]));
        let all = NetConfig { include: vec!["*".into()], ..NetConfig::default() };
        assert_eq!(Interfaces::new(root.path(), &all).read().unwrap().names.len(), 2);
    }
}

//! Network interfaces: /proc/net/dev.
//!
//! Cost: one read of /proc/net/dev.

use super::{ProcFile, Source, matches, number};
use crate::config::NetConfig;
use laggard_activity::Table;
use laggard_activity::kind::{Kind, NET};
use std::path::{Path, PathBuf};

/// The interfaces of a host.
pub struct Interfaces {
    dev: ProcFile,
    class: PathBuf,
    config: NetConfig,
    /// The interfaces seen last, and which of them are recorded.
    seen: Vec<String>,
    recorded: Vec<bool>,
}

impl Interfaces {
    /// The interfaces below a root.
    pub fn new(root: &Path, config: &NetConfig) -> Interfaces {
        // Of this process's own network namespace: /proc/net is a link to it.
        let (dev, class) = (ProcFile::new(root, "proc/net/dev"), root.join("sys/class/net"));
        Interfaces { dev, class, config: config.clone(), seen: Vec::new(), recorded: Vec::new() }
    }

    /// By default those with hardware behind them: a bond or a VLAN would count their bytes again. Where there are none, as in
    /// a network namespace, all but the loopback.
    fn is_recorded(&self, name: &str, any_hardware: bool) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        let usual = name != "lo" && (!any_hardware || self.has_hardware(name));
        !any(&self.config.exclude) && (any(&self.config.include) || self.config.include.is_empty() && usual)
    }

    fn has_hardware(&self, name: &str) -> bool {
        self.class.join(name).join("device").exists()
    }
}

impl Source for Interfaces {
    fn name(&self) -> &'static str {
        "net"
    }

    fn kinds(&self) -> Vec<&'static Kind> {
        vec![&NET]
    }

    fn read(&mut self) -> Result<Vec<Table>, String> {
        let text = self.dev.read()?.to_string();
        // Two lines of headings; a name may touch its first number: `eth0:123`.
        let lines = || text.lines().skip(2).filter_map(|line| line.split_once(':'));
        let all: Vec<&str> = lines().map(|(name, _)| name.trim()).collect();
        if all != self.seen {
            let any_hardware = all.iter().any(|name| self.has_hardware(name));
            self.recorded = all.iter().map(|name| self.is_recorded(name, any_hardware)).collect();
            self.seen = all.iter().map(ToString::to_string).collect();
        }
        let mut table = Table::new(&NET);
        for ((name, numbers), _) in lines().zip(&self.recorded).filter(|(_, recorded)| **recorded) {
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
            let row =
                [rx_bytes, rx_packets, rx_errors, rx_dropped, tx_bytes, tx_packets, tx_errors, tx_dropped];
            table.push(name.trim(), &row);
        }
        Ok(vec![table])
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
        let table = Interfaces::new(root.path(), &NetConfig::default()).read().unwrap().remove(0);
        assert_eq!(table.names.len(), 1);
        assert_eq!((&*table.names[0], table.row(0)), ("eth0", &[123_456, 70, 1, 2, 654_321, 60, 3, 4][..]));
        let all = NetConfig { include: vec!["*".into()], ..NetConfig::default() };
        assert_eq!(Interfaces::new(root.path(), &all).read().unwrap().remove(0).names.len(), 2);
        std::fs::create_dir_all(root.path().join("sys/class/net/ib0/device")).unwrap();
        let mut hardware = Interfaces::new(root.path(), &NetConfig::default());
        assert_eq!(
            hardware.read().unwrap().remove(0).names.len(),
            0,
            "eth0 is a bond over ib0, whose line is short"
        );
    }
}

//! TCP of the whole host, retransmissions above all: /proc/net/snmp.
//!
//! Cost: one read of /proc/net/snmp.

use super::{ProcFile, Source, number};
use laggard_activity::kind::{Kind, TCP};
use laggard_activity::{ABSENT, Table};
use std::path::Path;

/// The host's TCP counters.
pub struct Tcp {
    snmp: ProcFile,
}

/// What /proc/net/snmp calls the fields of [`TCP`].
const COLUMNS: [&str; 5] = ["CurrEstab", "InSegs", "OutSegs", "RetransSegs", "InErrs"];

impl Tcp {
    /// TCP below a root.
    pub fn new(root: &Path) -> Tcp {
        Tcp { snmp: ProcFile::new(root, "proc/net/snmp") }
    }
}

impl Source for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn kinds(&self) -> Vec<&'static Kind> {
        vec![&TCP]
    }

    fn read(&mut self) -> Result<Vec<Table>, String> {
        let mut lines = self.snmp.read()?.lines().filter_map(|line| line.strip_prefix("Tcp:"));
        let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
            return Err("proc/net/snmp: no line `Tcp:`".into());
        };
        let pairs: Vec<(&str, &str)> =
            names.split_ascii_whitespace().zip(values.split_ascii_whitespace()).collect();
        let column = |name: &str| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.and_then(|(_, value)| number(value)).unwrap_or(ABSENT)
        };
        let mut table = Table::new(&TCP);
        table.push("tcp", &COLUMNS.map(column));
        Ok(vec![table])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/net")).unwrap();
        let text = "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm RtoMin MaxConn CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts\nTcp: 1 200 -1 7 100 90 3 0 5\n";
        let path = root.path().join("proc/net/snmp");
        std::fs::write(&path, text).unwrap();
        assert_eq!(Tcp::new(root.path()).read().unwrap().remove(0).row(0), [7, 100, 90, 3, 0]);
        std::fs::write(&path, "Tcp: InSegs\nTcp: 5\n").unwrap();
        assert_eq!(
            Tcp::new(root.path()).read().unwrap().remove(0).row(0),
            [ABSENT, 5, ABSENT, ABSENT, ABSENT]
        );
        std::fs::write(&path, "Ip: x\n").unwrap();
        assert!(Tcp::new(root.path()).read().unwrap_err().contains("Tcp:"));
    }
}

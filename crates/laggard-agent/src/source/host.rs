//! CPU, memory and pressure of the whole host, for context: /proc/stat, /proc/meminfo, /proc/pressure.
//!
//! Cost: five small reads. /proc/stat also lists every interrupt, which the kernel must count: on hosts with hundreds of CPUs
//! it is the dearest of them, and `[host] enabled = false` spares it.

use super::{ProcFile, Source, number};
use laggard_activity::kind::{HOST, Kind};
use laggard_activity::{ABSENT, Table};
use std::path::Path;

const MEMORY: [&str; 5] = ["MemTotal:", "MemAvailable:", "Cached:", "Dirty:", "Writeback:"];

/// Pressure: file, and line in it.
const PRESSURE: [(usize, &str); 5] = [(0, "some"), (1, "some"), (1, "full"), (2, "some"), (2, "full")];

/// The whole host.
pub struct Host {
    stat: ProcFile,
    meminfo: ProcFile,
    pressure: [ProcFile; 3],
}

impl Host {
    /// The host below a root.
    pub fn new(root: &Path) -> Host {
        let pressure =
            ["cpu", "io", "memory"].map(|name| ProcFile::new(root, &format!("proc/pressure/{name}")));
        Host {
            stat: ProcFile::new(root, "proc/stat"),
            meminfo: ProcFile::new(root, "proc/meminfo"),
            pressure,
        }
    }
}

impl Source for Host {
    fn name(&self) -> &'static str {
        "host"
    }

    fn kinds(&self) -> Vec<&'static Kind> {
        vec![&HOST]
    }

    fn read(&mut self) -> Result<Vec<Table>, String> {
        let mut row = [ABSENT; 18];
        let stat = self.stat.read()?;
        let ticks =
            stat.lines().find_map(|line| line.strip_prefix("cpu ")).ok_or("proc/stat: no line `cpu`")?;
        row.iter_mut().zip(ticks.split_ascii_whitespace().take(8)).for_each(|(place, word)| {
            *place = number(word).unwrap_or(ABSENT);
        });
        for line in self.meminfo.read()?.lines() {
            let place = MEMORY.iter().position(|name| line.starts_with(name));
            if let Some(place) = place {
                row[8 + place] = line.split_ascii_whitespace().nth(1).and_then(number).unwrap_or(ABSENT);
            }
        }
        // Kernels without pressure accounting have no such files: absent, not a failure.
        let texts = self.pressure.each_mut().map(|file| file.read().unwrap_or("").to_string());
        for (place, (file, line)) in PRESSURE.iter().enumerate() {
            let found = texts[*file].lines().find(|text| text.starts_with(line));
            let total =
                found.and_then(|text| text.rsplit_once("total=")).and_then(|(_, total)| number(total.trim()));
            row[13 + place] = total.unwrap_or(ABSENT);
        }
        let mut table = Table::new(&HOST);
        table.push("host", &row);
        Ok(vec![table])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join("proc").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn cpu_memory_and_pressure() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "stat", "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 1 1 1\nintr 5\n");
        write(
            root.path(),
            "meminfo",
            "MemTotal:  100 kB\nMemFree: 1 kB\nMemAvailable: 60 kB\nCached: 30 kB\nSwapCached: 9 kB\nDirty: 2 kB\nWriteback: 1 kB\nWritebackTmp: 7 kB\n",
        );
        let before = Host::new(root.path()).read().unwrap().remove(0);
        let a = ABSENT;
        assert_eq!(before.row(0), [1, 2, 3, 4, 5, 6, 7, 8, 100, 60, 30, 2, 1, a, a, a, a, a]);
        write(root.path(), "pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n");
        write(root.path(), "pressure/io", "some avg10=0 total=22\nfull avg10=0 total=33\n");
        assert_eq!(Host::new(root.path()).read().unwrap().remove(0).row(0)[13..], [11, 22, 33, a, a]);
        write(root.path(), "stat", "intr 5\n");
        assert!(Host::new(root.path()).read().is_err());
    }
}

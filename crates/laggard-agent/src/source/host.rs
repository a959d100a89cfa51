//! CPU, memory and pressure of the whole host, for context: /proc/stat, /proc/meminfo, /proc/pressure.
//!
//! Cost: five small reads. /proc/stat also lists every interrupt, which the kernel must count: on hosts with hundreds of CPUs
//! it is the dearest of them, and `[host] enabled = false` spares it.
//!
//! A server that runs in a control group is better described by that group: `[host] cgroup`. Seven small reads.

use super::{ProcFile, Source, number};
use crate::config::HostConfig;
use laggard_activity::kind::{HOST, HostField, Kind};
use laggard_activity::{ABSENT, Table};
use std::path::{Path, PathBuf};

const MEMORY: [&str; 5] = ["MemTotal:", "MemAvailable:", "Cached:", "Dirty:", "Writeback:"];

/// Pressure: file, and line in it.
const PRESSURE: [(usize, &str); 5] = [(0, "some"), (1, "some"), (1, "full"), (2, "some"), (2, "full")];

/// Controllers with pressure.
const CONTROLLERS: [&str; 3] = ["cpu", "io", "memory"];

/// Version 1 says so much where there is no limit.
const NO_LIMIT_KB: i64 = 1 << 50;

/// Microseconds of a tick.
const TICK_US: i64 = 10_000;

/// Where CPU and memory stand.
enum Usage {
    /// Of the whole host.
    Host { stat: ProcFile, meminfo: ProcFile },
    /// Of a control group.
    Group { cpu: ProcFile, used: ProcFile, limit: ProcFile, memory: ProcFile },
}

/// The whole host, or a control group of it.
pub struct Host {
    usage: Usage,
    pressure: [ProcFile; 3],
}

impl Host {
    /// The host below a root, or its control group.
    pub fn new(root: &Path, config: &HostConfig) -> Host {
        if config.cgroup.is_empty() {
            let pressure = CONTROLLERS.map(|name| ProcFile::new(root, &format!("proc/pressure/{name}")));
            let (stat, meminfo) = (ProcFile::new(root, "proc/stat"), ProcFile::new(root, "proc/meminfo"));
            return Host { usage: Usage::Host { stat, meminfo }, pressure };
        }
        let folders = config.cgroup.iter().map(|group| root.join(group.strip_prefix("/").unwrap_or(group)));
        let folders: Vec<PathBuf> = folders.collect();
        // The first folder that has a file of one of these names; both versions have names of their own.
        let file = |names: &[&str]| {
            let all = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
            let found = all.clone().find(|path| path.exists()).or_else(|| all.clone().next());
            ProcFile::new(Path::new("/"), &found.unwrap_or_default().display().to_string())
        };
        let usage = Usage::Group {
            cpu: file(&["cpu.stat"]),
            used: file(&["memory.current", "memory.usage_in_bytes"]),
            limit: file(&["memory.max", "memory.limit_in_bytes"]),
            memory: file(&["memory.stat"]),
        };
        Host { usage, pressure: CONTROLLERS.map(|name| file(&[&format!("{name}.pressure")])) }
    }
}

impl Usage {
    /// Fills in what is known of CPU and memory.
    fn read(&mut self, row: &mut [i64]) -> Result<(), String> {
        match self {
            Usage::Host { stat, meminfo } => {
                let stat = stat.read()?;
                let ticks = stat
                    .lines()
                    .find_map(|line| line.strip_prefix("cpu "))
                    .ok_or("proc/stat: no line `cpu`")?;
                row.iter_mut().zip(ticks.split_ascii_whitespace().take(8)).for_each(|(place, word)| {
                    *place = number(word).unwrap_or(ABSENT);
                });
                for line in meminfo.read()?.lines() {
                    let place = MEMORY.iter().position(|name| line.starts_with(name));
                    if let Some(place) = place {
                        row[HostField::MemoryTotalKb.index() + place] =
                            line.split_ascii_whitespace().nth(1).and_then(number).unwrap_or(ABSENT);
                    }
                }
            }
            Usage::Group { cpu, used, limit, memory } => {
                let stat = cpu.read()?;
                let ticks = |name: &str| line_of(stat, name).map_or(ABSENT, |us| us / TICK_US);
                row[HostField::CpuUser.index()] = ticks("user_usec ");
                row[HostField::CpuSystem.index()] = ticks("system_usec ");
                // Without the controller, or without a limit, there is no such share.
                let kb = |file: &mut ProcFile| {
                    file.read().ok().and_then(|text| number(text.trim())).map(|bytes| bytes / 1024)
                };
                let cached = memory.read().ok().and_then(cached).map(|bytes| bytes / 1024);
                let limit = kb(limit).filter(|limit| *limit < NO_LIMIT_KB);
                if let (Some(used), Some(limit), Some(cached)) = (kb(used), limit, cached) {
                    // Pages of files can be given back.
                    row[HostField::MemoryTotalKb.index()] = limit;
                    row[HostField::MemoryCachedKb.index()] = cached;
                    row[HostField::MemoryAvailableKb.index()] = (limit - used + cached).clamp(0, limit);
                }
            }
        }
        Ok(())
    }
}

/// Bytes of files in memory that can be given back, as version 1 or version 2 says it.
fn cached(stat: &str) -> Option<i64> {
    let sum = |a: &str, b: &str| Some(line_of(stat, a)? + line_of(stat, b)?);
    sum("total_active_file ", "total_inactive_file ").or_else(|| sum("active_file ", "inactive_file "))
}

/// The number behind a name at the beginning of a line.
fn line_of(text: &str, name: &str) -> Option<i64> {
    text.lines().find_map(|line| line.strip_prefix(name)).and_then(|text| number(text.trim()))
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
        self.usage.read(&mut row)?;
        // Kernels without pressure accounting have no such files: absent, not a failure.
        let texts = self.pressure.each_mut().map(|file| file.read().unwrap_or("").to_string());
        for (place, (file, line)) in PRESSURE.iter().enumerate() {
            let found = texts[*file].lines().find(|text| text.starts_with(line));
            let total =
                found.and_then(|text| text.rsplit_once("total=")).and_then(|(_, total)| number(total.trim()));
            row[HostField::PressureCpuUs.index() + place] = total.unwrap_or(ABSENT);
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
        let before = Host::new(root.path(), &HostConfig::default()).read().unwrap().remove(0);
        let a = ABSENT;
        assert_eq!(before.row(0), [1, 2, 3, 4, 5, 6, 7, 8, 100, 60, 30, 2, 1, a, a, a, a, a]);
        write(root.path(), "pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n");
        write(root.path(), "pressure/io", "some avg10=0 total=22\nfull avg10=0 total=33\n");
        assert_eq!(
            Host::new(root.path(), &HostConfig::default()).read().unwrap().remove(0).row(0)[13..],
            [11, 22, 33, a, a]
        );
        write(root.path(), "stat", "intr 5\n");
        assert!(Host::new(root.path(), &HostConfig::default()).read().is_err());
    }

    #[test]
    fn a_control_group_in_place_of_the_host() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("sys/fs/cgroup/osd.slice");
        std::fs::create_dir_all(&group).unwrap();
        let config = HostConfig { cgroup: vec!["/sys/fs/cgroup/osd.slice".into()], ..HostConfig::default() };
        assert!(Host::new(root.path(), &config).read().is_err(), "no such group");
        let file = |name: &str, text: &str| std::fs::write(group.join(name), text).unwrap();
        file("cpu.stat", "usage_usec 900000\nuser_usec 600000\nsystem_usec 300000\n");
        file("cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n");
        file("memory.pressure", "some avg10=0 total=22\nfull avg10=0 total=33\n");
        let a = ABSENT;
        let row = Host::new(root.path(), &config).read().unwrap().remove(0).row(0).to_vec();
        assert_eq!(row, [60, a, 30, a, a, a, a, a, a, a, a, a, a, 11, a, a, 22, 33]);
        file("memory.current", "1048576\n");
        file("memory.max", "max\n");
        assert_eq!(Host::new(root.path(), &config).read().unwrap().remove(0).row(0)[8..10], [a, a]);
        file("memory.max", "4194304\n");
        assert_eq!(
            Host::new(root.path(), &config).read().unwrap().remove(0).row(0)[8..10],
            [a, a],
            "not told"
        );
        file("memory.stat", "anon 4096\ninactive_file 262144\nactive_file 262144\n");
        let row = Host::new(root.path(), &config).read().unwrap().remove(0).row(0).to_vec();
        assert_eq!(row[8..11], [4096, 3584, 512], "pages of files can be given back");
        // As systemd's hybrid layout has it: pressure by version 2, memory by version 1.
        let memory = root.path().join("sys/fs/cgroup/memory/osd");
        std::fs::create_dir_all(&memory).unwrap();
        std::fs::write(memory.join("memory.usage_in_bytes"), "2097152\n").unwrap();
        std::fs::write(memory.join("memory.limit_in_bytes"), "4194304\n").unwrap();
        std::fs::write(
            memory.join("memory.stat"),
            "cache 1\ntotal_inactive_file 1048576\ntotal_active_file 0\n",
        )
        .unwrap();
        for name in ["memory.current", "memory.max", "memory.stat"] {
            std::fs::remove_file(group.join(name)).unwrap();
        }
        let both = HostConfig {
            cgroup: vec!["/sys/fs/cgroup/osd.slice".into(), "/sys/fs/cgroup/memory/osd".into()],
            ..HostConfig::default()
        };
        let row = Host::new(root.path(), &both).read().unwrap().remove(0).row(0).to_vec();
        assert_eq!((row[8..11].to_vec(), row[13]), (vec![4096, 3072, 1024], 11));
    }
}

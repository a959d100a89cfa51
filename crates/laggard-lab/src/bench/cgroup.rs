//! A server's own memory and processor, by control groups of either version.
//!
//! Pressure is told by groups of version 2 only. Where both versions are mounted, as systemd's hybrid layout has it, a host has a group
//! of each: version 1 limits it, version 2 says what it waits for.

use super::config::Machine;
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";
/// Where a machine with both versions has the second.
const UNIFIED: &str = "unified";

/// The groups of one host: one folder with version 2, one per controller with version 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    memory: Option<PathBuf>,
    cpu: Option<PathBuf>,
    pressure: Option<PathBuf>,
}

fn is_unified() -> bool {
    Path::new(ROOT).join("cgroup.controllers").exists()
}

fn name(bench: &str, host: &str) -> String {
    format!("laggard-lab_{bench}_{host}")
}

/// All folders of groups that a bench has made.
pub fn of_bench(bench: &str) -> Vec<PathBuf> {
    let parents = ["", "memory", "cpu", UNIFIED].map(|controller| Path::new(ROOT).join(controller));
    let prefix = name(bench, "");
    let entries = parents.iter().filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    ours.map(|entry| entry.path()).collect()
}

/// Removes them; they are empty once the bench's processes are gone.
pub fn remove(bench: &str) -> Result<(), String> {
    for path in of_bench(bench) {
        fs::remove_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

impl Groups {
    /// Makes the groups of a host. A machine without a controller has none: the host is then not limited in it.
    pub fn make(bench: &str, host: &str, machine: &Machine) -> Result<Groups, String> {
        let folder = |controller: &str| {
            let parent = if is_unified() { PathBuf::from(ROOT) } else { Path::new(ROOT).join(controller) };
            let path = parent.join(name(bench, host));
            if parent.join("cgroup.procs").exists() && fs::create_dir_all(&path).is_ok() {
                Some(path)
            } else {
                None
            }
        };
        if is_unified() {
            // Controllers of children have to be asked for; on most machines they already were.
            let _ = fs::write(Path::new(ROOT).join("cgroup.subtree_control"), "+memory +cpu");
        }
        let groups = Groups { memory: folder("memory"), cpu: folder("cpu"), pressure: folder(UNIFIED) };
        let bytes = (machine.memory_mib << 20).to_string();
        let quota = u64::from(machine.cpu_percent) * 1000;
        let limits = if is_unified() {
            vec![(&groups.memory, "memory.max", bytes), (&groups.cpu, "cpu.max", format!("{quota} 100000"))]
        } else {
            vec![
                (&groups.memory, "memory.limit_in_bytes", bytes),
                (&groups.cpu, "cpu.cfs_period_us", "100000".into()),
                (&groups.cpu, "cpu.cfs_quota_us", quota.to_string()),
            ]
        };
        for (group, file, content) in limits {
            let Some(path) = group.as_ref().map(|group| group.join(file)) else { continue };
            // A kernel without the controller's limits still has the group.
            if path.exists() {
                fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        Ok(groups)
    }

    /// Whether the kernel keeps the host to its memory.
    pub fn limits_memory(&self) -> bool {
        let file = if is_unified() { "memory.max" } else { "memory.limit_in_bytes" };
        self.memory.as_ref().is_some_and(|group| group.join(file).exists())
    }

    /// The folders.
    pub fn folders(&self) -> Vec<PathBuf> {
        let all = self.memory.iter().chain(&self.cpu).chain(&self.pressure);
        let mut folders: Vec<PathBuf> = all.cloned().collect();
        folders.dedup();
        folders
    }
}

/// Moves a process into groups.
pub fn enter(folders: &[PathBuf], pid: u32) -> Result<(), String> {
    for folder in folders {
        let path = folder.join("cgroup.procs");
        fs::write(&path, pid.to_string()).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

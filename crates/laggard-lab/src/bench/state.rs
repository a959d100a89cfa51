//! A bench seen from outside: whether it is up, how to get in, how to take it down.
//!
//! No file says that a bench is up: its keeper does, by being there.

use super::keeper::Ready;
use super::layout::{Layout, RUN};
use super::{Config, cgroup};
use crate::host::command::{command, myself};
use crate::host::journal;
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A bench that is up, or coming up.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Its paths.
    pub layout: Layout,
    /// The keeper's process, as seen from here.
    pub keeper: i32,
    started: u64,
}

/// How long a bench is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Until it is taken down.
    UntilDown,
    /// As long as the thread that brought it up.
    OfCaller,
}

/// Where a keeper that could not build its bench says why.
fn failure_log(layout: &Layout) -> PathBuf {
    Path::new(RUN).join(format!("{}.log", layout.name))
}

impl Bench {
    /// All that are up.
    pub fn all() -> Vec<Bench> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let Ok(text) = fs::read_to_string(entry.path().join("cmdline")) else { continue };
            let argv: Vec<&str> = text.split('\0').collect();
            // `unshare`, which started it, has the same words, but another program in front.
            // Anybody can call a process anything; only root's can be a keeper.
            let is_root = entry.metadata().is_ok_and(|known| known.uid() == 0);
            let is_ours = is_root && argv.first().is_some_and(|program| program.ends_with("laggard-lab"));
            if let (true, ["bench", "keep", "--name", name]) = (is_ours, argv.get(1..5).unwrap_or_default()) {
                let started = journal::started(pid).unwrap_or(0);
                found.push(Bench { layout: Layout::new(name), keeper: pid, started });
            }
        }
        found
    }

    /// The one of this name.
    pub fn find(name: &str) -> Option<Bench> {
        Bench::all().into_iter().find(|bench| bench.layout.name == name)
    }

    /// Brings one up, and waits until clients see the file system.
    pub fn up(name: &str, config: &Config, life: Life) -> Result<Bench, String> {
        config.check()?;
        check_name(name)?;
        warn_of_memory(config);
        if Bench::find(name).is_some() {
            return Err(format!("bench {name} is up already; `laggard-lab bench down --name {name}` first"));
        }
        clean(name)?;
        let layout = Layout::new(name);
        let said = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(&layout.root).map_err(|error| said(&layout.root, error))?;
        let log_path = failure_log(&layout);
        let log = fs::File::create(&log_path).map_err(|error| said(&log_path, error))?;
        let begin = match life {
            Life::UntilDown => "setsid",
            Life::OfCaller => "setpriv --pdeathsig KILL",
        };
        let namespaces = "unshare --mount --propagation private --net --pid --fork --kill-child --mount-proc";
        let mut argv: Vec<String> = begin.split(' ').chain(namespaces.split(' ')).map(String::from).collect();
        let text = serde_json::to_string(config).map_err(|error| error.to_string())?;
        argv.extend([myself(), "bench".into(), "keep".into(), "--name".into(), name.into(), text]);
        let mut starting = command(&argv)?;
        let copy = log.try_clone().map_err(|error| said(&log_path, error))?;
        let spawned = starting.stdin(Stdio::null()).stdout(log).stderr(copy).spawn();
        let mut process = spawned.map_err(|error| format!("unshare: {error}"))?;
        let patience = Instant::now() + Duration::from_secs(90);
        loop {
            if let Some(bench) = Bench::find(name)
                && bench.ready().is_ok()
            {
                let _ = fs::remove_file(&log_path);
                return Ok(bench);
            }
            let has_ended = process.try_wait().ok().flatten().is_some();
            if has_ended || Instant::now() > patience {
                let text = fs::read_to_string(&log_path).unwrap_or_default();
                if let Some(bench) = Bench::find(name) {
                    bench.down()?;
                }
                clean(name)?;
                return Err(format!("bench {name} does not come up: {}", text.trim()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A path inside, as seen from here.
    pub fn outside(&self, path: &Path) -> PathBuf {
        Path::new("/proc")
            .join(self.keeper.to_string())
            .join("root")
            .join(path.strip_prefix("/").unwrap_or(path))
    }

    /// What it consists of, once it is up.
    pub fn ready(&self) -> Result<Ready, String> {
        let path = self.outside(&self.layout.root.join("ready.json"));
        let text =
            fs::read_to_string(&path).map_err(|_| format!("bench {} is coming up", self.layout.name))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The command that starts a hand on one of its hosts, in the host's control groups.
    pub fn hand_command(&self, name: &str, groups: &[PathBuf]) -> Vec<String> {
        let namespace = self.outside(&self.layout.namespace(name));
        let mut argv: Vec<String> = vec![
            "nsenter".into(),
            format!("--target={}", self.keeper),
            "--mount".into(),
            "--pid".into(),
            format!("--net={}", namespace.display()),
            "--".into(),
            myself(),
            "hand".into(),
            format!("--journals={}", self.layout.journals().join(name).display()),
        ];
        argv.extend(groups.iter().map(|folder| format!("--group={}", folder.display())));
        argv
    }

    /// Takes it down, and waits until nothing is left.
    pub fn down(&self) -> Result<(), String> {
        journal::kill(self.keeper, self.started, Signal::TERM);
        let (gentle, patience) = (Duration::from_secs(15), Duration::from_secs(30));
        let begun = Instant::now();
        while journal::started(self.keeper) == Some(self.started) {
            if begun.elapsed() > gentle {
                journal::kill(self.keeper, self.started, Signal::KILL);
            }
            if begun.elapsed() > patience {
                return Err(format!("bench {}: its keeper, {}, does not end", self.layout.name, self.keeper));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        clean(&self.layout.name)
    }
}

/// The disks' contents are in memory: when that is short, writes fail, which looks like a fault.
fn warn_of_memory(config: &Config) {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let needed_mib = config.disks_mib();
    if let Some(free_mib) = kib.map(|kib| kib >> 10).filter(|free_mib| *free_mib < needed_mib) {
        eprintln!(
            "laggard-lab: full disks take {needed_mib} MiB of memory, and {free_mib} MiB are available: make disk.size_mib or servers smaller"
        );
    }
}

/// Names are parts of paths.
fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '-';
    if name == "undo" || name.is_empty() || name.len() > 32 || !name.chars().all(is_plain) {
        return Err(format!("`{name}` is no name for a bench: letters, digits and dashes"));
    }
    Ok(())
}

/// Removes what a dead bench leaves: control groups, an empty folder; and waits for its loop devices.
pub fn clean(name: &str) -> Result<(), String> {
    check_name(name)?;
    let layout = Layout::new(name);
    let patience = Instant::now() + Duration::from_secs(15);
    loop {
        let left = left_behind(&layout);
        for device in &left {
            // Killed between attaching and mounting it: nobody else would detach it.
            let _ = crate::host::command::run(&["losetup", "-d", device]);
        }
        let cleaned = cgroup::remove(name);
        if left.is_empty() && cleaned.is_ok() {
            break;
        }
        if Instant::now() > patience {
            let groups = cleaned.err().unwrap_or_default();
            return Err(format!("bench {name}: still there: {} {groups}", left.join(", ")));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = fs::remove_file(failure_log(&layout));
    for folder in [layout.root.as_path(), Path::new(RUN)] {
        // Not empty: another bench has its folder there.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// Loop devices whose file was inside the bench.
pub fn left_behind(layout: &Layout) -> Vec<String> {
    let mark = layout.disk_file("");
    let mut left = Vec::new();
    for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        if file.rsplit('/').next().is_some_and(|name| name.starts_with(&mark)) {
            left.push(format!("/dev/{}", entry.file_name().to_string_lossy()));
        }
    }
    left
}

/// Names of everything that was ever left by a bench that is not up.
pub fn dead() -> Vec<String> {
    let alive: Vec<String> = Bench::all().into_iter().map(|bench| bench.layout.name).collect();
    let mut names: Vec<String> = fs::read_dir(RUN)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().is_dir() && entry.file_name() != "undo")
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| !alive.contains(name));
    names
}

//! `cargo xtask bench`: what collecting and reading cost, side by side with sysstat in one run.

mod collect;
mod day;
mod fsu;
mod read;

use crate::Outcome;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Runs the benchmark that is asked for.
pub fn run(arguments: &[String]) -> Outcome {
    let number =
        |index: usize, usual: u64| arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(usual);
    match arguments.first().map(String::as_str) {
        Some("collect") => collect::run(number(1, 3700)),
        Some("read") => read::run(number(1, 86_400)),
        Some("day") => day::run(number(1, 128), number(2, 72)),
        Some("fsu") => fsu::run(number(1, 30)),
        _ => Err("the benchmarks are `collect [SECONDS]`, `read [SECONDS]`, `day [SERVERS] [DISKS]` and `fsu [DAYS]`".into()),
    }
}

const SADC: &str = "/usr/lib/sysstat/sadc";

/// Where benchmarks keep their data: below target/, never in the repository.
fn folder(name: &str) -> Result<PathBuf, String> {
    let path = crate::root().join("target/bench").join(name);
    fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

fn build() -> Outcome {
    crate::cargo(&["build", "--release", "-p", "laggard-agent", "-p", "laggard"])
}

fn binary(name: &str) -> PathBuf {
    crate::root().join("target/release").join(name)
}

/// CPU time and memory of a process with all its threads.
#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    cpu: Duration,
    peak_kib: u64,
}

impl Usage {
    fn of(process: &Child) -> Usage {
        let proc = PathBuf::from(format!("/proc/{}", process.id()));
        let run_ns = |task: PathBuf| {
            let text = fs::read_to_string(task.join("schedstat")).unwrap_or_default();
            text.split(' ').next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0)
        };
        let tasks = fs::read_dir(proc.join("task")).into_iter().flatten().flatten().map(|task| task.path());
        let status = fs::read_to_string(proc.join("status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak_kib = peak.and_then(|text| text.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0);
        Usage { cpu: Duration::from_nanos(tasks.map(run_ns).sum()), peak_kib }
    }
}

fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |known| known.len())
}

/// Bytes of a file under `xz -1`.
fn size_under_xz(path: &Path) -> Result<u64, String> {
    let mut xz = Command::new("xz")
        .args(["-1", "-c", "-T1"])
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("xz: {error}"))?;
    let packed =
        xz.stdout.take().map_or(0, |mut out| std::io::copy(&mut out, &mut std::io::sink()).unwrap_or(0));
    xz.wait().map_err(|error| error.to_string())?;
    Ok(packed)
}

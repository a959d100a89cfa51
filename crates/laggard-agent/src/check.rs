//! `laggard-agent check`: what it can see here, and what that costs.

use crate::config::Config;
use crate::source;
use laggard_activity::Table;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Sources look up names again so often.
const LOOKS_EACH_S: u32 = 60;
/// Reads of each source, for the mean.
const TRIES: u32 = 20;
const MOST_SHOWN: usize = 8;

/// Prints one paragraph for each source.
pub fn check(config: &Config) -> Result<(), String> {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "host {}, every {} s, into {}",
        config.name,
        config.interval_s,
        config.directory.display()
    );
    let mut total = Duration::ZERO;
    for mut source in source::sources(config) {
        // The first read also looks up names, which is done again each minute.
        let started = cpu();
        let mut outcome = source.read().map(|tables| count(&tables));
        let first = cpu() - started;
        let seen = source.describe();
        let started = (Instant::now(), cpu());
        for _ in 0..TRIES {
            outcome = source.read().map(|tables| count(&tables));
        }
        let (wall, each) = (started.0.elapsed() / TRIES, (cpu() - started.1) / TRIES);
        let cpu = each + first.saturating_sub(each) * config.interval_s / LOOKS_EACH_S;
        total += cpu;
        match outcome {
            Ok(count) => {
                let _ = writeln!(
                    out,
                    "{:<8}{count} seen, {} µs a sample, {:.3} % of a CPU{}",
                    source.name(),
                    wall.as_micros(),
                    percent(cpu, config.interval_s),
                    shown(&seen)
                );
            }
            Err(reason) => {
                let _ = writeln!(out, "{:<8}cannot be read: {reason}", source.name());
            }
        }
    }
    let _ = writeln!(
        out,
        "together {:.3} % of a CPU, {:.1} CPU-seconds a day",
        percent(total, config.interval_s),
        total.as_secs_f64() * 86_400.0 / f64::from(config.interval_s)
    );
    writable(config, &mut out);
    crate::say(&out)
}

fn count(tables: &[Table]) -> usize {
    tables.iter().map(|table| table.names.len()).sum()
}

fn shown(seen: &[String]) -> String {
    if seen.is_empty() {
        return String::new();
    }
    let more = seen.len().saturating_sub(MOST_SHOWN);
    let first = seen[..seen.len() - more].join(", ");
    if more > 0 { format!(": {first} and {more} more") } else { format!(": {first}") }
}

fn percent(cpu: Duration, interval_s: u32) -> f64 {
    cpu.as_secs_f64() * 100.0 / f64::from(interval_s)
}

fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn writable(config: &Config, out: &mut String) {
    let directory = config.directory.display();
    let free =
        rustix::fs::statvfs(&config.directory).map_or(0, |known| (known.f_bavail * known.f_frsize) >> 20);
    let said = match rustix::fs::access(&config.directory, rustix::fs::Access::WRITE_OK) {
        Ok(()) => {
            let short = if free < config.retention.keep_free_mib {
                ": too little, nothing would be written"
            } else {
                ""
            };
            format!("{directory} can be written, {free} MiB free{short}")
        }
        Err(rustix::io::Errno::NOENT) => format!("{directory} is not there yet; `run` makes it if it may"),
        Err(error) => format!("{directory} cannot be written: {error}"),
    };
    let _ = writeln!(out, "{said}");
}

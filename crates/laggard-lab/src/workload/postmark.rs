//! Debian's postmark, again and again until the time is over.

use super::Meter;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What one run of postmark does: little, so that work is counted often enough to see it slow down.
const TRANSACTIONS: u32 = 20;
const FILES: u32 = 20;

/// Works until the time is over.
pub fn run(folder: &Path, streams: usize, seconds: f64) -> Result<(), String> {
    super::run(streams, seconds, &|stream, meter| {
        let folder = folder.join(format!("postmark-{stream}"));
        let said = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(said)?;
        let mut seed = stream;
        while meter.goes_on() {
            seed += streams;
            once(&folder, seed, meter)?;
            meter.add(TRANSACTIONS.into());
        }
        std::fs::remove_dir_all(&folder).map_err(said)
    })
}

fn once(folder: &Path, seed: usize, meter: &Meter) -> Result<(), String> {
    let said = |error: std::io::Error| format!("postmark: {error}");
    let script = format!(
        "set location {}\nset number {FILES}\nset transactions {TRANSACTIONS}\nset seed {seed}\nrun\nquit\n",
        folder.display()
    );
    let spawned = Command::new("postmark").stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let mut process = spawned.map_err(said)?;
    if let Some(mut stdin) = process.stdin.take() {
        stdin.write_all(script.as_bytes()).map_err(said)?;
    }
    loop {
        match process.try_wait().map_err(said)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("postmark: {status}")),
            None if !meter.goes_on() => {
                process.kill().map_err(said)?;
                return process.wait().map(drop).map_err(said);
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

//! The whole day of LISA'13, section 4.4: 128 servers with 72 disks each, a sample a second, from files to the persistence list.

use super::{Usage, binary, build, folder, read, size};
use crate::Outcome;
use laggard_activity::name;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const START_S: i64 = 1_304_899_205;
const DAY_S: u64 = 86_400;

pub fn run(servers: u64, disks: u64) -> Outcome {
    build()?;
    let folder = folder(&format!("day-{servers}-{disks}"))?;
    let (raw, store) = (folder.join("raw"), folder.join("store"));
    generate(&raw, servers, disks)?;
    let bytes: u64 =
        fs::read_dir(&raw).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum();
    println!(
        "{servers} servers, {disks} disks each, {DAY_S} s: {:.2} GB of activity files",
        bytes as f64 / 1e9
    );
    let diagnose = |input: &Path| {
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(binary("laggard")).args(["diagnose", "--method", "cdf"]).arg(input);
        measured(&mut command)
    };
    let (took, usage) = diagnose(&raw)?;
    report("raw files, one core", took, usage);
    if !store.exists() {
        let (took, usage) =
            measured(Command::new(binary("laggard")).arg("import").arg(&raw).arg("--into").arg(&store))?;
        report("import into a store, with summaries", took, usage);
    }
    let (took, usage) = diagnose(&store)?;
    report("store with summaries, one core", took, usage);
    Ok(())
}

pub fn report(what: &str, took: Duration, usage: Usage) {
    println!("{what:<38}{:>8.1} s, peak {:.0} MiB", took.as_secs_f64(), usage.peak_kib as f64 / 1024.0);
}

/// Makes what is missing; each server has numbers of its own.
fn generate(raw: &Path, servers: u64, disks: u64) -> Outcome {
    fs::create_dir_all(raw).map_err(|error| error.to_string())?;
    let make = |server: u64| {
        let host = format!("fs{server:03}");
        let path = raw.join(name::stem(&host, START_S) + ".parquet");
        if path.exists() {
            return Ok(());
        }
        let partial = path.with_extension("parquet-making");
        read::write_server(&partial, &host, server, disks, DAY_S).map_err(|error| error.to_string())?;
        fs::rename(&partial, &path).map_err(|error| error.to_string())
    };
    thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            scope.spawn(move || (0..servers).filter(|server| server % 2 == half).try_for_each(make))
        });
        halves.into_iter().try_for_each(|half| half.join().map_err(|_| "a thread has failed".to_string())?)
    })
}

/// Runs to the end; time and memory.
pub fn measured(command: &mut Command) -> Result<(Duration, Usage), String> {
    let started = Instant::now();
    let mut process =
        command.stdout(Stdio::null()).spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let mut usage = Usage::default();
    loop {
        let now = Usage::of(&process);
        usage.peak_kib = usage.peak_kib.max(now.peak_kib);
        match process.try_wait().map_err(|error| error.to_string())? {
            Some(status) if matches!(status.code(), Some(0 | 1 | 3)) => {
                return Ok((started.elapsed(), usage));
            }
            Some(status) => return Err(format!("{command:?}: {status}")),
            None => thread::sleep(Duration::from_millis(20)),
        }
    }
}

//! One metric of one server-day of 72 disks: activity file and sa file, read by `laggard`, beside `sadf -d` on the same sa file.

use super::{binary, build, folder, size};
use crate::Outcome;
use laggard_activity::kind::DISK;
use laggard_activity::{Origin, Snapshot, Table, TailReader, TailWriter, name, seal};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const DISKS: u64 = 72;
/// 2011-05-09T00:00:05Z.
const START_S: i64 = 1_304_899_205;

pub fn run(seconds: u64) -> Outcome {
    build()?;
    crate::packages::install()?;
    let folder = folder("read")?;
    let sa = folder.join("day.sa");
    let activity = folder.join(name::stem("bench", START_S) + ".parquet");
    let said = |error: std::io::Error| error.to_string();
    write_sa(&sa, seconds).map_err(said)?;
    write_activity(&activity, seconds).map_err(|error| error.to_string())?;
    println!(
        "one server, {DISKS} disks, {seconds} s; sa file {:.0} MB, activity file {:.1} MB",
        size(&sa) as f64 / 1e6,
        size(&activity) as f64 / 1e6
    );
    let sadf = timed(Command::new("sadf").args(["-d", "-U"]).arg(&sa).args(["--", "-d"]))?;
    let ours = |input: &Path| {
        timed(
            Command::new(binary("laggard"))
                .args(["compare", "--method", "thresh", "--metric", "await", "--interval", "15"])
                .arg(input),
        )
    };
    let (from_activity, from_sa) = (ours(&activity)?, ours(&sa)?);
    println!("sadf -d                            {:>8.2} s", sadf.as_secs_f64());
    for (what, took) in
        [("laggard, await, activity file", from_activity), ("laggard, await, sa file natively", from_sa)]
    {
        println!(
            "{what:<35}{:>8.2} s, {:.0} times faster",
            took.as_secs_f64(),
            sadf.as_secs_f64() / took.as_secs_f64()
        );
    }
    Ok(())
}

fn timed(command: &mut Command) -> Result<Duration, String> {
    let started = Instant::now();
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("{command:?}: {error}"))?;
    // Undecided is an answer too.
    match status.code() {
        Some(0 | 1 | 3) => Ok(started.elapsed()),
        _ => Err(format!("{command:?}: {status}")),
    }
}

/// Counters of a disk at a second: a load with a rhythm and noise of its own.
pub fn counters(server: u64, disk: u64, last: &mut [i64; 6], second: u64) {
    let mut seed = (server * 1009 + disk) * 2_654_435_761 + second;
    seed = (seed ^ seed >> 15).wrapping_mul(0x2c1b_3c6d_2c1b_3c6d);
    seed ^= seed >> 29;
    let load = 20 + (second / 600 + disk) % 40;
    let (reads, writes) = ((seed % load) as i64, (seed >> 8) as i64 % (load as i64));
    let work = [
        reads,
        reads * 64,
        reads * (3 + (seed >> 16 & 3) as i64),
        writes,
        writes * 128,
        writes * (5 + (seed >> 20 & 3) as i64),
    ];
    last.iter_mut().zip(work).for_each(|(sum, work)| *sum += work);
}

/// One server's snapshots.
pub fn snapshots(server: u64, disks: u64, seconds: u64) -> impl Iterator<Item = Snapshot> {
    let mut last = vec![[0i64; 6]; disks as usize];
    let names: Vec<std::sync::Arc<str>> = (0..disks).map(|disk| format!("lun{disk:02}").into()).collect();
    (0..seconds).map(move |second| {
        let mut table = Table::new(&DISK);
        for (disk, last) in last.iter_mut().enumerate() {
            counters(server, disk as u64, last, second);
            let [reads, sectors_read, read_ms, writes, sectors_written, write_ms] = *last;
            let mut row = [0; 17];
            row[..8].copy_from_slice(&[
                reads,
                0,
                sectors_read,
                read_ms,
                writes,
                0,
                sectors_written,
                write_ms,
            ]);
            row[9] = read_ms + write_ms;
            table.push(names[disk].clone(), &row);
        }
        Snapshot { time_s: START_S + second as i64, late_ms: 0, tables: vec![table] }
    })
}

/// An activity file as the agent leaves it: an hour in a row group.
pub fn write_server(
    path: &Path,
    host: &str,
    server: u64,
    disks: u64,
    seconds: u64,
) -> Result<(), laggard_activity::Damage> {
    let origin = Origin { host: host.into(), interval_s: 1, kinds: vec![&DISK] };
    write_file(path, &origin, 3600, snapshots(server, disks, seconds))
}

/// An activity file with so many samples in a row group.
pub fn write_file(
    path: &Path,
    origin: &Origin,
    per_group: usize,
    snapshots: impl Iterator<Item = Snapshot>,
) -> Result<(), laggard_activity::Damage> {
    let _ = fs::remove_file(path);
    let tail_path = path.with_extension("tail");
    let mut tail = TailWriter::create(&tail_path, origin.clone(), 0)?;
    let mut pending = Vec::new();
    for (index, snapshot) in snapshots.enumerate() {
        pending.push(snapshot);
        let is_full = (index + 1) % per_group == 0;
        if is_full || pending.len() == 60 {
            tail.append(&pending)?;
            pending.clear();
        }
        if is_full {
            seal::seal(path, &TailReader::open(&tail_path)?)?;
            tail = TailWriter::create(&tail_path, origin.clone(), tail.sequence)?;
        }
    }
    tail.append(&pending)?;
    seal::seal(path, &TailReader::open(&tail_path)?)?;
    fs::remove_file(&tail_path)?;
    Ok(())
}

fn write_activity(path: &Path, seconds: u64) -> Result<(), laggard_activity::Damage> {
    write_server(path, "bench", 0, DISKS, seconds)
}

/// A sa file as sadc 12.6 writes it, with disks only: format 0x2175.
fn write_sa(path: &Path, seconds: u64) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, fs::File::create(path)?);
    let words = |out: &mut BufWriter<fs::File>, words: &[u32]| {
        words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))
    };
    out.write_all(&[0x96, 0xd5, 0x75, 0x21, 12, 6, 1, 0])?;
    words(&mut out, &[336, 0, 1, 1, 12])?;
    out.write_all(&[0; 48])?;
    out.write_all(&(START_S as u64).to_le_bytes())?;
    out.write_all(&100u64.to_le_bytes())?;
    words(&mut out, &[2, 1, 111, 0, 0, 9, 2, 0, 1, 36, 24, 0])?;
    out.write_all(&[9, 4, 8])?;
    for text in ["Linux", "bench", "6.1", "x86_64"] {
        let mut field = text.as_bytes().to_vec();
        field.resize(65, 0);
        out.write_all(&field)?;
    }
    out.write_all(b"UTC\0\0\0\0\0\0")?;
    words(&mut out, &[11, 0x8c, DISKS as u32, 1, 1, 80, 3, 3, 8])?;
    let mut last = vec![[0i64; 6]; DISKS as usize];
    for second in 0..seconds {
        out.write_all(&((100_000 + second) * 100).to_le_bytes())?;
        let time_s = START_S as u64 + second;
        out.write_all(&time_s.to_le_bytes())?;
        words(&mut out, &[0])?;
        out.write_all(&[1, (time_s / 3600 % 24) as u8, (time_s / 60 % 60) as u8, (time_s % 60) as u8])?;
        words(&mut out, &[DISKS as u32])?;
        for (disk, last) in last.iter_mut().enumerate() {
            counters(0, disk as u64, last, second);
            let [reads, sectors_read, read_ms, writes, sectors_written, write_ms] = *last;
            for value in [reads + writes, 0, 0, sectors_read, sectors_written, 0] {
                out.write_all(&value.to_le_bytes())?;
            }
            let busy = (read_ms + write_ms) as u32;
            words(&mut out, &[read_ms as u32, write_ms as u32, busy, busy, 253, disk as u32 + 1, 0, 0])?;
        }
    }
    out.flush()
}

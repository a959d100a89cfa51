//! File System Utilization at the scale of CUG'13: a month of 156 OSTs on 26 servers, every 5 s, from files to the report.

use super::day::{measured, report};
use super::{binary, build, folder, read};
use crate::Outcome;
use laggard_activity::kind::{DISK, TRANSFER};
use laggard_activity::transfer::{BYTES, COUNTS, FIELDS, Row, SIZES, bytes, sum_up};
use laggard_activity::{Origin, Snapshot, Table, name};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

const START_S: i64 = 1_350_864_005;
const DAY_S: u64 = 86_400;
const INTERVAL_S: u64 = 5;
const SERVERS: u64 = 26;
const OSTS: u64 = 6;
/// Seconds for a month, on one core.
const GOAL_S: f64 = 10.0;
/// The paper's Table I.
const COEFFICIENTS: &str =
    "[write]\nlatency_s = 1.04e-3\nper_byte_s = 1.73e-9\n[read]\nlatency_s = 8.02e-4\nper_byte_s = 1.23e-9\n";

pub fn run(days: u64) -> Outcome {
    build()?;
    let folder = folder(&format!("fsu-{days}"))?;
    let raw = folder.join("raw");
    generate(&raw, days)?;
    let coefficients = folder.join("coefficients.toml");
    fs::write(&coefficients, COEFFICIENTS).map_err(|error| error.to_string())?;
    let total: u64 = files(&raw).iter().map(|path| super::size(path)).sum();
    println!(
        "{} OSTs on {SERVERS} servers, {days} days every {INTERVAL_S} s: {:.1} million observations, {:.2} GB",
        SERVERS * OSTS,
        (SERVERS * OSTS * days * DAY_S / INTERVAL_S) as f64 / 1e6,
        total as f64 / 1e9
    );
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(binary("laggard")).args(["fsu", "report"]).arg(&raw);
    command.arg("--coefficients").arg(&coefficients);
    let (took, usage) = measured(&mut command)?;
    report("laggard fsu report, one core", took, usage);
    let goal_s = GOAL_S * days as f64 / 30.0;
    let verdict = if took.as_secs_f64() <= goal_s { "reached" } else { "missed" };
    println!("goal: {goal_s:.1} s, {verdict}");
    Ok(())
}

fn files(raw: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(raw).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Makes what is missing: a file for each server and day.
fn generate(raw: &Path, days: u64) -> Outcome {
    fs::create_dir_all(raw).map_err(|error| error.to_string())?;
    let make = |server: u64| -> Outcome {
        let host = format!("oss{server:02}");
        let mut osts: Vec<Ost> = (0..OSTS).map(|ost| Ost::new(server * OSTS + ost)).collect();
        for day in 0..days {
            let first_s = START_S + (day * DAY_S) as i64;
            let path = raw.join(name::stem(&host, first_s) + ".parquet");
            let partial = path.with_extension("parquet-making");
            let origin =
                Origin { host: host.clone(), interval_s: INTERVAL_S as u32, kinds: vec![&DISK, &TRANSFER] };
            let snapshots = (0..DAY_S / INTERVAL_S).map(|step| {
                // The disks are recorded too, and must not be in the way.
                let mut disks = Table::new(&DISK);
                let mut table = Table::new(&TRANSFER);
                for (disk, ost) in osts.iter_mut().enumerate() {
                    ost.work();
                    table.push(ost.name.as_str(), &ost.counts);
                    let mut row = [0; 17];
                    let [bytes_read, bytes_written] = [0, 1].map(|way| ost.counts[BYTES + way]);
                    row[..8].copy_from_slice(&[
                        bytes_read >> 16,
                        0,
                        bytes_read >> 9,
                        0,
                        bytes_written >> 16,
                        0,
                        bytes_written >> 9,
                        0,
                    ]);
                    disks.push(format!("lun{disk}"), &row);
                }
                // As the agent tells it: nothing within 50 ms.
                let late_ms = if osts[0].chance() < 0.002 { 80 } else { 0 };
                Snapshot { time_s: first_s + (step * INTERVAL_S) as i64, late_ms, tables: vec![disks, table] }
            });
            if path.exists() {
                // The counters go on where that day left them.
                snapshots.for_each(drop);
                continue;
            }
            read::write_file(&partial, &origin, 3600 / INTERVAL_S as usize, snapshots)
                .map_err(|error| error.to_string())?;
            fs::rename(&partial, &path).map_err(|error| error.to_string())?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            scope.spawn(move || (0..SERVERS).filter(|server| server % 2 == half).try_for_each(make))
        });
        halves.into_iter().try_for_each(|half| half.join().map_err(|_| "a thread has failed".to_string())?)
    })
}

/// An OST with the paper's habits: idle a quarter of the time, busy a tenth, most transactions of 4 KiB or 1 MiB.
struct Ost {
    name: String,
    counts: Row,
    state: u64,
    /// How busy, and for how many intervals more.
    spell: (f64, u64),
}

impl Ost {
    fn new(number: u64) -> Ost {
        let mut counts = [0; FIELDS];
        counts[2..4].copy_from_slice(&[8_000_000_000, 1_000_000_000]);
        Ost { name: format!("scratch-OST{number:04x}"), counts, state: number + 1, spell: (0.0, 0) }
    }

    fn chance(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }

    fn work(&mut self) {
        if self.spell.1 == 0 {
            let busy = match self.chance() {
                low if low < 0.26 => 0.002,
                low if low < 0.91 => 0.1,
                _ => 0.7,
            };
            self.spell = (busy, 1 + (self.chance() * 100.0) as u64);
        }
        self.spell.1 -= 1;
        // A restart every ten days or so.
        if self.chance() < 5.0 / 864_000.0 {
            self.counts[COUNTS..].fill(0);
            self.counts[BYTES..BYTES + 2].fill(0);
        }
        let busy = self.spell.0;
        for direction in 0..2 {
            for (size, weight) in (12..).zip([0.4, 0.01, 0.01, 0.01, 0.02, 0.02, 0.02, 0.01, 0.5]) {
                let most = busy * weight * 1000.0;
                let count = (most * 2.0 * self.chance()) as i64;
                let place: usize = size - 9;
                self.counts[COUNTS + direction * SIZES + place] += count;
                // A transaction may be smaller than its size; clients move pages.
                let full = (count * bytes(place) as i64) >> 12;
                let moved = full - (full as f64 * 0.1 * self.chance()) as i64;
                self.counts[BYTES + direction] += moved << 12;
            }
        }
        sum_up(&mut self.counts);
    }
}

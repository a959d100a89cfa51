//! Any recording of raw counters becomes activity files, one for each day.

use crate::activity::{FileInfo, HostFiles};
use crate::counters::Counters;
use laggard_activity::{Damage, Origin, Snapshot, Table, TailReader, TailWriter, name, seal};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const DAY_S: i64 = 86_400;
/// A day's file begins so many seconds after midnight, as the agent's do.
const CYCLE_AT_S: i64 = 5;

/// Writes the days of a recording into a folder; returns the files.
pub fn to_activity(host: &HostFiles, file: &FileInfo, folder: &Path) -> Result<Vec<PathBuf>, Damage> {
    let counters = file.open()?;
    // Ours are taken as they are; only what is still growing is sealed on the way.
    let sealed = name::beside(&file.path, name::SEALED);
    let tail = name::beside(&file.path, name::TAIL);
    if file.held.is_none() && sealed.exists() && !tail.exists() {
        return copy(&sealed, folder);
    }
    let origin = Origin { host: host.name.clone(), ..counters.origin().clone() };
    let mut days: BTreeMap<i64, Day> = BTreeMap::new();
    for segment in 0..counters.segments() {
        for snapshot in snapshots(counters.as_ref(), segment)? {
            let first_s = snapshot.time_s;
            let day = days
                .entry((first_s - CYCLE_AT_S).div_euclid(DAY_S))
                .or_insert_with(|| Day::new(folder, &origin.host, first_s));
            day.pending.push(snapshot);
        }
        days.values_mut().try_for_each(|day| day.seal(&origin))?;
    }
    days.into_values().map(Day::publish).collect()
}

/// Links or copies a sealed file; the same file twice is one file.
fn copy(sealed: &Path, folder: &Path) -> Result<Vec<PathBuf>, Damage> {
    let target = folder.join(sealed.file_name().unwrap_or_default());
    let partial = target.with_extension(format!("{}.partial", std::process::id()));
    let outcome = fs::copy(sealed, &partial).and_then(|_| fs::rename(&partial, &target));
    if outcome.is_err() {
        let _ = fs::remove_file(&partial);
    }
    outcome?;
    Ok(vec![target])
}

/// One day under way.
struct Day {
    target: PathBuf,
    /// Under a name of its own until it is whole.
    scratch: PathBuf,
    pending: Vec<Snapshot>,
    sequence: u64,
}

impl Day {
    fn new(folder: &Path, host: &str, first_s: i64) -> Day {
        let target = folder.join(name::stem(host, first_s) + ".parquet");
        let scratch = target.with_extension(format!("{}.importing", std::process::id()));
        Day { target, scratch, pending: Vec::new(), sequence: 0 }
    }

    fn seal(&mut self, origin: &Origin) -> Result<(), Damage> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let tail = self.scratch.with_extension("tail-importing");
        let mut writer = TailWriter::create(&tail, origin.clone(), self.sequence)?;
        self.pending.chunks(60).try_for_each(|some| writer.append(some))?;
        self.pending.clear();
        self.sequence = writer.sequence;
        let outcome = seal::seal(&self.scratch, &TailReader::open(&tail)?);
        let _ = fs::remove_file(&tail);
        outcome.map(drop)
    }

    fn publish(self) -> Result<PathBuf, Damage> {
        fs::rename(&self.scratch, &self.target)?;
        Ok(self.target)
    }
}

/// All that a segment holds, moment by moment.
fn snapshots(counters: &dyn Counters, segment: usize) -> Result<Vec<Snapshot>, Damage> {
    let mut moments: BTreeMap<i64, (i64, BTreeMap<usize, Table>)> = BTreeMap::new();
    for (order, kind) in counters.origin().kinds.iter().enumerate() {
        let fields: Vec<usize> = (0..kind.fields.len()).collect();
        counters.scan(segment, kind, &fields, &mut |stretch| {
            for (sample, time_s) in stretch.times_s.iter().enumerate() {
                let (late_ms, tables) = moments.entry(*time_s).or_default();
                *late_ms = stretch.late_ms[sample];
                let table = tables.entry(order).or_insert_with(|| Table::new(kind));
                let values: Vec<i64> = stretch.fields.iter().map(|field| field[sample]).collect();
                // Of a second that was recorded twice the last counts.
                match table.names.last().filter(|last| last.as_ref() == stretch.name) {
                    Some(_) => {
                        let end = table.values.len() - kind.fields.len();
                        table.values[end..].copy_from_slice(&values);
                    }
                    None => table.push(stretch.name, &values),
                }
            }
        })?;
    }
    let snapshot = |(time_s, (late_ms, tables)): (i64, (i64, BTreeMap<usize, Table>))| Snapshot {
        time_s,
        late_ms: u32::try_from(late_ms).unwrap_or(0),
        tables: tables.into_values().collect(),
    };
    Ok(moments.into_iter().map(snapshot).collect())
}

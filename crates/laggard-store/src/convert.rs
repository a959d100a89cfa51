//! Any recording of raw counters becomes activity files, one for each day.

use crate::activity::{FileInfo, HostFiles};
use laggard_activity::Counters;
use laggard_activity::parquet::Reader;
use laggard_activity::{Activity, Damage, Origin, Snapshot, Table, TailReader, TailWriter, name, seal};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const DAY_S: i64 = 86_400;
/// A day's file begins so many seconds after midnight, as the agent's do.
const CYCLE_AT_S: i64 = 5;

/// What became of one file.
#[derive(Debug, PartialEq, Eq)]
pub enum Placed {
    /// It is there now, or was already, with at least as much.
    There(PathBuf),
    /// Another recording of the same name is there, and stays.
    Taken(PathBuf),
}

/// Writes the days of a recording into a folder. What is damaged is left out; it was told when the recording was read.
pub fn to_activity(
    host: &HostFiles,
    file: &FileInfo,
    bounds_s: Option<(i64, i64)>,
    folder: &Path,
) -> Result<Vec<Placed>, Damage> {
    let counters = file.open()?;
    // Ours are taken as they are; only what is still growing is sealed on the way.
    let sealed = name::beside(&file.path, name::SEALED);
    let tail = name::beside(&file.path, name::TAIL);
    if file.held.is_none() && bounds_s.is_none() && sealed.exists() && !tail.exists() {
        return Ok(vec![copy(&sealed, folder)?]);
    }
    let (from_s, to_s) = bounds_s.unwrap_or((i64::MIN, i64::MAX));
    let origin = Origin { host: host.name.clone(), ..counters.origin().clone() };
    let mut days: BTreeMap<i64, Day> = BTreeMap::new();
    for segment in 0..counters.segments() {
        let snapshots = match snapshots(counters.as_ref(), segment) {
            Err(Damage::Content(_)) => continue,
            other => other?,
        };
        for snapshot in snapshots.into_iter().filter(|snapshot| (from_s..=to_s).contains(&snapshot.time_s)) {
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

/// Copies a sealed file.
fn copy(sealed: &Path, folder: &Path) -> Result<Placed, Damage> {
    let target = folder.join(sealed.file_name().unwrap_or_default());
    let partial = target.with_extension(format!("{}.partial", std::process::id()));
    let copied = fs::copy(sealed, &partial).and_then(|_| fs::File::open(&partial)?.sync_all());
    copied.map_err(Damage::from).and_then(|()| settle(&partial, target)).inspect_err(|_| {
        let _ = fs::remove_file(&partial);
    })
}

/// Gives a whole file its name, unless one of that name is there that says more, or something else.
fn settle(new: &Path, target: PathBuf) -> Result<Placed, Damage> {
    if target.exists() {
        let (ours, theirs) = (Contents::of(new)?, Contents::of(&target));
        // One that cannot be read is no loss.
        if let Ok(theirs) = theirs {
            let placed = match ours.compare(&theirs) {
                Comparison::SaysMore => None,
                Comparison::SaysLess => Some(Placed::There(target.clone())),
                Comparison::Differs => Some(Placed::Taken(target.clone())),
            };
            if let Some(placed) = placed {
                fs::remove_file(new)?;
                return Ok(placed);
            }
        }
    }
    fs::rename(new, &target)?;
    seal::sync_folder(&target)?;
    Ok(Placed::There(target))
}

enum Comparison {
    SaysMore,
    SaysLess,
    Differs,
}

/// What tells two recordings apart: for each thing its first sample, and how many there are.
struct Contents {
    things: BTreeMap<(&'static str, String), (i64, Vec<i64>, usize)>,
}

impl Contents {
    fn of(path: &Path) -> Result<Contents, Damage> {
        let file = Reader::open(fs::File::open(path)?).map(Activity::from_sealed)?;
        let mut things: BTreeMap<(&'static str, String), (i64, Vec<i64>, usize)> = BTreeMap::new();
        for segment in 0..file.segments() {
            for kind in &file.origin().kinds {
                let fields: Vec<usize> = (0..kind.fields.len()).collect();
                let mut each = |stretch: &laggard_activity::Stretch| {
                    let first = || stretch.fields.iter().map(|field| field[0]).collect();
                    let thing = things
                        .entry((kind.name, stretch.name.to_string()))
                        .or_insert_with(|| (stretch.times_s[0], first(), 0));
                    thing.2 += stretch.times_s.len();
                };
                match file.scan(segment, kind, &fields, &mut each) {
                    Err(Damage::Content(_)) => {}
                    other => other?,
                }
            }
        }
        Ok(Contents { things })
    }

    fn compare(&self, other: &Contents) -> Comparison {
        let begins_alike = self.things.iter().all(|(name, (first_s, values, _))| {
            other.things.get(name).is_none_or(|(other_s, others, _)| first_s != other_s || values == others)
        });
        let covers = |a: &Contents, b: &Contents| {
            b.things.iter().all(|(name, (first_s, _, count))| {
                a.things.get(name).is_some_and(|(known_s, _, known)| known_s <= first_s && known >= count)
            })
        };
        match (begins_alike, covers(self, other), covers(other, self)) {
            (true, true, _) => Comparison::SaysMore,
            (true, false, true) => Comparison::SaysLess,
            _ => Comparison::Differs,
        }
    }
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

    fn publish(self) -> Result<Placed, Damage> {
        settle(&self.scratch, self.target)
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

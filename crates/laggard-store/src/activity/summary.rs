//! Summaries: the same counters every 15 s, which is all that analysis of days needs. They are activity files themselves.
//!
//! A counter keeps its value at the end of a slot, so that no work is lost; sockets keep the sums over the slot. A summary says
//! which state of its file it was made from; one that is missing or older is made again, where the store can be written.

use super::FileInfo;
use laggard_activity::Counters;
use laggard_activity::kind::{Kind, KindId, PeerField};
use laggard_activity::seal;
use laggard_activity::{
    ABSENT, Activity, Damage, Origin, Snapshot, Stretch, Table, TailReader, TailWriter, name,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Seconds of a slot.
pub const INTERVAL_S: i64 = 15;

/// The folder of a store that holds them.
pub const FOLDER: &str = "summaries";

/// Key of a summary: the state of the file it was made from.
const MADE_FROM: &str = "laggard.summary_of_2";

/// Puts a file's summary in its place, made first if need be. In a folder that is not a store, and where that fails, the file
/// itself stays.
pub fn instead(file: &mut FileInfo) {
    if i64::from(file.interval_s) >= INTERVAL_S || file.held.is_some() {
        return;
    }
    let Some(path) = place(&file.path) else { return };
    if let Ok(known) = make(&file.path, &path) {
        *file = known;
    }
}

/// Where the summary of a store's file is.
pub fn place(file: &Path) -> Option<PathBuf> {
    let host = file.parent()?;
    let store = host.parent().filter(|store| store.join(crate::store::MARKER).exists())?;
    Some(store.join(FOLDER).join(name::beside(file, name::SEALED).file_name()?))
}

/// Makes a summary, unless it is there and as new as its file.
pub fn make(file: &Path, summary: &Path) -> Result<FileInfo, Damage> {
    let source = Activity::open(file)?;
    let state = source.fingerprint();
    let info = |known: &Activity| FileInfo {
        path: summary.into(),
        held: None,
        interval_s: INTERVAL_S as u32,
        segments: (0..known.segments()).map(|segment| known.span_s(segment)).collect(),
    };
    if let Ok(known) = Activity::open(summary)
        && known.key(MADE_FROM) == Some(state.as_str())
    {
        return Ok(info(&known));
    }
    fs::create_dir_all(summary.parent().unwrap_or(Path::new(".")))?;
    // Beside its place, under a name of its own: two may be at it at once.
    let scratch = summary.with_extension(format!("{}.making", std::process::id()));
    let outcome = write(&source, &scratch, &state)
        .and_then(|()| Ok(fs::rename(scratch.with_extension("made"), summary)?))
        .and_then(|()| Ok(seal::sync_folder(summary)?));
    for ending in ["tail", "made", "partial"] {
        let _ = fs::remove_file(scratch.with_extension(ending));
    }
    outcome?;
    Ok(info(&Activity::open(summary)?))
}

fn write(source: &Activity, scratch: &Path, state: &str) -> Result<(), Damage> {
    let origin = Origin { interval_s: INTERVAL_S as u32, ..source.origin().clone() };
    let (tail, made) = (scratch.with_extension("tail"), scratch.with_extension("made"));
    let mut sequence = 0;
    let nothing = Damage::Content("nothing in it can be read");
    for segment in 0..source.segments() {
        let mut writer = TailWriter::create(&tail, origin.clone(), sequence)?;
        let snapshots = match last_of_slots(source, segment) {
            // What is damaged is left out; it was told when the file was read.
            Err(Damage::Content(_)) => continue,
            other => other?,
        };
        // One frame for a while: they are read as a whole.
        snapshots.chunks(60).try_for_each(|some| writer.append(some))?;
        sequence = writer.sequence;
        seal::seal_with(&made, &TailReader::open(&tail)?, &[(MADE_FROM, state)])?;
    }
    if sequence == 0 { Err(nothing) } else { Ok(()) }
}

/// The last sample of each slot in a segment, by moment.
fn last_of_slots(source: &Activity, segment: usize) -> Result<Vec<Snapshot>, Damage> {
    let mut moments: BTreeMap<(i64, i64), BTreeMap<usize, Table>> = BTreeMap::new();
    for (order, kind) in source.origin().kinds.iter().enumerate() {
        let fields: Vec<usize> = (0..kind.fields.len()).collect();
        source.scan(segment, kind, &fields, &mut |stretch| {
            for (from, to) in slots(stretch) {
                let moment = (stretch.times_s[to - 1], stretch.late_ms[to - 1]);
                let of_slot = |(field, samples): (usize, &&[i64])| of_slot(kind, field, &samples[from..to]);
                let values: Vec<i64> = stretch.fields.iter().enumerate().map(of_slot).collect();
                let table =
                    moments.entry(moment).or_default().entry(order).or_insert_with(|| Table::new(kind));
                table.push(stretch.name, &values);
            }
        })?;
    }
    let snapshot = |((time_s, late_ms), tables): ((i64, i64), BTreeMap<usize, Table>)| Snapshot {
        time_s,
        late_ms: u32::try_from(late_ms).unwrap_or(0),
        tables: tables.into_values().collect(),
    };
    Ok(moments.into_iter().map(snapshot).collect())
}

/// Ranges of samples that fall into one slot.
fn slots(stretch: &Stretch) -> Vec<(usize, usize)> {
    let slot = |time_s: &i64| time_s.div_euclid(INTERVAL_S);
    let mut ranges = Vec::new();
    let mut from = 0;
    for run in stretch.times_s.chunk_by(|a, b| slot(a) == slot(b)) {
        ranges.push((from, from + run.len()));
        from += run.len();
    }
    ranges
}

/// Windows of sockets are added up, so that their mean stays; what sockets ever sent again only grows.
fn of_slot(kind: &'static Kind, field: usize, samples: &[i64]) -> i64 {
    if kind.id == KindId::Peer && field != PeerField::Retransmits.index() {
        return samples.iter().filter(|value| **value != ABSENT).sum();
    }
    samples.last().copied().unwrap_or(ABSENT)
}

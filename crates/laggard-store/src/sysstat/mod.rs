//! sysstat's `sa` files, read natively: 8.1.3 to 12.7, either byte order, 32 and 64 bits, also `.gz`, `.xz`, `.zst`.
//!
//! The file is walked once to find its hours and what is in them; each hour is then read by itself. There is no checksum and no
//! length in a record, so that the first thing that cannot be right ends the reading: what is before it is used, and said.

pub mod layout;

use crate::problem::FormatError;
use laggard_activity::Counters;
use laggard_activity::kind::{DISK, HOST, Kind, NET, TCP};
use laggard_activity::{ABSENT, Damage, Origin, Stretch};
use layout::{Layout, Listed, Naming, Understood};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

const STATISTICS: [u8; 2] = [1, 3];
const RESTART: u8 = 2;
const COMMENT: u8 = 4;
const LAST_TYPE: u8 = 15;
/// A segment covers so many seconds.
const SEGMENT_S: i64 = 3600;
/// 2001; nothing of sysstat is older. Nor is anything from the year 5138.
const TIMES_S: std::ops::Range<i64> = 1_000_000_000..100_000_000_000;
/// Longer than any machine has been up.
const LONGEST_UPTIME_MS: i64 = 1 << 45;
/// Records are walked in pieces of so many bytes; one that is larger gets a larger piece.
const PIECE: usize = 4 << 20;
/// More than any real record has.
const LARGEST_RECORD: usize = 1 << 28;

#[derive(Debug, Clone)]
struct Segment {
    from: u64,
    to: u64,
    span_s: (i64, i64),
    /// Items of each activity when it begins; a restart may have changed them.
    counts: Vec<u64>,
}

/// A file of sysstat.
#[derive(Debug)]
pub struct Sysstat {
    file: File,
    layout: Layout,
    origin: Origin,
    segments: Vec<Segment>,
    damage: Option<String>,
}

/// One record with statistics.
struct Record<'a> {
    time_s: i64,
    /// Milliseconds since boot.
    uptime_ms: i64,
    /// How many items each activity has.
    counts: Vec<u64>,
    /// The items of each activity that is understood.
    items: Vec<(&'a Listed, &'a [u8])>,
}

impl Sysstat {
    /// Opens a file; fails only if its header cannot be read.
    pub fn open(file: File) -> Result<Sysstat, FormatError> {
        let mut start = vec![0; 1 << 17];
        let length = read_at(&file, &mut start, 0).map_err(|error| error.to_string())?;
        start.truncate(length);
        let layout = layout::parse(&start)?;
        let kinds: Vec<&'static Kind> = [&DISK, &NET, &TCP, &HOST]
            .into_iter()
            .filter(|kind| {
                layout
                    .activities
                    .iter()
                    .filter_map(|listed| listed.understood.as_ref())
                    .any(|known| known.kind.id == kind.id)
            })
            .collect();
        let origin = Origin { host: layout.host.clone(), interval_s: 1, kinds };
        let mut sysstat = Sysstat { file, layout, origin, segments: Vec::new(), damage: None };
        sysstat.find_segments();
        Ok(sysstat)
    }

    fn find_segments(&mut self) {
        let mut segments: Vec<Segment> = Vec::new();
        let mut times = Vec::new();
        let size = self.file.metadata().map_or(0, |known| known.len());
        let counts: Vec<u64> = self.layout.activities.iter().map(|listed| listed.count).collect();
        let walked = self.walk(self.layout.records_at as u64, size, &counts, &mut |record, from, to| {
            times.push(record.time_s);
            let time_s = record.time_s;
            match segments.last_mut().filter(|last| (0..SEGMENT_S).contains(&(time_s - last.span_s.0))) {
                Some(last) => {
                    last.to = to;
                    last.span_s.1 = last.span_s.1.max(time_s);
                }
                None => {
                    let counts = record.counts.clone();
                    segments.push(Segment { from, to, span_s: (time_s, time_s), counts });
                }
            }
        });
        self.damage = walked.err().map(|error| error.to_string());
        let mut steps: Vec<i64> =
            times.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0).collect();
        if !steps.is_empty() {
            let half = steps.len() / 2;
            self.origin.interval_s = u32::try_from(*steps.select_nth_unstable(half).1).unwrap_or(1);
        }
        self.segments = segments;
    }

    /// Visits the records with statistics between two bytes.
    fn walk(
        &self,
        from: u64,
        to: u64,
        counts: &[u64],
        each: &mut dyn FnMut(&Record, u64, u64),
    ) -> Result<(), FormatError> {
        let mut counts = counts.to_vec();
        let mut piece = Vec::new();
        let mut wanted = PIECE;
        let mut at = from;
        while at < to {
            piece.resize(wanted.min(usize::try_from(to - at).unwrap_or(wanted)), 0);
            let filled = read_at(&self.file, &mut piece, at).map_err(|error| error.to_string())?;
            let mut rest = &piece[..filled];
            let mut done = 0;
            loop {
                match self.record(rest, &mut counts) {
                    Step::Whole(length, record) => {
                        let start = at + done as u64;
                        if let Some(record) = record {
                            each(&record, start, start + length as u64);
                        }
                        rest = &rest[length..];
                        done += length;
                    }
                    Step::Short => break,
                    Step::Wrong(what) => {
                        return Err(format!(
                            "at byte {}: {what}; what is before it is used",
                            at + done as u64
                        )
                        .into());
                    }
                }
            }
            if done > 0 {
                wanted = PIECE;
            } else if at + filled as u64 >= to || wanted >= LARGEST_RECORD {
                // The last record of a file under way, or of one that was cut off.
                return Err(
                    format!("at byte {at}: the last record is not whole; what is before it is used").into()
                );
            } else {
                wanted *= 4;
            }
            at += done as u64;
        }
        Ok(())
    }

    fn record<'a>(&'a self, bytes: &'a [u8], counts: &mut [u64]) -> Step<'a> {
        let (layout, order) = (&self.layout, self.layout.order);
        let header = &layout.record;
        if bytes.len() < header.size {
            return Step::Short;
        }
        let record_type = bytes[header.record_type];
        let time_s = order.field(bytes, header.time).unwrap_or(0);
        let uptime_ms =
            order.field(bytes, header.uptime).unwrap_or(0).saturating_mul(10).min(LONGEST_UPTIME_MS);
        if record_type == 0
            || record_type > LAST_TYPE
            || (STATISTICS.contains(&record_type) && !TIMES_S.contains(&time_s))
        {
            return Step::Wrong("no record begins here");
        }
        let mut at = header.size;
        match record_type {
            RESTART if layout.format == 0x2175 => at += 4,
            RESTART => {
                let Some(list) = bytes.get(at..at + 20 * layout.volatile) else { return Step::Short };
                for entry in list.chunks_exact(20) {
                    let (id, count) = (order.u32(entry, 0).unwrap_or(0), order.u32(entry, 8).unwrap_or(0));
                    let known = layout.activities.iter().position(|listed| listed.id == id && count > 0);
                    known.into_iter().for_each(|index| counts[index] = u64::from(count));
                }
                at += list.len();
            }
            COMMENT => at += 64,
            _ => {}
        }
        if header.extra.and_then(|at| order.u32(bytes, at)).is_some_and(|extra| extra != 0) {
            match layout::skip_extra(order, bytes, at) {
                Some(end) => at = end,
                None => return Step::Short,
            }
        }
        if !STATISTICS.contains(&record_type) {
            return if at <= bytes.len() { Step::Whole(at, None) } else { Step::Short };
        }
        let mut items = Vec::new();
        for (listed, count) in layout.activities.iter().zip(counts.iter()) {
            let mut count = *count;
            if listed.has_count {
                let Some(said) = order.u32(bytes, at) else { return Step::Short };
                count = u64::from(said);
                at += 4;
            }
            let length = listed.bytes(count).filter(|length| *length <= LARGEST_RECORD);
            let Some(length) = length else { return Step::Wrong("a number of items that cannot be") };
            let Some(body) = bytes.get(at..at + length) else { return Step::Short };
            if listed.understood.is_some() {
                items.push((listed, body));
            }
            at += length;
        }
        Step::Whole(at, Some(Record { time_s, uptime_ms, counts: counts.to_vec(), items }))
    }
}

/// What was found at the next place.
enum Step<'a> {
    /// A whole record of so many bytes, with its statistics if it has any.
    Whole(usize, Option<Record<'a>>),
    /// More bytes are needed.
    Short,
    /// This cannot be a record.
    Wrong(&'static str),
}

fn read_at(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], at + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// Samples of one thing.
#[derive(Default)]
struct Gathered {
    times_s: Vec<i64>,
    late_ms: Vec<i64>,
    columns: Vec<Vec<i64>>,
}

/// What identifies an item, before it has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Disk(u32, u32, u64, u64, u32),
    Text([u8; 16]),
    Only(&'static str),
}

impl Key {
    /// `None` for a slot that is not used, and for partitions, whose work is their disk's.
    fn read(naming: Naming, item: &[u8], order: layout::Order) -> Option<Key> {
        match naming {
            Naming::Only(name) => Some(Key::Only(name)),
            Naming::Text(at) => {
                let bytes: [u8; 16] = item.get(at..at + 16)?.try_into().ok()?;
                (bytes[0] != 0).then_some(Key::Text(bytes))
            }
            Naming::Disk { major, minor, wwn } => {
                let (major, minor) = (order.u32(item, major)?, order.u32(item, minor)?);
                // What follows the first part of a World Wide Name is only valid if that is there.
                let name = wwn.and_then(|(at, part)| {
                    let wide = |at| order.field(item, (at, 8)).map(|value| value as u64);
                    Some((wide(at)?, wide(at + 8)?, order.u32(item, part)?))
                        .filter(|(first, _, _)| *first != 0)
                });
                let (first, second, part) = name.unwrap_or((0, 0, 0));
                let is_scsi = matches!(major, 8 | 65..=71 | 128..=135);
                let is_partition = part != 0 || is_scsi && minor % 16 != 0;
                (!is_partition && (major, minor) != (0, 0))
                    .then_some(Key::Disk(major, minor, first, second, part))
            }
        }
    }

    fn name(&self) -> String {
        match self {
            Key::Only(name) => (*name).to_string(),
            Key::Text(bytes) => {
                let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
                String::from_utf8_lossy(&bytes[..end]).into_owned()
            }
            Key::Disk(major, minor, 0, _, _) => format!("dev{major}-{minor}"),
            Key::Disk(_, _, first, 0, _) => format!("wwn-0x{first:016x}"),
            Key::Disk(_, _, first, second, _) => format!("wwn-0x{first:016x}{second:016x}"),
        }
    }
}

impl Counters for Sysstat {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn segments(&self) -> usize {
        self.segments.len()
    }

    fn span_s(&self, segment: usize) -> (i64, i64) {
        self.segments.get(segment).map_or((0, 0), |segment| segment.span_s)
    }

    fn scan(
        &self,
        segment: usize,
        kind: &'static Kind,
        fields: &[usize],
        each: &mut dyn FnMut(&Stretch),
    ) -> Result<(), Damage> {
        let Some(segment) = self.segments.get(segment) else { return Ok(()) };
        let mut things: BTreeMap<Key, Gathered> = BTreeMap::new();
        // The clock since boot tells the time between two records better than whole seconds do.
        let mut boot_ms = None;
        let walked = self.walk(segment.from, segment.to, &segment.counts, &mut |record, _, _| {
            let boot = *boot_ms.get_or_insert(record.time_s * 1000 - record.uptime_ms);
            let drift_ms = boot + record.uptime_ms - record.time_s * 1000;
            let late_ms = if drift_ms.abs() < 2000 { drift_ms } else { 0 };
            for (listed, items) in &record.items {
                let Some(known) = listed.understood.as_ref().filter(|known| known.kind.id == kind.id) else {
                    continue;
                };
                // The first item of the CPUs is all of them together.
                let most = if matches!(known.naming, Naming::Only(_)) { 1 } else { usize::MAX };
                for item in items.chunks_exact(listed.size * listed.parts as usize).take(most) {
                    let Some(key) = Key::read(known.naming, item, self.layout.order) else { continue };
                    let thing = things.entry(key).or_default();
                    self.gather(thing, known, item, fields, record.time_s, late_ms);
                }
            }
        });
        walked.map_err(|_| Damage::Content("the records have changed meanwhile"))?;
        for (key, thing) in &things {
            let fields = thing.columns.iter().map(Vec::as_slice).collect();
            each(&Stretch { name: &key.name(), times_s: &thing.times_s, late_ms: &thing.late_ms, fields });
        }
        Ok(())
    }

    fn damaged(&self) -> Vec<String> {
        self.damage.iter().cloned().collect()
    }
}

impl Sysstat {
    fn gather(
        &self,
        thing: &mut Gathered,
        known: &Understood,
        item: &[u8],
        fields: &[usize],
        time_s: i64,
        late_ms: i64,
    ) {
        let order = self.layout.order;
        let value = |field: usize| known.fields[field].and_then(|place| order.field(item, place));
        // A second activity of the same things in the same record, such as their errors, fills in what the first has not.
        let goes_on = thing.times_s.last() == Some(&time_s) && !matches!(known.naming, Naming::Disk { .. });
        if !goes_on {
            thing.times_s.push(time_s);
            thing.late_ms.push(late_ms);
        }
        thing.columns.resize(fields.len(), Vec::new());
        for (column, field) in thing.columns.iter_mut().zip(fields) {
            let found = match (known.queue, known.kind.fields[*field].name) {
                (Some(queue), "queue_extra_ms") => {
                    let spent = ["read_ms", "write_ms", "discard_ms"];
                    let spent: i64 = spent.iter().filter_map(|name| value(known.kind.field(name)?)).sum();
                    order.field(item, queue).map(|queue| queue - spent)
                }
                _ => value(*field),
            };
            match (found, column.last_mut()) {
                (Some(found), Some(last)) if goes_on => *last = found,
                (_, Some(_)) if goes_on => {}
                (found, _) => column.push(found.unwrap_or(ABSENT)),
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! From tail to Parquet: what was sampled becomes one more row group, sorted by kind, thing and time, counters as differences.
//!
//! The new file is written beside the old one, synced and renamed over it: at every moment one whole file is there. Frames are
//! numbered, and the file says up to which number it holds them, so that nothing counts twice if the power goes in between.

use crate::ABSENT;
use crate::kind::{Kind, Nature};
use crate::parquet::read::Damage;
use crate::parquet::{ColumnType, Data, Reader, Writer};
use crate::tail::{Frame, Origin, TailReader, TailWriter};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Keys of the file's metadata.
pub mod key {
    /// Version of this layout.
    pub const VERSION: &str = "laggard.activity";
    /// The host.
    pub const HOST: &str = "laggard.host";
    /// Seconds between samples.
    pub const INTERVAL: &str = "laggard.interval_s";
    /// Number of the last frame sealed.
    pub const SEALED: &str = "laggard.sealed";
    /// For each column its kind, and whether it is a counter: `reads=disk.counter`.
    pub const COLUMNS: &str = "laggard.columns";
}

/// The columns that every row has.
pub const COMMON: [(&str, ColumnType); 5] = [
    ("time", ColumnType::Time),
    ("kind", ColumnType::Text),
    ("name", ColumnType::Text),
    ("base", ColumnType::Flag),
    ("late_ms", ColumnType::Integer),
];

/// Seals the frames of a tail that the file beside it does not hold yet. Returns whether there were any.
pub fn seal(sealed: &Path, tail: &TailReader) -> Result<bool, Damage> {
    seal_with(sealed, tail, &[])
}

/// Seals, and adds these keys to the file's metadata.
pub fn seal_with(sealed: &Path, tail: &TailReader, more: &[(&str, &str)]) -> Result<bool, Damage> {
    let old = match File::open(sealed) {
        Ok(file) => Some(Reader::open(file)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if old.as_ref().is_some_and(|old| old.footer().columns != columns(&tail.origin)) {
        return Err(Damage::Content("the file has other columns than its tail"));
    }
    let done = old.as_ref().map_or(0, sealed_to);
    let frames: Vec<&Frame> = tail.frames.iter().filter(|frame| frame.sequence > done).collect();
    let Some(last) = frames.iter().map(|frame| frame.sequence).max() else { return Ok(false) };
    let partial = sealed.with_extension("partial");
    let outcome = write_partial(&partial, old.as_ref(), tail, &frames, (last, more)).and_then(|()| {
        fs::rename(&partial, sealed)?;
        Ok(sync_folder(sealed)?)
    });
    if outcome.is_err() {
        let _ = fs::remove_file(&partial);
    }
    outcome.map(|()| true)
}

/// Whether a tail can be sealed into a file.
#[derive(Debug, PartialEq, Eq)]
pub enum State {
    /// There is no file yet, or one with the same columns.
    Fits,
    /// The file has other columns.
    OtherColumns,
    /// The file cannot be read.
    Damaged(String),
}

/// Looks at the file that a tail is to be sealed into.
pub fn state(sealed: &Path, tail: &TailReader) -> State {
    match File::open(sealed).map_err(Damage::from).and_then(Reader::open) {
        Ok(old) if old.footer().columns == columns(&tail.origin) => State::Fits,
        Ok(_) => State::OtherColumns,
        Err(Damage::Io(error)) if error.kind() == io::ErrorKind::NotFound => State::Fits,
        Err(damage) => State::Damaged(damage.to_string()),
    }
}

/// Replaces a sealed tail by a new one, which starts with the last seconds of the old so that followers miss nothing.
/// `sequence` is the number of the last frame written, also if that one cannot be read any more.
pub fn renew(path: &Path, old: &TailReader, sequence: u64, seconds: i64) -> io::Result<TailWriter> {
    let newest = old.frames.last().and_then(|frame| frame.times_s.last()).copied().unwrap_or(0);
    let partial = path.with_extension("renewed");
    let outcome = TailWriter::create(&partial, old.origin.clone(), sequence).and_then(|mut tail| {
        for frame in &old.frames {
            if frame.times_s.iter().any(|time| (newest - seconds..=newest).contains(time)) {
                tail.append_frames(&old.bytes(frame)?)?;
            }
        }
        tail.sync()?;
        fs::rename(&partial, path)?;
        sync_folder(path)?;
        Ok(tail)
    });
    if outcome.is_err() {
        let _ = fs::remove_file(&partial);
    }
    outcome
}

/// Makes a new name survive the power, too.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// Number of the last frame that a file holds.
pub fn sealed_to(file: &Reader) -> u64 {
    file.footer().keys.get(key::SEALED).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn write_partial(
    partial: &Path,
    old: Option<&Reader>,
    tail: &TailReader,
    frames: &[&Frame],
    (last, more): (u64, &[(&str, &str)]),
) -> Result<(), Damage> {
    let out = BufWriter::with_capacity(1 << 16, File::create(partial)?);
    let mut writer = match old {
        Some(old) => go_on(old, out)?,
        None => Writer::new(out, columns(&tail.origin))?,
    };
    Batch::new(tail, frames).write(&mut writer)?;
    let more = more.iter().map(|(key, value)| ((*key).to_string(), (*value).to_string()));
    let out = writer.finish(keys(&tail.origin, last).into_iter().chain(more))?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(())
}

/// Copies the row groups that are sealed already: same bytes, same places.
fn go_on(old: &Reader, mut out: BufWriter<File>) -> io::Result<Writer<BufWriter<File>>> {
    let end = old.data_end();
    let mut source = old.file().try_clone()?;
    io::Seek::seek(&mut source, io::SeekFrom::Start(0))?;
    out.flush()?;
    io::copy(&mut io::Read::take(source, end), out.get_mut())?;
    Writer::after(out, end, old.footer().clone())
}

/// All columns of a host's files.
pub fn columns(origin: &Origin) -> Vec<(String, ColumnType)> {
    let fields = origin.kinds.iter().flat_map(|kind| kind.fields);
    let common = COMMON.iter().map(|(name, kind)| ((*name).to_string(), *kind));
    common.chain(fields.map(|field| (field.name.to_string(), ColumnType::MaybeInteger))).collect()
}

fn keys(origin: &Origin, last: u64) -> Vec<(String, String)> {
    let nature = |nature: Nature| if nature == Nature::Counter { "counter" } else { "gauge" };
    let column = |kind: &&'static Kind| {
        let kind = *kind;
        kind.fields.iter().map(move |field| format!("{}={}.{}", field.name, kind.name, nature(field.nature)))
    };
    let columns: Vec<String> = origin.kinds.iter().flat_map(column).collect();
    let pairs = [
        (key::VERSION, "1".to_string()),
        (key::HOST, origin.host.clone()),
        (key::INTERVAL, origin.interval_s.to_string()),
        (key::SEALED, last.to_string()),
        (key::COLUMNS, columns.join(",")),
    ];
    pairs.map(|(key, value)| (key.to_string(), value)).to_vec()
}

/// Where the rows of each thing go: all of one kind, in the order of their names.
struct Layout {
    kind: &'static Kind,
    /// First row and number of rows of each thing.
    things: BTreeMap<Arc<str>, (usize, usize)>,
    rows: usize,
}

/// Frames to be sealed. Only one column is in memory at a time.
struct Batch<'a> {
    tail: &'a TailReader,
    frames: &'a [&'a Frame],
    layouts: Vec<Layout>,
}

impl<'a> Batch<'a> {
    fn new(tail: &'a TailReader, frames: &'a [&'a Frame]) -> Self {
        let kinds = tail.origin.kinds.iter();
        let mut layouts: Vec<Layout> =
            kinds.map(|kind| Layout { kind, things: BTreeMap::new(), rows: 0 }).collect();
        for frame in frames {
            for table in &frame.tables {
                let known = layouts.iter_mut().find(|layout| layout.kind.id == table.kind.id);
                let Some(layout) = known else { continue };
                for name in table.names.iter() {
                    layout.things.entry(name.clone()).or_default().1 += frame.times_s.len();
                }
            }
        }
        for layout in &mut layouts {
            for (first, count) in layout.things.values_mut() {
                *first = layout.rows;
                layout.rows += *count;
            }
        }
        layouts.retain(|layout| layout.rows > 0);
        Batch { tail, frames, layouts }
    }

    fn write<W: Write>(&self, writer: &mut Writer<W>) -> Result<(), Damage> {
        let rows: usize = self.layouts.iter().map(|layout| layout.rows).sum();
        let all = [(true, rows)];
        let things = || self.layouts.iter().flat_map(|layout| &layout.things);
        // Where each thing begins, time does too.
        let begins: Vec<usize> =
            things().scan(0, |next, (_, (_, count))| Some(std::mem::replace(next, *next + count))).collect();
        writer.column(&Data::Integers(&self.of_frames(|frame| &frame.times_s, 1000), &all, &begins))?;
        let kinds: Vec<&str> = self.layouts.iter().map(|layout| layout.kind.name).collect();
        let counts = self.layouts.iter().map(|layout| layout.rows);
        writer.column(&Data::Texts(&kinds, &repeated(counts)))?;
        let names: Vec<&str> = things().map(|(name, _)| name.as_ref()).collect();
        writer.column(&Data::Texts(&names, &repeated(things().map(|(_, (_, count))| *count))))?;
        let mut base = vec![false; rows];
        begins.iter().for_each(|row| base[*row] = true);
        writer.column(&Data::Flags(&base))?;
        drop(base);
        writer.column(&Data::Integers(&self.of_frames(|frame| &frame.late_ms, 1), &all, &[]))?;
        for kind in &self.tail.origin.kinds {
            for field in 0..kind.fields.len() {
                self.write_field(kind, field, rows, writer)?;
            }
        }
        writer.end_group()?;
        Ok(())
    }

    fn write_field<W: Write>(
        &self,
        kind: &'static Kind,
        field: usize,
        rows: usize,
        writer: &mut Writer<W>,
    ) -> Result<(), Damage> {
        let mut before = 0;
        for layout in &self.layouts {
            if layout.kind.id == kind.id {
                let mut values = self.values(layout, field)?;
                if kind.fields[field].nature == Nature::Counter {
                    layout
                        .things
                        .values()
                        .for_each(|(first, count)| difference(&mut values[*first..][..*count]));
                }
                let mut present = vec![(false, before)];
                present.extend(
                    values
                        .chunk_by(|a, b| (*a == ABSENT) == (*b == ABSENT))
                        .map(|run| (run[0] != ABSENT, run.len())),
                );
                present.push((false, rows - before - layout.rows));
                values.retain(|value| *value != ABSENT);
                // Of each thing, first the value itself, then differences.
                let firsts = layout.things.values().map(|(first, _)| before + first);
                let cuts: Vec<usize> = firsts.flat_map(|first| [first, first + 1]).collect();
                return Ok(writer.column(&Data::Integers(&values, &present, &cuts))?);
            }
            before += layout.rows;
        }
        Ok(writer.column(&Data::Integers(&[], &[(false, rows)], &[]))?)
    }

    /// A field of all things of a kind, thing after thing.
    fn values(&self, layout: &Layout, field: usize) -> Result<Vec<i64>, Damage> {
        let mut values = vec![ABSENT; layout.rows];
        let mut next: BTreeMap<&str, usize> =
            layout.things.iter().map(|(name, (first, _))| (name.as_ref(), *first)).collect();
        for frame in self.frames {
            for table in frame.tables.iter().filter(|table| table.kind.id == layout.kind.id) {
                let column = self.tail.column(frame, table, field)?;
                for (name, samples) in table.names.iter().zip(column.chunks(frame.times_s.len())) {
                    let Some(row) = next.get_mut(name.as_ref()) else { continue };
                    values[*row..][..samples.len()].copy_from_slice(samples);
                    *row += samples.len();
                }
            }
        }
        Ok(values)
    }

    /// Something that each sample has once, for every row.
    fn of_frames(&self, what: impl Fn(&Frame) -> &Vec<i64>, factor: i64) -> Vec<i64> {
        let mut values = vec![0; self.layouts.iter().map(|layout| layout.rows).sum()];
        let mut before = 0;
        for layout in &self.layouts {
            let mut next: BTreeMap<&str, usize> =
                layout.things.iter().map(|(name, (first, _))| (name.as_ref(), before + first)).collect();
            for frame in self.frames {
                for table in frame.tables.iter().filter(|table| table.kind.id == layout.kind.id) {
                    for name in table.names.iter() {
                        let Some(row) = next.get_mut(name.as_ref()) else { continue };
                        for value in what(frame) {
                            values[*row] = value.saturating_mul(factor);
                            *row += 1;
                        }
                    }
                }
            }
            before += layout.rows;
        }
        values
    }
}

/// 0 as often as the first count says, then 1 as often as the second, and so on.
fn repeated(counts: impl Iterator<Item = usize>) -> Vec<u32> {
    counts.enumerate().flat_map(|(index, count)| std::iter::repeat_n(index as u32, count)).collect()
}

/// Each value less the one before it; what follows an absent one stays as it is.
pub(crate) fn difference(values: &mut [i64]) {
    let mut last = ABSENT;
    for value in values {
        let now = *value;
        if now != ABSENT && last != ABSENT {
            *value = now.wrapping_sub(last);
            // The one number that means absent: such a step is told as the next best.
            if *value == ABSENT {
                *value += 1;
            }
        }
        last = now;
    }
}

/// The reverse of the difference in a sealed column.
pub fn accumulate(values: &mut [i64]) {
    let mut last = ABSENT;
    for value in values {
        if *value != ABSENT && last != ABSENT {
            *value = last.wrapping_add(*value);
        }
        last = *value;
    }
}

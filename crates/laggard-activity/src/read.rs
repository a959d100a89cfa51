//! Reads an activity file: what is sealed, then what is in the tail, as raw counters.

use crate::counters::Counters;
use crate::growth::{self, Growth, Rows};
use crate::kind::{Kind, Nature};
use crate::parquet::Reader;
use crate::parquet::read::{Damage, Fingerprint, Piece};
use crate::seal::{self, key};
use crate::tail::{Frame, Origin, TailReader};
use crate::{ABSENT, name};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One thing over one stretch of time: what it is called, when it was sampled, and the fields asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch<'a> {
    /// The thing's name.
    pub name: &'a str,
    /// The seconds that the samples stand for, in the order they were taken.
    pub times_s: &'a [i64],
    /// How much later each was taken, in milliseconds.
    pub late_ms: &'a [i64],
    /// Raw values of each field asked for; [`ABSENT`] where there was none.
    pub fields: Vec<&'a [i64]>,
}

/// Something that a segment holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thing {
    /// What it is.
    pub kind: &'static Kind,
    /// Its name.
    pub name: String,
    /// When it was first seen.
    pub first_s: i64,
    /// How often.
    pub samples: usize,
}

/// Where a part of a file is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// Which file.
    pub path: PathBuf,
    /// What cannot be read, and why.
    pub message: String,
}

/// An activity file, open for reading. It may still grow.
pub struct Activity {
    sealed: Option<Reader>,
    tail: Option<TailReader>,
    origin: Origin,
    /// What could not be read at all.
    pub damaged: Vec<Damaged>,
}

impl Activity {
    /// Opens what belongs to one name: `X.parquet`, `X.tail`, or both. Fails only if neither can be read.
    pub fn open(path: &Path) -> Result<Activity, Damage> {
        let mut damaged = Vec::new();
        let mut failure = None;
        // The tail first: what is sealed meanwhile is then in both, and counted once.
        let tail_path = name::beside(path, name::TAIL);
        let mut tail = present(TailReader::open(&tail_path), &tail_path, &mut damaged, &mut failure);
        let sealed_path = name::beside(path, name::SEALED);
        let opened =
            File::open(&sealed_path).map_err(Damage::from).and_then(Reader::open).and_then(of_this_version);
        let sealed = present(opened, &sealed_path, &mut damaged, &mut failure);
        if let (Some(sealed), Some(tail)) = (&sealed, &mut tail) {
            let done = seal::sealed_to(sealed);
            tail.frames.retain(|frame| frame.sequence > done);
        }
        if let Some(tail) = &tail {
            let stretches = tail.damaged.iter();
            damaged.extend(stretches.map(|(offset, what)| Damaged {
                path: tail_path.clone(),
                message: format!("at byte {offset}: {what}; the seconds before and after it are used"),
            }));
        }
        let origin = match (&tail, &sealed) {
            (Some(tail), _) => tail.origin.clone(),
            (None, Some(sealed)) => origin(sealed),
            (None, None) => return Err(failure.unwrap_or(Damage::Content("nothing there"))),
        };
        Ok(Activity { sealed, tail, origin, damaged })
    }

    /// One sealed file by itself, whatever it is called.
    pub fn from_sealed(sealed: Reader) -> Activity {
        let origin = origin(&sealed);
        Activity { sealed: Some(sealed), tail: None, origin, damaged: Vec::new() }
    }

    /// A key of the sealed part's metadata.
    pub fn key(&self, key: &str) -> Option<&str> {
        self.sealed.as_ref().and_then(|sealed| sealed.footer().keys.get(key)).map(String::as_str)
    }

    /// What tells this state of the file from any other: checksums of all that is sealed, and how far the tail has come.
    pub fn fingerprint(&self) -> String {
        let chunks =
            self.sealed.iter().flat_map(|sealed| &sealed.footer().groups).flat_map(|group| &group.chunks);
        let mut hasher = crc32fast::Hasher::new();
        chunks.for_each(|chunk| {
            hasher.update(&[chunk.crc, chunk.length as u32].map(u32::to_le_bytes).concat());
        });
        let tail = self.tail.iter().flat_map(|tail| &tail.frames).last().map_or(0, |frame| frame.sequence);
        format!("{:08x}-{}-{tail}", hasher.finalize(), self.groups())
    }

    fn groups(&self) -> usize {
        self.sealed.as_ref().map_or(0, |sealed| sealed.footer().groups.len())
    }
}

impl Counters for Activity {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn segments(&self) -> usize {
        self.groups() + usize::from(self.tail.as_ref().is_some_and(|tail| !tail.frames.is_empty()))
    }

    fn span_s(&self, segment: usize) -> (i64, i64) {
        if let Some(group) = self.sealed.as_ref().and_then(|sealed| sealed.footer().groups.get(segment)) {
            return (group.span_ms.0.div_euclid(1000), group.span_ms.1.div_euclid(1000));
        }
        let times = || self.tail.iter().flat_map(|tail| &tail.frames).flat_map(|frame| &frame.times_s);
        (times().min().copied().unwrap_or(0), times().max().copied().unwrap_or(0))
    }

    fn inventory(&self, segment: usize) -> Result<Vec<Thing>, Damage> {
        match (&self.sealed, &self.tail) {
            (Some(sealed), _) if segment < self.groups() => inventory_of_group(sealed, segment),
            (_, Some(tail)) => inventory_of_tail(tail),
            _ => Ok(Vec::new()),
        }
    }

    fn scan(
        &self,
        segment: usize,
        kind: &'static Kind,
        fields: &[usize],
        each: &mut dyn FnMut(&Stretch),
    ) -> Result<(), Damage> {
        match (&self.sealed, &self.tail) {
            (Some(sealed), _) if segment < self.groups() => scan_group(sealed, segment, kind, fields, each),
            (_, Some(tail)) => scan_tail(tail, kind, fields, each),
            _ => Ok(()),
        }
    }

    fn growth(
        &self,
        segment: usize,
        kind: &'static Kind,
        fields: &[usize],
        to: &mut dyn Growth,
    ) -> Result<(), Damage> {
        match &self.sealed {
            Some(sealed) if segment < self.groups() => growth_of_group(sealed, segment, kind, fields, to),
            _ => growth::from_values(fields, |each| self.scan(segment, kind, fields, each), to),
        }
    }

    fn damaged(&self) -> Vec<String> {
        let found = self.damaged.iter();
        found.map(|damaged| format!("{}: {}", damaged.path.display(), damaged.message)).collect()
    }
}

/// A later layout must not be taken for this one.
fn of_this_version(file: Reader) -> Result<Reader, Damage> {
    match file.footer().keys.get(key::VERSION).map(String::as_str) {
        Some("1") => Ok(file),
        _ => Err(Damage::Content("an activity file of a later version; read it with a later laggard")),
    }
}

fn present<T>(
    opened: Result<T, Damage>,
    path: &Path,
    damaged: &mut Vec<Damaged>,
    failure: &mut Option<Damage>,
) -> Option<T> {
    match opened {
        Ok(found) => Some(found),
        Err(Damage::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            damaged.push(Damaged { path: path.into(), message: error.to_string() });
            *failure = Some(error);
            None
        }
    }
}

fn origin(sealed: &Reader) -> Origin {
    let keys = &sealed.footer().keys;
    let has =
        |kind: &&'static Kind| kind.fields.iter().any(|field| sealed.column_index(field.name).is_some());
    Origin {
        host: keys.get(key::HOST).cloned().unwrap_or_default(),
        interval_s: keys.get(key::INTERVAL).and_then(|text| text.parse().ok()).unwrap_or(1),
        kinds: crate::kind::KINDS.iter().copied().filter(has).collect(),
    }
}

fn inventory_of_group(sealed: &Reader, group: usize) -> Result<Vec<Thing>, Damage> {
    let column = |name: &str| sealed.column_index(name).ok_or(Damage::Content("a column is missing"));
    let (kinds, kind_runs) = sealed.text_runs(group, column("kind")?)?;
    let (names, name_runs) = sealed.text_runs(group, column("name")?)?;
    let begins = name_runs.iter().scan(0, |next, (_, count)| Some(std::mem::replace(next, *next + count)));
    let mut begins = begins.peekable();
    let mut first_ms = Vec::with_capacity(name_runs.len());
    let all = 0..name_runs.iter().map(|(_, count)| count).sum();
    pieces_of(sealed, group, column("time")?, &all, &mut |from, piece| {
        while let Some(row) = begins.next_if(|row| *row < from + piece.rows()) {
            first_ms.push(piece.split(row - from).1.first());
        }
    })?;
    let mut things = Vec::new();
    let mut kind_runs = kind_runs.into_iter();
    let (mut kind, mut kind_ends) = (None, 0);
    let mut row = 0;
    for (index, (name, samples)) in name_runs.into_iter().enumerate() {
        while row >= kind_ends {
            let Some((of, count)) = kind_runs.next() else { return Ok(things) };
            (kind, kind_ends) = (Kind::parse(&kinds[of as usize]), kind_ends + count);
        }
        if let Some(kind) = kind {
            let first_s = first_ms.get(index).map_or(0, |time| time.div_euclid(1000));
            things.push(Thing { kind, name: names[name as usize].clone(), first_s, samples });
        }
        row += samples;
    }
    Ok(things)
}

fn inventory_of_tail(tail: &TailReader) -> Result<Vec<Thing>, Damage> {
    let mut things = Vec::new();
    for kind in &tail.origin.kinds {
        scan_tail(tail, kind, &[], &mut |stretch| {
            let first_s = stretch.times_s.first().copied().unwrap_or(0);
            let (name, samples) = (stretch.name.to_string(), stretch.times_s.len());
            things.push(Thing { kind, name, first_s, samples });
        })?;
    }
    Ok(things)
}

/// The rows of one kind in one row group.
struct KindRows {
    /// Where they are, among all rows.
    range: Range<usize>,
    names: Vec<String>,
    /// Thing after thing: its name, and its rows among those of the kind.
    things: Vec<(u32, Range<usize>)>,
    times_s: Vec<i64>,
    late_ms: Vec<i64>,
}

impl KindRows {
    /// Nothing if there are none.
    fn read(sealed: &Reader, group: usize, kind: &'static Kind) -> Result<Option<KindRows>, Damage> {
        let column = |name: &str| sealed.column_index(name).ok_or(Damage::Content("a column is missing"));
        let (kinds, kind_runs) = sealed.text_runs(group, column("kind")?)?;
        let is_wanted = |index: u32| kinds.get(index as usize).is_some_and(|name| name == kind.name);
        // Rows are sorted by kind.
        let before = kind_runs.iter().take_while(|(index, _)| !is_wanted(*index));
        let start: usize = before.map(|(_, count)| count).sum();
        let wanted = kind_runs.iter().filter(|(index, _)| is_wanted(*index));
        let range = start..start + wanted.map(|(_, count)| count).sum::<usize>();
        if range.is_empty() {
            return Ok(None);
        }
        let (names, name_runs) = sealed.text_runs(group, column("name")?)?;
        let mut things = Vec::new();
        let mut at = 0;
        for (name, rows) in name_runs {
            let (first, end) = (at.max(range.start), (at + rows).min(range.end));
            at += rows;
            if first < end {
                things.push((name, first - range.start..end - range.start));
            }
        }
        // Each thing comes once, in the order of names.
        let name = |(index, _): &(u32, Range<usize>)| names.get(*index as usize);
        if !things.is_sorted_by(|a, b| name(a) < name(b)) {
            return Err(Damage::Content("rows that are out of order"));
        }
        let mut times_s = values(sealed, group, column("time")?, &range)?;
        times_s.iter_mut().for_each(|time| *time = time.div_euclid(1000));
        let late_ms = values(sealed, group, column("late_ms")?, &range)?;
        Ok(Some(KindRows { range, names, things, times_s, late_ms }))
    }
}

thread_local! {
    /// Columns that were read before: to ask for megabytes anew for each costs as much as to read it.
    static SPARE: RefCell<Vec<Vec<i64>>> = RefCell::default();
}

/// A column without values, of memory that was used before.
fn spare() -> Vec<i64> {
    let mut column = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
    column.clear();
    column
}

/// Some rows of a column of integers.
fn values(sealed: &Reader, group: usize, column: usize, rows: &Range<usize>) -> Result<Vec<i64>, Damage> {
    let mut values = spare();
    values.reserve(rows.len());
    pieces_of(sealed, group, column, rows, &mut |_, piece| match piece {
        Piece::Absent(rows) => values.resize(values.len() + rows, ABSENT),
        Piece::Same(value, rows) => values.resize(values.len() + rows, value),
        Piece::Values(more) => values.extend_from_slice(more),
    })?;
    Ok(values)
}

/// Some rows of a column of integers, piece by piece, each with its first row among them.
fn pieces_of(
    sealed: &Reader,
    group: usize,
    column: usize,
    rows: &Range<usize>,
    each: &mut dyn FnMut(usize, Piece<'_>),
) -> Result<(), Damage> {
    let mut row = 0;
    sealed.pieces(group, column, &mut |piece| {
        let end = row + piece.rows();
        let (first, last) = (row.max(rows.start), end.min(rows.end));
        if first < last {
            let (_, wanted) = piece.split(first - row);
            each(first - rows.start, wanted.split(last - first).0);
        }
        row = end;
    })?;
    if row < rows.end { Err(Damage::Content("a column that is too short")) } else { Ok(()) }
}

fn scan_group(
    sealed: &Reader,
    group: usize,
    kind: &'static Kind,
    fields: &[usize],
    each: &mut dyn FnMut(&Stretch),
) -> Result<(), Damage> {
    let Some(rows) = KindRows::read(sealed, group, kind)? else { return Ok(()) };
    let mut columns = Vec::with_capacity(fields.len());
    for field in fields {
        let field = &kind.fields[*field];
        let mut values = match sealed.column_index(field.name) {
            Some(column) => values(sealed, group, column, &rows.range)?,
            None => {
                let mut absent = spare();
                absent.resize(rows.range.len(), ABSENT);
                absent
            }
        };
        if field.nature == Nature::Counter {
            rows.things.iter().for_each(|(_, of_thing)| seal::accumulate(&mut values[of_thing.clone()]));
        }
        columns.push(values);
    }
    for (name, of_thing) in &rows.things {
        each(&Stretch {
            name: &rows.names[*name as usize],
            times_s: &rows.times_s[of_thing.clone()],
            late_ms: &rows.late_ms[of_thing.clone()],
            fields: columns.iter().map(|values| &values[of_thing.clone()]).collect(),
        });
    }
    let used = columns.into_iter().chain([rows.times_s, rows.late_ms]);
    SPARE.with_borrow_mut(|spare| spare.extend(used));
    Ok(())
}

fn growth_of_group(
    sealed: &Reader,
    group: usize,
    kind: &'static Kind,
    fields: &[usize],
    to: &mut dyn Growth,
) -> Result<(), Damage> {
    let Some(rows) = KindRows::read(sealed, group, kind)? else { return Ok(()) };
    let name = |index: u32| rows.names[index as usize].as_str();
    let things = rows.things.iter().map(|(index, of_thing)| (name(*index), of_thing.clone())).collect();
    to.begin(&Rows { things, times_s: &rows.times_s, late_ms: &rows.late_ms });
    // Many counters never move, and their columns are all the same: one is read for all of them.
    let mut still: Option<(Fingerprint, Vec<(usize, Piece<'static>)>)> = None;
    for field in fields {
        let Some(column) = sealed.column_index(kind.fields[*field].name) else {
            to.piece(*field, 0, Piece::Absent(rows.range.len()));
            continue;
        };
        let fingerprint = sealed.fingerprint(group, column);
        if let Some((_, pieces)) = still.as_ref().filter(|(known, _)| Some(*known) == fingerprint) {
            pieces.iter().for_each(|(row, piece)| to.piece(*field, *row, *piece));
            continue;
        }
        let (mut pieces, mut moves) = (Vec::new(), false);
        pieces_of(sealed, group, column, &rows.range, &mut |row, piece| {
            match piece {
                Piece::Values(_) => moves = true,
                Piece::Absent(rows) => pieces.push((row, Piece::Absent(rows))),
                Piece::Same(value, rows) => pieces.push((row, Piece::Same(value, rows))),
            }
            to.piece(*field, row, piece);
        })?;
        still = fingerprint.filter(|_| !moves).map(|known| (known, pieces)).or(still);
    }
    Ok(())
}

fn scan_tail(
    tail: &TailReader,
    kind: &'static Kind,
    fields: &[usize],
    each: &mut dyn FnMut(&Stretch),
) -> Result<(), Damage> {
    type Gathered = (Vec<i64>, Vec<i64>, Vec<Vec<i64>>);
    let mut things: BTreeMap<&str, Gathered> = BTreeMap::new();
    for frame in &tail.frames {
        gather(tail, frame, kind, fields, &mut |name, stretch| {
            let thing = things
                .entry(name)
                .or_insert_with(|| (Vec::new(), Vec::new(), vec![Vec::new(); fields.len()]));
            thing.0.extend_from_slice(stretch.times_s);
            thing.1.extend_from_slice(stretch.late_ms);
            thing.2.iter_mut().zip(&stretch.fields).for_each(|(all, new)| all.extend_from_slice(new));
        })?;
    }
    for (name, (times_s, late_ms, columns)) in &things {
        let fields = columns.iter().map(Vec::as_slice).collect();
        each(&Stretch { name, times_s, late_ms, fields });
    }
    Ok(())
}

/// The things of one frame.
fn gather<'f>(
    tail: &TailReader,
    frame: &'f Frame,
    kind: &'static Kind,
    fields: &[usize],
    each: &mut dyn FnMut(&'f str, &Stretch),
) -> Result<(), Damage> {
    let samples = frame.times_s.len();
    for table in frame.tables.iter().filter(|table| table.kind.id == kind.id) {
        let columns: Vec<Vec<i64>> =
            fields.iter().map(|field| tail.column(frame, table, *field)).collect::<Result<_, _>>()?;
        for (index, name) in table.names.iter().enumerate() {
            let fields = columns.iter().map(|column| &column[index * samples..][..samples]).collect();
            each(name, &Stretch { name, times_s: &frame.times_s, late_ms: &frame.late_ms, fields });
        }
    }
    Ok(())
}

/// Follows a tail while it grows, also across sealing: each frame is fresh once.
pub struct Follower {
    path: PathBuf,
    tail: Option<TailReader>,
    /// Frames up to this one are no longer fresh; those after it, up to the next, are.
    seen: u64,
    newest: u64,
}

impl Follower {
    /// Follows the tail of a name from its beginning.
    pub fn new(path: &Path) -> Follower {
        Follower { path: name::beside(path, name::TAIL), tail: None, seen: 0, newest: 0 }
    }

    /// Looks for what is new since the last time, and says how many frames are. A tail that is not there (yet, or any more) has none.
    pub fn advance(&mut self) -> Result<usize, Damage> {
        self.seen = self.newest;
        let mut known = self.tail.take();
        let is_still = known.as_ref().is_some_and(|tail| tail.is_still(&self.path));
        if let Some(tail) = &mut known {
            tail.advance()?;
        }
        let tail = match known {
            Some(tail) if is_still => tail,
            // A sealed tail is replaced by another file: what is new since is in that one, and the end of the old one too. At the end of
            // a day it is only removed: what was still written to it is in the open file.
            known => match (TailReader::open(&self.path), known) {
                (Ok(tail), _) => tail,
                (Err(Damage::Io(error)), known) if error.kind() == std::io::ErrorKind::NotFound => {
                    match known {
                        Some(tail) => tail,
                        None => return Ok(0),
                    }
                }
                (Err(damage), _) => return Err(damage),
            },
        };
        self.newest = tail.frames.iter().map(|frame| frame.sequence).max().unwrap_or(0).max(self.seen);
        self.tail = Some(tail);
        Ok(self.fresh().count())
    }

    fn fresh(&self) -> impl Iterator<Item = (&TailReader, &Frame)> {
        let frames = self.tail.iter().flat_map(|tail| tail.frames.iter().map(move |frame| (tail, frame)));
        frames.filter(|(_, frame)| frame.sequence > self.seen)
    }

    /// Whose samples they are; unknown before the first.
    pub fn origin(&self) -> Option<&Origin> {
        self.tail.as_ref().map(|tail| &tail.origin)
    }

    /// First and last fresh second.
    pub fn span_s(&self) -> Option<(i64, i64)> {
        let times = || self.fresh().flat_map(|(_, frame)| &frame.times_s).copied();
        Some((times().min()?, times().max()?))
    }

    /// Reads fields of all things of a kind in what is fresh, frame by frame.
    pub fn scan(
        &self,
        kind: &'static Kind,
        fields: &[usize],
        each: &mut dyn FnMut(&Stretch),
    ) -> Result<(), Damage> {
        for (tail, frame) in self.fresh() {
            gather(tail, frame, kind, fields, &mut |_, stretch| each(stretch))?;
        }
        Ok(())
    }
}

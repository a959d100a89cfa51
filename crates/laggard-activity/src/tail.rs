//! The append-only tail: what has been sampled and is not sealed yet.
//!
//! A tail is a sequence of frames `LGB1`, length, checksum, payload. The first says whose it is and names kinds and fields; each
//! of the others holds a few seconds, every column by itself, so that one can be read without the others. A torn or damaged
//! frame costs its own seconds and no others, but for the first: without the names of its fields a tail cannot be read.
//! docs/file-formats.md has the bytes.

use crate::kind::{KINDS, Kind};
use crate::parquet::read::Damage;
use crate::snapshot::Snapshot;
use crate::varint::{self, Cursor};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

const MARK: &[u8; 4] = b"LGB1";
const FRAME: usize = 12;
const VERSION: u64 = 1;
const HEADER: u8 = 0;
const SAMPLES: u8 = 1;
/// A frame holds seconds; one that claims more is damaged.
const LARGEST_FRAME: usize = 1 << 26;

/// Whose samples a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The host.
    pub host: String,
    /// Seconds between samples.
    pub interval_s: u32,
    /// The kinds that it may hold.
    pub kinds: Vec<&'static Kind>,
}

/// Writes a tail.
pub struct TailWriter {
    file: File,
    length: u64,
    origin: Origin,
    /// Number of the last frame written.
    pub sequence: u64,
}

impl TailWriter {
    /// Starts a tail; frames are numbered on from `sequence`.
    pub fn create(path: &Path, origin: Origin, sequence: u64) -> io::Result<TailWriter> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(path)?;
        let mut writer = TailWriter { file, length: 0, origin, sequence };
        let header = writer.origin.header();
        writer.write(&frame(&header))?;
        Ok(writer)
    }

    /// Appends snapshots: one frame for each stretch with the same things in it.
    pub fn append(&mut self, snapshots: &[Snapshot]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut sequence = self.sequence;
        for stretch in snapshots.chunk_by(Snapshot::has_shape_of) {
            sequence += 1;
            bytes.extend(frame(&encode(stretch, &self.origin.kinds, sequence)));
        }
        self.write(&bytes)?;
        self.sequence = sequence;
        Ok(())
    }

    /// Appends frames as they are in another tail.
    pub fn append_frames(&mut self, frames: &[u8]) -> io::Result<()> {
        self.write(frames)
    }

    /// Brings everything to the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// All or nothing: a full disk leaves no half of a frame.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let outcome = self.file.write_all(bytes);
        match outcome {
            Ok(()) => self.length += bytes.len() as u64,
            Err(_) => {
                self.file.set_len(self.length)?;
                io::Seek::seek(&mut self.file, io::SeekFrom::Start(self.length))?;
            }
        }
        outcome
    }
}

impl Origin {
    fn header(&self) -> Vec<u8> {
        let mut out = vec![HEADER];
        varint::write(&mut out, VERSION);
        varint::write_text(&mut out, &self.host);
        varint::write(&mut out, u64::from(self.interval_s));
        varint::write(&mut out, self.kinds.len() as u64);
        for kind in &self.kinds {
            varint::write_text(&mut out, kind.name);
            varint::write(&mut out, kind.fields.len() as u64);
            kind.fields.iter().for_each(|field| varint::write_text(&mut out, field.name));
        }
        out
    }
}

fn frame(payload: &[u8]) -> Vec<u8> {
    let mut out = MARK.to_vec();
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    out.extend_from_slice(payload);
    out
}

fn encode(stretch: &[Snapshot], kinds: &[&'static Kind], sequence: u64) -> Vec<u8> {
    let mut out = vec![SAMPLES];
    varint::write(&mut out, sequence);
    varint::write(&mut out, stretch.len() as u64);
    let mut last = 0;
    for snapshot in stretch {
        varint::write(&mut out, varint::zigzag(snapshot.time_s.wrapping_sub(last)));
        varint::write(&mut out, u64::from(snapshot.late_ms));
        last = snapshot.time_s;
    }
    let tables = stretch.first().map_or(&[][..], |first| &first.tables);
    varint::write(&mut out, tables.len() as u64);
    for (index, table) in tables.iter().enumerate() {
        let kind = kinds.iter().position(|kind| kind.id == table.kind.id).unwrap_or(kinds.len());
        varint::write(&mut out, kind as u64);
        varint::write(&mut out, table.names.len() as u64);
        table.names.iter().for_each(|name| varint::write_text(&mut out, name));
        let width = table.kind.fields.len();
        let columns: Vec<Vec<u8>> = (0..width)
            .map(|field| {
                let mut column = Vec::new();
                for thing in 0..table.names.len() {
                    let mut last = 0i64;
                    for snapshot in stretch {
                        let value = snapshot.tables[index].values[thing * width + field];
                        varint::write(&mut column, varint::zigzag(value.wrapping_sub(last)));
                        last = value;
                    }
                }
                column
            })
            .collect();
        columns.iter().for_each(|column| varint::write(&mut out, column.len() as u64));
        columns.iter().for_each(|column| out.extend_from_slice(column));
    }
    out
}

/// A kind as a file has it: its fields may be others than ours.
#[derive(Debug, Clone)]
struct FileKind {
    /// Ours of that name, if there is one.
    kind: Option<&'static Kind>,
    /// For each of the file's fields, ours.
    fields: Vec<Option<usize>>,
}

/// Things of one kind in one frame.
#[derive(Debug)]
pub struct FrameTable {
    /// Which kind.
    pub kind: &'static Kind,
    /// Their names; frames that have the same ones share them.
    pub names: Arc<[Arc<str>]>,
    /// Where each of our fields is in the file, if it is.
    columns: Vec<Option<(u64, u32)>>,
}

/// A few seconds of a tail: what is in it and where, not the columns themselves.
#[derive(Debug)]
pub struct Frame {
    /// Its number.
    pub sequence: u64,
    /// The seconds that its samples stand for.
    pub times_s: Vec<i64>,
    /// How late each was, in milliseconds.
    pub late_ms: Vec<i64>,
    /// What it holds.
    pub tables: Vec<FrameTable>,
    /// Where it is, mark included.
    place: Range<u64>,
}

/// A tail under reading; it may grow meanwhile.
pub struct TailReader {
    file: File,
    kinds: Vec<FileKind>,
    /// Whose it is.
    pub origin: Origin,
    /// Whole frames found so far.
    pub frames: Vec<Frame>,
    /// Damaged stretches: offset and what was wrong.
    pub damaged: Vec<(u64, &'static str)>,
    read_to: u64,
}

impl TailReader {
    /// Opens a tail and finds its frames.
    pub fn open(path: &Path) -> Result<TailReader, Damage> {
        let file = File::open(path)?;
        let mut head = [0; FRAME];
        file.read_exact_at(&mut head, 0).map_err(|_| Damage::Content("too short for a tail"))?;
        if &head[..4] != MARK {
            return Err(Damage::Content("not a tail"));
        }
        let unknown = Origin { host: String::new(), interval_s: 1, kinds: Vec::new() };
        let mut tail = TailReader {
            file,
            kinds: Vec::new(),
            origin: unknown,
            frames: Vec::new(),
            damaged: Vec::new(),
            read_to: 0,
        };
        match tail.payload(0).and_then(|(payload, _)| header(&payload)) {
            Some((origin, kinds)) => (tail.origin, tail.kinds) = (origin, kinds),
            None => return Err(Damage::Content("the tail's header is damaged")),
        }
        tail.advance()?;
        Ok(tail)
    }

    /// Finds frames that were added since; says how many.
    pub fn advance(&mut self) -> io::Result<usize> {
        let before = self.frames.len();
        let size = self.file.metadata()?.len();
        let mut bad_from = None;
        while self.read_to + FRAME as u64 <= size {
            match self.payload(self.read_to) {
                Some((payload, length)) => {
                    if let Some(from) = bad_from.take() {
                        self.damaged.push((from, "damaged (checksum)"));
                    }
                    match self.decode(&payload, self.read_to) {
                        Some(frame) => self.frames.push(frame),
                        None if payload.first() == Some(&HEADER) => {}
                        None => self.damaged.push((self.read_to, "a frame that cannot be decoded")),
                    }
                    self.read_to += length;
                }
                None => {
                    // Torn at the end, or damaged in the middle: then another frame follows.
                    let Some(next) = self.next_mark(self.read_to + 1, size)? else { break };
                    bad_from.get_or_insert(self.read_to);
                    self.read_to = next;
                }
            }
        }
        if let Some(from) = bad_from {
            self.damaged.push((from, "damaged (checksum)"));
        }
        Ok(self.frames.len() - before)
    }

    /// Whether the path still leads to this file.
    pub fn is_still(&self, path: &Path) -> bool {
        let (Ok(own), Ok(there)) = (self.file.metadata(), std::fs::metadata(path)) else { return false };
        (own.dev(), own.ino()) == (there.dev(), there.ino()) && own.len() >= self.read_to
    }

    /// One field of all things of a table: the samples of the first thing, then those of the next.
    pub fn column(&self, frame: &Frame, table: &FrameTable, field: usize) -> Result<Vec<i64>, Damage> {
        let count = table.names.len() * frame.times_s.len();
        let Some((offset, length)) = table.columns.get(field).copied().flatten() else {
            return Ok(vec![crate::ABSENT; count]);
        };
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, offset)?;
        let mut cursor = Cursor { rest: &bytes };
        let mut values = Vec::with_capacity(count);
        for _ in 0..table.names.len() {
            let mut last = 0i64;
            for _ in 0..frame.times_s.len() {
                let step = cursor.signed().ok_or(Damage::Content("a frame that was there has changed"))?;
                last = last.wrapping_add(step);
                values.push(last);
            }
        }
        Ok(values)
    }

    /// The bytes of a frame, to copy it.
    pub fn bytes(&self, frame: &Frame) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; (frame.place.end - frame.place.start) as usize];
        self.file.read_exact_at(&mut bytes, frame.place.start)?;
        Ok(bytes)
    }

    /// The payload of a whole frame at an offset, and the frame's length.
    fn payload(&self, offset: u64) -> Option<(Vec<u8>, u64)> {
        let mut head = [0; FRAME];
        self.file.read_exact_at(&mut head, offset).ok()?;
        let [a, b, c, d, rest @ ..] = head;
        let [l0, l1, l2, l3, crc @ ..] = rest;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if &[a, b, c, d] != MARK || length > LARGEST_FRAME {
            return None;
        }
        // Not more than is there, whatever the length claims.
        let left = self.file.metadata().ok()?.len().checked_sub(offset + FRAME as u64)?;
        if length as u64 > left {
            return None;
        }
        let mut payload = vec![0; length];
        self.file.read_exact_at(&mut payload, offset + FRAME as u64).ok()?;
        (crc32fast::hash(&payload).to_le_bytes() == crc).then_some((payload, (FRAME + length) as u64))
    }

    fn next_mark(&self, from: u64, size: u64) -> io::Result<Option<u64>> {
        let mut window = vec![0; 1 << 16];
        let mut at = from;
        while at + MARK.len() as u64 <= size {
            let length = window.len().min((size - at) as usize);
            self.file.read_exact_at(&mut window[..length], at)?;
            if let Some(found) = window[..length].windows(MARK.len()).position(|bytes| bytes == MARK) {
                let found = at + found as u64;
                if self.payload(found).is_some() {
                    return Ok(Some(found));
                }
                at = found + 1;
            } else {
                at += (length - MARK.len() + 1) as u64;
            }
        }
        Ok(None)
    }

    fn decode(&self, payload: &[u8], offset: u64) -> Option<Frame> {
        let mut cursor = Cursor { rest: payload };
        if cursor.bytes(1)? != [SAMPLES] {
            return None;
        }
        let sequence = cursor.number()?;
        let count = cursor.count().filter(|count| *count > 0)?;
        let (mut times_s, mut late_ms, mut last) = (Vec::new(), Vec::new(), 0i64);
        for _ in 0..count {
            last = last.wrapping_add(cursor.signed()?);
            times_s.push(last);
            late_ms.push(i64::try_from(cursor.number()?).ok()?);
        }
        let payload_at = offset + FRAME as u64;
        let mut tables = Vec::new();
        for _ in 0..cursor.count()? {
            let file_kind = self.kinds.get(usize::try_from(cursor.number()?).ok()?)?;
            let names = self.names(&mut cursor, file_kind.kind)?;
            let lengths: Vec<usize> =
                file_kind.fields.iter().map(|_| cursor.count()).collect::<Option<_>>()?;
            let mut columns = vec![None; file_kind.kind.map_or(0, |kind| kind.fields.len())];
            for (length, field) in lengths.iter().zip(&file_kind.fields) {
                let start = payload_at + (payload.len() - cursor.rest.len()) as u64;
                cursor.bytes(*length)?;
                // Each value has a byte at least: nothing that is claimed is larger than what is there.
                if *length < names.len().checked_mul(count)? {
                    return None;
                }
                if let Some(field) = field {
                    columns[*field] = Some((start, *length as u32));
                }
            }
            if let Some(kind) = file_kind.kind {
                tables.push(FrameTable { kind, names, columns });
            }
        }
        Some(Frame { sequence, times_s, late_ms, tables, place: offset..payload_at + payload.len() as u64 })
    }

    /// The names of a table; those of the frame before, if they are the same.
    fn names(&self, cursor: &mut Cursor, kind: Option<&'static Kind>) -> Option<Arc<[Arc<str>]>> {
        let names: Vec<&str> = (0..cursor.count()?).map(|_| cursor.text()).collect::<Option<_>>()?;
        let before = kind.and_then(|kind| {
            let tables = self.frames.last().into_iter().flat_map(|frame| &frame.tables);
            tables.into_iter().find(|table| table.kind.id == kind.id)
        });
        let same = |known: &Arc<[Arc<str>]>| {
            known.len() == names.len() && known.iter().zip(&names).all(|(a, b)| a.as_ref() == *b)
        };
        let known = before.map(|table| table.names.clone()).filter(same);
        Some(known.unwrap_or_else(|| names.iter().map(|name| Arc::from(*name)).collect()))
    }
}

fn header(payload: &[u8]) -> Option<(Origin, Vec<FileKind>)> {
    let mut cursor = Cursor { rest: payload };
    if cursor.bytes(1)? != [HEADER] || cursor.number()? != VERSION {
        return None;
    }
    let host = cursor.text()?.to_string();
    let interval_s = u32::try_from(cursor.number()?).ok()?.max(1);
    let mut kinds = Vec::new();
    for _ in 0..cursor.count()? {
        let kind = Kind::parse(cursor.text()?);
        let names: Vec<&str> = (0..cursor.count()?).map(|_| cursor.text()).collect::<Option<_>>()?;
        let fields = names.iter().map(|name| kind.and_then(|kind| kind.field(name))).collect();
        kinds.push(FileKind { kind, fields });
    }
    let known = KINDS
        .iter()
        .copied()
        .filter(|kind| kinds.iter().any(|found| found.kind.is_some_and(|found| found.id == kind.id)));
    Some((Origin { host, interval_s, kinds: known.collect() }, kinds))
}

/// Whether a file begins like a tail.
pub fn is_tail(start: &[u8]) -> bool {
    start.starts_with(MARK)
}

/// Reads the first bytes of a file; for recognising it.
pub fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(64).read_to_end(&mut start)?;
    Ok(start)
}

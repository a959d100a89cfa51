//! Turns the bytes of a column into values.

use super::footer::{Chunk, ColumnType};
use super::read::{Piece, TextRuns};
use super::thrift::Reader as Thrift;
use super::{delta, hybrid, number};
use std::cell::RefCell;

/// Nothing that we write unpacks to more.
const LARGEST_PAGE: usize = 1 << 28;

/// Memory that is used for one column after the other: to ask for it anew each time would cost as much as what is done with it.
#[derive(Default)]
pub struct Scratch {
    unpacking: Unpacking,
    dictionary: Vec<i64>,
    indices: Vec<u32>,
    values: Vec<i64>,
}

thread_local! {
    static SCRATCH: RefCell<(Vec<u8>, Scratch)> = RefCell::default();
}

impl Scratch {
    /// Lends a column's bytes and what it takes to decode them.
    pub fn with<T>(borrow: impl FnOnce(&mut Vec<u8>, &mut Scratch) -> T) -> T {
        // Taken, not borrowed: whoever gets the values may read another column meanwhile.
        let (mut bytes, mut scratch) = SCRATCH.take();
        let result = borrow(&mut bytes, &mut scratch);
        SCRATCH.set((bytes, scratch));
        result
    }
}

/// A page's header.
struct Header {
    kind: i32,
    encoding: i32,
    values: usize,
    unpacked: usize,
    packed: usize,
}

fn header(reader: &mut Thrift<'_>) -> Option<Header> {
    let (mut kind, mut unpacked, mut packed, mut encoding, mut values) = (0, None, None, 0, None);
    reader.root(|reader, field| {
        match field.id {
            1 => kind = reader.int(field)? as i32,
            2 => unpacked = Some(reader.size(field)?),
            3 => packed = Some(reader.size(field)?),
            // Of values, of a dictionary.
            5 | 7 => reader.structure(field, |reader, field| {
                match field.id {
                    1 => values = Some(reader.size(field)?),
                    2 => encoding = reader.int(field)? as i32,
                    _ => reader.skip(field)?,
                }
                Some(())
            })?,
            _ => reader.skip(field)?,
        }
        Some(())
    })?;
    let [values, unpacked, packed] = [values?, unpacked?, packed?].map(usize::try_from);
    Some(Header { kind, encoding, values: values.ok()?, unpacked: unpacked.ok()?, packed: packed.ok()? })
}

/// The next page as it is in the file.
fn page<'b>(bytes: &mut &'b [u8]) -> Option<(Header, &'b [u8])> {
    let mut reader = Thrift::new(bytes);
    let header = header(&mut reader)?;
    let (body, rest) = bytes.get(reader.position..)?.split_at_checked(header.packed)?;
    *bytes = rest;
    Some((header, body))
}

/// Zstd, and where it unpacks to.
#[derive(Default)]
struct Unpacking {
    /// It asks the processor what it can, when it is made, and a virtual machine traps that.
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    bytes: Vec<u8>,
}

impl Unpacking {
    /// The next page, without zstd.
    fn page(&mut self, bytes: &mut &[u8]) -> Option<(Header, &[u8])> {
        let (header, body) = page(bytes)?;
        if header.unpacked > LARGEST_PAGE {
            return None;
        }
        if self.zstd.is_none() {
            self.zstd = zstd::bulk::Decompressor::new().ok();
        }
        self.bytes.clear();
        self.bytes.reserve(header.unpacked);
        self.zstd.as_mut()?.decompress_to_buffer(body, &mut self.bytes).ok()?;
        // More fits than was asked for: the memory may be left from a larger page.
        (self.bytes.len() == header.unpacked).then_some((header, self.bytes.as_slice()))
    }
}

/// A column of texts, as runs.
pub fn runs(mut bytes: &[u8], chunk: &Chunk, scratch: &mut Scratch) -> Option<TextRuns> {
    let (header, body) = scratch.unpacking.page(&mut bytes)?;
    let texts = texts(body, header.values)?;
    let (_, body) = scratch.unpacking.page(&mut bytes)?;
    let (width, indices) = body.split_first()?;
    let runs = hybrid::runs(indices, u32::from(*width), usize::try_from(chunk.rows).ok()?)?;
    runs.iter().all(|(index, _)| (*index as usize) < texts.len()).then_some((texts, runs))
}

/// A column of integers, piece by piece.
pub fn pieces(
    bytes: &[u8],
    chunk: &Chunk,
    kind: ColumnType,
    scratch: &mut Scratch,
    each: &mut dyn FnMut(Piece<'_>),
) -> Option<()> {
    if matches!(kind, ColumnType::Flag | ColumnType::Text) {
        return None;
    }
    let rows = usize::try_from(chunk.rows).ok()?;
    match chunk.is_packed {
        true => packed(bytes, rows, kind, scratch, each),
        false => differences(bytes, rows, kind, &mut scratch.values, each),
    }
}

/// Under zstd: a dictionary or none, and one page of values.
fn packed(
    mut bytes: &[u8],
    rows: usize,
    kind: ColumnType,
    scratch: &mut Scratch,
    each: &mut dyn FnMut(Piece<'_>),
) -> Option<()> {
    let Scratch { unpacking, dictionary, indices, values } = scratch;
    dictionary.clear();
    let (mut header, mut body) = unpacking.page(&mut bytes)?;
    if header.kind == number::DICTIONARY_PAGE {
        integers(body, header.values, dictionary)?;
        (header, body) = unpacking.page(&mut bytes)?;
    }
    if header.values != rows {
        return None;
    }
    let (mut weaver, stored) = Weaver::new(&mut body, rows, kind, each)?;
    values.clear();
    match header.encoding {
        number::PLAIN => {
            integers(body, stored, values)?;
            weaver.put(Piece::Values(values));
        }
        number::RLE_DICTIONARY => look_up(body, stored, dictionary, (indices, values), &mut weaver)?,
        _ => return None,
    }
    weaver.finish();
    Some(())
}

/// Delta binary packed: pages one after the other.
fn differences(
    mut bytes: &[u8],
    mut left: usize,
    kind: ColumnType,
    values: &mut Vec<i64>,
    each: &mut dyn FnMut(Piece<'_>),
) -> Option<()> {
    let mut before: Option<&[u8]> = None;
    while left > 0 {
        let (header, mut body) = page(&mut bytes)?;
        if header.encoding != number::DELTA_BINARY_PACKED {
            return None;
        }
        left = left.checked_sub(header.values)?;
        let (mut weaver, stored) = Weaver::new(&mut body, header.values, kind, each)?;
        // The times of one thing are mostly those of the one before it.
        if before != Some(body) || values.len() != stored {
            values.clear();
            delta::decode(body, stored, values)?;
        }
        before = Some(body);
        weaver.put(Piece::Values(values));
        weaver.finish();
    }
    Some(())
}

/// Values that are indices into a dictionary.
fn look_up(
    body: &[u8],
    stored: usize,
    dictionary: &[i64],
    (indices, values): (&mut Vec<u32>, &mut Vec<i64>),
    weaver: &mut Weaver<'_>,
) -> Option<()> {
    let (width, packed) = body.split_first()?;
    let mut is_known = true;
    hybrid::each_run(packed, u32::from(*width), stored, &mut |run| match run {
        hybrid::Run::Of(index, count) => match dictionary.get(index as usize) {
            Some(value) => weaver.put(Piece::Same(*value, count)),
            None => is_known = false,
        },
        hybrid::Run::Packed(packed, count) => {
            indices.clear();
            hybrid::unpack(packed, u32::from(*width), count, indices);
            if indices.iter().all(|index| (*index as usize) < dictionary.len()) {
                values.extend(indices.iter().map(|index| dictionary[*index as usize]));
            }
            is_known &= values.len() == count;
            weaver.put(Piece::Values(values));
            values.clear();
        }
    })?;
    is_known.then_some(())
}

/// Puts the rows without a value between those that have one.
struct Weaver<'e> {
    present: std::vec::IntoIter<(u32, usize)>,
    /// Rows with a value before the next without.
    left: usize,
    each: &'e mut dyn FnMut(Piece<'_>),
}

impl<'e> Weaver<'e> {
    /// For the rows of a page, with how many of them have a value; takes what says so from its bytes.
    fn new(
        body: &mut &[u8],
        rows: usize,
        kind: ColumnType,
        each: &'e mut dyn FnMut(Piece<'_>),
    ) -> Option<(Weaver<'e>, usize)> {
        let present = match kind {
            ColumnType::MaybeInteger => hybrid::runs(level_bytes(body)?, 1, rows)?,
            _ => vec![(1, rows)],
        };
        let stored = present.iter().filter(|(level, _)| *level == 1).map(|(_, count)| count).sum();
        Some((Weaver { present: present.into_iter(), left: 0, each }, stored))
    }

    fn put(&mut self, mut piece: Piece<'_>) {
        while piece.rows() > 0 && self.seek() {
            let (now, later) = piece.split(piece.rows().min(self.left));
            self.left -= now.rows();
            (self.each)(now);
            piece = later;
        }
    }

    /// Passes rows without a value; says whether there is one with.
    fn seek(&mut self) -> bool {
        while self.left == 0 {
            match self.present.next() {
                Some((1, rows)) => self.left = rows,
                Some((_, rows)) => (self.each)(Piece::Absent(rows)),
                None => return false,
            }
        }
        true
    }

    fn finish(&mut self) {
        self.seek();
    }
}

fn level_bytes<'b>(body: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = body.split_first_chunk::<4>()?;
    let (levels, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *body = rest;
    Some(levels)
}

fn integers(bytes: &[u8], count: usize, into: &mut Vec<i64>) -> Option<()> {
    let (numbers, _) = bytes.as_chunks::<8>();
    into.extend(numbers.get(..count)?.iter().map(|bytes| i64::from_le_bytes(*bytes)));
    Some(())
}

fn texts(mut rest: &[u8], count: usize) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        texts.push(std::str::from_utf8(text).ok()?.to_string());
        rest = after;
    }
    Some(texts)
}

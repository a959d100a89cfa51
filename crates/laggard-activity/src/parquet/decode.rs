//! Turns the bytes of a column into values.

use super::footer::{Chunk, ColumnType};
use super::read::{Column, Piece, TextRuns};
use super::thrift::Reader as Thrift;
use super::{delta, hybrid, number};
use std::cell::RefCell;

/// Nothing that we write unpacks to more.
const LARGEST_PAGE: usize = 1 << 28;

/// Memory that is used for one column after the other: to ask for it anew each time would cost as much as what is done with it.
#[derive(Default)]
pub struct Scratch {
    /// zstd asks the processor what it can, when it is made, and a virtual machine traps that.
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    unpacked: Vec<u8>,
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

/// The next page: its header, and its bytes without zstd.
fn page<'p, 'b: 'p>(
    bytes: &mut &'b [u8],
    chunk: &Chunk,
    zstd: &mut Option<zstd::bulk::Decompressor<'static>>,
    unpacked: &'p mut Vec<u8>,
) -> Option<(Header, &'p [u8])> {
    let mut reader = Thrift::new(bytes);
    let header = header(&mut reader)?;
    let (body, rest) = bytes.get(reader.position..)?.split_at_checked(header.packed)?;
    *bytes = rest;
    if !chunk.is_packed {
        return Some((header, body));
    }
    if header.unpacked > LARGEST_PAGE {
        return None;
    }
    if zstd.is_none() {
        *zstd = zstd::bulk::Decompressor::new().ok();
    }
    unpacked.clear();
    unpacked.reserve(header.unpacked);
    zstd.as_mut()?.decompress_to_buffer(body, unpacked).ok()?;
    Some((header, unpacked))
}

/// All of a column.
pub fn column(mut bytes: &[u8], chunk: &Chunk, kind: ColumnType, scratch: &mut Scratch) -> Option<Column> {
    let rows = usize::try_from(chunk.rows).ok()?;
    match kind {
        ColumnType::Flag => {
            let (_, body) = page(&mut bytes, chunk, &mut scratch.zstd, &mut scratch.unpacked)?;
            let flag = |row: usize| body.get(row / 8).map(|byte| byte >> (row % 8) & 1 == 1);
            Some(Column::Flags((0..rows).map(flag).collect::<Option<_>>()?))
        }
        ColumnType::Text => {
            let (texts, runs) = runs(bytes, chunk, scratch)?;
            let indices = runs.into_iter().flat_map(|(index, count)| std::iter::repeat_n(index, count));
            Some(Column::Texts(texts, indices.collect()))
        }
        _ => {
            let mut values = Vec::new();
            pieces(bytes, chunk, kind, scratch, &mut |piece| match piece {
                Piece::Absent(rows) => values.resize(values.len() + rows, crate::ABSENT),
                Piece::Same(value, rows) => values.resize(values.len() + rows, value),
                Piece::Values(more) => values.extend_from_slice(more),
            })?;
            Some(Column::Integers(values))
        }
    }
}

/// A column of texts, as runs.
pub fn runs(mut bytes: &[u8], chunk: &Chunk, scratch: &mut Scratch) -> Option<TextRuns> {
    let (header, body) = page(&mut bytes, chunk, &mut scratch.zstd, &mut scratch.unpacked)?;
    let texts = texts(body, header.values)?;
    let (_, body) = page(&mut bytes, chunk, &mut scratch.zstd, &mut scratch.unpacked)?;
    let (width, indices) = body.split_first()?;
    let runs = hybrid::runs(indices, u32::from(*width), usize::try_from(chunk.rows).ok()?)?;
    runs.iter().all(|(index, _)| (*index as usize) < texts.len()).then_some((texts, runs))
}

/// A column of integers, piece by piece.
pub fn pieces(
    mut bytes: &[u8],
    chunk: &Chunk,
    kind: ColumnType,
    scratch: &mut Scratch,
    each: &mut dyn FnMut(Piece<'_>),
) -> Option<()> {
    if matches!(kind, ColumnType::Flag | ColumnType::Text) {
        return None;
    }
    let Scratch { zstd, unpacked, dictionary, indices, values } = scratch;
    dictionary.clear();
    let mut left = usize::try_from(chunk.rows).ok()?;
    while left > 0 {
        let (header, mut body) = page(&mut bytes, chunk, zstd, unpacked)?;
        if header.kind == number::DICTIONARY_PAGE {
            integers(body, header.values, dictionary)?;
            continue;
        }
        left = left.checked_sub(header.values)?;
        let present = match kind {
            ColumnType::MaybeInteger => hybrid::runs(level_bytes(&mut body)?, 1, header.values)?,
            _ => vec![(1, header.values)],
        };
        let stored = present.iter().filter(|(level, _)| *level == 1).map(|(_, count)| count).sum();
        let mut weaver = Weaver { present: present.into_iter(), left: 0, each };
        values.clear();
        match header.encoding {
            number::DELTA_BINARY_PACKED => delta::decode(body, stored, values)?,
            number::PLAIN => integers(body, stored, values)?,
            _ => look_up(body, stored, dictionary, (&mut *indices, &mut *values), &mut weaver)?,
        }
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

impl Weaver<'_> {
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

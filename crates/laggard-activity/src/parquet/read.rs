//! Reads columns of row groups; checks every byte it uses against its checksum.

use super::footer::{Chunk, ColumnType, Footer};
use super::thrift::Reader as Thrift;
use super::{hybrid, number};
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Why a part of a file cannot be read; the rest may be fine.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The content is not what it should be.
    #[error("{0}")]
    Content(&'static str),
}

/// A column in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// Integers; what is null is [`crate::ABSENT`].
    Integers(Vec<i64>),
    /// The different texts, and for each row which.
    Texts(Vec<String>, Vec<u32>),
    /// Truth values.
    Flags(Vec<bool>),
}

/// The different texts of a column, and which of them stands how often in a row.
pub type TextRuns = (Vec<String>, Vec<(u32, usize)>);

/// An open file.
pub struct Reader {
    file: File,
    /// Bytes in it when it was opened.
    size: u64,
    footer: Footer,
}

/// A stretch of a column of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// So many rows without a value.
    Absent(usize),
    /// One value, so many times.
    Same(i64, usize),
    /// Values, one for each row.
    Values(&'a [i64]),
}

impl<'a> Piece<'a> {
    /// How many rows it covers.
    pub fn rows(self) -> usize {
        match self {
            Piece::Absent(rows) | Piece::Same(_, rows) => rows,
            Piece::Values(values) => values.len(),
        }
    }

    /// The first rows, and the others.
    pub fn split(self, rows: usize) -> (Piece<'a>, Piece<'a>) {
        match self {
            Piece::Absent(all) => (Piece::Absent(rows), Piece::Absent(all - rows)),
            Piece::Same(value, all) => (Piece::Same(value, rows), Piece::Same(value, all - rows)),
            Piece::Values(values) => {
                let (first, others) = values.split_at(rows);
                (Piece::Values(first), Piece::Values(others))
            }
        }
    }
}

/// Nothing that we write unpacks to more.
const LARGEST_PAGE: usize = 1 << 28;

impl Reader {
    /// Opens a file by its metadata.
    pub fn open(file: File) -> Result<Self, Damage> {
        let size = file.metadata()?.len();
        let mut end = [0; 8];
        let start = size.checked_sub(8).ok_or(Damage::Content("too short for Parquet"))?;
        file.read_exact_at(&mut end, start)?;
        let length =
            Footer::length(end).ok_or(Damage::Content("no Parquet metadata at the end: cut off?"))?;
        let start =
            size.checked_sub(length).ok_or(Damage::Content("the metadata is longer than the file"))?;
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, start)?;
        let footer = Footer::parse(&bytes).map_err(Damage::Content)?;
        Ok(Reader { file, size, footer })
    }

    /// What the metadata says.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// The file itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The bytes in front of the metadata: all row groups.
    pub fn data_end(&self) -> u64 {
        let chunks = self.footer.groups.iter().flat_map(|group| &group.chunks);
        chunks.map(|chunk| chunk.offset + chunk.length).max().unwrap_or(4)
    }

    /// The index of a column.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.footer.columns.iter().position(|(known, _)| known == name)
    }

    /// Reads one column of one row group.
    pub fn column(&self, group: usize, column: usize) -> Result<Column, Damage> {
        let (bytes, chunk, kind) = self.chunk(group, column)?;
        decode(&bytes, &chunk, kind).ok_or(Damage::Content("a column that cannot be decoded"))
    }

    /// Reads a column of texts as runs of equal ones: the different texts, and which of them stands how often.
    pub fn text_runs(&self, group: usize, column: usize) -> Result<TextRuns, Damage> {
        let (bytes, chunk, kind) = self.chunk(group, column)?;
        let found = (kind == ColumnType::Text).then(|| decode_runs(&bytes, &chunk)).flatten();
        found.ok_or(Damage::Content("a column that cannot be decoded"))
    }

    /// Reads a column of integers piece by piece: what is repeated or absent costs nothing.
    pub fn pieces(&self, group: usize, column: usize, each: &mut dyn FnMut(Piece<'_>)) -> Result<(), Damage> {
        let (bytes, chunk, kind) = self.chunk(group, column)?;
        let read = match kind {
            ColumnType::Flag | ColumnType::Text => None,
            _ => decode_pieces(&bytes, &chunk, kind, each),
        };
        read.ok_or(Damage::Content("a column that cannot be decoded"))
    }

    /// What tells the bytes of a column from others, without reading them: two with the same are the same.
    pub fn fingerprint(&self, group: usize, column: usize) -> Option<(u64, u64, u32)> {
        let chunk = self.footer.groups.get(group)?.chunks.get(column)?;
        Some((chunk.length, chunk.unpacked, chunk.crc))
    }

    /// The bytes of a column, checked.
    fn chunk(&self, group: usize, column: usize) -> Result<(Vec<u8>, Chunk, ColumnType), Damage> {
        let wrong = || Damage::Content("no such column");
        let chunk =
            self.footer.groups.get(group).and_then(|group| group.chunks.get(column)).ok_or_else(wrong)?;
        let (_, kind) = self.footer.columns.get(column).ok_or_else(wrong)?;
        let cut_off = || Damage::Content("cut off");
        if chunk.offset.checked_add(chunk.length).is_none_or(|end| end > self.size) {
            return Err(cut_off());
        }
        let mut bytes = vec![0; chunk.length as usize];
        self.file.read_exact_at(&mut bytes, chunk.offset).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => cut_off(),
            _ => Damage::Io(error),
        })?;
        if crc32fast::hash(&bytes) != chunk.crc {
            return Err(Damage::Content("damaged (checksum)"));
        }
        Ok((bytes, *chunk, *kind))
    }
}

fn decode_runs(mut bytes: &[u8], chunk: &Chunk) -> Option<TextRuns> {
    let texts = texts(&page(&mut bytes)?)?;
    let body = page(&mut bytes)?;
    let (width, indices) = body.bytes.split_first()?;
    let runs = hybrid::runs(indices, u32::from(*width), usize::try_from(chunk.rows).ok()?)?;
    runs.iter().all(|(index, _)| (*index as usize) < texts.len()).then_some((texts, runs))
}

struct Page {
    kind: i32,
    encoding: i32,
    values: usize,
    bytes: Vec<u8>,
}

fn page(bytes: &mut &[u8]) -> Option<Page> {
    let mut reader = Thrift::new(bytes);
    let header = reader.structure()?;
    let packed = usize::try_from(header.int(3)?).ok()?;
    let unpacked = usize::try_from(header.int(2)?).ok().filter(|size| *size <= LARGEST_PAGE)?;
    let (body, rest) = bytes.get(reader.position..)?.split_at_checked(packed)?;
    *bytes = rest;
    let kind = header.int(1)? as i32;
    let detail = header.field(if kind == number::DICTIONARY_PAGE { 7 } else { 5 })?;
    Some(Page {
        kind,
        encoding: detail.int(2)? as i32,
        values: usize::try_from(detail.int(1)?).ok()?,
        bytes: unpack(body, unpacked)?,
    })
}

thread_local! {
    /// Made anew for each page it would cost more than many a page: zstd asks the processor what it can, and a virtual machine traps that.
    static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

fn unpack(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    ZSTD.with_borrow_mut(|known| {
        if known.is_none() {
            *known = zstd::bulk::Decompressor::new().ok();
        }
        known.as_mut()?.decompress(packed, size).ok()
    })
}

/// The pages of a column: its values, and the dictionary if they are indices into one.
struct Pages {
    values: Page,
    dictionary: Option<Page>,
}

fn pages(bytes: &mut &[u8], rows: usize) -> Option<Pages> {
    let mut values = page(bytes)?;
    let dictionary = if values.kind == number::DICTIONARY_PAGE {
        let dictionary = std::mem::replace(&mut values, page(bytes)?);
        Some(dictionary)
    } else {
        None
    };
    let dictionary = dictionary.filter(|_| values.encoding == number::RLE_DICTIONARY);
    (values.values == rows).then_some(Pages { values, dictionary })
}

fn decode(mut bytes: &[u8], chunk: &Chunk, kind: ColumnType) -> Option<Column> {
    let rows = usize::try_from(chunk.rows).ok()?;
    let Pages { values, dictionary } = pages(&mut bytes, rows)?;
    let mut body = values.bytes.as_slice();
    let present = if kind == ColumnType::MaybeInteger { Some(take_levels(&mut body, rows)?) } else { None };
    let stored = present.as_ref().map_or(rows, |levels| levels.iter().map(|level| *level as usize).sum());
    match kind {
        ColumnType::Flag => {
            let flag = |row: usize| body.get(row / 8).map(|byte| byte >> (row % 8) & 1 == 1);
            Some(Column::Flags((0..rows).map(flag).collect::<Option<_>>()?))
        }
        ColumnType::Text => {
            let texts = texts(&dictionary?)?;
            let indices = take_indices(body, stored)?;
            indices
                .iter()
                .all(|index| (*index as usize) < texts.len())
                .then_some(Column::Texts(texts, indices))
        }
        _ => {
            let values = match dictionary {
                Some(dictionary) => {
                    let different = integers(&dictionary.bytes, dictionary.values)?;
                    let indices = take_indices(body, stored)?;
                    let lookup = |index: &u32| different.get(*index as usize).copied();
                    indices.iter().map(lookup).collect::<Option<Vec<i64>>>()?
                }
                None => integers(body, stored)?,
            };
            Some(Column::Integers(spread(values, present)))
        }
    }
}

fn decode_pieces(
    mut bytes: &[u8],
    chunk: &Chunk,
    kind: ColumnType,
    each: &mut dyn FnMut(Piece<'_>),
) -> Option<()> {
    let rows = usize::try_from(chunk.rows).ok()?;
    let Pages { values, dictionary } = pages(&mut bytes, rows)?;
    let mut body = values.bytes.as_slice();
    let present = match kind {
        ColumnType::MaybeInteger => take_level_runs(&mut body, rows)?,
        _ => vec![(1, rows)],
    };
    let stored = present.iter().filter(|(level, _)| *level == 1).map(|(_, count)| count).sum();
    let mut weaver = Weaver { present: present.into_iter(), left: 0, each };
    match dictionary {
        Some(dictionary) => {
            let different = integers(&dictionary.bytes, dictionary.values)?;
            let (width, packed) = body.split_first()?;
            let (mut indices, mut looked_up) = (Vec::new(), Vec::new());
            let mut is_known = true;
            hybrid::each_run(packed, u32::from(*width), stored, &mut |run| match run {
                hybrid::Run::Of(index, count) => match different.get(index as usize) {
                    Some(value) => weaver.put(Piece::Same(*value, count)),
                    None => is_known = false,
                },
                hybrid::Run::Packed(packed, count) => {
                    indices.clear();
                    looked_up.clear();
                    hybrid::unpack(packed, u32::from(*width), count, &mut indices);
                    if indices.iter().all(|index| (*index as usize) < different.len()) {
                        looked_up.extend(indices.iter().map(|index| different[*index as usize]));
                    }
                    is_known &= looked_up.len() == count;
                    weaver.put(Piece::Values(&looked_up));
                }
            })?;
            is_known.then_some(())?;
        }
        None => weaver.put(Piece::Values(&integers(body, stored)?)),
    }
    weaver.finish();
    Some(())
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

/// Nulls get their places.
fn spread(values: Vec<i64>, present: Option<Vec<u32>>) -> Vec<i64> {
    let Some(levels) = present.filter(|levels| levels.len() != values.len()) else { return values };
    let mut values = values.into_iter();
    let place = |level: u32| if level == 1 { values.next().unwrap_or(crate::ABSENT) } else { crate::ABSENT };
    levels.into_iter().map(place).collect()
}

fn take_levels(body: &mut &[u8], rows: usize) -> Option<Vec<u32>> {
    let mut present = Vec::with_capacity(rows);
    hybrid::decode(level_bytes(body)?, 1, rows, &mut present)?;
    Some(present)
}

fn take_level_runs(body: &mut &[u8], rows: usize) -> Option<Vec<(u32, usize)>> {
    hybrid::runs(level_bytes(body)?, 1, rows)
}

fn level_bytes<'b>(body: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = body.split_first_chunk::<4>()?;
    let (levels, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *body = rest;
    Some(levels)
}

fn take_indices(body: &[u8], count: usize) -> Option<Vec<u32>> {
    let (width, indices) = body.split_first()?;
    let mut values = Vec::with_capacity(count);
    hybrid::decode(indices, u32::from(*width), count, &mut values)?;
    Some(values)
}

fn integers(bytes: &[u8], count: usize) -> Option<Vec<i64>> {
    let (numbers, _) = bytes.as_chunks::<8>();
    (numbers.len() >= count)
        .then(|| numbers[..count].iter().map(|bytes| i64::from_le_bytes(*bytes)).collect())
}

fn texts(dictionary: &Page) -> Option<Vec<String>> {
    let mut rest = dictionary.bytes.as_slice();
    let mut texts = Vec::new();
    for _ in 0..dictionary.values {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        texts.push(std::str::from_utf8(text).ok()?.to_string());
        rest = after;
    }
    Some(texts)
}

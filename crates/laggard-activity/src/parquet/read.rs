//! Reads columns of row groups; checks every byte it uses against its checksum.

use super::footer::{Chunk, ColumnType, Footer};
use super::thrift::Reader as Thrift;
use super::{delta, hybrid, number};
use std::borrow::Cow;
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

/// A page, without its header.
struct Page<'b> {
    kind: i32,
    encoding: i32,
    values: usize,
    bytes: Cow<'b, [u8]>,
}

fn page<'b>(bytes: &mut &'b [u8], chunk: &Chunk) -> Option<Page<'b>> {
    let mut reader = Thrift::new(bytes);
    let (mut kind, mut unpacked, mut packed, mut encoding, mut values) = (0, None, None, 0, None);
    reader.root(|reader, field| {
        match field.id {
            1 => kind = reader.int(field)? as i32,
            2 => unpacked = usize::try_from(reader.int(field)?).ok(),
            3 => packed = usize::try_from(reader.int(field)?).ok(),
            // Of values, of a dictionary.
            5 | 7 => reader.structure(field, |reader, field| {
                match field.id {
                    1 => values = usize::try_from(reader.int(field)?).ok(),
                    2 => encoding = reader.int(field)? as i32,
                    _ => reader.skip(field)?,
                }
                Some(())
            })?,
            _ => reader.skip(field)?,
        }
        Some(())
    })?;
    let (body, rest) = bytes.get(reader.position..)?.split_at_checked(packed?)?;
    *bytes = rest;
    let bytes = match chunk.is_packed {
        true => Cow::Owned(unpack(body, unpacked.filter(|size| *size <= LARGEST_PAGE)?)?),
        false => Cow::Borrowed(body),
    };
    Some(Page { kind, encoding, values: values?, bytes })
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

fn decode(mut bytes: &[u8], chunk: &Chunk, kind: ColumnType) -> Option<Column> {
    let rows = usize::try_from(chunk.rows).ok()?;
    match kind {
        ColumnType::Flag => {
            let page = page(&mut bytes, chunk)?;
            let flag = |row: usize| page.bytes.get(row / 8).map(|byte| byte >> (row % 8) & 1 == 1);
            Some(Column::Flags((0..rows).map(flag).collect::<Option<_>>()?))
        }
        ColumnType::Text => {
            let (texts, runs) = decode_runs(bytes, chunk)?;
            let indices = runs.into_iter().flat_map(|(index, count)| std::iter::repeat_n(index, count));
            Some(Column::Texts(texts, indices.collect()))
        }
        _ => {
            let mut values = Vec::new();
            decode_pieces(bytes, chunk, kind, &mut |piece| match piece {
                Piece::Absent(rows) => values.resize(values.len() + rows, crate::ABSENT),
                Piece::Same(value, rows) => values.resize(values.len() + rows, value),
                Piece::Values(more) => values.extend_from_slice(more),
            })?;
            Some(Column::Integers(values))
        }
    }
}

fn decode_runs(mut bytes: &[u8], chunk: &Chunk) -> Option<TextRuns> {
    let texts = texts(&page(&mut bytes, chunk)?)?;
    let body = page(&mut bytes, chunk)?;
    let (width, indices) = body.bytes.split_first()?;
    let runs = hybrid::runs(indices, u32::from(*width), usize::try_from(chunk.rows).ok()?)?;
    runs.iter().all(|(index, _)| (*index as usize) < texts.len()).then_some((texts, runs))
}

fn decode_pieces(
    mut bytes: &[u8],
    chunk: &Chunk,
    kind: ColumnType,
    each: &mut dyn FnMut(Piece<'_>),
) -> Option<()> {
    let mut left = usize::try_from(chunk.rows).ok()?;
    let mut dictionary = Vec::new();
    let mut values = Vec::new();
    while left > 0 {
        let page = page(&mut bytes, chunk)?;
        if page.kind == number::DICTIONARY_PAGE {
            dictionary.clear();
            integers(&page.bytes, page.values, &mut dictionary)?;
            continue;
        }
        left = left.checked_sub(page.values)?;
        let mut body = &*page.bytes;
        let present = match kind {
            ColumnType::MaybeInteger => hybrid::runs(level_bytes(&mut body)?, 1, page.values)?,
            _ => vec![(1, page.values)],
        };
        let stored = present.iter().filter(|(level, _)| *level == 1).map(|(_, count)| count).sum();
        let mut weaver = Weaver { present: present.into_iter(), left: 0, each };
        values.clear();
        match page.encoding {
            number::DELTA_BINARY_PACKED => delta::decode(body, stored, &mut values)?,
            number::PLAIN => integers(body, stored, &mut values)?,
            _ => look_up(body, stored, &dictionary, &mut weaver)?,
        }
        weaver.put(Piece::Values(&values));
        weaver.finish();
    }
    Some(())
}

/// Values that are indices into a dictionary.
fn look_up(body: &[u8], stored: usize, dictionary: &[i64], weaver: &mut Weaver<'_>) -> Option<()> {
    let (width, packed) = body.split_first()?;
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    let mut is_known = true;
    hybrid::each_run(packed, u32::from(*width), stored, &mut |run| match run {
        hybrid::Run::Of(index, count) => match dictionary.get(index as usize) {
            Some(value) => weaver.put(Piece::Same(*value, count)),
            None => is_known = false,
        },
        hybrid::Run::Packed(packed, count) => {
            indices.clear();
            values.clear();
            hybrid::unpack(packed, u32::from(*width), count, &mut indices);
            if indices.iter().all(|index| (*index as usize) < dictionary.len()) {
                values.extend(indices.iter().map(|index| dictionary[*index as usize]));
            }
            is_known &= values.len() == count;
            weaver.put(Piece::Values(&values));
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

fn texts(dictionary: &Page<'_>) -> Option<Vec<String>> {
    let mut rest = &*dictionary.bytes;
    let mut texts = Vec::new();
    for _ in 0..dictionary.values {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        texts.push(std::str::from_utf8(text).ok()?.to_string());
        rest = after;
    }
    Some(texts)
}

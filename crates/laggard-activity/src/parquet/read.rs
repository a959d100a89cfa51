//! Reads columns of row groups; checks every byte it uses against its checksum.

use super::footer::{Chunk, ColumnType, Footer};
use super::thrift::Reader as Thrift;
use super::{hybrid, number};
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
    footer: Footer,
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
        Ok(Reader { file, footer })
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

    /// The bytes of a column, checked.
    fn chunk(&self, group: usize, column: usize) -> Result<(Vec<u8>, Chunk, ColumnType), Damage> {
        let wrong = || Damage::Content("no such column");
        let chunk =
            self.footer.groups.get(group).and_then(|group| group.chunks.get(column)).ok_or_else(wrong)?;
        let (_, kind) = self.footer.columns.get(column).ok_or_else(wrong)?;
        let size = self.file.metadata()?.len();
        if chunk.offset.checked_add(chunk.length).is_none_or(|end| end > size) {
            return Err(Damage::Content("cut off"));
        }
        let mut bytes = vec![0; chunk.length as usize];
        self.file.read_exact_at(&mut bytes, chunk.offset)?;
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
        bytes: zstd::bulk::decompress(body, unpacked).ok()?,
    })
}

fn decode(mut bytes: &[u8], chunk: &Chunk, kind: ColumnType) -> Option<Column> {
    let rows = usize::try_from(chunk.rows).ok()?;
    let mut next = page(&mut bytes)?;
    let dictionary = if next.kind == number::DICTIONARY_PAGE {
        let dictionary = std::mem::replace(&mut next, page(&mut bytes)?);
        Some(dictionary)
    } else {
        None
    };
    if next.values != rows {
        return None;
    }
    let uses_dictionary = next.encoding == number::RLE_DICTIONARY;
    let dictionary = dictionary.filter(|_| uses_dictionary);
    let mut body = next.bytes.as_slice();
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

/// Nulls get their places.
fn spread(values: Vec<i64>, present: Option<Vec<u32>>) -> Vec<i64> {
    let Some(levels) = present.filter(|levels| levels.len() != values.len()) else { return values };
    let mut values = values.into_iter();
    let place = |level: u32| if level == 1 { values.next().unwrap_or(crate::ABSENT) } else { crate::ABSENT };
    levels.into_iter().map(place).collect()
}

fn take_levels(body: &mut &[u8], rows: usize) -> Option<Vec<u32>> {
    let (length, rest) = body.split_first_chunk::<4>()?;
    let (levels, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *body = rest;
    let mut present = Vec::with_capacity(rows);
    hybrid::decode(levels, 1, rows, &mut present)?;
    Some(present)
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

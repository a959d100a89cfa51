//! The metadata at the end of a Parquet file: columns, row groups, and key-value pairs, among them the checksums.

use super::thrift::{Field, Reader, Writer};
use super::{MAGIC, number};
use std::collections::BTreeMap;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Milliseconds since 1970, UTC.
    Time,
    /// Text.
    Text,
    /// A truth value.
    Flag,
    /// An integer in every row.
    Integer,
    /// An integer, or null.
    MaybeInteger,
}

impl ColumnType {
    fn physical(self) -> i32 {
        match self {
            ColumnType::Text => number::BYTE_ARRAY,
            ColumnType::Flag => number::BOOLEAN,
            _ => number::INT64,
        }
    }
}

/// Where one column of one row group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Chunk {
    /// First byte: of the dictionary, if there is one.
    pub offset: u64,
    /// First byte of the data pages.
    pub data_offset: u64,
    /// Bytes in the file.
    pub length: u64,
    /// Bytes when unpacked.
    pub unpacked: u64,
    /// Rows, nulls included.
    pub rows: u64,
    /// Checksum of all its bytes.
    pub crc: u32,
    /// Whether its pages are under zstd; else their values are delta binary packed.
    pub is_packed: bool,
}

/// One row group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowGroup {
    /// How many rows.
    pub rows: u64,
    /// Its columns, in the schema's order.
    pub chunks: Vec<Chunk>,
    /// First and last moment, in milliseconds.
    pub span_ms: (i64, i64),
}

/// Everything that the metadata says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footer {
    /// Columns by name.
    pub columns: Vec<(String, ColumnType)>,
    /// Row groups in file order.
    pub groups: Vec<RowGroup>,
    /// Key-value pairs.
    pub keys: BTreeMap<String, String>,
}

/// More than any row group that we write: a damaged number must not ask for all memory.
const MOST_ROWS: u64 = 1 << 24;

/// The key under which the chunks' checksums are kept.
const CRC_KEY: &str = "laggard.crc32";
/// In front of the metadata: this, and the metadata's checksum.
const CRC_MARK: &[u8; 4] = b"LCRC";
/// Mark and checksum before the metadata, length and magic after it.
const AROUND: usize = 16;

impl Footer {
    /// The bytes that end a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let thrift = self.thrift();
        let mut bytes = CRC_MARK.to_vec();
        bytes.extend_from_slice(&crc32fast::hash(&thrift).to_le_bytes());
        bytes.extend_from_slice(&thrift);
        bytes.extend_from_slice(&(thrift.len() as u32).to_le_bytes());
        bytes.extend_from_slice(MAGIC);
        bytes
    }

    /// How many bytes at the end of a file are the metadata, from its last eight bytes.
    pub fn length(end: [u8; 8]) -> Option<u64> {
        let [a, b, c, d, magic @ ..] = end;
        (&magic == MAGIC).then(|| u64::from(u32::from_le_bytes([a, b, c, d])) + AROUND as u64)
    }

    /// Reads the metadata; says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Footer, &'static str> {
        let thrift = bytes.get(8..bytes.len().saturating_sub(8)).ok_or("too short for metadata")?;
        if !bytes.starts_with(CRC_MARK) {
            return Err("ordinary Parquet, but not an activity file: its metadata has no checksum");
        }
        if bytes[4..8] != crc32fast::hash(thrift).to_le_bytes() {
            return Err("the metadata is damaged (checksum)");
        }
        Footer::from_thrift(thrift).ok_or("the metadata is not that of an activity file")
    }

    fn from_thrift(bytes: &[u8]) -> Option<Footer> {
        let mut footer = Footer::default();
        Reader::new(bytes).root(|reader, field| match field.id {
            2 => reader.list(field, |reader, item| {
                // The first is the root, which is no column.
                footer.columns.extend(column(reader, item)?);
                Some(())
            }),
            4 => reader.list(field, |reader, item| {
                footer.groups.push(group(reader, item)?);
                Some(())
            }),
            5 => reader.list(field, |reader, item| {
                let (mut key, mut value) = (None, None);
                reader.structure(item, |reader, field| {
                    match field.id {
                        1 => key = Some(reader.text(field)?),
                        2 => value = Some(reader.text(field)?),
                        _ => reader.skip(field)?,
                    }
                    Some(())
                })?;
                footer.keys.insert(key?.into(), value.unwrap_or_default().into());
                Some(())
            }),
            _ => reader.skip(field),
        })?;
        let crcs = footer.keys.remove(CRC_KEY)?;
        let mut crcs = crcs
            .as_bytes()
            .chunks(8)
            .map(|hex| std::str::from_utf8(hex).ok().and_then(|hex| u32::from_str_radix(hex, 16).ok()));
        for chunk in footer.groups.iter_mut().flat_map(|group| &mut group.chunks) {
            chunk.crc = crcs.next()??;
        }
        let is_whole = |group: &RowGroup| group.chunks.len() == footer.columns.len();
        footer.groups.iter().all(is_whole).then_some(footer)
    }

    fn thrift(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.i32(1, 2);
        let schema: Vec<Option<&(String, ColumnType)>> =
            std::iter::once(None).chain(self.columns.iter().map(Some)).collect();
        out.structures(2, &schema, |out, element| match element {
            None => {
                out.text(4, "activity");
                out.i32(5, self.columns.len() as i32);
            }
            Some((name, kind)) => write_column(out, name, *kind),
        });
        out.i64(3, self.groups.iter().map(|group| group.rows as i64).sum());
        out.structures(4, &self.groups, |out, group| self.write_group(out, group));
        let chunks = self.groups.iter().flat_map(|group| &group.chunks);
        let crcs =
            (CRC_KEY.to_string(), chunks.map(|chunk| format!("{:08x}", chunk.crc)).collect::<String>());
        let pairs: Vec<(&String, &String)> =
            self.keys.iter().chain(std::iter::once((&crcs.0, &crcs.1))).collect();
        out.structures(5, &pairs, |out, (key, value)| {
            out.text(1, key);
            out.text(2, value);
        });
        out.text(6, concat!("laggard ", env!("CARGO_PKG_VERSION")));
        out.finish()
    }

    fn write_group(&self, out: &mut Writer, group: &RowGroup) {
        let columns: Vec<(&Chunk, &(String, ColumnType))> = group.chunks.iter().zip(&self.columns).collect();
        out.structures(1, &columns, |out, (chunk, (name, kind))| {
            out.i64(2, chunk.offset as i64);
            out.structure(3, |out| {
                out.i32(1, kind.physical());
                let values =
                    if chunk.is_packed { number::RLE_DICTIONARY } else { number::DELTA_BINARY_PACKED };
                out.ints(2, &[number::PLAIN, number::RLE, values]);
                out.texts(3, &[name.as_str()]);
                out.i32(4, if chunk.is_packed { number::ZSTD } else { number::UNCOMPRESSED });
                out.i64(5, chunk.rows as i64);
                out.i64(6, chunk.unpacked as i64);
                out.i64(7, chunk.length as i64);
                out.i64(9, chunk.data_offset as i64);
                if chunk.data_offset != chunk.offset {
                    out.i64(11, chunk.offset as i64);
                }
                if *kind == ColumnType::Time {
                    out.structure(12, |out| write_span(out, group.span_ms));
                }
            });
        });
        out.i64(2, group.chunks.iter().map(|chunk| chunk.unpacked as i64).sum());
        out.i64(3, group.rows as i64);
    }
}

fn write_column(out: &mut Writer, name: &str, kind: ColumnType) {
    out.i32(1, kind.physical());
    out.i32(3, if kind == ColumnType::MaybeInteger { number::OPTIONAL } else { number::REQUIRED });
    out.text(4, name);
    match kind {
        ColumnType::Text => {
            out.i32(6, number::UTF8);
            out.structure(10, |out| out.structure(1, |_| {}));
        }
        ColumnType::Time => {
            out.i32(6, number::TIMESTAMP_MILLIS);
            out.structure(10, |out| {
                out.structure(8, |out| {
                    out.bool(1, true);
                    out.structure(2, |out| out.structure(1, |_| {}));
                });
            });
        }
        _ => {}
    }
}

/// A column; nothing for the root, which has no type.
fn column(reader: &mut Reader<'_>, item: Field) -> Option<Option<(String, ColumnType)>> {
    let (mut physical, mut repetition, mut converted, mut name) = (None, None, None, None);
    reader.structure(item, |reader, field| {
        match field.id {
            1 => physical = Some(reader.int(field)? as i32),
            3 => repetition = Some(reader.int(field)? as i32),
            4 => name = Some(reader.text(field)?),
            6 => converted = Some(reader.int(field)? as i32),
            _ => reader.skip(field)?,
        }
        Some(())
    })?;
    let Some(physical) = physical else { return Some(None) };
    let kind = match (physical, repetition?, converted) {
        (number::BYTE_ARRAY, _, _) => ColumnType::Text,
        (number::BOOLEAN, _, _) => ColumnType::Flag,
        (number::INT64, number::OPTIONAL, _) => ColumnType::MaybeInteger,
        (number::INT64, _, Some(number::TIMESTAMP_MILLIS)) => ColumnType::Time,
        (number::INT64, _, _) => ColumnType::Integer,
        _ => return None,
    };
    Some(Some((name?.into(), kind)))
}

fn group(reader: &mut Reader<'_>, item: Field) -> Option<RowGroup> {
    let mut found = RowGroup::default();
    reader.structure(item, |reader, field| match field.id {
        1 => reader.list(field, |reader, item| {
            reader.structure(item, |reader, field| match field.id {
                3 => {
                    let (chunk, span_ms) = chunk(reader, field)?;
                    found.chunks.push(chunk);
                    found.span_ms = span_ms.unwrap_or(found.span_ms);
                    Some(())
                }
                _ => reader.skip(field),
            })
        }),
        3 => {
            found.rows = reader.size(field)?;
            Some(())
        }
        _ => reader.skip(field),
    })?;
    Some(found)
}

/// A chunk without its checksum, and its span, if it has one: that of the times.
fn chunk(reader: &mut Reader<'_>, item: Field) -> Option<(Chunk, Option<(i64, i64)>)> {
    let (mut found, mut dictionary, mut span_ms) = (Chunk::default(), None, None);
    reader.structure(item, |reader, field| {
        match field.id {
            4 => {
                found.is_packed = match reader.int(field)? as i32 {
                    number::ZSTD => true,
                    number::UNCOMPRESSED => false,
                    _ => return None,
                }
            }
            5 => found.rows = reader.size(field).filter(|rows| *rows <= MOST_ROWS)?,
            6 => found.unpacked = reader.size(field)?,
            7 => found.length = reader.size(field)?,
            9 => found.data_offset = reader.size(field)?,
            11 => dictionary = Some(reader.size(field)?),
            12 => span_ms = span(reader, field)?,
            _ => reader.skip(field)?,
        }
        Some(())
    })?;
    found.offset = dictionary.unwrap_or(found.data_offset);
    Some((found, span_ms))
}

/// Statistics: greatest value in field 5, least in field 6, little-endian.
fn write_span(out: &mut Writer, (from, to): (i64, i64)) {
    out.bytes_field(5, &to.to_le_bytes());
    out.bytes_field(6, &from.to_le_bytes());
}

fn span(reader: &mut Reader<'_>, item: Field) -> Option<Option<(i64, i64)>> {
    let (mut least, mut greatest) = (None, None);
    reader.structure(item, |reader, field| {
        match field.id {
            5 => greatest = Some(i64::from_le_bytes(reader.bytes(field)?.try_into().ok()?)),
            6 => least = Some(i64::from_le_bytes(reader.bytes(field)?.try_into().ok()?)),
            _ => reader.skip(field)?,
        }
        Some(())
    })?;
    Some(least.zip(greatest))
}

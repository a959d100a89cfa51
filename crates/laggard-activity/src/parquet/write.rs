//! Writes row groups, column by column, so that no more than one column of one row group is ever in memory.

use super::footer::{Chunk, ColumnType, Footer, RowGroup};
use super::thrift;
use super::{MAGIC, hybrid, number};
use std::collections::HashMap;
use std::io::{self, Write};

/// The values of one column of one row group.
pub enum Data<'a> {
    /// Integers, and which rows have one: runs of present and absent rows.
    Integers(&'a [i64], &'a [(bool, usize)]),
    /// Texts, as indices into a list of different ones.
    Texts(&'a [&'a str], &'a [u32]),
    /// Truth values.
    Flags(&'a [bool]),
}

/// More different values than this are not worth a dictionary.
const LARGEST_DICTIONARY: usize = 1 << 16;

/// zstd's own default: levels 1 to 9 differ by two hundredths here (docs/decisions/0007).
const LEVEL: i32 = 3;

/// Writes a Parquet file, or goes on with one that has row groups already.
pub struct Writer<W: Write> {
    out: W,
    position: u64,
    footer: Footer,
    group: RowGroup,
    zstd: zstd::bulk::Compressor<'static>,
}

impl<W: Write> Writer<W> {
    /// Starts a file.
    pub fn new(mut out: W, columns: Vec<(String, ColumnType)>) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        Self::after(out, MAGIC.len() as u64, Footer { columns, ..Footer::default() })
    }

    /// Goes on behind the row groups of a file whose metadata is `footer` and whose first `position` bytes are in `out`.
    pub fn after(out: W, position: u64, footer: Footer) -> io::Result<Self> {
        let zstd = zstd::bulk::Compressor::new(LEVEL)?;
        Ok(Writer { out, position, footer, group: RowGroup::default(), zstd })
    }

    /// Writes the next column of the current row group.
    pub fn column(&mut self, data: &Data) -> io::Result<()> {
        let mut chunk = Chunk { offset: self.position, ..Chunk::default() };
        let mut crc = crc32fast::Hasher::new();
        match data {
            Data::Integers(values, present) => {
                chunk.rows = present.iter().map(|(_, count)| *count as u64).sum();
                let required = self.column_type() != ColumnType::MaybeInteger;
                let levels = if required { Vec::new() } else { levels(present) };
                if let Some((dictionary, indices)) = dictionary(values) {
                    let plain: Vec<u8> = dictionary.iter().flat_map(|value| value.to_le_bytes()).collect();
                    self.dictionary_page(&plain, dictionary.len(), &mut chunk, &mut crc)?;
                    chunk.data_offset = self.position;
                    self.data_page(
                        &index_page(levels, &indices, dictionary.len()),
                        chunk.rows,
                        true,
                        &mut chunk,
                        &mut crc,
                    )?;
                } else {
                    chunk.data_offset = self.position;
                    let mut page = levels;
                    page.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                    self.data_page(&page, chunk.rows, false, &mut chunk, &mut crc)?;
                }
                if self.column_type() == ColumnType::Time {
                    let bounds = (values.iter().min(), values.iter().max());
                    self.group.span_ms = (bounds.0.copied().unwrap_or(0), bounds.1.copied().unwrap_or(0));
                }
            }
            Data::Texts(texts, indices) => {
                chunk.rows = indices.len() as u64;
                let mut plain = Vec::new();
                for text in *texts {
                    plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
                    plain.extend_from_slice(text.as_bytes());
                }
                self.dictionary_page(&plain, texts.len(), &mut chunk, &mut crc)?;
                chunk.data_offset = self.position;
                self.data_page(
                    &index_page(Vec::new(), indices, texts.len()),
                    chunk.rows,
                    true,
                    &mut chunk,
                    &mut crc,
                )?;
            }
            Data::Flags(flags) => {
                chunk.rows = flags.len() as u64;
                chunk.data_offset = self.position;
                let bits = flags.chunks(8).map(|flags| {
                    flags.iter().enumerate().fold(0, |byte, (bit, flag)| byte | u8::from(*flag) << bit)
                });
                self.data_page(&bits.collect::<Vec<u8>>(), chunk.rows, false, &mut chunk, &mut crc)?;
            }
        }
        chunk.crc = crc.finalize();
        self.group.rows = chunk.rows;
        self.group.chunks.push(chunk);
        Ok(())
    }

    /// Ends a row group whose columns are all written.
    pub fn end_group(&mut self) -> io::Result<()> {
        if self.group.chunks.len() != self.footer.columns.len() {
            return Err(io::Error::other("a row group without all of its columns"));
        }
        self.footer.groups.push(std::mem::take(&mut self.group));
        Ok(())
    }

    /// Writes the metadata, with these key-value pairs.
    pub fn finish(mut self, keys: impl IntoIterator<Item = (String, String)>) -> io::Result<W> {
        self.footer.keys.extend(keys);
        self.out.write_all(&self.footer.to_bytes())?;
        Ok(self.out)
    }

    fn column_type(&self) -> ColumnType {
        self.footer.columns.get(self.group.chunks.len()).map_or(ColumnType::Integer, |(_, kind)| *kind)
    }

    fn dictionary_page(
        &mut self,
        plain: &[u8],
        count: usize,
        chunk: &mut Chunk,
        crc: &mut crc32fast::Hasher,
    ) -> io::Result<()> {
        self.page(plain, number::DICTIONARY_PAGE, chunk, crc, |out| {
            out.structure(7, |out| {
                out.i32(1, count as i32);
                out.i32(2, number::PLAIN);
            });
        })
    }

    fn data_page(
        &mut self,
        page: &[u8],
        rows: u64,
        indices: bool,
        chunk: &mut Chunk,
        crc: &mut crc32fast::Hasher,
    ) -> io::Result<()> {
        self.page(page, number::DATA_PAGE, chunk, crc, |out| {
            out.structure(5, |out| {
                out.i32(1, rows as i32);
                out.i32(2, if indices { number::RLE_DICTIONARY } else { number::PLAIN });
                out.i32(3, number::RLE);
                out.i32(4, number::RLE);
            });
        })
    }

    fn page(
        &mut self,
        plain: &[u8],
        kind: i32,
        chunk: &mut Chunk,
        crc: &mut crc32fast::Hasher,
        rest: impl FnOnce(&mut thrift::Writer),
    ) -> io::Result<()> {
        let packed = self.zstd.compress(plain)?;
        let mut header = thrift::Writer::new();
        header.i32(1, kind);
        header.i32(2, plain.len() as i32);
        header.i32(3, packed.len() as i32);
        header.i32(4, crc32fast::hash(&packed) as i32);
        rest(&mut header);
        let header = header.finish();
        for bytes in [&header, &packed] {
            self.out.write_all(bytes)?;
            crc.update(bytes);
        }
        let length = (header.len() + packed.len()) as u64;
        self.position += length;
        chunk.length += length;
        chunk.unpacked += (header.len() + plain.len()) as u64;
        Ok(())
    }
}

/// Which rows have a value, with the length in front that a page of version 1 wants.
fn levels(present: &[(bool, usize)]) -> Vec<u8> {
    let mut runs = Vec::new();
    present.iter().for_each(|(present, count)| hybrid::repeat(&mut runs, u32::from(*present), *count, 1));
    let mut out = (runs.len() as u32).to_le_bytes().to_vec();
    out.append(&mut runs);
    out
}

/// Indices take whole bytes: under zstd that is as small as packed bits, within a hundredth, and faster to read.
fn index_page(mut page: Vec<u8>, indices: &[u32], dictionary: usize) -> Vec<u8> {
    let width = match dictionary {
        0..=1 => 0,
        2..=256 => 8,
        257..=65_536 => 16,
        _ => 32,
    };
    page.push(width);
    hybrid::encode(&mut page, indices, u32::from(width));
    page
}

/// The different values, in ascending order, and each value's place among them.
fn dictionary(values: &[i64]) -> Option<(Vec<i64>, Vec<u32>)> {
    let mut places: HashMap<i64, u32> = HashMap::new();
    for value in values {
        let next = places.len() as u32;
        places.entry(*value).or_insert(next);
        if places.len() > LARGEST_DICTIONARY {
            return None;
        }
    }
    let mut dictionary: Vec<i64> = places.keys().copied().collect();
    dictionary.sort_unstable();
    dictionary.iter().enumerate().for_each(|(place, value)| {
        places.insert(*value, place as u32);
    });
    Some((dictionary, values.iter().map(|value| places[value]).collect()))
}

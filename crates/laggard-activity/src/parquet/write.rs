//! Writes row groups, column by column, so that no more than one column of one row group is ever in memory.

use super::footer::{Chunk, ColumnType, Footer, RowGroup};
use super::thrift;
use super::{MAGIC, delta, hybrid, number};
use std::collections::HashMap;
use std::io::{self, Write};

/// The values of one column of one row group.
pub enum Data<'a> {
    /// Integers; which rows have one, as runs of present and absent rows; and the rows at which something new begins.
    Integers(&'a [i64], &'a [(bool, usize)], &'a [usize]),
    /// Texts, as indices into a list of different ones.
    Texts(&'a [&'a str], &'a [u32]),
    /// Truth values.
    Flags(&'a [bool]),
}

/// One column of one row group, as bytes.
#[derive(Default)]
struct Encoded {
    bytes: Vec<u8>,
    /// Where the first page of values is: after the dictionary, if there is one.
    data: usize,
    /// How many bytes it has without zstd.
    unpacked: usize,
}

/// More different values than this are not worth a dictionary.
const LARGEST_DICTIONARY: usize = 1 << 16;

/// Differences without zstd are read several times as fast: so much larger they may be.
const WORTH: f64 = 1.5;

/// zstd's own default: levels 1 to 9 differ by two hundredths here (docs/decisions/0007).
const LEVEL: i32 = 3;

/// Writes a Parquet file, or goes on with one that has row groups already.
pub struct Writer<W: Write> {
    out: W,
    position: u64,
    footer: Footer,
    group: RowGroup,
    zstd: Zstd,
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
        let (rows, encoded, is_packed) = match data {
            Data::Integers(values, present, cuts) => {
                if self.column_type() == ColumnType::Time {
                    let bounds = (values.iter().min(), values.iter().max());
                    self.group.span_ms = (bounds.0.copied().unwrap_or(0), bounds.1.copied().unwrap_or(0));
                }
                let is_required = self.column_type() != ColumnType::MaybeInteger;
                let levels_of =
                    |present: &[(bool, usize)]| if is_required { Vec::new() } else { levels(present) };
                let packed = self.integers(values, levels_of(present), rows_of(present))?;
                let delta = deltas(values, &split(present, cuts), levels_of)?;
                let is_packed = delta.bytes.len() as f64 > packed.bytes.len() as f64 * WORTH;
                (rows_of(present), if is_packed { packed } else { delta }, is_packed)
            }
            Data::Texts(texts, indices) => {
                let mut plain = Vec::new();
                for text in *texts {
                    plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
                    plain.extend_from_slice(text.as_bytes());
                }
                let mut encoded = Encoded::default();
                encoded.dictionary(&plain, texts.len(), &mut self.zstd)?;
                let page = index_page(Vec::new(), indices, texts.len());
                encoded.values(&page, indices.len(), number::RLE_DICTIONARY, Some(&mut self.zstd))?;
                (indices.len(), encoded, true)
            }
            Data::Flags(flags) => {
                let bits = flags.chunks(8).map(|flags| {
                    flags.iter().enumerate().fold(0, |byte, (bit, flag)| byte | u8::from(*flag) << bit)
                });
                let mut encoded = Encoded::default();
                encoded.values(
                    &bits.collect::<Vec<u8>>(),
                    flags.len(),
                    number::PLAIN,
                    Some(&mut self.zstd),
                )?;
                (flags.len(), encoded, true)
            }
        };
        self.out.write_all(&encoded.bytes)?;
        self.group.rows = rows as u64;
        self.group.chunks.push(Chunk {
            offset: self.position,
            data_offset: self.position + encoded.data as u64,
            length: encoded.bytes.len() as u64,
            unpacked: encoded.unpacked as u64,
            rows: rows as u64,
            crc: crc32fast::hash(&encoded.bytes),
            is_packed,
        });
        self.position += encoded.bytes.len() as u64;
        Ok(())
    }

    /// Integers under zstd, with a dictionary if that is worth it.
    fn integers(&mut self, values: &[i64], levels: Vec<u8>, rows: usize) -> io::Result<Encoded> {
        let mut encoded = Encoded::default();
        let plain = |values: &[i64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        match dictionary(values) {
            Some((different, indices)) => {
                encoded.dictionary(&plain(&different), different.len(), &mut self.zstd)?;
                let page = index_page(levels, &indices, different.len());
                encoded.values(&page, rows, number::RLE_DICTIONARY, Some(&mut self.zstd))?;
            }
            None => {
                let page = [levels, plain(values)].concat();
                encoded.values(&page, rows, number::PLAIN, Some(&mut self.zstd))?;
            }
        }
        Ok(encoded)
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
}

type Zstd = zstd::bulk::Compressor<'static>;

impl Encoded {
    fn dictionary(&mut self, plain: &[u8], count: usize, zstd: &mut Zstd) -> io::Result<()> {
        self.page(plain, number::DICTIONARY_PAGE, Some(zstd), |out| {
            out.structure(7, |out| {
                out.i32(1, count as i32);
                out.i32(2, number::PLAIN);
            });
        })?;
        self.data = self.bytes.len();
        Ok(())
    }

    fn values(&mut self, page: &[u8], rows: usize, encoding: i32, zstd: Option<&mut Zstd>) -> io::Result<()> {
        self.page(page, number::DATA_PAGE, zstd, |out| {
            out.structure(5, |out| {
                out.i32(1, rows as i32);
                out.i32(2, encoding);
                out.i32(3, number::RLE);
                out.i32(4, number::RLE);
            });
        })
    }

    fn page(
        &mut self,
        plain: &[u8],
        kind: i32,
        zstd: Option<&mut Zstd>,
        rest: impl FnOnce(&mut thrift::Writer),
    ) -> io::Result<()> {
        let packed = zstd.map(|zstd| zstd.compress(plain)).transpose()?;
        let body = packed.as_deref().unwrap_or(plain);
        let mut header = thrift::Writer::new();
        header.i32(1, kind);
        header.i32(2, plain.len() as i32);
        header.i32(3, body.len() as i32);
        header.i32(4, crc32fast::hash(body) as i32);
        rest(&mut header);
        let header = header.finish();
        self.unpacked += header.len() + plain.len();
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(body);
        Ok(())
    }
}

/// Integers as differences, page by page, without zstd.
fn deltas(
    mut values: &[i64],
    pages: &[Vec<(bool, usize)>],
    levels: impl Fn(&[(bool, usize)]) -> Vec<u8>,
) -> io::Result<Encoded> {
    let mut encoded = Encoded::default();
    for present in pages {
        let count = present.iter().filter(|(is_present, _)| *is_present).map(|(_, count)| count).sum();
        let (now, later) = values.split_at(count);
        let mut page = levels(present);
        delta::encode(&mut page, now);
        encoded.values(&page, rows_of(present), number::DELTA_BINARY_PACKED, None)?;
        values = later;
    }
    Ok(encoded)
}

fn rows_of(present: &[(bool, usize)]) -> usize {
    present.iter().map(|(_, count)| count).sum()
}

/// Cuts rows into pages, each with a value or more if there are any. What begins is far from what was before it: it gets a page of its own, and widens no other.
fn split(present: &[(bool, usize)], cuts: &[usize]) -> Vec<Vec<(bool, usize)>> {
    let mut pages = vec![Vec::new()];
    let (mut row, mut has_value) = (0, false);
    let mut cuts = cuts.iter().copied().peekable();
    for (is_present, mut left) in present.iter().copied() {
        while left > 0 {
            while cuts.next_if_eq(&row).is_some() {
                if has_value && is_present {
                    pages.push(Vec::new());
                    has_value = false;
                }
            }
            let part = cuts.peek().map_or(left, |cut| left.min(cut - row));
            if let Some(page) = pages.last_mut() {
                page.push((is_present, part));
            }
            has_value |= is_present;
            row += part;
            left -= part;
        }
    }
    pages
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_has_a_page_of_its_own() {
        // Two rows of another kind, a thing of three rows, one of a single row, one whose first row is absent.
        let present = [(false, 2), (true, 4), (false, 1), (true, 2), (false, 3)];
        let cuts = [2, 3, 5, 6, 6, 7];
        let pages = split(&present, &cuts);
        let expected: [&[(bool, usize)]; 4] =
            [&[(false, 2), (true, 1)], &[(true, 2)], &[(true, 1), (false, 1)], &[(true, 2), (false, 3)]];
        assert_eq!(pages, expected);
        assert_eq!(split(&[(false, 5)], &[0, 1]), [[(false, 1), (false, 4)]], "nothing but absent rows");
        assert_eq!(split(&[(true, 3)], &[]), [[(true, 3)]]);
    }
}

//! Reads columns of row groups; checks every byte it uses against its checksum.

use super::decode::{self, Scratch};
use super::footer::{Chunk, ColumnType, Footer};
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

/// The different texts of a column, and which of them stands how often in a row.
pub type TextRuns = (Vec<String>, Vec<(u32, usize)>);

/// Length, length without zstd, checksum.
pub type Fingerprint = (u64, u64, u32);

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

    /// The value of the first row.
    pub fn first(self) -> i64 {
        match self {
            Piece::Absent(_) => crate::ABSENT,
            Piece::Same(value, _) => value,
            Piece::Values(values) => values.first().copied().unwrap_or(crate::ABSENT),
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

    /// Reads a column of texts as runs of equal ones: the different texts, and which of them stands how often.
    pub fn text_runs(&self, group: usize, column: usize) -> Result<TextRuns, Damage> {
        self.decoded(group, column, |bytes, chunk, kind, scratch| {
            (kind == ColumnType::Text).then(|| decode::runs(bytes, chunk, scratch)).flatten()
        })
    }

    /// Reads a column of integers piece by piece: what is repeated or absent costs nothing.
    pub fn pieces(&self, group: usize, column: usize, each: &mut dyn FnMut(Piece<'_>)) -> Result<(), Damage> {
        self.decoded(group, column, |bytes, chunk, kind, scratch| {
            decode::pieces(bytes, chunk, kind, scratch, each)
        })
    }

    /// What tells the bytes of a column from others, without reading them: two with the same are the same.
    pub fn fingerprint(&self, group: usize, column: usize) -> Option<Fingerprint> {
        let chunk = self.footer.groups.get(group)?.chunks.get(column)?;
        Some((chunk.length, chunk.unpacked, chunk.crc))
    }

    /// The bytes of a column, checked, and then decoded.
    fn decoded<T>(
        &self,
        group: usize,
        column: usize,
        decode: impl FnOnce(&[u8], &Chunk, ColumnType, &mut Scratch) -> Option<T>,
    ) -> Result<T, Damage> {
        let wrong = || Damage::Content("no such column");
        let chunk =
            self.footer.groups.get(group).and_then(|group| group.chunks.get(column)).ok_or_else(wrong)?;
        let (_, kind) = self.footer.columns.get(column).ok_or_else(wrong)?;
        let cut_off = || Damage::Content("cut off");
        if chunk.offset.checked_add(chunk.length).is_none_or(|end| end > self.size) {
            return Err(cut_off());
        }
        Scratch::with(|bytes, scratch| {
            bytes.resize(chunk.length as usize, 0);
            self.file.read_exact_at(bytes, chunk.offset).map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => cut_off(),
                _ => Damage::Io(error),
            })?;
            if crc32fast::hash(bytes) != chunk.crc {
                return Err(Damage::Content("damaged (checksum)"));
            }
            decode(bytes, chunk, *kind, scratch).ok_or(Damage::Content("a column that cannot be decoded"))
        })
    }
}

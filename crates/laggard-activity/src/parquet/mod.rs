//! As much of Parquet as an activity file uses, written so that any Parquet reader opens it.
//!
//! Flat columns of integers, texts and truth values; dictionary or plain encoding under zstd, or delta binary packing without. Beyond the standard, every byte that
//! is read is covered by a checksum: one per column chunk, kept in the metadata, and one for the metadata itself, in front of
//! it. docs/decisions/0007 says why this is not the `parquet` crate; the tests read every file with that crate too.

pub mod decode;
pub mod delta;
pub mod footer;
pub mod hybrid;
pub mod read;
pub mod thrift;
pub mod write;

pub use footer::{Chunk, ColumnType, Footer, RowGroup};
pub use read::Reader;
pub use write::{Data, Writer};

/// First and last bytes of every Parquet file.
const MAGIC: &[u8; 4] = b"PAR1";

/// Numbers that the Parquet specification gives to what is used here.
mod number {
    pub const BOOLEAN: i32 = 0;
    pub const INT64: i32 = 2;
    pub const BYTE_ARRAY: i32 = 6;
    pub const REQUIRED: i32 = 0;
    pub const OPTIONAL: i32 = 1;
    pub const UTF8: i32 = 0;
    pub const TIMESTAMP_MILLIS: i32 = 9;
    pub const UNCOMPRESSED: i32 = 0;
    pub const ZSTD: i32 = 6;
    pub const PLAIN: i32 = 0;
    pub const RLE: i32 = 3;
    pub const DELTA_BINARY_PACKED: i32 = 5;
    pub const RLE_DICTIONARY: i32 = 8;
    pub const DATA_PAGE: i32 = 0;
    pub const DICTIONARY_PAGE: i32 = 2;
}

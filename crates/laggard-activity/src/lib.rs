//! The activity file: raw counters of one host, second by second.
//!
//! What is sealed is ordinary Parquet ([`mod@seal`]), what is not yet is an append-only tail ([`tail`]); [`Activity`] reads both
//! as one. [`kind`] is the table of what is recorded. Shared by the agent, which must stay small, and everything that reads.

pub mod counters;
pub mod growth;
pub mod kind;
pub mod lustre;
pub mod name;
pub mod parquet;
pub mod read;
pub mod seal;
pub mod snapshot;
pub mod tail;
pub mod transfer;
pub mod varint;

pub use counters::{Counters, Fresh};
pub use growth::{Growth, Rows};
pub use parquet::read::{Damage, Piece};
pub use read::{Activity, Follower, Stretch, Thing};
pub use snapshot::{ABSENT, Snapshot, Table};
pub use tail::{Origin, TailReader, TailWriter};

#[cfg(test)]
mod tests;

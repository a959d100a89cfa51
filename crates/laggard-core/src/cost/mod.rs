//! What work costs a disk: CUG'13's model, shared by utilization and by diagnosis.
//!
//! A transaction of `b` bytes between a server and its disk takes `a0 + a1 b` seconds, with coefficients of their own for reads and
//! for writes ([`Line`], [`Model`]). [`fit()`] finds them in what peers did, robustly, so that a slow peer does not teach what is
//! usual. [`Concurrency`] turns the busy and the waiting time of a device into its time in service.

pub mod concurrency;
pub mod fit;

pub use concurrency::{Concurrency, Times};
pub use fit::{Row, Sizes, fit};

use serde::{Deserialize, Serialize};

/// Bytes of a sector, the unit of `rd_sec` and `wr_sec`.
pub const SECTOR: f64 = 512.0;

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::Read, Direction::Write];

    /// The word in files and output.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
        }
    }

    /// The direction of this name.
    pub fn parse(name: &str) -> Option<Direction> {
        Direction::ALL.into_iter().find(|direction| direction.name() == name)
    }
}

/// Seconds that a transaction takes, as a straight line over its size: Equation 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// What each transaction takes, whatever its size.
    pub latency_s: f64,
    /// What each byte adds.
    pub per_byte_s: f64,
}

impl Line {
    /// Seconds that so many transactions take, which move so many bytes together: the sizes of single ones do not matter.
    #[inline]
    pub fn seconds(&self, transactions: f64, bytes: f64) -> f64 {
        transactions * self.latency_s + bytes * self.per_byte_s
    }

    /// Bytes per second with transactions of one size: Equation 2.
    pub fn bandwidth(&self, size: f64) -> f64 {
        size / self.seconds(1.0, size)
    }
}

/// What one target did in some time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Load {
    /// Read transactions.
    pub reads: f64,
    /// Bytes that they moved.
    pub read_bytes: f64,
    /// Write transactions.
    pub writes: f64,
    /// Bytes that they moved.
    pub write_bytes: f64,
}

impl Load {
    /// Bytes in both directions.
    pub fn bytes(&self) -> f64 {
        self.read_bytes + self.write_bytes
    }

    /// Transactions in both directions.
    pub fn transactions(&self) -> f64 {
        self.reads + self.writes
    }

    /// Adds another.
    #[inline]
    pub fn add(&mut self, other: &Load) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.write_bytes += other.write_bytes;
    }
}

/// The coefficients of one target, for both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// For writes.
    pub write: Line,
    /// For reads.
    pub read: Line,
}

impl Model {
    /// Seconds in which a disk that does nothing else does this: Equation 5.
    #[inline]
    pub fn seconds(&self, load: &Load) -> f64 {
        self.write.seconds(load.writes, load.write_bytes) + self.read.seconds(load.reads, load.read_bytes)
    }

    /// The same, if transactions cost nothing but their bytes: what bandwidth alone would tell.
    pub fn transfer_seconds(&self, load: &Load) -> f64 {
        load.write_bytes * self.write.per_byte_s + load.read_bytes * self.read.per_byte_s
    }

    /// File System Utilization in percent: Equation 7.
    #[inline]
    pub fn utilization(&self, load: &Load, seconds: f64) -> f64 {
        100.0 * self.seconds(load) / seconds
    }

    /// Bytes per second that the disk gives with this pattern, if it is kept busy: Equation 6. Nothing without transactions.
    pub fn achievable(&self, load: &Load) -> Option<f64> {
        let seconds = self.seconds(load);
        (seconds > 0.0).then(|| load.bytes() / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_have_names() {
        assert_eq!(
            Direction::ALL.map(|direction| Direction::parse(direction.name())),
            Direction::ALL.map(Some)
        );
        assert_eq!(Direction::parse("both"), None);
    }
}

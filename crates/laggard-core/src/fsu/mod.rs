//! File System Utilization: how busy the disks really are (CUG'13).
//!
//! A transaction of `b` bytes between a server and its disk takes `a0 + a1 b` seconds, with coefficients of their own for reads and
//! for writes ([`Line`], [`Model`]). [`calibrate`] finds them in tests that keep a disk as busy as it gets. [`Survey`] adds up what
//! was observed: how often a file system was idle, moderate or busy, and with how much of its transactions of the best size.
//! [`contention`] and [`metadata`] go beyond the paper.

pub mod calibrate;
pub mod coefficients;
pub mod contention;
pub mod metadata;
pub mod survey;

pub use coefficients::Coefficients;
pub use survey::{Class, Survey};

use serde::{Deserialize, Serialize};

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

    /// Table I of the paper.
    pub const TABLE_I: Model = Model {
        write: Line { latency_s: 1.04e-3, per_byte_s: 1.73e-9 },
        read: Line { latency_s: 8.02e-4, per_byte_s: 1.23e-9 },
    };

    #[test]
    fn worked_numbers_of_equations_6_and_7() {
        // 1000 writes of 4 KiB and 500 reads of 1 MiB in 5 s.
        let load = Load {
            writes: 1000.0,
            write_bytes: 1000.0 * 4096.0,
            reads: 500.0,
            read_bytes: 500.0 * 1048576.0,
        };
        // 1.04 s + 4,096,000 x 1.73e-9 s + 0.401 s + 524,288,000 x 1.23e-9 s
        let seconds = 1.04 + 0.007_086_08 + 0.401 + 0.644_874_24;
        assert!((TABLE_I.seconds(&load) - seconds).abs() < 1e-9);
        assert!((TABLE_I.utilization(&load, 5.0) - 100.0 * seconds / 5.0).abs() < 1e-9);
        let achievable = TABLE_I.achievable(&load).unwrap();
        assert!((achievable - 528_384_000.0 / seconds).abs() < 1.0, "{achievable}");
        assert_eq!(TABLE_I.achievable(&Load::default()), None);
    }

    #[test]
    fn the_papers_rates() {
        // "551" and "775" MB/s are MiB/s: 1 / 1.73e-9 and 1 / 1.23e-9.
        let mebibytes = |line: Line| line.bandwidth(1e15) / 1048576.0;
        assert!((mebibytes(TABLE_I.write) - 551.0).abs() < 1.0, "{}", mebibytes(TABLE_I.write));
        assert!((mebibytes(TABLE_I.read) - 775.0).abs() < 1.0, "{}", mebibytes(TABLE_I.read));
    }
}

//! File System Utilization: how busy the disks really are (CUG'13).
//!
//! What work costs ([`Line`], [`Model`]) is the model of [`crate::cost`]. [`calibrate`] finds them in tests that keep a disk as busy as it gets. [`Survey`] adds up what
//! was observed: how often a file system was idle, moderate or busy, and with how much of its transactions of the best size.
//! [`contention`] and [`metadata`] go beyond the paper.

pub mod calibrate;
pub mod coefficients;
pub mod contention;
pub mod metadata;
pub mod survey;

pub use crate::cost::{Direction, Line, Load, Model};
pub use coefficients::Coefficients;
pub use survey::{Class, Survey};

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

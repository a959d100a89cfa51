//! Where transactions are counted: by size, of Lustre's targets and by the agent's source `block`; or only how many and how much, of any
//! block device. The utilization needs no more than that; what sizes there were, only the first can say.

use laggard_activity::kind::{DISK, Kind, TRANSFER};
use laggard_activity::transfer::{BYTES, COUNTS, SIZES};

/// What a field counts; 0 is reads, 1 is writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Bytes moved for clients.
    Moved(usize),
    /// Transactions of one size.
    OfSize(usize, usize),
    /// Transactions of any size.
    Transactions(usize),
    /// Sectors of 512 bytes.
    Sectors(usize),
}

/// A kind, and what its fields count.
pub struct Source {
    /// The kind.
    pub kind: &'static Kind,
    /// Fields, with what they count.
    pub fields: Vec<(usize, Meaning)>,
}

impl Source {
    /// Transactions by size.
    pub fn by_size() -> Source {
        let moved = [0, 1].map(|way| (BYTES + way, Meaning::Moved(way)));
        let of_size =
            (0..2 * SIZES).map(|place| (COUNTS + place, Meaning::OfSize(place / SIZES, place % SIZES)));
        Source { kind: &TRANSFER, fields: moved.into_iter().chain(of_size).collect() }
    }

    /// Block devices as /proc/diskstats counts them.
    pub fn of_disks() -> Source {
        let named = [
            ("reads", Meaning::Transactions(0)),
            ("sectors_read", Meaning::Sectors(0)),
            ("writes", Meaning::Transactions(1)),
            ("sectors_written", Meaning::Sectors(1)),
        ];
        let fields = named.into_iter().filter_map(|(name, meaning)| Some((DISK.field(name)?, meaning)));
        Source { kind: &DISK, fields: fields.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_there() {
        assert_eq!(Source::of_disks().fields.len(), 4);
        assert_eq!(Source::by_size().fields.len(), 2 + 2 * SIZES);
    }
}

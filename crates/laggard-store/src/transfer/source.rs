//! Where transactions are counted: by size, of Lustre's targets and by the agent's source `block`; or only how many and how much, of any
//! block device. The utilization needs no more than that; what sizes there were, only the first can say.

use laggard_activity::kind::{DISK, DiskField, Kind, TRANSFER};
use laggard_activity::transfer::{ALL, BYTES, COUNTS, SECTORS, SIZES};

/// What a field counts; 0 is reads, 1 is writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Bytes moved for clients.
    Moved(usize),
    /// Transactions of any size.
    Transactions(usize),
    /// Sectors of 512 bytes that they moved.
    Sectors(usize),
    /// Those of one size.
    OfSize(usize),
}

/// A kind, and what its fields count.
pub struct Source {
    /// The kind.
    pub kind: &'static Kind,
    /// Fields, with what they count.
    pub fields: Vec<(usize, Meaning)>,
}

impl Source {
    /// Transactions whose size is known. Of single sizes, no more than those that may be the best are read: there are many.
    pub fn by_size(least_best: usize) -> Source {
        let of_way = |way: usize| {
            let sums = [
                (BYTES + way, Meaning::Moved(way)),
                (ALL + way, Meaning::Transactions(way)),
                (SECTORS + way, Meaning::Sectors(way)),
            ];
            let best =
                (least_best..SIZES).map(move |size| (COUNTS + way * SIZES + size, Meaning::OfSize(size)));
            sums.into_iter().chain(best)
        };
        Source { kind: &TRANSFER, fields: of_way(0).chain(of_way(1)).collect() }
    }

    /// Block devices as /proc/diskstats counts them.
    pub fn of_disks() -> Source {
        let fields = [
            (DiskField::Reads.index(), Meaning::Transactions(0)),
            (DiskField::SectorsRead.index(), Meaning::Sectors(0)),
            (DiskField::Writes.index(), Meaning::Transactions(1)),
            (DiskField::SectorsWritten.index(), Meaning::Sectors(1)),
        ];
        Source { kind: &DISK, fields: fields.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_there() {
        assert_eq!(Source::of_disks().fields.len(), 4);
        assert_eq!(Source::by_size(0).fields.len(), 6 + 2 * SIZES);
        assert_eq!(Source::by_size(SIZES).fields.len(), 6);
    }
}

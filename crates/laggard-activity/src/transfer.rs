//! Sizes of transactions, as [`crate::kind::TRANSFER`] has them: powers of two, each with what is larger than the one before.

use crate::ABSENT;
use crate::kind::TransferField;

/// The smallest size is two to this: a sector.
const SMALLEST: u32 = 9;

/// How many sizes there are: 512 bytes to 64 MiB. What is smaller or larger counts with the first or the last.
pub const SIZES: usize = 18;

/// The field with the bytes read; that with the bytes written follows.
pub const BYTES: usize = TransferField::BytesRead.index();
/// The field with the size of the target; that with what is free follows.
pub const SPACE: usize = TransferField::SpaceTotalKb.index();
/// The field of the smallest reads; the larger follow, then the writes.
pub const COUNTS: usize = TransferField::R512.index();
/// The field with all reads, whatever their size; that with all writes follows.
pub const ALL: usize = TransferField::RAll.index();
/// The field with the sectors that they read; that with the sectors written follows.
pub const SECTORS: usize = TransferField::RSectors.index();
/// How many fields there are.
pub const FIELDS: usize = TransferField::WSectors.index() + 1;

/// What is known of a target at one moment.
pub type Row = [i64; FIELDS];

/// Fills in what the counts by size come to: who wants no more than that, and that is most, need not read all of them.
pub fn sum_up(row: &mut Row) {
    for way in 0..2 {
        let counts = &row[COUNTS + way * SIZES..][..SIZES];
        let (mut all, mut sectors) = (0i64, 0i64);
        for (size, count) in counts.iter().enumerate() {
            all = all.saturating_add(*count);
            sectors = sectors.saturating_add(count.saturating_mul(1 << size));
        }
        let is_known = !counts.contains(&ABSENT);
        (row[ALL + way], row[SECTORS + way]) = if is_known { (all, sectors) } else { (ABSENT, ABSENT) };
    }
}

/// Bytes of a size.
pub fn bytes(size: usize) -> u64 {
    1 << (SMALLEST + size as u32)
}

/// The size that a transaction of so many bytes counts for.
pub fn size_of(bytes: u64) -> usize {
    let power = bytes.max(1).checked_next_power_of_two().map_or(u64::BITS, u64::trailing_zeros);
    (power.max(SMALLEST) - SMALLEST).min(SIZES as u32 - 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::TRANSFER;

    #[test]
    fn a_size_holds_what_is_larger_than_the_one_before() {
        let size = |bytes_moved: u64| bytes(size_of(bytes_moved));
        assert_eq!(
            [0, 1, 512, 513, 4096, 4097, 1 << 20].map(size),
            [512, 512, 512, 1024, 4096, 8192, 1 << 20]
        );
        assert_eq!([(1 << 26) + 1, u64::MAX].map(size), [1 << 26; 2]);
    }

    #[test]
    fn fields_are_where_they_are_said_to_be() {
        let name = |field: usize| TRANSFER.fields[field].name;
        assert_eq!((name(BYTES), name(BYTES + 1)), ("bytes_read", "bytes_written"));
        assert_eq!((name(SPACE), name(SPACE + 1)), ("space_total_kb", "space_free_kb"));
        assert_eq!(name(COUNTS + size_of(4096)), "r4k");
        assert_eq!(name(COUNTS + SIZES + size_of(1 << 20)), "w1m");
        assert_eq!((name(ALL), name(ALL + 1)), ("r_all", "w_all"));
        assert_eq!((name(SECTORS), name(SECTORS + 1)), ("r_sectors", "w_sectors"));
        assert_eq!(TRANSFER.fields.len(), FIELDS);
    }

    #[test]
    fn sums_are_of_all_sizes_or_absent() {
        let mut row = [0; FIELDS];
        row[COUNTS + size_of(512)] = 3;
        row[COUNTS + size_of(4096)] = 5;
        row[COUNTS + SIZES + size_of(1 << 20)] = 7;
        sum_up(&mut row);
        assert_eq!(row[ALL..], [8, 7, 3 + 5 * 8, 7 * 2048]);
        row[COUNTS + SIZES] = ABSENT;
        sum_up(&mut row);
        assert_eq!(row[ALL..], [8, ABSENT, 43, ABSENT]);
        row[COUNTS + size_of(4096)] = i64::MAX;
        sum_up(&mut row);
        assert_eq!((row[ALL], row[SECTORS]), (i64::MAX, i64::MAX));
    }
}

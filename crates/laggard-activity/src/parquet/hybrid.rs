//! Parquet's hybrid of run lengths and bit packing, for dictionary indices and definition levels.

use crate::varint::{self, Cursor};

/// Shorter runs are cheaper packed.
const SHORTEST_RUN: usize = 16;

/// Appends values of `width` bits.
pub fn encode(out: &mut Vec<u8>, values: &[u32], width: u32) {
    let mut packed_from = 0;
    let mut at = 0;
    while at < values.len() {
        let run = values[at..].iter().take_while(|value| **value == values[at]).count();
        // A packed stretch comes in groups of eight: the run first fills the last group.
        let filler = (8 - (at - packed_from) % 8) % 8;
        if run >= filler + SHORTEST_RUN {
            pack(out, &values[packed_from..at + filler], width);
            repeat(out, values[at], run - filler, width);
            at += run;
            packed_from = at;
        } else {
            at += run;
        }
    }
    pack(out, &values[packed_from..], width);
}

/// Appends one run.
pub fn repeat(out: &mut Vec<u8>, value: u32, count: usize, width: u32) {
    if count > 0 {
        varint::write(out, (count as u64) << 1);
        out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
    }
}

fn pack(out: &mut Vec<u8>, values: &[u32], width: u32) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(8);
    varint::write(out, (groups as u64) << 1 | 1);
    let (mut pending, mut bits) = (0u64, 0);
    for index in 0..groups * 8 {
        pending |= u64::from(values.get(index).copied().unwrap_or(0)) << bits;
        bits += width;
        while bits >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
}

/// Reads exactly `count` values, as runs of equal ones; `None` where the bytes do not hold them.
pub fn runs(bytes: &[u8], width: u32, count: usize) -> Option<Vec<(u32, usize)>> {
    let mut runs: Vec<(u32, usize)> = Vec::new();
    let mut unpacked = Vec::new();
    let mut push = |value: u32, count: usize| match runs.last_mut().filter(|(last, _)| *last == value) {
        Some((_, known)) => *known += count,
        None => runs.push((value, count)),
    };
    each_run(bytes, width, count, &mut |run| match run {
        Run::Of(value, count) => push(value, count),
        Run::Packed(packed, count) => {
            unpacked.clear();
            unpack(packed, width, count, &mut unpacked);
            unpacked.iter().for_each(|value| push(*value, 1));
        }
    })?;
    Some(runs)
}

/// A stretch of values as it is encoded.
pub enum Run<'a> {
    /// One value, so many times.
    Of(u32, usize),
    /// So many values, packed.
    Packed(&'a [u8], usize),
}

/// Goes through `count` values run by run.
pub fn each_run(bytes: &[u8], width: u32, count: usize, each: &mut dyn FnMut(Run)) -> Option<()> {
    if width > 32 {
        return None;
    }
    let mut left = count;
    let mut cursor = Cursor { rest: bytes };
    while left > 0 {
        let head = usize::try_from(cursor.number()?).ok()?;
        if head & 1 == 0 {
            let mut value = [0; 4];
            let size = width.div_ceil(8) as usize;
            value[..size].copy_from_slice(cursor.bytes(size)?);
            let run = (head >> 1).min(left);
            if run == 0 {
                return None;
            }
            each(Run::Of(u32::from_le_bytes(value), run));
            left -= run;
        } else {
            let groups = head >> 1;
            let packed = cursor.bytes(groups.checked_mul(width as usize)?)?;
            if groups == 0 {
                return None;
            }
            let run = left.min(groups.checked_mul(8)?);
            each(Run::Packed(packed, run));
            left -= run;
        }
    }
    Some(())
}

/// Appends packed values.
pub fn unpack(packed: &[u8], width: u32, count: usize, into: &mut Vec<u32>) {
    match width {
        0 => into.resize(into.len() + count, 0),
        8 => into.extend(packed.iter().take(count).map(|byte| u32::from(*byte))),
        16 => into.extend(
            packed.chunks_exact(2).take(count).map(|pair| u32::from(u16::from_le_bytes([pair[0], pair[1]]))),
        ),
        _ => {
            let mask = ((1u64 << width) - 1) as u32;
            let (mut pending, mut bits, mut next) = (0u64, 0, packed.iter());
            for _ in 0..count {
                while bits < width {
                    pending |= u64::from(next.next().copied().unwrap_or(0)) << bits;
                    bits += 8;
                }
                into.push(pending as u32 & mask);
                pending >>= width;
                bits -= width;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_reads_back(
            runs in proptest::collection::vec((0u32..300, 1usize..40), 0..30), width in 9u32..20,
        ) {
            let values: Vec<u32> = runs.iter().flat_map(|(value, count)| vec![*value; *count]).collect();
            let mut bytes = Vec::new();
            encode(&mut bytes, &values, width);
            let runs = super::runs(&bytes, width, values.len()).unwrap();
            let expected: Vec<(u32, usize)> = values.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
            prop_assert_eq!(runs, expected);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), width in 0u32..40) {
            let _ = runs(&bytes, width, 1000);
        }
    }
}

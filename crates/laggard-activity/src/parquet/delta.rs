//! Parquet's delta binary packing: differences of values, packed in as few bits as the largest of 32 needs. What zstd cannot make much
//! smaller anyway is read several times as fast this way.

use crate::varint::{self, Cursor};

/// Values of a block, and how many of them share a width.
const BLOCK: usize = 128;
const SHARE: usize = 32;

/// Appends values.
pub fn encode(out: &mut Vec<u8>, values: &[i64]) {
    varint::write(out, BLOCK as u64);
    varint::write(out, (BLOCK / SHARE) as u64);
    varint::write(out, values.len() as u64);
    varint::write(out, varint::zigzag(values.first().copied().unwrap_or(0)));
    let steps: Vec<i64> = values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    for block in steps.chunks(BLOCK) {
        let least = block.iter().min().copied().unwrap_or(0);
        varint::write(out, varint::zigzag(least));
        let above: Vec<u64> = block.iter().map(|step| step.wrapping_sub(least) as u64).collect();
        let width =
            |share: &[u64]| u64::BITS - share.iter().fold(0, |all, value| all | value).leading_zeros();
        let mut widths = [0; BLOCK / SHARE];
        widths.iter_mut().zip(above.chunks(SHARE)).for_each(|(known, share)| *known = width(share) as u8);
        out.extend_from_slice(&widths);
        above.chunks(SHARE).for_each(|share| pack(out, share, width(share)));
    }
}

/// Appends a share of values, each of so many bits; what is missing of a share is zero.
fn pack(out: &mut Vec<u8>, values: &[u64], width: u32) {
    let end = out.len() + SHARE * width as usize / 8;
    let (mut pending, mut bits) = (0u128, 0);
    for value in values {
        pending |= u128::from(*value) << bits;
        bits += width;
        while bits >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(pending as u8);
    }
    out.resize(end, 0);
}

/// Appends exactly `count` values to a list; `None` where the bytes do not hold them.
pub fn decode(bytes: &[u8], count: usize, into: &mut Vec<i64>) -> Option<()> {
    let mut cursor = Cursor { rest: bytes };
    let shape = [cursor.number()?, cursor.number()?, cursor.number()?];
    if shape != [BLOCK as u64, (BLOCK / SHARE) as u64, count as u64] {
        return None;
    }
    let mut value = varint::unzigzag(cursor.number()?);
    let mut left = match count.checked_sub(1) {
        Some(left) => left,
        None => return Some(()),
    };
    into.push(value);
    while left > 0 {
        let least = varint::unzigzag(cursor.number()?);
        let widths = cursor.bytes(BLOCK / SHARE)?;
        for width in widths.iter().map(|width| u32::from(*width)) {
            if left == 0 {
                break;
            }
            let steps = unpack(cursor.bytes(SHARE * width as usize / 8)?, width)?;
            let wanted = left.min(SHARE);
            into.extend(steps[..wanted].iter().map(|step| {
                value = value.wrapping_add(least).wrapping_add(*step as i64);
                value
            }));
            left -= wanted;
        }
    }
    Some(())
}

/// A share of values, each of so many bits.
fn unpack(bytes: &[u8], width: u32) -> Option<[u64; SHARE]> {
    // Whatever begins within these bytes can be read with what follows it.
    let mut padded = [0; SHARE * 8 + 16];
    padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let mut values = [0; SHARE];
    if width == 0 {
        return Some(values);
    }
    let mask = u64::MAX >> (u64::BITS - width.min(u64::BITS));
    let first = |index: usize| index * width as usize;
    // So many bits are within eight bytes, wherever they begin.
    if width <= 57 {
        for (index, value) in values.iter_mut().enumerate() {
            let eight = padded[first(index) / 8..].first_chunk()?;
            *value = u64::from_le_bytes(*eight) >> (first(index) % 8) & mask;
        }
    } else {
        for (index, value) in values.iter_mut().enumerate() {
            let sixteen = padded[first(index) / 8..].first_chunk()?;
            *value = (u128::from_le_bytes(*sixteen) >> (first(index) % 8)) as u64 & mask;
        }
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_back(values: &[i64]) {
        let mut bytes = Vec::new();
        encode(&mut bytes, values);
        let mut back = Vec::new();
        assert_eq!(decode(&bytes, values.len(), &mut back), Some(()));
        assert_eq!(back, values);
        assert_eq!(decode(&bytes, values.len() + 1, &mut Vec::new()), None);
        if !bytes.is_empty() && values.len() > 1 {
            assert_eq!(decode(&bytes[..bytes.len() / 2], values.len(), &mut Vec::new()), None, "cut off");
        }
    }

    #[test]
    fn widths_from_none_to_all_bits() {
        read_back(&[]);
        read_back(&[7]);
        read_back(&[5; 1000]);
        read_back(&[i64::MIN, i64::MAX, 0, i64::MIN, -1, 1]);
        for width in 0..64 {
            let values: Vec<i64> = (0..300)
                .map(|index: i64| index.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> (63 - width))
                .collect();
            read_back(&values);
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_reads_back(values in proptest::collection::vec(any::<i64>(), 0..400), shift in 0u32..64) {
            let values: Vec<i64> = values.into_iter().map(|value| value >> shift).collect();
            read_back(&values);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), count in 0usize..500) {
            let _ = decode(&bytes, count, &mut Vec::new());
            let mut headed = vec![0x80, 1, 4];
            varint::write(&mut headed, count as u64);
            headed.extend(bytes);
            let _ = decode(&headed, count, &mut Vec::new());
        }
    }
}

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
    let mut steps = [0; SHARE];
    while left > 0 {
        let least = varint::unzigzag(cursor.number()?);
        let widths = cursor.bytes(BLOCK / SHARE)?;
        for width in widths.iter().map(|width| u32::from(*width)) {
            if left == 0 {
                break;
            }
            let size = SHARE * width as usize / 8;
            unpack(cursor.rest, width, &mut steps)?;
            cursor.bytes(size)?;
            let wanted = left.min(SHARE);
            into.extend(steps[..wanted].iter().map(|step| {
                value = value.wrapping_add(least.wrapping_add(*step as i64));
                value
            }));
            left -= wanted;
        }
    }
    Some(())
}

/// A share of values, each of so many bits, from the first bytes.
fn unpack(bytes: &[u8], width: u32, into: &mut [u64; SHARE]) -> Option<()> {
    // What is read with a value may lie after it.
    let mut padded = [0; SHARE * 8 + 16];
    let bytes = match bytes.first_chunk() {
        Some(enough) => enough,
        None => {
            padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
            &padded
        }
    };
    macro_rules! of_width {
        ($($width:literal)*) => {
            match width {
                $($width => of::<$width>(bytes, into),)*
                _ => return None,
            }
        };
    }
    of_width!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40
        41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64);
    Some(())
}

/// A share of values of `WIDTH` bits: where each is, is known to the compiler, and several are taken at once.
fn of<const WIDTH: usize>(bytes: &[u8; SHARE * 8 + 16], into: &mut [u64; SHARE]) {
    let mask = if WIDTH == 0 { 0 } else { u64::MAX >> (64 - WIDTH) };
    for (index, value) in into.iter_mut().enumerate() {
        let (byte, bit) = (index * WIDTH / 8, index * WIDTH % 8);
        // So many bits are within eight bytes, wherever they begin.
        *value = if WIDTH <= 57 {
            let eight: [u8; 8] = std::array::from_fn(|place| bytes[byte + place]);
            u64::from_le_bytes(eight) >> bit & mask
        } else {
            let sixteen: [u8; 16] = std::array::from_fn(|place| bytes[byte + place]);
            (u128::from_le_bytes(sixteen) >> bit) as u64 & mask
        };
    }
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

//! Integers in as few bytes as they need (LEB128), and signed ones folded so that small means short.

/// Appends a number.
pub fn write(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a number from the front: the number, and how many bytes it had.
pub fn read(bytes: &[u8]) -> Option<(u64, usize)> {
    // Most are small.
    if let Some(byte @ 0..0x80) = bytes.first() {
        return Some((u64::from(*byte), 1));
    }
    let mut value = 0;
    for (index, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

/// 0, -1, 1, -2 … become 0, 1, 2, 3 …
pub fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The reverse of [`zigzag`].
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Takes numbers and texts from the front of a slice.
pub struct Cursor<'a> {
    /// What is left.
    pub rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// The next number.
    pub fn number(&mut self) -> Option<u64> {
        let (value, used) = read(self.rest)?;
        self.rest = &self.rest[used..];
        Some(value)
    }

    /// The next signed number.
    pub fn signed(&mut self) -> Option<i64> {
        self.number().map(unzigzag)
    }

    /// A count of things that have at least one byte each, so that a wrong one cannot ask for more than there is.
    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|count| *count <= self.rest.len())
    }

    /// The next bytes.
    pub fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// The next text: its length, then its bytes.
    pub fn text(&mut self) -> Option<&'a str> {
        let length = self.count()?;
        std::str::from_utf8(self.bytes(length)?).ok()
    }
}

/// Appends a text: its length, then its bytes.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    write(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_read_back(value in any::<i64>()) {
            let mut bytes = Vec::new();
            write(&mut bytes, zigzag(value));
            let (read, used) = read(&bytes).unwrap();
            prop_assert_eq!((unzigzag(read), used), (value, bytes.len()));
        }
    }

    #[test]
    fn the_largest_has_ten_bytes_and_more_are_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, u64::MAX);
        assert_eq!((bytes.len(), read(&bytes)), (10, Some((u64::MAX, 10))));
        assert_eq!(read(&[0x80; 11]), None);
        assert_eq!(read(&[]), None);
    }
}

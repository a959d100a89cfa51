//! Thrift's compact protocol, as far as Parquet's metadata needs it: integers, text, lists, structures.
//!
//! What is read may come from a damaged file: nesting and sizes are bounded by the bytes that are there.

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

/// Deeper than anything Parquet nests.
const DEEPEST: u32 = 16;

/// A field of a structure, or an item of a list, whose value comes next.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its number; of an item, that of its list.
    pub id: i16,
    kind: u8,
    depth: u32,
}

/// Reads values from bytes, one after the other. Everything is `None` where the bytes are not what is asked for.
pub struct Reader<'a> {
    bytes: &'a [u8],
    /// How far it has read.
    pub position: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, position: 0 }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.position)?;
        self.position += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let (value, used) = crate::varint::read(self.bytes.get(self.position..)?)?;
        self.position += used;
        Some(value)
    }

    fn zigzag(&mut self) -> Option<i64> {
        self.varint().map(crate::varint::unzigzag)
    }

    /// The outermost structure: `each` takes the value of every field, or skips it.
    pub fn root(&mut self, each: impl FnMut(&mut Self, Field) -> Option<()>) -> Option<()> {
        self.structure(Field { id: 0, kind: STRUCT, depth: 0 }, each)
    }

    /// A structure: `each` takes the value of every field, or skips it.
    pub fn structure(
        &mut self,
        field: Field,
        mut each: impl FnMut(&mut Self, Field) -> Option<()>,
    ) -> Option<()> {
        if field.kind != STRUCT || field.depth > DEEPEST {
            return None;
        }
        let mut id: i16 = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            id = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).ok()?,
                step => id.checked_add(i16::from(step))?,
            };
            each(self, Field { id, kind: head & 15, depth: field.depth + 1 })?;
        }
    }

    /// A list: `each` takes every item, or skips it.
    pub fn list(&mut self, field: Field, mut each: impl FnMut(&mut Self, Field) -> Option<()>) -> Option<()> {
        if !matches!(field.kind, LIST | SET) || field.depth > DEEPEST {
            return None;
        }
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            small => u64::from(small),
        };
        for _ in 0..count {
            each(self, Field { id: field.id, kind: head & 15, depth: field.depth + 1 })?;
            // Each item has at least one byte: a wrong count ends with the bytes.
            if self.position >= self.bytes.len() {
                return None;
            }
        }
        Some(())
    }

    /// An integer.
    pub fn int(&mut self, field: Field) -> Option<i64> {
        match field.kind {
            BYTE => self.byte().map(|byte| i64::from(byte as i8)),
            I16 | I32 | I64 => self.zigzag(),
            _ => None,
        }
    }

    /// An integer that is not negative.
    pub fn size(&mut self, field: Field) -> Option<u64> {
        self.int(field).and_then(|value| u64::try_from(value).ok())
    }

    /// Text or bytes.
    pub fn bytes(&mut self, field: Field) -> Option<&'a [u8]> {
        if field.kind != BINARY {
            return None;
        }
        let length = usize::try_from(self.varint()?).ok()?;
        let end = self.position.checked_add(length)?;
        let bytes = self.bytes.get(self.position..end)?;
        self.position = end;
        Some(bytes)
    }

    /// Text.
    pub fn text(&mut self, field: Field) -> Option<&'a str> {
        self.bytes(field).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// A value that nobody wants.
    pub fn skip(&mut self, field: Field) -> Option<()> {
        match field.kind {
            // The truth is in the head.
            TRUE | FALSE => Some(()),
            BYTE | I16 | I32 | I64 => self.int(field).map(drop),
            DOUBLE => {
                self.position = self.position.checked_add(8).filter(|end| *end <= self.bytes.len())?;
                Some(())
            }
            BINARY => self.bytes(field).map(drop),
            // In a list a truth value is a byte.
            LIST | SET => self.list(field, |reader, item| match item.kind {
                TRUE | FALSE => reader.byte().map(drop),
                _ => reader.skip(item),
            }),
            STRUCT => self.structure(field, Reader::skip),
            _ => None,
        }
    }
}

/// Writes one structure; fields in ascending order of their numbers.
#[derive(Default)]
pub struct Writer {
    /// What was written.
    pub bytes: Vec<u8>,
    last: Vec<i16>,
}

impl Writer {
    /// Opens the outermost structure.
    pub fn new() -> Self {
        Writer { bytes: Vec::new(), last: vec![0] }
    }

    fn head(&mut self, id: i16, kind: u8) {
        let last = self.last.last_mut();
        let step = last.as_ref().map_or(id, |last| id - **last);
        if let Some(last) = last {
            *last = id;
        }
        match u8::try_from(step) {
            Ok(step @ 1..=15) => self.bytes.push(step << 4 | kind),
            _ => {
                self.bytes.push(kind);
                crate::varint::write(&mut self.bytes, crate::varint::zigzag(i64::from(id)));
            }
        }
    }

    /// A 32-bit integer field.
    pub fn i32(&mut self, id: i16, value: i32) {
        self.head(id, I32);
        crate::varint::write(&mut self.bytes, crate::varint::zigzag(i64::from(value)));
    }

    /// A 64-bit integer field.
    pub fn i64(&mut self, id: i16, value: i64) {
        self.head(id, I64);
        crate::varint::write(&mut self.bytes, crate::varint::zigzag(value));
    }

    /// A truth value.
    pub fn bool(&mut self, id: i16, value: bool) {
        self.head(id, if value { TRUE } else { FALSE });
    }

    /// A text field.
    pub fn text(&mut self, id: i16, text: &str) {
        self.bytes_field(id, text.as_bytes());
    }

    /// A field of bytes.
    pub fn bytes_field(&mut self, id: i16, bytes: &[u8]) {
        self.head(id, BINARY);
        self.bare_bytes(bytes);
    }

    /// A structure as field.
    pub fn structure(&mut self, id: i16, fill: impl FnOnce(&mut Self)) {
        self.head(id, STRUCT);
        self.bare_structure(fill);
    }

    /// A list of structures.
    pub fn structures<T>(&mut self, id: i16, items: &[T], mut fill: impl FnMut(&mut Self, &T)) {
        self.list(id, items.len(), STRUCT);
        for item in items {
            self.bare_structure(|out| fill(out, item));
        }
    }

    /// A list of texts.
    pub fn texts(&mut self, id: i16, items: &[&str]) {
        self.list(id, items.len(), BINARY);
        items.iter().for_each(|item| self.bare_bytes(item.as_bytes()));
    }

    /// A list of 32-bit integers.
    pub fn ints(&mut self, id: i16, items: &[i32]) {
        self.list(id, items.len(), I32);
        for item in items {
            crate::varint::write(&mut self.bytes, crate::varint::zigzag(i64::from(*item)));
        }
    }

    /// Closes the outermost structure.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn bare_structure(&mut self, fill: impl FnOnce(&mut Self)) {
        self.last.push(0);
        fill(self);
        self.last.pop();
        self.bytes.push(0);
    }

    fn bare_bytes(&mut self, bytes: &[u8]) {
        crate::varint::write(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    fn list(&mut self, id: i16, count: usize, kind: u8) {
        self.head(id, LIST);
        match u8::try_from(count) {
            Ok(count @ 0..=14) => self.bytes.push(count << 4 | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                crate::varint::write(&mut self.bytes, count as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_reads_back() {
        let mut out = Writer::new();
        out.i32(1, -7);
        out.texts(3, &["a", "bc"]);
        out.structure(4, |out| out.i64(100, 1 << 40));
        out.structures(5, &[1, 2, 3], |out, item| out.i32(2, *item));
        out.bool(30, true);
        let bytes = out.finish();
        let (mut number, mut texts, mut inner, mut items, mut seen) =
            (0, Vec::new(), 0, Vec::new(), Vec::new());
        let mut reader = Reader::new(&bytes);
        let read = reader.root(|reader, field| {
            seen.push(field.id);
            match field.id {
                1 => number = reader.int(field)?,
                3 => reader
                    .list(field, |reader, item| reader.text(item).map(|text| texts.push(text.to_string())))?,
                4 => reader.structure(field, |reader, field| reader.int(field).map(|value| inner = value))?,
                5 => reader.list(field, |reader, item| {
                    reader.structure(item, |reader, field| reader.int(field).map(|value| items.push(value)))
                })?,
                _ => reader.skip(field)?,
            }
            Some(())
        });
        assert_eq!((read, reader.position), (Some(()), bytes.len()));
        assert_eq!((number, inner), (-7, 1 << 40));
        assert_eq!(
            (texts, items, seen),
            (vec!["a".into(), "bc".into()], vec![1, 2, 3], vec![1, 3, 4, 5, 30])
        );
        let mut skipping = Reader::new(&bytes);
        assert_eq!((skipping.root(Reader::skip), skipping.position), (Some(()), bytes.len()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Reader::new(&bytes).root(Reader::skip);
        }
    }
}

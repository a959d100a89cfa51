//! Thrift's compact protocol, as far as Parquet's metadata needs it: integers, text, lists, structures.
//!
//! What is read may come from a damaged file: nesting and sizes are bounded by the bytes that are there.

/// A value as read.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Any integer, or a truth value as 0 or 1.
    Int(i64),
    /// Text or bytes.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<Value>),
    /// Fields by number.
    Struct(Vec<(i16, Value)>),
}

impl Value {
    /// A field of a structure.
    pub fn field(&self, id: i16) -> Option<&Value> {
        let Value::Struct(fields) = self else { return None };
        fields.iter().find(|(known, _)| *known == id).map(|(_, value)| value)
    }

    /// An integer field.
    pub fn int(&self, id: i16) -> Option<i64> {
        match self.field(id) {
            Some(Value::Int(value)) => Some(*value),
            _ => None,
        }
    }

    /// A text field.
    pub fn text(&self, id: i16) -> Option<&str> {
        match self.field(id) {
            Some(Value::Bytes(bytes)) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// A list field; absent is empty.
    pub fn list(&self, id: i16) -> &[Value] {
        match self.field(id) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }
}

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

/// Reads values from bytes.
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

    /// A structure; `None` where the bytes are not one.
    pub fn structure(&mut self) -> Option<Value> {
        self.structure_at(0)
    }

    fn structure_at(&mut self, depth: u32) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        let mut fields = Vec::new();
        let mut id: i16 = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(Value::Struct(fields));
            }
            id = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).ok()?,
                step => id.checked_add(i16::from(step))?,
            };
            let value = match head & 15 {
                TRUE => Value::Int(1),
                FALSE => Value::Int(0),
                other => self.value(other, depth)?,
            };
            fields.push((id, value));
        }
    }

    fn value(&mut self, kind: u8, depth: u32) -> Option<Value> {
        Some(match kind {
            // In a list a truth value is a byte.
            TRUE | FALSE => Value::Int(i64::from(self.byte()? == TRUE)),
            BYTE => Value::Int(i64::from(self.byte()? as i8)),
            I16 | I32 | I64 => Value::Int(self.zigzag()?),
            DOUBLE => {
                self.position = self.position.checked_add(8).filter(|end| *end <= self.bytes.len())?;
                Value::Int(0)
            }
            BINARY => {
                let length = usize::try_from(self.varint()?).ok()?;
                let end = self.position.checked_add(length)?;
                let bytes = self.bytes.get(self.position..end)?.to_vec();
                self.position = end;
                Value::Bytes(bytes)
            }
            LIST | SET => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => usize::try_from(self.varint()?).ok()?,
                    small => usize::from(small),
                };
                // Each item has at least one byte: a wrong count cannot ask for more than there is.
                if count > self.bytes.len() - self.position {
                    return None;
                }
                let mut items = Vec::with_capacity(count);
                for _ in 0..count {
                    items.push(self.value(head & 15, depth + 1)?);
                }
                Value::List(items)
            }
            STRUCT => self.structure_at(depth + 1)?,
            _ => return None,
        })
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
        let value = Reader::new(&bytes).structure().unwrap();
        assert_eq!(value.int(1), Some(-7));
        assert_eq!(value.list(3)[1], Value::Bytes(b"bc".to_vec()));
        assert_eq!(value.field(4).and_then(|inner| inner.int(100)), Some(1 << 40));
        assert_eq!(value.list(5)[2].int(2), Some(3));
        assert_eq!(value.int(30), Some(1));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Reader::new(&bytes).structure();
        }
    }
}

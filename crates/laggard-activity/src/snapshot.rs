//! What a host looked like at one moment.

use crate::kind::Kind;
use std::sync::Arc;

/// A field that this kernel or this thing does not have: never zero.
pub const ABSENT: i64 = i64::MIN;

/// A number as the kernel prints it; anything above what a sample can hold is as large as it gets.
pub fn number(text: &str) -> Option<i64> {
    text.parse::<u64>().ok().map(|value| i64::try_from(value).unwrap_or(i64::MAX))
}

/// All things of one kind at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Which kind.
    pub kind: &'static Kind,
    /// The things' names.
    pub names: Vec<Arc<str>>,
    /// Their fields, one thing after the other.
    pub values: Vec<i64>,
}

impl Table {
    /// An empty table.
    pub fn new(kind: &'static Kind) -> Table {
        Table { kind, names: Vec::new(), values: Vec::new() }
    }

    /// Adds a thing; missing fields at the end are absent.
    pub fn push(&mut self, name: impl Into<Arc<str>>, values: &[i64]) {
        self.names.push(name.into());
        let end = self.values.len() + self.kind.fields.len();
        self.values.extend(values.iter().take(self.kind.fields.len()));
        self.values.resize(end, ABSENT);
    }

    /// The fields of one thing.
    pub fn row(&self, index: usize) -> &[i64] {
        let width = self.kind.fields.len();
        &self.values[index * width..][..width]
    }
}

/// One sample of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The second that it stands for.
    pub time_s: i64,
    /// How much later it was really taken; 0 if in time.
    pub late_ms: u32,
    /// At most one table of each kind, in the order of [`crate::kind::KINDS`].
    pub tables: Vec<Table>,
}

impl Snapshot {
    /// Whether another has the same things in the same order.
    pub fn has_shape_of(&self, other: &Snapshot) -> bool {
        let alike = |(a, b): (&Table, &Table)| a.kind.id == b.kind.id && a.names == b.names;
        self.tables.len() == other.tables.len() && self.tables.iter().zip(&other.tables).all(alike)
    }
}

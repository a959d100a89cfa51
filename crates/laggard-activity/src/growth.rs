//! Counters as they are kept: of each thing first the value itself, then by how much it grew. Whoever adds up growth need not
//! turn it into values and back, and passes over whatever did not grow at all.

use crate::ABSENT;
use crate::parquet::read::{Damage, Piece};
use crate::read::Stretch;
use crate::seal;
use std::collections::BTreeMap;
use std::ops::Range;

/// The rows of one kind in one segment: thing after thing, each in time order.
#[derive(Debug)]
pub struct Rows<'a> {
    /// Each thing's name, and its rows.
    pub things: Vec<(&'a str, Range<usize>)>,
    /// The second that each row stands for.
    pub times_s: &'a [i64],
    /// How late each was taken, in milliseconds.
    pub late_ms: &'a [i64],
}

/// Takes the growth of one kind in one segment.
pub trait Growth {
    /// What is to come.
    fn begin(&mut self, rows: &Rows<'_>);
    /// A stretch of a field, from a row on. The first row of a thing, and what follows an absent one, is the value itself.
    fn piece(&mut self, field: usize, row: usize, piece: Piece<'_>);
}

/// One thing's samples: times, lateness, and the fields asked for.
#[derive(Default)]
struct Samples {
    times_s: Vec<i64>,
    late_ms: Vec<i64>,
    columns: Vec<Vec<i64>>,
}

/// Values as growth. A thing may come in several stretches, in the order of time.
pub fn from_values(
    fields: &[usize],
    scan: impl FnOnce(&mut dyn FnMut(&Stretch<'_>)) -> Result<(), Damage>,
    to: &mut dyn Growth,
) -> Result<(), Damage> {
    let mut all: BTreeMap<String, Samples> = BTreeMap::new();
    scan(&mut |stretch| {
        let known = all.entry(stretch.name.to_string()).or_default();
        known.times_s.extend_from_slice(stretch.times_s);
        known.late_ms.extend_from_slice(stretch.late_ms);
        known.columns.resize(fields.len(), Vec::new());
        known
            .columns
            .iter_mut()
            .zip(&stretch.fields)
            .for_each(|(column, values)| column.extend_from_slice(values));
    })?;
    let mut things = Vec::new();
    let (mut times_s, mut late_ms) = (Vec::new(), Vec::new());
    for (name, samples) in &mut all {
        let first = times_s.len();
        times_s.extend_from_slice(&samples.times_s);
        late_ms.extend_from_slice(&samples.late_ms);
        things.push((name.as_str(), first..times_s.len()));
        samples.columns.iter_mut().for_each(|column| seal::difference(column));
    }
    if things.is_empty() {
        return Ok(());
    }
    to.begin(&Rows { things, times_s: &times_s, late_ms: &late_ms });
    for (place, field) in fields.iter().enumerate() {
        let mut row = 0;
        let columns = all.values().map(|samples| &samples.columns[place]);
        for run in columns.flat_map(|column| column.chunk_by(|a, b| (*a == ABSENT) == (*b == ABSENT))) {
            let piece = if run[0] == ABSENT { Piece::Absent(run.len()) } else { Piece::Values(run) };
            to.piece(*field, row, piece);
            row += run.len();
        }
    }
    Ok(())
}

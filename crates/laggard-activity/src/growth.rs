//! Counters as they are kept: of each thing first the value itself, then by how much it grew. Whoever adds up growth need not
//! turn it into values and back, and passes over whatever did not grow at all.

use crate::ABSENT;
use crate::kind::KindId;
use crate::parquet::read::{Damage, Piece};
use crate::read::Stretch;
use crate::seal;
use std::collections::BTreeMap;
use std::ops::Range;

/// Samples of one thing follow each other if no more than this many intervals lie between them. A sample may be taken nearly an
/// interval late, and what grew over one that is missing is still known; over more, it is a hole.
const MOST_INTERVALS: i64 = 3;

/// The longest time between two samples that follow each other.
pub fn patience_ms(interval_s: i64) -> i64 {
    MOST_INTERVALS * 1000 * interval_s.max(1)
}

/// Counters that wrap do so at this value.
const WRAP: i64 = 1 << 32;
/// The largest step that passes for a wrap.
const LONGEST_STEP: i64 = WRAP / 8;

/// By how much a counter grew between two samples that follow each other. `None`: it restarted.
///
/// A wrap leaves a small step forward from near the end; a restart does not.
pub fn grown(kind: KindId, last: i64, now: i64) -> Option<i64> {
    let step = now.wrapping_sub(last);
    let wrapped = step.wrapping_add(WRAP);
    match step {
        0.. => Some(step),
        _ if kind.wraps() && (0..WRAP).contains(&last) && (0..LONGEST_STEP).contains(&wrapped) => {
            Some(wrapped)
        }
        _ => None,
    }
}

/// By how much a difference of counters moved, up or down, where they may have wrapped.
pub fn moved(last: i64, now: i64) -> i64 {
    (now.wrapping_sub(last).wrapping_add(WRAP / 2)).rem_euclid(WRAP) - WRAP / 2
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrap_of_32_bits_is_a_step_forward_and_a_restart_is_none() {
        assert_eq!(grown(KindId::Disk, WRAP - 10, 5), Some(15));
        assert_eq!(grown(KindId::Net, WRAP - 10, 5), Some(15));
        assert_eq!(grown(KindId::Disk, 100, 5), None, "far from the end");
        assert_eq!(grown(KindId::Disk, WRAP - LONGEST_STEP, 0), None);
        assert_eq!(grown(KindId::Disk, WRAP - LONGEST_STEP + 1, 0), Some(LONGEST_STEP - 1));
        assert_eq!(grown(KindId::Disk, WRAP + 10, 5), None, "it has 64 bits");
        assert_eq!(grown(KindId::Transfer, WRAP - 10, 5), None, "it never wraps");
        assert_eq!(grown(KindId::Transfer, 5, 5), Some(0));
    }

    #[test]
    fn a_difference_of_counters_moves_both_ways() {
        assert_eq!(moved(100, 90), -10);
        assert_eq!(moved(WRAP - 10, 5), 15);
        assert_eq!(moved(5, WRAP - 10), -15);
    }

    #[test]
    fn samples_follow_each_other_within_three_intervals() {
        assert_eq!(patience_ms(1), 3000);
        assert_eq!(patience_ms(5), 15_000);
        assert_eq!(patience_ms(0), 3000);
    }
}

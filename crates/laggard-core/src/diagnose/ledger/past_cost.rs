//! What work cost a group a while ago: whether all of its members are slow is known from its own past only.

use super::super::bound::Bound;
use super::lessons::Fitted;
use crate::cost::Load;

/// The past of a group is known from so many pieces.
const MIN_PAST_PIECES: u64 = 32;
/// The past is learnt anew when there are so many times its pieces ...
const RENEWED_AFTER: u64 = 2;
/// ... and so many where the group is slow now: what lasts for three times as long as the past is the new past.
const RENEWED_AFTER_WHILE_SLOW: u64 = 4;
/// More than this share of the bytes in a direction ...
pub const NEW_DIRECTION: Bound = Bound::new("new_direction", 0.2, "of the bytes");
/// ... that had less than this before is other work.
pub const NO_DIRECTION: Bound = Bound::new("no_direction", 0.05, "of the bytes of before");

/// What work cost a group a while ago, and which work that was.
#[derive(Debug, Clone, Copy)]
pub(super) struct PastCost {
    pub(super) fitted: Fitted,
    pub(super) work: Load,
}

impl PastCost {
    /// Whether what work costs now becomes the past of later.
    pub(super) fn is_due(known: Option<&PastCost>, pieces: u64, is_slow: bool) -> bool {
        let factor = if is_slow { RENEWED_AFTER_WHILE_SLOW } else { RENEWED_AFTER };
        pieces >= known.map_or(MIN_PAST_PIECES, |known| factor * known.fitted.pieces)
    }

    /// Times by which the work of a group is unlike that of then.
    pub(super) fn unlike(&self, now: &Load) -> f64 {
        let share = |bytes: f64, of: &Load| bytes / of.bytes().max(1.0);
        let is_new = |then: f64, bytes: f64| {
            share(bytes, now) > NEW_DIRECTION.value && share(then, &self.work) < NO_DIRECTION.value
        };
        let is_new_direction =
            is_new(self.work.read_bytes, now.read_bytes) || is_new(self.work.write_bytes, now.write_bytes);
        if is_new_direction { f64::INFINITY } else { self.fitted.sizes.outside(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::ledger::{Piece, lessons::Lessons};

    fn past(work: Load) -> PastCost {
        let piece = Piece { load: work, seconds: 5.0, ..Piece::default() };
        let mut lessons = Lessons::new(3, 0.005);
        (0..40).for_each(|_| lessons.teach(&[piece; 3]));
        PastCost { fitted: lessons.fit(None, None).unwrap(), work }
    }

    fn load(read_bytes: f64, write_bytes: f64) -> Load {
        Load { reads: read_bytes / 1e3, read_bytes, writes: write_bytes / 1e3, write_bytes }
    }

    #[test]
    fn the_past_is_renewed_when_twice_as_long_and_later_while_the_group_is_slow() {
        assert_eq!([31, 32].map(|pieces| PastCost::is_due(None, pieces, true)), [false, true]);
        let known = past(load(0.0, 1e5));
        let is_due = |pieces, is_slow| PastCost::is_due(Some(&known), pieces, is_slow);
        assert_eq!([is_due(79, false), is_due(80, false)], [false, true]);
        assert_eq!([is_due(159, true), is_due(160, true)], [false, true]);
    }

    #[test]
    fn a_direction_that_had_next_to_no_bytes_is_other_work() {
        let unlike = |then: Load, now: Load| past(then).unlike(&now);
        assert_eq!(unlike(load(0.0, 1e5), load(0.0, 3e5)), 1.0);
        assert_eq!(unlike(load(0.0, 1e5), load(2.1e4, 7.9e4)), f64::INFINITY, "reads are new");
        assert_eq!(unlike(load(1e5, 0.0), load(7.9e4, 2.1e4)), f64::INFINITY, "writes are new");
        assert!(unlike(load(0.0, 1e5), load(2e4, 8e4)).is_finite(), "a fifth is not much");
        assert!(unlike(load(5e3, 9.5e4), load(5e4, 5e4)).is_finite(), "a twentieth was known");
        assert_eq!(unlike(load(4.9e3, 9.51e4), load(5e4, 5e4)), f64::INFINITY);
    }
}

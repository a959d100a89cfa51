//! The window rule of the budget: when a slowness is too rare to be chance.

use super::super::{Bound, Numbers};
use crate::diagnose::bound::{HALF, TENTH};
use crate::diagnose::budget::Rarity;
use crate::diagnose::case::Case;

/// Twice the peers' time is believed when it has lasted for so long; of longer times the excess falls with their root ...
pub(super) const TWICE_AFTER: Bound = Bound::new("twice_after", 120.0, "s");
/// ... to no less than this.
pub(super) const MIN_EXCESS: Bound = Bound::new("min_excess", TENTH, "more than the peers");
/// Share of the bar that this window and most of the last ones reach while a slowness goes on.
pub(super) const STILL_SLOW: Bound = Bound::new("still_slow", HALF, "of the bar");

/// The least slowness that is believed after a time, however alike the peers are: a logarithm.
pub fn least_slowness(seconds: f64) -> f64 {
    (1.0 + (TWICE_AFTER.value / seconds).sqrt().max(MIN_EXCESS.value)).ln()
}

/// By how much a slowness is beyond its bar, and goes on: negative where it is not.
pub fn margin(seen: &Rarity) -> f64 {
    let beyond = seen.slowness.min(seen.newest) - seen.bar;
    beyond.min(seen.recent - STILL_SLOW.value * seen.bar)
}

pub(super) fn rare(case: &Case) -> Option<Numbers> {
    let seen = case.rarity.as_ref().filter(|seen| margin(seen) >= 0.0)?;
    Some(Numbers::of(&[
        ("ratio", seen.slowness.exp()),
        ("minutes", seen.seconds / 60.0),
        ("allowed", seen.bar.exp()),
    ]))
}

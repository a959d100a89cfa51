//! The window rule of the budget: when a slowness is too rare to be chance.

use super::super::{Bound, Numbers};
use crate::diagnose::bound::{HALF, QUARTER, TENTH};
use crate::diagnose::budget::{Rarity, Rate};
use crate::diagnose::case::Case;
use crate::stats::Spread;

/// Twice the peers' time is believed when it has lasted for so long; of longer times the excess falls with their root ...
pub(super) const TWICE_AFTER: Bound = Bound::new("twice_after", 120.0, "s");
/// ... to no less than this.
pub(super) const MIN_EXCESS: Bound = Bound::new("min_excess", TENTH, "more than the peers");
/// Of a site that accepts more false alarms than one a month, that excess is divided by this power of how many times as many.
pub(super) const ACCEPTED: Bound = Bound::new("accepted", QUARTER, "power of the budget");
/// Only what is violent is believed before it has filled a window.
pub(super) const MIN_BRIEF_RATIO: Bound = Bound::new("min_brief_ratio", 4.0, "times the peers'");
/// Share of the bar that this window and most of the last ones reach while a slowness goes on.
pub(super) const STILL_SLOW: Bound = Bound::new("still_slow", HALF, "of the bar");

/// Over so long a time jobs come and go, and members differ by themselves ...
pub const FOR_GOOD_AFTER: Bound = Bound::new("for_good_after", 86_400.0, "s");
/// ... so that one this far from all others, of so many ...
pub(super) const MIN_FOR_GOOD_SPREADS: Bound =
    Bound::new("min_for_good_spreads", 5.0, "robust standard deviations");
pub(super) const MIN_FOR_GOOD_MEMBERS: Bound = Bound::new("min_for_good_members", 8.0, "members");
/// ... and slower by this, is slow for good, however little is known of chance.
pub(super) const MIN_FOR_GOOD: Bound = Bound::new("min_for_good", 0.18, "as a logarithm: 1.2 times");

/// The slowness at which a member is slow for good, given how the members' own levels are spread at a length of time: a logarithm.
pub fn slow_for_good(levels: Option<(Spread, usize)>, seconds: f64) -> f64 {
    let is_known = |(_, members): &(Spread, usize)| {
        seconds >= FOR_GOOD_AFTER.value && *members as f64 >= MIN_FOR_GOOD_MEMBERS.value
    };
    levels.filter(is_known).map_or(f64::INFINITY, |(spread, _)| {
        spread.middle + (MIN_FOR_GOOD_SPREADS.value * spread.deviation).max(MIN_FOR_GOOD.value)
    })
}

/// The least slowness that is believed after a time, however alike the peers are, by who accepts so many false alarms: a logarithm.
pub fn least_slowness(seconds: f64, is_brief: bool, budget: Rate) -> f64 {
    let accepts = (budget.0 / Rate::default().0).max(1.0).powf(ACCEPTED.value);
    let lasting = 1.0 + (TWICE_AFTER.value / seconds).sqrt().max(MIN_EXCESS.value) / accepts;
    if is_brief { lasting.max(MIN_BRIEF_RATIO.value).ln() } else { lasting.ln() }
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

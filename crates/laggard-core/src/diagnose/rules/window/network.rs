//! Window rules of the network: when a congestion window tells of loss.

use super::super::{Bound, Numbers};
use crate::diagnose::bound::{QUARTER, THREE_TIMES};
use crate::diagnose::case::{Case, Relation};
use crate::model::metric::Role;

/// Segments at which a congestion window is held down ...
pub(super) const MAX_SEGMENTS: Bound = Bound::new("max_window", 10.0, "segments");
/// ... or the share of its peers' window.
pub(super) const MAX_WINDOW_SHARE: Bound = Bound::new("max_window_share", 0.3, "of the peers'");
/// Segments above which a window tells of no harm: the loss that holds a window of w segments is (1.22 / w)^2, here 0.1 %.
pub(super) const HARMLESS_SEGMENTS: Bound = Bound::new("harmless_window", 40.0, "segments");
/// Segments at which only loss holds a window.
pub(super) const LOSS_SEGMENTS: Bound = Bound::new("loss_window", 2.0, "segments");
/// Share of slots in which a congestion window under loss differs from the slot before.
pub(super) const MIN_MOVEMENT: Bound = Bound::new("min_movement", QUARTER, "of the slots");
/// Segments sent again that are none: a single one in a window is more.
pub(super) const MAX_RESENT: Bound = Bound::new("max_resent", 0.01, "segments/s");

/// Times its peers' segments that are sent again of which a link loses some, whatever the congestion window ...
pub(super) const MIN_RESENT_RATIO: Bound = Bound::new("min_resent_ratio", THREE_TIMES, "times the peers'");
/// ... and the share of all segments, below which loss leaves a window of more than twelve segments: (1.22 / 12)^2.
pub(super) const MIN_RESENT_SHARE: Bound = Bound::new("min_resent_share", 0.01, "of the segments");
/// Loss leaves at most this share of its peers' window.
pub(super) const MAX_HELD_DOWN: Bound = Bound::new("max_held_down", 1.0 - QUARTER, "of the peers' window");

pub(super) fn window_size(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    if seen.metric.role() != Role::Congestion || case.is_absent() {
        return None;
    }
    // The method itself is one-sided and works on logarithms, where a spread means something.
    let share = (MAX_WINDOW_SHARE.value * seen.peer_level).min(HARMLESS_SEGMENTS.value);
    let is_low = seen.level < MAX_SEGMENTS.value || seen.level <= share;
    (!is_low || seen.difference().is_nan() || seen.difference() >= 0.0).then(|| {
        let allowed = MAX_SEGMENTS.value.max(share);
        Numbers::of(&[("level", seen.level), ("peers", seen.peer_level), ("allowed", allowed)])
    })
}

pub(super) fn still_window(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    let is_still = seen.level > LOSS_SEGMENTS.value && seen.movement < MIN_MOVEMENT.value;
    (case.relation() == Relation::Low && seen.metric.role() == Role::Congestion && is_still)
        .then(|| Numbers::of(&[("level", seen.level), ("movement", seen.movement)]))
}

pub(super) fn nothing_resent(case: &Case) -> Option<Numbers> {
    let resent = case.resent().filter(|_| case.relation() == Relation::Low)?;
    let seen = &case.reading;
    // Neither is loss known before it could have been seen.
    (resent.is_nan() || resent < MAX_RESENT.value)
        .then(|| Numbers::of(&[("level", seen.level), ("peers", seen.peer_level), ("resent", resent)]))
}

pub(super) fn harmless_resent(case: &Case) -> Option<Numbers> {
    let window = case.congestion().filter(|_| case.relation() == Relation::High)?;
    let seen = &case.reading;
    let share = case.resent_share();
    let is_rare = share.is_some_and(|share| share < MIN_RESENT_SHARE.value);
    let is_little = seen.ratio < MIN_RESENT_RATIO.value || is_rare;
    (is_little && window.ratio > MAX_HELD_DOWN.value).then(|| {
        Numbers::of(&[
            ("level", seen.level),
            ("peers", seen.peer_level),
            ("share", share.unwrap_or(f64::NAN)),
            ("window", window.level),
            ("peers_window", window.peer_level),
        ])
    })
}

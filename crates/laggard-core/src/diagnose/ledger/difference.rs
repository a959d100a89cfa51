//! How healthy members differ: what is usual for one member, and how far members usually are from their peers.

use super::super::bound::{Bound, QUARTER};
use super::Effect;
use crate::stats::{MAD_TO_DEVIATION, median, quantile};
use std::collections::VecDeque;

/// Differences of healthy members that are remembered, to know their spread.
const MOST_DIFFERENCES: usize = 512;
/// A spread below this is chance.
pub(super) const MIN_SPREAD: f64 = 0.02;
/// From so many members on, the spread of the window itself counts too.
const MANY_MEMBERS: usize = 8;
/// A member's own usual difference is known after so many windows ...
pub const MIN_USUAL: Bound = Bound::new("min_usual", 16.0, "windows of its own");
/// ... is this quantile of them ...
pub const USUAL_QUANTILE: Bound = Bound::new("usual_quantile", QUARTER, "of its own differences");
/// ... and at most this.
pub const MAX_USUAL: Bound = Bound::new("max_usual", 0.14, "as a logarithm: 1.15 times");
/// Windows of a member that are remembered for it, thinned.
const MOST_USUAL: usize = 32;

/// A member's own past differences, thinned.
#[derive(Debug, Clone, Default)]
pub(super) struct Usual {
    values: Vec<f32>,
    /// Windows between two that are kept, and windows until the next.
    stride: u32,
    until: u32,
}

impl Usual {
    /// Takes the difference of a window.
    pub(super) fn push(&mut self, value: f64) {
        if self.until > 0 {
            self.until -= 1;
            return;
        }
        if self.values.len() == MOST_USUAL {
            let mut index = 0;
            self.values.retain(|_| {
                index += 1;
                index % 2 == 0
            });
            self.stride = 2 * self.stride + 1;
        }
        self.values.push(value as f32);
        self.until = self.stride;
    }

    /// Whether enough windows were seen.
    pub(super) fn is_known(&self) -> bool {
        self.values.len() >= MIN_USUAL.value as usize
    }

    /// The lower quartile: what is there nearly always is no trouble of today.
    pub(super) fn level(&self) -> f64 {
        if !self.is_known() {
            return 0.0;
        }
        let mut values: Vec<f64> = self.values.iter().map(|value| f64::from(*value)).collect();
        quantile(&mut values, USUAL_QUANTILE.value).clamp(-MAX_USUAL.value, MAX_USUAL.value)
    }
}

/// Differences of healthy members: from the side on which no slow member is.
#[derive(Debug, Default)]
pub(super) struct Differences {
    below: VecDeque<f64>,
}

impl Differences {
    /// Takes the differences of a window.
    pub(super) fn remember(&mut self, differences: impl Iterator<Item = f64>) {
        self.below.extend(differences.filter(|value| *value < 0.0).map(f64::abs));
        let surplus = self.below.len().saturating_sub(MOST_DIFFERENCES);
        self.below.drain(..surplus);
    }

    /// Robust standard deviation, with what this window adds.
    pub(super) fn spread(&self, members: &[Option<Effect>], differences: &[Option<f64>]) -> f64 {
        let now = differences.iter().flatten().filter(|value| **value < 0.0).map(|value| value.abs());
        let mut below: Vec<f64> = self.below.iter().copied().chain(now).collect();
        let pooled = if below.is_empty() { 0.0 } else { MAD_TO_DEVIATION * median(&mut below) };
        let active = members
            .iter()
            .zip(differences)
            .filter(|(known, _)| known.as_ref().is_some_and(|known| known.is_active));
        let mut active: Vec<f64> = active.filter_map(|(_, value)| value.map(f64::abs)).collect();
        let of_window =
            if active.len() >= MANY_MEMBERS { MAD_TO_DEVIATION * median(&mut active) } else { 0.0 };
        pooled.max(of_window).max(MIN_SPREAD)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Piece;
    use super::*;

    #[test]
    fn differences_are_known_from_the_side_on_which_no_slow_member_is() {
        let effect = |raw: f64| {
            let sum = Piece { seconds: 40.0, ..Piece::default() };
            Some(Effect { sum, service: 0.5, cost: 0.5, by_request: 0.0, raw, is_active: true })
        };
        let mut known = Differences::default();
        known.remember([-0.1, 0.5, -0.3, 0.0, 9.0].into_iter());
        assert_eq!(known.below, [0.1, 0.3]);
        known.remember((0..600).map(|_| -0.2));
        assert_eq!((known.below.len(), known.below[0]), (MOST_DIFFERENCES, 0.2), "the oldest go");
        let spread = |values: &[f64]| {
            let members: Vec<Option<Effect>> = values.iter().map(|value| effect(*value)).collect();
            let differences: Vec<Option<f64>> = values.iter().map(|value| Some(*value)).collect();
            Differences::default().spread(&members, &differences)
        };
        assert_eq!(spread(&[0.0, 0.0, 0.9]), MIN_SPREAD, "nothing is below");
        assert!((spread(&[-0.1, 0.0, 0.0, 0.9]) - 0.1 * MAD_TO_DEVIATION).abs() < 1e-12, "nor is zero");
        assert!((spread(&[-0.1, -0.1, 0.9]) - 0.1 * MAD_TO_DEVIATION).abs() < 1e-12);
        let eight = [-0.1, 0.4, 0.4, 0.4, 0.4, 0.4, -0.1, 0.4];
        assert!((spread(&eight) - 0.4 * MAD_TO_DEVIATION).abs() < 1e-12, "of eight the window itself counts");
        assert!((spread(&eight[..7]) - 0.1 * MAD_TO_DEVIATION).abs() < 1e-12, "of seven it does not");
    }

    #[test]
    fn the_usual_difference_of_a_member_needs_sixteen_windows_and_keeps_few() {
        let mut usual = Usual::default();
        (0..MIN_USUAL.value as usize - 1).for_each(|_| usual.push(0.1));
        assert!(!usual.is_known() && usual.level() == 0.0);
        usual.push(0.1);
        assert!(usual.is_known() && (usual.level() - 0.1).abs() < 1e-6);
        (0..1000).for_each(|_| usual.push(0.5));
        assert!(
            usual.values.len() <= MOST_USUAL && usual.stride >= 15,
            "{} {}",
            usual.values.len(),
            usual.stride
        );
        assert_eq!(usual.level(), MAX_USUAL.value, "a large difference is never usual");
    }
}

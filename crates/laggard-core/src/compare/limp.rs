//! `limp`: ours. How far a component's level is from its peers', in units of how far they are from each other.
//!
//! Level: the mean of the present samples. `z = (level - m) / s` with `m` the median of the peers' levels and
//! `s = max(1.4826 MAD, 2 % of |m|)`, so that neither the bad peer itself nor chance in equal peers matters. It is taken over the
//! window and over each of its halves; `Z` is the smallest of `|z|` of the window and `2 |z|` of either half, and 0 where the
//! halves disagree in direction: what is only in one half is not yet, or no more, there. Score: `ln(1 + Z)`, logarithmic, so
//! that severities of metrics with different spreads compare.
//!
//! Compared with `kl` it keeps the size of a difference, needs no training, costs n and not n squared, and is done in a
//! shorter window. It says nothing about shape: peers with equal means and different jitter are alike.

use super::{Cushion, Judgement, Method, Onset, Subject, Untrained};
use crate::grid::{Params, Window};
use crate::stats::{MIN_SPREAD_SHARE, Spread, mean_of_present};

/// A z-score of 4.
const FOUR_SPREADS: f64 = 1.609_437_912_434_100_3;

/// The method.
pub static LIMP: Method = Method {
    name: "limp",
    subject: Subject::AnyMetric,
    onset: Onset::FirstHalf,
    params: Params { interval_s: 1, smoothing: 1, size: 40, shift: 10, k: 3 },
    // What is violent must be told within 90 s, so that a step of windows is 30 s.
    day_interval_s: 3,
    smoothing_s: None,
    cushion: Cushion::Factor(1.5),
    untrained: Untrained { factor: 0.0, least: FOUR_SPREADS, shift: 10, k: 3, longest_s: Some(600) },
    scores,
    plain,
    judge: |window, threshold| Judgement::from_scores(&scores(window), threshold),
};

fn scores(window: &Window) -> Vec<f64> {
    if !window.is_comparable() {
        return vec![f64::NAN; window.components()];
    }
    let half = window.size().div_ceil(2);
    let whole = deviations(window, |samples| samples);
    let first = deviations(window, |samples| &samples[..half]);
    let second = deviations(window, |samples| &samples[samples.len() - half..]);
    let halves = first.into_iter().zip(second);
    whole.into_iter().zip(halves).map(|(whole, (first, second))| combined(whole, first, second)).collect()
}

/// The z-scores of all components in a part of the window; NaN where there are no samples.
fn deviations(window: &Window, part: impl Fn(&[f64]) -> &[f64]) -> Vec<f64> {
    let mut levels: Vec<f64> = window.each().map(|samples| mean_of_present(part(samples))).collect();
    let spread = Spread::of(&levels);
    for level in &mut levels {
        let difference = *level - spread.middle;
        // Peers that are all zero have no spread: any difference is infinitely many.
        *level = if difference == 0.0 { 0.0 } else { difference / spread.deviation };
    }
    levels
}

fn combined(whole: f64, first: f64, second: f64) -> f64 {
    if first.signum() != second.signum() && !first.is_nan() && !second.is_nan() {
        return 0.0;
    }
    // `min` passes over a half without samples.
    let least = whole.abs().min(2.0 * first.abs()).min(2.0 * second.abs());
    if whole.is_nan() { f64::NAN } else { least.min(LARGEST).ln_1p() }
}

/// Beyond this, more means nothing.
const LARGEST: f64 = 1e6;

/// As the definition says it.
fn plain(window: &Window) -> Vec<f64> {
    let n = window.components();
    if !window.is_comparable() {
        return vec![f64::NAN; n];
    }
    let size = window.size();
    let half = size.div_ceil(2);
    let z = |p: usize, from: usize, length: usize| -> f64 {
        let level = |q: usize| {
            let present: Vec<f64> =
                window.of(q)[from..from + length].iter().copied().filter(|value| !value.is_nan()).collect();
            present.iter().sum::<f64>() / present.len() as f64
        };
        let middle_of = |mut values: Vec<f64>| {
            values.retain(|value| !value.is_nan());
            values.sort_by(f64::total_cmp);
            (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
        };
        if level(p).is_nan() {
            return f64::NAN;
        }
        let middle = middle_of((0..n).map(level).collect());
        let spread = 1.4826 * middle_of((0..n).map(|q| (level(q) - middle).abs()).collect());
        let difference = level(p) - middle;
        if difference == 0.0 { 0.0 } else { difference / spread.max(MIN_SPREAD_SHARE * middle.abs()) }
    };
    let score = |p: usize| {
        let (whole, halves) = (z(p, 0, size), [z(p, 0, half), z(p, size - half, half)]);
        let known: Vec<f64> = halves.into_iter().filter(|z| !z.is_nan()).collect();
        let disagree = known.iter().any(|z| z.signum() != known[0].signum());
        let least = known.iter().fold(whole.abs(), |least, z| least.min(2.0 * z.abs()));
        match whole.is_nan() {
            true => f64::NAN,
            false if disagree => 0.0,
            false => (1.0 + least.min(LARGEST)).ln(),
        }
    };
    (0..n).map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_example() {
        // Levels 10, 11, 12, 13 and 30: median 12, deviations 2, 1, 0, 1, 18: MAD 1. z = 18 / 1.4826.
        let levels = [10.0, 11.0, 12.0, 13.0, 30.0];
        let window = Window::new(levels.iter().flat_map(|level| [*level; 4]).collect(), 4);
        let found = scores(&window);
        assert!((found[4] - (1.0 + 18.0 / 1.4826f64).ln()).abs() < 1e-12, "{found:?}");
        assert_eq!(found[2], 0.0);
    }

    #[test]
    fn what_is_only_in_one_half_does_not_count() {
        let mut values = vec![10.0; 5 * 8];
        values[4..8].fill(100.0);
        assert_eq!(scores(&Window::new(values, 8))[0], 0.0);
    }
}

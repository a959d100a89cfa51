//! Robust statistics, once for all: medians, spreads, quantiles.

use std::collections::VecDeque;

/// From a median absolute deviation to the standard deviation of normal data.
pub const MAD_TO_DEVIATION: f64 = 1.4826;

/// Levels of healthy peers differ by this share of their median even where a recording shows them equal.
pub const MIN_SPREAD_SHARE: f64 = 0.02;

/// Mean of the samples that are present; NaN without any.
pub fn mean_of_present(samples: &[f64]) -> f64 {
    let (sum, count) =
        samples.iter().filter(|value| !value.is_nan()).fold((0.0, 0.0), |(s, c), v| (s + v, c + 1.0));
    sum / count
}

/// Share of the samples that are present.
pub fn presence(samples: &[f64]) -> f64 {
    samples.iter().filter(|value| !value.is_nan()).count() as f64 / samples.len() as f64
}

/// Median of finite values by partial sorting; NaN of none. Even counts: the mean of the middle two.
pub fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let half = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, &mut upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if odd { upper } else { (below.iter().copied().fold(f64::NEG_INFINITY, f64::max) + upper) / 2.0 }
}

/// Drops every second of the oldest values, so that what is remembered reaches further back and stays small.
pub fn thin_oldest<T>(values: &mut VecDeque<T>, oldest: usize) {
    let mut index = 0;
    values.retain(|_| {
        index += 1;
        index > oldest || index % 2 == 0
    });
}

/// The middle of some levels and how far they are from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Their median.
    pub middle: f64,
    /// Robust standard deviation, at least [`MIN_SPREAD_SHARE`] of the median.
    pub deviation: f64,
}

impl Spread {
    /// Of the levels that are known (not NaN).
    pub fn of(levels: &[f64]) -> Spread {
        let mut known: Vec<f64> = levels.iter().copied().filter(|level| !level.is_nan()).collect();
        let middle = median(&mut known);
        known.iter_mut().for_each(|level| *level = (*level - middle).abs());
        let deviation = (MAD_TO_DEVIATION * median(&mut known)).max(MIN_SPREAD_SHARE * middle.abs());
        Spread { middle, deviation }
    }
}

/// A quantile by linear interpolation between order statistics.
pub fn quantile(values: &mut [f64], quantile: f64) -> f64 {
    let position = (values.len() - 1) as f64 * quantile;
    let (_, &mut lower, above) = values.select_nth_unstable_by(position as usize, f64::total_cmp);
    let upper = above.iter().copied().fold(f64::INFINITY, f64::min);
    if position.fract() == 0.0 { lower } else { lower + (upper - lower) * position.fract() }
}

/// Coefficient of variation of the samples that are present.
pub fn variation(samples: &[f64]) -> f64 {
    let mean = mean_of_present(samples);
    let squares: Vec<f64> = samples.iter().map(|value| (value - mean).powi(2)).collect();
    mean_of_present(&squares).sqrt() / mean.abs().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn quartiles_interpolate_between_order_statistics() {
        // R: quantile(c(1,2,3,4,10), c(.25,.75)) is 2, 4; quantile(1:6, ...) is 2.25, 4.75.
        let quartiles = |values: &mut [f64]| (quantile(values, 0.25), quantile(values, 0.75));
        assert_eq!(quartiles(&mut [10.0, 1.0, 3.0, 2.0, 4.0]), (2.0, 4.0));
        assert_eq!(quartiles(&mut [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]), (2.25, 4.75));
        assert_eq!(quartiles(&mut [7.0]), (7.0, 7.0));
        assert_eq!(quartiles(&mut [1.0, 2.0]), (1.25, 1.75));
    }

    #[test]
    fn a_spread_is_robust_and_never_below_two_percent() {
        let spread = Spread::of(&[10.0, 11.0, 12.0, 13.0, 30.0, f64::NAN]);
        assert_eq!(spread, Spread { middle: 12.0, deviation: 1.4826 });
        assert_eq!(Spread::of(&[5.0; 4]), Spread { middle: 5.0, deviation: 0.1 });
    }

    #[test]
    fn variation_is_the_deviation_over_the_mean() {
        assert!((variation(&[1.0, 3.0, f64::NAN]) - 0.5).abs() < 1e-12);
        assert_eq!(presence(&[1.0, f64::NAN, 2.0, 3.0]), 0.75);
    }
}

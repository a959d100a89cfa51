//! `median`: LISA'13, section 5.3. Sum over the window of `|x(i) - m(i)|`, m the per-slot median of the peers.
//!
//! Cheap, and blind to missing data; a low-intensity load on an otherwise idle group scores high (section 5.3.2).

use super::{Cushion, Judgement, Method, Onset, Subject, Untrained};
use crate::grid::{Params, Window};
use crate::stats::median;

/// The method, with the paper's parameters.
pub static MEDIAN: Method = Method {
    name: "median",
    subject: Subject::AnyMetric,
    onset: Onset::NewSlots,
    params: Params { interval_s: 15, smoothing: 15, size: 60, shift: 30, k: 3 },
    day_interval_s: 15,
    smoothing_s: None,
    cushion: Cushion::Factor(2.0),
    untrained: Untrained { factor: 6.0, least: 0.0, shift: 30, k: 3, longest_s: None },
    scores,
    plain,
    judge: |window, threshold| Judgement::from_scores(&scores(window), threshold),
};

fn scores(window: &Window) -> Vec<f64> {
    let n = window.components();
    if !window.is_comparable() {
        return vec![f64::NAN; n];
    }
    let mut column = Vec::with_capacity(n);
    let mut medians = Vec::with_capacity(window.size());
    for slot in 0..window.size() {
        column.clear();
        column.extend(window.each().map(|samples| samples[slot]).filter(|value| !value.is_nan()));
        medians.push(median(&mut column));
    }
    let distance = |samples: &[f64]| -> f64 {
        let present = samples.iter().zip(&medians).filter(|(value, _)| !value.is_nan());
        let (sum, count) =
            present.fold((0.0, 0), |(sum, count), (value, m)| (sum + (value - m).abs(), count + 1));
        if count == 0 { f64::NAN } else { sum }
    };
    window.each().map(distance).collect()
}

fn plain(window: &Window) -> Vec<f64> {
    let n = window.components();
    if !window.is_comparable() {
        return vec![f64::NAN; n];
    }
    let median_at = |slot: usize| {
        let mut values: Vec<f64> =
            (0..n).map(|p| window.of(p)[slot]).filter(|value| !value.is_nan()).collect();
        values.sort_by(f64::total_cmp);
        let m = values.len();
        if m == 0 { f64::NAN } else { (values[(m - 1) / 2] + values[m / 2]) / 2.0 }
    };
    let score = |p: usize| {
        let samples = window.of(p);
        if samples.iter().all(|value| value.is_nan()) {
            return f64::NAN;
        }
        let mut sum = 0.0;
        for (slot, value) in samples.iter().enumerate() {
            sum += if value.is_nan() { 0.0 } else { (value - median_at(slot)).abs() };
        }
        sum
    };
    (0..n).map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_to_the_median_series() {
        let window = Window::new(vec![1.0, 1.0, 2.0, 2.0, 9.0, f64::NAN], 2);
        assert_eq!(scores(&window), [1.5, 0.5, 7.0]);
    }
}

//! `thresh`: LISA'13, section 5.3. The largest value in the window: the traditional alarm threshold, no comparison.
//!
//! Kept because users compare against it. Misses whatever stays below the largest value seen in training.

use super::{Cushion, Judgement, Method, Onset, Subject, Untrained};
use crate::grid::{Params, Window};

/// The method, with the paper's parameters.
pub static THRESH: Method = Method {
    name: "thresh",
    subject: Subject::AnyMetric,
    onset: Onset::NewSlots,
    params: Params { interval_s: 15, smoothing: 15, size: 60, shift: 30, k: 3 },
    day_interval_s: 15,
    smoothing_s: None,
    cushion: Cushion::Factor(2.0),
    untrained: Untrained { factor: 2.0, least: 0.0, shift: 30, k: 3, longest_s: None },
    scores,
    plain,
    judge: |window, threshold| Judgement::from_scores(&scores(window), threshold),
};

fn scores(window: &Window) -> Vec<f64> {
    if !window.is_comparable() {
        return vec![f64::NAN; window.components()];
    }
    window.each().map(|samples| samples.iter().copied().fold(f64::NAN, f64::max)).collect()
}

fn plain(window: &Window) -> Vec<f64> {
    if !window.is_comparable() {
        return vec![f64::NAN; window.components()];
    }
    let largest = |p: usize| {
        let mut present: Vec<f64> = window.of(p).iter().copied().filter(|value| !value.is_nan()).collect();
        present.sort_by(f64::total_cmp);
        present.last().copied().unwrap_or(f64::NAN)
    };
    (0..window.components()).map(largest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_counts() {
        let window = Window::new(vec![1.0, 5.0, f64::NAN, 2.0, 0.0, 0.0, f64::NAN, f64::NAN], 2);
        let scores = scores(&window);
        assert_eq!(scores[..3], [5.0, 2.0, 0.0]);
        assert!(scores[3].is_nan());
    }
}

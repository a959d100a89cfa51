//! `kl`: FAST'10, section 10.1. Symmetric Kullback-Leibler divergence of histograms.
//!
//! Histogram: Sturges' `ceil(log2(size))+1` equal bins between the smallest and the largest smoothed value of all peers
//! in the window. Each bin count gets 0.5 added before normalising, so that the divergence is finite.
//! Distance: `(D(P||Q) + D(Q||P)) / 2`, natural logarithm.
//!
//! Fails where a small asymmetry puts all samples of the group into the first and last bins (LISA'13, section 4.2.2);
//! `cdf` was made for that.

use super::{Cushion, Judgement, Method, Onset, Subject, Untrained, plain_pairwise, rank};
use crate::grid::{Params, Window};

/// The method, with the paper's parameters.
pub static KL: Method = Method {
    name: "kl",
    subject: Subject::AnyMetric,
    onset: Onset::NewSlots,
    params: Params { interval_s: 1, smoothing: 5, size: 64, shift: 32, k: 3 },
    day_interval_s: 1,
    smoothing_s: None,
    cushion: Cushion::RoundedUp { step: 0.1, factor: 2.0 },
    // The least that training can give.
    untrained: Untrained { factor: 1.5, least: 0.2, shift: 16, k: 3, longest_s: None },
    scores,
    plain,
    judge: |window, threshold| Judgement::from_scores(&scores(window), threshold),
};

/// Bins of every component in turn, as probabilities; `None` for a single bin, where no component differs.
fn histograms(window: &Window) -> Option<(usize, Vec<f64>)> {
    let (low, high) =
        window.present().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let range = high - low;
    if range.is_nan() || range <= 0.0 {
        return None;
    }
    let bins = (window.size() as f64).log2().ceil() as usize + 1;
    let width = range / bins as f64;
    let mut probabilities = Vec::with_capacity(bins * window.components());
    for samples in window.each() {
        let start = probabilities.len();
        probabilities.resize(start + bins, 0.5);
        let counts = &mut probabilities[start..];
        for value in samples.iter().filter(|value| !value.is_nan()) {
            counts[(((value - low) / width) as usize).min(bins - 1)] += 1.0;
        }
        let total: f64 = counts.iter().sum();
        counts.iter_mut().for_each(|count| *count /= total);
    }
    Some((bins, probabilities))
}

/// `(D(P||Q) + D(Q||P)) / 2` equals half the sum of `(P-Q) (ln P - ln Q)`: no logarithm per pair.
fn scores(window: &Window) -> Vec<f64> {
    let n = window.components();
    if !window.is_comparable() {
        return vec![f64::NAN; n];
    }
    let Some((bins, probabilities)) = histograms(window) else { return vec![0.0; n] };
    let logarithms: Vec<f64> = probabilities.iter().map(|probability| probability.ln()).collect();
    let of = |values: &'_ [f64], p: usize| -> Vec<f64> { values[p * bins..][..bins].to_vec() };
    let mut distances = vec![0.0; n - 1];
    let mut score = |p: usize| {
        let (own, own_log) = (of(&probabilities, p), of(&logarithms, p));
        let others = probabilities.chunks_exact(bins).zip(logarithms.chunks_exact(bins)).enumerate();
        for (slot, (_, (other, other_log))) in others.filter(|(q, _)| *q != p).enumerate() {
            let terms = own.iter().zip(other).zip(own_log.iter().zip(other_log));
            distances[slot] = 0.5 * terms.map(|((a, b), (la, lb))| (a - b) * (la - lb)).sum::<f64>();
        }
        *distances.select_nth_unstable_by(rank(n), f64::total_cmp).1
    };
    (0..n).map(&mut score).collect()
}

/// The definition as the paper writes it: counts, probabilities and both divergences for every pair.
fn plain(window: &Window) -> Vec<f64> {
    let n = window.components();
    if !window.is_comparable() {
        return vec![f64::NAN; n];
    }
    let mut values: Vec<f64> = window.present().collect();
    values.sort_by(f64::total_cmp);
    let (low, range) = (values[0], values[values.len() - 1] - values[0]);
    let bins = if range > 0.0 { (window.size() as f64).log2().ceil() as usize + 1 } else { 1 };
    let bin_of = |value: f64| {
        if bins == 1 { 0 } else { (((value - low) / (range / bins as f64)) as usize).min(bins - 1) }
    };
    let probabilities = |p: usize| -> Vec<f64> {
        let present: Vec<f64> = window.of(p).iter().copied().filter(|value| !value.is_nan()).collect();
        let count = |bin: usize| present.iter().filter(|value| bin_of(**value) == bin).count() as f64;
        (0..bins).map(|bin| (count(bin) + 0.5) / (present.len() as f64 + 0.5 * bins as f64)).collect()
    };
    let all: Vec<Vec<f64>> = (0..n).map(probabilities).collect();
    let divergence =
        |p: usize, q: usize| -> f64 { all[p].iter().zip(&all[q]).map(|(p, q)| p * (p / q).ln()).sum() };
    plain_pairwise(n, |p, q| (divergence(p, q) + divergence(q, p)) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: size 4 gives 3 bins; A and B fill bin 0, C fills bin 2.
    /// P = (4.5, .5, .5)/5.5, Q = (.5, .5, 4.5)/5.5; J = (4/5.5) ln 9.
    #[test]
    fn worked_example() {
        let window = Window::new(vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 9.0, 9.0, 8.9, 9.0], 4);
        let scores = scores(&window);
        assert!((scores[2] - 4.0 / 5.5 * 9f64.ln()).abs() < 1e-12, "{scores:?}");
        assert_eq!(scores[0], 0.0);
    }

    #[test]
    fn identical_peers_yield_nothing() {
        let window = Window::new(vec![2.5; 4 * 64], 64);
        assert_eq!(scores(&window), [0.0; 4]);
    }
}

//! `cdf`: LISA'13, section 4.2. Distance of cumulative histograms.
//!
//! Bins from all peers' values in the window (Freedman-Diaconis): `bin = 2*IQR*size^(-1/3)`, `bins = ceil(range/bin)`, at
//! most 1000. CDF of p at bin i: samples of p in bins 0..=i divided by `size`, so that absent samples leave the CDF
//! short of 1 and count. Distance: sum over bins of `|P(i) - Q(i)|`.
//!
//! The fast path rests on an identity: give a missing sample the bin index `bins` and sort each component's indices. The
//! distance is the sum of the absolute differences of the two sorted vectors, divided by `size`. That is a metric, so
//! one pivot and the triangle inequality settle most "score > threshold" questions, see [`pruned`].

mod pruned;

use super::{Cushion, Method, Onset, Subject, Untrained, plain_pairwise, rank};
use crate::grid::{Params, Window};
use crate::stats::quantile;
use rayon::prelude::*;

/// The method, with the paper's parameters.
pub static CDF: Method = Method {
    name: "cdf",
    subject: Subject::AnyMetric,
    onset: Onset::NewSlots,
    params: Params { interval_s: 15, smoothing: 15, size: 60, shift: 30, k: 3 },
    day_interval_s: 15,
    smoothing_s: None,
    cushion: Cushion::Factor(2.0),
    // Less than a bin of difference. In small groups one slow member widens the bins until it is two away.
    untrained: Untrained { factor: 4.0, least: 0.75, shift: 30, k: 3, longest_s: None },
    scores,
    plain,
    judge: pruned::judge,
};

/// LISA'13, section 4.2.2: outliers may ask for millions of bins.
const MOST_BINS: usize = 1000;

/// Groups larger than this are scored on all cores; below, one core is faster than the hand-over.
const WORTH_SHARING: usize = 4096;

/// The histogram parameters of one window.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bins {
    low: f64,
    width: f64,
    count: usize,
}

impl Bins {
    /// `None` if no sample is present.
    fn of(window: &Window) -> Option<Bins> {
        let mut values: Vec<f64> = window.present().collect();
        let (low, high) =
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        if values.is_empty() {
            return None;
        }
        let range = high - low;
        if range <= 0.0 {
            return Some(Bins { low, width: 1.0, count: 1 });
        }
        let (first, third) = (quantile(&mut values, 0.25), quantile(&mut values, 0.75));
        let width = 2.0 * (third - first) * (window.size() as f64).powf(-1.0 / 3.0);
        let wanted = (range / width).ceil();
        if wanted <= MOST_BINS as f64 {
            return Some(Bins { low, width, count: wanted as usize });
        }
        // Too many, infinitely many (IQR 0), or undefined: the bins widen.
        Some(Bins { low, width: range / MOST_BINS as f64, count: MOST_BINS })
    }

    /// The bin of a sample; a missing one comes after all bins.
    fn index(self, value: f64) -> u16 {
        if value.is_nan() {
            self.count as u16
        } else {
            (((value - self.low) / self.width) as usize).min(self.count - 1) as u16
        }
    }
}

/// Sorted bin indices of every component: what the identity compares.
struct Ranked {
    /// Component by component, padded with zeros so that a distance is whole vector registers.
    indices: Vec<u16>,
    stride: usize,
    size: usize,
}

impl Ranked {
    const LANE: usize = 16;

    /// `None` if too few components have data.
    fn new(window: &Window) -> Option<Ranked> {
        let bins = if window.is_comparable() { Bins::of(window)? } else { return None };
        let stride = window.size().next_multiple_of(2 * Self::LANE);
        let mut indices = vec![0; stride * window.components()];
        for (row, samples) in indices.chunks_exact_mut(stride).zip(window.each()) {
            let row = &mut row[..samples.len()];
            for (index, &value) in row.iter_mut().zip(samples) {
                *index = bins.index(value);
            }
            row.sort_unstable();
        }
        Some(Ranked { indices, stride, size: window.size() })
    }

    fn components(&self) -> usize {
        self.indices.len() / self.stride
    }

    fn of(&self, component: usize) -> &[u16] {
        &self.indices[component * self.stride..][..self.stride]
    }

    /// `size` times the distance, an integer.
    fn distance(&self, p: usize, q: usize) -> u32 {
        distance(self.of(p), self.of(q))
    }

    fn as_score(&self, distance: u32) -> f64 {
        f64::from(distance) / self.size as f64
    }

    /// The exact scores of some components.
    fn scores_of(&self, wanted: &[usize]) -> Vec<f64> {
        if self.components() > WORTH_SHARING {
            return wanted.par_iter().map_init(Vec::new, |scratch, &p| self.score(p, scratch)).collect();
        }
        let mut scratch = Vec::new();
        wanted.iter().map(|&p| self.score(p, &mut scratch)).collect()
    }

    /// The exact score of one component.
    fn score(&self, p: usize, scratch: &mut Vec<u32>) -> f64 {
        let own = self.of(p);
        scratch.clear();
        scratch.extend(self.indices.chunks_exact(self.stride).map(|other| distance(own, other)));
        scratch.swap_remove(p);
        self.as_score(*scratch.select_nth_unstable(rank(self.components())).1)
    }
}

/// Sum of absolute differences. Saturating both ways is what SSE2 has an instruction for, and sixteen bits keep its
/// registers dense: 32 differences of at most 1000 fit.
fn distance(a: &[u16], b: &[u16]) -> u32 {
    const BLOCK: usize = 2 * Ranked::LANE;
    let difference = |(a, b): (&u16, &u16)| a.saturating_sub(*b) + b.saturating_sub(*a);
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    blocks.map(|(a, b)| u32::from(a.iter().zip(b).map(difference).sum::<u16>())).sum()
}

fn scores(window: &Window) -> Vec<f64> {
    let n = window.components();
    let ranked = Ranked::new(window);
    ranked.map_or_else(|| vec![f64::NAN; n], |ranked| ranked.scores_of(&(0..n).collect::<Vec<_>>()))
}

/// The definition as the paper writes it: cumulative histograms, floating point, every pair.
fn plain(window: &Window) -> Vec<f64> {
    let n = window.components();
    let mut values: Vec<f64> = window.present().collect();
    if !window.is_comparable() {
        return vec![f64::NAN; n];
    }
    values.sort_by(f64::total_cmp);
    let quantile = |q: f64| {
        let position = (values.len() - 1) as f64 * q;
        let (lower, upper) = (values[position as usize], values[position.ceil() as usize]);
        lower + (upper - lower) * position.fract()
    };
    let (low, range) = (values[0], values[values.len() - 1] - values[0]);
    let size = window.size() as f64;
    let bin = 2.0 * (quantile(0.75) - quantile(0.25)) * size.powf(-1.0 / 3.0);
    let (bin, bins) = match (range / bin).ceil() {
        _ if range == 0.0 => (1.0, 1),
        bins if bins <= 1000.0 => (bin, bins as usize),
        _ => (range / 1000.0, 1000),
    };
    let cumulative = |samples: &[f64]| -> Vec<f64> {
        let mut counts = vec![0.0; bins];
        for value in samples.iter().filter(|value| !value.is_nan()) {
            counts[(((value - low) / bin) as usize).min(bins - 1)] += 1.0;
        }
        let running = counts.iter().scan(0.0, |sum, count| {
            *sum += count;
            Some(*sum / size)
        });
        running.collect()
    };
    let cdfs: Vec<Vec<f64>> = window.each().map(cumulative).collect();
    plain_pairwise(n, |p, q| cdfs[p].iter().zip(&cdfs[q]).map(|(a, b)| (a - b).abs()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four samples each; all values 0 but C's are 8: IQR 0..8 over 12 samples. The quartiles are 0 and 8, so
    /// `bin = 16 * 4^(-1/3)` exceeds the range and there is one bin: no component differs.
    #[test]
    fn one_bin_hides_everything() {
        let window = Window::new([[0.0; 4], [0.0; 4], [8.0; 4]].concat(), 4);
        assert_eq!(scores(&window), [0.0; 3]);
    }

    /// Worked by hand: IQR 0 widens to 1000 bins; C sits in the last bin for 2 of 4 samples: distance 999 * 2/4.
    #[test]
    fn iqr_of_zero_uses_a_thousand_bins() {
        let mut values = vec![0.0; 16];
        values[14] = 5.0;
        values[15] = 5.0;
        assert_eq!(scores(&Window::new(values, 4)), [0.0, 0.0, 0.0, 499.5]);
    }

    /// A silent component is at distance `bins - its peers' bin` for every sample.
    #[test]
    fn missing_data_is_distance() {
        let mut values: Vec<f64> = (0..16).map(|i| f64::from(i % 4)).collect();
        values[12..].fill(f64::NAN);
        let window = Window::new(values, 4);
        let scores = scores(&window);
        assert!(scores[3] > 0.0 && scores[0] == 0.0, "{scores:?}");
        assert_eq!(scores, plain(&window));
    }
}

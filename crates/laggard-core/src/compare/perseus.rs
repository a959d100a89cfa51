//! `perseus`: Lu and others, FAST'23. The latency of a device against what its throughput makes one expect.
//!
//! Latency is regressed on throughput over all members of a group: a polynomial of degree 4, after DBSCAN on the principal components
//! has left out what lies alone. A device is slow where its latency exceeds the upper bound of that (99.9 %); a window of five minutes
//! scores the median of latency over bound, so that more than half of it must be slow. What the paper does with such windows over
//! days (its risk score) the filter and the accumulator do here. Blind where devices have little to do, or nothing but one load.

use super::{Cushion, Judgement, Method, Onset, Subject, Untrained};
use crate::grid::{Params, Window};
use crate::stats::{median, thin_oldest};
use std::collections::VecDeque;

/// The method. It needs no training.
pub static PERSEUS: Method = Method {
    name: "perseus",
    subject: Subject::Slowdown,
    onset: Onset::NewSlots,
    params: Params { interval_s: 15, smoothing: 1, size: 20, shift: 10, k: 3 },
    day_interval_s: 15,
    smoothing_s: None,
    cushion: Cushion::None,
    untrained: Untrained { factor: 0.0, least: 1.0, shift: 10, k: 3, longest_s: None },
    scores,
    plain,
    judge: |window, threshold| Judgement::from_scores(&scores(window), threshold),
};

/// Of a window of latencies over their upper bounds.
fn scores(window: &Window) -> Vec<f64> {
    if !window.is_comparable() {
        return vec![f64::NAN; window.components()];
    }
    let score = |samples: &[f64]| {
        let mut present: Vec<f64> = samples.iter().copied().filter(|value| !value.is_nan()).collect();
        median(&mut present)
    };
    window.each().map(score).collect()
}

fn plain(window: &Window) -> Vec<f64> {
    if !window.is_comparable() {
        return vec![f64::NAN; window.components()];
    }
    let middle = |p: usize| {
        let mut present: Vec<f64> = window.of(p).iter().copied().filter(|value| !value.is_nan()).collect();
        present.sort_by(f64::total_cmp);
        match present.len() {
            0 => f64::NAN,
            odd if odd % 2 == 1 => present[odd / 2],
            even => (present[even / 2 - 1] + present[even / 2]) / 2.0,
        }
    };
    (0..window.components()).map(middle).collect()
}

/// Entries that the regression is made of; beyond, every second of the older half is dropped.
const MOST_ENTRIES: usize = 1024;
/// Fewer say nothing.
const MIN_ENTRIES: usize = 64;
/// DBSCAN: entries this near to each other, in standard deviations of the principal components, are neighbours ...
const NEAR: f64 = 0.3;
/// ... and so many neighbours make a cluster.
const MIN_NEIGHBOURS: usize = 5;
/// Of the polynomial.
const DEGREE: usize = 4;
/// Standard deviations of the residuals below which 99.9 % lie.
const UPPER: f64 = 3.09;

/// What one device did in one slot.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry {
    throughput: f64,
    latency: f64,
}

/// Latency against throughput, of all members of a group.
#[derive(Debug, Default)]
pub struct Regression {
    entries: VecDeque<Entry>,
    seen: u64,
    /// Entries seen when the curve was last fitted.
    fitted_at: u64,
    curve: Option<Curve>,
}

/// The polynomial, over throughput from 0 to 1, and its upper bound.
#[derive(Debug, Clone, PartialEq)]
struct Curve {
    from: f64,
    range: f64,
    coefficients: [f64; DEGREE + 1],
    above: f64,
    /// The smallest latency that taught it.
    least: f64,
}

impl Regression {
    /// Takes what the members did in a slot; yields each latency over the upper bound for its throughput. NaN where either is not
    /// known, or too little was seen yet.
    pub fn slowdowns(&mut self, throughput: &[f64], latency: &[f64], sample: &[usize]) -> Vec<f64> {
        for &member in sample {
            let entry = Entry { throughput: throughput[member], latency: latency[member] };
            // What is slow by the curve of so far does not teach it.
            let is_slow =
                self.curve.as_ref().is_some_and(|curve| entry.latency > curve.upper(entry.throughput));
            if entry.throughput > 0.0 && entry.latency > 0.0 && !is_slow {
                self.entries.push_back(entry);
                self.seen += 1;
            }
        }
        if self.entries.len() > MOST_ENTRIES {
            thin_oldest(&mut self.entries, MOST_ENTRIES / 2);
        }
        if self.entries.len() >= MIN_ENTRIES && self.seen >= self.fitted_at + self.fitted_at / 8 {
            self.fitted_at = self.seen;
            let entries: Vec<Entry> = self.entries.iter().copied().collect();
            self.curve = fit(&clustered(&entries)).or(self.curve.take());
        }
        let slowdown = |(throughput, latency): (&f64, &f64)| match &self.curve {
            Some(curve) if *throughput > 0.0 => latency / curve.upper(*throughput),
            _ => f64::NAN,
        };
        throughput.iter().zip(latency).map(slowdown).collect()
    }
}

impl Curve {
    fn at(&self, throughput: f64) -> f64 {
        // Beyond what was seen nothing is known: its end holds.
        let x = ((throughput - self.from) / self.range).clamp(0.0, 1.0);
        self.coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
    }

    fn upper(&self, throughput: f64) -> f64 {
        (self.at(throughput) + self.above).max(self.least)
    }
}

/// Entries that do not lie alone: DBSCAN on the principal components of throughput and latency, each in its standard deviations.
fn clustered(entries: &[Entry]) -> Vec<Entry> {
    let standard = |value: fn(&Entry) -> f64| {
        let count = entries.len() as f64;
        let mean = entries.iter().map(value).sum::<f64>() / count;
        let variance = entries.iter().map(|entry| (value(entry) - mean).powi(2)).sum::<f64>() / count;
        let deviation = variance.sqrt().max(f64::MIN_POSITIVE);
        entries.iter().map(|entry| (value(entry) - mean) / deviation).collect::<Vec<f64>>()
    };
    let (x, y) = (standard(|entry| entry.throughput), standard(|entry| entry.latency));
    let correlation = x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>() / x.len() as f64;
    // Of two standardised values the principal components are their sum and their difference.
    let scale = |variance: f64| 1.0 / (2.0 * variance.max(1e-3)).sqrt();
    let (of_sum, of_difference) = (scale(1.0 + correlation), scale(1.0 - correlation));
    let points: Vec<(f64, f64)> =
        x.iter().zip(&y).map(|(x, y)| ((x + y) * of_sum, (x - y) * of_difference)).collect();
    let is_near = |a: &(f64, f64), b: &(f64, f64)| (a.0 - b.0).powi(2) + (a.1 - b.1).powi(2) <= NEAR * NEAR;
    let neighbours = |point: &(f64, f64)| points.iter().filter(|other| is_near(point, other)).count();
    let is_core: Vec<bool> = points.iter().map(|point| neighbours(point) > MIN_NEIGHBOURS).collect();
    let is_clustered = |index: &usize| {
        let near_core =
            || points.iter().zip(&is_core).any(|(other, core)| *core && is_near(&points[*index], other));
        is_core[*index] || near_core()
    };
    (0..entries.len()).filter(is_clustered).map(|index| entries[index]).collect()
}

/// Least squares; nothing where there is too little, or all have one throughput and one latency.
fn fit(entries: &[Entry]) -> Option<Curve> {
    if entries.len() < MIN_ENTRIES {
        return None;
    }
    let from = entries.iter().map(|entry| entry.throughput).fold(f64::INFINITY, f64::min);
    let to = entries.iter().map(|entry| entry.throughput).fold(f64::NEG_INFINITY, f64::max);
    let range = (to - from).max(f64::MIN_POSITIVE);
    let mut equations = [[0.0; DEGREE + 2]; DEGREE + 1];
    for entry in entries {
        let x = (entry.throughput - from) / range;
        let powers: [f64; DEGREE + 1] = std::array::from_fn(|power| x.powi(power as i32));
        for (row, left) in equations.iter_mut().zip(powers) {
            row.iter_mut().zip(powers).for_each(|(sum, right)| *sum += left * right);
            row[DEGREE + 1] += left * entry.latency;
        }
    }
    // A little of a ridge: loads of one throughput leave the higher powers open.
    let ridge = 1e-9 * entries.len() as f64;
    equations.iter_mut().enumerate().for_each(|(index, row)| row[index] += ridge);
    let coefficients = solve(equations)?;
    let least = entries.iter().map(|entry| entry.latency).fold(f64::INFINITY, f64::min);
    let curve = Curve { from, range, coefficients, above: 0.0, least };
    let squares: f64 = entries.iter().map(|entry| (entry.latency - curve.at(entry.throughput)).powi(2)).sum();
    let deviation = (squares / (entries.len() - DEGREE - 1) as f64).sqrt();
    Some(Curve { above: UPPER * deviation, ..curve })
}

/// Gauss, with the largest of a column first.
fn solve(mut rows: [[f64; DEGREE + 2]; DEGREE + 1]) -> Option<[f64; DEGREE + 1]> {
    let size = DEGREE + 1;
    for column in 0..size {
        let largest =
            (column..size).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        rows.swap(column, largest);
        let pivot = rows[column];
        if pivot[column] == 0.0 || !pivot[column].is_finite() {
            return None;
        }
        for row in rows.iter_mut().skip(column + 1) {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(pivot).for_each(|(value, known)| *value -= factor * known);
        }
    }
    let mut solution = [0.0; DEGREE + 1];
    for index in (0..size).rev() {
        let known: f64 = (index + 1..size).map(|later| rows[index][later] * solution[later]).sum();
        solution[index] = (rows[index][size] - known) / rows[index][index];
    }
    solution.iter().all(|value| value.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latency grows with throughput, with noise; the same every time.
    fn entry(index: usize) -> Entry {
        let chance = |salt: u64| {
            let mut x = (index as u64 + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            x ^= x >> 31;
            x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
            (x >> 40) as f64 / (1u64 << 24) as f64
        };
        let throughput = 10.0 + 90.0 * chance(1);
        Entry { throughput, latency: 2.0 + (throughput / 50.0).powi(2) + 0.2 * chance(2) }
    }

    #[test]
    fn the_curve_is_found_and_its_bound_lies_above_nearly_all() {
        let entries: Vec<Entry> = (0..600).map(entry).collect();
        let curve = fit(&entries).unwrap();
        for throughput in [15.0, 50.0, 95.0] {
            let truth = 2.1 + (throughput / 50.0_f64).powi(2);
            assert!((curve.at(throughput) / truth - 1.0).abs() < 0.03, "{throughput}");
        }
        let above = entries.iter().filter(|entry| entry.latency > curve.upper(entry.throughput)).count();
        assert!(above <= 1, "{above}");
        assert_eq!(curve.at(1000.0), curve.at(100.0_f64.min(curve.from + curve.range)), "the end holds");
    }

    #[test]
    fn what_lies_alone_does_not_teach() {
        let mut entries: Vec<Entry> = (0..600).map(entry).collect();
        let clean = fit(&clustered(&entries)).unwrap();
        entries
            .extend((0..4).map(|index| Entry { throughput: 20.0, latency: 40.0 + 20.0 * f64::from(index) }));
        let kept = clustered(&entries);
        assert!(kept.iter().all(|entry| entry.latency < 10.0), "outliers are left out");
        let curve = fit(&kept).unwrap();
        assert!((curve.upper(50.0) / clean.upper(50.0) - 1.0).abs() < 0.1);
    }

    #[test]
    fn a_slow_device_is_above_the_bound_and_an_idle_one_is_not_known() {
        let mut regression = Regression::default();
        let members: Vec<usize> = (0..12).collect();
        let mut last = Vec::new();
        for slot in 0..60 {
            let entries: Vec<Entry> = members.iter().map(|member| entry(slot * 12 + member)).collect();
            let mut throughput: Vec<f64> = entries.iter().map(|entry| entry.throughput).collect();
            let mut latency: Vec<f64> = entries.iter().map(|entry| entry.latency).collect();
            latency[3] *= if slot >= 40 { 3.0 } else { 1.0 };
            throughput[5] = 0.0;
            last = regression.slowdowns(&throughput, &latency, &members);
        }
        assert!(last[3] > 1.3 && last[5].is_nan(), "{last:?}");
        assert!(last.iter().enumerate().all(|(member, value)| member == 3 || value.is_nan() || *value < 1.0));
    }

    #[test]
    fn at_least_so_many_entries_make_a_curve_and_old_ones_are_thinned() {
        let entries: Vec<Entry> = (0..MIN_ENTRIES).map(entry).collect();
        assert!(fit(&entries).is_some() && fit(&entries[1..]).is_none());
        let mut regression = Regression::default();
        let mut push = |entry: Entry| {
            regression.slowdowns(&[entry.throughput], &[entry.latency], &[0]);
            (regression.entries.len(), regression.seen)
        };
        assert_eq!(push(Entry { throughput: 0.0, latency: 5.0 }), (0, 0), "an idle device teaches nothing");
        assert_eq!(push(Entry { throughput: 5.0, latency: 0.0 }), (0, 0), "nor one without latency");
        let (mut kept, mut seen) = (0, 0);
        let mut index = 0;
        while kept < MOST_ENTRIES {
            (kept, seen) = push(entry(index));
            index += 1;
        }
        assert_eq!(
            push(Entry { throughput: 50.0, latency: 300.0 }),
            (kept, seen),
            "what is slow does not teach"
        );
        assert_eq!(push(Entry { throughput: 50.0, latency: 1.0 }).0, 3 * MOST_ENTRIES / 4 + 1);
        let newest = regression.entries.back().unwrap();
        assert_eq!(newest.latency, 1.0);
        assert_eq!(regression.entries[0].latency, entry(1).latency, "every second of the older half");
    }

    #[test]
    fn a_cluster_has_more_than_the_least_neighbours() {
        let kept = |count: usize| {
            let far = (0..100).map(|_| Entry { throughput: 100.0, latency: 10.0 });
            let near = (0..count).map(|_| Entry { throughput: 1.0, latency: 1.0 });
            clustered(&far.chain(near).collect::<Vec<Entry>>()).len() - 100
        };
        assert_eq!([kept(MIN_NEIGHBOURS), kept(MIN_NEIGHBOURS + 1)], [0, MIN_NEIGHBOURS + 1]);
    }
}

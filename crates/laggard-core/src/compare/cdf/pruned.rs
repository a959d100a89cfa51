//! "Score > threshold" without most of the distances.
//!
//! The distance is a metric. With the distances of all components to one pivot near the middle of the group, the triangle
//! inequality brackets every other distance: `|d(p,q) - d(q,x)| <= d(p,x) <= d(p,q) + d(q,x)`. Sorted by distance to the
//! pivot, the undecided components are one run in the middle; only they are compared.

use super::{Ranked, WORTH_SHARING, rank};
use crate::compare::{Judgement, Score, Threshold};
use crate::grid::Window;
use rayon::prelude::*;

/// Components among which the pivot is sought.
const PIVOT_CANDIDATES: usize = 24;

pub(super) fn judge(window: &Window, threshold: Threshold) -> Judgement {
    let n = window.components();
    let Some(ranked) = Ranked::new(window) else { return Judgement::missing(n) };
    let thresholds = match threshold {
        Threshold::Trained(thresholds) => thresholds.to_vec(),
        Threshold::FromPeers { sample, rule } => {
            let sampled = ranked.scores_of(sample);
            if sample.len() == n {
                // All were needed anyway.
                return Judgement::from_scores(&sampled, threshold);
            }
            vec![rule(&sampled); n]
        }
    };
    let pivot = Pivot::new(&ranked);
    let decide = |scratch: &mut Vec<u32>, p: usize| match pivot.exceeds(p, thresholds[p]) {
        true => Score::Exact(ranked.score(p, scratch)),
        false => Score::WithinThreshold,
    };
    let scores = if n > WORTH_SHARING {
        (0..n).into_par_iter().map_init(Vec::new, decide).collect()
    } else {
        let mut scratch = Vec::new();
        (0..n).map(|p| decide(&mut scratch, p)).collect()
    };
    Judgement { scores, thresholds }
}

struct Pivot<'a> {
    ranked: &'a Ranked,
    /// Distance of each component to the pivot.
    to_pivot: Vec<u32>,
    /// Components by increasing distance to the pivot, and those distances.
    order: Vec<u32>,
    sorted: Vec<u32>,
}

impl<'a> Pivot<'a> {
    fn new(ranked: &'a Ranked) -> Self {
        let n = ranked.components();
        let middle = ranked.of(central(ranked));
        let to_pivot: Vec<u32> = (0..n).map(|p| super::distance(ranked.of(p), middle)).collect();
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_unstable_by_key(|&p| to_pivot[p as usize]);
        let sorted = order.iter().map(|&p| to_pivot[p as usize]).collect();
        Pivot { ranked, to_pivot, order, sorted }
    }

    /// Whether the score of `p` exceeds the threshold.
    fn exceeds(&self, p: usize, threshold: f64) -> bool {
        // d/size > t, in integers: d > limit. A threshold above all distances needs no look.
        let limit = self.limit(threshold);
        let Some(limit) = limit else { return false };
        let n = self.sorted.len();
        let own = self.to_pivot[p];
        // The score is within the threshold if so many distances are: all up to the score's rank.
        let needed_within = rank(n) + 1;
        let needed_beyond = n - 1 - rank(n);
        // Certainly within: d(q,x) <= limit - own. Includes p itself if own <= limit - own.
        let within = if own <= limit { self.count_up_to(limit - own) } else { 0 };
        let certainly_within = within - usize::from(own <= limit && own <= limit - own);
        if certainly_within >= needed_within {
            return false;
        }
        // Certainly beyond: d(q,x) < own - limit, or d(q,x) > own + limit.
        let nearer = if own > limit { self.count_up_to(own - limit - 1) } else { 0 };
        let farther_from = self.count_up_to(own.saturating_add(limit));
        let certainly_beyond = nearer + (n - farther_from);
        if certainly_beyond >= needed_beyond {
            return true;
        }
        self.count_undecided(
            p,
            limit,
            within.max(nearer)..farther_from,
            needed_within - certainly_within,
            needed_beyond - certainly_beyond,
        )
    }

    /// Compares what the pivot left open, until one side has enough.
    fn count_undecided(
        &self,
        p: usize,
        limit: u32,
        open: std::ops::Range<usize>,
        mut needed_within: usize,
        mut needed_beyond: usize,
    ) -> bool {
        for &x in &self.order[open] {
            if x as usize == p {
                continue;
            }
            if self.ranked.distance(p, x as usize) > limit {
                needed_beyond -= 1;
                if needed_beyond == 0 {
                    return true;
                }
            } else {
                needed_within -= 1;
                if needed_within == 0 {
                    return false;
                }
            }
        }
        unreachable!("every component is on one side of the threshold")
    }

    fn count_up_to(&self, distance: u32) -> usize {
        self.sorted.partition_point(|&known| known <= distance)
    }

    /// The largest integer distance whose score does not exceed the threshold; none if all exceed or none can.
    fn limit(&self, threshold: f64) -> Option<u32> {
        let scaled = (threshold * self.ranked.size as f64).max(0.0);
        if scaled >= f64::from(u32::MAX / 4) || threshold.is_nan() {
            return None;
        }
        let mut limit = scaled as u32;
        // Rounding must not decide: the comparison is the one of the plain definition.
        while self.ranked.as_score(limit) > threshold && limit > 0 {
            limit -= 1;
        }
        while self.ranked.as_score(limit + 1) <= threshold {
            limit += 1;
        }
        Some(limit)
    }
}

/// The most central of a few components spread over the group.
fn central(ranked: &Ranked) -> usize {
    let n = ranked.components();
    let step = n.div_ceil(PIVOT_CANDIDATES);
    let candidates: Vec<usize> = (0..n).step_by(step).collect();
    let spread = |p: &usize| -> u32 {
        let mut distances: Vec<u32> = candidates.iter().map(|&q| ranked.distance(*p, q)).collect();
        let half = distances.len() / 2;
        *distances.select_nth_unstable(half).1
    };
    candidates.iter().copied().min_by_key(spread).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounding does not decide which distances are within a threshold.
    #[test]
    fn a_threshold_of_a_whole_distance_allows_just_that_distance() {
        for size in 1..100 {
            let window = Window::new((0..3 * size).map(|value| value as f64).collect(), size);
            let ranked = Ranked::new(&window).expect("nothing is missing");
            let pivot = Pivot::new(&ranked);
            for distance in 1..2 * size as u32 {
                let threshold = ranked.as_score(distance);
                assert_eq!(pivot.limit(threshold), Some(distance), "{distance} of {size}");
                assert_eq!(pivot.limit(threshold.next_down()), Some(distance - 1), "{distance} of {size}");
            }
            assert_eq!(
                (pivot.limit(-1.0), pivot.limit(0.0), pivot.limit(f64::NAN)),
                (Some(0), Some(0), None)
            );
        }
    }
}

//! How the largest slowness of healthy members falls off, learnt from blocks of time.
//!
//! Above their ninetieth percentile, maxima of blocks fall off about exponentially in the logarithm of the slowness, which is a
//! power law in the slowness itself. The scale of that fall is known from as many blocks as were seen; members of one block
//! share jobs and backups, so they count as one, and so do three blocks of one mix of jobs. What is not known widens the tail: after `n` blocks the predictive
//! distribution of an exponential is `P(excess > x) = (1 + x / (n s))^-n`. On the first day only the violent is beyond it.
//!
//! Maxima are counted by size, so that the state stays small however long the recording and however large the group. A member's
//! last ones are counted only when it is known that it is not slow for good.

use crate::stats::{Spread, median, thin_oldest};
use std::collections::{BTreeMap, VecDeque};

/// The share of maxima that are the tail.
const TAIL: f64 = 0.1;
/// Before any block is over, the scale of the tail is taken to be the spread of the windows, with the weight of so many excesses ...
const PRIOR_EXCESSES: f64 = 5.0;
/// ... known from so many blocks.
const PRIOR_BLOCKS: f64 = 10.0;
/// A mix of jobs lasts for hours: so many blocks teach as much as one of a time of its own.
const BLOCKS_OF_A_MIX: f64 = 3.0;
/// A member whose maxima are this many robust deviations above those of the others is slow for good, and does not teach chance ...
const SLOW_FOR_GOOD: f64 = 6.0;
/// ... if they are above this.
const MIN_SLOW_FOR_GOOD: f64 = 0.14;
/// Maxima of a member by which that is known, thinned.
const MOST_OWN: usize = 16;
/// The last maxima of a member, which are not counted yet.
const PENDING: usize = 4;
/// Maxima are counted in steps of this ...
const STEP: f64 = 0.005;
/// ... up to this many: e^10 times its peers.
const MOST_STEPS: f64 = 2000.0;

/// The tail of one group at one length of time.
#[derive(Debug, Default)]
pub struct Tail {
    members: Vec<Own>,
    /// Maxima, by steps.
    counts: BTreeMap<u16, u32>,
    blocks: u64,
    fitted: Option<Fitted>,
}

/// The maxima of one member.
#[derive(Debug, Default)]
struct Own {
    /// Of the whole time, thinned.
    thinned: VecDeque<f32>,
    /// The last ones, which are not counted yet.
    pending: VecDeque<u16>,
}

#[derive(Debug, Clone, Copy)]
struct Fitted {
    /// Where the tail begins, and its scale.
    from: f64,
    scale: f64,
    /// Blocks from which they are known.
    blocks: f64,
}

impl Tail {
    /// Takes the largest slowness of every member in a block, nothing of those that do not teach; and the spread of windows so far.
    pub fn push_block(&mut self, maxima: Vec<Option<f32>>, spread: f64) {
        // A block in which nobody did anything teaches nothing.
        self.blocks += u64::from(maxima.iter().any(Option::is_some));
        self.members.resize_with(maxima.len(), Own::default);
        for (own, largest) in self.members.iter_mut().zip(maxima) {
            let Some(largest) = largest else { continue };
            own.thinned.push_back(largest);
            if own.thinned.len() > MOST_OWN {
                thin_oldest(&mut own.thinned, MOST_OWN / 2);
            }
            own.pending.push_back((f64::from(largest) / STEP).clamp(0.0, MOST_STEPS) as u16);
        }
        let mut counts = self.counts.clone();
        let slow = self.slow_for_good();
        for (own, is_slow) in self.members.iter_mut().zip(slow) {
            if own.pending.len() > PENDING {
                let settled = own.pending.pop_front().filter(|_| !is_slow);
                settled.into_iter().for_each(|step| *self.counts.entry(step).or_default() += 1);
                settled.into_iter().for_each(|step| *counts.entry(step).or_default() += 1);
            }
            let pending = own.pending.iter().filter(|_| !is_slow);
            pending.for_each(|step| *counts.entry(*step).or_default() += 1);
        }
        self.fitted = Some(Fitted {
            blocks: self.blocks as f64 / BLOCKS_OF_A_MIX + PRIOR_BLOCKS,
            ..fit(&counts, spread)
        });
    }

    /// Which members are slow for good.
    fn slow_for_good(&self) -> Vec<bool> {
        let level =
            |own: &Own| median(&mut own.thinned.iter().map(|own| f64::from(*own)).collect::<Vec<f64>>());
        let levels: Vec<f64> = self.members.iter().map(level).collect();
        let spread = Spread::of(&levels);
        let bound = spread.middle + (SLOW_FOR_GOOD * spread.deviation).max(MIN_SLOW_FOR_GOOD);
        levels.into_iter().map(|level| level > bound).collect()
    }

    /// The slowness that a block of a healthy member exceeds with this probability.
    pub fn bar(&self, probability: f64) -> f64 {
        let Some(Fitted { from, scale, blocks }) = self.fitted else { return f64::INFINITY };
        from + scale * blocks * ((TAIL / probability).max(1.0).powf(1.0 / blocks) - 1.0)
    }

    /// The probability that a block of a healthy member exceeds a slowness.
    pub fn beyond(&self, slowness: f64) -> f64 {
        let Some(Fitted { from, scale, blocks }) = self.fitted else { return 1.0 };
        TAIL * (1.0 + (slowness - from).max(0.0) / (blocks * scale)).powf(-blocks)
    }
}

/// Where the tail of counted maxima begins, and its scale.
fn fit(counts: &BTreeMap<u16, u32>, spread: f64) -> Fitted {
    let all: u64 = counts.values().map(|count| u64::from(*count)).sum();
    let mut above = TAIL * all as f64;
    // From the largest down, until the tail is full.
    let (mut sum, mut excesses, mut from) = (0.0, 0.0, if all == 0 { spread } else { 0.0 });
    for (step, count) in counts.iter().rev() {
        let (value, count) = (STEP * f64::from(*step), f64::from(*count));
        from = value;
        if above < count {
            break;
        }
        (sum, excesses, above) = (sum + value * count, excesses + count, above - count);
    }
    let scale = (sum - excesses * from + PRIOR_EXCESSES * spread) / (excesses + PRIOR_EXCESSES);
    Fitted { from, scale, blocks: PRIOR_BLOCKS }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of members whose maxima are spread evenly over 100 steps, and one that is slow in all of them.
    fn taught(blocks: u64) -> Tail {
        let mut tail = Tail::default();
        for block in 0..blocks {
            let healthy = |member: u64| Some((((block * 37 + member * 11) % 100) as f32 + 0.5) * STEP as f32);
            let mut maxima: Vec<Option<f32>> = (0..10).map(healthy).collect();
            maxima.push(Some(2.0));
            tail.push_block(maxima, 0.05);
        }
        tail
    }

    #[test]
    fn the_tail_begins_at_the_ninetieth_percentile_and_what_is_slow_for_good_does_not_teach() {
        let tail = taught(50);
        let Fitted { from, scale, blocks } = tail.fitted.unwrap();
        assert!((from - 0.9 * 100.0 * STEP).abs() <= 2.0 * STEP, "{from}");
        // The mean of what is above is 5 steps.
        assert!(scale < 0.06 && scale > 5.0 * STEP * 0.8, "{scale}");
        assert_eq!(blocks, 50.0 / BLOCKS_OF_A_MIX + PRIOR_BLOCKS);
        let probability = 1e-6;
        let bar = tail.bar(probability);
        assert!((tail.beyond(bar) / probability - 1.0).abs() < 1e-9, "bar and probability agree");
        assert!(tail.bar(1e-3) < bar && bar < taught(5).bar(probability), "it narrows as more is learnt");
    }

    #[test]
    fn the_state_does_not_grow_with_the_recording() {
        let tail = taught(500);
        assert!(tail.counts.len() <= 101, "{}", tail.counts.len());
        assert!(tail.members.iter().all(|own| own.thinned.len() <= MOST_OWN && own.pending.len() <= PENDING));
        let counted: u32 = tail.counts.values().sum();
        assert_eq!(counted, 10 * (500 - PENDING as u32));
    }
}

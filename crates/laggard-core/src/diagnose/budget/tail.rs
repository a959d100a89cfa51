//! How the largest slowness of healthy members falls off, learnt from blocks of time.
//!
//! Above their ninetieth percentile, maxima of blocks fall off about exponentially in the logarithm of the slowness, which is a
//! power law in the slowness itself. The scale of that fall is known from as many blocks as were seen; members of one block
//! share jobs and backups, so they count as one, and so do three blocks of one mix of jobs. What is not known widens the tail: after `n` blocks the predictive
//! distribution of an exponential is `P(excess > x) = (1 + x / (n s))^-n`. On the first day only the violent is beyond it.

use crate::stats::{median, quantile};
use std::collections::BTreeMap;

/// Maxima that are remembered; beyond, every second of the older half is dropped.
const MOST_MAXIMA: usize = 2048;
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

/// The tail of one group at one length of time.
#[derive(Debug, Default)]
pub struct Tail {
    /// Maxima of blocks, by member, oldest first.
    maxima: Vec<(u32, f32)>,
    blocks: u64,
    fitted: Option<Fitted>,
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
        let known = maxima.into_iter().enumerate();
        self.maxima.extend(known.filter_map(|(member, largest)| Some((member as u32, largest?))));
        while self.maxima.len() > MOST_MAXIMA {
            let half = self.maxima.len() / 2;
            let mut place = 0;
            self.maxima.retain(|_| {
                place += 1;
                place > half || place % 2 == 0
            });
        }
        self.fitted = Some(self.fit(spread));
    }

    /// Members that are slow for good.
    fn slow_for_good(&self) -> Vec<u32> {
        let mut by_member: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for &(member, largest) in &self.maxima {
            by_member.entry(member).or_default().push(f64::from(largest));
        }
        let levels: Vec<(u32, f64)> =
            by_member.into_iter().map(|(member, mut maxima)| (member, median(&mut maxima))).collect();
        let spread = crate::stats::Spread::of(&levels.iter().map(|(_, level)| *level).collect::<Vec<f64>>());
        let bound = spread.middle + (SLOW_FOR_GOOD * spread.deviation).max(MIN_SLOW_FOR_GOOD);
        levels.into_iter().filter(|(_, level)| *level > bound).map(|(member, _)| member).collect()
    }

    fn fit(&self, spread: f64) -> Fitted {
        let slow = self.slow_for_good();
        let teaches = |(member, _): &&(u32, f32)| slow.binary_search(member).is_err();
        let mut maxima: Vec<f64> =
            self.maxima.iter().filter(teaches).map(|(_, largest)| f64::from(largest.max(0.0))).collect();
        let from = if maxima.is_empty() { spread } else { quantile(&mut maxima, 1.0 - TAIL) };
        let excesses = maxima.iter().filter(|largest| **largest > from).map(|largest| largest - from);
        let (sum, count) = excesses.fold((0.0, 0.0), |(sum, count), excess| (sum + excess, count + 1.0));
        let scale = (sum + PRIOR_EXCESSES * spread) / (count + PRIOR_EXCESSES);
        Fitted { from, scale, blocks: self.blocks as f64 / BLOCKS_OF_A_MIX + PRIOR_BLOCKS }
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

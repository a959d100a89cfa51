//! How the largest slowness of healthy members falls off, learnt from blocks of time.
//!
//! Above their ninetieth percentile, maxima of blocks fall off about exponentially in the logarithm of the slowness, which is a
//! power law in the slowness itself. The scale of that fall is known from as many blocks as were seen; members of one block
//! share jobs and backups, so they count as one, and so do three blocks of one mix of jobs. What is not known widens the tail: after `n` blocks the predictive
//! distribution of an exponential is `P(excess > x) = (1 + x / (n s))^-n`. On the first day only the violent is beyond it.
//!
//! Devices differ for good by some percent: of a member's maxima, what it always has beyond the others is taken away. The first block
//! teaches only until the second is over: what work costs is being learnt in it.
//!
//! Maxima are counted by size, so that the state stays small however long the recording and however large the group. A member's
//! last ones are counted only when it is known what it always has, and that it is not slow for good.

use crate::diagnose::ledger::MAX_USUAL;
use crate::grid::FEWEST_PEERS;
use crate::ids::MemberIndex;
use crate::stats::{Spread, median};
use std::collections::BTreeMap;

/// The share of maxima that are the tail, at most: where more than the rest are equal, those above them.
const TAIL: f64 = 0.1;
/// Nobody can say that a smaller share is in it.
const LEAST_SHARE: f64 = 0.001;
/// The scale of the tail is taken to be the spread of the members' levels, or of the maxima of a block, with the weight of so many excesses ...
const PRIOR_EXCESSES: f64 = 5.0;
/// Where fewer maxima than this are above zero, all of them are the tail, from zero on: half of so few would begin with the largest.
const FEW_EXCESSES: f64 = 10.0;
/// ... known from so many blocks.
const PRIOR_BLOCKS: f64 = 10.0;
/// A mix of jobs lasts for hours: so many blocks teach as much as one of a time of its own.
const BLOCKS_OF_A_MIX: f64 = 3.0;
/// A member whose maxima are this many robust deviations above those of the others is slow for good, and does not teach chance: if they are
/// above what healthy devices differ by.
const SLOW_FOR_GOOD: f64 = 6.0;
/// What a member always has is known after so many blocks.
const OWN_BLOCKS: usize = 3;
/// Members differ by at least this.
const MIN_SPREAD: f64 = 0.01;
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
    /// Whether a member that is always faster than the others is held against its own level: over times in which jobs come and go.
    is_of_days: bool,
    /// Maxima, by steps.
    counts: BTreeMap<u16, u32>,
    blocks: u64,
    /// Members that did anything in the first block, as long as it teaches.
    first: Option<usize>,
    /// Sum of how far apart the maxima of a block are, and the number of such blocks.
    spreads: (f64, f64),
    /// The middle of the members' own levels, and how far they are from it.
    levels: Option<Spread>,
    fitted: Option<Fitted>,
}

/// A few numbers, oldest first: there is one of these for each member and length, and a pointer would cost more than they do.
#[derive(Debug, Clone, Copy)]
struct Few<const N: usize> {
    values: [f32; N],
    count: u8,
}

impl<const N: usize> Default for Few<N> {
    fn default() -> Few<N> {
        Few { values: [0.0; N], count: 0 }
    }
}

impl<const N: usize> Few<N> {
    fn as_slice(&self) -> &[f32] {
        &self.values[..usize::from(self.count)]
    }

    /// Adds the newest. Returns the oldest if there is no room for both.
    fn push(&mut self, newest: f32) -> Option<f32> {
        let oldest = (usize::from(self.count) == N).then(|| self.remove(0));
        self.values[usize::from(self.count)] = newest;
        self.count += 1;
        oldest
    }

    fn remove(&mut self, place: usize) -> f32 {
        let removed = self.values[place];
        self.values.copy_within(place + 1.., place);
        self.count -= 1;
        removed
    }

    /// Drops every second of the older half.
    fn thin(&mut self) {
        for kept in 0..N / 4 {
            self.remove(kept);
        }
    }
}

/// The maxima of one member.
#[derive(Debug, Default)]
struct Own {
    /// Of the whole time, thinned.
    thinned: Few<MOST_OWN>,
    /// The last ones, which are not counted yet.
    pending: Few<PENDING>,
    /// What it always has.
    level: f32,
}

impl Own {
    /// Takes the largest slowness of a block. Returns one that is to be counted.
    fn push(&mut self, largest: f32) -> Option<f32> {
        if self.thinned.as_slice().len() == MOST_OWN {
            self.thinned.thin();
        }
        self.thinned.push(largest);
        let own = self.thinned.as_slice().iter().map(|own| f64::from(*own));
        self.level = median(&mut own.collect::<Vec<f64>>()) as f32;
        self.pending.push(largest)
    }

    /// What it always has, as far as healthy devices differ: negative where it is faster than the middle of the others.
    fn usual(&self, middle: f64) -> f64 {
        let level = f64::from(self.level);
        match self.thinned.as_slice().len() < OWN_BLOCKS {
            true => 0.0,
            false if level < 0.0 => (level - middle).clamp(-MAX_USUAL.value, 0.0),
            false => level.min(MAX_USUAL.value),
        }
    }

    /// Whether it is slow for good, and does not teach.
    fn is_slow(&self, levels: Spread) -> bool {
        let slow = levels.middle + (SLOW_FOR_GOOD * levels.deviation).max(MAX_USUAL.value);
        f64::from(self.level) > slow
    }

    /// The step of a maximum, without what it always has.
    fn step(&self, largest: f32, middle: f64) -> u16 {
        ((f64::from(largest) - self.usual(middle)) / STEP).clamp(0.0, MOST_STEPS) as u16
    }
}

#[derive(Debug, Clone, Copy)]
struct Fitted {
    /// Where the tail begins, the share of maxima in it, and its scale.
    from: f64,
    share: f64,
    scale: f64,
    /// Blocks, or excesses where they are fewer, from which they are known.
    blocks: f64,
}

impl Tail {
    /// A tail that has learnt nothing, of a length of time.
    pub fn new(is_of_days: bool) -> Tail {
        Tail { is_of_days, ..Tail::default() }
    }

    /// Takes the largest slowness of every member in a block; nothing of those that do not teach.
    pub fn push_block(&mut self, maxima: Vec<Option<f32>>) {
        let active: Vec<f64> =
            maxima.iter().flatten().map(|own| f64::from(*own)).filter(|own| *own != 0.0).collect();
        // A block in which nobody did anything teaches nothing.
        if active.is_empty() && (self.blocks == 0 || maxima.iter().all(Option::is_none)) {
            return;
        }
        match self.first {
            None if self.blocks == 0 => self.first = Some(active.len()),
            // A block in which few did anything knows less than the first.
            Some(first) if 2 * active.len() >= first => {
                self.members.clear();
                (self.first, self.spreads) = (None, (0.0, 0.0));
            }
            _ => {}
        }
        self.blocks += 1;
        if active.len() >= FEWEST_PEERS {
            self.spreads = (self.spreads.0 + Spread::of(&active).deviation, self.spreads.1 + 1.0);
        }
        self.members.resize_with(maxima.len(), Own::default);
        let settled: Vec<Option<f32>> =
            self.members.iter_mut().zip(maxima).map(|(own, largest)| own.push(largest?)).collect();
        let levels = self.learn_levels();
        let middle = self.middle_of(levels);
        for (own, settled) in self.members.iter().zip(settled).filter(|(own, _)| !own.is_slow(levels)) {
            if let Some(largest) = settled {
                *self.counts.entry(own.step(largest, middle)).or_default() += 1;
            }
        }
        self.refit(levels);
    }

    /// Takes what other members of the same sort showed in the same time, from their first block to their last.
    pub fn merge(&mut self, other: Tail) {
        other.counts.into_iter().for_each(|(step, count)| *self.counts.entry(step).or_default() += count);
        self.members.extend(other.members);
        self.blocks = self.blocks.max(other.blocks);
        self.first = self.first.and(other.first);
        self.spreads = (self.spreads.0 + other.spreads.0, self.spreads.1 + other.spreads.1);
        if self.blocks > 0 {
            let levels = self.learn_levels();
            self.refit(levels);
        }
    }

    /// How the members' own levels are spread now.
    fn learn_levels(&mut self) -> Spread {
        let levels = Spread::of(&self.known().map(|own| f64::from(own.level)).collect::<Vec<f64>>());
        self.levels = Some(levels).filter(|levels| levels.deviation.is_finite());
        levels
    }

    /// The tail anew, of what was counted and of the last maxima of healthy members.
    fn refit(&mut self, levels: Spread) {
        let mut counts = self.counts.clone();
        let middle = self.middle_of(levels);
        for own in self.members.iter().filter(|own| !own.is_slow(levels)) {
            for largest in own.pending.as_slice() {
                *counts.entry(own.step(*largest, middle)).or_default() += 1;
            }
        }
        let of_levels = self.levels.map_or(MIN_SPREAD, |levels| levels.deviation.max(MIN_SPREAD));
        let spread = of_levels.max(self.spreads.0 / self.spreads.1.max(1.0));
        let fitted = fit(&counts, spread);
        // No more is known than from so many excesses, however many blocks there were.
        let blocks = (self.blocks as f64 / BLOCKS_OF_A_MIX + PRIOR_BLOCKS).min(fitted.blocks);
        self.fitted = Some(Fitted { blocks, ..fitted });
    }

    /// Members of which anything is known.
    fn known(&self) -> impl Iterator<Item = &Own> {
        self.members.iter().filter(|own| own.thinned.count > 0)
    }

    /// The level below which a member is faster than the others: none is, over less than days.
    fn middle_of(&self, levels: Spread) -> f64 {
        if self.is_of_days { levels.middle } else { f64::NEG_INFINITY }
    }

    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        self.fitted.is_some()
    }

    /// Whether it is known from blocks after the first, which teaches no more.
    pub fn is_settled(&self) -> bool {
        self.is_known() && self.first.is_none()
    }

    /// How the members' own levels are spread, and how many members there are; nothing before the first block is over.
    pub fn levels(&self) -> Option<(Spread, usize)> {
        Some((self.levels?, self.known().count()))
    }

    /// What a member always has.
    pub fn usual(&self, member: MemberIndex) -> f64 {
        let middle = self.levels.map_or(0.0, |levels| self.middle_of(levels));
        self.members.get(member.index()).map_or(0.0, |own| own.usual(middle))
    }

    /// The slowness, beyond what it always has, of half of the maxima in the tail.
    pub fn middle(&self) -> f64 {
        self.fitted.map_or(0.0, |fitted| fitted.from + fitted.scale * std::f64::consts::LN_2)
    }

    /// The slowness, beyond what it always has, that a block of a healthy member exceeds with this probability.
    pub fn bar(&self, probability: f64) -> f64 {
        let Some(Fitted { from, share, scale, blocks }) = self.fitted else { return f64::INFINITY };
        from + scale * blocks * ((share / probability).max(1.0).powf(1.0 / blocks) - 1.0)
    }

    /// The probability that a block of a healthy member exceeds a slowness, beyond what it always has.
    pub fn beyond(&self, slowness: f64) -> f64 {
        let Some(Fitted { from, share, scale, blocks }) = self.fitted else { return 1.0 };
        share * (1.0 + (slowness - from).max(0.0) / (blocks * scale)).powf(-blocks)
    }
}

/// Where the tail of counted maxima begins, how many are in it, and its scale. Real faults that were not found are among them: the
/// median of the excesses tells the scale, not their mean, and those of the prior count like all others: where healthy members have next
/// to none, a few faults must not set the bar. Most maxima may be zero, since what does no harm is none: then the tail is the larger half
/// of the others.
fn fit(counts: &BTreeMap<u16, u32>, spread: f64) -> Fitted {
    let all: f64 = counts.values().map(|count| f64::from(*count)).sum();
    let zero = counts.get(&0).map_or(0.0, |count| f64::from(*count));
    let is_few = all - zero < FEW_EXCESSES;
    let mut room = if is_few { all - zero } else { (TAIL * all).min((all - zero) / 2.0) };
    let mut tail: Vec<(f64, f64)> = Vec::new();
    // From the largest down, until the tail is full.
    for (step, count) in counts.iter().rev().filter(|(step, _)| **step > 0) {
        let (value, count) = (STEP * f64::from(*step), f64::from(*count));
        if room < count {
            break;
        }
        room -= count;
        tail.push((value, count));
    }
    let excesses: f64 = tail.iter().map(|(_, count)| count).sum();
    // Where even the largest are many, they are where it begins.
    let largest = counts.last_key_value().map_or(0.0, |(step, _)| STEP * f64::from(*step));
    let from = if is_few { 0.0 } else { tail.last().map_or(largest, |(value, _)| *value) };
    // Quantiles of an exponential stand for the excesses of the prior.
    let prior = (0..PRIOR_EXCESSES as u32).map(|place| {
        let share = (f64::from(place) + 0.5) / PRIOR_EXCESSES;
        (-spread * (1.0 - share).ln(), 1.0)
    });
    let mut known: Vec<(f64, f64)> =
        tail.iter().map(|(value, count)| (value - from, *count)).chain(prior).collect();
    known.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left = (excesses + PRIOR_EXCESSES) / 2.0;
    let middle = known.iter().find(|(_, count)| {
        left -= count;
        left < 0.0
    });
    let scale = middle.map_or(spread, |(excess, _)| excess / std::f64::consts::LN_2);
    Fitted {
        from,
        // Of few maxima the largest does not show how rare it is.
        share: (excesses / all.max(1.0)).max(1.0 / (all + 1.0)).max(LEAST_SHARE),
        // Steps are no finer than this.
        scale: scale.max(STEP),
        blocks: excesses + PRIOR_EXCESSES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of members whose maxima are spread evenly over 100 steps, 20 of them above zero, and one that is slow in all of them.
    fn taught(blocks: u64) -> Tail {
        let mut tail = Tail::default();
        for block in 0..blocks {
            let steps = |member: u64| (((block * 37 + member * 11) % 100) as f32 - 79.5).max(0.0);
            let healthy = |member: u64| Some(steps(member) * STEP as f32);
            let mut maxima: Vec<Option<f32>> = (0..10).map(healthy).collect();
            maxima.push(Some(2.0));
            tail.push_block(maxima);
        }
        tail
    }

    #[test]
    fn the_tail_begins_at_the_ninetieth_percentile_and_what_is_slow_for_good_does_not_teach() {
        let tail = taught(50);
        let Fitted { from, share, scale, blocks } = tail.fitted.unwrap();
        assert!((share - TAIL).abs() < 0.02, "{share}");
        assert!((from - 10.0 * STEP).abs() <= 2.0 * STEP, "{from}");
        // The median of what is above is 5 steps.
        assert!(scale < 0.06 && scale > 5.0 * STEP * 0.8, "{scale}");
        assert_eq!(blocks, 50.0 / BLOCKS_OF_A_MIX + PRIOR_BLOCKS);
        let probability = 1e-6;
        let bar = tail.bar(probability);
        assert!((tail.beyond(bar) / probability - 1.0).abs() < 1e-9, "bar and probability agree");
        assert!(tail.bar(1e-3) < bar && bar < taught(5).bar(probability), "it narrows as more is learnt");
    }

    #[test]
    fn where_most_maxima_are_zero_the_tail_is_the_larger_half_of_the_others() {
        let counts = BTreeMap::from([(0, 960), (1, 20), (21, 4), (22, 4), (23, 4), (24, 4), (25, 4)]);
        let Fitted { from, share, .. } = fit(&counts, MIN_SPREAD);
        assert_eq!((from, share), (21.0 * STEP, 0.02));
        let Fitted { from, share, scale, .. } = fit(&BTreeMap::from([(0, 5000)]), MIN_SPREAD);
        assert_eq!((from, share, scale), (0.0, LEAST_SHARE, MIN_SPREAD), "nothing was ever slow");
    }

    #[test]
    fn where_healthy_members_are_never_slow_a_few_faults_do_not_set_the_bar() {
        let bar = |faults: u32| {
            let fitted = fit(&BTreeMap::from([(0, 5000), (220, faults)]), MIN_SPREAD);
            assert_eq!(fitted.from, 0.0);
            Tail { fitted: Some(fitted), ..Tail::default() }.bar(1e-7)
        };
        assert!((1..4).all(|faults| bar(faults) < 0.5), "{:?}", (1..4).map(bar).collect::<Vec<_>>());
        assert!(bar(0) < bar(3) && bar(9) > 2.0, "many are no few");
    }

    #[test]
    fn a_real_fault_that_was_not_found_hardly_widens_the_tail() {
        let mut counts: BTreeMap<u16, u32> = (0..100).map(|step| (step, 1)).collect();
        let clean = fit(&counts, MIN_SPREAD).scale;
        counts.insert(400, 1);
        assert!(fit(&counts, MIN_SPREAD).scale < 1.2 * clean, "{}", fit(&counts, MIN_SPREAD).scale);
    }

    #[test]
    fn what_a_member_always_has_is_not_chance_and_no_fault_from_the_start_is_all_of_it() {
        let mut tail = Tail::default();
        for block in 0..20_u64 {
            let noise = |member: u64| ((block * 7 + member * 3) % 10) as f32 * 0.01;
            let maxima = (0..10).map(|member| {
                noise(member) + [0.0, 0.1, 0.5][member.min(2) as usize] * f32::from(member < 3)
            });
            tail.push_block(maxima.map(Some).collect());
        }
        let usual = |member: usize| tail.usual(MemberIndex::new(member));
        assert!(usual(1) > 0.1 && usual(1) <= MAX_USUAL.value, "{}", usual(1));
        let mut faster = Own::default();
        (0..4).for_each(|_| assert_eq!(faster.push(-0.1), None));
        assert!((faster.usual(-0.03) + 0.07).abs() < 1e-6, "it is faster than the others' middle");
        assert_eq!([faster.usual(-0.2), faster.usual(0.5)], [0.0, -MAX_USUAL.value]);
        assert_eq!(faster.usual(Tail::new(false).middle_of(Spread { middle: 0.5, deviation: 0.1 })), 0.0);
        assert_eq!(usual(2), MAX_USUAL.value, "0.5 is no difference of healthy members");
        assert!(tail.bar(1e-6) < 0.5, "{}", tail.bar(1e-6));
    }

    #[test]
    fn a_block_in_which_few_do_anything_does_not_end_the_first() {
        let mut tail = Tail::default();
        let mut bar_after = |largest: [f32; 4]| {
            tail.push_block(largest.map(Some).to_vec());
            tail.bar(1e-6)
        };
        let wide = bar_after([0.1, 0.2, 0.3, 0.6]);
        assert!(bar_after([0.0, 0.0, 0.0, 0.01]) > wide / 4.0, "one disk that works");
        assert!(bar_after([0.0; 4]) > wide / 4.0, "nobody works");
        let mut idle = Tail::default();
        idle.push_block(vec![None; 4]);
        idle.push_block(vec![Some(0.0); 4]);
        assert!(!idle.is_known() && idle.bar(1e-6).is_infinite(), "nothing is known of what never worked");
    }

    #[test]
    fn every_second_of_the_older_half_is_dropped_where_there_is_no_room() {
        let mut few: Few<8> = Few::default();
        assert!((0..8).all(|number| few.push(number as f32).is_none()));
        assert_eq!(few.push(8.0), Some(0.0), "the oldest");
        few.thin();
        assert_eq!(few.as_slice(), [2.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    }

    #[test]
    fn what_a_member_always_has_is_known_after_three_blocks_and_from_sixteen_at_most() {
        let mut own = Own::default();
        let mut usual_after = |largest: f32| {
            own.push(largest);
            (own.usual(0.0), own.thinned.as_slice().len())
        };
        let first: Vec<(f64, usize)> = (0..3).map(|_| usual_after(0.0625)).collect();
        assert_eq!(first, [(0.0, 1), (0.0, 2), (0.0625, 3)]);
        let lengths: Vec<usize> = (3..18).map(|_| usual_after(0.0625).1).collect();
        assert!(
            lengths.contains(&MOST_OWN) && lengths.iter().all(|length| *length <= MOST_OWN),
            "{lengths:?}"
        );
    }

    #[test]
    fn few_members_do_not_show_how_rare_their_largest_is() {
        let bar = |members: usize| {
            let mut tail = Tail::default();
            for block in 0..4 {
                let largest = |member: usize| Some(((member * 7 + block * 3) % 5) as f32 * 0.1 + 0.05);
                tail.push_block((0..members).map(largest).collect());
            }
            tail.bar(1e-6)
        };
        assert!((3..9).all(|members| bar(members) > 1.0), "{:?}", (3..9).map(bar).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_block_teaches_until_the_second_is_over() {
        let mut tail = Tail::default();
        let mut bar_after = |largest: [f32; 4]| {
            tail.push_block(largest.map(Some).to_vec());
            tail.bar(1e-6)
        };
        let wide = bar_after([0.0, 0.1, 0.2, 0.6]);
        let narrow = bar_after([0.0, 0.01, 0.0, 0.02]);
        assert!(narrow < wide / 2.0, "{wide} {narrow}");
    }

    #[test]
    fn what_was_learnt_of_members_apart_is_merged() {
        let largest = |block: u64, member: u64| {
            let step = ((block * 37 + member * 11) % 100) as f32 - 79.5;
            Some(step.max(0.0) * STEP as f32)
        };
        let learnt = |members: std::ops::Range<u64>| {
            let mut tail = Tail::default();
            (0..40)
                .for_each(|block| tail.push_block(members.clone().map(|own| largest(block, own)).collect()));
            tail
        };
        let (together, mut apart) = (learnt(0..20), learnt(0..10));
        apart.merge(learnt(10..20));
        assert_eq!(apart.counts, together.counts);
        let [apart, together] = [apart.bar(1e-6), together.bar(1e-6)];
        assert!((apart / together - 1.0).abs() < 0.1, "{apart} {together}");
        let mut nothing = Tail::default();
        nothing.merge(Tail::default());
        assert!(!nothing.is_known());
    }

    #[test]
    fn the_state_does_not_grow_with_the_recording() {
        let tail = taught(500);
        assert!(tail.counts.len() <= 101, "{}", tail.counts.len());
        assert!(size_of::<Own>() <= 96, "{}", size_of::<Own>());
        let counted: u32 = tail.counts.values().sum();
        // All but the first and the last ones.
        assert_eq!(counted, 10 * (499 - PENDING as u32));
    }
}

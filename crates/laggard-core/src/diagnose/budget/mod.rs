//! How rare a slowness is: the bar that follows from the false alarms that a site accepts.
//!
//! Healthy parts have excursions, too. What must be rare is the largest of them, over all parts, lengths of time and a month.
//! Samples are autocorrelated and heavy-tailed, so that nothing which treats windows as independent keeps its promise; maxima
//! over blocks of an hour and more are nearly exchangeable. [`lengths`] keeps the largest slowness of each member in a block, at
//! several lengths of time; [`tail`] learns from all members' maxima how they fall off, and says beyond which bar one is rarer
//! than the budget. The rule `rare` holds a slowness against that bar. docs/methods.md, "A budget of false alarms", has the argument and its assumptions.

pub mod elasticity;
pub mod lengths;
pub mod power;
pub mod tail;

use super::bound::Bound;
use super::rules::window::{FOR_GOOD_AFTER, least_slowness, margin, slow_for_good};
use crate::grid::FEWEST_PEERS;
use crate::ids::MemberIndex;
pub use lengths::Slowness;
use lengths::{LENGTHS, Lengths, NOTHING_REACHED, QUARTERS, Reached};
use tail::Tail;

/// False alarms that a site accepts, in a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate(pub f64);

/// Seconds of a month, as a twelfth of a year.
const MONTH_S: f64 = 30.44 * 86_400.0;
/// The shortest block: excursions of an hour have little to do with those of the next. After it, it is known how rare a slowness is.
pub const KNOWN_AFTER: Bound = Bound::new("known_after", 3600.0, "s");

/// Fewer members do not show how slow healthy ones are: fixed bars decide.
pub const MIN_MEMBERS: Bound = Bound::new("min_members", 5.0, "members");

impl Default for Rate {
    fn default() -> Rate {
        Rate(1.0 / MONTH_S)
    }
}

impl Rate {
    /// From `1/month`: a number, and `day`, `week`, `month` or `year`.
    pub fn parse(text: &str) -> Option<Rate> {
        let (count, unit) = text.split_once('/')?;
        let seconds = match unit.trim() {
            "day" => 86_400.0,
            "week" => 7.0 * 86_400.0,
            "month" => MONTH_S,
            "year" => 12.0 * MONTH_S,
            _ => return None,
        };
        let count: f64 = count.trim().parse().ok()?;
        (count.is_finite() && count > 0.0).then_some(Rate(count / seconds))
    }
}

/// How slow a member was, at the length of time at which that is rarest. Slownesses are logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rarity {
    /// Seconds of that length.
    pub seconds: f64,
    /// How slow it was, for three quarters of that time ...
    pub slowness: f64,
    /// ... in the last quarter of it ...
    pub newest: f64,
    /// ... and in about the last tenth.
    pub recent: f64,
    /// Beyond this it is rarer than the budget.
    pub bar: f64,
    /// So many false alarms like it, or more extreme ones, are expected in a second at the site; NaN where that is not known.
    pub rate: f64,
}

/// Which slowness is believed at one length of time: a logarithm.
#[derive(Debug, Clone, Copy)]
struct Bars {
    /// Beyond what a member always has, chance shows no more.
    by_chance: f64,
    /// It is slow for good.
    for_good: f64,
    /// Less is not believed, whatever is known.
    least: f64,
}

impl Bars {
    const UNKNOWN: Bars = Bars { by_chance: f64::INFINITY, for_good: f64::INFINITY, least: 0.0 };

    /// Of a member that always has so much. Of one that is faster, less is believed than of others.
    fn of(&self, usual: f64) -> f64 {
        (self.by_chance + usual).min(self.for_good).max(self.least + usual.min(0.0))
    }
}

/// Excursions that came so often ...
const MIN_COMMON: f64 = 5.0;
/// ... to each member in the mean, in a day, are no faults: they teach what chance is.
const COMMON_PER_DAY: f64 = 0.1;

/// How often members were slow beyond chance.
#[derive(Debug, Default)]
struct Excursions {
    /// The last window in which each member was, counted from 1; 0 is never.
    last: Vec<u64>,
    /// How many began, of all members ...
    begun: u64,
    /// ... and of how many members.
    members: usize,
}

impl Excursions {
    /// A member is beyond chance in a window, counted from 1. What was not seen for a block is another.
    fn note(&mut self, member: MemberIndex, window: u64, block: u64) {
        let last = &mut self.last[member.index()];
        self.members += usize::from(*last == 0);
        self.begun += u64::from(*last == 0 || window > *last + block);
        *last = window;
    }

    /// Whether they come to so many members so often that they are no faults, in so many days.
    fn are_common(&self, days: f64) -> bool {
        let begun = self.begun as f64;
        let a_day = begun / (days * self.last.len() as f64);
        self.members >= FEWEST_PEERS && begun >= MIN_COMMON && a_day > COMMON_PER_DAY
    }
}

/// One peer group: what is remembered of its members, and how their slowness falls off.
#[derive(Debug)]
pub struct Calibration {
    shift_s: f64,
    members: Vec<Lengths>,
    /// The largest slowness of each member in the time in which nothing was known of chance.
    early: Vec<Reached>,
    excursions: Excursions,
    tails: [Tail; LENGTHS],
    /// The bars of each length, of the last refit ...
    bars: [Bars; LENGTHS],
    /// ... and how often chance may exceed it in a block of one member ...
    probabilities: [f64; LENGTHS],
    /// ... given the budget of then.
    rate: Rate,
    windows: u64,
}

/// Seconds of a length. Pieces are half as long as what is new in a window.
fn seconds(length: usize, shift_s: f64) -> f64 {
    4.0 * f64::from(QUARTERS[length]).max(0.5) * shift_s
}

impl Calibration {
    /// For so many members, with so many seconds from one window to the next.
    pub fn new(shift_s: f64, members: usize) -> Calibration {
        Calibration {
            shift_s,
            members: vec![Lengths::default(); members],
            early: vec![NOTHING_REACHED; members],
            excursions: Excursions { last: vec![0; members], ..Excursions::default() },
            tails: std::array::from_fn(|length| Tail::new(seconds(length, shift_s) >= FOR_GOOD_AFTER.value)),
            bars: [Bars::UNKNOWN; LENGTHS],
            probabilities: [1.0; LENGTHS],
            rate: Rate::default(),
            windows: 0,
        }
    }

    /// A member was repaired: what it showed is history.
    pub fn forget(&mut self, member: MemberIndex) {
        self.members[member.index()] = Lengths::default();
        self.early[member.index()] = NOTHING_REACHED;
    }

    /// Windows of a block.
    fn block(&self, length: usize) -> u64 {
        let shortest = (KNOWN_AFTER.value / self.shift_s).ceil() as u64;
        shortest.max(4 * u64::from(QUARTERS[length]))
    }

    fn seconds(&self, length: usize) -> f64 {
        seconds(length, self.shift_s)
    }

    /// Whether the first block is over: before that nothing is known of chance.
    pub fn is_known(&self) -> bool {
        self.tails.iter().any(Tail::is_known)
    }

    /// Takes the slowness of every member in a window. `parts` are all that the site compares.
    pub fn push(&mut self, slowness: &[Slowness], rate: Rate, parts: usize) {
        // A block ends when it is known which of its windows were rare: with the next one.
        for length in 0..LENGTHS {
            if self.windows > 0 && self.windows.is_multiple_of(self.block(length)) {
                self.end_block(length, rate, parts);
            }
        }
        self.windows += 1;
        let is_early = self.windows <= self.block(0);
        for ((member, reached), &slowness) in self.members.iter_mut().zip(&mut self.early).zip(slowness) {
            member.push(slowness);
            if is_early {
                member.reach(reached);
            }
        }
    }

    fn end_block(&mut self, length: usize, rate: Rate, parts: usize) {
        if (self.members.len() as f64) < MIN_MEMBERS.value {
            return;
        }
        let tail = &self.tails[length];
        let days = self.windows as f64 * self.shift_s / 86_400.0;
        let is_common = self.excursions.are_common(days);
        let largest = |(member, known): (usize, &mut Lengths)| match is_common {
            true => known.end_block_of_chance(length),
            false => known.end_block(length, tail.middle() + tail.usual(MemberIndex::new(member))),
        };
        let maxima = self.members.iter_mut().enumerate().map(largest).collect();
        self.tails[length].push_block(maxima);
        let blocks_per_s = parts as f64 * LENGTHS as f64 / (self.block(length) as f64 * self.shift_s);
        (self.rate, self.probabilities[length]) = (rate, rate.0 / blocks_per_s);
        self.bars[length] = Bars {
            by_chance: self.tails[length].bar(self.probabilities[length]),
            for_good: slow_for_good(self.tails[length].levels(), self.seconds(length)),
            least: least_slowness(self.seconds(length), QUARTERS[length] == 0, rate),
        };
    }

    /// How rare the slowness of a member is now, at the length at which it is rarest; nothing before the first block is over.
    pub fn rarity(&self, member: MemberIndex) -> Option<Rarity> {
        self.rarity_of(&self.members[member.index()], member)
    }

    /// The same, if the member had been as slow as this.
    fn rarity_of(&self, known: &Lengths, member: MemberIndex) -> Option<Rarity> {
        let at = |length: usize| Rarity {
            slowness: f64::from(known.now(length)),
            newest: f64::from(known.newest(length)),
            recent: f64::from(known.recent(length)),
            bar: self.bars[length].of(self.tails[length].usual(member)),
            ..self.nothing(length)
        };
        let rarest = (0..LENGTHS)
            .filter(|length| self.bars[*length].by_chance.is_finite() && known.now(*length).is_finite())
            .max_by(|a, b| margin(&at(*a)).total_cmp(&margin(&at(*b))))?;
        Some(self.with_rate(at(rarest), rarest, member))
    }

    /// So many like it are expected by chance.
    fn with_rate(&self, seen: Rarity, length: usize, member: MemberIndex) -> Rarity {
        let tail = &self.tails[length];
        let often = tail.beyond(seen.slowness - tail.usual(member)) / self.probabilities[length];
        // Beyond the least that is believed, it is rarer still. What is slow for good is so by its distance from all others, not by how
        // rare it is in time: of that nothing is known.
        let is_by_chance = seen.slowness >= self.bars[length].by_chance + tail.usual(member);
        let rate = match (seen.slowness >= seen.bar, is_by_chance) {
            (true, true) => self.rate.0 * often.min(1.0),
            (true, false) => f64::NAN,
            (false, _) => self.rate.0 * often,
        };
        Rarity { rate, ..seen }
    }

    /// How rare it is, by what is known now, what a member showed when nothing was known of chance; nothing where it is not beyond its bar.
    pub fn rarity_of_early(&self, member: MemberIndex) -> Option<Rarity> {
        self.rarity_of_reached(&self.early[member.index()], member)
    }

    /// How rare a slowness is that was reached at several lengths; nothing where it is beyond no bar.
    fn rarity_of_reached(&self, reached: &Reached, member: MemberIndex) -> Option<Rarity> {
        let at = |length: usize| {
            let slowness = f64::from(reached[length]);
            let bar = self.bars[length].of(self.tails[length].usual(member));
            let seen = Rarity { slowness, newest: slowness, recent: slowness, bar, ..self.nothing(length) };
            self.with_rate(seen, length, member)
        };
        // What was slow in the first block must not have set its own bar.
        let is_known = |length: &usize| self.tails[*length].is_settled() && reached[*length].is_finite();
        let beyond = (0..LENGTHS).filter(is_known).map(at).filter(|seen| margin(seen) >= 0.0);
        beyond.max_by(|a, b| margin(a).total_cmp(&margin(b)))
    }

    fn nothing(&self, length: usize) -> Rarity {
        let nothing = f64::NEG_INFINITY;
        let seconds = self.seconds(length);
        Rarity {
            seconds,
            slowness: nothing,
            newest: nothing,
            recent: nothing,
            bar: f64::INFINITY,
            rate: f64::NAN,
        }
    }

    /// A member was found to be slow beyond chance: what it shows now teaches little of chance, unless that comes to all of them.
    pub fn note_rare(&mut self, member: MemberIndex) {
        self.members[member.index()].note_rare();
        self.excursions.note(member, self.windows, self.block(0));
    }
}

#[cfg(test)]
mod tests;

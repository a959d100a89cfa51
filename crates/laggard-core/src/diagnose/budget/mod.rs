//! How rare a slowness is: the bar that follows from the false alarms that a site accepts.
//!
//! Healthy parts have excursions, too. What must be rare is the largest of them, over all parts, lengths of time and a month.
//! Samples are autocorrelated and heavy-tailed, so that nothing which treats windows as independent keeps its promise; maxima
//! over blocks of an hour and more are nearly exchangeable. [`lengths`] keeps the largest slowness of each member in a block, at
//! several lengths of time; [`tail`] learns from all members' maxima how they fall off, and says beyond which bar one is rarer
//! than the budget. docs/methods.md, "A budget of false alarms", has the argument and its assumptions.

pub mod lengths;
pub mod tail;

use crate::ids::MemberIndex;
use crate::stats::Spread;
use lengths::{LENGTHS, Lengths, QUARTERS};
use tail::Tail;

/// False alarms that a site accepts, in a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate(pub f64);

/// Seconds of a month, as a twelfth of a year.
const MONTH_S: f64 = 30.44 * 86_400.0;
/// Seconds of the shortest block: excursions of an hour have little to do with those of the next.
const BLOCK_S: f64 = 3600.0;

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

/// A slowness that is rarer than the budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alarm {
    /// Seconds of the length at which it shows.
    pub seconds: f64,
    /// How slow it was, for three quarters of that time: a logarithm.
    pub slowness: f64,
    /// What was needed.
    pub bar: f64,
    /// So many false alarms like it, or more extreme ones, are expected in a second at the site.
    pub rate: f64,
}

/// One peer group: what is remembered of its members, and how their slowness falls off.
#[derive(Debug)]
pub struct Calibration {
    shift_s: f64,
    members: Vec<Lengths>,
    tails: [Tail; LENGTHS],
    /// The bar of each length, of the last refit.
    bars: [f64; LENGTHS],
    windows: u64,
    /// Sum of the windows' spreads over the members.
    spreads: f64,
}

impl Calibration {
    /// For so many members, with so many seconds from one window to the next.
    pub fn new(shift_s: f64, members: usize) -> Calibration {
        Calibration {
            shift_s,
            members: vec![Lengths::default(); members],
            tails: std::array::from_fn(|_| Tail::default()),
            bars: [f64::INFINITY; LENGTHS],
            windows: 0,
            spreads: 0.0,
        }
    }

    /// A member was repaired: what it showed is history.
    pub fn forget(&mut self, member: MemberIndex) {
        self.members[member.index()] = Lengths::default();
    }

    /// Windows of a block.
    fn block(&self, length: usize) -> u64 {
        let shortest = (BLOCK_S / self.shift_s).ceil() as u64;
        shortest.max(4 * u64::from(QUARTERS[length]))
    }

    /// Seconds of a length.
    fn seconds(&self, length: usize) -> f64 {
        4.0 * f64::from(QUARTERS[length]) * self.shift_s
    }

    /// Whether the first block is over: before that nothing is known of chance.
    pub fn is_known(&self) -> bool {
        self.windows >= self.block(0)
    }

    /// Takes the slowness of every member in a window; NaN where nothing is known. Returns for each member what is rarer than the budget
    /// now. `parts` are all that the site compares.
    pub fn push(&mut self, slowness: &[f64], rate: Rate, parts: usize) -> Vec<Option<Alarm>> {
        self.windows += 1;
        let deviation = Spread::of(slowness).deviation;
        self.spreads += if deviation.is_finite() { deviation } else { 0.0 };
        for (member, &slowness) in self.members.iter_mut().zip(slowness) {
            member.push(slowness);
        }
        for length in 0..LENGTHS {
            if self.windows.is_multiple_of(self.block(length)) {
                self.end_block(length, rate, parts);
            }
        }
        (0..self.members.len()).map(|member| self.alarm(member, rate, parts)).collect()
    }

    /// Expected false alarms in a second at the site, of one length and level.
    fn rate_of(&self, length: usize, slowness: f64, parts: usize) -> f64 {
        let blocks_per_s = parts as f64 * LENGTHS as f64 / (self.block(length) as f64 * self.shift_s);
        self.tails[length].beyond(slowness) * blocks_per_s
    }

    fn end_block(&mut self, length: usize, rate: Rate, parts: usize) {
        let maxima = self.members.iter_mut().map(|member| member.end_block(length));
        let spread = (self.spreads / self.windows as f64).max(MIN_SPREAD);
        self.tails[length].push_block(maxima.collect(), spread);
        let blocks_per_s = parts as f64 * LENGTHS as f64 / (self.block(length) as f64 * self.shift_s);
        let floor = (1.0 + (FLOOR_S / self.seconds(length)).sqrt().max(MIN_EXCESS)).ln();
        self.bars[length] = self.tails[length].bar(rate.0 / blocks_per_s).max(floor);
    }

    fn alarm(&mut self, member: usize, rate: Rate, parts: usize) -> Option<Alarm> {
        let alarm = |length: usize| {
            let (known, bar) = (&self.members[member], self.bars[length]);
            let slowness = f64::from(known.now(length));
            // It goes on: the last quarter shows it, and the last windows do not contradict.
            let is_now =
                f64::from(known.newest(length)) >= bar && f64::from(known.now(0)) >= STILL_SLOW * bar;
            (bar.is_finite() && slowness >= bar && is_now).then(|| Alarm {
                seconds: self.seconds(length),
                slowness,
                bar: self.bars[length],
                rate: self.rate_of(length, slowness, parts).min(rate.0),
            })
        };
        let found = (0..LENGTHS).filter_map(alarm).min_by(|a, b| a.rate.total_cmp(&b.rate))?;
        self.members[member].note_alarm();
        Some(found)
    }
}

/// Share of the bar that the last windows show where a slowness goes on.
const STILL_SLOW: f64 = 0.5;
/// Windows of healthy members differ by at least this.
const MIN_SPREAD: f64 = 0.01;
/// A slowness by this factor is seen in samples of any length only if it lasts for long: the excess over the peers that is believed falls
/// with the root of the time ...
const FLOOR_S: f64 = 120.0;
/// ... to no less than this.
const MIN_EXCESS: f64 = 0.1;

#[cfg(test)]
mod tests;

//! What a diagnosis could have seen: slowness is put into the recording as it comes, and it is noted whether it would have been named.
//!
//! A probe is a member that works, made slower by a factor for a time: its windows as they were recorded, the slowness added, judged
//! by measurement, filter, budget and rules of an episode as all parts are. Other rules of a window are not asked. Probes change nothing: no bar, no verdict. When one is over, another member is the next.

use super::Calibration;
use super::lengths::{Lengths, NOTHING_REACHED, Reached, Slowness};
use crate::diagnose::bound::Bound;
use crate::diagnose::persistence::Filter;
use crate::diagnose::rules::Without;
use crate::diagnose::rules::episode::Impact;
use crate::diagnose::rules::window::margin;
use crate::ids::MemberIndex;

/// Something is said of a slowness that was tried so often ...
pub const MIN_TRIED: Bound = Bound::new("min_tried", 5.0, "times");
/// ... and it would have been named if so many were.
pub const MIN_FOUND: Bound = Bound::new("min_found", 0.8, "of them");

/// Times slower. Less is taken for what a member always has, and nothing is claimed of it.
const FACTORS: [f64; 5] = [1.5, 2.0, 3.0, 5.0, 10.0];
/// For so many windows' time.
const WINDOWS: [u32; 5] = [3, 12, 40, 160, 640];
/// Probes of one factor and time at once: enough to claim something when each has been tried once.
const LANES: usize = 5;
/// A probe is not put where a member is this slow already: a logarithm.
const MAX_SLOWNESS: f64 = 0.14;

/// Tries of the time in which nothing was known of chance, of one factor and time.
const MOST_EARLY: usize = 64;

/// One factor and time: what came of the probes.
#[derive(Debug, Clone, Default)]
struct Cell {
    /// Those that began when it was known how rare a slowness is ...
    later: Counted,
    /// ... and the others. What is known afterwards is held against them, too.
    early: Vec<Early>,
}

/// Probes of one time.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    tried: u32,
    found: u32,
}

impl Counted {
    fn take(&mut self, is_found: bool) {
        self.tried += 1;
        self.found += u32::from(is_found);
    }

    /// Whether enough were found to claim something: one more that was not found is counted.
    fn claims(self) -> bool {
        f64::from(self.tried) >= MIN_TRIED.value
            && f64::from(self.found) >= MIN_FOUND.value * f64::from(self.tried + 1)
    }

    /// Whether enough were found to say that it is seen at all: only those that were tried are counted.
    fn is_seen(self) -> bool {
        f64::from(self.tried) >= MIN_TRIED.value
            && f64::from(self.found) >= MIN_FOUND.value * f64::from(self.tried)
    }
}

/// A probe of the time in which nothing was known of chance.
#[derive(Debug, Clone)]
struct Early {
    member: MemberIndex,
    /// Persistence times severity: the longer the recording, the more it must be.
    impact: f32,
    /// What it reached at each length of time.
    reached: Reached,
    is_rare: bool,
}

impl Cell {
    fn take(&mut self, probe: &Probe) {
        match probe.is_calibrated {
            true => self.later.take(probe.is_rare),
            false if self.early.len() < MOST_EARLY => self.early.push(Early {
                member: probe.member,
                impact: probe.impact(),
                reached: probe.reached,
                is_rare: probe.is_rare,
            }),
            false => {}
        }
    }

    /// What was tried and would be reported of what began early.
    fn early(&self, judged: &Judged) -> Counted {
        let mut counted = Counted::default();
        self.early.iter().for_each(|early| counted.take(judged.names(early)));
        counted
    }

    /// Whether a part that slow for that time would have been named, whenever it began.
    fn claims(&self, judged: &Judged) -> bool {
        let early = self.early(judged);
        let is_early_seen = early.claims() || f64::from(early.tried) < MIN_TRIED.value;
        if judged.knows_chance() { self.later.claims() && is_early_seen } else { early.claims() }
    }

    /// Whether most of what was tried at any time is named.
    fn is_seen(&self, judged: &Judged) -> bool {
        self.later.is_seen() || self.early(judged).is_seen()
    }
}

/// One member that is made slower.
#[derive(Debug, Clone)]
struct Probe {
    member: MemberIndex,
    lengths: Lengths,
    filter: Filter,
    passed: u32,
    /// As of a [trouble](crate::diagnose::persistence): its accumulator, the largest of it, windows that differed, and how much.
    accumulator: u32,
    peak: u32,
    anomalous: u32,
    log_severity: f64,
    /// The same of troubles that are over, together.
    largest: f32,
    reached: Reached,
    /// It was known how rare a slowness is when it began.
    is_calibrated: bool,
    is_rare: bool,
}

/// The least that would have been named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visible {
    /// Times as slow as its peers ...
    pub ratio: f64,
    /// ... for so many seconds.
    pub seconds: f64,
}

/// The probes of one group.
#[derive(Debug, Default)]
pub struct Power {
    cells: [[Cell; FACTORS.len()]; WINDOWS.len()],
    probes: Vec<Option<Box<Probe>>>,
    /// How many members were chosen: the next is another one.
    chosen: usize,
}

/// What a probe is judged by.
pub struct Judges<'a> {
    /// How rare a slowness is.
    pub calibration: &'a Calibration,
    /// Windows that differ, of those that the filter remembers.
    pub k: usize,
    /// Windows of a window's length: so many pass until one is slow from end to end.
    pub overlap: f64,
}

/// How slow a member would be with the slowness that is put into it.
#[derive(Debug, Clone, Copy)]
pub struct Slowed {
    /// Of it.
    pub slowness: Slowness,
    /// Score over threshold; at most 1 where it would not differ from its peers.
    pub severity: f64,
}

impl Power {
    /// Takes a window: `seen` is how slow each member is, `slowed` what a member would be if it were slower by one factor in the window and
    /// by another in its last pieces; nothing where it does so little that slowness would do no harm.
    pub fn push(
        &mut self,
        judges: &Judges,
        seen: &[Slowness],
        slowed: impl Fn(MemberIndex, f64, f64) -> Option<Slowed>,
    ) {
        self.probes.resize(WINDOWS.len() * FACTORS.len() * LANES, None);
        for place in 0..self.probes.len() {
            let (time, factor) = (place / LANES / FACTORS.len(), place / LANES % FACTORS.len());
            if self.probes[place].is_none() {
                self.probes[place] = self.begin(judges, seen, &slowed, FACTORS[factor]);
            }
            let Some(probe) = &mut self.probes[place] else { continue };
            probe.push(judges, FACTORS[factor], &slowed);
            // Also what is found early counts at its end only: what is not found has none before.
            if probe.passed < WINDOWS[time] {
                continue;
            }
            self.cells[time][factor].take(probe);
            self.probes[place] = None;
        }
    }

    /// A probe in a member that works and is not slow.
    fn begin(
        &mut self,
        judges: &Judges,
        seen: &[Slowness],
        slowed: impl Fn(MemberIndex, f64, f64) -> Option<Slowed>,
        factor: f64,
    ) -> Option<Box<Probe>> {
        // Members in an order that has nothing to do with their place.
        self.chosen += 1;
        let member = MemberIndex::new(self.chosen.wrapping_mul(7919) % seen.len());
        let is_well = seen[member.index()].window <= MAX_SLOWNESS;
        let works = slowed(member, factor.max(FACTORS[FACTORS.len() - 1]), 1.0)?.slowness.window > 0.0;
        (is_well && works).then(|| {
            Box::new(Probe {
                member,
                lengths: judges.calibration.members[member.index()].clone(),
                filter: Filter::default(),
                passed: 0,
                accumulator: 0,
                peak: 0,
                anomalous: 0,
                log_severity: 0.0,
                largest: 0.0,
                reached: NOTHING_REACHED,
                is_calibrated: judges.calibration.is_known(),
                is_rare: false,
            })
        })
    }

    /// The least that would have been named: for each time the least factor, where a longer one needs less.
    pub fn visible(&self, judged: &Judged) -> Vec<Visible> {
        let mut visible: Vec<Visible> = Vec::new();
        for (cells, windows) in self.cells.iter().zip(WINDOWS) {
            // From the largest factor down, as long as it is found.
            let least = FACTORS.iter().zip(cells).rev().take_while(|(_, cell)| cell.claims(judged)).last();
            let Some((&ratio, _)) = least else { continue };
            if visible.last().is_none_or(|last| ratio < last.ratio) {
                visible.push(Visible { ratio, seconds: f64::from(windows) * judged.shift_s });
            }
        }
        visible
    }

    /// Whether the largest slowness is found for no time at all, or could not be tried often enough for any: the recording is too short, or
    /// no member works.
    pub fn is_blind(&self, judged: &Judged) -> bool {
        let mut largest = self.cells.iter().map(|cells| &cells[FACTORS.len() - 1]);
        self.chosen > 0 && !largest.any(|cell| cell.is_seen(judged))
    }
}

/// What was judged until now: the longer, the more a trouble must weigh.
pub struct Judged<'a> {
    /// Windows.
    pub windows: u64,
    /// Seconds from one to the next.
    pub shift_s: f64,
    /// Rules that are not asked.
    pub without: &'a Without,
    /// What is known of chance now.
    pub calibration: Option<&'a Calibration>,
}

impl Judged<'_> {
    /// Whether it is known how rare a slowness is.
    fn knows_chance(&self) -> bool {
        self.calibration.is_some_and(Calibration::is_known)
    }

    /// Whether a trouble that began when nothing was known of chance would be reported.
    fn names(&self, early: &Early) -> bool {
        let reached = || self.calibration?.rarity_of_reached(&early.reached, early.member);
        if early.is_rare || reached().is_some() {
            return true;
        }
        let impact = early.impact;
        let trouble = Impact {
            impact: f64::from(impact),
            windows: self.windows,
            shift_s: self.shift_s,
            is_trained: false,
            is_rare: false,
            rarity: None,
            is_calibrated: false,
        };
        impact > 0.0 && trouble.excused(self.without).is_none()
    }
}

impl Probe {
    fn push(
        &mut self,
        judges: &Judges,
        factor: f64,
        slowed: impl Fn(MemberIndex, f64, f64) -> Option<Slowed>,
    ) {
        // The first windows are slow in part only, and so are the first pieces.
        let share = (f64::from(self.passed + 1) / judges.overlap).min(1.0);
        let in_pieces = if self.passed == 0 { 1.0 } else { factor };
        self.passed += 1;
        let seen = slowed(self.member, 1.0 + share * (factor - 1.0), in_pieces);
        self.lengths.push(seen.map_or(Slowness::UNKNOWN, |seen| seen.slowness));
        if !self.is_calibrated {
            self.lengths.reach(&mut self.reached);
        }
        let rarity = judges.calibration.rarity_of(&self.lengths, self.member);
        let is_rare = rarity.is_some_and(|seen| margin(&seen) >= 0.0);
        self.is_rare |= is_rare;
        let severity = seen.map_or(1.0, |seen| seen.severity).max(1.0);
        if self.filter.push(judges.k, severity > 1.0) {
            self.accumulator += 1;
            self.peak = self.peak.max(self.accumulator);
        } else {
            self.accumulator = self.accumulator.saturating_sub(1);
        }
        if self.accumulator == 0 {
            // It is over; what comes after it is another trouble.
            self.largest = self.impact();
            (self.peak, self.anomalous, self.log_severity) = (0, 0, 0.0);
        }
        if severity > 1.0 {
            self.anomalous += 1;
            self.log_severity += severity.ln();
        }
    }

    /// Persistence times severity, of the trouble that weighs most.
    fn impact(&self) -> f32 {
        let severity = (self.log_severity / f64::from(self.anomalous.max(1))).exp();
        ((f64::from(self.peak) * severity) as f32).max(self.largest)
    }
}

#[cfg(test)]
mod tests;

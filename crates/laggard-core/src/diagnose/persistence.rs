//! What lasts: the filter of each metric, the accumulator of each component, and its episodes.

use super::bound::Bound;
use super::budget::Rarity;
use super::case::Relation;
use super::evidence::{Episode, Observation};
use super::ledger::SlowPiece;
use super::rules::episode::Spoken;
use super::rules::site::ComponentWindows;
use crate::compare::Method;
use crate::ids::{ComponentId, MemberIndex, Table, UnixSeconds, WindowIndex};
use crate::model::Metric;
use crate::model::metric::Domain;
use std::collections::VecDeque;

/// Anomalous now, if the score exceeded the threshold in at least `k` of the last `2k-1` windows.
///
/// Windows in which nothing could be decided (none recorded, too few peers) are passed over: they are no evidence. The newest
/// window is in the lowest bit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    history: u64,
}

impl Filter {
    /// Takes the newest window; returns whether the component is anomalous now. The history holds `k` up to 32.
    pub fn push(&mut self, k: usize, exceeded: bool) -> bool {
        let length = (2 * k - 1).min(63);
        self.history = (self.history << 1 | u64::from(exceeded)) & ((1 << length) - 1);
        self.count() >= k
    }

    /// Windows in memory that exceeded.
    pub fn count(self) -> usize {
        self.history.count_ones() as usize
    }

    /// How many windows ago the oldest exceeding one that still counts was.
    pub fn oldest(self) -> u64 {
        u64::from(63 - (self.history | 1).leading_zeros())
    }

    /// Forgets everything, for the administrator's "resolved".
    pub fn clear(&mut self) {
        self.history = 0;
    }
}

/// The longest memory of a filter, in windows.
const MOST_WINDOWS: usize = 64;

/// What one metric of a group remembers of its last windows.
#[derive(Debug)]
pub struct Memory {
    /// One for each member.
    pub filters: Table<MemberIndex, Filter>,
    /// The last decided windows, to date the filters' memory.
    decided: VecDeque<WindowIndex>,
    first_decided: Option<WindowIndex>,
    /// Whether the last window of each member that differed indicted it: a member that is anomalous by the filter's memory only is so
    /// in the way it was before.
    pub indicted: Table<MemberIndex, bool>,
    /// The most that each member had beyond its peers since it began to stand out, and that was explained as a load.
    pub explained: Table<MemberIndex, f64>,
    /// Members that were anomalous in the first window, and already in its first part.
    pub from_the_start: Table<MemberIndex, bool>,
    /// How many windows could be decided.
    pub decided_windows: u64,
}

impl Memory {
    /// For so many members.
    pub fn new(members: usize) -> Memory {
        Memory {
            filters: Table::filled(Filter::default(), members),
            indicted: Table::filled(false, members),
            explained: Table::filled(0.0, members),
            decided: VecDeque::new(),
            first_decided: None,
            from_the_start: Table::filled(false, members),
            decided_windows: 0,
        }
    }

    /// A window could be decided.
    pub fn decide(&mut self, window: WindowIndex) {
        self.decided.push_back(window);
        self.first_decided.get_or_insert(window);
        if self.decided.len() > MOST_WINDOWS {
            self.decided.pop_front();
        }
        self.decided_windows += 1;
    }

    /// Whether a window was the first that could be decided.
    pub fn is_first(&self, window: WindowIndex) -> bool {
        self.first_decided == Some(window)
    }

    /// The oldest window that still counts for a member.
    pub fn oldest(&self, member: MemberIndex) -> WindowIndex {
        let last = self.decided.len() - 1;
        self.decided[last - (self.filters[member].oldest() as usize).min(last)]
    }
}

/// A window that speaks against a component in one metric.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The metric.
    pub metric: Metric,
    /// The method.
    pub method: &'static Method,
    /// When the trouble began.
    pub onset: UnixSeconds,
    /// What was seen.
    pub seen: Observation,
    /// What is new of it, piece by piece, where a device was slow for its work.
    pub slow: Vec<SlowPiece>,
    /// How rare the slowness is ...
    pub rarity: Option<Rarity>,
    /// ... and whether it is rarer than the budget of false alarms.
    pub is_rare: bool,
    /// It is slowness, and it was known then how rare that is.
    pub is_calibrated: bool,
}

impl Finding {
    /// Whether nothing was recorded.
    pub fn is_silence(&self) -> bool {
        self.seen.relation == Relation::Silent
    }
}

/// A trouble is over when it was not seen in so many windows, or its accumulator is zero.
pub const OVER_AFTER: Bound = Bound::new("over_after", 12.0, "windows");

/// Troubles of one component that are remembered when they are over; of more, loads are forgotten first, then those with the least impact.
const MOST_OVER: usize = 16;

/// One trouble of one component in one time, or a load that is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Trouble {
    /// The component.
    pub component: ComponentId,
    /// What was seen.
    pub episode: Episode,
    /// More to do than its peers, and no fault.
    pub is_load: bool,
    /// Whether it goes on.
    pub is_open: bool,
}

/// Whose windows these are: a fault's or a load's, of one domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strand {
    /// Of what.
    pub domain: Domain,
    /// Whether it only explains.
    pub is_load: bool,
}

impl Strand {
    const COUNT: usize = 2 * Domain::ALL.len();

    /// All strands, faults first.
    fn all() -> impl Iterator<Item = Strand> {
        let of = |is_load: bool| Domain::ALL.map(|domain| Strand { domain, is_load });
        of(false).into_iter().chain(of(true))
    }

    fn index(self) -> usize {
        self.domain as usize + if self.is_load { Domain::ALL.len() } else { 0 }
    }
}

/// A trouble that goes on.
#[derive(Debug, Clone, Default)]
struct Open {
    episode: Episode,
    accumulator: u32,
    /// Windows since it was last seen.
    quiet: u32,
}

/// What is remembered of one component.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// +1 for an anomalous window, -1 (not below 0) otherwise: LISA'13, section 4.3.
    pub accumulator: u32,
    /// Its largest value.
    pub peak: u32,
    /// Its windows, by what could be said in them.
    pub windows: ComponentWindows,
    open: [Option<Box<Open>>; Strand::COUNT],
    /// Trouble that is over; loads among it.
    over: Vec<(Strand, Episode)>,
    /// Troubles beyond those that are remembered.
    pub forgotten: u64,
    /// Strands that were anomalous in the window that is being gathered.
    anomalous: [bool; Strand::COUNT],
    /// What does not indict by itself, in that window.
    explaining: Vec<(Domain, Finding)>,
}

impl History {
    /// A strand is anomalous in the window that is being gathered.
    pub fn mark(&mut self, strand: Strand) {
        self.anomalous[strand.index()] = true;
    }

    /// Takes a window that indicts.
    pub fn indict(&mut self, domain: Domain, finding: &Finding) {
        self.observe(Strand { domain, is_load: false }, finding);
    }

    /// Takes a window that may explain another.
    pub fn explain(&mut self, domain: Domain, finding: Finding) {
        self.explaining.push((domain, finding));
    }

    fn observe(&mut self, strand: Strand, finding: &Finding) {
        let open = self.open[strand.index()].get_or_insert_default();
        open.episode.domain = strand.domain;
        open.episode.observe(finding.metric, finding.method, finding.onset, finding.seen);
        open.episode.note_slow(&finding.slow);
        open.episode.note_rarity(finding);
    }

    /// An anomalous window is complete.
    pub fn count_anomalous(&mut self) {
        self.accumulator += 1;
        self.peak = self.peak.max(self.accumulator);
    }

    /// A quiet window is complete.
    pub fn count_quiet(&mut self) {
        self.accumulator = self.accumulator.saturating_sub(1);
    }

    /// All metrics of a window are gathered. Trouble that is over is remembered, unless a rule excuses it. Returns what was excused, and by
    /// which rule.
    pub fn end_window(
        &mut self,
        is_decided: bool,
        excused: impl Fn(&Episode) -> Option<Spoken>,
    ) -> Vec<(Spoken, Episode)> {
        self.settle_explaining();
        let anomalous = std::mem::take(&mut self.anomalous);
        let mut dropped = Vec::new();
        if !is_decided {
            return dropped;
        }
        for strand in Strand::all() {
            let index = strand.index();
            let Some(open) = &mut self.open[index] else { continue };
            if anomalous[index] {
                open.accumulator += 1;
                open.quiet = 0;
                open.episode.persistence = open.episode.persistence.max(open.accumulator);
                continue;
            }
            open.accumulator = open.accumulator.saturating_sub(1);
            open.quiet += 1;
            if open.accumulator > 0 && open.quiet < OVER_AFTER.value as u32 {
                continue;
            }
            if let Some(open) = self.open[index].take() {
                match excused(&open.episode) {
                    Some(by) => dropped.push((by, open.episode)),
                    None => self.remember(strand, open.episode),
                }
            }
        }
        dropped
    }

    /// What only explains belongs to the fault of its domain in this window; without one it is a load.
    fn settle_explaining(&mut self) {
        for (domain, finding) in std::mem::take(&mut self.explaining) {
            let fault = Strand { domain, is_load: false };
            match &mut self.open[fault.index()] {
                Some(open) if self.anomalous[fault.index()] => {
                    open.episode.observe_context(finding.metric, finding.method, finding.seen);
                }
                _ => {
                    let load = Strand { domain, is_load: true };
                    if self.anomalous[load.index()] {
                        self.observe(load, &finding);
                    }
                }
            }
        }
    }

    /// Of more than are remembered, loads go first, then what weighs least: a fault is never forgotten for loads.
    fn remember(&mut self, strand: Strand, episode: Episode) {
        self.over.push((strand, episode));
        if self.over.len() > MOST_OVER {
            let weight = |place: &usize| (!self.over[*place].0.is_load, self.over[*place].1.impact());
            let least = (0..self.over.len())
                .min_by(|a, b| weight(a).0.cmp(&weight(b).0).then(weight(a).1.total_cmp(&weight(b).1)));
            let forgotten = least.map(|least| self.over.remove(least));
            self.forgotten += u64::from(forgotten.is_some_and(|(strand, _)| !strand.is_load));
        }
    }

    /// What was seen so far is history.
    pub fn forget(&mut self) {
        *self = History { windows: self.windows, ..History::default() };
    }

    /// All troubles and loads, over or not.
    pub fn troubles(&self, component: ComponentId) -> impl Iterator<Item = Trouble> + '_ {
        let trouble = move |strand: Strand, episode: &Episode, is_open: bool| Trouble {
            component,
            episode: episode.clone(),
            is_load: strand.is_load,
            is_open,
        };
        let over = self.over.iter().map(move |(strand, episode)| trouble(*strand, episode, false));
        let open = Strand::all().filter_map(move |strand| {
            let open = self.open[strand.index()].as_ref().filter(|open| !open.episode.evidence.is_empty())?;
            Some(trouble(strand, &open.episode, true))
        });
        over.chain(open)
    }

    /// The largest severity of any trouble; 0 without one.
    pub fn severity(&self) -> f64 {
        let open = self.open.iter().zip(Strand::all()).filter(|(_, strand)| !strand.is_load);
        let open = open.filter_map(|(open, _)| open.as_ref()).map(|open| &open.episode);
        let over = self.over.iter().filter(|(strand, _)| !strand.is_load).map(|(_, episode)| episode);
        open.chain(over)
            .filter(|episode| !episode.evidence.is_empty())
            .map(Episode::severity)
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_five() {
        let mut filter = Filter::default();
        let fired: Vec<bool> =
            [true, false, true, false, true, false, false, true, true].map(|e| filter.push(3, e)).into();
        assert_eq!(fired, [false, false, false, false, true, false, false, false, true]);
        assert_eq!(filter.oldest(), 4);
    }

    #[test]
    fn k_of_one_fires_at_once() {
        let mut filter = Filter::default();
        assert!(!filter.push(1, false));
        assert!(filter.push(1, true));
        assert!(!filter.push(1, false));
    }

    fn finding(from: i64, severity: f64) -> Finding {
        let seen = Observation {
            from: UnixSeconds(from),
            to: UnixSeconds(from + 40),
            score: severity,
            threshold: 1.0,
            level: 2.0,
            peer_level: 1.0,
            ratio: 2.0,
            relation: Relation::High,
            jitters: false,
            by_load: None,
        };
        let method = &crate::compare::cost::COST;
        Finding {
            metric: Metric::Cost,
            method,
            onset: UnixSeconds(from),
            seen,
            slow: Vec::new(),
            rarity: None,
            is_rare: false,
            is_calibrated: false,
        }
    }

    const FAULT: Strand = Strand { domain: Domain::Storage, is_load: false };

    /// So many anomalous windows, and then quiet ones until it is over: how many.
    fn quiet_until_over(anomalous: u32) -> u32 {
        let mut history = History::default();
        for window in 0..anomalous {
            history.mark(FAULT);
            history.indict(Domain::Storage, &finding(i64::from(window) * 10, 2.0));
            history.end_window(true, |_| None);
        }
        let is_open =
            |history: &History| history.troubles(ComponentId::new(0)).all(|trouble| trouble.is_open);
        let mut quiet = 0;
        while is_open(&history) {
            history.end_window(true, |_| None);
            quiet += 1;
        }
        quiet
    }

    #[test]
    fn a_trouble_is_over_when_its_accumulator_is_zero_or_after_twelve_quiet_windows() {
        assert_eq!([quiet_until_over(1), quiet_until_over(3), quiet_until_over(11)], [1, 3, 11]);
        assert_eq!([quiet_until_over(12), quiet_until_over(13), quiet_until_over(100)], [12, 12, 12]);
    }

    #[test]
    fn of_many_troubles_that_are_over_the_least_is_forgotten() {
        let mut history = History::default();
        for number in 0..20 {
            history.mark(FAULT);
            history.indict(
                Domain::Storage,
                &finding(number * 100, if number == 3 { 1.5 } else { 2.0 + number as f64 }),
            );
            history.end_window(true, |_| None);
            history.end_window(true, |_| None);
        }
        let kept: Vec<i64> =
            history.troubles(ComponentId::new(0)).map(|trouble| trouble.episode.first.0 / 100).collect();
        assert_eq!((kept.len(), history.forgotten), (MOST_OVER, 4));
        assert!(!kept.contains(&3) && !kept.contains(&0) && kept.contains(&19), "{kept:?}");
    }

    #[test]
    fn a_fault_is_not_forgotten_for_the_loads_of_many_nights() {
        let load = Strand { is_load: true, ..FAULT };
        let mut history = History::default();
        let mut trouble = |strand: Strand, number: i64, severity: f64| {
            history.mark(strand);
            match strand.is_load {
                true => history.explain(Domain::Storage, finding(number * 100, severity)),
                false => history.indict(Domain::Storage, &finding(number * 100, severity)),
            }
            history.end_window(true, |_| None);
            history.end_window(true, |_| None);
            history.troubles(ComponentId::new(0)).filter(|trouble| !trouble.is_load).count()
        };
        assert_eq!(trouble(FAULT, 0, 1.5), 1);
        assert!((1..40).all(|night| trouble(load, night, 50.0) == 1));
    }

    #[test]
    fn windows_of_which_nothing_is_known_change_nothing() {
        let mut history = History::default();
        history.mark(FAULT);
        history.indict(Domain::Storage, &finding(0, 2.0));
        history.end_window(true, |_| None);
        (0..50).for_each(|_| assert!(history.end_window(false, |_| None).is_empty()));
        assert!(history.troubles(ComponentId::new(0)).all(|trouble| trouble.is_open));
    }

    #[test]
    fn windows_that_were_decided_are_remembered_up_to_a_bound() {
        let mut memory = Memory::new(1);
        (0..MOST_WINDOWS as u64 + 1).for_each(|window| memory.decide(WindowIndex(window)));
        assert_eq!((memory.decided.len(), memory.decided[0]), (MOST_WINDOWS, WindowIndex(1)));
        assert!(memory.is_first(WindowIndex(0)));
    }
}

//! One peer group in one metric: rows in, windows with scores out.

use super::case::{Levels, Reading};
use super::threshold::{self, Policy};
use crate::compare::perseus::Regression;
use crate::compare::{Method, Score, Subject};
use crate::grid::{FEWEST_PEERS, Params, Schedule, Window, Windower, note_joined};
use crate::ids::{GroupId, MemberIndex, Slot, Table, WindowIndex};
use crate::model::Metric;
use crate::model::metric::Role;
use crate::stats;
use std::cell::OnceCell;

/// Samples of a piece of a window, at least.
const MIN_PIECE_SAMPLES: usize = 2;

/// Whether a value moves: one bit for each slot, the newest lowest, set where it differs from the one before.
#[derive(Debug, Clone, Copy, Default)]
struct Movement {
    last: Option<f64>,
    moved: u64,
}

impl Movement {
    fn push(&mut self, value: f64) {
        self.moved = self.moved << 1 | u64::from(self.last.is_some_and(|last| last != value));
        self.last = Some(value);
    }

    /// In how much of the last slots it moved.
    fn share(self, slots: usize) -> f64 {
        let slots = slots.clamp(1, 64);
        (self.moved << (64 - slots)).count_ones() as f64 / slots as f64
    }
}

/// A window with its scores. Rows of the window and of all lists are `members`.
#[derive(Debug)]
pub struct ScoredWindow {
    /// The group.
    pub group: GroupId,
    /// The metric.
    pub metric: Metric,
    /// Which window, from the origin.
    pub index: WindowIndex,
    /// Members that took part, ascending.
    pub members: Vec<MemberIndex>,
    /// Their samples.
    pub window: Window,
    /// Whether enough members had data.
    pub is_decided: bool,
    /// Their scores.
    pub scores: Vec<Score>,
    /// Their thresholds.
    pub thresholds: Vec<f64>,
    levels: OnceCell<Levels>,
}

impl ScoredWindow {
    /// From the books of a group: of members, a level, a score and a threshold each.
    pub fn booked(
        track: &Scorer,
        index: WindowIndex,
        members: Vec<MemberIndex>,
        window: Window,
        scores: Vec<Score>,
        thresholds: Vec<f64>,
        levels: Levels,
    ) -> ScoredWindow {
        ScoredWindow {
            group: track.group,
            metric: track.metric,
            index,
            is_decided: members.len() >= FEWEST_PEERS,
            thresholds,
            members,
            window,
            scores,
            levels: OnceCell::from(levels),
        }
    }

    /// Levels of all rows, computed when they are first asked for.
    pub fn levels(&self) -> &Levels {
        self.levels.get_or_init(|| Levels::new(self.metric, &self.window))
    }

    /// Levels of all rows in each half of the window; nothing of a window of one sample, or from the books.
    pub fn halves(&self) -> Vec<Levels> {
        let half = self.window.size().div_ceil(2);
        if self.window.size() < 2 || self.metric.role().is_derived() {
            return Vec::new();
        }
        let part = |from: usize| {
            let samples = self.window.each().flat_map(|samples| &samples[from..from + half]);
            Levels::new(self.metric, &Window::new(samples.copied().collect(), half))
        };
        vec![part(0), part(self.window.size() - half)]
    }

    /// The levels of a row in each quarter of the last half of its window; nothing where a quarter would have too few samples to say anything.
    pub fn late_pieces(&self, row: usize) -> Option<[f64; 4]> {
        let half = self.window.size() / 2;
        let samples = &self.window.of(row)[self.window.size() - half..];
        let piece = |index: usize| stats::mean_of_present(&samples[index * half / 4..(index + 1) * half / 4]);
        (half >= 4 * MIN_PIECE_SAMPLES).then(|| [0, 1, 2, 3].map(piece))
    }

    /// Whether a row's score exceeds its threshold.
    pub fn exceeds(&self, row: usize) -> bool {
        self.scores[row].exact().is_some_and(|score| score > self.thresholds[row])
    }

    /// What a row shows.
    pub fn reading(&self, row: usize) -> Reading {
        let reading = self.levels().reading(row);
        let (score, threshold) =
            self.scores.get(row).map_or((Score::Missing, f64::NAN), |score| (*score, self.thresholds[row]));
        Reading { score, threshold, ..reading }
    }

    /// What a member shows, if it took part.
    pub fn reading_of(&self, member: MemberIndex) -> Option<Reading> {
        self.members.binary_search(&member).ok().map(|row| self.reading(row))
    }
}

/// Smooths, windows and scores one group in one metric.
#[derive(Debug)]
pub struct Scorer {
    /// The group.
    pub group: GroupId,
    /// The metric.
    pub metric: Metric,
    /// The method.
    pub method: &'static Method,
    /// Its parameters on this grid.
    pub params: Params,
    policy: Policy,
    windower: Windower,
    /// First slot with a sample of each member: no member is missed before it was ever seen.
    joined: Table<MemberIndex, Option<Slot>>,
    /// Of congestion windows.
    movements: Table<MemberIndex, Movement>,
    /// Where latency is held against throughput.
    slowdown: Option<Slowdown>,
}

/// Latencies over what the throughput makes one expect, in windows of their own.
#[derive(Debug)]
struct Slowdown {
    regression: Regression,
    sample: Vec<usize>,
    windower: Windower,
}

impl Scorer {
    /// For a group of so many members.
    pub fn new(
        group: GroupId,
        metric: Metric,
        method: &'static Method,
        params: Params,
        policy: Policy,
        members: usize,
    ) -> Scorer {
        Scorer {
            group,
            metric,
            method,
            params,
            policy,
            windower: Windower::new(params, members),
            joined: Table::filled(None, members),
            movements: Table::filled(Movement::default(), members),
            slowdown: (method.subject == Subject::Slowdown).then(|| Slowdown {
                regression: Regression::default(),
                sample: threshold::sample(members),
                windower: Windower::new(params, members),
            }),
        }
    }

    /// Whether thresholds come from training.
    pub fn is_trained(&self) -> bool {
        self.policy.is_trained()
    }

    /// All window arithmetic.
    pub fn schedule(&self) -> Schedule {
        Schedule::new(self.params)
    }

    /// Takes the row of a slot; returns the windows that it completes.
    pub fn push(&mut self, slot: Slot, row: &[f64]) -> Vec<ScoredWindow> {
        note_joined(self.joined.iter_mut(), slot, row);
        if self.metric.role() == Role::Congestion {
            let movements = self.movements.iter_mut().zip(row).filter(|(_, value)| !value.is_nan());
            movements.for_each(|(movement, value)| movement.push(*value));
        }
        if self.metric.role() == Role::Account || !self.is_compared() {
            // Goes into the books of the group, or explains a latency.
            return Vec::new();
        }
        let mut windows = Vec::new();
        self.windower.push(slot, row, &mut |index, window| windows.push((index, window)));
        windows.into_iter().map(|(index, window)| self.score(index, window)).collect()
    }

    /// Takes the row of latencies of a slot, beside what each member moved; returns the windows that it completes.
    pub fn push_beside(&mut self, slot: Slot, row: &[f64], throughput: &[f64]) -> Vec<ScoredWindow> {
        let mut scored = self.push(slot, row);
        let schedule = self.schedule();
        let Some(Slowdown { regression, sample, windower }) = &mut self.slowdown else { return scored };
        let slowdowns = regression.slowdowns(throughput, row, sample);
        let mut windows = Vec::new();
        windower.push(slot, &slowdowns, &mut |index, window| windows.push((index, window)));
        for (index, window) in windows {
            let Some(known) = scored.iter_mut().find(|known| known.index == index) else { continue };
            if !known.window.is_comparable() || !schedule.is_settled(index) {
                continue;
            }
            let rows: Vec<usize> = known.members.iter().map(|member| member.index()).collect();
            let judgement = self.policy.judge(self.method, &window.only(&rows), &known.members);
            (known.scores, known.thresholds) = (judgement.scores, judgement.thresholds);
            known.is_decided = known.scores.iter().any(|score| *score != Score::Missing);
        }
        scored
    }

    /// Whether this method compares this metric.
    fn is_compared(&self) -> bool {
        self.slowdown.is_none() || self.metric.role() == Role::StorageLatency
    }

    /// Takes back the memory of a window that is no longer needed.
    pub fn recycle(&mut self, window: Window) {
        self.windower.recycle(window);
    }

    /// A member was repaired at a slot: windows that began before it say nothing of the member.
    pub fn resolve(&mut self, member: MemberIndex, slot: Slot) {
        self.joined[member] = Some(Slot(slot.0 + self.schedule().grace()));
    }

    /// Share of the last slots in which a member's congestion window changed; NaN of other metrics.
    pub fn movement(&self, member: MemberIndex) -> f64 {
        /// Shorter averages than this say nothing.
        const MIN_SLOTS: usize = 8;
        match self.metric.role() {
            Role::Congestion => self.movements[member].share(self.params.smoothing.max(MIN_SLOTS)),
            Role::StorageVolume
            | Role::StorageLatency
            | Role::NetworkVolume
            | Role::Retransmission
            | Role::HostHealth
            | Role::LinkHealth
            | Role::Load
            | Role::Account
            | Role::Cost
            | Role::Work
            | Role::Context => f64::NAN,
        }
    }

    /// Whether a member's first sample came within so many windows after a slot.
    pub fn joined_within(&self, slot: Slot, windows: u64) -> bool {
        let soon = slot..=Slot(slot.0 + windows * self.params.size as u64);
        self.joined.iter().flatten().any(|joined| soon.contains(joined))
    }

    fn score(&self, index: WindowIndex, window: Window) -> ScoredWindow {
        let (members, window) = self.present_members(index, window);
        let is_decided = window.is_comparable() && self.schedule().is_settled(index);
        let mut scored = ScoredWindow {
            group: self.group,
            metric: self.metric,
            index,
            is_decided,
            scores: vec![Score::Missing; members.len()],
            thresholds: vec![f64::NAN; members.len()],
            levels: OnceCell::new(),
            members,
            window,
        };
        if !is_decided {
            return scored;
        }
        if !self.metric.can_indict() {
            scored.levels();
            return scored;
        }
        if self.slowdown.is_some() {
            // Decided when it is known what was expected.
            scored.levels();
            scored.is_decided = false;
            return scored;
        }
        let judgement = self.policy.judge(self.method, &scored.window, &scored.members);
        (scored.scores, scored.thresholds) = (judgement.scores, judgement.thresholds);
        // Levels here, where windows are scored on all cores, if a rule will ask for them.
        if (0..scored.members.len()).any(|row| scored.exceeds(row)) {
            scored.levels();
        }
        scored
    }

    /// Members that had joined when the window began, and the window without the others.
    fn present_members(&self, index: WindowIndex, window: Window) -> (Vec<MemberIndex>, Window) {
        let schedule = self.schedule();
        let takes_part = |member: &MemberIndex| {
            self.joined[*member].is_some_and(|joined| schedule.includes(index, joined))
        };
        let members: Vec<MemberIndex> = self.joined.ids().filter(takes_part).collect();
        if members.len() == self.joined.len() {
            return (members, window);
        }
        let rows: Vec<usize> = members.iter().map(|member| member.index()).collect();
        let window = window.only(&rows);
        (members, window)
    }
}

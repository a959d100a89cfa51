//! One peer group in one metric: rows in, judged windows out.

use super::evidence::Observation;
use super::filter::Filter;
use super::train::Trained;
use super::untrained::{self, Excuse, Levels, Relation};
use crate::compare::{Method, Params, Score, Threshold, Window, Windower};
use crate::model::metric::Role;
use crate::model::{Kind, Metric, Roster};
use std::collections::VecDeque;

/// Beyond this coefficient of variation, and this many times the peers', a component jitters.
const JITTER: (f64, f64) = (0.25, 2.0);

/// Share of slots in which a congestion window under loss differs from the slot before.
const RESTLESS: f64 = 0.25;

/// Share of the time in which a disk that has no more to give serves requests.
const BUSY: f64 = 0.8;

/// Segments at which only loss holds a window.
const HELD_DOWN: f64 = 2.0;

/// Windows between a disk's last sample and its successor's first.
const REPLACED_WITHIN: u64 = 8;

/// Whether a value moves: one bit per slot, the newest lowest, set where it differs from the one before.
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

/// The windower, thresholds and filters of one group in one metric.
#[derive(Debug)]
pub struct Track {
    /// Index of the group.
    pub group: usize,
    /// The metric.
    pub metric: Metric,
    /// The method.
    pub method: &'static Method,
    /// Its parameters on this grid.
    pub params: Params,
    kind: Kind,
    windower: Windower,
    trained: Option<Vec<f64>>,
    filters: Vec<Filter>,
    /// First slot with a sample, per member: nobody is missed before it was ever seen.
    joined: Vec<Option<u64>>,
    /// Of congestion windows, per member.
    movements: Vec<Movement>,
    /// The last decided windows, to date the filter's memory.
    decided: VecDeque<u64>,
    first_decided: Option<u64>,
    /// Per member: anomalous in the first window, and already in its first part.
    from_the_start: Vec<bool>,
    /// How many windows could be decided.
    pub decided_windows: u64,
}

/// What a track is told about its group beside its own metric.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// What may excuse a latency.
    pub circumstances: &'a Circumstances,
    /// The last slot with a sample of a member (position) in any metric.
    pub heard: &'a dyn Fn(usize) -> Option<u64>,
}

/// A window of a track, judged. Vectors run over `members`.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Index of the window, from the origin.
    pub index: u64,
    /// First slot, from the origin.
    pub from: u64,
    /// Slot after the last.
    pub to: u64,
    /// Members of the group (positions) that took part.
    pub members: Vec<usize>,
    /// Whether enough peers had data.
    pub decided: bool,
    /// Scores.
    pub scores: Vec<Score>,
    /// Thresholds.
    pub thresholds: Vec<f64>,
    /// Anomalous now, after the filter.
    pub anomalous: Vec<bool>,
    /// For the anomalous that exceeded in this very window: what was seen, times in slots. (position in members)
    pub seen: Vec<(usize, Observation)>,
    /// For the anomalous: slot of the onset. (position in members)
    pub onsets: Vec<(usize, u64)>,
    /// Of a metric that only explains: each group member's over the median.
    pub ratios: Option<Ratios>,
}

/// How many times its peers' level each member of a group has in one window.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratios {
    /// Index of the window.
    pub index: u64,
    /// Per position in the group; NaN is unknown.
    pub ratios: Vec<f64>,
    /// The levels themselves.
    pub levels: Vec<f64>,
    /// Their median.
    pub middle: f64,
}

/// What the last window said of load and service time, where they are recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Circumstances {
    load: Option<Ratios>,
    service: Option<Ratios>,
}

impl Circumstances {
    /// Keeps what a metric of some role says.
    pub fn take(&mut self, role: Role, ratios: Ratios) {
        match role {
            Role::Load => self.load = Some(ratios),
            Role::Service => self.service = Some(ratios),
            _ => {}
        }
    }

    /// What is known of a member in a window.
    fn of(&self, index: u64, member: usize) -> Excuse {
        let known = |ratios: &Option<Ratios>| {
            ratios
                .as_ref()
                .filter(|ratios| ratios.index == index)
                .map_or(f64::NAN, |ratios| ratios.ratios[member])
        };
        Excuse { load: known(&self.load), service: known(&self.service) }
    }

    /// Whether a member's disk is busy nearly all of the time, requests times service time, with other work than its peers',
    /// and theirs are not.
    fn is_busy(&self, index: u64, member: usize) -> bool {
        let (Some(load), Some(service)) = (&self.load, &self.service) else { return false };
        let share = |requests_s: f64, service_ms: f64| requests_s * service_ms / 1000.0;
        let own = share(load.levels[member], service.levels[member]);
        let usual = share(load.middle, service.middle);
        // Who is only asked more often has requests like its peers'; work of another kind takes another time.
        let differs = service.ratios[member] >= untrained::LIKE_ITS_PEERS;
        load.index == index && service.index == index && differs && own >= BUSY && usual <= own / 2.0
    }
}

impl Track {
    /// A track for one group and metric; `trained` where there are thresholds.
    pub fn new(
        roster: &Roster,
        group: usize,
        metric: Metric,
        method: &'static Method,
        interval_s: u32,
        trained: Option<&Trained>,
    ) -> Track {
        let members = &roster.groups[group].members;
        let params = method.params_on(interval_s, trained.is_some());
        let thresholds = |known: &Trained| -> Vec<f64> {
            members.iter().map(|&member| known.threshold(&roster.components[member].name)).collect()
        };
        Track {
            group,
            metric,
            method,
            params,
            kind: members.first().map_or(Kind::Device, |&member| roster.components[member].kind),
            windower: Windower::new(params, members.len()),
            trained: trained.map(thresholds),
            filters: vec![Filter::default(); members.len()],
            joined: vec![None; members.len()],
            movements: vec![Movement::default(); members.len()],
            decided: VecDeque::new(),
            first_decided: None,
            from_the_start: vec![false; members.len()],
            decided_windows: 0,
        }
    }

    /// Takes the row of a slot; returns the windows that it completes.
    pub fn push(&mut self, slot: u64, row: &[f64], around: Surroundings) -> Vec<Judged> {
        for (joined, value) in self.joined.iter_mut().zip(row) {
            if joined.is_none() && !value.is_nan() {
                *joined = Some(slot);
            }
        }
        if self.metric.properties().role == Role::Congestion {
            let movements = self.movements.iter_mut().zip(row).filter(|(_, value)| !value.is_nan());
            movements.for_each(|(movement, value)| movement.push(*value));
        }
        let mut windows = Vec::new();
        self.windower.push(slot, row, &mut |index, window| windows.push((index, window)));
        windows.into_iter().map(|(index, window)| self.judge(index, window, around)).collect()
    }

    /// The operator says that a member was repaired at a slot: windows that began before it say nothing of the member.
    pub fn resolve(&mut self, position: usize, slot: u64) {
        self.filters[position].clear();
        self.joined[position] = Some(slot + self.grace());
    }

    /// A window counts for a member that joined in its first quarter.
    fn grace(&self) -> u64 {
        self.params.size as u64 / 4
    }

    fn judge(&mut self, index: u64, window: Window, around: Surroundings) -> Judged {
        let from = index * self.params.shift as u64;
        let (members, window) = self.present_members(from, window);
        let mut judged = Judged {
            index,
            from,
            to: from + self.params.size as u64,
            // Before the moving average is full, one sample stands for many.
            decided: window.is_comparable() && from + self.params.size as u64 >= self.params.smoothing as u64,
            scores: vec![Score::Missing; members.len()],
            thresholds: vec![f64::NAN; members.len()],
            anomalous: vec![false; members.len()],
            seen: Vec::new(),
            onsets: Vec::new(),
            ratios: None,
            members,
        };
        if judged.decided {
            self.decided.push_back(index);
            self.first_decided.get_or_insert(index);
            if self.decided.len() > 64 {
                self.decided.pop_front();
            }
            self.decided_windows += 1;
            self.decide(&mut judged, &window, around);
        }
        judged
    }

    /// Members that had joined when the window began, and the window without the others.
    fn present_members(&self, from: u64, window: Window) -> (Vec<usize>, Window) {
        let latest = from + self.grace();
        let here = |position: &usize| self.joined[*position].is_some_and(|joined| joined <= latest);
        let members: Vec<usize> = (0..self.joined.len()).filter(here).collect();
        if members.len() == self.joined.len() {
            return (members, window);
        }
        let window = window.only(&members);
        (members, window)
    }

    fn decide(&mut self, judged: &mut Judged, window: &Window, around: Surroundings) {
        if !self.metric.properties().role.can_indict() {
            judged.ratios = Some(self.ratios(judged, window));
            return;
        }
        self.score(judged, window);
        let exceeds = |position: usize| {
            judged.scores[position].exact().is_some_and(|score| score > judged.thresholds[position])
        };
        let mut levels = None;
        let mut usual_unsteadiness = None;
        for position in 0..judged.members.len() {
            let heard = (around.heard)(judged.members[position]).is_some_and(|slot| slot >= judged.from);
            let speaks = window.of(position).iter().any(|value| !value.is_nan());
            let silent_matters = self.trained.is_none()
                && !heard
                && !speaks
                && !self.is_replaced(judged.members[position], around);
            let mut exceeded = exceeds(position) || silent_matters;
            let mut observation = None;
            if exceeded {
                let levels = levels.get_or_insert_with(|| Levels::new(self.metric, window));
                let excuse = around.circumstances.of(judged.index, judged.members[position]);
                let relation = match levels.relation(position, excuse) {
                    // It lives, and has nothing to say in this metric: no requests, no latency.
                    Relation::Silent if heard => Relation::Idle,
                    relation => relation,
                };
                let stands_still = relation == Relation::Low
                    && levels.of(position) > HELD_DOWN
                    && !self.moves(judged.members[position]);
                exceeded = self.trained.is_some() || self.matters(relation) && !stands_still;
                let usual = *usual_unsteadiness.get_or_insert_with(|| usual(window));
                let unsteady = untrained::unsteadiness(window.of(position));
                observation = Some(Observation {
                    from_s: judged.from as i64,
                    to_s: judged.to as i64,
                    score: judged.scores[position].exact().unwrap_or(f64::NAN),
                    threshold: judged.thresholds[position],
                    level: levels.of(position),
                    peer_level: levels.middle,
                    ratio: levels.ratio(position),
                    relation,
                    is_busy: around.circumstances.is_busy(judged.index, judged.members[position]),
                    jitters: unsteady > JITTER.0 && unsteady > JITTER.1 * usual,
                });
            }
            let has_score = judged.scores[position] != Score::Missing || silent_matters;
            if exceeded && Some(judged.index) == self.first_decided {
                self.from_the_start[judged.members[position]] =
                    stands_out_early(self.metric, window, position);
            }
            let filter = &mut self.filters[judged.members[position]];
            judged.anomalous[position] = has_score && filter.push(self.params.k, exceeded);
            if judged.anomalous[position] {
                judged.onsets.push((position, self.onset(judged.members[position])));
                if let (true, Some(observation)) = (exceeded, observation) {
                    judged.seen.push((position, observation));
                }
            }
        }
    }

    fn score(&self, judged: &mut Judged, window: &Window) {
        if let Some(trained) = &self.trained {
            let thresholds: Vec<f64> = judged.members.iter().map(|&member| trained[member]).collect();
            let judgement = (self.method.judge)(window, Threshold::Trained(&thresholds));
            (judged.scores, judged.thresholds) = (judgement.scores, judgement.thresholds);
            return;
        }
        // Untrained, silence is judged as silence: who has no sample at all must not spread the others' scores.
        let speaks = |position: &usize| window.of(*position).iter().any(|value| !value.is_nan());
        let speaking: Vec<usize> = (0..window.components()).filter(speaks).collect();
        if 2 * speaking.len() < window.components() {
            // Most have nothing to say in this metric, such as the latency of idle attachments: no peers, no comparison.
            return;
        }
        let heard = if speaking.len() == window.components() { None } else { Some(window.only(&speaking)) };
        let heard = heard.as_ref().unwrap_or(window);
        let sample = untrained::sample(heard.components());
        let rule = |scores: &[f64]| untrained::threshold(self.method, scores);
        let judgement = (self.method.judge)(heard, Threshold::FromPeers { sample: &sample, rule: &rule });
        judged.thresholds =
            vec![judgement.thresholds.first().copied().unwrap_or(f64::NAN); window.components()];
        for (&position, score) in speaking.iter().zip(judgement.scores) {
            judged.scores[position] = score;
        }
    }

    fn ratios(&self, judged: &Judged, window: &Window) -> Ratios {
        let levels = Levels::new(self.metric, window);
        let mut found = Ratios {
            index: judged.index,
            ratios: vec![f64::NAN; self.joined.len()],
            levels: vec![f64::NAN; self.joined.len()],
            middle: levels.middle,
        };
        for (position, &member) in judged.members.iter().enumerate() {
            found.ratios[member] = levels.ratio(position);
            found.levels[member] = levels.of(position);
        }
        found
    }

    /// Whether another member joined about when this one fell silent: then it was replaced, which is no trouble.
    fn is_replaced(&self, member: usize, around: Surroundings) -> bool {
        let Some(silent_from) = (around.heard)(member) else { return false };
        let soon = silent_from..=silent_from + REPLACED_WITHIN * self.params.size as u64;
        self.joined.iter().flatten().any(|joined| soon.contains(joined))
    }

    /// Loss makes a congestion window fall and rise again all the time. One that stands still belongs to a connection that has next to
    /// nothing to send, and remembers a loss of long ago.
    fn moves(&self, member: usize) -> bool {
        self.movements[member].share(self.params.smoothing.max(8)) >= RESTLESS
    }

    /// Untrained, only a difference that an administrator would call trouble counts.
    fn matters(&self, relation: Relation) -> bool {
        match relation {
            Relation::High | Relation::Silent => true,
            Relation::Low => self.method.name == "cwnd",
            // An idle attachment has lost its load to another; an idle disk is just idle.
            Relation::Idle => self.kind == Kind::Attachment,
            Relation::Alike => false,
        }
    }

    /// The slot at which the oldest window in the filter's memory turned bad: the start of what was new in it.
    fn onset(&self, member: usize) -> u64 {
        let back = (self.filters[member].oldest() as usize).min(self.decided.len() - 1);
        let index = self.decided[self.decided.len() - 1 - back];
        let start = index * self.params.shift as u64;
        if Some(index) == self.first_decided && self.from_the_start[member] {
            start
        } else {
            start + self.method.onset(self.params) as u64
        }
    }
}

/// Whether a component stands out in the first quarter of a window already.
fn stands_out_early(metric: Metric, window: &Window, position: usize) -> bool {
    let early = window.size().div_ceil(4);
    let values = window.each().flat_map(|samples| &samples[..early]).copied().collect();
    Levels::new(metric, &Window::new(values, early)).relation(position, Excuse::NONE) != Relation::Alike
}

/// How unsteady the peers are, from an even sample of them.
fn usual(window: &Window) -> f64 {
    let peers = untrained::sample(window.components()).into_iter();
    let mut all: Vec<f64> = peers
        .map(|peer| untrained::unsteadiness(window.of(peer)))
        .filter(|value| value.is_finite())
        .collect();
    crate::compare::window::median(&mut all)
}

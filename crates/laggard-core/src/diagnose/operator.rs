//! The incremental operator: samples in time order in, events out, the diagnosis on request at any time.
//!
//! Memory is bounded by the components and the windows, not by the length of the recording. What comes out depends on
//! the samples only, never on how they were cut into chunks.

mod assess;

use super::evidence::{Episode, Observation};
use super::gaps::{Follower, Gap, MOST_GAPS};
use super::track::{Circumstances, Judged, Surroundings, Track};
use super::train::Thresholds;
use super::untrained::{self, Relation};
use crate::compare::{Method, Params, Score, cwnd::CWND};
use crate::model::metric::Role;
use crate::model::{Kind, Metric, Roster};
use rayon::prelude::*;
use std::collections::VecDeque;

/// Windows of fewer components than this together are judged faster on one core than on several.
const WORTH_SHARING: usize = 256;

/// Times the peers' volume that no uneven load of disks explains, and none of LUNs in one file system.
const FAR_MORE: f64 = 3.0;
const MORE: f64 = 1.5;

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Seconds since 1970, UTC.
    pub time_s: i64,
    /// Index into the roster.
    pub component: usize,
    /// The metric.
    pub metric: Metric,
    /// Its value; NaN is no sample.
    pub value: f64,
}

/// How to diagnose.
#[derive(Debug, Clone)]
pub struct Config {
    /// The grid.
    pub interval_s: u32,
    /// For all metrics but cwnd, which has its own.
    pub method: &'static Method,
    /// Trained thresholds; without, they come from the peers.
    pub thresholds: Option<Thresholds>,
    /// A slot stays open until a sample this many slots newer has come.
    pub lateness_slots: i64,
    /// What the operator repaired, and when (roster index, seconds).
    pub resolved: Vec<(usize, i64)>,
}

/// A judged window of one group in one metric. Vectors run over `components`.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedWindow {
    /// Index of the group.
    pub group: usize,
    /// The metric.
    pub metric: Metric,
    /// Name of the method.
    pub method: &'static str,
    /// Start, in seconds since 1970.
    pub from_s: i64,
    /// End, in seconds since 1970.
    pub to_s: i64,
    /// Roster indices, ascending.
    pub components: Vec<usize>,
    /// Their scores.
    pub scores: Vec<Score>,
    /// Their thresholds.
    pub thresholds: Vec<f64>,
    /// Anomalous now.
    pub anomalous: Vec<bool>,
}

/// What the operator reports as it goes.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A window was judged.
    Window(JudgedWindow),
    /// The accumulators moved: who is above zero, most persistent first.
    Persistence {
        /// Seconds since 1970.
        time_s: i64,
        /// Index of the group.
        group: usize,
        /// Roster index and accumulator.
        ranking: Vec<(usize, u32)>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Undecided,
    Quiet,
    Anomalous,
}

#[derive(Debug, Clone, Default)]
struct ComponentState {
    accumulator: u32,
    peak: u32,
    decided: u64,
    episode: Option<Episode>,
    /// Episodes that wound down, merged.
    ended: Episode,
    /// Evidence that does not indict by itself, of windows in which something else did.
    aside: Episode,
    /// The same of the window that is being gathered.
    aside_now: Vec<(Metric, &'static str, i64, Observation)>,
}

struct Group {
    /// Window being gathered over the metrics: index, state per member.
    tick: Option<(u64, Vec<State>)>,
    ticks: u64,
    follower: Follower,
    /// What may excuse a latency in the last window.
    circumstances: Circumstances,
}

struct OpenSlot {
    slot: i64,
    /// A row per track, where there is one.
    rows: Vec<Option<Vec<f64>>>,
}

/// The operator.
pub struct Diagnoser {
    config: Config,
    /// Of the main method, on this grid.
    params: Params,
    roster: Roster,
    /// Group of each component, and its position there: all that a sample needs of the roster.
    place: Vec<(u32, u32)>,
    tracks: Vec<Track>,
    /// Per group and metric: index of the track.
    track_of: Vec<[Option<usize>; Metric::COUNT]>,
    groups: Vec<Group>,
    states: Vec<ComponentState>,
    open: VecDeque<OpenSlot>,
    origin: Option<i64>,
    /// All slots below are closed.
    closed_below: i64,
    newest: i64,
    late: u64,
    gaps: Vec<Gap>,
    more_gaps: usize,
    events: Vec<Event>,
}

impl Diagnoser {
    /// An operator for the components of a roster.
    pub fn new(mut config: Config, roster: Roster) -> Diagnoser {
        config.resolved.sort_by_key(|(_, time_s)| std::cmp::Reverse(*time_s));
        let mut place = vec![(0, 0); roster.components.len()];
        for (group, known) in roster.groups.iter().enumerate() {
            for (position, &member) in known.members.iter().enumerate() {
                place[member] = (group as u32, position as u32);
            }
        }
        let group = |members: usize| Group {
            tick: None,
            ticks: 0,
            follower: Follower::new(members),
            circumstances: Circumstances::default(),
        };
        Diagnoser {
            params: config.method.params_on(config.interval_s, config.thresholds.is_some()),
            config,
            place,
            tracks: Vec::new(),
            track_of: vec![[None; Metric::COUNT]; roster.groups.len()],
            groups: roster.groups.iter().map(|known| group(known.members.len())).collect(),
            states: vec![ComponentState::default(); roster.components.len()],
            roster,
            open: VecDeque::new(),
            origin: None,
            closed_below: i64::MIN,
            newest: i64::MIN,
            late: 0,
            gaps: Vec::new(),
            more_gaps: 0,
            events: Vec::new(),
        }
    }

    /// The roster.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Takes a sample. In one slot, the last sample wins; a sample for a closed slot is counted and dropped.
    pub fn push(&mut self, sample: Sample) {
        if sample.value.is_nan() {
            return;
        }
        let slot = sample.time_s.div_euclid(i64::from(self.config.interval_s));
        if slot < self.closed_below {
            self.late += 1;
            return;
        }
        let (group, position) = self.place[sample.component];
        let Some(track) = self.track(group as usize, sample.metric) else { return };
        if slot > self.newest {
            self.newest = slot;
            self.close_below(slot - self.config.lateness_slots);
        }
        let width = self.roster.groups[group as usize].members.len();
        let open = self.open_slot(slot);
        if open.rows.len() <= track {
            open.rows.resize(track + 1, None);
        }
        open.rows[track].get_or_insert_with(|| vec![f64::NAN; width])[position as usize] = sample.value;
    }

    /// No more samples: closes what is open.
    pub fn finish(&mut self) {
        self.close_below(i64::MAX);
        for group in 0..self.groups.len() {
            self.end_tick(group);
        }
        // Repairs after the last sample: what was seen is history all the same.
        self.resolve_until(i64::MAX);
    }

    /// What happened since the last call.
    pub fn drain(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn open_slot(&mut self, slot: i64) -> &mut OpenSlot {
        let index = self.open.partition_point(|open| open.slot < slot);
        if self.open.get(index).is_none_or(|open| open.slot != slot) {
            self.open.insert(index, OpenSlot { slot, rows: Vec::new() });
        }
        &mut self.open[index]
    }

    /// The track of a group and metric, made when the first sample comes; `None` for metrics that are only context.
    fn track(&mut self, group: usize, metric: Metric) -> Option<usize> {
        if let Some(track) = self.track_of[group][metric as usize] {
            return Some(track);
        }
        let method = match metric.properties().role {
            Role::Context => return None,
            Role::Congestion => &CWND,
            _ => self.config.method,
        };
        let trained = match &self.config.thresholds {
            Some(thresholds) => Some(thresholds.find(method, metric)?),
            None => None,
        };
        self.tracks.push(Track::new(&self.roster, group, metric, method, self.config.interval_s, trained));
        self.track_of[group][metric as usize] = Some(self.tracks.len() - 1);
        self.track_of[group][metric as usize]
    }

    fn close_below(&mut self, bound: i64) {
        while self.open.front().is_some_and(|open| open.slot < bound) {
            let Some(open) = self.open.pop_front() else { break };
            self.resolve_until(open.slot);
            self.close(&open);
        }
        self.closed_below = self.closed_below.max(bound);
    }

    fn close(&mut self, open: &OpenSlot) {
        // The first slot to close is the origin: an earlier one may still have come while it was open.
        let slot = (open.slot - *self.origin.get_or_insert(open.slot)) as u64;
        self.follow(slot, &open.rows);
        // Load and service time first, because they may excuse a latency; then cwnd, whose verdicts of this second belong to the window
        // that ends with it.
        self.close_tracks(slot, &open.rows, |role| !role.can_indict());
        self.close_tracks(slot, &open.rows, |role| role == Role::Congestion);
        self.close_tracks(slot, &open.rows, |role| role.can_indict() && role != Role::Congestion);
    }

    fn close_tracks(&mut self, slot: u64, rows: &[Option<Vec<f64>>], wanted: impl Fn(Role) -> bool) {
        let is_window_end = self.is_window_end(slot);
        let groups = &self.groups;
        let row_of = |track: usize| rows.get(track).and_then(Option::as_ref);
        let due = |track: &(usize, &mut Track)| {
            wanted(track.1.metric.properties().role) && row_of(track.0).is_some()
        };
        let mut due: Vec<(usize, &mut Track)> = self.tracks.iter_mut().enumerate().filter(due).collect();
        let push = |(index, track): &mut (usize, &mut Track)| {
            let group = &groups[track.group];
            let heard = |member: usize| group.follower.heard(member);
            let around = Surroundings { circumstances: &group.circumstances, heard: &heard };
            (*index, row_of(*index).map_or_else(Vec::new, |row| track.push(slot, row, around)))
        };
        let work: usize = due.iter().filter_map(|(index, _)| row_of(*index)).map(Vec::len).sum();
        let judged: Vec<(usize, Vec<Judged>)> = match due.len() > 1 && work >= WORTH_SHARING && is_window_end
        {
            true => due.par_iter_mut().map(push).collect(),
            false => due.iter_mut().map(push).collect(),
        };
        for (track, windows) in judged {
            for mut judged in windows {
                if let Some(ratios) = judged.ratios.take() {
                    let of = &self.tracks[track];
                    self.groups[of.group].circumstances.take(of.metric.properties().role, ratios);
                    continue;
                }
                self.accept(track, judged);
            }
        }
    }

    fn is_window_end(&self, slot: u64) -> bool {
        let (size, shift) = (self.params.size as u64, self.params.shift as u64);
        slot + 1 >= size && (slot + 1 - size).is_multiple_of(shift)
    }

    fn follow(&mut self, slot: u64, rows: &[Option<Vec<f64>>]) {
        for group in 0..self.groups.len() {
            let of_group: Vec<&Vec<f64>> = (0..rows.len())
                .filter(|&track| self.tracks[track].group == group)
                .filter_map(|track| rows[track].as_ref())
                .collect();
            if of_group.is_empty() {
                continue;
            }
            let mut holes = Vec::new();
            let is_seen = |member: usize| of_group.iter().any(|row| !row[member].is_nan());
            self.groups[group].follower.push(slot, is_seen, &mut holes);
            for hole in holes {
                let gap = self.gap(group, hole);
                if self.gaps.len() < MOST_GAPS { self.gaps.push(gap) } else { self.more_gaps += 1 }
            }
        }
    }

    fn gap(&self, group: usize, (member, from, to): (Option<usize>, u64, u64)) -> Gap {
        let known = &self.roster.groups[group];
        let (component, reason) = match member {
            Some(member) => {
                (&self.roster.components[known.members[member]].name, "no samples while its peers have some")
            }
            None => (&known.name, "nobody in the group was recorded"),
        };
        Gap {
            component: component.clone(),
            from_s: self.seconds(from),
            to_s: self.seconds(to),
            reason: reason.into(),
        }
    }

    fn seconds(&self, slot: u64) -> i64 {
        (self.origin.unwrap_or(0) + slot as i64) * i64::from(self.config.interval_s)
    }

    /// Takes a judged window into the states of its components, and reports it.
    fn accept(&mut self, track: usize, judged: Judged) {
        let (group, metric, method) =
            (self.tracks[track].group, self.tracks[track].metric, self.tracks[track].method);
        let components: Vec<usize> =
            judged.members.iter().map(|&member| self.roster.groups[group].members[member]).collect();
        if judged.decided {
            let mut indicted = judged.anomalous.clone();
            for (position, indicted) in indicted.iter_mut().enumerate().filter(|(_, anomalous)| **anomalous) {
                let seen = find(&judged.seen, position);
                *indicted = match seen {
                    Some(seen) => self.indicts(group, metric, seen),
                    // Anomalous by the filter's memory only: as it was before.
                    None => self.states[components[position]].episode.is_some(),
                };
            }
            let tick = self.tick_of(judged.to - 1);
            self.join_tick(group, tick, &judged.members, &indicted);
            for &(position, seen) in &judged.seen {
                let seen =
                    Observation { from_s: self.seconds(judged.from), to_s: self.seconds(judged.to), ..seen };
                let onset_s = self.seconds(*find(&judged.onsets, position).unwrap_or(&judged.from));
                let state = &mut self.states[components[position]];
                if indicted[position] {
                    state.episode.get_or_insert_default().observe(metric, method.name, onset_s, seen);
                } else {
                    state.aside_now.push((metric, method.name, onset_s, seen));
                }
            }
        }
        self.events.push(Event::Window(JudgedWindow {
            group,
            metric,
            method: method.name,
            from_s: self.seconds(judged.from),
            to_s: self.seconds(judged.to),
            components,
            scores: judged.scores,
            thresholds: judged.thresholds,
            anomalous: judged.anomalous,
        }));
    }

    /// Trained, every metric indicts (FAST'10). Untrained, a disk that merely has more to do than its peers is no
    /// problem unless it is far more; a server that has, is: its file system spreads the load evenly.
    fn indicts(&self, group: usize, metric: Metric, seen: &Observation) -> bool {
        let kind = self.roster.groups[group]
            .members
            .first()
            .map_or(Kind::Device, |&member| self.roster.components[member].kind);
        match metric.properties().role {
            Role::Load | Role::Service | Role::Context => false,
            Role::StorageVolume => {
                let least = match kind {
                    // What it reads and writes beside its peers indicts it if it is much, or all that its disk can do; less explains at
                    // most why it is slow.
                    Kind::Server if !untrained::is_much(metric, seen) && !seen.is_busy => f64::INFINITY,
                    Kind::Server => 0.0,
                    // Files are not spread evenly over LUNs; less than its peers means that its load went elsewhere.
                    Kind::Attachment if seen.relation == Relation::High => MORE,
                    Kind::Attachment => 0.0,
                    _ => FAR_MORE,
                };
                self.config.thresholds.is_some() || seen.ratio >= least
            }
            Role::StorageLatency | Role::NetworkVolume | Role::Congestion => true,
        }
    }

    /// The main method's window that is being filled at a slot.
    fn tick_of(&self, slot: u64) -> u64 {
        let (size, shift) = (self.params.size as u64, self.params.shift as u64);
        (slot + 1).saturating_sub(size).div_ceil(shift)
    }

    /// Anomalous in one or more metrics is one anomalous window: metrics of one window are gathered before they count.
    fn join_tick(&mut self, group: usize, tick: u64, positions: &[usize], indicted: &[bool]) {
        match &self.groups[group].tick {
            Some((current, _)) if tick > *current => self.end_tick(group),
            Some((current, _)) if tick < *current => return,
            _ => {}
        }
        let members = self.roster.groups[group].members.len();
        let (_, states) =
            self.groups[group].tick.get_or_insert_with(|| (tick, vec![State::Undecided; members]));
        for (&member, &indicted) in positions.iter().zip(indicted) {
            let state = if indicted { State::Anomalous } else { State::Quiet };
            states[member] = states[member].max(state);
        }
    }

    /// Moves the accumulators: +1 for an anomalous window, -1 (not below 0) otherwise.
    fn end_tick(&mut self, group: usize) {
        let Some((tick, states)) = self.groups[group].tick.take() else { return };
        self.groups[group].ticks += 1;
        let least = self.least_impact(self.groups[group].ticks);
        let mut ranking = Vec::new();
        for (member, state) in states.into_iter().enumerate() {
            let component = self.roster.groups[group].members[member];
            let known = &mut self.states[component];
            known.decided += u64::from(state != State::Undecided);
            let aside = std::mem::take(&mut known.aside_now);
            match state {
                State::Anomalous => {
                    known.accumulator += 1;
                    known.peak = known.peak.max(known.accumulator);
                    if let Some(episode) = &mut known.episode {
                        episode.persistence = episode.persistence.max(known.accumulator);
                    }
                    for (metric, method, onset_s, seen) in aside {
                        known.aside.observe(metric, method, onset_s, seen);
                    }
                }
                State::Quiet => known.wind_down(least),
                State::Undecided => {}
            }
            if known.accumulator > 0 {
                ranking.push((component, known.accumulator));
            }
        }
        ranking.sort_by_key(|&(component, accumulator)| (std::cmp::Reverse(accumulator), component));
        let time_s = self.seconds(tick * self.params.shift as u64 + self.params.size as u64);
        self.events.push(Event::Persistence { time_s, group, ranking });
    }

    fn resolve_until(&mut self, slot: i64) {
        let now_s = slot.saturating_mul(i64::from(self.config.interval_s));
        while let Some((component, _)) = self.config.resolved.pop_if(|(_, time_s)| *time_s <= now_s) {
            self.resolve(component);
        }
    }

    /// The operator's "resolved": the accumulator is zero, and what was seen so far is history.
    pub fn resolve(&mut self, component: usize) {
        let slot = (self.newest - self.origin.unwrap_or(self.newest)).max(0) as u64;
        self.states[component] =
            ComponentState { decided: self.states[component].decided, ..ComponentState::default() };
        let (group, position) = (self.place[component].0 as usize, self.place[component].1 as usize);
        for track in self.tracks.iter_mut().filter(|track| track.group == group) {
            track.resolve(position, slot);
        }
        if let Some((_, states)) = &mut self.groups[group].tick {
            states[position] = State::Undecided;
        }
    }
}

/// What a judged window says of one position; its lists are in order.
fn find<T>(list: &[(usize, T)], position: usize) -> Option<&T> {
    list.binary_search_by_key(&position, |(known, _)| *known).ok().map(|index| &list[index].1)
}

impl ComponentState {
    /// A quiet window. A trouble that has wound down is remembered if it was worth a report, or it would date the next one.
    fn wind_down(&mut self, least_impact: f64) {
        self.accumulator = self.accumulator.saturating_sub(1);
        if self.accumulator == 0 {
            match self.episode.take() {
                Some(episode) if episode.impact() >= least_impact => self.ended.merge(&episode),
                Some(_) => {}
                // What stood aside explains only the trouble it came with.
                None if self.ended.evidence.is_empty() => self.aside = Episode::default(),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! The incremental operator: samples in time order in, events out, the diagnosis on request at any time.
//!
//! Order only: what decides stands in [rules](super::rules). Memory is bounded by the components and the windows, not by the
//! length of the recording. What comes out depends on the samples only, never on how they were cut into chunks.

use super::assess::is_early_slowness;
use super::case::{Context, Surroundings};
use super::config::Config;
use super::evidence::Episode;
use super::gaps::{Attendance, Gap, GapReason, Hole, MOST_GAPS};
use super::judge::{Bench, Found, Judged, Track};
use super::ledger::{Accounts, Ledger, Recorded};
use super::past::Past;
use super::persistence::{History, Strand};
use super::rules::episode::Impact;
use super::rules::window::{self, RESENT_FOR};
use super::score::{ScoredWindow, Scorer};
use super::threshold::Policy;
use super::trace::{Tally, Trace};
use crate::compare::{Score, Subject};
use crate::grid::{Grid, Params, Schedule};
use crate::ids::{ComponentId, GroupId, MemberIndex, Slot, Table, UnixSeconds, WindowIndex};
use crate::model::metric::{Domain, Role};
use crate::model::{Metric, Roster};
use rayon::prelude::*;
use std::collections::VecDeque;

/// Windows of fewer components than this together are scored faster on one core than on several.
const WORTH_SHARING: usize = 256;

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When.
    pub time: UnixSeconds,
    /// Of what.
    pub component: ComponentId,
    /// The metric.
    pub metric: Metric,
    /// Its value; NaN is no sample.
    pub value: f64,
}

/// A judged window of one group in one metric. Lists run over `components`.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedWindow {
    /// The group.
    pub group: GroupId,
    /// The metric.
    pub metric: Metric,
    /// Start.
    pub from: UnixSeconds,
    /// End.
    pub to: UnixSeconds,
    /// Members that took part, ascending.
    pub components: Vec<ComponentId>,
    /// Their scores.
    pub scores: Vec<Score>,
    /// Their thresholds.
    pub thresholds: Vec<f64>,
    /// Anomalous now.
    pub anomalous: Vec<bool>,
}

/// One place in the list of the most persistent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Persistent {
    /// The component.
    pub component: ComponentId,
    /// Its accumulator.
    pub accumulator: u32,
}

/// What the operator reports as it goes.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A window was judged.
    Window(JudgedWindow),
    /// The accumulators moved: those above zero, most persistent first.
    Persistence {
        /// When.
        time: UnixSeconds,
        /// The group.
        group: GroupId,
        /// The list.
        ranking: Vec<Persistent>,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    #[default]
    Undecided,
    Quiet,
    Anomalous,
}

/// A window of the main method that is being gathered over the metrics.
struct Gathering {
    window: WindowIndex,
    members: Table<MemberIndex, Gathered>,
    /// Domains in which members could be compared.
    compared: Domains,
}

/// What a window says of one member.
#[derive(Clone, Copy, Default)]
struct Gathered {
    state: State,
    /// Domains in which it was compared.
    compared: Domains,
    /// It stands out, and a rule says that nothing can be said.
    is_unclear: bool,
}

/// A set of domains.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Domains([bool; Domain::ALL.len()]);

impl Domains {
    fn insert(&mut self, domain: Domain) {
        self.0[domain as usize] = true;
    }
}

/// What is known of a group beside its tracks.
pub(super) struct Group {
    gathering: Option<Gathering>,
    /// Windows that were gathered.
    pub(super) windows: u64,
    /// The first slot after the last window in which members were compared ...
    pub(super) compared_until: Slot,
    /// ... and the slots that had been recorded by then.
    recorded_until: u64,
    /// The most slots that were recorded between two such windows.
    pub(super) longest_uncompared: u64,
    pub(super) attendance: Attendance,
    context: Context,
    /// What each member did and how long it took, where that is recorded.
    ledger: Option<Ledger>,
    /// Its last window.
    accounts: Option<Accounts>,
    /// The group as a whole, against its own past.
    pub(super) past: Past,
}

impl Group {
    /// Members were compared in a window.
    fn note_compared(&mut self, from: Slot, until: Slot) {
        let recorded = self.attendance.recorded_slots();
        if from > self.compared_until {
            // What was recorded since, without the window itself.
            let since = recorded.saturating_sub(self.recorded_until).saturating_sub(until.0 - from.0);
            self.longest_uncompared = self.longest_uncompared.max(since);
        }
        if until > self.compared_until {
            (self.compared_until, self.recorded_until) = (until, recorded);
        }
    }
}

struct OpenSlot {
    start: UnixSeconds,
    /// A row for each track, where there is one.
    rows: Vec<Option<Vec<f64>>>,
}

/// Where a component stands: all that a sample needs of the roster.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) group: GroupId,
    pub(super) member: MemberIndex,
}

/// The operator.
pub struct Diagnoser {
    pub(super) config: Config,
    /// Of the main method, on this grid.
    pub(super) params: Params,
    pub(super) roster: Roster,
    pub(super) places: Table<ComponentId, Place>,
    pub(super) tracks: Vec<Track>,
    /// By group and metric: index of the track.
    track_of: Table<GroupId, [Option<usize>; Metric::COUNT]>,
    pub(super) groups: Table<GroupId, Group>,
    pub(super) histories: Table<ComponentId, History>,
    trace: Trace,
    open: VecDeque<OpenSlot>,
    origin: Option<UnixSeconds>,
    /// All slots that begin before are closed.
    closed_until: UnixSeconds,
    /// Start of the newest slot with a sample.
    newest: Option<UnixSeconds>,
    /// Samples that came too late ...
    pub(super) late: u64,
    /// ... and those that did not.
    pub(super) taken: u64,
    pub(super) gaps: Vec<Gap>,
    pub(super) more_gaps: usize,
    events: Vec<Event>,
}

impl Diagnoser {
    /// An operator for the components of a roster.
    pub fn new(mut config: Config, roster: Roster) -> Diagnoser {
        config.resolved.sort_by_key(|repair| std::cmp::Reverse(repair.at));
        let nowhere = Place { group: GroupId::new(0), member: MemberIndex::new(0) };
        let mut places = Table::filled(nowhere, roster.components.len());
        for (group, known) in roster.groups.enumerate() {
            for (member, &component) in known.members.enumerate() {
                places[component] = Place { group, member };
            }
        }
        let group = |members: usize| Group {
            gathering: None,
            windows: 0,
            compared_until: Slot(0),
            recorded_until: 0,
            longest_uncompared: 0,
            attendance: Attendance::new(members),
            context: Context::default(),
            ledger: None,
            accounts: None,
            past: Past::default(),
        };
        Diagnoser {
            params: config.method.params_on(config.interval_s, config.thresholds.is_some()),
            config,
            places,
            tracks: Vec::new(),
            track_of: Table::filled([None; Metric::COUNT], roster.groups.len()),
            groups: roster.groups.iter().map(|known| group(known.members.len())).collect(),
            histories: Table::filled(History::default(), roster.components.len()),
            trace: Trace::new(roster.components.len()),
            roster,
            open: VecDeque::new(),
            origin: None,
            closed_until: UnixSeconds(i64::MIN),
            newest: None,
            late: 0,
            taken: 0,
            gaps: Vec::new(),
            more_gaps: 0,
            events: Vec::new(),
        }
    }

    /// The roster.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// What the window rules said of a component.
    pub fn rulings(&self, component: ComponentId) -> &[Tally] {
        self.trace.of(component)
    }

    /// Takes a sample. In one slot, the last sample wins; a sample for a closed slot is counted and dropped.
    pub fn push(&mut self, sample: Sample) {
        if sample.value.is_nan() {
            return;
        }
        let start = self.slot_start(sample.time);
        if start < self.closed_until {
            self.late += 1;
            return;
        }
        let Place { group, member } = self.places[sample.component];
        let Some(track) = self.track(group, sample.metric) else { return };
        if self.newest.is_none_or(|newest| start > newest) {
            self.newest = Some(start);
            let lateness_s = self.config.lateness_slots * i64::from(self.config.interval_s);
            self.close_until(start.plus(-lateness_s));
        }
        let width = self.roster.groups[group].members.len();
        let open = self.open_slot(start);
        if open.rows.len() <= track {
            open.rows.resize(track + 1, None);
        }
        let row = open.rows[track].get_or_insert_with(|| vec![f64::NAN; width]);
        row[member.index()] = sample.value;
        self.taken += 1;
    }

    /// Start of the slot of a moment. Most samples are of the newest slot, and need no division.
    fn slot_start(&self, time: UnixSeconds) -> UnixSeconds {
        match self.newest {
            Some(newest) if newest <= time && time.0 - newest.0 < i64::from(self.config.interval_s) => newest,
            _ => Grid::floor(self.config.interval_s, time),
        }
    }

    /// No more samples: closes what is open.
    pub fn finish(&mut self) {
        self.close_until(UnixSeconds(i64::MAX));
        for group in self.groups.ids() {
            self.end_window(group);
        }
        // Repairs after the last sample: what was seen is history all the same.
        self.resolve_until(UnixSeconds(i64::MAX));
    }

    /// Samples were lost on the way, it is not known of which components.
    pub fn note_lost(&mut self) {
        self.config.incomplete.is_of_others = true;
    }

    /// What happened since the last call.
    pub fn drain(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn open_slot(&mut self, start: UnixSeconds) -> &mut OpenSlot {
        let index = self.open.partition_point(|open| open.start < start);
        if self.open.get(index).is_none_or(|open| open.start != start) {
            self.open.insert(index, OpenSlot { start, rows: Vec::new() });
        }
        &mut self.open[index]
    }

    /// The track of a group and metric, made when the first sample comes; `None` for metrics that are not used.
    fn track(&mut self, group: GroupId, metric: Metric) -> Option<usize> {
        if let Some(track) = self.track_of[group][metric as usize] {
            return Some(track);
        }
        let method = self.config.method_of(metric)?;
        let members = &self.roster.groups[group].members;
        let policy = match &self.config.thresholds {
            Some(thresholds) => {
                let known = thresholds.find(method, metric)?;
                let threshold = |&component: &ComponentId| known.threshold(self.roster.name(component));
                Policy::Trained(members.iter().map(threshold).collect())
            }
            None => Policy::FromPeers,
        };
        let params = method.params_on(self.config.interval_s, policy.is_trained());
        let scorer = Scorer::new(group, metric, method, params, policy, members.len());
        let newest = self.newest_slot();
        self.groups[group].context.expect(metric, newest);
        self.tracks.push(Track::new(scorer, members.len()));
        self.track_of[group][metric as usize] = Some(self.tracks.len() - 1);
        self.track_of[group][metric as usize]
    }

    fn close_until(&mut self, bound: UnixSeconds) {
        while self.open.front().is_some_and(|open| open.start < bound) {
            let Some(open) = self.open.pop_front() else { break };
            self.resolve_until(open.start);
            self.close(&open);
        }
        self.closed_until = self.closed_until.max(bound);
    }

    fn close(&mut self, open: &OpenSlot) {
        // The first slot to close is the origin: an earlier one may still have come while it was open.
        self.origin.get_or_insert(open.start);
        let slot = self.grid().slot(open.start);
        self.attend(slot, &open.rows);
        // A window may be late by another: what is older is not recorded any more.
        let forgotten = Slot(slot.0.saturating_sub(RESENT_FOR.value as u64 * self.params.size as u64));
        self.groups.iter_mut().for_each(|group| group.context.forget_before(forgotten));
        if self.is_worth_sharing(slot, &open.rows) {
            let mut scored = self.score_on_all_cores(slot, &open.rows);
            for group in self.groups.ids() {
                scored.extend(self.book(group, slot, &open.rows));
            }
            self.judge_all(scored, slot);
            return;
        }
        for group in self.groups.ids() {
            let mut scored = self.score_group(group, slot, &open.rows);
            scored.extend(self.book(group, slot, &open.rows));
            self.judge_all(scored, slot);
        }
    }

    /// Books what a slot recorded of a group; yields the windows of cost and work that it completes.
    fn book(&mut self, group: GroupId, slot: Slot, rows: &[Option<Vec<f64>>]) -> Vec<ScoredWindow> {
        if !self.config.keeps_books() {
            return Vec::new();
        }
        let tracks = &self.track_of[group];
        let row = |metric: Metric| rows.get(tracks[metric as usize]?)?.as_deref();
        let recorded = Recorded::new(row);
        if recorded.is_empty() {
            return Vec::new();
        }
        let (params, members) = (self.params, self.roster.groups[group].members.len());
        let ledger = self.groups[group].ledger.get_or_insert_with(|| Ledger::new(params, members));
        let Some(accounts) = ledger.push(slot, recorded) else { return Vec::new() };
        let mut windows = Vec::new();
        for metric in [Metric::Cost, Metric::Work] {
            if let Some(track) = self.track(group, metric) {
                windows.push(accounts.window(&self.tracks[track].scorer));
            }
        }
        let (schedule, grid) = (Schedule::new(self.params), self.grid());
        let span = (grid.start(schedule.from(accounts.index)), grid.start(schedule.to(accounts.index)));
        let k = window::filter_k(params.k, &self.config.without);
        self.groups[group].past.push(span, k, accounts.group.as_ref(), &self.config.without);
        self.groups[group].accounts = Some(accounts);
        windows
    }

    fn judge_all(&mut self, mut scored: Vec<ScoredWindow>, slot: Slot) {
        for explaining in scored.iter().filter(|scored| scored.is_decided) {
            self.groups[explaining.group].context.keep(explaining, slot);
        }
        // Congestion windows first: verdicts of this second belong to the window that ends with it.
        scored.retain(|scored| scored.metric.can_indict());
        scored.sort_by_key(|scored| scored.metric.role() != Role::Congestion);
        let judged: Vec<Judged> = (0..scored.len()).map(|index| self.judge(index, &scored)).collect();
        for (scored, judged) in scored.into_iter().zip(judged) {
            self.report(scored, judged);
        }
    }

    pub(super) fn grid(&self) -> Grid {
        Grid { interval_s: self.config.interval_s, origin: self.origin.unwrap_or_default() }
    }

    /// The newest slot with a sample.
    pub(super) fn newest_slot(&self) -> Slot {
        self.newest.filter(|_| self.origin.is_some()).map_or(Slot(0), |newest| self.grid().slot(newest))
    }

    /// Start of the newest slot, or of the first.
    pub(super) fn newest_start(&self) -> UnixSeconds {
        let origin = self.origin.unwrap_or_default();
        self.newest.map_or(origin, |newest| newest.max(origin))
    }

    /// Whether so much is to be scored that several cores are faster than one.
    fn is_worth_sharing(&self, slot: Slot, rows: &[Option<Vec<f64>>]) -> bool {
        let due = rows.iter().flatten();
        let completes_window = Schedule::new(self.params).completed_by(slot).is_some();
        let has_cores = rayon::current_num_threads() > 1;
        has_cores
            && self.config.method.subject != Subject::Slowdown
            && completes_window
            && due.clone().count() > 1
            && due.map(Vec::len).sum::<usize>() >= WORTH_SHARING
    }

    fn score_on_all_cores(&mut self, slot: Slot, rows: &[Option<Vec<f64>>]) -> Vec<ScoredWindow> {
        let due = self.tracks.iter_mut().zip(rows).filter_map(|(track, row)| Some((track, row.as_ref()?)));
        let mut due: Vec<(&mut Track, &Vec<f64>)> = due.collect();
        due.par_iter_mut().flat_map_iter(|(track, row)| track.scorer.push(slot, row)).collect()
    }

    fn score_group(&mut self, group: GroupId, slot: Slot, rows: &[Option<Vec<f64>>]) -> Vec<ScoredWindow> {
        let mut scored = Vec::new();
        let throughput = self.throughput(group, rows);
        for &track in self.track_of[group].iter().flatten() {
            if let Some(row) = rows.get(track).and_then(Option::as_ref) {
                let scorer = &mut self.tracks[track].scorer;
                scored.extend(match throughput.as_ref().filter(|_| scorer.metric == Metric::Await) {
                    Some(throughput) => scorer.push_beside(slot, row, throughput),
                    None => scorer.push(slot, row),
                });
            }
        }
        scored
    }

    /// What each member of a group moved in a slot, for methods that hold latency against it: bytes, or whatever the site recorded,
    /// or requests.
    fn throughput(&self, group: GroupId, rows: &[Option<Vec<f64>>]) -> Option<Vec<f64>> {
        if self.config.method.subject != Subject::Slowdown {
            return None;
        }
        let row = |metric: Metric| rows.get(self.track_of[group][metric as usize]?)?.clone();
        let bytes = || match (row(Metric::RdSec), row(Metric::WrSec)) {
            (Some(read), Some(written)) => Some(read.iter().zip(written).map(|(a, b)| a + b).collect()),
            (read, written) => read.or(written),
        };
        row(Metric::Throughput).or_else(bytes).or_else(|| row(Metric::Tps))
    }

    fn attend(&mut self, slot: Slot, rows: &[Option<Vec<f64>>]) {
        for group in self.groups.ids() {
            let tracks = self.track_of[group].iter().flatten();
            let of_group: Vec<&Vec<f64>> =
                tracks.filter_map(|&track| rows.get(track).and_then(Option::as_ref)).collect();
            if of_group.is_empty() {
                continue;
            }
            let mut holes = Vec::new();
            let is_recorded = |member: MemberIndex| of_group.iter().any(|row| !row[member.index()].is_nan());
            self.groups[group].attendance.push(slot, is_recorded, &mut holes);
            for hole in holes {
                let gap = self.gap(group, hole);
                if self.gaps.len() < MOST_GAPS { self.gaps.push(gap) } else { self.more_gaps += 1 }
            }
        }
    }

    pub(super) fn gap(&self, group: GroupId, hole: Hole) -> Gap {
        let known = &self.roster.groups[group];
        let (component, reason) = match hole.member {
            Some(member) => (self.roster.name(known.members[member]), GapReason::PeersRecorded),
            None => (known.name.as_str(), GapReason::GroupNotRecorded),
        };
        let grid = self.grid();
        Gap { component: component.into(), from: grid.start(hole.from), to: grid.start(hole.to), reason }
    }

    /// Judges one of the windows of a slot, and takes it into the histories of its components.
    fn judge(&mut self, index: usize, windows: &[ScoredWindow]) -> Judged {
        let scored = &windows[index];
        let group = scored.group;
        let Some(track) = self.track_of[group][scored.metric as usize].filter(|_| scored.is_decided) else {
            return Judged::nothing(scored.members.len());
        };
        let bench = Bench {
            components: &self.roster.components,
            members: &self.roster.groups[group].members,
            attendance: &self.groups[group].attendance,
            surroundings: Surroundings {
                group,
                context: &self.groups[group].context,
                windows,
                accounts: self.groups[group].accounts.as_ref(),
            },
            ledger: self.groups[group].ledger.as_ref(),
            grid: self.grid(),
            without: &self.config.without,
            asked: &self.config.asked,
            incomplete: &self.config.incomplete.components,
            budget: self.config.budget,
            parts: self.roster.components.len(),
        };
        let track = &mut self.tracks[track];
        let last = Slot(track.scorer.schedule().to(scored.index).0 - 1);
        let judged = track.judge(scored, bench, &mut self.trace);
        self.groups[group].note_compared(track.scorer.schedule().from(scored.index), Slot(last.0 + 1));
        self.gather(Schedule::new(self.params).filling_at(last), scored, &judged);
        judged
    }

    fn report(&mut self, scored: ScoredWindow, judged: Judged) {
        let Some(track) = self.track_of[scored.group][scored.metric as usize] else { return };
        let (schedule, grid) = (self.tracks[track].scorer.schedule(), self.grid());
        self.tracks[track].scorer.recycle(scored.window);
        let members = &self.roster.groups[scored.group].members;
        self.events.push(Event::Window(JudgedWindow {
            group: scored.group,
            metric: scored.metric,
            from: grid.start(schedule.from(scored.index)),
            to: grid.start(schedule.to(scored.index)),
            components: scored.members.iter().map(|&member| members[member]).collect(),
            scores: scored.scores,
            thresholds: scored.thresholds,
            anomalous: judged.anomalous,
        }));
    }

    /// Anomalous in one or more metrics is one anomalous window: metrics of one window are gathered before they count.
    fn gather(&mut self, window: WindowIndex, scored: &ScoredWindow, judged: &Judged) {
        let group = scored.group;
        if !self.join(group, window, scored, judged) {
            return;
        }
        let members = &self.roster.groups[group].members;
        let is_silent = |row: usize| {
            let of_row = |found: &&Found| found.row == row;
            judged.found.iter().find(of_row).is_some_and(|found| found.finding.is_silence())
        };
        for (row, member) in scored.members.iter().enumerate().filter(|(row, _)| judged.anomalous[*row]) {
            if !is_silent(row) {
                let strand = Strand { domain: self.domain(scored.metric), is_load: !judged.indicted[row] };
                self.histories[members[*member]].mark(strand);
            }
        }
        for found in &judged.found {
            let component = members[scored.members[found.row]];
            // Silence is one trouble, whatever is not heard of.
            let is_silence = found.finding.is_silence();
            let domain = if is_silence { Domain::default() } else { self.domain(scored.metric) };
            let history = &mut self.histories[component];
            match judged.indicted[found.row] {
                true => {
                    history.mark(Strand { domain, is_load: false });
                    history.indict(domain, &found.finding);
                }
                false => history.explain(domain, found.finding.clone()),
            }
        }
    }

    /// Trained thresholds are judged as published: one trouble, whatever shows it.
    fn domain(&self, metric: Metric) -> Domain {
        if self.config.thresholds.is_some() { Domain::default() } else { metric.role().domain() }
    }

    /// Takes what one metric says into the window of now; false where it is of an earlier one.
    fn join(&mut self, group: GroupId, window: WindowIndex, scored: &ScoredWindow, judged: &Judged) -> bool {
        match &self.groups[group].gathering {
            Some(current) if window > current.window => self.end_window(group),
            // A metric that paused has windows of then.
            Some(current) if window < current.window => return false,
            _ => {}
        }
        let width = self.roster.groups[group].members.len();
        let fresh = || Gathering {
            window,
            members: Table::filled(Gathered::default(), width),
            compared: Domains::default(),
        };
        let gathering = self.groups[group].gathering.get_or_insert_with(fresh);
        let role = scored.metric.role();
        let domain = role.is_main().then(|| role.domain());
        domain.into_iter().for_each(|domain| gathering.compared.insert(domain));
        let mut unscored = judged.unscored.iter().peekable();
        for (row, &member) in scored.members.iter().enumerate() {
            if unscored.next_if_eq(&&row).is_some() {
                continue;
            }
            let known = &mut gathering.members[member];
            known.state = known.state.max(if judged.indicted[row] { State::Anomalous } else { State::Quiet });
            domain.into_iter().for_each(|domain| known.compared.insert(domain));
        }
        for &row in &judged.unclear {
            gathering.members[scored.members[row]].is_unclear = true;
        }
        true
    }

    /// A window is complete in all metrics: the accumulators move.
    fn end_window(&mut self, group: GroupId) {
        let Some(Gathering { window, members, compared }) = self.groups[group].gathering.take() else {
            return;
        };
        self.groups[group].windows += 1;
        let windows = self.groups[group].windows;
        let (without, shift_s) = (self.config.without.clone(), self.shift_s());
        let is_trained = self.config.thresholds.is_some();
        let origin = self.grid().origin;
        let excused = |episode: &Episode| {
            // What is learnt later may show that a slowness of the first hour was rare.
            let is_early = is_early_slowness(episode, origin) && !is_trained;
            let impact = Impact::new(episode, windows, shift_s, is_trained);
            impact.excused(&without).filter(|_| !is_early)
        };
        let mut ranking = Vec::new();
        for (member, known) in members.enumerate() {
            let component = self.roster.groups[group].members[member];
            let state = known.state;
            let history = &mut self.histories[component];
            history.windows.judged += u64::from(state != State::Undecided);
            history.windows.unclear += u64::from(known.is_unclear);
            if state != State::Undecided || known.is_unclear {
                let now = &mut history.windows.unclear_now;
                *now = if known.is_unclear { *now + 1 } else { 0 };
            }
            if self.groups[group].attendance.last_seen(member).is_some() {
                history.windows.present += 1;
                let is_partial = known.compared != compared;
                history.windows.partial += u64::from(is_partial);
                history.windows.partial_now = if is_partial { history.windows.partial_now + 1 } else { 0 };
            }
            match state {
                State::Anomalous => history.count_anomalous(),
                State::Quiet => history.count_quiet(),
                State::Undecided => {}
            }
            for (by, episode) in history.end_window(state != State::Undecided, excused) {
                let span = (episode.first, episode.last);
                let tally = Tally::new(by.rule, by.metric, span, episode.impact(), by.numbers);
                self.trace.add(component, tally);
            }
            if history.accumulator > 0 {
                ranking.push(Persistent { component, accumulator: history.accumulator });
            }
        }
        ranking.sort_by_key(|place| (std::cmp::Reverse(place.accumulator), place.component));
        let time = self.grid().start(Schedule::new(self.params).to(window));
        self.events.push(Event::Persistence { time, group, ranking });
    }

    /// Seconds from one window of the main method to the next.
    pub(super) fn shift_s(&self) -> f64 {
        self.params.shift as f64 * f64::from(self.config.interval_s)
    }

    fn resolve_until(&mut self, now: UnixSeconds) {
        while let Some(repair) = self.config.resolved.pop_if(|repair| repair.at <= now) {
            self.resolve(repair.component);
        }
    }

    /// The administrator's "resolved": the accumulator is zero, and what was seen so far is history.
    pub fn resolve(&mut self, component: ComponentId) {
        let slot = self.newest_slot();
        self.histories[component].forget();
        self.trace.clear(component);
        let Place { group, member } = self.places[component];
        for track in self.tracks.iter_mut().filter(|track| track.scorer.group == group) {
            track.memory.filters[member].clear();
            if let Some(calibration) = &mut track.calibration {
                calibration.forget(member);
            }
            track.scorer.resolve(member, slot);
        }
        if let Some(gathering) = &mut self.groups[group].gathering {
            gathering.members[member] = Gathered::default();
        }
    }
}

#[cfg(test)]
mod tests;

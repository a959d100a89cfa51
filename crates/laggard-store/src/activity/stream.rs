//! Activity files replayed: some slots at a time, all hosts together, never more than an hour or two of them in memory.

use super::work::{self, Latest, Plan, SocketMetric, Sums, Times};
use super::{HostFiles, Hosts, summary};
use crate::recording::Series;
use crate::time;
use laggard_activity::Counters;
use laggard_activity::kind::{Kind, KindId, PEER, PeerField};
use laggard_activity::{ABSENT, Damage, Stretch, growth};
use laggard_core::model::Metric;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What is read of sockets.
const SOCKET_FIELDS: [usize; 3] =
    [PeerField::Sockets.index(), PeerField::Cwnd.index(), PeerField::Retransmits.index()];

/// What sockets to clients say of a server, as it sees them and as its clients do.
const TO_CLIENTS: [(Metric, SocketMetric); 2] =
    [(Metric::CwndToClients, SocketMetric::Window), (Metric::RetransToClients, SocketMetric::SentAgain)];
const FROM_CLIENTS: [(Metric, SocketMetric); 2] =
    [(Metric::CwndFromClients, SocketMetric::Window), (Metric::RetransFromClients, SocketMetric::SentAgain)];

/// Slots that are replayed at once: memory is the same on any grid. An hour in samples of 15 s.
const CHUNK_SLOTS: i64 = 240;

/// What a chunk holds: component (of the recording), metric, and slots.
pub type Chunk = Vec<(usize, Metric, Series)>;

/// Work by slot, in order; a thing that is not recorded has no slots.
#[derive(Debug, Default)]
struct Lane {
    latest: Latest,
    slots: VecDeque<(i64, Sums)>,
    /// Slots before this have been replayed.
    done: i64,
}

impl Lane {
    fn add(&mut self, slot: i64, sums: &Sums) {
        add_slot(&mut self.slots, self.done, slot, sums);
    }

    /// Forgets a slot and all after it: what was recorded again counts.
    fn forget_from(&mut self, slot: i64) {
        while self.slots.back().is_some_and(|(last, _)| *last >= slot) {
            self.slots.pop_back();
        }
    }

    fn take_before(&mut self, slot: i64) -> Vec<(i64, Sums)> {
        self.done = self.done.max(slot);
        let count = self.slots.partition_point(|(known, _)| *known < slot);
        self.slots.drain(..count).collect()
    }
}

/// Adds work to a slot, unless it has been replayed.
fn add_slot(slots: &mut VecDeque<(i64, Sums)>, done: i64, slot: i64, sums: &Sums) {
    if slot < done {
        return;
    }
    match slots.back_mut() {
        Some((last, known)) if *last == slot => work::add(known, sums),
        Some((last, _)) if *last > slot => {
            // A clock was set back.
            let at = slots.partition_point(|(known, _)| *known < slot);
            match slots.get_mut(at).filter(|(known, _)| *known == slot) {
                Some((_, known)) => work::add(known, sums),
                None => slots.insert(at, (slot, *sums)),
            }
        }
        _ => slots.push_back((slot, *sums)),
    }
}

/// One host under replay.
struct HostStream {
    host: HostFiles,
    /// Segments still to read: file, segment, first second.
    left: VecDeque<(usize, usize, i64)>,
    open: BTreeMap<usize, Arc<dyn Counters>>,
    /// By kind, and name.
    lanes: BTreeMap<KindId, BTreeMap<String, Lane>>,
    clients: Lane,
    /// Segments that the sockets with each remote host ever sent again.
    sent_again: BTreeMap<String, i64>,
    /// Files that could be read when they were listed, and cannot now.
    unread: Vec<String>,
}

/// All hosts under replay.
pub struct Stream {
    hosts: Vec<HostStream>,
    /// What clients see of each server.
    incoming: BTreeMap<usize, Lane>,
    reading: Reading,
}

/// What is read of the files, and how it falls on the grid.
#[derive(Clone)]
struct Reading {
    grid_s: i64,
    bounds_s: (i64, i64),
    wanted: Vec<Metric>,
    plans: Vec<Plan>,
}

impl Stream {
    /// Prepares a replay on a grid. Where the grid allows, summaries stand for the files.
    pub fn new(hosts: &Hosts, grid_s: i64, wanted: &[Metric]) -> Stream {
        let bounds_s = hosts.bounds_s.unwrap_or((i64::MIN, i64::MAX));
        let host = |host: &HostFiles| {
            let mut host = host.clone();
            if grid_s % summary::INTERVAL_S == 0 {
                host.files.iter_mut().for_each(summary::instead);
            }
            let segments = host.files.iter().enumerate().flat_map(|(file, info)| {
                let segments = info.segments.iter().enumerate();
                let wanted = segments.filter(|(_, (from, to))| *from <= bounds_s.1 && *to >= bounds_s.0);
                wanted.map(move |(segment, (from, _))| (file, segment, *from))
            });
            // In time order, also where the files of a host overlap.
            let mut left: Vec<(usize, usize, i64)> = segments.collect();
            left.sort_by_key(|(file, segment, first_s)| (*first_s, *file, *segment));
            let left = left.into();
            HostStream {
                host,
                left,
                open: BTreeMap::new(),
                lanes: BTreeMap::new(),
                clients: Lane::default(),
                sent_again: BTreeMap::new(),
                unread: Vec::new(),
            }
        };
        Stream {
            hosts: hosts.iter().map(host).collect(),
            incoming: BTreeMap::new(),
            reading: Reading { grid_s, bounds_s, wanted: wanted.to_vec(), plans: Plan::all(wanted) },
        }
    }

    /// What could not be read since the files were listed.
    pub fn unread(&self) -> impl Iterator<Item = &String> {
        self.hosts.iter().flat_map(|host| &host.unread)
    }

    /// The next slots that have something in them; `None` at the end.
    pub fn next_chunk(&mut self) -> Option<Chunk> {
        self.next_chunk_before(i64::MAX)
    }

    /// The same, of what is before a slot; `None` where nothing of it is left.
    pub fn next_chunk_before(&mut self, end: i64) -> Option<Chunk> {
        let grid_s = self.reading.grid_s;
        let from = self.next_s()?.div_euclid(grid_s);
        if from >= end {
            return None;
        }
        let to = (from + CHUNK_SLOTS).min(end);
        for host in &mut self.hosts {
            while host.left.front().is_some_and(|(_, _, first_s)| first_s.div_euclid(grid_s) < to) {
                host.read_next(&self.reading, &mut self.incoming);
            }
        }
        Some(self.take_before(to))
    }

    /// Everything before a slot that has been read.
    pub fn take_before(&mut self, to: i64) -> Chunk {
        let mut chunk = Chunk::new();
        let grid_s = self.reading.grid_s;
        for host in &mut self.hosts {
            host.take_before(to, &self.reading, &mut chunk);
        }
        for (component, lane) in &mut self.incoming {
            let slots = lane.take_before(to);
            let wanted = FROM_CLIENTS.into_iter().filter(|(metric, _)| self.reading.wanted.contains(metric));
            for (metric, what) in wanted {
                push(&mut chunk, *component, metric, &slots, |sums| work::of_sockets(sums, what, grid_s));
            }
        }
        chunk
    }

    /// Reads the rest of what was listed, without replaying it yet. For what is then followed.
    pub fn read_all(&mut self) {
        for host in &mut self.hosts {
            while !host.left.is_empty() {
                host.read_next(&self.reading, &mut self.incoming);
            }
        }
    }

    /// Takes what a host has recorded since, of the seconds after this one.
    pub fn read_fresh(&mut self, host: &str, fresh: &dyn Counters, after_s: i64) -> Vec<String> {
        let bounds_s = (after_s.saturating_add(1).max(self.reading.bounds_s.0), self.reading.bounds_s.1);
        let reading = Reading { bounds_s, ..self.reading.clone() };
        match self.hosts.iter_mut().find(|known| known.host.name == host) {
            Some(known) => known.absorb(fresh, 0, &reading, &mut self.incoming),
            None => Vec::new(),
        }
    }

    /// The earliest second that is still to be replayed.
    fn next_s(&self) -> Option<i64> {
        let lanes = self.hosts.iter().flat_map(|host| {
            host.lanes.values().flat_map(BTreeMap::values).chain(std::iter::once(&host.clients))
        });
        let held = lanes.chain(self.incoming.values()).filter_map(|lane| lane.slots.front());
        let held = held.map(|(slot, _)| slot * self.reading.grid_s).min();
        let unread =
            self.hosts.iter().filter_map(|host| host.left.front()).map(|(_, _, first_s)| *first_s).min();
        held.into_iter().chain(unread).min()
    }
}

impl HostStream {
    fn read_next(&mut self, reading: &Reading, incoming: &mut BTreeMap<usize, Lane>) {
        let Some((file, segment, _)) = self.left.pop_front() else { return };
        let activity = match self.open.remove(&file) {
            Some(activity) => activity,
            None => match self.host.files[file].open() {
                Ok(activity) => activity,
                Err(damage) => {
                    self.unread.push(format!("{}: {damage}", self.host.files[file].path.display()));
                    return;
                }
            },
        };
        let path = self.host.files[file].path.display().to_string();
        let damages = self.absorb(activity.as_ref(), segment, reading, incoming);
        self.unread.extend(damages.into_iter().map(|damage| format!("{path}: {damage}")));
        if self.left.iter().any(|(other, _, _)| *other == file) {
            self.open.insert(file, activity);
        }
    }

    /// Adds the work of a segment to the lanes; says what of it could not be read.
    fn absorb(
        &mut self,
        activity: &dyn Counters,
        segment: usize,
        reading: &Reading,
        incoming: &mut BTreeMap<usize, Lane>,
    ) -> Vec<String> {
        let Reading { grid_s, bounds_s, wanted, plans } = reading;
        let interval_s = i64::from(activity.origin().interval_s);
        let (grid_s, bounds_s) = (*grid_s, *bounds_s);
        let clock =
            Grid { grid_s, bounds_s, interval_s, patience_ms: growth::patience_ms(grid_s.max(interval_s)) };
        let mut outcomes = Vec::new();
        for plan in plans {
            let lanes = self.lanes.entry(plan.kind.id).or_default();
            // The loopback is nobody's traffic; others than our agent record it.
            let is_wanted = |name: &str| plan.kind.id != KindId::Net || name != "lo";
            let read = activity.scan(segment, plan.kind, &plan.fields, &mut |stretch| {
                if is_wanted(stretch.name) {
                    clock.work(lanes, plan, stretch);
                }
            });
            outcomes.push((plan.kind, read));
        }
        if TO_CLIENTS.iter().chain(&FROM_CLIENTS).any(|(metric, _)| wanted.contains(metric)) {
            let (clients, host, sent_again) = (&mut self.clients, &self.host, &mut self.sent_again);
            // Sockets, the sum of their windows, and of what they ever sent again.
            let read = activity.scan(segment, &PEER, &SOCKET_FIELDS, &mut |stretch| {
                let lane = match stretch.name.strip_prefix("server:") {
                    None => &mut *clients,
                    Some(address) => match host.server_components.get(address) {
                        Some(component) => incoming.entry(*component).or_default(),
                        None => return,
                    },
                };
                clock.windows(lane, stretch, sent_again);
            });
            outcomes.push((&PEER, read));
        }
        let say = |(kind, outcome): (&Kind, Result<(), Damage>)| {
            let damage = outcome.err()?;
            let (from_s, to_s) = activity.span_s(segment);
            let [from, to] = [from_s, to_s].map(time::format);
            Some(format!("{damage}: nothing of kind `{}` from {from} to {to} is used", kind.name))
        };
        outcomes.into_iter().filter_map(say).collect()
    }

    fn take_before(&mut self, to: i64, reading: &Reading, chunk: &mut Chunk) {
        let (host, wanted) = (self.host.component, &reading.wanted);
        for (kind, lanes) in &mut self.lanes {
            let of_kind: Vec<Metric> = wanted
                .iter()
                .copied()
                .filter(|metric| work::made_of(*metric).is_some_and(|(id, _)| id == *kind))
                .collect();
            // Disks are components; all else is added up for the host.
            let mut of_host: BTreeMap<i64, Sums> = BTreeMap::new();
            for (name, lane) in lanes {
                let slots = lane.take_before(to);
                if *kind != KindId::Disk {
                    for (slot, sums) in slots {
                        of_host.entry(slot).and_modify(|known| work::join(known, &sums)).or_insert(sums);
                    }
                    continue;
                }
                let component = self.host.disks.get(name).map_or(host, |disk| disk.component);
                for metric in &of_kind {
                    push(chunk, component, *metric, &slots, |sums| work::of(sums, *metric));
                }
            }
            let of_host: Vec<(i64, Sums)> = of_host.into_iter().collect();
            for metric in &of_kind {
                push(chunk, host, *metric, &of_host, |sums| work::of(sums, *metric));
            }
        }
        let sockets = self.clients.take_before(to);
        for (metric, what) in TO_CLIENTS.into_iter().filter(|(metric, _)| wanted.contains(metric)) {
            push(chunk, host, metric, &sockets, |sums| work::of_sockets(sums, what, reading.grid_s));
        }
    }
}

fn push(
    chunk: &mut Chunk,
    component: usize,
    metric: Metric,
    slots: &[(i64, Sums)],
    value: impl Fn(&Sums) -> Option<f64>,
) {
    let series: Series = slots.iter().filter_map(|(slot, sums)| Some((*slot, value(sums)?))).collect();
    if !series.is_empty() {
        chunk.push((component, metric, series));
    }
}

/// How the samples of a file fall on the grid.
struct Grid {
    grid_s: i64,
    bounds_s: (i64, i64),
    interval_s: i64,
    patience_ms: i64,
}

impl Grid {
    fn work(&self, lanes: &mut BTreeMap<String, Lane>, plan: &Plan, stretch: &Stretch) {
        if !lanes.contains_key(stretch.name) {
            lanes.insert(stretch.name.to_string(), Lane::default());
        }
        let Some(lane) = lanes.get_mut(stretch.name) else { return };
        if self.work_steadily(lane, plan, stretch).is_some() {
            return;
        }
        for (sample, (time_s, late_ms)) in stretch.times_s.iter().zip(stretch.late_ms).enumerate() {
            if !(self.bounds_s.0..=self.bounds_s.1).contains(time_s) {
                continue;
            }
            let slot = time_s.div_euclid(self.grid_s);
            let time_ms = time_s * 1000 + late_ms;
            // The last sample of a second counts, where a second is a slot.
            if self.grid_s <= self.interval_s && lane.latest.time_ms().is_some_and(|known| time_ms <= known) {
                lane.forget_from(slot);
            }
            let work =
                lane.latest.advance(plan, time_ms, self.patience_ms, |field| stretch.fields[field][sample]);
            if let Some(work) = work {
                lane.add(slot, &work);
            }
        }
    }

    /// All samples of a stretch at once, where nothing is out of the ordinary.
    fn work_steadily(&self, lane: &mut Lane, plan: &Plan, stretch: &Stretch) -> Option<()> {
        let (first, last) = (stretch.times_s.first()?, stretch.times_s.last()?);
        // Where a slot is a sample, there is nothing to gain, and the last of repeated samples counts.
        let is_inside = *first >= self.bounds_s.0 && *last <= self.bounds_s.1;
        if self.grid_s <= self.interval_s || !is_inside {
            return None;
        }
        let Lane { latest, slots, done } = lane;
        let times = Times { seconds: stretch.times_s, late_ms: stretch.late_ms, grid_s: self.grid_s };
        latest.advance_steadily(plan, times, self.patience_ms, &stretch.fields, |slot, sums| {
            add_slot(slots, *done, slot, sums);
        })
    }

    fn windows(&self, lane: &mut Lane, stretch: &Stretch, sent_again: &mut BTreeMap<String, i64>) {
        let mut known = sent_again.get(stretch.name).copied();
        for (sample, time_s) in stretch.times_s.iter().enumerate() {
            let [sockets, cwnd, again] = [0, 1, 2].map(|field| stretch.fields[field][sample]);
            let is_wanted = (self.bounds_s.0..=self.bounds_s.1).contains(time_s);
            if is_wanted && sockets != ABSENT && cwnd != ABSENT {
                // A socket that is closed takes what it had sent again with it: less is no news.
                let more = known.filter(|_| again != ABSENT).map_or(0, |known| (again - known).max(0));
                lane.add(time_s.div_euclid(self.grid_s), &work::windows(sockets, cwnd, more));
            }
            known = Some(again).filter(|again| *again != ABSENT).or(known);
        }
        if let Some(known) = known {
            sent_again.insert(stretch.name.to_string(), known);
        }
    }
}

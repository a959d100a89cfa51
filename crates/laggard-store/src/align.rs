//! From samples as recorded to a regular grid, without losing work, and replayed in time order.
//!
//! A rate keeps its mean over the slot; a mean per request is weighted by the requests completed (`tps`), where they were
//! recorded. A sample stands for its component's interval: finer ones are averaged into a slot, coarser ones are spread over
//! the slots they cover. Otherwise the last sample of a slot wins, and a slot without one is missing.

use crate::activity::Hosts;
use crate::activity::stream::Stream;
use crate::recording::{Recording, Series};
use laggard_core::diagnose::Sample;
use laggard_core::ids::{ComponentId, UnixSeconds};
use laggard_core::model::metric::Averaging;
use laggard_core::model::{Metric, Roster};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A sample stands for at most so many slots; a series with larger steps has holes, not an interval.
const MOST_COVERED: i64 = 100;

/// Intervals found in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intervals {
    /// Of most components: the median.
    pub usual_s: i64,
    /// Of the finest.
    pub finest_s: i64,
    /// Of the coarsest.
    pub coarsest_s: i64,
}

/// The intervals of the components that have a wanted metric; `None` if none has enough rows to tell.
pub fn intervals(recording: &Recording, wanted: impl Fn(Metric) -> bool) -> Option<Intervals> {
    let has_wanted = |component: &usize| {
        Metric::all().any(|metric| wanted(metric) && recording.series(*component, metric).is_some())
            || recording.hosts().interval_of(*component).is_some()
    };
    let components = (0..recording.observed().len()).filter(has_wanted);
    let mut all: Vec<i64> = components.filter_map(|component| recording.interval_of(component)).collect();
    all.sort_unstable();
    Some(Intervals { usual_s: *all.get(all.len() / 2)?, finest_s: *all.first()?, coarsest_s: *all.last()? })
}

/// One series on a grid: slot (time divided by the interval) and value. `own_s` is how often its component is recorded.
pub fn on_grid(series: &Series, own_s: i64, grid_s: i64, requests: Option<&Series>) -> Series {
    if own_s < grid_s {
        return average(series, grid_s, requests);
    }
    let covered = (own_s / grid_s).clamp(1, MOST_COVERED);
    let mut slots: Series = Vec::with_capacity(series.len());
    for &(time, value) in series {
        let slot = time.div_euclid(grid_s);
        // Before the first sample nothing was recorded, whatever it averages over.
        let free_from = slots.last().map_or(slot, |(last, _)| last + 1);
        if slot < free_from {
            if let Some(last) = slots.last_mut() {
                *last = (slot, value);
            }
            continue;
        }
        slots.extend(((slot - covered + 1).max(free_from)..=slot).map(|slot| (slot, value)));
    }
    slots
}

fn average(series: &Series, grid_s: i64, requests: Option<&Series>) -> Series {
    let mut slots = Series::new();
    let mut weights = requests.map(|requests| requests.iter().peekable());
    let slot_of = |sample: &(i64, f64)| sample.0.div_euclid(grid_s);
    for slot in series.chunk_by(|a, b| slot_of(a) == slot_of(b)) {
        let (mut sum, mut weight, mut weighed) = (0.0, 0.0, false);
        for &(time, value) in slot {
            let requests = weights.as_mut().and_then(|weights| {
                while weights.next_if(|(known, _)| *known < time).is_some() {}
                weights.next_if(|(known, _)| *known == time)
            });
            // A sample whose requests nobody counted has no weight beside one that has.
            if let Some((_, requests)) = requests {
                weighed = true;
                sum += value * requests.max(0.0);
                weight += requests.max(0.0);
            }
        }
        let plain = || slot.iter().map(|(_, value)| value).sum::<f64>() / slot.len() as f64;
        let value = match weighed {
            // No request completed: sysstat calls that zero, and so do the papers.
            true if weight == 0.0 => 0.0,
            true => sum / weight,
            false => plain(),
        };
        slots.push((slot_of(&slot[0]), value));
    }
    slots
}

/// A part of a series of a component.
#[derive(Clone, Copy)]
pub struct Slice<'a> {
    /// The component.
    pub component: ComponentId,
    /// The metric.
    pub metric: Metric,
    /// Slots (time divided by the interval) and values.
    pub slots: &'a [(i64, f64)],
}

/// A series of a component.
struct Placed {
    component: ComponentId,
    metric: Metric,
    slots: Series,
}

impl Placed {
    fn key(&self) -> (ComponentId, Metric) {
        (self.component, self.metric)
    }

    fn slice(&self, range: std::ops::Range<usize>) -> Slice<'_> {
        Slice { component: self.component, metric: self.metric, slots: &self.slots[range] }
    }
}

/// A recording on a grid: what is in memory, series by series, and what is still in files, to be replayed from there.
pub struct Aligned {
    interval_s: i64,
    /// By component and metric.
    series: Vec<Placed>,
    streamed: Option<Streamed>,
    /// What of the files could not be read.
    unread: RefCell<BTreeSet<String>>,
}

/// What is replayed from files.
struct Streamed {
    hosts: Hosts,
    metrics: Vec<Metric>,
    /// Which component each of the recording is.
    places: Vec<Option<ComponentId>>,
    /// First slot of each component that is in the files.
    first: BTreeMap<ComponentId, i64>,
    span: (i64, i64),
}

impl Streamed {
    fn new(
        recording: &Recording,
        roster: &Roster,
        interval_s: i64,
        wanted: impl Fn(Metric) -> bool,
    ) -> Option<Streamed> {
        let hosts = recording.hosts();
        let (from_s, to_s) = hosts.span_s()?;
        let places: Vec<Option<ComponentId>> =
            recording.observed().iter().map(|known| roster.find(&known.name)).collect();
        let mut first: BTreeMap<ComponentId, i64> = BTreeMap::new();
        for host in hosts.iter() {
            let start_s = host.files.iter().flat_map(|file| &file.segments).map(|(from, _)| *from).min();
            let own = start_s.map(|start_s| (host.component, start_s));
            let disks = host.disks.values().map(|disk| (disk.component, disk.first_s));
            let servers = host.server_components.values().filter_map(|server| Some((*server, start_s?)));
            for (component, start_s) in own.into_iter().chain(disks).chain(servers) {
                if let Some(place) = places.get(component).copied().flatten() {
                    // A difference needs a sample before it.
                    let slot = (start_s + 1).div_euclid(interval_s);
                    let known = first.entry(place).or_insert(slot);
                    *known = slot.min(*known);
                }
            }
        }
        let metrics = hosts.wanted(wanted);
        let span = (from_s.div_euclid(interval_s), to_s.div_euclid(interval_s));
        Some(Streamed { hosts: hosts.clone(), metrics, places, first, span })
    }
}

impl Aligned {
    /// Aligns the metrics that `wanted` accepts.
    pub fn new(
        recording: &Recording,
        roster: &Roster,
        interval_s: u32,
        wanted: impl Fn(Metric) -> bool,
    ) -> Aligned {
        let interval_s = i64::from(interval_s.max(1));
        let mut series = Vec::new();
        for (component, known) in roster.components.enumerate() {
            let Some(index) = recording.find(&known.name) else { continue };
            for metric in Metric::all().filter(|metric| wanted(*metric)) {
                let Some(samples) = recording.series(index, metric) else { continue };
                let by_request = metric.properties().averaging == Averaging::Requests;
                let requests = if by_request { recording.series(index, Metric::Tps) } else { None };
                let own_s = recording.interval_of(index).unwrap_or(interval_s);
                let slots = on_grid(samples, own_s, interval_s, requests);
                series.push(Placed { component, metric, slots });
            }
        }
        let streamed = Streamed::new(recording, roster, interval_s, wanted);
        Aligned { interval_s, series, streamed, unread: RefCell::default() }
    }

    /// Nothing, on a grid.
    pub fn nothing(interval_s: u32) -> Aligned {
        let interval_s = i64::from(interval_s.max(1));
        Aligned { interval_s, series: Vec::new(), streamed: None, unread: RefCell::default() }
    }

    /// First and last slot.
    pub fn slots(&self) -> Option<(i64, i64)> {
        let of_series = |placed: &Placed| Some((placed.slots.first()?.0, placed.slots.last()?.0));
        let streamed = self.streamed.as_ref().map(|streamed| streamed.span);
        let spans = self.series.iter().filter_map(of_series).chain(streamed);
        spans.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)))
    }

    /// The first slot of a component in a metric; where the files tell only of the component, its first in any.
    pub fn first_slot(&self, component: ComponentId, metric: Metric) -> Option<i64> {
        let streamed = self.streamed.as_ref().filter(|streamed| streamed.metrics.contains(&metric));
        let held = self.find(component, metric).and_then(|slots| slots.first()).map(|(slot, _)| *slot);
        held.or_else(|| streamed.and_then(|streamed| streamed.first.get(&component).copied()))
    }

    /// One aligned series that is in memory.
    pub fn find(&self, component: ComponentId, metric: Metric) -> Option<&Series> {
        let found = self.series.binary_search_by_key(&(component, metric), Placed::key);
        found.ok().map(|index| &self.series[index].slots)
    }

    /// Brings the series that a report draws from the files into memory.
    pub fn fetch(&mut self, drawn: &BTreeSet<(ComponentId, Metric)>) {
        let mut found: BTreeMap<(ComponentId, Metric), Series> = BTreeMap::new();
        self.chunks(&mut |chunk| {
            for placed in chunk.iter().filter(|placed| drawn.contains(&placed.key())) {
                found.entry(placed.key()).or_default().extend_from_slice(&placed.slots);
            }
        });
        let placed = |((component, metric), slots)| Placed { component, metric, slots };
        self.series.extend(found.into_iter().map(placed));
        self.series.sort_by_key(Placed::key);
        self.series.dedup_by_key(|placed| placed.key());
    }

    /// How many samples a replay yields, about.
    pub fn len(&self) -> usize {
        let streamed = self.streamed.as_ref().map_or(0, |streamed| {
            let slots = usize::try_from(streamed.span.1 - streamed.span.0 + 1).unwrap_or(0);
            streamed.first.len() * streamed.metrics.len() * slots
        });
        self.series.iter().map(|placed| placed.slots.len()).sum::<usize>() + streamed
    }

    /// What of the files could not be read, as far as they were replayed: or samples would be missing without a reason.
    pub fn unread(&self) -> Vec<String> {
        self.unread.borrow().iter().cloned().collect()
    }

    /// Whether there is nothing to replay.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Yields all samples in time order.
    pub fn replay(&self, mut each: impl FnMut(Sample)) {
        let Some((mut from, last)) = self.slots() else { return };
        let mut replay = |to: i64, chunk: &[Placed]| {
            let to = to.max(from);
            // What is in memory goes along, slot for slot.
            let held = self.series.iter().map(|placed| {
                let bounds = [from, to].map(|bound| placed.slots.partition_point(|(slot, _)| *slot < bound));
                placed.slice(bounds[0]..bounds[1])
            });
            let chunk = chunk.iter().map(|placed| placed.slice(0..placed.slots.len()));
            in_order(&held.chain(chunk).collect::<Vec<_>>(), self.interval_s, &mut each);
            from = to;
        };
        self.chunks(&mut |chunk| {
            let last = chunk.iter().filter_map(|placed| placed.slots.last());
            let to = last.map(|(slot, _)| slot + 1).max();
            replay(to.unwrap_or(i64::MIN), chunk);
        });
        replay(last + 1, &[]);
    }

    /// What the files hold, some slots at a time.
    fn chunks(&self, each: &mut dyn FnMut(&[Placed])) {
        let Some(streamed) = &self.streamed else { return };
        let mut stream = Stream::new(&streamed.hosts, self.interval_s, &streamed.metrics);
        while let Some(chunk) = stream.next_chunk() {
            let placed = chunk.into_iter().filter_map(|(component, metric, slots)| {
                Some(Placed { component: streamed.places.get(component).copied().flatten()?, metric, slots })
            });
            let mut placed: Vec<Placed> = placed.collect();
            placed.sort_by_key(Placed::key);
            if !placed.is_empty() {
                each(&placed);
            }
        }
        self.unread.borrow_mut().extend(stream.unread().cloned());
    }
}

/// Yields the samples of some series in time order.
pub fn in_order(series: &[Slice], interval_s: i64, each: &mut impl FnMut(Sample)) {
    let mut next = vec![0; series.len()];
    let starts = series.iter().filter_map(|slice| slice.slots.first()).map(|(slot, _)| *slot);
    let Some(mut slot) = starts.min() else { return };
    loop {
        let mut soonest = i64::MAX;
        for (Slice { component, metric, slots }, next) in series.iter().zip(&mut next) {
            if let Some(&(at, value)) = slots.get(*next)
                && at == slot
            {
                let time = UnixSeconds(slot * interval_s);
                each(Sample { time, component: *component, metric: *metric, value });
                *next += 1;
            }
            soonest = soonest.min(slots.get(*next).map_or(i64::MAX, |(at, _)| *at));
        }
        if soonest == i64::MAX {
            return;
        }
        slot = soonest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_keep_their_mean_and_times_their_work() {
        let awaits: Series = vec![(0, 10.0), (1, 100.0), (2, 10.0), (3, 4.0)];
        let requests: Series = vec![(0, 9.0), (1, 1.0), (2, 0.0), (3, 0.0)];
        assert_eq!(on_grid(&awaits, 1, 2, Some(&requests)), [(0, 19.0), (1, 0.0)]);
        assert_eq!(on_grid(&awaits, 1, 2, None), [(0, 55.0), (1, 7.0)]);
        assert_eq!(on_grid(&awaits, 1, 2, Some(&vec![(0, 9.0)])), [(0, 10.0), (1, 7.0)]);
    }

    #[test]
    fn a_coarse_series_is_spread_over_the_slots_it_covers() {
        let series: Series = vec![(60, 1.0), (120, 2.0)];
        assert_eq!(on_grid(&series, 60, 30, None), [(2, 1.0), (3, 2.0), (4, 2.0)]);
    }

    #[test]
    fn two_samples_half_a_century_apart_do_not_fill_the_memory() {
        let series: Series = vec![(0, 1.0), (1_600_000_000, 2.0)];
        assert!(on_grid(&series, 1_600_000_000, 1, None).len() <= 1 + MOST_COVERED as usize);
    }

    #[test]
    fn the_last_sample_of_a_slot_wins() {
        let jittery: Series = vec![(0, 1.0), (15, 2.0), (29, 3.0), (45, 4.0), (60, 5.0)];
        assert_eq!(on_grid(&jittery, 15, 15, None), [(0, 1.0), (1, 3.0), (3, 4.0), (4, 5.0)]);
    }

    /// Latency is missing in most seconds of an idle disk; that makes it sparse, not coarse.
    #[test]
    fn a_sparse_metric_does_not_change_the_grid() {
        let mut recording = Recording::default();
        let disk = recording.component("sda");
        for second in 0..200 {
            recording.push(disk, Metric::WrSec, second, 1.0);
            if second % 5 == 0 {
                recording.push(disk, Metric::Await, second, 3.0);
            }
        }
        let found = intervals(&recording, |metric| metric == Metric::Await).unwrap();
        assert_eq!((found.usual_s, found.coarsest_s), (1, 1));
        let roster = Roster::new(recording.observed(), None);
        let aligned = Aligned::new(&recording, &roster, 1, |metric| metric == Metric::Await);
        assert_eq!(aligned.len(), 40);
    }

    #[test]
    fn days_with_gaps_between_keep_their_interval() {
        let mut recording = Recording::default();
        let disk = recording.component("sda");
        for i in 0..100 {
            recording.push(disk, Metric::Await, i * 15 + i / 10 * 86_400, 1.0);
        }
        assert_eq!(recording.interval_of(disk), Some(15));
    }
}

//! A recording in memory: samples as they were read, by component and metric.

use crate::activity::Hosts;
use crate::read::is_many;
use laggard_core::model::Metric;
use laggard_core::model::groups::Observed;
use laggard_core::model::metric::Domain;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Samples of one metric of one component: seconds and values, in the order read until [`Recording::settle`].
pub type Series = Vec<(i64, f64)>;

#[derive(Debug, Default)]
struct Stored {
    samples: Series,
    /// The file of the last sample: order is a matter within one file.
    file: u32,
    /// First and last second, and samples, of each file.
    spans: Vec<Span>,
    /// Nothing says in which unit the samples are: they are taken for the metric's own.
    is_unit_assumed: bool,
}

/// What one file holds of a series.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: i64,
    last: i64,
    samples: u64,
}

impl Span {
    /// How many of its samples are before a moment, if they are spread evenly.
    fn samples_until(&self, moment: i64) -> u64 {
        let share = (moment - self.first + 1) as f64 / (self.last - self.first + 1) as f64;
        (share.clamp(0.0, 1.0) * self.samples as f64) as u64
    }
}

/// Steps between the rows of a component: enough of them to know its interval.
#[derive(Debug, Default)]
struct Clock {
    last: Option<i64>,
    steps: Vec<i64>,
}

impl Clock {
    const ENOUGH: usize = 256;
    const FEWEST: usize = 3;

    fn tick(&mut self, time_s: i64) {
        if self.steps.len() < Self::ENOUGH
            && let Some(last) = self.last.filter(|last| *last != time_s)
        {
            self.steps.push((time_s.saturating_sub(last)).saturating_abs());
        }
        self.last = Some(time_s);
    }
}

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Recording {
    components: Vec<Observed>,
    index: HashMap<String, usize>,
    series: Vec<[Option<Box<Stored>>; Metric::COUNT]>,
    /// When each component was recorded, whatever the metric, and also where a value is missing.
    clocks: Vec<Clock>,
    /// Hosts with activity files; their samples stay in the files until they are replayed.
    hosts: Hosts,
    /// Files read so far.
    files: u32,
    /// Times have fractions of a second, which are cut off: several samples in one second are no mistake.
    is_fractional: bool,
    /// Samples read.
    pub samples: u64,
}

impl Recording {
    /// The index of a component, made known if new.
    pub fn component(&mut self, name: &str) -> usize {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let index = self.components.len();
        self.index.insert(name.to_string(), index);
        self.components.push(Observed { name: name.into(), ..Observed::default() });
        self.series.push([const { None }; Metric::COUNT]);
        self.clocks.push(Clock::default());
        index
    }

    /// Says which server or group a component belongs to.
    pub fn describe(&mut self, component: usize, server: Option<&str>, group: Option<&str>) {
        let known = &mut self.components[component];
        if let Some(server) = server.filter(|name| !name.is_empty() && known.server.as_deref() != Some(*name))
        {
            known.server = Some(server.into());
        }
        if let Some(group) = group.filter(|name| !name.is_empty() && known.group.as_deref() != Some(*name)) {
            known.group = Some(group.into());
        }
    }

    /// What a component is a disk of: medium, size and model.
    pub fn describe_medium(&mut self, component: usize, medium: &str) {
        self.components[component].medium = Some(medium.into());
    }

    /// Says that a component is a server.
    pub fn describe_host(&mut self, component: usize) {
        self.components[component].has_network = true;
    }

    /// The hosts with activity files.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Takes the hosts whose files were read.
    pub fn set_hosts(&mut self, mut hosts: Hosts) {
        hosts.settle(self);
        self.hosts = hosts;
    }

    /// Adds a sample; says how it relates in time to the one before it in its series.
    pub fn push(&mut self, component: usize, metric: Metric, time_s: i64, value: f64) -> Ordering {
        // Only a host has a network, or a CPU.
        let is_of_host = metric.role().domain() != Domain::Storage;
        self.components[component].has_network |=
            is_of_host || matches!(metric, Metric::Rxpck | Metric::Txpck);
        let stored = self.series[component][metric as usize].get_or_insert_default();
        let before = stored.samples.last().filter(|_| stored.file == self.files);
        let order = before.map_or(Ordering::Greater, |(last, _)| time_s.cmp(last));
        if before.is_none() {
            stored.spans.push(Span { first: time_s, last: time_s, samples: 0 });
        }
        stored.file = self.files;
        if let Some(span) = stored.spans.last_mut() {
            *span = Span {
                first: span.first.min(time_s),
                last: span.last.max(time_s),
                samples: span.samples + 1,
            };
        }
        stored.samples.push((time_s, value));
        self.clocks[component].tick(time_s);
        self.samples += 1;
        order
    }

    /// A row of a component, also one without a value: it says how often the component is recorded.
    pub fn tick(&mut self, component: usize, time_s: i64) {
        self.clocks[component].tick(time_s);
    }

    /// The usual time between two rows of a component, if there are enough to tell. A metric with holes in it, such as the
    /// latency of an idle disk, is not coarse: it is missing.
    pub fn interval_of(&self, component: usize) -> Option<i64> {
        let mut steps = self.clocks[component].steps.clone();
        let half = steps.len() / 2;
        let counted = (steps.len() >= Clock::FEWEST).then(|| *steps.select_nth_unstable(half).1);
        counted.or_else(|| self.hosts.interval_of(component))
    }

    /// The samples of a component in a metric came without a unit.
    pub fn assume_unit(&mut self, component: usize, metric: Metric) {
        self.series[component][metric as usize].get_or_insert_default().is_unit_assumed = true;
    }

    /// Components and their samples in a metric, where nothing says in which unit they are.
    pub fn without_unit(&self, metric: Metric) -> impl Iterator<Item = (&str, &Series)> {
        self.components.iter().zip(&self.series).filter_map(move |(known, series)| {
            let stored = series[metric as usize].as_ref().filter(|stored| stored.is_unit_assumed)?;
            Some((known.name.as_str(), &stored.samples))
        })
    }

    /// Components of which the file that is being read has samples in memory.
    pub fn of_this_file(&self) -> BTreeSet<String> {
        let has = |series: &[Option<Box<Stored>>; Metric::COUNT]| {
            series.iter().flatten().any(|stored| stored.file == self.files)
        };
        let found = self.components.iter().zip(&self.series).filter(|(_, series)| has(series));
        found.map(|(known, _)| known.name.clone()).collect()
    }

    /// What follows is from another file.
    pub fn next_file(&mut self) {
        self.files += 1;
    }

    /// What the data says about its components.
    pub fn observed(&self) -> &[Observed] {
        &self.components
    }

    /// The samples of a component in a metric, if there are any.
    pub fn series(&self, component: usize, metric: Metric) -> Option<&Series> {
        self.series[component][metric as usize].as_ref().map(|stored| &stored.samples)
    }

    /// The index of a component.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// Metrics that have samples, in table order.
    pub fn metrics(&self) -> Vec<Metric> {
        let streamed = self.hosts.metrics();
        let has = |metric: &Metric| {
            streamed.contains(metric) || self.series.iter().any(|of| of[*metric as usize].is_some())
        };
        Metric::all().filter(has).collect()
    }

    /// First and last moment.
    pub fn span(&self) -> Option<(i64, i64)> {
        let all = self
            .series
            .iter()
            .flatten()
            .flatten()
            .flat_map(|stored| stored.samples.iter().map(|(time, _)| *time));
        let streamed = self.hosts.span_s().into_iter().flat_map(|(from, to)| [from, to]);
        all.chain(streamed).fold(None, |span, time| {
            span.map_or(Some((time, time)), |(from, to): (i64, i64)| Some((from.min(time), to.max(time))))
        })
    }

    /// When each host, or component without one, was recorded: first and last second.
    pub fn spans(&self) -> BTreeMap<String, (i64, i64)> {
        let held = self.components.iter().zip(&self.series).filter_map(|(known, series)| {
            let samples =
                || series.iter().flatten().map(|stored| &stored.samples).filter(|series| !series.is_empty());
            let first = samples().filter_map(|series| series.first()).map(|(time, _)| *time).min()?;
            let last = samples().filter_map(|series| series.last()).map(|(time, _)| *time).max()?;
            Some((known.server.as_ref().unwrap_or(&known.name).clone(), (first, last)))
        });
        let streamed = self.hosts.iter().filter_map(|host| {
            let segments = || host.files.iter().flat_map(|file| &file.segments);
            let (first, last) = (segments().map(|span| span.0).min()?, segments().map(|span| span.1).max()?);
            Some((host.name.clone(), (first, last)))
        });
        let mut spans = BTreeMap::new();
        for (name, (first, last)) in held.chain(streamed) {
            let span = spans.entry(name).or_insert((first, last));
            *span = (first.min(span.0), last.max(span.1));
        }
        spans
    }

    /// Times have fractions of a second.
    pub fn note_fractions(&mut self) {
        self.is_fractional = true;
    }

    /// Brings every series into time order; of several samples at one moment the last read stays. Returns components under whose name
    /// there are samples of several parts: many at one moment that differ, or of one time from several files.
    pub fn settle(&mut self) -> BTreeSet<String> {
        let mut merged = BTreeSet::new();
        for (component, of_component) in self.components.iter().zip(&mut self.series) {
            for stored in of_component.iter_mut().flatten() {
                let series = &mut stored.samples;
                if series.is_sorted_by(|a, b| a.0 < b.0) {
                    continue;
                }
                series.sort_by_key(|(time, _)| *time);
                let at_once = |pair: &&[(i64, f64)]| pair[0].0 == pair[1].0;
                let (alike, other): (Vec<_>, Vec<_>) =
                    series.windows(2).filter(at_once).partition(|pair| pair[0].1 == pair[1].1);
                let of_one_time = from_several_files(&mut stored.spans).saturating_sub(alike.len() as u64);
                let clashes = if self.is_fractional { 0 } else { other.len() as u64 };
                if is_many(clashes.max(of_one_time), series.len() as u64) {
                    merged.insert(component.name.clone());
                }
                keep_last_of_each_moment(series);
            }
        }
        merged
    }
}

impl Recording {
    /// Leaves out what is before or after these seconds.
    pub fn limit(&mut self, from_s: i64, to_s: i64) {
        let mut left_out = 0;
        for slot in self.series.iter_mut().flatten() {
            if let Some(stored) = slot {
                let before = stored.samples.len();
                stored.samples.retain(|(time, _)| (from_s..=to_s).contains(time));
                left_out += before - stored.samples.len();
                if stored.samples.is_empty() {
                    *slot = None;
                }
            }
        }
        self.samples -= left_out as u64;
        self.hosts.bounds_s = Some((from_s, to_s));
    }
}

/// Samples further than this from nearly all others are a clock's fault, not a recording.
const STRAY_S: i64 = 366 * 86_400;
/// Where there are more than one in so many of them, they are years of data.
const RARE: usize = 100;

impl Recording {
    /// Drops a few samples that lie more than a year from the others: one bad timestamp must not stretch the recording.
    /// Returns how many, and one of their times.
    pub fn drop_strays(&mut self) -> Option<(u64, i64)> {
        let stored = self.series.iter().flatten().flatten();
        let mut times: Vec<i64> =
            stored.flat_map(|stored| stored.samples.iter().map(|(time, _)| *time)).collect();
        if times.is_empty() {
            return None;
        }
        let half = times.len() / 2;
        let middle = *times.select_nth_unstable(half).1;
        let is_far = |time: i64| time.abs_diff(middle) > STRAY_S as u64;
        let far = times.iter().filter(|time| is_far(**time)).count();
        let example = times.iter().copied().find(|time| is_far(*time))?;
        if far * RARE > times.len() {
            return None;
        }
        for slot in self.series.iter_mut().flatten() {
            if let Some(stored) = slot {
                stored.samples.retain(|(time, _)| !is_far(*time));
                if stored.samples.is_empty() {
                    *slot = None;
                }
            }
        }
        self.samples -= far as u64;
        Some((far as u64, example))
    }

    /// How long was recorded, gaps left out: rows times interval of the component with most.
    pub fn recorded_s(&self) -> i64 {
        let longest = |component: usize| {
            let lengths = self.series[component].iter().flatten().map(|stored| stored.samples.len() as i64);
            self.interval_of(component).unwrap_or(0).saturating_mul(lengths.max().unwrap_or(0))
        };
        (0..self.components.len()).map(longest).max().unwrap_or(0).max(self.hosts.recorded_s())
    }
}

/// Samples that a file has of the time of another one.
fn from_several_files(spans: &mut [Span]) -> u64 {
    spans.sort_by_key(|span| span.first);
    let mut until = i64::MIN;
    let mut samples = 0;
    for span in spans {
        if span.first <= until {
            samples += span.samples_until(until);
        }
        until = until.max(span.last);
    }
    samples
}

fn keep_last_of_each_moment(series: &mut Series) {
    series.reverse();
    series.dedup_by_key(|(time, _)| *time);
    series.reverse();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_timestamp_is_dropped_and_years_of_data_are_not() {
        let mut recording = Recording::default();
        let disk = recording.component("sda");
        for slot in 0..1000 {
            recording.push(disk, Metric::Await, 1_700_000_000 + slot * 15, 1.0);
        }
        recording.push(disk, Metric::Await, 0, 1.0);
        assert_eq!(recording.drop_strays(), Some((1, 0)));
        assert_eq!(recording.recorded_s(), 15_000);
        for slot in 0..1000 {
            recording.push(disk, Metric::Await, 1_500_000_000 + slot * 15, 1.0);
        }
        assert_eq!(recording.drop_strays(), None);
    }

    #[test]
    fn out_of_order_and_repeated_samples_settle() {
        let mut recording = Recording::default();
        let disk = recording.component("sda");
        let arrived = [(3, 3.0), (1, 1.0), (2, 2.0), (2, 9.0)]
            .map(|(time, value)| recording.push(disk, Metric::Await, time, value));
        recording.settle();
        assert_eq!(arrived, [Ordering::Greater, Ordering::Less, Ordering::Greater, Ordering::Equal]);
        assert_eq!(recording.series(disk, Metric::Await).unwrap(), &vec![(1, 1.0), (2, 9.0), (3, 3.0)]);
        assert_eq!(recording.span(), Some((1, 3)));
    }

    /// Of two files with a hundred samples each of one disk, the second later by some seconds: whether they are of two disks.
    fn is_merged(later_s: i64, value: f64, is_fractional: bool) -> bool {
        let mut recording = Recording::default();
        let disk = recording.component("sda");
        for (later_s, value) in [(0, 1.0), (later_s, value)] {
            for slot in 0..100 {
                recording.push(disk, Metric::Await, slot * 15 + later_s, value + slot as f64);
            }
            recording.next_file();
        }
        if is_fractional {
            recording.note_fractions();
        }
        !recording.settle().is_empty()
    }

    #[test]
    fn two_parts_under_one_name_are_noticed_and_a_file_given_twice_is_none() {
        assert!(is_merged(0, 1.5, false), "one time, other values");
        assert!(is_merged(7, 1.0, false), "staggered clocks");
        assert!(is_merged(7, 1.0, true) && is_merged(750, 1.0, false));
        assert!(!is_merged(0, 1.0, false), "the same file twice");
        assert!(!is_merged(1500, 9.0, false) && !is_merged(1485, 9.0, false), "one after the other");
    }
}

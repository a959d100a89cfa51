//! From samples as recorded to a regular grid, without losing work, and replayed in time order.
//!
//! A rate keeps its mean over the slot; a mean per request is weighted by the requests completed (`tps`), where they were
//! recorded. A sample stands for its own series' interval: finer series are averaged into a slot, coarser ones are spread
//! over the slots they cover. Otherwise the last sample of a slot wins.

use crate::recording::{Recording, Series};
use laggard_core::diagnose::Sample;
use laggard_core::model::metric::Averaging;
use laggard_core::model::{Metric, Roster};

/// Enough differences to know a series' interval.
const LOOKED_AT: usize = 4000;

/// A sample stands for at most so many slots; a series with larger steps has holes, not an interval.
const MOST_COVERED: i64 = 100;

/// Fewer steps than this do not make an interval.
const FEWEST_STEPS: usize = 3;

/// The usual time between two samples of a series, if there are enough to tell.
pub fn interval_of(series: &Series) -> Option<i64> {
    let mut steps: Vec<i64> = series
        .windows(2)
        .take(LOOKED_AT)
        .map(|pair| pair[1].0 - pair[0].0)
        .filter(|step| *step > 0)
        .collect();
    if steps.len() < FEWEST_STEPS {
        return None;
    }
    let half = steps.len() / 2;
    Some(*steps.select_nth_unstable(half).1)
}

/// Intervals found in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intervals {
    /// Of most series: nine of ten are no coarser.
    pub usual_s: i64,
    /// Of the finest series.
    pub finest_s: i64,
    /// Of the coarsest series.
    pub coarsest_s: i64,
}

/// The intervals of the series of the wanted metrics; `None` if none has enough samples.
pub fn intervals(recording: &Recording, wanted: impl Fn(Metric) -> bool) -> Option<Intervals> {
    let mut all: Vec<i64> = Vec::new();
    for component in 0..recording.observed().len() {
        for metric in Metric::all().filter(|metric| wanted(*metric)) {
            all.extend(recording.series(component, metric).and_then(interval_of));
        }
    }
    all.sort_unstable();
    let usual_s = *all.get((all.len() * 9 / 10).min(all.len().saturating_sub(1)))?;
    Some(Intervals { usual_s, finest_s: all[0], coarsest_s: all[all.len() - 1] })
}

/// One series on a grid: slot (time divided by the interval) and value.
pub fn on_grid(series: &Series, grid_s: i64, requests: Option<&Series>) -> Series {
    let own_s = interval_of(series).unwrap_or(grid_s);
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
        let (mut sum, mut weight, mut weighed) = (0.0, 0.0, weights.is_some());
        for &(time, value) in slot {
            let requests = weights.as_mut().and_then(|weights| {
                while weights.next_if(|(known, _)| *known < time).is_some() {}
                weights.next_if(|(known, _)| *known == time)
            });
            weighed &= requests.is_some();
            let share = requests.map_or(0.0, |(_, requests)| requests.max(0.0));
            sum += value * share;
            weight += share;
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

/// A recording on a grid, series by series.
pub struct Aligned {
    interval_s: i64,
    /// Roster index, metric, slots; in this order.
    series: Vec<(usize, Metric, Series)>,
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
        for (component, known) in roster.components.iter().enumerate() {
            let Some(index) = recording.find(&known.name) else { continue };
            for metric in Metric::all().filter(|metric| wanted(*metric)) {
                let Some(samples) = recording.series(index, metric) else { continue };
                let by_request = metric.properties().averaging == Averaging::Requests;
                let requests = if by_request { recording.series(index, Metric::Tps) } else { None };
                series.push((component, metric, on_grid(samples, interval_s, requests)));
            }
        }
        Aligned { interval_s, series }
    }

    /// First and last slot.
    pub fn slots(&self) -> Option<(i64, i64)> {
        let first =
            self.series.iter().filter_map(|(_, _, slots)| slots.first()).map(|(slot, _)| *slot).min()?;
        let last =
            self.series.iter().filter_map(|(_, _, slots)| slots.last()).map(|(slot, _)| *slot).max()?;
        Some((first, last))
    }

    /// One aligned series.
    pub fn find(&self, component: usize, metric: Metric) -> Option<&Series> {
        let found = self
            .series
            .binary_search_by_key(&(component, metric), |(component, metric, _)| (*component, *metric));
        found.ok().map(|index| &self.series[index].2)
    }

    /// How many samples a replay yields.
    pub fn len(&self) -> usize {
        self.series.iter().map(|(_, _, slots)| slots.len()).sum()
    }

    /// Whether there is nothing to replay.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Yields all samples in time order.
    pub fn replay(&self, mut each: impl FnMut(Sample)) {
        let mut next = vec![0; self.series.len()];
        let Some((mut slot, _)) = self.slots() else { return };
        loop {
            let mut soonest = i64::MAX;
            for ((component, metric, slots), next) in self.series.iter().zip(&mut next) {
                if let Some(&(at, value)) = slots.get(*next)
                    && at == slot
                {
                    each(Sample {
                        time_s: slot * self.interval_s,
                        component: *component,
                        metric: *metric,
                        value,
                    });
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_keep_their_mean_and_times_their_work() {
        let awaits: Series = vec![(0, 10.0), (1, 100.0), (2, 10.0), (3, 4.0)];
        let requests: Series = vec![(0, 9.0), (1, 1.0), (2, 0.0), (3, 0.0)];
        assert_eq!(on_grid(&awaits, 2, Some(&requests)), [(0, 19.0), (1, 0.0)]);
        assert_eq!(on_grid(&awaits, 2, None), [(0, 55.0), (1, 7.0)]);
    }

    #[test]
    fn a_coarse_series_is_spread_over_the_slots_it_covers() {
        assert_eq!(
            on_grid(&(1..5).map(|i| (i * 60, i as f64)).collect(), 30, None)[..3],
            [(2, 1.0), (3, 2.0), (4, 2.0)]
        );
    }

    #[test]
    fn two_samples_half_a_century_apart_do_not_fill_the_memory() {
        assert!(on_grid(&vec![(0, 1.0), (1_600_000_000, 2.0)], 1, None).len() <= 1 + MOST_COVERED as usize);
    }

    #[test]
    fn the_last_sample_of_a_slot_wins() {
        let jittery: Series = vec![(0, 1.0), (15, 2.0), (29, 3.0), (45, 4.0), (60, 5.0)];
        assert_eq!(on_grid(&jittery, 15, None), [(0, 1.0), (1, 3.0), (3, 4.0), (4, 5.0)]);
    }

    #[test]
    fn days_with_gaps_between_keep_their_interval() {
        let series: Series = (0..100).map(|i| (i * 15 + i / 10 * 86_400, 1.0)).collect();
        assert_eq!(interval_of(&series), Some(15));
    }
}

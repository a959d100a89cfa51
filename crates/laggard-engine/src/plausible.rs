//! Whether a recording can be what it says: latencies in a unit that devices have, clocks that agree.

use crate::{Listener, Warning};
use laggard_core::model::{Metric, hosts};
use laggard_core::stats::median;
use laggard_store::{Recording, align};
use std::collections::{BTreeMap, BTreeSet};

/// Half of all requests are faster than this on flash only, and a disk that answers in 60 ms has 0.06 s: without a unit nothing tells which.
const FASTEST_MS: f64 = 0.1;
/// While a device is busy a request waits: busy time this many times the waiting time of all is a latency in seconds.
const MAX_BUSY: f64 = 20.0;
/// Half of all requests are slower than this on no file system that works: the latency is in microseconds.
const SLOWEST_MS: f64 = 5000.0;
/// Clocks that differ by less are not told from collectors that were started one after the other ...
const MIN_CLOCK_OFFSET_S: i64 = 60;
/// ... nor by less than so many samples.
const MIN_OFFSET_SAMPLES: i64 = 2;
/// A clock that is off is so at both ends: its offsets differ by this share of them at most.
const MAX_DRIFT: f64 = 0.1;

/// Warns of what is not plausible.
pub fn check(recording: &Recording, listener: &dyn Listener) {
    check_unit(recording, listener);
    let interval_s = align::intervals(recording, Metric::is_used).map_or(1, |found| found.usual_s);
    check_clocks(&recording.spans(), interval_s, listener);
}

/// A latency that no device has, or in which requests wait for less than devices are busy with them, is a latency in another unit. Only
/// inputs that do not say their unit are asked.
fn check_unit(recording: &Recording, listener: &dyn Listener) {
    let series = || recording.without_unit(Metric::Await);
    let values = series().flat_map(|(_, series)| series).map(|(_, value)| *value);
    let middle_ms = median(&mut values.filter(|value| *value > 0.0).collect::<Vec<f64>>());
    let busy = median(
        &mut series().filter_map(|(name, _)| busy_over_waiting(recording, name)).collect::<Vec<f64>>(),
    );
    let unit = match middle_ms {
        fast if fast < FASTEST_MS || busy > MAX_BUSY => "s",
        slow if slow > SLOWEST_MS => "us",
        _ => return,
    };
    let names: BTreeSet<String> = series().map(|(name, _)| name.into()).collect();
    listener.warn(&Warning::LatencyUnit { middle_ms, unit, names });
}

/// Time that a device is busy over time that its requests wait, in the middle of its samples; nothing where that is not recorded.
fn busy_over_waiting(recording: &Recording, name: &str) -> Option<f64> {
    let component = recording.find(name)?;
    let middle = |metric: Metric| {
        let values = recording.series(component, metric)?.iter().map(|(_, value)| *value);
        Some(median(&mut values.filter(|value| *value > 0.0).collect::<Vec<f64>>()))
    };
    let (util, tps, await_ms) = (middle(Metric::Util)?, middle(Metric::Tps)?, middle(Metric::Await)?);
    Some(util / 100.0 / (tps * await_ms / 1000.0)).filter(|ratio| ratio.is_finite())
}

/// A host that was recorded as long as the others, but earlier or later by minutes, has another clock.
fn check_clocks(spans: &BTreeMap<String, (i64, i64)>, interval_s: i64, listener: &dyn Listener) {
    let middle = |of: fn(&(i64, i64)) -> i64| {
        median(&mut spans.values().map(|span| of(span) as f64).collect::<Vec<_>>())
    };
    let (first_s, last_s) = (middle(|span| span.0), middle(|span| span.1));
    let offset = |span: &(i64, i64)| (span.0 as f64 - first_s, span.1 as f64 - last_s);
    let is_off = |span: &(i64, i64)| {
        let (first, last) = offset(span);
        let is_alike = (first - last).abs() <= MAX_DRIFT * first.abs();
        is_alike && first.abs() >= MIN_CLOCK_OFFSET_S.max(MIN_OFFSET_SAMPLES * interval_s) as f64
    };
    let off: BTreeMap<&String, i64> = spans
        .iter()
        .filter(|(_, span)| is_off(span))
        .map(|(name, span)| (name, offset(span).0 as i64))
        .collect();
    // Where most differ, they were recorded at different times.
    if off.is_empty() || 2 * off.len() >= spans.len() {
        return;
    }
    let largest_s = off.values().copied().max_by_key(|offset| offset.abs()).unwrap_or(0);
    let names: BTreeSet<String> = off.into_keys().cloned().collect();
    listener.warn(&Warning::ClockOff { folded: hosts::fold(&names), names, largest_s });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[derive(Default)]
    struct Heard(RefCell<Vec<Warning>>);

    impl Listener for Heard {
        fn warn(&self, warning: &Warning) {
            self.0.borrow_mut().push(warning.clone());
        }

        fn progress(&self, _: crate::Stage, _: u64, _: u64) {}
    }

    fn of_latency(latency: f64, is_stated: bool) -> Vec<Warning> {
        let mut recording = Recording::default();
        for disk in ["sda", "sdb"] {
            let component = recording.component(disk);
            for second in 0..10 {
                recording.push(component, Metric::Await, second, latency);
            }
            if !is_stated {
                recording.assume_unit(component, Metric::Await);
            }
        }
        let heard = Heard::default();
        check(&recording, &heard);
        heard.0.into_inner()
    }

    #[test]
    fn a_latency_that_no_device_has_is_in_another_unit_unless_that_is_stated() {
        let unit = |latency| match of_latency(latency, false).as_slice() {
            [Warning::LatencyUnit { unit, names, .. }] if names.len() == 2 => *unit,
            [] => "ms",
            other => panic!("{other:?}"),
        };
        assert_eq!(
            [unit(0.025), unit(0.099), unit(0.1), unit(5000.0), unit(5001.0)],
            ["s", "s", "ms", "ms", "us"]
        );
        assert!(of_latency(0.025, true).is_empty());
    }

    #[test]
    fn requests_that_wait_for_less_than_devices_are_busy_have_another_unit() {
        let unit = |await_ms: f64| {
            let mut recording = Recording::default();
            let disk = recording.component("sda");
            for second in 0..10 {
                let values = [(Metric::Await, await_ms), (Metric::Tps, 20.0), (Metric::Util, 80.0)];
                for (metric, value) in values {
                    recording.push(disk, metric, second, value);
                }
            }
            recording.assume_unit(disk, Metric::Await);
            let heard = Heard::default();
            check(&recording, &heard);
            heard.0.into_inner().len()
        };
        assert_eq!([unit(80.0), unit(2.1), unit(1.9), unit(0.08)], [0, 0, 1, 1]);
    }

    #[test]
    fn a_host_that_was_recorded_as_long_but_minutes_later_has_another_clock() {
        let warned = |moved: &[(i64, i64)]| {
            let spans = (0..6).map(|host| {
                let (first, last) = moved.get(host).copied().unwrap_or((0, 0));
                (format!("oss{host}"), (1_000 + first, 9_000 + last))
            });
            let heard = Heard::default();
            check_clocks(&spans.collect(), 15, &heard);
            match heard.0.into_inner().as_slice() {
                [Warning::ClockOff { folded, largest_s, .. }] => Some((folded.clone(), *largest_s)),
                [] => None,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(warned(&[(420, 425)]), Some(("oss0".into(), 420)));
        assert_eq!(warned(&[(-60, -60), (300, 300)]), Some(("oss[0-1]".into(), 300)));
        assert_eq!(warned(&[(59, 59)]), None, "started a little later");
        assert_eq!(warned(&[(400, 0)]), None, "it joined later");
        assert_eq!(warned(&[(0, -400)]), None, "it went away");
        assert_eq!(warned(&[(400, 400), (800, 800), (1200, 1200)]), None, "recorded at different times");
    }
}

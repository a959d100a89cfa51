//! Lustre's other statistics, as what each grew between two samples: operations of metadata targets, latencies by size.
//!
//! There are few of them in use, so that each is simply read as values; a counter that falls, or a hole, is an interval not known.

use crate::activity::Hosts;
use laggard_activity::kind::{LUSTRE, LustreField};
use laggard_activity::{ABSENT, growth};
use std::collections::BTreeMap;

const FIELDS: [usize; 2] = [LustreField::Calls.index(), LustreField::Total.index()];

/// What one statistic grew in one interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grown<'a> {
    /// `TARGET`.
    pub target: &'a str,
    /// What of it: `open`, `io_latency_read:4096`.
    pub what: &'a str,
    /// The interval's end.
    pub time_s: i64,
    /// Its length.
    pub seconds: f64,
    /// Calls in it.
    pub calls: f64,
    /// Sum in the statistic's unit, where it has one.
    pub total: Option<f64>,
}

/// Goes through the growth of the wanted statistics, host by host. Says what could not be read.
pub fn replay(
    hosts: &Hosts,
    wanted: &dyn Fn(&str, &str) -> bool,
    each: &mut dyn FnMut(&Grown<'_>),
) -> Vec<String> {
    let mut damaged = Vec::new();
    let bounds_s = hosts.bounds_s.unwrap_or((i64::MIN, i64::MAX));
    let split =
        |name: &str| name.split_once(':').map(|(target, what)| (target.to_string(), what.to_string()));
    let is_wanted = |name: &str| split(name).is_some_and(|(target, what)| wanted(&target, &what));
    for host in hosts.iter().filter(|host| host.statistics.iter().any(|name| is_wanted(name))) {
        let mut latest: BTreeMap<String, [i64; 3]> = BTreeMap::new();
        for file in &host.files {
            let counters = match file.open() {
                Ok(counters) => counters,
                Err(damage) => {
                    damaged.push(format!("{}: {damage}", file.path.display()));
                    continue;
                }
            };
            let patience_ms = growth::patience_ms(i64::from(file.interval_s));
            for segment in 0..counters.segments() {
                let read = counters.scan(segment, &LUSTRE, &FIELDS, &mut |stretch| {
                    let Some((target, what)) =
                        stretch.name.split_once(':').filter(|(target, what)| wanted(target, what))
                    else {
                        return;
                    };
                    let mut last = latest.get(stretch.name).copied();
                    for (index, time_s) in stretch.times_s.iter().copied().enumerate() {
                        let time_ms = time_s * 1000 + stretch.late_ms[index];
                        let now = [time_ms, stretch.fields[0][index], stretch.fields[1][index]];
                        let grown = last.and_then(|last| grown(last, now, patience_ms));
                        if let Some((seconds, calls, total)) = grown
                            && (bounds_s.0..=bounds_s.1).contains(&time_s)
                        {
                            each(&Grown { target, what, time_s, seconds, calls, total });
                        }
                        last = Some(now);
                    }
                    if let Some(last) = last {
                        latest.insert(stretch.name.to_string(), last);
                    }
                });
                if let Err(damage) = read {
                    damaged.push(format!("{}: {damage}", file.path.display()));
                }
            }
        }
    }
    damaged
}

/// Seconds, calls and sum between two samples; nothing where they do not follow each other, or a counter fell.
fn grown(last: [i64; 3], now: [i64; 3], patience_ms: i64) -> Option<(f64, f64, Option<f64>)> {
    let passed_ms = now[0].checked_sub(last[0]).filter(|passed| (1..=patience_ms).contains(passed))?;
    let is_known = |field: usize| last[field] != ABSENT && now[field] != ABSENT;
    let step = |field: usize| growth::grown(LUSTRE.id, last[field], now[field]).map(|step| step as f64);
    let calls = step(1).filter(|_| is_known(1))?;
    let total = if is_known(2) { Some(step(2)?) } else { None };
    Some((passed_ms as f64 / 1000.0, calls, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_known_only_between_neighbours_that_did_not_fall() {
        assert_eq!(grown([0, 5, 50], [5000, 7, 90], 15_000), Some((5.0, 2.0, Some(40.0))));
        assert_eq!(grown([0, 5, ABSENT], [5000, 7, ABSENT], 15_000), Some((5.0, 2.0, None)));
        assert_eq!(grown([0, 5, 50], [5000, 4, 90], 15_000), None, "restarted");
        assert_eq!(grown([0, 5, 50], [5000, 6, 40], 15_000), None, "restarted");
        assert_eq!(grown([0, 5, 50], [50_000, 7, 90], 15_000), None, "a hole");
        assert_eq!(grown([5000, 5, 50], [5000, 7, 90], 15_000), None, "the same moment");
    }
}

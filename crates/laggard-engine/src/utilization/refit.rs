//! Latencies by size, of intervals in which a target was known not to be busy, as tests for the calibration.

use crate::{EngineError, Listener, Stage, Warning};
use laggard_core::fsu::calibrate::Test;
use laggard_core::fsu::survey::BUSY;
use laggard_core::fsu::{Coefficients, Direction};
use laggard_store::Recording;
use laggard_store::calibration::Series;
use laggard_store::statistics::{self, Grown};
use laggard_store::transfer::{self, TargetLoad};
use std::collections::BTreeMap;

/// Fewer transactions of a size say nothing of it.
const ENOUGH: f64 = 100.0;

/// Numbers in order, as runs of neighbours.
#[derive(Default)]
struct Runs(Vec<(i64, i64)>);

impl Runs {
    fn push(&mut self, number: i64) {
        match self.0.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => self.0.push((number, number)),
        }
    }

    fn contains(&self, number: &i64) -> bool {
        let after = self.0.partition_point(|(first, _)| first <= number);
        after.checked_sub(1).is_some_and(|run| *number <= self.0[run].1)
    }
}

/// The tests of each target. The error says what is missing.
pub fn latencies(
    recording: &Recording,
    coefficients: &Coefficients,
    grid_s: i64,
    listener: &dyn Listener,
) -> Result<Vec<Series>, EngineError> {
    let hosts = recording.hosts();
    let targets = transfer::targets(hosts);
    let fullness = transfer::fullness(hosts, &targets);
    let models = super::models(&targets, &fullness, coefficients)?;
    let best = vec![transfer::SIZES; targets.len()];
    let mut calm: BTreeMap<&str, Runs> = BTreeMap::new();
    let progress = |done: u64, total: u64| listener.progress(Stage::AddingUp, done, total);
    let account = transfer::replay(hosts, &targets, grid_s, &best, &progress, &mut |block| {
        for (index, (target, model)) in targets.iter().zip(&models).enumerate() {
            let is_calm =
                |(_, load): &(usize, &TargetLoad)| model.utilization(&load.load, load.seconds) <= BUSY;
            let calm = calm.entry(&target.name).or_default();
            block.of(index).filter(is_calm).for_each(|(slot, _)| calm.push(block.time_s(slot) / grid_s));
        }
    });
    let mut sums: BTreeMap<(String, Direction, u64), (f64, f64)> = BTreeMap::new();
    let is_wanted = |_: &str, what: &str| what.starts_with("io_latency_");
    let damaged = statistics::replay(hosts, &is_wanted, &mut |grown: &Grown| {
        let is_calm =
            calm.get(grown.target).is_some_and(|calm| calm.contains(&grown.time_s.div_euclid(grid_s)));
        let Some((direction, size)) = kind(grown.what).filter(|_| is_calm) else { return };
        let sum = sums.entry((grown.target.to_string(), direction, size)).or_default();
        sum.0 += grown.calls;
        sum.1 += grown.total.unwrap_or(0.0) / 1e6;
    });
    let unread = account.damaged.iter().chain(&damaged);
    unread.for_each(|what| listener.warn(&Warning::Unread(what.clone())));
    let mut found: BTreeMap<String, Series> = BTreeMap::new();
    for ((target, direction, size), (calls, seconds)) in sums {
        if calls < ENOUGH || seconds <= 0.0 {
            continue;
        }
        let place = targets.iter().position(|known| known.name == target);
        let full = place.map(|place| fullness[place]).filter(|full| !full.is_nan());
        let series = found.entry(target.clone()).or_insert_with(|| Series {
            target: Some(target),
            fullness: full,
            tests: Vec::new(),
        });
        let name = format!("{size}-{}", direction.name());
        series.tests.push(Test { name, direction, seconds, transactions: vec![(size as f64, calls)] });
    }
    for series in found.values_mut() {
        // One size says nothing of a line.
        let sizes =
            Direction::ALL.map(|way| series.tests.iter().filter(|test| test.direction == way).count());
        series.tests.retain(|test| sizes[test.direction as usize] > 1);
    }
    found.retain(|_, series| !series.tests.is_empty());
    if found.is_empty() {
        return Err(EngineError::Utilization(format!(
            "no latencies by size in the data: io_latency_stats of Lustre, at least {ENOUGH} transactions of a size while its target is not busy"
        )));
    }
    Ok(found.into_values().collect())
}

/// `io_latency_read:4096`.
fn kind(what: &str) -> Option<(Direction, u64)> {
    let (direction, size) = what.strip_prefix("io_latency_")?.split_once(':')?;
    Some((Direction::parse(direction)?, size.parse().ok()?))
}

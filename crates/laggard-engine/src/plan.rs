//! How to diagnose a recording: as asked for, and as it allows.

use crate::{EngineError, Listener, Warning};
use laggard_core::compare::{Method, cdf::CDF, kl::KL, limp::LIMP};
use laggard_core::diagnose::budget::Rate;
use laggard_core::diagnose::rules::Without;
use laggard_core::diagnose::{Config, Repair, Thresholds};
use laggard_core::ids::{ComponentId, UnixSeconds};
use laggard_core::model::{Metric, Roster, hosts};
use laggard_store::{Recording, align, time};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What untrained diagnosis uses: ours, which needs minutes and keeps up with months.
pub const UNTRAINED: &Method = &LIMP;

/// Recordings shorter than this are test-bench runs: seconds matter in them.
const SHORT_S: i64 = 2 * 3600;
/// In recordings longer than this, which nobody waits for, minutes matter ...
const LONG_S: i64 = 2 * 86_400;
/// ... and stores have summaries on this grid, several times faster to read.
const LONG_INTERVAL_S: u32 = 15;

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// For all metrics but congestion windows; none: that of the thresholds, or ours.
    pub method: Option<&'static Method>,
    /// The grid; none: the method's, or the data's where that is coarser.
    pub interval_s: Option<u32>,
    /// A thresholds file; none: thresholds come from the peers.
    pub thresholds: Option<PathBuf>,
    /// Repairs, `PART@TIME`.
    pub resolved: Vec<String>,
    /// Parts of which every window is to be explained.
    pub asked: Vec<String>,
    /// Rules that are not asked.
    pub without: Without,
    /// False alarms that the site accepts.
    pub budget: Rate,
}

impl Wishes {
    /// How to diagnose this recording.
    pub fn plan(
        &self,
        recording: &Recording,
        roster: &Roster,
        listener: &dyn Listener,
    ) -> Result<Config, EngineError> {
        let thresholds = self.thresholds()?;
        let trained = thresholds.as_ref().and_then(Thresholds::main_entry);
        let method = self.method.or_else(|| trained.map(|entry| entry.method)).unwrap_or(UNTRAINED);
        let interval_s = match trained {
            Some(entry) if self.interval_s.is_none() => entry.interval_s,
            _ => interval(self.interval_s, grid_s(method, recording), recording, Metric::is_used, listener),
        };
        if let (Some(thresholds), Some(path)) = (&thresholds, &self.thresholds) {
            check_thresholds(thresholds, path, method, recording, listener)?;
        }
        Ok(Config {
            thresholds,
            resolved: resolved(&self.resolved, roster)?,
            without: self.without.clone(),
            asked: asked(&self.asked, roster)?,
            budget: self.budget,
            ..Config::untrained(method, interval_s)
        })
    }

    fn thresholds(&self) -> Result<Option<Thresholds>, EngineError> {
        let Some(path) = &self.thresholds else { return Ok(None) };
        let text = std::fs::read_to_string(path)
            .map_err(|source| EngineError::File { path: path.clone(), source })?;
        let thresholds = Thresholds::parse(&text);
        thresholds.map(Some).map_err(|source| EngineError::Thresholds { path: path.clone(), source })
    }
}

/// The published method to train: `cdf` for anything long enough for it; short recordings at a fine grain are test-bench runs,
/// and `kl` was made for those.
pub fn published_method(recording: &Recording) -> &'static Method {
    let found = align::intervals(recording, Metric::is_used);
    let is_fine = found.is_some_and(|found| found.usual_s < i64::from(CDF.params.interval_s));
    let is_short = recording.recorded_s() < SHORT_S;
    if is_fine && is_short { &KL } else { &CDF }
}

/// Seconds that must still be recorded until a recording is no longer short; negative where it is not.
pub(crate) fn is_short_for_s(recording: &Recording) -> i64 {
    SHORT_S - recording.recorded_s()
}

/// The usual grid of a method: what lasts for seconds in a day, or for a minute in a month, is no trouble.
pub fn grid_s(method: &Method, recording: &Recording) -> u32 {
    match recording.recorded_s() {
        ..SHORT_S => method.params.interval_s,
        SHORT_S..=LONG_S => method.day_interval_s,
        _ => method.day_interval_s.max(LONG_INTERVAL_S),
    }
}

/// The grid for the wanted metrics of this data: as asked for, else the usual one, or the data's where that is coarser.
pub fn interval(
    asked_s: Option<u32>,
    usual_s: u32,
    recording: &Recording,
    wanted: impl Fn(Metric) -> bool,
    listener: &dyn Listener,
) -> u32 {
    let found = align::intervals(recording, wanted);
    let data_s = found.map_or(1, |found| found.usual_s.clamp(1, 86_400) as u32);
    if let Some(found) = found.filter(|found| found.coarsest_s > 2 * found.finest_s.max(1)) {
        let (finest_s, coarsest_s) = (found.finest_s, found.coarsest_s);
        listener.warn(&Warning::MixedIntervals { finest_s, coarsest_s });
    }
    match asked_s {
        Some(wanted_s) if wanted_s < data_s => {
            listener.warn(&Warning::FinerThanData { wanted_s, data_s });
            wanted_s
        }
        Some(wanted_s) => wanted_s,
        None => usual_s.max(data_s),
    }
}

/// Thresholds of other components, metrics or another grid would find nothing, silently.
fn check_thresholds(
    thresholds: &Thresholds,
    path: &Path,
    method: &'static Method,
    recording: &Recording,
    listener: &dyn Listener,
) -> Result<(), EngineError> {
    let path = path.to_path_buf();
    if !thresholds.thresholds.iter().any(|entry| entry.method == method) {
        return Err(EngineError::NoThresholds { path, method });
    }
    let names: HashSet<&String> =
        thresholds.thresholds.iter().flat_map(|entry| entry.components.keys()).collect();
    let unknown: Vec<&String> =
        recording.observed().iter().map(|known| &known.name).filter(|name| !names.contains(name)).collect();
    if !names.is_empty() && unknown.len() == recording.observed().len() {
        return Err(EngineError::OtherComponents(path));
    }
    if !names.is_empty() && !unknown.is_empty() {
        let names = hosts::fold(&unknown);
        listener.warn(&Warning::NotInTraining { path: path.clone(), names });
    }
    let is_known = |metric: Metric| thresholds.thresholds.iter().any(|entry| entry.metric == metric);
    for metric in recording.metrics() {
        if metric.role().is_published() && !is_known(metric) {
            listener.warn(&Warning::NoThresholds { path: path.clone(), metric });
        }
    }
    let data_s = align::intervals(recording, Metric::is_used).map_or(1, |found| found.usual_s);
    if let Some(entry) = thresholds.thresholds.iter().find(|entry| i64::from(entry.interval_s) < data_s) {
        let trained_s = entry.interval_s;
        listener.warn(&Warning::CoarserThanTraining { path, trained_s, data_s });
    }
    Ok(())
}

/// Repairs as given: of a component, or of a part and so of all its components.
fn resolved(given: &[String], roster: &Roster) -> Result<Vec<Repair>, EngineError> {
    let mut repairs = Vec::new();
    for text in given {
        let wrong = |reason: String| EngineError::Resolved { text: text.clone(), reason };
        let (name, moment) = text.rsplit_once('@').ok_or_else(|| wrong("not COMPONENT@TIME".into()))?;
        let at = time::parse(moment).ok_or_else(|| wrong(format!("`{moment}` is not a time")))?;
        let components = roster.components_of(name);
        if components.is_empty() {
            return Err(wrong(format!("no part `{name}` in the data or the topology")));
        }
        repairs.extend(components.into_iter().map(|component| Repair { component, at: UnixSeconds(at) }));
    }
    Ok(repairs)
}

/// Parts to explain, as components.
fn asked(given: &[String], roster: &Roster) -> Result<Vec<ComponentId>, EngineError> {
    let mut asked = Vec::new();
    for part in given {
        let components = roster.components_of(part);
        if components.is_empty() {
            return Err(EngineError::NoSuchPart { part: part.clone(), nearest: nearest(part, roster) });
        }
        asked.extend(components);
    }
    asked.sort_unstable();
    asked.dedup();
    Ok(asked)
}

/// The name of a component or part nearest to a given one.
fn nearest(part: &str, roster: &Roster) -> Option<String> {
    let own = roster.components.iter().map(|component| component.name.as_str());
    let parts = roster.components.iter().flat_map(|component| &component.parts);
    let names = own.chain(parts.map(|part| part.name.as_str()));
    hosts::nearest(part, names).map(String::from)
}

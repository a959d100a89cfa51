//! Experimental: how busy the metadata targets were, by the operations they served.

use laggard_core::fsu::metadata::{Calls, Costs, load};
use laggard_store::activity::Hosts;
use laggard_store::statistics::{self, Grown};
use std::collections::BTreeMap;

/// What one metadata target did.
#[derive(Debug, Clone, Default)]
pub struct MetadataUse {
    /// Its name.
    pub target: String,
    /// Seconds observed.
    pub seconds: f64,
    /// Operations, by name: the seconds in which each was seen, and its calls.
    pub operations: BTreeMap<String, (f64, Calls)>,
    /// Percent of the time that operations took together; above 100 they overlap.
    pub load: f64,
    /// Operations with neither a time nor a cost: they count for nothing.
    pub unknown: Vec<String>,
}

impl MetadataUse {
    /// Operations per second.
    pub fn rate(&self) -> f64 {
        self.operations.values().map(|(_, calls)| calls.calls).sum::<f64>() / self.seconds
    }
}

/// Adds up the operations of all metadata targets.
pub fn of(hosts: &Hosts, costs: &Costs) -> (Vec<MetadataUse>, Vec<String>) {
    let mut found: BTreeMap<String, MetadataUse> = BTreeMap::new();
    // Sums of bytes are not times, and a rename is counted once more by its kind (samedir_rename, crossdir_rename).
    let is_time = |what: &str| {
        !what.ends_with("_bytes") && !what.starts_with("io_latency") && !what.contains("_rename")
    };
    let is_wanted = |target: &str, what: &str| target.contains("-MDT") && is_time(what);
    let damaged = statistics::replay(hosts, &is_wanted, &mut |grown: &Grown| {
        let known = found.entry(grown.target.to_string()).or_default();
        let (seconds, calls) = known.operations.entry(grown.what.to_string()).or_default();
        // All operations cover the same seconds; the one that was seen longest, all of them.
        *seconds += grown.seconds;
        known.seconds = known.seconds.max(*seconds);
        calls.calls += grown.calls;
        if let Some(total_us) = grown.total {
            calls.seconds = Some(calls.seconds.unwrap_or(0.0) + total_us / 1e6);
        }
    });
    let finish = |(target, mut known): (String, MetadataUse)| {
        let operations = known.operations.iter().map(|(name, (_, calls))| (name.as_str(), *calls));
        let (percent, unknown) = load(operations, costs, known.seconds);
        let unknown = unknown.into_iter().map(str::to_string).collect();
        (known.target, known.load, known.unknown) = (target, percent, unknown);
        known
    };
    (found.into_iter().map(finish).collect(), damaged)
}

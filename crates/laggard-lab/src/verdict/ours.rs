//! Ours: the operator of `laggard diagnose` without training, fed as it would be live.

use super::Indictment;
use laggard_core::compare::Method;
use laggard_core::diagnose::{Config, Diagnoser, Event, Sample};
use laggard_core::model::Roster;
use laggard_core::model::groups::Observed;
use laggard_core::model::metric::Role;
use laggard_sim::bench::{METRICS, Trace};
use std::collections::BTreeMap;

/// The peer group of a bench.
pub fn roster(servers: usize) -> Roster {
    let observed = |server: usize| Observed {
        name: format!("oss{:02}", server + 1),
        group: None,
        server: None,
        has_network: true,
    };
    Roster::new(&(0..servers).map(observed).collect::<Vec<_>>(), None)
}

/// Everybody who is ever accused, as a user would see it live: before the injection, and after it. What is taken back later was
/// said all the same; the cause is the last that was named.
pub fn judge(trace: &Trace, method: &'static Method, injected_s: f64) -> Vec<Indictment> {
    let config = Config { interval_s: 1, method, thresholds: None, lateness_slots: 0, resolved: Vec::new() };
    let mut diagnoser = Diagnoser::new(config, roster(trace.servers));
    let mut said: BTreeMap<(usize, bool), Indictment> = BTreeMap::new();
    let mut listen = |diagnoser: &Diagnoser, now_s: f64| {
        for incident in diagnoser.diagnosis().incidents {
            let (server, cause) = (incident.worst, incident.cause);
            let first = Indictment { server, cause, said_s: now_s };
            // After the injection, only what is still going on counts.
            if now_s < injected_s || incident.last_s as f64 > injected_s {
                said.entry((server, now_s >= injected_s)).or_insert(first).cause = cause;
            }
        }
    };
    let compared = METRICS.iter().filter(|metric| metric.properties().role != Role::Context);
    let compared: Vec<_> = compared.copied().collect();
    for second in 0..trace.seconds {
        for &metric in &compared {
            for (component, &value) in trace.row(metric, second).iter().enumerate() {
                diagnoser.push(Sample { time_s: second as i64, component, metric, value });
            }
        }
        let moved =
            |event: &Event| matches!(event, Event::Persistence { ranking, .. } if !ranking.is_empty());
        if diagnoser.drain().iter().any(moved) {
            listen(&diagnoser, second as f64);
        }
    }
    diagnoser.finish();
    listen(&diagnoser, trace.seconds as f64);
    said.into_values().collect()
}

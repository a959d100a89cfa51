//! Ours: the operator of `laggard diagnose` without training, fed as it would be live.

use super::Indictment;
use laggard_core::compare::Method;
use laggard_core::diagnose::rules::Without;
use laggard_core::diagnose::{Config, Diagnoser, Event, Sample};
use laggard_core::ids::{ComponentId, UnixSeconds};
use laggard_core::model::Roster;
use laggard_core::model::groups::Observed;
use laggard_core::model::metric::Domain;
use laggard_sim::bench::{METRICS, Trace};
use std::collections::BTreeMap;

/// Our method, with all rules or without some.
#[derive(Debug, Clone)]
pub struct Ours {
    /// The method.
    pub method: &'static Method,
    /// Rules that are not asked.
    pub without: Without,
}

impl Ours {
    /// How the operator is told.
    pub fn config(&self, interval_s: u32) -> Config {
        Config { without: self.without.clone(), ..Config::untrained(self.method, interval_s) }
    }
}

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

/// Listens to the operator as a user would live: notes everybody who is ever accused, before the injection and after it. What is
/// taken back later was said all the same; the cause is the last that was named.
pub struct Listener {
    diagnoser: Diagnoser,
    /// By server, whether the fault was there, and of what: disks, network and host are troubles of their own.
    said: BTreeMap<(usize, bool, Domain), Indictment>,
    injected_s: f64,
    now_s: i64,
}

impl Listener {
    /// Before the first sample.
    pub fn new(ours: &Ours, roster: Roster, injected_s: f64) -> Listener {
        let diagnoser = Diagnoser::new(ours.config(1), roster);
        Listener { diagnoser, said: BTreeMap::new(), injected_s, now_s: 0 }
    }

    /// Takes the next sample; times are seconds of the experiment.
    pub fn push(&mut self, sample: Sample) {
        if sample.time.0 > self.now_s {
            self.hear();
            self.now_s = sample.time.0;
        }
        self.diagnoser.push(sample);
    }

    fn hear(&mut self) {
        let moved =
            |event: &Event| matches!(event, Event::Persistence { ranking, .. } if !ranking.is_empty());
        if self.diagnoser.drain().iter().any(moved) {
            self.note(self.now_s as f64);
        }
    }

    fn note(&mut self, now_s: f64) {
        for incident in self.diagnoser.diagnosis().incidents {
            let (server, cause) = (incident.worst.index(), incident.cause);
            let first = Indictment { server, cause, said_s: now_s };
            // After the injection, only what is still going on counts.
            if now_s < self.injected_s || incident.last.0 as f64 > self.injected_s {
                let key = (server, now_s >= self.injected_s, incident.episode.domain);
                self.said.entry(key).or_insert(first).cause = cause;
            }
        }
    }

    /// What was said, also at the end.
    pub fn finish(mut self) -> Vec<Indictment> {
        self.hear();
        self.diagnoser.finish();
        self.note((self.now_s + 1) as f64);
        self.said.into_values().collect()
    }
}

/// Everybody who is ever accused in a simulated experiment.
pub fn judge(trace: &Trace, ours: &Ours, injected_s: f64) -> Vec<Indictment> {
    let mut listener = Listener::new(ours, roster(trace.servers), injected_s);
    let compared: Vec<_> = METRICS.into_iter().filter(|metric| metric.is_used()).collect();
    for second in 0..trace.seconds {
        for &metric in &compared {
            for (component, &value) in trace.row(metric, second).iter().enumerate() {
                let (time, component) = (UnixSeconds(second as i64), ComponentId::new(component));
                listener.push(Sample { time, component, metric, value });
            }
        }
    }
    listener.finish()
}

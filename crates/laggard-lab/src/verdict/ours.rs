//! Ours: the operator of `laggard diagnose` without training, fed as it would be live.

use super::Indictment;
use laggard_core::compare::Method;
use laggard_core::compare::limp::LIMP;
use laggard_core::diagnose::budget::Rate;
use laggard_core::diagnose::rules::{Rule, Without};
use laggard_core::diagnose::{Config, Diagnoser, Event, Sample};
use laggard_core::ids::{ComponentId, UnixSeconds};
use laggard_core::model::groups::Observed;
use laggard_core::model::metric::{Domain, Role};
use laggard_core::model::{Metric, Roster};
use laggard_sim::bench::{METRICS, Trace};
use std::collections::BTreeMap;

/// Our method, with all rules or without some.
#[derive(Debug, Clone)]
pub struct Ours {
    /// The method.
    pub method: &'static Method,
    /// Rules that are not asked.
    pub without: Without,
    /// Whether requests and the time that devices are busy are seen. Some sites record latencies and volumes only: what work costs
    /// is not known there.
    pub sees_work: bool,
    /// False alarms that the site accepts.
    pub budget: Rate,
}

impl Default for Ours {
    fn default() -> Ours {
        Ours { method: &LIMP, without: Without::default(), sees_work: true, budget: Rate::default() }
    }
}

impl Ours {
    /// Whether a metric is seen.
    pub fn sees(&self, metric: Metric) -> bool {
        self.sees_work || !matches!(metric.role(), Role::Account | Role::Load)
    }

    /// How the operator is told.
    pub fn config(&self, interval_s: u32) -> Config {
        Config {
            without: self.without.clone(),
            budget: self.budget,
            ..Config::untrained(self.method, interval_s)
        }
    }
}

/// Our method, and the same without each of some rules.
#[derive(Debug, Clone)]
pub struct Variants {
    /// The method.
    pub usual: Ours,
    /// Rules that are switched off, one after the other.
    pub rules: Vec<&'static Rule>,
}

impl From<Ours> for Variants {
    fn from(usual: Ours) -> Variants {
        Variants { usual, rules: Vec::new() }
    }
}

impl Variants {
    /// The usual one, and one of each rule.
    pub fn count(&self) -> usize {
        1 + self.rules.len()
    }

    /// What each says of one experiment, the usual one first; several are judged at once. A rule that did not speak in it is not
    /// tried: without it, the same is said.
    pub fn each<T: Clone>(&self, judge: impl Fn(&[Ours]) -> Vec<T>) -> Vec<T> {
        let usual = Ours { without: self.usual.without.noted(), ..self.usual.clone() };
        let Some(said) = judge(std::slice::from_ref(&usual)).pop() else { return Vec::new() };
        let may_differ = |rule: &&&'static Rule| usual.without.may_differ_without(rule);
        let without =
            |rule: &&'static Rule| Ours { without: self.usual.without.and(rule), ..self.usual.clone() };
        let tried: Vec<Ours> = self.rules.iter().filter(may_differ).map(without).collect();
        let mut others = if tried.is_empty() { Vec::new() } else { judge(&tried) }.into_iter();
        let other = |rule: &&'static Rule| match usual.without.may_differ_without(rule) {
            true => others.next().unwrap_or_else(|| said.clone()),
            false => said.clone(),
        };
        let others: Vec<T> = self.rules.iter().map(other).collect();
        std::iter::once(said).chain(others).collect()
    }

    /// The same, where each is judged by itself.
    pub fn each_alone<T: Clone>(&self, judge: impl Fn(&Ours) -> T) -> Vec<T> {
        self.each(|some| some.iter().map(&judge).collect())
    }
}

/// The peer group of a bench.
pub fn roster(servers: usize) -> Roster {
    let observed = |server: usize| Observed {
        name: format!("oss{:02}", server + 1),
        group: None,
        server: None,
        has_network: true,
        medium: None,
    };
    Roster::new(&(0..servers).map(observed).collect::<Vec<_>>(), None)
}

/// Listens to the operator as a user would live: notes everybody who is ever accused, before the injection and after it. What is
/// taken back later was said all the same; the cause is the last that was named.
pub struct Listener {
    ours: Ours,
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
        Listener { ours: ours.clone(), diagnoser, said: BTreeMap::new(), injected_s, now_s: 0 }
    }

    /// Takes the next sample; times are seconds of the experiment.
    pub fn push(&mut self, sample: Sample) {
        if !self.ours.sees(sample.metric) {
            return;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_core::diagnose::rules;
    use laggard_sim::bench::{Cluster, Experiment, Fault, FaultKind, Workload, run};
    use std::cell::Cell;

    #[test]
    fn without_a_rule_that_did_not_speak_the_same_is_said() {
        let variants = Variants { usual: Ours::default(), rules: rules::all().collect() };
        let tried = Cell::new(0);
        for kind in [FaultKind::DiskHog, FaultKind::ReceivePktloss] {
            let cluster = Cluster::harder(1)[0];
            let faults = vec![Fault { from_s: 60.0, to_s: 160.0, ..Fault::published(kind, 1) }];
            let trace = run(&Experiment { cluster, workload: Workload::Ddw, faults, seed: 3, scale: 0.3 });
            let noted = variants.each_alone(|ours| {
                tried.set(tried.get() + 1);
                judge(&trace, ours, 60.0)
            });
            assert!(!noted[0].is_empty(), "{kind:?} is told");
            for (rule, said) in variants.rules.iter().zip(&noted[1..]) {
                let without = Ours { without: Without::rule(rule), ..Ours::default() };
                assert_eq!(said, &judge(&trace, &without, 60.0), "{kind:?} without {}", rule.id);
            }
        }
        assert!(tried.get() < variants.count(), "{} were tried for two runs", tried.get());
    }
}

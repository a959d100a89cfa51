//! Why, and why not: what each rule said of each component, how often, and the worst example.
//!
//! Bounded by components and rules, not by the length of the recording.

use super::bound::Numbers;
use super::rules::{Rule, Ruling};
use crate::ids::{ComponentId, Table, UnixSeconds};
use crate::model::Metric;

/// What one rule said of one component in one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    /// The rule.
    pub rule: &'static Rule,
    /// What it ruled.
    pub ruling: Ruling,
    /// The metric, if it spoke of one.
    pub metric: Option<Metric>,
    /// In how many windows.
    pub windows: u64,
    /// The worst of them: start ...
    pub from: UnixSeconds,
    /// ... end ...
    pub to: UnixSeconds,
    /// ... what the rule spoke upon ...
    pub numbers: Numbers,
    /// ... and how bad it was.
    severity: f64,
}

impl Tally {
    /// One window.
    pub fn new(
        rule: &'static Rule,
        metric: Option<Metric>,
        (from, to): (UnixSeconds, UnixSeconds),
        severity: f64,
        numbers: Numbers,
    ) -> Tally {
        let severity = if severity.is_nan() { 0.0 } else { severity };
        Tally { rule, ruling: rule.ruling, metric, windows: 1, from, to, numbers, severity }
    }

    /// What the rule saw at its worst, in words: its clause with the numbers in it.
    pub fn clause(&self, number: impl Fn(f64) -> String) -> String {
        let mut text = self.rule.clause.to_string();
        if let Some(metric) = self.metric {
            text = text.replace("{metric}", metric.name());
        }
        for (name, value) in self.numbers.iter() {
            let value = if value.is_nan() { "not computed".into() } else { number(value) };
            text = text.replace(&format!("{{{name}}}"), &value);
        }
        debug_assert!(!text.contains('{'), "{}: a number is missing: {text}", self.rule.id);
        text
    }
}

/// What the rules said, by component.
#[derive(Debug, Default)]
pub struct Trace {
    tallies: Table<ComponentId, Vec<Tally>>,
}

impl Trace {
    /// For so many components.
    pub fn new(components: usize) -> Trace {
        Trace { tallies: Table::filled(Vec::new(), components) }
    }

    /// A rule spoke of a component.
    pub fn add(&mut self, component: ComponentId, spoken: Tally) {
        let known = &mut self.tallies[component];
        match known.iter_mut().find(|tally| tally.metric == spoken.metric && tally.rule == spoken.rule) {
            Some(tally) => {
                let windows = tally.windows + spoken.windows;
                if spoken.severity > tally.severity {
                    *tally = spoken;
                }
                tally.windows = windows;
            }
            None => known.push(spoken),
        }
    }

    /// What was said of a component, by metric, in the order in which rules first spoke.
    pub fn of(&self, component: ComponentId) -> &[Tally] {
        &self.tallies[component]
    }

    /// Forgets a component, for the administrator's "resolved".
    pub fn clear(&mut self, component: ComponentId) {
        self.tallies[component].clear();
    }
}

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

    /// What the rule saw at its worst, in words: its clause with the numbers in it, levels in the unit of the metric.
    pub fn clause(&self, number: impl Fn(f64) -> String) -> String {
        let mut text = self.rule.clause.to_string();
        if let Some(metric) = self.metric {
            if self.numbers.get("level").is_some_and(|level| !level.is_nan()) {
                let with_unit = format!("{{metric}} {{level}} {}", metric.properties().unit);
                text = text.replace("{metric} {level}", &with_unit);
            }
            text = text.replace("{metric}", metric.name());
        }
        for (name, value) in self.numbers.iter() {
            let value = match value.is_nan() {
                true if name == "level" => "without samples".into(),
                true => "not known".into(),
                false => number(value),
            };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::rules;

    #[test]
    fn windows_of_one_rule_and_metric_are_counted_and_the_worst_is_kept() {
        let tally = |rule: &str, metric: Metric, from: i64, severity: f64| {
            let rule = rules::find(rule).unwrap();
            let span = (UnixSeconds(from), UnixSeconds(from + 40));
            Tally::new(rule, Some(metric), span, severity, Numbers::NONE)
        };
        let mut trace = Trace::new(1);
        let component = ComponentId::new(0);
        for (from, severity) in [(0, 2.0), (10, 5.0), (20, 5.0), (30, 1.0)] {
            trace.add(component, tally("ratio", Metric::Await, from, severity));
        }
        trace.add(component, tally("ratio", Metric::RdSec, 40, 9.0));
        trace.add(component, tally("load", Metric::Await, 50, 9.0));
        let said: Vec<(&str, Option<Metric>, u64, i64)> = trace
            .of(component)
            .iter()
            .map(|tally| (tally.rule.id, tally.metric, tally.windows, tally.from.0))
            .collect();
        let expected = [
            ("ratio", Some(Metric::Await), 4, 10),
            ("ratio", Some(Metric::RdSec), 1, 40),
            ("load", Some(Metric::Await), 1, 50),
        ];
        assert_eq!(said, expected, "of equally bad windows the first");
    }
}

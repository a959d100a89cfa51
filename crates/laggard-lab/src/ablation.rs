//! What each rule is worth: everything judged again without it.
//!
//! Every experiment is made once and judged by all variants. A rule that changes nothing anywhere is not worth having.

use crate::production::{Plan, Sight};
use crate::real;
use crate::simulated::matrix::{Matrix, conditions};
use crate::simulated::tally::{Expected, Tally};
use crate::verdict::ours::{self, Ours};
use indicatif::ProgressBar;
use laggard_core::compare::Method;
use laggard_core::diagnose::rules::{Rule, Without};
use laggard_sim::bench::{Workload, run};
use rayon::prelude::*;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// What the verdicts are without one rule.
#[derive(Debug, Clone, Serialize)]
pub struct Effect {
    /// The rule that was not asked; none: all were.
    pub without: Option<&'static str>,
    /// The simulated test bench.
    pub bench: Counts,
    /// The production site.
    pub production: Option<Site>,
    /// Recorded real runs.
    pub real: Option<Counts>,
}

/// Runs, and what was right and wrong in them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Counts {
    /// Runs.
    pub runs: usize,
    /// The faulty server was found.
    pub found: usize,
    /// With the right cause.
    pub right: usize,
    /// Something was accused that has no fault, or for a wrong cause.
    pub wrong: usize,
    /// Median seconds until it was said.
    pub told_s: Option<f64>,
}

impl From<&Tally> for Counts {
    fn from(tally: &Tally) -> Counts {
        Counts {
            runs: tally.runs,
            found: tally.indicted,
            right: tally.diagnosed,
            wrong: tally.misdiagnosed,
            told_s: tally.latency_s(),
        }
    }
}

/// Events and quiet days of the production site.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Site {
    /// Events.
    pub events: usize,
    /// Those that were seen.
    pub seen: usize,
    /// Names given a few hours later, by event: a change of a name is a change of the verdict.
    pub named: Vec<String>,
    /// False incidents a quiet day.
    pub false_a_day: f64,
    /// Median hours until an event was seen.
    pub told_h: Option<f64>,
}

/// The experiments to judge.
pub struct Ablation<'a> {
    /// The method.
    pub method: &'static Method,
    /// The rules to try.
    pub rules: Vec<&'static Rule>,
    /// The test bench.
    pub matrix: &'a Matrix,
    /// The production site.
    pub plan: Option<&'a Plan>,
    /// Folders of recorded runs.
    pub real: &'a [PathBuf],
}

impl Ablation<'_> {
    /// Judges everything with all rules, then without each.
    pub fn run(&self, bar: &ProgressBar) -> Result<Vec<Effect>, String> {
        let with = |without: Without| Ours { method: self.method, without };
        let mut names = vec![None];
        let mut variants = vec![with(Without::default())];
        for rule in &self.rules {
            names.push(Some(rule.id));
            variants.push(with(Without::rule(rule)));
        }
        let bench = self.bench(&variants, bar);
        let production = self.plan.map(|plan| site(plan, &variants, bar)).transpose()?;
        let real = match self.real.is_empty() {
            true => None,
            false => Some(real::tallies(self.real, &variants)?),
        };
        let effect = |index: usize| Effect {
            without: names[index],
            bench: Counts::from(&bench[index]),
            production: production.as_ref().map(|sites| sites[index].clone()),
            real: real.as_ref().map(|tallies| Counts::from(&tallies[index])),
        };
        Ok((0..variants.len()).map(effect).collect())
    }

    /// All experiments of the matrix.
    fn bench(&self, variants: &[Ours], bar: &ProgressBar) -> Vec<Tally> {
        let mut experiments = Vec::new();
        for cluster in 0..self.matrix.clusters().len() {
            for fault in conditions() {
                for workload in Workload::ALL {
                    let repetitions = 0..self.matrix.repetitions;
                    experiments.extend(
                        repetitions
                            .map(|repetition| self.matrix.experiment(cluster, fault, workload, repetition)),
                    );
                }
            }
        }
        let judge = |experiment: &laggard_sim::bench::Experiment| {
            let trace = run(experiment);
            let expected: Vec<Expected> = experiment.faults.iter().map(Expected::from).collect();
            let from_s = experiment.faults.first().map_or(f64::INFINITY, |fault| fault.from_s);
            let tally = |variant: &Ours| {
                let mut tally = Tally::default();
                tally.add(&expected, &ours::judge(&trace, variant, from_s));
                tally
            };
            let tallies: Vec<Tally> = variants.iter().map(tally).collect();
            bar.inc(1);
            tallies
        };
        let all: Vec<Vec<Tally>> = experiments.par_iter().map(judge).collect();
        let mut sums = vec![Tally::default(); variants.len()];
        for tallies in all {
            sums.iter_mut().zip(&tallies).for_each(|(sum, tally)| sum.merge(tally));
        }
        sums
    }
}

fn site(plan: &Plan, variants: &[Ours], bar: &ProgressBar) -> Result<Vec<Site>, String> {
    let (sights, false_incidents) = plan.sights(variants, bar)?;
    let of = |index: usize| {
        let seen: Vec<&Sight> = sights.iter().map(|event| &event[index]).collect();
        let mut hours: Vec<f64> = seen.iter().filter_map(|sight| sight.seen_h).collect();
        hours.sort_by(f64::total_cmp);
        Site {
            events: seen.len(),
            seen: hours.len(),
            named: seen.iter().map(|sight| sight.named.clone()).collect(),
            false_a_day: false_incidents[index] as f64 / plan.quiet_days.max(1) as f64,
            told_h: hours.get(hours.len() / 2).copied(),
        }
    };
    Ok((0..variants.len()).map(of).collect())
}

/// A table in Markdown: numbers where something changes, a dot where nothing does.
pub fn table(effects: &[Effect]) -> String {
    let mut out = String::from(
        "| without | bench: found | right | wrong | told after s | events seen | other names | false a day | told after h | real: found | right | wrong | told after s |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let Some(all) = effects.first() else { return out };
    for effect in effects {
        let mut cells = vec![effect.without.map_or_else(|| "(all rules)".into(), |id| format!("`{id}`"))];
        let is_all = effect.without.is_none();
        let counts = |seen: Option<&Counts>| -> Vec<String> {
            seen.map_or_else(
                || vec!["-".into(); 4],
                |seen| {
                    vec![
                        format!("{} of {}", seen.found, seen.runs),
                        seen.right.to_string(),
                        seen.wrong.to_string(),
                        seen.told_s.map_or_else(|| "-".into(), |s| format!("{s:.0}")),
                    ]
                },
            )
        };
        let site = |seen: Option<&Site>, all: Option<&Site>| -> Vec<String> {
            let (Some(seen), Some(all)) = (seen, all) else { return vec!["-".into(); 4] };
            let others = seen.named.iter().zip(&all.named).filter(|(own, usual)| own != usual).count();
            vec![
                format!("{} of {}", seen.seen, seen.events),
                others.to_string(),
                format!("{:.1}", seen.false_a_day),
                seen.told_h.map_or_else(|| "-".into(), |h| format!("{h:.2}")),
            ]
        };
        let row = |effect: &Effect| {
            [
                counts(Some(&effect.bench)),
                site(effect.production.as_ref(), all.production.as_ref()),
                counts(effect.real.as_ref()),
            ]
            .concat()
        };
        let same = row(all);
        let own = row(effect).into_iter().zip(same);
        cells.extend(own.map(|(cell, usual)| if !is_all && cell == usual { "·".into() } else { cell }));
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    let idle: Vec<&str> = effects
        .iter()
        .filter(|effect| {
            (&effect.bench, &effect.production, &effect.real) == (&all.bench, &all.production, &all.real)
        })
        .filter_map(|effect| effect.without)
        .collect();
    let _ = writeln!(
        out,
        "\nWithout any effect here: {}.",
        if idle.is_empty() { "none".into() } else { idle.join(", ") }
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_changes_and_names_rules_without_effect() {
        let counts = |right: usize| Counts { runs: 9, found: 8, right, wrong: 1, told_s: Some(31.0) };
        let effect = |without, right| Effect { without, bench: counts(right), production: None, real: None };
        let table = table(&[effect(None, 8), effect(Some("load"), 5), effect(Some("queue"), 8)]);
        assert!(table.contains("| (all rules) | 8 of 9 | 8 | 1 | 31 |"), "{table}");
        assert!(table.contains("| `load` | · | 5 | · | · |"), "{table}");
        assert!(table.contains("Without any effect here: queue."), "{table}");
    }
}

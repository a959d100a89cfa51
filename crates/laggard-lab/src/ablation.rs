//! What each rule is worth: everything judged again without it.
//!
//! Every experiment is made once and judged by all variants whose rule spoke in it. A rule that changes nothing anywhere is not worth having.

use crate::production::{Plan, Sight};
use crate::real;
use crate::simulated::harder;
use crate::simulated::matrix::{Matrix, conditions};
use crate::simulated::tally::{Expected, Tally};
use crate::uneven;
use crate::verdict::ours::{self, Ours, Variants};
use indicatif::ProgressBar;
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
    /// The harder test bench.
    pub harder: Option<Counts>,
    /// The production site.
    pub production: Option<Site>,
    /// The same with uneven load, all levels together.
    pub uneven: Option<Days>,
    /// Recorded real runs.
    pub real: Option<Counts>,
    /// Where only latencies and volumes are seen: the test bench ...
    pub blind_bench: Counts,
    /// ... the production site ...
    pub blind_production: Option<Site>,
    /// ... and real runs.
    pub blind_real: Option<Counts>,
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

/// Days of production with uneven load.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Days {
    /// Days with a slow LUN ...
    pub slow: usize,
    /// ... that was named, as slow.
    pub right: usize,
    /// Days with one that is slow now and then ...
    pub intermittent: usize,
    /// ... that was named.
    pub intermittent_named: usize,
    /// Parts accused that had no fault.
    pub wrong: usize,
    /// Loads told.
    pub loads: usize,
}

impl Days {
    fn sum<'a>(levels: impl Iterator<Item = &'a uneven::Row>) -> Days {
        levels.fold(Days::default(), |sum, level| Days {
            slow: sum.slow + level.slow,
            right: sum.right + level.right,
            intermittent: sum.intermittent + level.intermittent,
            intermittent_named: sum.intermittent_named + level.intermittent_named,
            wrong: sum.wrong + level.others + level.faults - level.mishaps,
            loads: sum.loads + level.loads,
        })
    }
}

/// The experiments to judge.
pub struct Ablation<'a> {
    /// Our method, and the same without each rule.
    pub variants: &'a Variants,
    /// The test bench.
    pub matrix: &'a Matrix,
    /// The harder test bench.
    pub harder: Option<&'a harder::Plan>,
    /// The production site.
    pub plan: Option<&'a Plan>,
    /// The same with uneven load.
    pub uneven: Option<&'a uneven::Plan>,
    /// Folders of recorded runs.
    pub real: &'a [PathBuf],
}

impl Ablation<'_> {
    /// Judges everything with all rules, then without each.
    pub fn run(&self, bar: &ProgressBar) -> Result<Vec<Effect>, String> {
        let blind = Variants {
            usual: Ours { sees_work: false, ..self.variants.usual.clone() },
            rules: self.variants.rules.clone(),
        };
        let bench = [self.variants, &blind].map(|variants| self.bench(variants, bar));
        let harder = self.harder.map(|plan| harder::sums(&plan.run(bar)));
        let site = |variants: &Variants| self.plan.map(|plan| site(plan, variants, bar)).transpose();
        let production = [site(self.variants)?, site(&blind)?];
        let uneven = self.uneven.map(|plan| plan.run(bar)).transpose()?;
        let real = |variants: &Variants| match self.real.is_empty() {
            true => Ok(None),
            false => real::tallies(self.real, variants).map(Some),
        };
        let real = [real(self.variants)?, real(&blind)?];
        let counts = |of: &Option<Vec<Tally>>, index: usize| of.as_ref().map(|of| Counts::from(&of[index]));
        let days = |of: &Option<Vec<Site>>, index: usize| of.as_ref().map(|of| of[index].clone());
        let effect = |index: usize| Effect {
            without: index.checked_sub(1).map(|rule| self.variants.rules[rule].id),
            bench: Counts::from(&bench[0][index]),
            harder: counts(&harder, index),
            production: days(&production[0], index),
            uneven: uneven.as_ref().map(|levels| Days::sum(levels.iter().map(|level| &level[index]))),
            real: counts(&real[0], index),
            blind_bench: Counts::from(&bench[1][index]),
            blind_production: days(&production[1], index),
            blind_real: counts(&real[1], index),
        };
        Ok((0..self.variants.count()).map(effect).collect())
    }

    /// All experiments of the matrix.
    fn bench(&self, variants: &Variants, bar: &ProgressBar) -> Vec<Tally> {
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
            let tallies =
                variants.each_alone(|ours| Tally::of(&expected, &ours::judge(&trace, ours, from_s)));
            bar.inc(1);
            tallies
        };
        Tally::sums(&experiments.par_iter().map(judge).collect::<Vec<_>>())
    }
}

fn site(plan: &Plan, variants: &Variants, bar: &ProgressBar) -> Result<Vec<Site>, String> {
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
    Ok((0..variants.count()).map(of).collect())
}

/// A table in Markdown: numbers where something changes, a dot where nothing does.
pub fn table(effects: &[Effect]) -> String {
    let mut out = String::from(
        "| without | bench | harder bench | real runs | events | uneven load | latencies and volumes only: bench | real runs | events |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let Some(all) = effects.first() else { return out };
    let usual = cells(all, all);
    for effect in effects {
        let name = effect.without.map_or_else(|| "(all rules)".into(), |id| format!("`{id}`"));
        let own = cells(effect, all).into_iter().zip(&usual);
        let shown = own.map(|(cell, usual)| match effect.without.is_some() && cell == *usual {
            true => "·".into(),
            false => cell,
        });
        let _ = writeln!(out, "| {name} | {} |", shown.collect::<Vec<_>>().join(" | "));
    }
    let is_idle = |effect: &&Effect| effect.without.is_some() && cells(effect, all) == usual;
    let idle: Vec<&str> = effects.iter().filter(is_idle).filter_map(|effect| effect.without).collect();
    let idle = if idle.is_empty() { "none".into() } else { idle.join(", ") };
    let _ = writeln!(
        out,
        "\nBench, harder bench, real runs: the faulty server found / with the right cause / something wrong, and when half were \
         told. Events: seen, other names than with all rules, false incidents a day, hours until half were seen. Uneven load: slow \
         LUNs named as slow, intermittent ones, false faults, loads told. Latencies and volumes only: the same data without \
         requests and busy time.\n\nWithout any effect here: {idle}."
    );
    out
}

/// What the verdicts are, in the words of the table.
fn cells(effect: &Effect, all: &Effect) -> [String; 8] {
    let counts = |seen: &Counts| {
        let told = seen.told_s.map_or_else(String::new, |s| format!(", {s:.0} s"));
        format!("{} / {} / {} of {}{told}", seen.found, seen.right, seen.wrong, seen.runs)
    };
    let site = |seen: &Option<Site>, all: &Option<Site>| {
        let (seen, usual) = (seen.as_ref()?, &all.as_ref()?.named);
        let others = seen.named.iter().zip(usual).filter(|(own, usual)| own != usual).count();
        let told = seen.told_h.map_or_else(String::new, |h| format!(", {h:.2} h"));
        Some(format!("{} of {}, {others} other, {:.1} false{told}", seen.seen, seen.events, seen.false_a_day))
    };
    let days = |seen: &Days| {
        let Days { slow, right, intermittent, intermittent_named, wrong, loads } = seen;
        format!("{right} of {slow}, {intermittent_named} of {intermittent}, {wrong} false, {loads} loads")
    };
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    [
        counts(&effect.bench),
        or_none(effect.harder.as_ref().map(counts)),
        or_none(effect.real.as_ref().map(counts)),
        or_none(site(&effect.production, &all.production)),
        or_none(effect.uneven.as_ref().map(days)),
        counts(&effect.blind_bench),
        or_none(effect.blind_real.as_ref().map(counts)),
        or_none(site(&effect.blind_production, &all.blind_production)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_changes_and_names_rules_without_effect() {
        let counts = |right: usize| Counts { runs: 9, found: 8, right, wrong: 1, told_s: Some(31.0) };
        let effect = |without, right| Effect {
            without,
            bench: counts(right),
            harder: None,
            production: None,
            uneven: None,
            real: None,
            blind_bench: counts(7),
            blind_production: None,
            blind_real: None,
        };
        let table = table(&[effect(None, 8), effect(Some("load"), 5), effect(Some("queue"), 8)]);
        assert!(table.contains("| (all rules) | 8 / 8 / 1 of 9, 31 s | - |"), "{table}");
        assert!(table.contains("| `load` | 8 / 5 / 1 of 9, 31 s | · |"), "{table}");
        assert!(table.contains("Without any effect here: queue."), "{table}");
    }
}

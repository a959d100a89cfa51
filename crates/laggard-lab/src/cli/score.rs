//! `laggard-lab score`: simulated clusters and real recordings, judged by every pipeline, beside the papers' tables.

use super::{Format, Outcome, bar, deliver};
use crate::ablation::{self, Ablation};
use crate::budget;
use crate::production::Plan;
use crate::real;
use crate::report::{Report, html, text};
use crate::simulated::{harder, matrix::Matrix};
use crate::uneven;
use crate::verdict::ours::{Ours, Variants};
use clap::Args as ClapArgs;
use laggard_core::diagnose::rules::{self, Rule, Without};
use laggard_sim::production::CATALOGUE;
use std::path::PathBuf;

/// Score the verdicts on simulated clusters and on recorded runs, beside the papers' tables
///
/// The published score is that of the held-out seeds. Methods and constants are chosen on `--development` seeds only.
#[derive(ClapArgs)]
pub struct Args {
    /// One repetition, a few production events, development seeds: the tests run it
    #[arg(long)]
    quick: bool,

    /// The seeds that methods are developed on, in place of the held-out ones
    #[arg(long)]
    development: bool,

    /// Repetitions of each combination of cluster, fault and workload [default: 10, quick 1]; days of each level with --only budget, slow LUNs of
    /// each factor with --only telling
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    repetitions: Option<u64>,

    /// Share of the published faults' severity; below 1, the bounds are not checked
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    severity: f64,

    /// Real runs too: folders of campaigns, or of single runs, of `laggard-lab run` (repeatable)
    #[arg(long, value_name = "FOLDER")]
    real: Vec<PathBuf>,

    /// Only the simulated test bench, the production events, production with uneven load, the harder test bench, or real runs
    #[arg(long, value_name = "PART")]
    only: Option<Part>,

    /// Without this rule of ours (`laggard rules`); bounds are not checked; with --ablation, only these are tried (repeatable)
    #[arg(long, value_name = "RULE", value_parser = rule)]
    without: Vec<&'static Rule>,

    /// Hours before a LUN becomes slow, with --only telling
    #[arg(long, value_name = "HOURS", default_value_t = 6.0, value_parser = hours)]
    history: f64,

    /// Seconds between samples, with --only telling
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=15))]
    interval: u32,

    /// Ours sees neither requests nor busy time of devices, as at sites that record latencies and volumes only; bounds are not checked
    #[arg(long, conflicts_with = "ablation")]
    without_work: bool,

    /// What each rule is worth: everything judged again without it, as a table or JSON
    #[arg(long, conflicts_with = "only")]
    ablation: bool,

    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// Where to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Bench,
    Production,
    Uneven,
    Harder,
    Real,
    /// False alarms on quiet days, against several budgets
    Budget,
    /// Minutes until a slow LUN is told, by how slow it is
    Telling,
}

fn rule(id: &str) -> Result<&'static Rule, String> {
    rules::find(id).ok_or_else(|| "no such rule; `laggard rules` lists them".into())
}

fn hours(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(hours) if (0.0..=8760.0).contains(&hours) => Ok(hours),
        _ => Err("hours, up to those of a year".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("a number above 0, up to 1".into()),
    }
}

/// The catalogue's events, and one of each row of LISA'13's table 8.
const ALL: [usize; CATALOGUE.len()] = {
    let mut all = [0; CATALOGUE.len()];
    let mut index = 0;
    while index < all.len() {
        all[index] = index;
        index += 1;
    }
    all
};
const ONE_OF_EACH: [usize; 5] = [0, 1, 11, 14, 18];
/// Days of each sort and level that all variants of an ablation judge.
const UNEVEN_DAYS: usize = 2;

pub fn run(args: &Args) -> Result<Outcome, String> {
    if args.only == Some(Part::Production) && args.severity != 1.0 {
        return Err("--severity is of the test bench's faults: not with --only production".into());
    }
    if args.only == Some(Part::Real) && args.real.is_empty() {
        return Err("--only real: which? --real FOLDER".into());
    }
    // Whoever mends a red test looks at what failed: that must not be the held-out seeds.
    let held_out = !args.development && !args.quick;
    let repetitions = args.repetitions.unwrap_or(if args.quick { 1 } else { 10 }) as usize;
    let training = if args.quick { 2 } else { 10 };
    let without = Without::rules(args.without.clone());
    let ours = Ours { without, sees_work: !args.without_work, ..Ours::default() };
    let matrix = Matrix { held_out, repetitions, training, scale: 1.0, severity: args.severity };
    let plan = Plan {
        held_out,
        events: if args.quick { &ONE_OF_EACH } else { &ALL },
        horizon_h: if args.quick { 15.0 } else { 48.0 },
        quiet_days: if args.quick { 1 } else { 10 },
        ours: ours.clone(),
    };
    if args.only == Some(Part::Uneven) {
        let plan = uneven::Plan { held_out, days: if args.quick { 6 } else { 24 }, variants: ours.into() };
        let bar = bar("uneven production", plan.len());
        let rows = plan.run(&bar)?;
        bar.finish_and_clear();
        deliver(&uneven::table(&rows), args.output.as_ref())?;
        return Ok(Outcome::Good);
    }
    if args.only == Some(Part::Harder) {
        let plan = harder::Plan { held_out, repetitions, variants: ours.into() };
        let bar = bar("harder bench", plan.len());
        let rows = plan.run(&bar);
        bar.finish_and_clear();
        deliver(&harder::table(&rows), args.output.as_ref())?;
        return Ok(Outcome::Good);
    }
    if args.only == Some(Part::Budget) {
        let days = args
            .repetitions
            .map_or(if args.quick { 6 } else { 60 }, |days| days.next_multiple_of(2) as usize);
        let plan = budget::Quiet { held_out, days, together: 2 };
        let bar = bar("quiet days", plan.len());
        let table = plan.run(&bar)?;
        bar.finish_and_clear();
        deliver(&table, args.output.as_ref())?;
        return Ok(Outcome::Good);
    }
    if args.only == Some(Part::Telling) {
        let repetitions = args.repetitions.unwrap_or(if args.quick { 2 } else { 8 }) as usize;
        let plan =
            budget::Telling { held_out, interval_s: args.interval, repetitions, history_h: args.history };
        let bar = bar("slow LUNs", plan.len());
        let table = plan.run(&bar)?;
        bar.finish_and_clear();
        deliver(&table, args.output.as_ref())?;
        return Ok(Outcome::Good);
    }
    if args.ablation {
        return ablation(args, &matrix, &plan);
    }
    let mut report = Report::new(held_out, args.severity);
    if matches!(args.only, None | Some(Part::Bench)) {
        let bar = bar("test bench", matrix.len() as u64);
        report.bench = Some(matrix.judge(&ours, &bar).into());
        bar.finish_and_clear();
    }
    if matches!(args.only, None | Some(Part::Production)) && args.severity == 1.0 {
        let bar = bar("production", plan.len());
        report.production = Some(plan.run(&bar)?);
        bar.finish_and_clear();
    }
    if !args.real.is_empty() {
        let bar = bar("real runs", real::count(&args.real)? as u64);
        report.real = Some(real::judge(&args.real, &ours, &bar)?);
        bar.finish_and_clear();
    }
    if args.without.is_empty() && !args.without_work {
        report.bounds = report.check();
    }
    let text = match args.format {
        Format::Text => text::render(&report),
        Format::Json => serde_json::to_string_pretty(&report).map_err(|error| error.to_string())? + "\n",
        Format::Html => html::render(&report),
    };
    deliver(&text, args.output.as_ref())?;
    Ok(if report.bounds.iter().all(|bound| bound.holds) { Outcome::Good } else { Outcome::Broken })
}

/// What each rule is worth.
fn ablation(args: &Args, matrix: &Matrix, plan: &Plan) -> Result<Outcome, String> {
    let rules = if args.without.is_empty() { rules::all().collect() } else { args.without.clone() };
    let variants = Variants { usual: Ours::default(), rules };
    let Matrix { held_out, repetitions, .. } = *matrix;
    let harder = harder::Plan { held_out, repetitions, variants: variants.clone() };
    let uneven = uneven::Plan { held_out, days: UNEVEN_DAYS, variants: variants.clone() };
    // Only the published faults have a severity.
    let has_all = args.severity == 1.0;
    let ablation = Ablation {
        variants: &variants,
        matrix,
        harder: has_all.then_some(&harder),
        plan: has_all.then_some(plan),
        uneven: has_all.then_some(&uneven),
        real: &args.real,
    };
    let bar = bar("ablation", matrix.len() as u64 + harder.len() + plan.len() + uneven.len());
    let effects = ablation.run(&bar)?;
    bar.finish_and_clear();
    let text = match args.format {
        Format::Text => ablation::table(&effects),
        Format::Json => serde_json::to_string_pretty(&effects).map_err(|error| error.to_string())? + "\n",
        Format::Html => return Err("--ablation is printed as text or json".into()),
    };
    deliver(&text, args.output.as_ref())?;
    Ok(Outcome::Good)
}

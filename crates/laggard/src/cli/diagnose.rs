//! `laggard diagnose`: which part limps, why, since when, how sure.

use super::input::{Input, Loaded, bar, main_method};
use super::{Failure, Outcome, deliver, follow};
use crate::report::{self, Format};
use crate::session::{self, Session};
use clap::Args as ClapArgs;
use laggard_core::compare::Method;
use laggard_core::diagnose::{Config, Thresholds};
use laggard_core::model::groups::Component;
use laggard_core::model::{Metric, Roster};
use laggard_store::{Recording, align};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Find the part that limps
#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    pub(super) input: Input,

    /// Thresholds from `laggard train` [default: from the peers themselves]
    #[arg(long, value_name = "FILE")]
    thresholds: Option<PathBuf>,

    /// limp, kl, cdf, median or thresh for all metrics but cwnd, which has its own [default: limp, or that of the thresholds]
    #[arg(long, value_parser = main_method)]
    method: Option<&'static Method>,

    /// A repair: forget what was seen of a part until then (repeatable)
    #[arg(long, value_name = "PART@TIME")]
    resolved: Vec<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,

    /// Go on with what is being recorded: a line when something begins to limp, changes, or is over. Activity files only
    #[arg(long)]
    follow: bool,

    /// Show the evidence: of everything, or of one part
    #[arg(long, value_name = "PART", num_args = 0..=1, default_missing_value = "")]
    pub(super) explain: Option<String>,

    /// Write to a file
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<Outcome, Failure> {
    if args.follow {
        return follow::run(args);
    }
    let Loaded { recording, roster } = args.input.load()?;
    let config = args.config(&recording, &roster)?;
    let bar = bar("comparing");
    let session = Session::diagnose(recording, roster, config, args.format == Format::Html, &bar);
    bar.finish_and_clear();
    let text = report::render(&session, args.format, args.explain.as_deref())?;
    deliver(&text, args.output.as_ref())?;
    Ok(session.outcome())
}

impl Args {
    /// How to diagnose a recording, as asked for and as it allows.
    pub(super) fn config(&self, recording: &Recording, roster: &Roster) -> Result<Config, Failure> {
        let thresholds = self.thresholds()?;
        let trained = thresholds.as_ref().and_then(session::main_entry);
        let method = match (self.method, trained) {
            (Some(method), _) => method,
            (None, Some(entry)) => Method::parse(&entry.method).unwrap_or(&laggard_core::compare::cdf::CDF),
            (None, None) => session::UNTRAINED,
        };
        let interval_s = match trained {
            Some(entry) if self.input.interval.is_none() => entry.interval_s,
            _ => self.input.interval(session::grid_s(method, recording), recording, session::is_compared),
        };
        if let (Some(thresholds), Some(path)) = (&thresholds, &self.thresholds) {
            check_thresholds(thresholds, path, method, recording)?;
        }
        let resolved = resolved(&self.resolved, roster)?;
        Ok(Config { interval_s, method, thresholds, lateness_slots: 0, resolved })
    }

    fn thresholds(&self) -> Result<Option<Thresholds>, Failure> {
        let Some(path) = &self.thresholds else { return Ok(None) };
        let text = std::fs::read_to_string(path).map_err(|error| Failure::io(path, &error))?;
        let said = |error| Failure::Said(format!("{}: {error}", path.display()));
        Thresholds::parse(&text).map(Some).map_err(said)
    }
}

/// Thresholds of other components, metrics or another grid would find nothing, silently.
fn check_thresholds(
    thresholds: &Thresholds,
    path: &Path,
    method: &Method,
    recording: &Recording,
) -> Result<(), Failure> {
    let file = path.display();
    if !thresholds.thresholds.iter().any(|entry| entry.method == method.name) {
        let said = format!("{file}: no thresholds for method `{0}`; train with --method {0}", method.name);
        return Err(Failure::Said(said));
    }
    let names: HashSet<&String> =
        thresholds.thresholds.iter().flat_map(|entry| entry.components.keys()).collect();
    let strangers: Vec<&String> =
        recording.observed().iter().map(|known| &known.name).filter(|name| !names.contains(name)).collect();
    if !names.is_empty() && strangers.len() == recording.observed().len() {
        return Err(Failure::Said(format!(
            "{file}: learnt from other components; none of these is in the data"
        )));
    }
    if !names.is_empty() && !strangers.is_empty() {
        let folded = laggard_core::model::hosts::fold(&strangers);
        eprintln!(
            "laggard: {file}: not in training, judged by the largest threshold of the others: {folded}"
        );
    }
    let known = |metric: Metric| thresholds.thresholds.iter().any(|entry| entry.metric == metric.name());
    let compared = |metric: &Metric| metric.properties().role.can_indict();
    for metric in recording.metrics().into_iter().filter(compared).filter(|metric| !known(*metric)) {
        eprintln!("laggard: {file}: no thresholds for {metric}: it is not judged");
    }
    let data = align::intervals(recording, session::is_compared).map_or(1, |found| found.usual_s);
    if let Some(entry) = thresholds.thresholds.iter().find(|entry| i64::from(entry.interval_s) < data) {
        eprintln!(
            "laggard: {file}: learnt every {} s, but the data has a sample every {data} s; train again",
            entry.interval_s
        );
    }
    Ok(())
}

/// Repairs as given: of a component, or of a part and so of all its components.
fn resolved(given: &[String], roster: &Roster) -> Result<Vec<(usize, i64)>, Failure> {
    let mut repairs = Vec::new();
    for text in given {
        let said = |message: String| Failure::Said(format!("--resolved {text}: {message}"));
        let (name, time) = text.rsplit_once('@').ok_or_else(|| said("not COMPONENT@TIME".into()))?;
        let time = laggard_store::time::parse(time).ok_or_else(|| said(format!("`{time}` is not a time")))?;
        let is_part_of = |component: &Component| {
            component.name == name || component.parts.iter().any(|(_, part)| part == name)
        };
        let before = repairs.len();
        let components = roster.components.iter().enumerate().filter(|(_, component)| is_part_of(component));
        repairs.extend(components.map(|(index, _)| (index, time)));
        if repairs.len() == before {
            return Err(said(format!("no part `{name}` in the data or the topology")));
        }
    }
    Ok(repairs)
}

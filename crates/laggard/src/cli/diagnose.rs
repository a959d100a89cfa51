//! `laggard diagnose`: which part limps, why, since when, how sure.

use super::input::{Input, Loaded, bar, method};
use super::{Failure, Outcome, deliver};
use crate::report::{self, Format};
use crate::session::{self, Session};
use clap::Args as ClapArgs;
use laggard_core::compare::Method;
use laggard_core::diagnose::{Config, Thresholds};
use laggard_core::model::Roster;
use std::path::PathBuf;

/// Find the part that limps
#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// Thresholds from `laggard train` [default: from the peers themselves]
    #[arg(long, value_name = "FILE")]
    thresholds: Option<PathBuf>,

    /// kl, cdf, median or thresh for all metrics but cwnd, which has its own [default: cdf, or kl for short recordings]
    #[arg(long, value_parser = method)]
    method: Option<&'static Method>,

    /// A repair: forget what was seen of a component until then (repeatable)
    #[arg(long, value_name = "COMPONENT@TIME")]
    resolved: Vec<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Show the evidence: of everything, or of one part
    #[arg(long, value_name = "PART", num_args = 0..=1, default_missing_value = "")]
    explain: Option<String>,

    /// Write to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let Loaded { recording, roster } = args.input.load()?;
    let thresholds = args.thresholds()?;
    let trained = thresholds.as_ref().and_then(session::main_entry);
    let method = match (args.method, trained) {
        (Some(method), _) => method,
        (None, Some(entry)) => Method::parse(&entry.method).unwrap_or(&laggard_core::compare::cdf::CDF),
        (None, None) => session::suitable_method(&recording),
    };
    let interval_s = match trained {
        Some(entry) if args.input.interval.is_none() => entry.interval_s,
        _ => args.input.interval(method, &recording),
    };
    if let (Some(thresholds), Some(path)) = (&thresholds, &args.thresholds)
        && !thresholds.thresholds.iter().any(|entry| entry.method == method.name)
    {
        let said = format!(
            "{}: no thresholds for method `{}`; train with --method {0}",
            path.display(),
            method.name
        );
        return Err(Failure::Said(said.replace("{0}", method.name)));
    }
    let resolved = resolved(&args.resolved, &roster)?;
    let config = Config { interval_s, method, thresholds, lateness_slots: 0, resolved };
    let bar = bar("comparing");
    let session = Session::diagnose(recording, roster, config, args.format == Format::Html, &bar);
    bar.finish_and_clear();
    let text = report::render(&session, args.format, args.explain.as_deref())?;
    deliver(&text, args.output.as_ref())?;
    Ok(session.outcome())
}

impl Args {
    fn thresholds(&self) -> Result<Option<Thresholds>, Failure> {
        let Some(path) = &self.thresholds else { return Ok(None) };
        let text = std::fs::read_to_string(path).map_err(|error| Failure::io(path, &error))?;
        let said = |error| Failure::Said(format!("{}: {error}", path.display()));
        Thresholds::parse(&text).map(Some).map_err(said)
    }
}

fn resolved(given: &[String], roster: &Roster) -> Result<Vec<(usize, i64)>, Failure> {
    let parse = |text: &String| {
        let (name, time) =
            text.rsplit_once('@').ok_or_else(|| format!("--resolved {text}: not COMPONENT@TIME"))?;
        let component = roster
            .find(name)
            .ok_or_else(|| format!("--resolved {text}: no component `{name}` in the data"))?;
        let time = laggard_store::time::parse(time)
            .ok_or_else(|| format!("--resolved {text}: `{time}` is not a time"))?;
        Ok((component, time))
    };
    given.iter().map(parse).collect::<Result<_, String>>().map_err(Failure::Said)
}

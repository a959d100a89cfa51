//! `laggard diagnose`: which part limps, why, since when, how sure.

use super::console::Console;
use super::input::{Input, main_method};
use super::{Failure, deliver, follow};
use crate::report::{Format, diagnosis};
use clap::Args as ClapArgs;
use laggard_core::compare::Method;
use laggard_core::diagnose::Conclusion;
use laggard_core::diagnose::budget::Rate;
use laggard_core::diagnose::rules::Without;
use laggard_engine::{Session, Wishes};
use std::path::PathBuf;

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

    /// The false alarms that the site accepts: NUMBER/day, /week, /month or /year. Fewer take longer to be sure
    #[arg(long, value_name = "RATE", default_value = "1/month", value_parser = budget)]
    false_alarms: Rate,

    /// A repair: forget what was seen of a part until then (repeatable)
    #[arg(long, value_name = "PART@TIME")]
    resolved: Vec<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,

    /// Go on with what is being recorded: a line when something begins to limp, changes, or is over. Activity files only
    #[arg(long)]
    follow: bool,

    /// Show the evidence of all problems
    #[arg(long)]
    pub(super) evidence: bool,

    /// Explain a part, also a healthy one: every rule that spoke, with its numbers (repeatable)
    #[arg(long, value_name = "PART")]
    pub(super) explain: Vec<String>,

    /// Write to a file
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    if args.follow {
        return follow::run(args);
    }
    let console = Console::default();
    let session = Session::of(&args.input.source(), &args.wishes(), args.format == Format::Html, &console)?;
    console.clear();
    let text = match args.format {
        Format::Text => diagnosis::text::render(&session, args.evidence, &args.explain),
        Format::Json => diagnosis::json::render(&session),
        Format::Html => diagnosis::html::render(&session),
    };
    deliver(&text, args.output.as_ref())?;
    Ok(session.diagnosis.conclusion())
}

impl Args {
    /// What is asked for.
    pub(super) fn wishes(&self) -> Wishes {
        Wishes {
            method: self.method,
            interval_s: self.input.interval,
            thresholds: self.thresholds.clone(),
            resolved: self.resolved.clone(),
            asked: self.explain.clone(),
            without: Without::default(),
            budget: self.false_alarms,
        }
    }
}

/// A budget of false alarms, for clap.
fn budget(text: &str) -> Result<Rate, String> {
    Rate::parse(text).ok_or_else(|| "not NUMBER/day, /week, /month or /year, such as 1/month".into())
}

//! `laggard compare`: the scores of one method in one metric, as the papers define them.

use super::input::{Input, Loaded, method};
use super::{Failure, Outcome, deliver};
use crate::session;
use clap::{Args as ClapArgs, ValueEnum};
use laggard_core::compare::Method;
use laggard_core::model::Metric;
use std::fmt::Write;
use std::path::PathBuf;

/// Print the scores of one method in one metric
#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// limp, kl, cwnd, cdf, median or thresh
    #[arg(long, value_parser = method)]
    method: &'static Method,

    /// Such as await, rd_sec, rxbyt
    #[arg(long, value_parser = metric)]
    metric: Metric,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,

    /// Write to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Csv,
}

fn metric(name: &str) -> Result<Metric, String> {
    Metric::parse(name).ok_or_else(|| format!("unknown metric, nearest: {}", Metric::nearest(name)))
}

pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let Loaded { recording, roster } = args.input.load()?;
    let interval_s =
        args.input.interval(args.method.params.interval_s, &recording, |metric| metric == args.metric);
    let Format::Csv = args.format;
    let mut out = String::from("window,component,score\n");
    let mut any = false;
    session::compare(&recording, &roster, args.method, args.metric, interval_s, |scored| {
        // A window in which nothing can be said of a component has no row: no score is not zero.
        for (component, score) in
            scored.components.iter().zip(&scored.scores).filter(|(_, score)| !score.is_nan())
        {
            any = true;
            let _ = writeln!(out, "{},{},{score}", scored.window, roster.components[*component].name);
        }
    });
    deliver(&out, args.output.as_ref())?;
    if !any {
        let needed = args.method.params.size as u64 * u64::from(interval_s);
        eprintln!("laggard: no window with {} of three components; a window is {needed} s", args.metric);
        return Ok(Outcome::Undecided);
    }
    Ok(Outcome::Quiet)
}

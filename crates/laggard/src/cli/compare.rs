//! `laggard compare`: the scores of one method in one metric, as the papers define them.

use super::console::Console;
use super::input::{Input, method_of_one_metric};
use super::{Failure, deliver};
use clap::{Args as ClapArgs, ValueEnum};
use laggard_core::compare::Method;
use laggard_core::diagnose::Conclusion;
use laggard_core::model::Metric;
use laggard_engine::{plan, training};
use std::fmt::Write;
use std::path::PathBuf;

/// Print the scores of one method in one metric
#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// limp, kl, cwnd, cdf, median or thresh
    #[arg(long, value_parser = method_of_one_metric)]
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

pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    let console = Console::default();
    let loaded = args.input.source().load(&console)?;
    let usual_s = args.method.params.interval_s;
    let wanted = |metric: Metric| metric == args.metric;
    let interval_s = plan::interval(args.input.interval, usual_s, &loaded.recording, wanted, &console);
    let Format::Csv = args.format;
    let mut out = String::from("window,component,score\n");
    let mut any = false;
    training::compare(&loaded, args.method, args.metric, interval_s, |scored| {
        // A window in which nothing can be said of a component has no row: no score is not zero.
        for (&component, score) in
            scored.components.iter().zip(scored.scores).filter(|(_, score)| !score.is_nan())
        {
            any = true;
            let _ = writeln!(out, "{},{},{score}", scored.window.0, loaded.roster.name(component));
        }
    });
    console.clear();
    deliver(&out, args.output.as_ref())?;
    if !any {
        let needed = args.method.params.size as u64 * u64::from(interval_s);
        console.say(&format!("no window with {} of three components; a window is {needed} s", args.metric));
        return Ok(Conclusion::Undecided);
    }
    Ok(Conclusion::Quiet)
}

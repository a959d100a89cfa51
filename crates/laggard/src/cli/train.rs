//! `laggard train`: thresholds from fault-free data.

use super::console::Console;
use super::input::{Input, main_method, method_of_one_metric};
use super::{Failure, deliver, write_whole};
use clap::Args as ClapArgs;
use laggard_core::compare::Method;
use laggard_core::diagnose::Conclusion;
use laggard_engine::training;
use std::path::PathBuf;

/// Learn thresholds from fault-free data
#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// kl, cdf, median or thresh for all metrics but cwnd, which has its own [default: cdf, or kl for short recordings]
    #[arg(long, value_parser = trained_method)]
    method: Option<&'static Method>,

    /// Where to write the thresholds
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    let console = Console::default();
    let loaded = args.input.source().load(&console)?;
    let (method, interval_s) = training::plan(&loaded, args.method, args.input.interval, &console);
    let thresholds = training::train(&loaded, method, interval_s, &console)?;
    console.clear();
    write_whole(&args.output, &thresholds.to_toml())?;
    let metrics: Vec<&str> = thresholds.thresholds.iter().map(|entry| entry.metric.name()).collect();
    deliver(
        &format!(
            "thresholds of {} components in {} ({}, every {interval_s} s) written to {}\n",
            loaded.roster.components.len(),
            metrics.join(", "),
            method.name,
            args.output.display()
        ),
        None,
    )?;
    Ok(Conclusion::Quiet)
}

/// A method for all metrics but congestion windows that can be trained, for clap.
fn trained_method(name: &str) -> Result<&'static Method, String> {
    method_of_one_metric(name).and_then(|method| main_method(method.name))
}

//! `laggard train`: thresholds from fault-free data.

use super::input::{Input, Loaded, main_method};
use super::{Failure, Outcome, deliver, write_whole};
use crate::session;
use clap::Args as ClapArgs;
use laggard_core::compare::Method;
use laggard_core::model::Metric;
use std::path::PathBuf;

/// Learn thresholds from fault-free data
#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// kl, cdf, median or thresh for all metrics but cwnd, which has its own [default: cdf, or kl for short recordings]
    #[arg(long, value_parser = main_method)]
    method: Option<&'static Method>,

    /// Where to write the thresholds
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let Loaded { recording, roster } = args.input.load()?;
    let method = args.method.unwrap_or_else(|| session::published_method(&recording));
    let interval_s =
        args.input.interval(session::grid_s(method, &recording), &recording, session::is_compared);
    let thresholds = session::train(&recording, &roster, method, interval_s);
    if thresholds.thresholds.is_empty() {
        let needed = session::shortest_s(method, interval_s);
        let said =
            format!("nothing to learn from: `{}` needs three peers and {needed} s of recording", method.name);
        return Err(Failure::Said(said));
    }
    let learnt = |metric: Metric| thresholds.thresholds.iter().any(|entry| entry.metric == metric.name());
    let compared = |metric: &Metric| metric.properties().role.can_indict();
    let not_learnt = recording.metrics().into_iter().filter(compared).filter(|metric| !learnt(*metric));
    for metric in not_learnt {
        let needed = session::shortest_s(method, interval_s);
        eprintln!("laggard: nothing learnt for {metric}: it needs three peers and {needed} s of recording");
    }
    write_whole(&args.output, &thresholds.to_toml())?;
    let metrics: Vec<&str> = thresholds.thresholds.iter().map(|entry| entry.metric.as_str()).collect();
    deliver(
        &format!(
            "thresholds of {} components in {} ({}, every {interval_s} s) written to {}\n",
            roster.components.len(),
            metrics.join(", "),
            method.name,
            args.output.display()
        ),
        None,
    )?;
    Ok(Outcome::Quiet)
}

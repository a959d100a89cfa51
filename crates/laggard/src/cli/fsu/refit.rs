//! `laggard fsu refit`: coefficients from the latencies that newer Lustre counts by size, without any test.

use super::calibrate;
use crate::cli::console::Console;
use crate::cli::input::Input;
use crate::cli::{Failure, deliver, write_whole};
use clap::Args as ClapArgs;
use laggard_core::diagnose::Conclusion;
use laggard_core::fsu::Direction;
use laggard_core::fsu::coefficients::TargetClass;
use laggard_engine::utilization::{self, refit};
use std::fmt::Write;
use std::path::PathBuf;

/// Learn what a transaction costs from io_latency_stats of a recording
///
/// Only intervals in which the target was not busy count: in a queue a transaction waits for others, and that is not its own cost. What is
/// busy is told by coefficients known before. A disk array that works on many transactions at once takes less for each than their latency.
#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// Coefficients known before, from `laggard fsu calibrate`
    #[arg(long, value_name = "FILE")]
    coefficients: PathBuf,

    /// Where to write the new ones
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    let console = Console::default();
    let coefficients = utilization::coefficients(&args.coefficients)?;
    let recording = args.input.source().recording(&console)?;
    let grid_s = utilization::grid_s(args.input.interval, &recording);
    let found = refit::latencies(&recording, &coefficients, grid_s, &console)?;
    console.clear();
    let mut out = String::new();
    let mut classes = Vec::new();
    for series in &found {
        let [read, write] = calibrate::fits(series, &mut out).map_err(Failure::Usage)?;
        let target = series.target.clone().unwrap_or_default();
        // A direction that was not learnt anew stays as it was.
        let before = |direction| coefficients.fitted(direction, &target, series.fullness);
        let (read, write) =
            (read.or_else(|| before(Direction::Read)), write.or_else(|| before(Direction::Write)));
        classes.push(TargetClass { targets: vec![target], fullness: series.fullness, write, read });
    }
    // So does every other target: who is learnt anew leaves the class it was in.
    let mut new = coefficients;
    for class in &mut new.class {
        class.targets.retain(|name| !classes.iter().any(|learnt| learnt.targets.contains(name)));
    }
    new.class.retain(|class| !class.targets.is_empty());
    new.class.splice(0..0, classes);
    write_whole(&args.output, &new.to_toml())?;
    let _ = writeln!(out, "coefficients written to {}", args.output.display());
    deliver(&out, None)?;
    Ok(Conclusion::Quiet)
}

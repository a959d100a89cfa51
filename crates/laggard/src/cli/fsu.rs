//! `laggard fsu`: how busy the file system really is.

mod calibrate;
mod extract;
mod refit;
mod report;
mod watch;

use super::input::Input;
use super::{Failure, Outcome};
use crate::fsu::GRID_S;
use clap::{Args as ClapArgs, Subcommand};
use laggard_core::fsu::Coefficients;
use laggard_store::Recording;
use std::path::Path;

/// How busy the file system really is: File System Utilization
#[derive(ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Calibrate(calibrate::Args),
    Refit(refit::Args),
    Report(report::Args),
    Tests(extract::Args),
    Watch(watch::Args),
}

pub fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.verb {
        Verb::Calibrate(args) => calibrate::run(args),
        Verb::Refit(args) => refit::run(args),
        Verb::Report(args) => report::run(args),
        Verb::Tests(args) => extract::run(args),
        Verb::Watch(args) => watch::run(args),
    }
}

/// Seconds of an observation: as asked for, or the paper's, and no finer than the data.
fn grid_s(input: &Input, recording: &Recording) -> i64 {
    let files = recording.hosts().iter().flat_map(|host| &host.files);
    let coarsest_s = files.map(|file| i64::from(file.interval_s)).max().unwrap_or(1);
    input.interval.map_or(GRID_S, i64::from).max(coarsest_s)
}

fn coefficients(path: &Path) -> Result<Coefficients, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::io(path, &error))?;
    Coefficients::parse(&text).map_err(|error| Failure::Said(format!("{}: {error}", path.display())))
}

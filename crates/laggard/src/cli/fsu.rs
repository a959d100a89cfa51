//! `laggard fsu`: how busy the file system really is.

mod calibrate;
mod extract;
mod refit;
mod report;
mod watch;

use super::Failure;
use clap::{Args as ClapArgs, Subcommand};
use laggard_core::diagnose::Conclusion;

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

pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    match &args.verb {
        Verb::Calibrate(args) => calibrate::run(args),
        Verb::Refit(args) => refit::run(args),
        Verb::Report(args) => report::run(args),
        Verb::Tests(args) => extract::run(args),
        Verb::Watch(args) => watch::run(args),
    }
}

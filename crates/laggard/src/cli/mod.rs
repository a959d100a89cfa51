//! The command line: one file per verb.
//!
//! Exit codes: 0 nothing suspect, 1 something suspect, 2 failed, 3 undecided. Results go to stdout, all else to stderr.

mod compare;
mod console;
mod demo;
mod diagnose;
mod follow;
mod fsu;
mod import;
mod input;
mod rules;
mod train;

use clap::{Parser, Subcommand};
use console::{deliver, write_whole};
use laggard_core::diagnose::Conclusion;
use laggard_engine::EngineError;
use std::path::Path;
use std::process::ExitCode;

/// Finds the part of a parallel file system that limps while everything still works, says why, and proves it.
#[derive(Parser)]
#[command(name = "laggard", version, arg_required_else_help = true)]
#[command(after_help = "Exit status: 0 nothing suspect, 1 something suspect, 2 failed, 3 undecided.")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Demo(demo::Args),
    Import(import::Args),
    Train(train::Args),
    Compare(compare::Args),
    Diagnose(diagnose::Args),
    Rules(rules::Args),
    Fsu(fsu::Args),
}

/// What went wrong, in a sentence that names the place and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The engine could not go on.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An input could not be read, or a store not be written.
    #[error(transparent)]
    Read(#[from] laggard_store::ReadError),
    /// The system refused.
    #[error("{place}: {source}")]
    Io {
        /// Where.
        place: String,
        /// What it said.
        source: std::io::Error,
    },
    /// Arguments that do not go together, or a result that cannot be right.
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    fn io(path: &Path, error: &std::io::Error) -> Failure {
        let source = std::io::Error::new(error.kind(), error.to_string());
        Failure::Io { place: path.display().to_string(), source }
    }
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let outcome = match cli.verb {
        Verb::Demo(args) => demo::run(&args),
        Verb::Import(args) => import::run(&args),
        Verb::Train(args) => train::run(&args),
        Verb::Compare(args) => compare::run(&args),
        Verb::Diagnose(args) => diagnose::run(&args),
        Verb::Rules(args) => rules::run(&args),
        Verb::Fsu(args) => fsu::run(&args),
    };
    match outcome {
        Ok(Conclusion::Quiet) => ExitCode::from(0),
        Ok(Conclusion::Suspect) => ExitCode::from(1),
        Ok(Conclusion::Undecided) => ExitCode::from(3),
        Err(failure) => {
            eprintln!("laggard: {failure}");
            ExitCode::from(2)
        }
    }
}

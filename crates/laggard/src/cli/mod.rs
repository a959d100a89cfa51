//! The command line: one file per verb.
//!
//! Exit codes: 0 nothing suspect, 1 something suspect, 2 failed, 3 undecided. Results go to stdout, all else to stderr.

mod compare;
mod demo;
mod diagnose;
mod follow;
mod fsu;
mod import;
mod input;
mod train;

use clap::{Parser, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};
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
    Fsu(fsu::Args),
}

/// What a verb found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing suspect.
    Quiet,
    /// Something suspect.
    Suspect,
    /// Not enough known.
    Undecided,
}

/// What went wrong, in a sentence that names the place and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An input could not be read.
    #[error(transparent)]
    Read(#[from] laggard_store::ReadError),
    /// Anything else, already in words.
    #[error("{0}")]
    Said(String),
}

impl Failure {
    fn io(path: &Path, error: &std::io::Error) -> Failure {
        Failure::Said(format!("{}: {error}", path.display()))
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
        Verb::Fsu(args) => fsu::run(&args),
    };
    match outcome {
        Ok(Outcome::Quiet) => ExitCode::from(0),
        Ok(Outcome::Suspect) => ExitCode::from(1),
        Ok(Outcome::Undecided) => ExitCode::from(3),
        Err(failure) => {
            eprintln!("laggard: {failure}");
            ExitCode::from(2)
        }
    }
}

/// Writes a result to a file or to stdout. A reader that has seen enough is no error.
fn deliver(text: &str, output: Option<&PathBuf>) -> Result<(), Failure> {
    if let Some(path) = output {
        return write_whole(path, text);
    }
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::io(Path::new("stdout"), &error))
        }
        _ => Ok(()),
    }
}

/// Writes beside the place and renames: a full disk leaves the old file, never half a new one.
fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    if std::fs::symlink_metadata(path).is_ok_and(|known| !known.is_file()) {
        // A device or a pipe, such as /dev/stdout: there is nothing to rename.
        return std::fs::write(path, text).map_err(|error| Failure::io(path, &error));
    }
    let partial = path.with_extension(format!("partial-{}", std::process::id()));
    let outcome = std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, path));
    outcome.map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        Failure::io(path, &error)
    })
}

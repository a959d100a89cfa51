//! The command line: one file per verb.
//!
//! Exit codes: 0 done and within all bounds, 1 a bound is broken, 2 failed.

pub mod bench;
mod fsu_sweep;
mod inject;
mod run;
mod score;
mod sensitivity;
mod sim;
mod work;

use clap::{Parser, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Parallel file systems, real and simulated, with known faults, and the score of Laggard's verdicts on them.
#[derive(Parser)]
#[command(name = "laggard-lab", version, arg_required_else_help = true)]
#[command(after_help = "Exit status: 0 within all bounds, 1 a bound is broken, 2 failed.")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Bench(bench::Args),
    Inject(inject::Args),
    Run(run::Args),
    Clean(bench::CleanArgs),
    FsuSweep(fsu_sweep::Args),
    Sim(sim::Args),
    Score(score::Args),
    Sensitivity(sensitivity::Args),
    #[command(hide = true, subcommand)]
    Disk(work::Disk),
    #[command(hide = true)]
    Hand(work::Hand),
    #[command(hide = true, subcommand)]
    Work(work::Work),
}

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables, which are Markdown too
    Text,
    /// For programs
    Json,
    /// One page
    Html,
}

/// What a verb found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As it should be.
    Good,
    /// A bound is broken.
    Broken,
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
        Verb::Bench(args) => bench::run(&args),
        Verb::Inject(args) => inject::run(&args),
        Verb::Run(args) => run::run(&args),
        Verb::Clean(args) => bench::clean(&args),
        Verb::Disk(verb) => work::disk(&verb),
        Verb::Hand(args) => work::hand(&args),
        Verb::Work(verb) => work::work(&verb),
        Verb::FsuSweep(args) => fsu_sweep::run(&args),
        Verb::Sim(args) => sim::run(&args),
        Verb::Score(args) => score::run(&args),
        Verb::Sensitivity(args) => sensitivity::run(&args),
    };
    match outcome {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Broken) => ExitCode::from(1),
        Err(message) => {
            eprintln!("laggard-lab: {message}");
            ExitCode::from(2)
        }
    }
}

/// A progress bar with the remaining time, on stderr; invisible if that is not a terminal.
fn bar(what: &'static str, length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template("{msg:>12} [{bar:40}] {pos}/{len}, {eta} left") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what);
    bar
}

/// Writes a result to a file or to stdout. A reader that has seen enough is no error.
fn deliver(text: &str, output: Option<&PathBuf>) -> Result<(), String> {
    match output {
        Some(path) => std::fs::write(path, text).map_err(|error| said(path, &error)),
        None => match std::io::stdout().lock().write_all(text.as_bytes()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(said(Path::new("stdout"), &error))
            }
            _ => Ok(()),
        },
    }
}

fn said(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

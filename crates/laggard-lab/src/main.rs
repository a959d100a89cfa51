//! The laboratory: simulated clusters with known faults, and the score of every verdict on them.

mod bench;
mod cli;
mod production;
mod report;
mod verdict;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}

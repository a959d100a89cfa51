//! The laboratory: real and simulated clusters with known faults, and the score of every verdict on them.

mod ablation;
mod bench;
mod budget;
mod campaign;
mod cli;
mod disk;
mod fault;
mod host;
mod packages;
mod production;
mod real;
mod report;
mod simulated;
mod sweep;
mod uneven;
mod verdict;
mod workload;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}

//! The operator's binary: finds the part of a parallel file system that limps while everything still works.

mod cli;
mod demo;
mod report;
mod session;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}

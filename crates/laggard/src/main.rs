//! The operator's binary: finds the part of a parallel file system that limps while everything still works.

mod cli;
mod demo;
mod report;

use std::process::ExitCode;

fn main() -> ExitCode {
    allow_many_files();
    cli::run()
}

/// A month of a site is thousands of files; the usual limit of 1024 is for programs that use select(2).
fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where that is refused, the usual limit will do for most.
    let _ = setrlimit(Resource::Nofile, limit);
}

//! `laggard import`: any input into a store.

use super::console::Console;
use super::input::Input;
use super::{Failure, deliver};
use crate::report::sentences;
use clap::Args as ClapArgs;
use laggard_core::diagnose::Conclusion;
use laggard_engine::{Listener, Warning};
use laggard_store::Problems;
use std::path::PathBuf;

/// Put recordings into a store
#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// The store's directory, made if new
    #[arg(long, value_name = "STORE")]
    into: PathBuf,
}

pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    let console = Console::default();
    let recording = args.input.source().recording(&console)?;
    console.clear();
    let mut problems = Problems::default();
    let files = laggard_store::store::import(&recording, &args.into, &mut problems)?;
    problems.list().iter().for_each(|problem| console.warn(&Warning::Problem(problem.clone())));
    let components = sentences::counted(recording.observed().len(), "component");
    let files = sentences::counted(files.len(), "file");
    deliver(
        &format!("{} samples of {components}, {files}, into {}\n", recording.samples, args.into.display()),
        None,
    )?;
    Ok(Conclusion::Quiet)
}

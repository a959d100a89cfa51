//! `laggard import`: any input into a store.

use super::input::Input;
use super::{Failure, Outcome, deliver};
use crate::report::words;
use clap::Args as ClapArgs;
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

pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let recording = args.input.recording()?;
    let mut problems = Problems::default();
    let files = laggard_store::store::import(&recording, &args.into, &mut problems)?;
    problems.list().iter().for_each(|problem| eprintln!("laggard: {problem}"));
    let components = words::counted(recording.observed().len(), "component");
    let files = words::counted(files.len(), "file");
    deliver(
        &format!("{} samples of {components}, {files}, into {}\n", recording.samples, args.into.display()),
        None,
    )?;
    Ok(Outcome::Quiet)
}

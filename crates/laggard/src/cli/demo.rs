//! `laggard demo`: a synthetic cluster with a limping part, diagnosed, with a report.
use super::{Failure, Outcome};
use clap::Args as ClapArgs;
/// Simulate
#[derive(ClapArgs)]
pub struct Args {}
pub fn run(_args: &Args) -> Result<Outcome, Failure> { Ok(Outcome::Quiet) }

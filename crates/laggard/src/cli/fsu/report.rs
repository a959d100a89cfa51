//! `laggard fsu report`: utilization of file systems and targets, from a recording.

use crate::cli::input::{Input, bar};
use crate::cli::{Failure, Outcome, deliver};
use crate::fsu::{self, Asked, Utilization};
use crate::report::Format;
use clap::Args as ClapArgs;
use laggard_store::transfer;
use std::path::PathBuf;

/// Say how busy file systems and targets were
#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// What a transaction costs, from `laggard fsu calibrate`
    #[arg(long, value_name = "FILE")]
    coefficients: PathBuf,

    /// Transactions of this size or more are optimal: 1M, 512K, 4194304 [default: the largest of which there are enough]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    optimal: Option<u64>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Write to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let coefficients = super::coefficients(&args.coefficients)?;
    let topology = args.input.topology()?;
    let recording = args.input.recording()?;
    let grid_s = super::grid_s(&args.input, &recording);
    let asked = Asked { coefficients, topology, grid_s, optimal: args.optimal };
    let bar = bar("adding up");
    let progress = |done: u64, total: u64| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let found = Utilization::new(&recording, &asked, &progress);
    bar.finish_and_clear();
    let found = found.map_err(Failure::Said)?;
    found.warnings.iter().chain(&found.account.damaged).for_each(|said| eprintln!("laggard: {said}"));
    let text = match args.format {
        Format::Text => fsu::text::render(&found),
        Format::Json => fsu::json::render(&found),
        Format::Html => fsu::html::render(&found),
    };
    deliver(&text, args.output.as_ref())?;
    let is_known = found.account.intervals > 0;
    Ok(if is_known { Outcome::Quiet } else { Outcome::Undecided })
}

fn size(text: &str) -> Result<u64, String> {
    let plain = text.trim().to_ascii_uppercase();
    let plain = plain.trim_end_matches("IB").trim_end_matches('B');
    let bytes = transfer::parse_size(plain);
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "not a size; 4K, 1M, or bytes".into())
}

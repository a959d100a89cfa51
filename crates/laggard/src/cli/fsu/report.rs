//! `laggard fsu report`: utilization of file systems and targets, from a recording.

use crate::cli::console::Console;
use crate::cli::input::Input;
use crate::cli::{Failure, deliver};
use crate::report::{Format, utilization as report};
use clap::Args as ClapArgs;
use laggard_core::diagnose::Conclusion;
use laggard_engine::utilization::{self, Asked, Utilization};
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

pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    let console = Console::default();
    let coefficients = utilization::coefficients(&args.coefficients)?;
    let source = args.input.source();
    let topology = source.topology()?;
    let recording = source.recording(&console)?;
    let grid_s = utilization::grid_s(args.input.interval, &recording);
    let asked = Asked { coefficients, topology, grid_s, optimal: args.optimal };
    let found = Utilization::new(&recording, &asked, &console)?;
    console.clear();
    let text = match args.format {
        Format::Text => report::text::render(&found),
        Format::Json => report::json::render(&found),
        Format::Html => report::html::render(&found),
    };
    deliver(&text, args.output.as_ref())?;
    let is_known = found.account.intervals > 0;
    Ok(if is_known { Conclusion::Quiet } else { Conclusion::Undecided })
}

fn size(text: &str) -> Result<u64, String> {
    let plain = text.trim().to_ascii_uppercase();
    let plain = plain.trim_end_matches("IB").trim_end_matches('B');
    let bytes = transfer::parse_size(plain);
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "not a size; 4K, 1M, or bytes".into())
}

//! `laggard rules`: the rules that decide, with their bounds and where they come from.

use super::{Failure, deliver};
use crate::report::rules;
use clap::{Args as ClapArgs, ValueEnum};
use laggard_core::diagnose::Conclusion;

/// Print the rules that decide, in the order in which they are asked
#[derive(ClapArgs)]
pub struct Args {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// The table of docs/methods.md.
    Markdown,
}

pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    let text = match args.format {
        Format::Text => rules::text(),
        Format::Json => rules::json(),
        Format::Markdown => rules::markdown(),
    };
    deliver(&text, None)?;
    Ok(Conclusion::Quiet)
}

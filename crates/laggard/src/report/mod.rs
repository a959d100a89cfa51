//! Reports: a folder for each subject, a file for each format; what formats share beside them.

pub mod advice;
pub mod chart;
pub mod diagnosis;
pub mod page;
pub mod rules;
pub mod sentences;
pub mod utilization;

use clap::ValueEnum;

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs; the schema is named in it.
    Json,
    /// One self-contained page with plots.
    Html,
}

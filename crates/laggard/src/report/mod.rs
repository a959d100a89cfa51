//! Reports: one file per format, all from the same [`Session`].

pub mod html;
mod json;
pub mod plot;
mod text;
pub mod words;

use crate::cli::Failure;
use crate::session::Session;
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

/// Renders a diagnosis.
pub fn render(session: &Session, format: Format, explain: Option<&str>) -> Result<String, Failure> {
    match format {
        Format::Text => text::render(session, explain),
        Format::Json => json::render(session),
        Format::Html => Ok(html::render(session)),
    }
}

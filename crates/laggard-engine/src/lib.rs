//! The path from data to verdict, for the operator's binary, the laboratory and whatever comes: no printing, no arguments.
//!
//! [`input`] reads what a site has into a recording and its peer groups; [`plausible`] asks whether that can be; [`plan`] chooses method, grid and thresholds;
//! [`offline`] replays a recording through the diagnosis, [`live`] follows files that are still written; [`explain`] says why; [`training`] learns
//! thresholds and yields scores; [`utilization`] says how busy file systems were; [`mod@page`] is the shell of HTML reports. What an administrator should know on the way is a
//! [`Warning`] ([`noted`] keeps them for the report), what ends the way an [`EngineError`].

pub mod error;
pub mod explain;
pub mod input;
pub mod live;
pub mod noted;
pub mod offline;
pub mod page;
pub mod plan;
pub mod plausible;
pub mod training;
pub mod utilization;
pub mod warning;

pub use error::EngineError;
pub use explain::Explanation;
pub use input::{Loaded, Source};
pub use offline::Session;
pub use plan::Wishes;
pub use warning::Warning;

/// What takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Data comes over the network.
    Fetching,
    /// Files are read.
    Reading,
    /// Samples are compared.
    Comparing,
    /// Loads are added up.
    AddingUp,
}

/// Hears of progress and of warnings while the engine works.
pub trait Listener {
    /// Something that the administrator should know.
    fn warn(&self, warning: &Warning);

    /// So much of a stage is done.
    fn progress(&self, stage: Stage, done: u64, total: u64);
}

/// Hears nothing.
pub struct Silent;

impl Listener for Silent {
    fn warn(&self, _: &Warning) {}

    fn progress(&self, _: Stage, _: u64, _: u64) {}
}

#[cfg(test)]
mod tests;

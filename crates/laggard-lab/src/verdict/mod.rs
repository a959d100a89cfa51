//! What a pipeline says of one experiment.

pub mod attachments;
pub mod ours;
pub mod published;

use laggard_core::diagnose::Cause;

/// One server, indicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Indictment {
    /// The server.
    pub server: usize,
    /// Why.
    pub cause: Cause,
    /// When it could first have been said, in seconds of the experiment.
    pub said_s: f64,
}

//! From samples to incidents: thresholds, filter, persistence, root cause, localisation.
//!
//! [`Diagnoser`] is one incremental operator over samples in time order; offline diagnosis replays a recording through
//! it. Its parts, in the order a sample meets them: [`track`] (windows and scores of one group in one metric),
//! [`untrained`] or [`train`] (thresholds), [`filter`], [`evidence`] and persistence, [`cause`], [`localise`].

pub mod cause;
pub mod evidence;
pub mod filter;
pub mod gaps;
pub mod incident;
pub mod localise;
pub mod operator;
pub mod track;
pub mod train;
pub mod untrained;

pub use cause::Cause;
pub use incident::{Diagnosis, Incident, Verdict};
pub use operator::{Config, Diagnoser, Event, JudgedWindow, Sample};
pub use train::{Thresholds, Trainer};

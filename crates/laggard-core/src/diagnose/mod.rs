//! From samples to incidents.
//!
//! [`Diagnoser`] ([`pipeline`]) is one incremental operator over samples in time order; offline diagnosis replays a recording
//! through it. Its parts, in the order a sample meets them: [`score`] (windows and scores of one group in one metric, held
//! against [`threshold`]s), [`ledger`] (what work costs the group), [`budget`] (how rare a slowness is), [`judge`] (a window under the [`rules`], which see a [`case`]), [`persistence`] (what lasts),
//! [`assess`] (episodes and the site under the rules). [`trace`] keeps what each rule said. [`training`] learns thresholds.

mod assess;
pub mod bound;
pub mod budget;
pub mod case;
pub mod cause;
pub mod config;
pub mod evidence;
pub mod gaps;
pub mod incident;
pub mod judge;
pub mod ledger;
pub mod past;
pub mod persistence;
pub mod pipeline;
pub mod rules;
pub mod score;
pub mod threshold;
pub mod trace;
pub mod training;

pub use cause::Cause;
pub use config::{Config, Incomplete, Repair};
pub use incident::{Conclusion, Diagnosis, Incident, Verdict};
pub use pipeline::{Diagnoser, Event, JudgedWindow, Sample};
pub use training::{Thresholds, Trainer};

//! The result of a diagnosis.

use super::cause::Cause;
use super::evidence::Episode;
use super::gaps::Gap;
use crate::model::{Kind, Metric};

/// One problem, in the part that explains it.
#[derive(Debug, Clone, PartialEq)]
pub struct Incident {
    /// The accused part.
    pub component: String,
    /// What it is.
    pub kind: Kind,
    /// Why it limps.
    pub cause: Cause,
    /// Severity: score over threshold of the worst component it explains.
    pub severity: f64,
    /// Largest accumulator of the components it explains.
    pub persistence: u32,
    /// Sum over what it explains of persistence times severity; incidents are ordered by it.
    pub impact: f64,
    /// Seconds since 1970.
    pub first_s: i64,
    /// Seconds since 1970.
    pub last_s: i64,
    /// Components (indices into the roster) whose trouble it explains, worst first.
    pub explains: Vec<usize>,
    /// The worst of them (index into the roster) ...
    pub worst: usize,
    /// ... and what speaks against it.
    pub episode: Episode,
}

/// Three-valued, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Compared, and like its peers.
    Healthy,
    /// Part of an incident.
    Suspect,
    /// Not enough known, with the reason.
    Undecided(String),
}

impl Verdict {
    /// The word in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Healthy => "healthy",
            Verdict::Suspect => "suspect",
            Verdict::Undecided(_) => "undecided",
        }
    }
}

/// The state of one component.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentVerdict {
    /// Healthy, suspect or undecided.
    pub verdict: Verdict,
    /// Score over threshold; 0 if never anomalous.
    pub severity: f64,
    /// Largest value of the accumulator.
    pub persistence: u32,
    /// The accumulator now.
    pub accumulator: u32,
}

/// Everything that a recording says, as of now.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// First moment of data.
    pub from_s: i64,
    /// Last moment of data.
    pub to_s: i64,
    /// Whether thresholds came from training.
    pub trained: bool,
    /// The grid.
    pub interval_s: u32,
    /// Name of the main method.
    pub method: &'static str,
    /// Per group of the roster: why nothing can be decided, if so.
    pub undecided_groups: Vec<Option<String>>,
    /// Nothing suspect, but a group that could have been compared was not.
    pub is_undecided: bool,
    /// Group and metric of what was judged.
    pub judged: Vec<(usize, Metric)>,
    /// Problems, worst first.
    pub incidents: Vec<Incident>,
    /// Per component of the roster.
    pub components: Vec<ComponentVerdict>,
    /// Times without samples.
    pub gaps: Vec<Gap>,
    /// Gaps beyond those listed.
    pub more_gaps: usize,
    /// Samples that came after their slot was closed, and were not used.
    pub late_samples: u64,
}

//! The result of a diagnosis.

use super::case::Relation;
use super::cause::Cause;
use super::evidence::{Episode, Evidence};
use super::gaps::Gap;
use super::rules::episode::Spoken;
use super::rules::{self, Rule};
use crate::compare::Method;
use crate::ids::{ComponentId, GroupId, Table, UnixSeconds};
use crate::model::metric::Role;
use crate::model::{Kind, Metric};
use std::fmt;

/// How sure an incident is: the probability that healthy parts show nothing like it in such a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    /// From 0 to 1.
    pub value: f64,
    /// How it is known.
    pub basis: Basis,
}

/// How it is known how sure an incident is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// From how slow the healthy peers of this recording were.
    Peers,
    /// From runs that were scored: nothing is known of chance here, because the recording is too short, or no slowness is told.
    ScoredRuns,
}

impl Basis {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Peers => "peers",
            Basis::ScoredRuns => "scored-runs",
        }
    }
}

/// Of real runs that were scored, held out, at most so many had a false accusation: 1 of 92 was seen, 5 are not excluded.
const FALSE_IN_SCORED_RUNS: f64 = 0.05;
/// Of the same where nothing but latencies and volumes was recorded, 12 of 56 had one.
const FALSE_WITHOUT_WORK: f64 = 0.21;

impl Confidence {
    /// Of what showed these episodes in so many seconds of recording: that of the surest.
    pub fn of<'a>(episodes: impl Iterator<Item = &'a Episode>, recorded_s: f64) -> Confidence {
        let rate = |episode: &Episode| {
            let known = episode.rarity.filter(|seen| episode.is_rare && !seen.rate.is_nan());
            known.map(|seen| seen.rate)
        };
        let is_by_latency = |episode: &Episode| {
            let shows = |role: Role| {
                let mut evidence = episode.evidence.iter();
                evidence.any(|(metric, seen)| metric.role() == role && seen.relation() == Relation::High)
            };
            shows(Role::StorageLatency) && !shows(Role::Cost)
        };
        let (mut least, mut by_latency) = (f64::INFINITY, true);
        for episode in episodes {
            least = rate(episode).map_or(least, |rate| least.min(rate));
            by_latency &= is_by_latency(episode);
        }
        let chance = if by_latency { FALSE_WITHOUT_WORK } else { FALSE_IN_SCORED_RUNS };
        match least.is_finite() {
            // So many like it are expected by chance; that there is none is as probable as this.
            true => Confidence { value: (-least * recorded_s).exp(), basis: Basis::Peers },
            false => Confidence { value: 1.0 - chance, basis: Basis::ScoredRuns },
        }
    }
}

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
    /// How sure that is.
    pub confidence: Confidence,
    /// Sum over what it explains of persistence times severity; incidents are ordered by it.
    pub impact: f64,
    /// When it began.
    pub first: UnixSeconds,
    /// When it was last seen.
    pub last: UnixSeconds,
    /// Each time that it was seen, first and last moment; of one that came again there are several.
    pub times: Vec<(UnixSeconds, UnixSeconds)>,
    /// Whether it goes on.
    pub is_open: bool,
    /// Components whose trouble it explains, worst first.
    pub explains: Vec<ComponentId>,
    /// The worst of them ...
    pub worst: ComponentId,
    /// ... and what speaks against it.
    pub episode: Episode,
    /// The rule that found the part ...
    pub found_by: Spoken,
    /// ... and those that spoke of the cause; the last named it.
    pub named_by: Vec<Spoken>,
}

impl Incident {
    /// Of a load: the share of the extra time in service that it explains, where that is recorded.
    pub fn share_of_slowness(&self) -> Option<f64> {
        self.episode.evidence.get(&Metric::Work).filter(|_| rules::is_observation(self.cause))?.by_load()
    }

    /// The metric that says most about the cause, with its evidence.
    pub fn telling(&self) -> Option<(Metric, &Evidence)> {
        let strongest = |is_wanted: &dyn Fn(Metric, &Evidence) -> bool| {
            let wanted = self.episode.evidence.iter().filter(|(metric, seen)| is_wanted(**metric, seen));
            wanted
                .max_by(|a, b| a.1.severity().total_cmp(&b.1.severity()))
                .map(|(metric, seen)| (*metric, seen))
        };
        let tells = |metric: Metric, seen: &Evidence| {
            self.cause.is_shown_by(metric) && seen.relation() != Relation::Alike
        };
        strongest(&tells).or_else(|| strongest(&|_, _| true))
    }
}

impl Incident {
    /// Recorded metrics that show it, best first: what comes from the books is drawn by what it was made of.
    pub fn drawn(&self) -> Vec<Metric> {
        let Some((metric, _)) = self.telling() else { return Vec::new() };
        match metric.role() {
            Role::Cost => vec![Metric::Util, Metric::Await],
            Role::Work => vec![Metric::Util, Metric::RdSec, Metric::WrSec],
            Role::StorageVolume
            | Role::StorageLatency
            | Role::NetworkVolume
            | Role::Congestion
            | Role::Retransmission
            | Role::HostHealth
            | Role::LinkHealth
            | Role::Load
            | Role::Account
            | Role::Context => vec![metric],
        }
    }

    /// Seconds from its beginning until it was last seen.
    pub fn lasted_s(&self) -> i64 {
        self.last.since(self.first)
    }
}

/// Why nothing can be said of a group or a component.
#[derive(Debug, Clone, PartialEq)]
pub enum UndecidedReason {
    /// The group has fewer members than a comparison needs.
    FewPeers {
        /// How many.
        members: usize,
    },
    /// No metric of the group is compared.
    NothingCompared,
    /// The recording has fewer windows than the filter needs.
    FewWindows {
        /// How many.
        windows: u64,
        /// The method.
        method: &'static Method,
        /// Seconds of recording that it needs.
        needed_s: u64,
    },
    /// Too few members have samples, in most windows or in the last ones.
    TooFewRecorded,
    /// No window has data of the component.
    NoData,
    /// Its disks or its traffic have no samples in most windows.
    PartlyRecorded,
    /// It stood out, and nothing recorded tells whether it is slow: its work is unlike that of its peers, or it completes nothing.
    Unclear,
    /// Samples of it were lost, merged with others or not understood.
    IncompleteInput,
}

impl fmt::Display for UndecidedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        match self {
            UndecidedReason::FewPeers { members } => {
                write!(f, "{members} member{}, a comparison needs at least 3", plural(*members as u64))
            }
            UndecidedReason::NothingCompared => {
                f.write_str("none of its metrics is compared (docs/metrics.md)")
            }
            UndecidedReason::FewWindows { windows, method, needed_s } => write!(
                f,
                "{windows} window{} with data of three members; `{}` needs {needed_s} s of recording",
                plural(*windows),
                method.name
            ),
            UndecidedReason::TooFewRecorded => {
                f.write_str("too few of its members have samples in most windows, or in the last ones")
            }
            UndecidedReason::NoData => f.write_str("no window with its data"),
            UndecidedReason::PartlyRecorded => {
                f.write_str("its disks or its traffic have too few samples in most windows")
            }
            UndecidedReason::IncompleteInput => {
                f.write_str("its samples are not all there, or not its own: see the warnings")
            }
            UndecidedReason::Unclear => {
                f.write_str("it stood out, and what is recorded does not tell whether it is slow: its work is unlike its peers', or it completes next to nothing")
            }
        }
    }
}

/// Three-valued, and why.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Compared, and like its peers.
    Healthy,
    /// Part of an incident.
    Suspect,
    /// Not enough known, with the reason.
    Undecided(Undecided),
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

/// A metric of a group that was judged often enough to mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgedMetric {
    /// The group.
    pub group: GroupId,
    /// The metric.
    pub metric: Metric,
}

/// A slowness that would have been named in a group, if a part that works had been so slow: the least factor for a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// The group.
    pub group: GroupId,
    /// Times as slow as its peers ...
    pub ratio: f64,
    /// ... for so many seconds.
    pub seconds: f64,
}

/// An episode that was not worth a report, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Excused {
    /// The component.
    pub component: ComponentId,
    /// The rule that excused it.
    pub by: Spoken,
    /// What was seen.
    pub episode: Episode,
}

/// Everything that a recording says, as of now.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// First moment of data.
    pub from: UnixSeconds,
    /// Last moment of data.
    pub to: UnixSeconds,
    /// Whether thresholds came from training.
    pub trained: bool,
    /// The grid.
    pub interval_s: u32,
    /// The main method.
    pub method: &'static Method,
    /// Why nothing can be decided of a group, if so, and the rule that says it.
    pub undecided_groups: Table<GroupId, Option<Undecided>>,
    /// Nothing suspect, and the rule that says that this is no all-clear.
    pub no_all_clear: Option<Spoken>,
    /// What was judged.
    pub judged: Vec<JudgedMetric>,
    /// Metrics that were recorded of any member of a group, compared or not.
    pub recorded: Vec<JudgedMetric>,
    /// What could have been seen, shortest first; nothing of groups of which it is not known.
    pub power: Vec<Power>,
    /// Problems, worst first.
    pub incidents: Vec<Incident>,
    /// Loads: parts with more to do than their peers, and no fault.
    pub observations: Vec<Incident>,
    /// Trouble that was not worth a report.
    pub excused: Vec<Excused>,
    /// Troubles that are over, beyond those listed: of each component the largest are remembered.
    pub more_troubles: u64,
    /// Of every component.
    pub components: Table<ComponentId, ComponentVerdict>,
    /// Times without samples.
    pub gaps: Vec<Gap>,
    /// Gaps beyond those listed.
    pub more_gaps: usize,
    /// Samples that came after their slot was closed, and were not used.
    pub late_samples: u64,
}

/// What a diagnosis comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// Nothing suspect.
    Quiet,
    /// Something suspect.
    Suspect,
    /// Not enough known.
    Undecided,
}

impl Conclusion {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Conclusion::Quiet => "quiet",
            Conclusion::Suspect => "suspect",
            Conclusion::Undecided => "undecided",
        }
    }
}

impl Diagnosis {
    /// What it comes to.
    pub fn conclusion(&self) -> Conclusion {
        match &self.no_all_clear {
            _ if !self.incidents.is_empty() => Conclusion::Suspect,
            Some(_) => Conclusion::Undecided,
            None => Conclusion::Quiet,
        }
    }
}

/// A group or a component that cannot be judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Undecided {
    /// Why.
    pub reason: UndecidedReason,
    /// The rule that says so.
    pub rule: &'static Rule,
}

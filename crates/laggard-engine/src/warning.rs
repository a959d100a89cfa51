//! What an administrator should know before believing a verdict.

use laggard_core::model::Metric;
use laggard_store::{Lost, Problem};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

/// Something that the administrator should know.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// Rows of an input that could not be used.
    Problem(Problem),
    /// Kinds of problems beyond those reported.
    MoreProblems(usize),
    /// Samples of a file that could not be read.
    Unread(String),
    /// Components that the topology names and the data does not have.
    NeverRecorded {
        /// The topology.
        path: PathBuf,
        /// Their names, folded.
        names: String,
    },
    /// Components that the data has and the topology does not name.
    NotInTopology {
        /// The topology.
        path: PathBuf,
        /// Their names, folded.
        names: String,
    },
    /// Latencies that no device has.
    LatencyUnit {
        /// Their median, if they were milliseconds.
        middle_ms: f64,
        /// The unit that they may have.
        unit: &'static str,
        /// The components.
        names: BTreeSet<String>,
    },
    /// Hosts whose clocks are minutes off.
    ClockOff {
        /// The hosts ...
        names: BTreeSet<String>,
        /// ... folded.
        folded: String,
        /// The largest difference to the others.
        largest_s: i64,
    },
    /// Components are recorded at different intervals.
    MixedIntervals {
        /// The finest.
        finest_s: i64,
        /// The coarsest.
        coarsest_s: i64,
    },
    /// The wanted grid is finer than the data.
    FinerThanData {
        /// As asked for.
        wanted_s: u32,
        /// The data's.
        data_s: u32,
    },
    /// Components without thresholds.
    NotInTraining {
        /// The thresholds file.
        path: PathBuf,
        /// Their names, folded.
        names: String,
    },
    /// A metric without thresholds.
    NoThresholds {
        /// The thresholds file.
        path: PathBuf,
        /// The metric.
        metric: Metric,
    },
    /// Thresholds of a finer grid than the data's.
    CoarserThanTraining {
        /// The thresholds file.
        path: PathBuf,
        /// Its grid.
        trained_s: u32,
        /// The data's.
        data_s: i64,
    },
    /// A metric that training has learnt nothing of.
    NothingLearnt {
        /// The metric.
        metric: Metric,
        /// Seconds of recording that it needs.
        needed_s: u64,
    },
    /// Files to follow that hold nothing yet.
    Waiting,
    /// Files are followed from now on.
    Following {
        /// How many components.
        components: usize,
    },
    /// A component that was not there before.
    Newcomer {
        /// Its name.
        name: String,
        /// Whether peer groups are formed anew.
        regroups: bool,
    },
    /// Coefficients that do not fit what was measured.
    CoefficientsOff {
        /// By how much, in percent.
        percent: f64,
    },
    /// Coefficients of targets that are not in the data.
    CoefficientsUnused {
        /// The targets.
        targets: String,
    },
    /// A target that has more seconds than passed.
    RecordedTwice {
        /// The target.
        target: String,
    },
    /// Targets that are busier than is possible.
    BusierThanPossible {
        /// How many.
        targets: usize,
    },
}

impl Warning {
    /// What may be hidden by what it warns of: samples that were lost, merged or not understood.
    pub fn lost(&self) -> Lost {
        match self {
            Warning::Problem(problem) => problem.lost.clone(),
            Warning::LatencyUnit { names, .. } | Warning::ClockOff { names, .. } => Lost::Of(names.clone()),
            // What has no threshold is not judged.
            Warning::Unread(_) | Warning::NoThresholds { .. } | Warning::CoarserThanTraining { .. } => {
                Lost::Unknown
            }
            Warning::MoreProblems(_)
            | Warning::NeverRecorded { .. }
            | Warning::NotInTopology { .. }
            | Warning::MixedIntervals { .. }
            | Warning::FinerThanData { .. }
            | Warning::NotInTraining { .. }
            | Warning::NothingLearnt { .. }
            | Warning::Waiting
            | Warning::Following { .. }
            | Warning::Newcomer { .. }
            | Warning::CoefficientsOff { .. }
            | Warning::CoefficientsUnused { .. }
            | Warning::RecordedTwice { .. }
            | Warning::BusierThanPossible { .. } => Lost::Nothing,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Problem(problem) => problem.fmt(f),
            Warning::MoreProblems(count) => write!(f, "… and {count} more kinds of problems"),
            Warning::Unread(what) => f.write_str(what),
            Warning::NeverRecorded { path, names } => {
                write!(f, "{}: named there, but never recorded: {}", path.display(), shorten(names))
            }
            Warning::NotInTopology { path, names } => {
                let names = shorten(names);
                let path = path.display();
                write!(f, "{path}: recorded, but not named there: {names}; compared among themselves")
            }
            Warning::LatencyUnit { middle_ms, unit, .. } => write!(
                f,
                "half of all await values are {} {middle_ms:.3} ms, which no turning disk has, or no device that is so busy. State their unit: --csv …,await=COLUMN:{unit}, or :ms if it is so",
                if *unit == "s" { "below" } else { "above" },
            ),
            Warning::ClockOff { folded, largest_s, .. } => write!(
                f,
                "{}: recorded as long as the others, but {} s {}: the clock is off, and what is compared is not of one time. Correct its clock, or its timestamps",
                shorten(folded),
                largest_s.abs(),
                if *largest_s < 0 { "earlier" } else { "later" },
            ),
            Warning::MixedIntervals { finest_s, coarsest_s } => write!(
                f,
                "mixed intervals, {finest_s} s to {coarsest_s} s: finer series are averaged, coarser ones spread over the slots they cover"
            ),
            Warning::FinerThanData { wanted_s, data_s } => write!(
                f,
                "--interval {wanted_s} is finer than the data ({data_s} s): samples are spread, nothing is gained"
            ),
            Warning::NotInTraining { path, names } => write!(
                f,
                "{}: not in training, judged by the largest threshold of the others: {names}",
                path.display()
            ),
            Warning::NoThresholds { path, metric } => {
                write!(f, "{}: no thresholds for {metric}: it is not judged", path.display())
            }
            Warning::CoarserThanTraining { path, trained_s, data_s } => write!(
                f,
                "{}: learnt every {trained_s} s, but the data has a sample every {data_s} s; train again",
                path.display()
            ),
            Warning::NothingLearnt { metric, needed_s } => {
                write!(f, "nothing learnt for {metric}: it needs three peers and {needed_s} s of recording")
            }
            Warning::Waiting => f.write_str("nothing is recorded there yet; waiting"),
            Warning::Following { components } => {
                write!(f, "following {components} component{}", if *components == 1 { "" } else { "s" })
            }
            Warning::Newcomer { name, regroups: true } => {
                write!(f, "{name} is new: peer groups are formed anew")
            }
            Warning::Newcomer { name, regroups: false } => write!(f, "{name} is new"),
            Warning::CoefficientsOff { percent } => write!(
                f,
                "the coefficients are off by up to {percent:.0} % of what was measured: take the utilization as a rank, not as a percentage"
            ),
            Warning::CoefficientsUnused { targets } => {
                write!(f, "coefficients of {targets} are of nothing in the data")
            }
            Warning::RecordedTwice { target } => write!(
                f,
                "{target} was recorded twice at once: two file systems of one name, or one file given twice?"
            ),
            Warning::BusierThanPossible { targets } => write!(
                f,
                "{targets} targets are above 100 % in the mean: these coefficients are not those of their disks"
            ),
        }
    }
}

/// Long lists of names are cut.
fn shorten(names: &str) -> String {
    const MOST_CHARACTERS: usize = 200;
    match names.char_indices().nth(MOST_CHARACTERS) {
        Some((cut, _)) => format!("{} …", &names[..cut]),
        None => names.into(),
    }
}

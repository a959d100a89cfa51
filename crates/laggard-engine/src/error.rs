//! Why there is no verdict: what was attempted, on which file, and the remedy.

use laggard_core::compare::Method;
use laggard_core::diagnose::training::ThresholdsError;
use laggard_core::fsu::coefficients::CoefficientsError;
use laggard_core::model::TopologyError;
use laggard_store::ReadError;
use std::path::PathBuf;

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// An input could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// No temporary folder could be made.
    #[error("a temporary folder: {0}")]
    Scratch(std::io::Error),
    /// A Prometheus did not answer.
    #[cfg(feature = "prometheus")]
    #[error(transparent)]
    Prometheus(#[from] laggard_store::prometheus::FetchError),
    /// This program was built without it.
    #[cfg(not(feature = "prometheus"))]
    #[error("{0}: this program was built without the feature `prometheus`")]
    NoPrometheus(String),
    /// The topology file is wrong.
    #[error("{}: {source}", path.display())]
    Topology {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: TopologyError,
    },
    /// The thresholds file is wrong.
    #[error("{}: {source}", path.display())]
    Thresholds {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: ThresholdsError,
    },
    /// The thresholds are of another method.
    #[error("{}: no thresholds for method `{1}`; train with --method {1}", path.display(), method.name)]
    NoThresholds {
        /// The file.
        path: PathBuf,
        /// The method.
        method: &'static Method,
    },
    /// The thresholds are of another site.
    #[error("{}: learnt from other components; none of these is in the data", .0.display())]
    OtherComponents(PathBuf),
    /// The coefficients file is wrong.
    #[error("{}: {source}", path.display())]
    Coefficients {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: CoefficientsError,
    },
    /// A target without coefficients.
    #[error(transparent)]
    Model(#[from] CoefficientsError),
    /// The wanted time ends before it begins.
    #[error("--from is later than --to")]
    TimeOrder,
    /// There is nothing in the wanted time.
    #[error("no samples: nothing to compare")]
    NoSamples,
    /// A repair that cannot be understood.
    #[error("--resolved {text}: {reason}")]
    Resolved {
        /// As given.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// A part to explain that is not there.
    #[error("--explain `{part}`: no such part in the data; repeat --explain for several parts{}", nearest.as_ref().map_or_else(String::new, |near| format!(", nearest: {near}")))]
    NoSuchPart {
        /// As given.
        part: String,
        /// The known name nearest to it.
        nearest: Option<String>,
    },
    /// Too little data to train on.
    #[error("nothing to learn from: `{}` needs three peers and {needed_s} s of recording", method.name)]
    NothingToLearn {
        /// The method.
        method: &'static Method,
        /// Seconds of recording that it needs.
        needed_s: u64,
    },
    /// A path to follow that is not there.
    #[error("{}: not there", .0.display())]
    NotThere(PathBuf),
    /// Nothing that grows.
    #[error("{0} follows activity files of laggard-agent; there are none")]
    NothingToFollow(&'static str),
    /// Nothing has a utilization.
    #[error("{0}")]
    Utilization(String),
}

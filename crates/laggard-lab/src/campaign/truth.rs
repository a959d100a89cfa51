//! What was really done in a run, beside its recording.

use crate::bench::Config;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The truth of a run. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// Of this file.
    pub schema: String,
    /// What was injected; nothing in a run without a fault.
    pub fault: Option<String>,
    /// What a diagnosis should call it.
    pub cause: Option<String>,
    /// The faulty server.
    pub server: Option<String>,
    /// What clients did.
    pub workload: Workload,
    /// First second of the workload.
    pub from_s: f64,
    /// When the fault was there.
    pub fault_from_s: f64,
    /// When it was gone.
    pub fault_to_s: f64,
    /// End of the workload.
    pub to_s: f64,
    /// Work per second before and with the fault: bytes, or transactions.
    pub work: [f64; 2],
    /// When and whom the diagnosis accused while the run went on.
    pub live: Vec<Said>,
    /// What workloads said that failed.
    pub failures: Vec<String>,
    /// The bench it ran on.
    pub bench: Option<Config>,
}

/// An accusation during the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// When it was printed, in seconds since 1970.
    pub said_s: f64,
    /// Whom.
    pub component: String,
    /// Of what.
    pub cause: String,
    /// `new`, `changed` or `over`.
    #[serde(default)]
    pub state: String,
}

impl Said {
    /// What is over is not said again.
    pub fn is_accusation(&self) -> bool {
        self.state != "over"
    }
}

/// The version of the layout.
pub const SCHEMA: &str = "laggard/truth/1";

/// Where it is.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("truth.json")
}

impl Truth {
    /// Reads the truth of a run.
    pub fn load(folder: &Path) -> Result<Truth, String> {
        let path = path(folder);
        let said = |message: String| format!("{}: {message}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| said(error.to_string()))?;
        let truth: Truth = serde_json::from_str(&text).map_err(|error| said(error.to_string()))?;
        match truth.schema.as_str() {
            SCHEMA => Ok(truth),
            other => Err(said(format!("schema `{other}`; this is made for `{SCHEMA}`"))),
        }
    }

    /// Writes it, all or nothing: it says that the run is done.
    pub fn save(&self, folder: &Path) -> Result<(), String> {
        let path = path(folder);
        let said = |error: std::io::Error| format!("{}: {error}", path.display());
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        let new = path.with_extension("new");
        fs::write(&new, text).map_err(said)?;
        fs::rename(&new, &path).map_err(said)
    }

    /// Share of its speed that the workload lost; unknown if it did nothing before.
    pub fn slowed(&self) -> Option<f64> {
        let [before, with] = self.work;
        (before > 0.0).then(|| 1.0 - with / before)
    }

    /// Seconds from injection to the first accusation of the faulty server.
    pub fn latency_s(&self) -> Option<f64> {
        let is_right =
            |said: &&Said| Some(&said.component) == self.server.as_ref() && said.said_s >= self.fault_from_s;
        self.live.iter().find(is_right).map(|said| said.said_s - self.fault_from_s)
    }

    /// One line for people.
    pub fn sentence(&self) -> String {
        let slowed = match (&self.fault, self.slowed()) {
            (_, None) => "no work done before".into(),
            (Some(_), Some(slowed)) => format!("{:.0} % slower", 100.0 * slowed),
            (None, Some(slowed)) => format!("changed by {:.0} %", -100.0 * slowed),
        };
        let accused: Vec<String> =
            self.live.iter().map(|said| format!("{} {}", said.component, said.cause)).collect();
        let failures = if self.failures.is_empty() { "" } else { "; workload failed" };
        match (self.latency_s(), accused.is_empty()) {
            (_, true) => format!("{slowed}, nobody accused{failures}"),
            (Some(latency), _) => {
                format!("{slowed}, said {} after {latency:.0} s{failures}", accused.join(", "))
            }
            (None, _) => format!("{slowed}, said {}{failures}", accused.join(", ")),
        }
    }
}

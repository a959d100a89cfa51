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
    /// What was injected at the same time, into this server or another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Injected>,
    /// Which elevator the emulated disks had: until 1, a neighbour starved a disk with a queue longer than 1.
    #[serde(default)]
    pub elevator: u32,
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

/// A fault that was injected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Injected {
    /// Its name.
    pub fault: String,
    /// What a diagnosis should call it.
    pub cause: Option<String>,
    /// The faulty server.
    pub server: String,
}

/// The elevator of today: requests age.
pub const ELEVATOR: u32 = 2;

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

    /// Share of its speed that the workload lost; unknown if it did nothing before, or something else.
    pub fn slowed(&self) -> Option<f64> {
        let [before, with] = self.work;
        (before > 0.0 && self.workload != Workload::Change).then(|| 1.0 - with / before)
    }

    /// All faults that were injected.
    pub fn injected(&self) -> Vec<Injected> {
        let first = self.fault.as_ref().zip(self.server.as_ref()).map(|(fault, server)| Injected {
            fault: fault.clone(),
            cause: self.cause.clone(),
            server: server.clone(),
        });
        first.into_iter().chain(self.also.iter().cloned()).collect()
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
            (_, None) => "nothing to compare its speed with".into(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn truth() -> Truth {
        let said = |said_s, component: &str| Said {
            said_s,
            component: component.into(),
            cause: "disk-hog".into(),
            state: "new".into(),
        };
        Truth {
            schema: SCHEMA.into(),
            fault: Some("disk-hog".into()),
            cause: Some("disk-hog".into()),
            server: Some("oss3".into()),
            also: Vec::new(),
            elevator: ELEVATOR,
            workload: Workload::Ddw,
            from_s: 1000.0,
            fault_from_s: 1045.0,
            fault_to_s: 1125.0,
            to_s: 1155.0,
            work: [200.0, 150.0],
            live: vec![
                said(1020.0, "oss3"),
                said(1070.0, "oss1"),
                said(1092.0, "oss3"),
                said(1100.0, "oss3"),
            ],
            failures: Vec::new(),
            bench: None,
        }
    }

    #[test]
    fn latency_is_from_injection_to_the_first_right_word() {
        assert_eq!(truth().latency_s(), Some(47.0), "neither what was said before, nor of another");
        let silent = Truth { live: Vec::new(), ..truth() };
        assert_eq!(silent.latency_s(), None);
    }

    #[test]
    fn a_workload_that_changes_has_no_speed_to_lose() {
        assert_eq!(truth().slowed(), Some(0.25));
        assert_eq!(Truth { workload: Workload::Change, ..truth() }.slowed(), None);
        assert_eq!(Truth { work: [0.0, 1.0], ..truth() }.slowed(), None);
    }

    #[test]
    fn what_is_written_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        truth().save(folder.path()).unwrap();
        assert_eq!(Truth::load(folder.path()).unwrap().live, truth().live);
        fs::write(path(folder.path()), "{\"schema\":\"other\"}").unwrap();
        assert!(Truth::load(folder.path()).is_err());
    }
}

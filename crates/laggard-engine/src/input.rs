//! What a site has, as a recording and its peer groups.

use crate::{EngineError, Listener, Stage, Warning, plausible};
use laggard_core::ids::UnixSeconds;
use laggard_core::model::{Roster, Topology, hosts};
use laggard_store::csv::Mapping;
use laggard_store::{Lost, Problem, Problems, Recording, read_with};
use std::path::{Path, PathBuf};

/// Kinds of bad rows that are reported; beyond that they are counted.
const MOST_PROBLEMS: usize = 20;

/// Where the data is.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// Files, folders, stores, and addresses of a Prometheus.
    pub paths: Vec<PathBuf>,
    /// Which CSV column is what.
    pub csv: Option<Mapping>,
    /// The topology's file.
    pub topology: Option<PathBuf>,
    /// From when, if not from the first sample.
    pub from: Option<UnixSeconds>,
    /// Until when, if not until the last.
    pub to: Option<UnixSeconds>,
    /// What to ask of a Prometheus.
    pub prometheus: PrometheusQuery,
}

/// What to ask of a Prometheus, VictoriaMetrics or Thanos.
#[derive(Debug, Clone, Default)]
pub struct PrometheusQuery {
    /// Seconds between samples; none: as scraped.
    pub step_s: Option<u32>,
    /// Label matchers.
    pub selector: String,
    /// A file with a bearer token.
    pub token_file: Option<PathBuf>,
    /// Certificates of the authority that signed the server's, in PEM.
    pub authority_file: Option<PathBuf>,
}

/// What was read, and the peer groups.
pub struct Loaded {
    /// The samples.
    pub recording: Recording,
    /// Components and groups.
    pub roster: Roster,
}

impl Source {
    /// Reads everything.
    pub fn load(&self, listener: &dyn Listener) -> Result<Loaded, EngineError> {
        let topology = self.topology()?;
        let recording = self.recording(listener)?;
        let roster = Roster::new(recording.observed(), topology.as_ref());
        self.warn_of_topology(&roster, listener);
        plausible::check(&recording, listener);
        Ok(Loaded { recording, roster })
    }

    /// Whether only a part of the time is wanted.
    pub fn is_limited(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// Reads the samples only.
    pub fn recording(&self, listener: &dyn Listener) -> Result<Recording, EngineError> {
        if let (Some(from), Some(to)) = (self.from, self.to)
            && from > to
        {
            return Err(EngineError::TimeOrder);
        }
        let (addresses, paths): (Vec<PathBuf>, Vec<PathBuf>) =
            self.paths.iter().cloned().partition(|path| is_address(path));
        let fetched = addresses.iter().map(|address| self.fetch(address, listener));
        let fetched = fetched.collect::<Result<Vec<_>, _>>()?;
        let progress = |done: u64, total: u64| listener.progress(Stage::Reading, done, total);
        let mut problems = Problems::default();
        let recording = read_with(&paths, fetched, self.csv.as_ref(), &mut problems, &progress);
        warn_of_problems(problems.list(), listener);
        let mut recording = recording?;
        if self.is_limited() {
            let bound = |moment: Option<UnixSeconds>, none: i64| moment.map_or(none, |moment| moment.0);
            recording.limit(bound(self.from, i64::MIN), bound(self.to, i64::MAX));
        }
        if recording.samples == 0 || recording.span().is_none() {
            return Err(EngineError::NoSamples);
        }
        Ok(recording)
    }

    /// What a Prometheus has, as activity files in a folder of their own.
    #[cfg(feature = "prometheus")]
    fn fetch(&self, address: &Path, listener: &dyn Listener) -> Result<tempfile::TempDir, EngineError> {
        use laggard_store::prometheus::{Request, fetch};
        /// Asked for where no time is given.
        const USUAL_SPAN_S: i64 = 86_400;
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|source| EngineError::File { path: path.clone(), source })
        };
        let to = self.to.unwrap_or_else(|| UnixSeconds(jiff::Timestamp::now().as_second()));
        let from = self.from.unwrap_or_else(|| to.plus(-USUAL_SPAN_S));
        let token = self.prometheus.token_file.as_ref().map(read).transpose()?;
        let request = Request {
            url: address.to_string_lossy().into_owned(),
            from_s: from.0,
            to_s: to.0,
            step_s: self.prometheus.step_s,
            selector: self.prometheus.selector.clone(),
            token: token.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_string()),
            authority: self.prometheus.authority_file.as_ref().map(read).transpose()?,
        };
        let folder = tempfile::tempdir().map_err(EngineError::Scratch)?;
        let progress = |done: u64, total: u64| listener.progress(Stage::Fetching, done, total);
        fetch(&request, folder.path(), &progress)?;
        Ok(folder)
    }

    #[cfg(not(feature = "prometheus"))]
    fn fetch(&self, address: &Path, _: &dyn Listener) -> Result<tempfile::TempDir, EngineError> {
        Err(EngineError::NoPrometheus(address.display().to_string()))
    }

    /// The topology, if one is given.
    pub fn topology(&self) -> Result<Option<Topology>, EngineError> {
        let Some(path) = &self.topology else { return Ok(None) };
        let text = std::fs::read_to_string(path)
            .map_err(|source| EngineError::File { path: path.clone(), source })?;
        let topology = Topology::parse(&text);
        topology.map(Some).map_err(|source| EngineError::Topology { path: path.clone(), source })
    }

    fn warn_of_topology(&self, roster: &Roster, listener: &dyn Listener) {
        let Some(path) = self.topology.clone() else { return };
        if !roster.never_recorded.is_empty() {
            let names = hosts::fold(&roster.never_recorded);
            listener.warn(&Warning::NeverRecorded { path: path.clone(), names });
        }
        if !roster.not_in_topology.is_empty() {
            listener.warn(&Warning::NotInTopology { path, names: hosts::fold(&roster.not_in_topology) });
        }
    }
}

/// Whether an input is an address.
fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("http://") || text.starts_with("https://"))
}

/// What may hide a fault is told always, of all else so much.
fn warn_of_problems(problems: &[Problem], listener: &dyn Listener) {
    let (losses, others): (Vec<&Problem>, Vec<&Problem>) =
        problems.iter().partition(|problem| problem.lost != Lost::Nothing);
    let (reported, more) = others.split_at(others.len().min(MOST_PROBLEMS));
    let warning = |problem: &&Problem| Warning::Problem((*problem).clone());
    reported.iter().chain(&losses).map(warning).for_each(|warning| listener.warn(&warning));
    if !more.is_empty() {
        listener.warn(&Warning::MoreProblems(more.len()));
    }
}

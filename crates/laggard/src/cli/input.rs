//! Inputs that several verbs share: paths, a column mapping, the topology, and what to say of bad rows.

use super::Failure;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use laggard_core::compare::Method;
use laggard_core::compare::window::median;
use laggard_core::model::{Metric, Roster, Topology};
use laggard_store::csv::Mapping;
use laggard_store::prometheus::{self, Request};
use laggard_store::{Problems, Recording, align, read_with, time};
use std::path::{Path, PathBuf};

/// Where the data is.
#[derive(Args, Debug)]
pub struct Input {
    /// Recordings, recognised by content: stores, activity files, sysstat's sa files, `sadf -j`, `sar -d` and `iostat -xt` text,
    /// `lctl get_param` text, CSV; all but stores also as .gz, .xz, .zst; or the address of a Prometheus, http://HOST:9090
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,

    #[command(flatten)]
    pub prometheus: Prometheus,

    /// Which CSV column is what: time=ts,component=disk_id,await=latency (units: await=latency:us)
    #[arg(long, value_name = "WHAT=COLUMN,...", value_parser = Mapping::parse)]
    pub csv: Option<Mapping>,

    /// Servers, controllers, LUNs and attachments; peer groups are derived from it
    #[arg(long, value_name = "FILE")]
    pub topology: Option<PathBuf>,

    /// The grid, in seconds [default: the method's, or the data's where coarser]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub interval: Option<u32>,
}

/// What to ask of a Prometheus, VictoriaMetrics or Thanos.
#[derive(Args, Debug)]
pub struct Prometheus {
    /// From when, ISO 8601, whatever the input [default: all; of a Prometheus, a day before --to]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    from: Option<i64>,

    /// Until when, whatever the input [default: all]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    to: Option<i64>,

    /// Seconds between samples, by query_range, which fills holes [default: the samples as scraped]
    #[arg(long, help_heading = "With the address of a Prometheus", value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    step: Option<u32>,

    /// Label matchers: 'job="node",instance=~"oss.*"'
    #[arg(
        long,
        help_heading = "With the address of a Prometheus",
        value_name = "MATCHERS",
        default_value = ""
    )]
    select: String,

    /// A file with a bearer token
    #[arg(long, help_heading = "With the address of a Prometheus", value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Certificates of the authority that signed the server's, in PEM
    #[arg(long, help_heading = "With the address of a Prometheus", value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

pub fn moment(text: &str) -> Result<i64, String> {
    time::parse(text)
        .ok_or_else(|| "not a time; ISO 8601 such as 2026-11-16T03:00:00Z, or seconds since 1970".into())
}

/// Whether an input is an address.
fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("http://") || text.starts_with("https://"))
}

impl Prometheus {
    fn check(&self) -> Result<(), Failure> {
        match (self.from, self.to) {
            (Some(from), Some(to)) if from > to => Err(Failure::Said("--from is later than --to".into())),
            _ => Ok(()),
        }
    }

    fn request(&self, url: &Path) -> Result<Request, Failure> {
        let read = |path: &PathBuf| std::fs::read(path).map_err(|error| Failure::io(path, &error));
        self.check()?;
        let now_s = jiff::Timestamp::now().as_second();
        let to_s = self.to.unwrap_or(now_s);
        let from_s = self.from.unwrap_or(to_s - 86_400);
        let token = self.token_file.as_ref().map(read).transpose()?;
        Ok(Request {
            url: url.to_string_lossy().into_owned(),
            from_s,
            to_s,
            step_s: self.step,
            selector: self.select.clone(),
            token: token.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_string()),
            authority: self.ca_file.as_ref().map(read).transpose()?,
        })
    }
}

/// Kinds of bad rows that are told; beyond that they are counted.
const MOST_PROBLEMS: usize = 20;

/// A method for all metrics but cwnd, by name, for clap.
pub fn main_method(name: &str) -> Result<&'static Method, String> {
    match method(name)? {
        method if method.name == "cwnd" => Err("cwnd goes along with any of kl, cdf, median, thresh".into()),
        method => Ok(method),
    }
}

/// A method by name, for clap.
pub fn method(name: &str) -> Result<&'static Method, String> {
    let names =
        || laggard_core::compare::METHODS.iter().map(|method| method.name).collect::<Vec<_>>().join(", ");
    Method::parse(name).ok_or_else(|| format!("the methods are {}", names()))
}

/// What was read, and the peer groups.
pub struct Loaded {
    /// The samples.
    pub recording: Recording,
    /// Components and groups.
    pub roster: Roster,
}

impl Input {
    /// Reads everything, with a progress bar, and says on stderr what could not be used.
    pub fn load(&self) -> Result<Loaded, Failure> {
        let topology = self.topology()?;
        let recording = self.recording()?;
        let roster = Roster::new(recording.observed(), topology.as_ref());
        self.say_strangers(&roster);
        say_unit(&recording);
        Ok(Loaded { recording, roster })
    }

    /// Whether the user has said from when or until when.
    pub fn is_limited(&self) -> bool {
        self.prometheus.from.is_some() || self.prometheus.to.is_some()
    }

    /// Reads the samples only.
    pub fn recording(&self) -> Result<Recording, Failure> {
        let mut problems = Problems::default();
        let bar = bar("reading");
        let progress = |done: u64, total: u64| {
            bar.set_length(total);
            bar.set_position(done);
        };
        let (addresses, paths): (Vec<PathBuf>, Vec<PathBuf>) =
            self.paths.iter().cloned().partition(|path| is_address(path));
        let fetched = addresses.iter().map(|address| self.fetch(address)).collect::<Result<Vec<_>, _>>()?;
        let recording = read_with(&paths, fetched, self.csv.as_ref(), &mut problems, &progress);
        bar.finish_and_clear();
        for problem in problems.list().iter().take(MOST_PROBLEMS) {
            eprintln!("laggard: {problem}");
        }
        if problems.list().len() > MOST_PROBLEMS {
            eprintln!("laggard: … and {} more kinds of problems", problems.list().len() - MOST_PROBLEMS);
        }
        let mut recording = recording?;
        if self.prometheus.from.is_some() || self.prometheus.to.is_some() {
            self.prometheus.check()?;
            recording.limit(self.prometheus.from.unwrap_or(i64::MIN), self.prometheus.to.unwrap_or(i64::MAX));
        }
        if recording.samples == 0 || recording.span().is_none() {
            return Err(Failure::Said("no samples: nothing to compare".into()));
        }
        Ok(recording)
    }

    /// What a Prometheus has, as activity files in a folder of their own.
    fn fetch(&self, address: &Path) -> Result<tempfile::TempDir, Failure> {
        let request = self.prometheus.request(address)?;
        let folder =
            tempfile::tempdir().map_err(|error| Failure::Said(format!("a temporary folder: {error}")))?;
        let bar = bar("fetching");
        let progress = |done: u64, total: u64| {
            bar.set_length(total);
            bar.set_position(done);
        };
        let outcome = prometheus::fetch(&request, folder.path(), &progress);
        bar.finish_and_clear();
        outcome.map_err(Failure::Said)?;
        Ok(folder)
    }

    /// The topology, if one is given.
    pub fn topology(&self) -> Result<Option<Topology>, Failure> {
        let Some(path) = &self.topology else { return Ok(None) };
        let text = std::fs::read_to_string(path).map_err(|error| Failure::io(path, &error))?;
        let said = |error| Failure::Said(format!("{}: {error}", path.display()));
        Topology::parse(&text).map(Some).map_err(said)
    }

    fn say_strangers(&self, roster: &Roster) {
        let Some(path) = &self.topology else { return };
        let fold = |names: &[String]| laggard_core::model::hosts::fold(names);
        if !roster.never_recorded.is_empty() {
            eprintln!(
                "laggard: {}: named there, but never recorded: {}",
                path.display(),
                shorten(&fold(&roster.never_recorded))
            );
        }
        if !roster.not_in_topology.is_empty() {
            let names = shorten(&fold(&roster.not_in_topology));
            eprintln!(
                "laggard: {}: recorded, but not named there: {names}; compared among themselves",
                path.display()
            );
        }
    }

    /// The grid for the wanted metrics of this data: as asked for, else this one, or the data's where that is coarser.
    pub fn interval(&self, usual_s: u32, recording: &Recording, wanted: impl Fn(Metric) -> bool) -> u32 {
        let found = align::intervals(recording, wanted);
        let data = found.map_or(1, |found| found.usual_s.clamp(1, 86_400) as u32);
        if let Some(found) = found.filter(|found| found.coarsest_s > 2 * found.finest_s.max(1)) {
            eprintln!(
                "laggard: mixed intervals, {} s to {} s: finer series are averaged, coarser ones spread over the slots they cover",
                found.finest_s, found.coarsest_s
            );
        }
        match self.interval {
            Some(wanted) if wanted < data => {
                eprintln!(
                    "laggard: --interval {wanted} is finer than the data ({data} s): samples are spread, nothing is gained"
                );
                wanted
            }
            Some(wanted) => wanted,
            None => usual_s.max(data),
        }
    }
}

/// A latency that no device has is a latency in another unit.
fn say_unit(recording: &Recording) {
    const FASTEST_MS: f64 = 0.02;
    let series =
        (0..recording.observed().len()).filter_map(|component| recording.series(component, Metric::Await));
    let mut values: Vec<f64> =
        series.flatten().map(|(_, value)| *value).filter(|value| *value > 0.0).collect();
    let middle = median(&mut values);
    if middle < FASTEST_MS {
        eprintln!(
            "laggard: half of all await values are below {middle:.4} ms; if they are seconds, say so: --csv …,await=COLUMN:s"
        );
    }
}

fn shorten(names: &str) -> String {
    match names.char_indices().nth(200) {
        Some((cut, _)) => format!("{} …", &names[..cut]),
        None => names.into(),
    }
}

/// A progress bar on stderr; invisible if that is not a terminal.
pub fn bar(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg:>10} [{bar:40}] {percent}% {eta} left") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what);
    bar
}

//! Arguments that several verbs share: paths, a column mapping, the topology, the time.

use clap::Args;
use laggard_core::compare::{METHODS, Method};
use laggard_core::ids::UnixSeconds;
use laggard_engine::Source;
use laggard_engine::input::PrometheusQuery;
use laggard_store::csv::Mapping;
use laggard_store::time;
use std::path::PathBuf;

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

/// A moment, for clap.
pub fn moment(text: &str) -> Result<i64, String> {
    time::parse(text)
        .ok_or_else(|| "not a time; ISO 8601 such as 2026-11-16T03:00:00Z, or seconds since 1970".into())
}

/// A method for all metrics but congestion windows, by name, for clap.
pub fn main_method(name: &str) -> Result<&'static Method, String> {
    match method(name)? {
        method if method.is_companion() => {
            Err(format!("{} goes along with any of kl, cdf, median, thresh", method.name))
        }
        method => Ok(method),
    }
}

/// A method that compares one metric at a time, by name, for clap: these can be trained and print their scores.
pub fn method_of_one_metric(name: &str) -> Result<&'static Method, String> {
    match method(name)? {
        method if !method.is_of_one_metric() => {
            Err(format!("{} needs two metrics at once, and no training: use it with `diagnose`", method.name))
        }
        method => Ok(method),
    }
}

/// A method by name, for clap.
pub fn method(name: &str) -> Result<&'static Method, String> {
    let names = || METHODS.iter().map(|method| method.name).collect::<Vec<_>>().join(", ");
    Method::parse(name).ok_or_else(|| format!("the methods are {}", names()))
}

impl Input {
    /// The same for the engine.
    pub fn source(&self) -> Source {
        Source {
            paths: self.paths.clone(),
            csv: self.csv.clone(),
            topology: self.topology.clone(),
            from: self.prometheus.from.map(UnixSeconds),
            to: self.prometheus.to.map(UnixSeconds),
            prometheus: PrometheusQuery {
                step_s: self.prometheus.step,
                selector: self.prometheus.select.clone(),
                token_file: self.prometheus.token_file.clone(),
                authority_file: self.prometheus.ca_file.clone(),
            },
        }
    }
}

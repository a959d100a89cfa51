//! `sadf -j` and `iostat -o JSON`.

use crate::problem::FormatError;
use crate::problem::Problems;
use crate::rates::Lines;
use crate::recording::Recording;
use crate::time;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::io::Read;
use std::path::Path;

#[derive(Deserialize)]
struct Document {
    sysstat: Hosts,
}

#[derive(Deserialize)]
struct Hosts {
    hosts: Vec<Host>,
}

#[derive(Deserialize)]
struct Host {
    nodename: String,
    #[serde(default)]
    statistics: Vec<Statistics>,
}

#[derive(Deserialize)]
struct Statistics {
    #[serde(default)]
    timestamp: Value,
    #[serde(default)]
    disk: Vec<Map<String, Value>>,
    #[serde(default)]
    network: Map<String, Value>,
}

/// Reads a document.
pub fn read(
    input: impl Read,
    path: &Path,
    recording: &mut Recording,
    problems: &mut Problems,
) -> Result<(), FormatError> {
    let document: Document = serde_json::from_reader(input)
        .map_err(|error| format!("JSON, but not of `sadf -j` or `iostat -o JSON`, or not whole: {error}"))?;
    for host in document.sysstat.hosts {
        let mut lines = Lines::default();
        // The first report of iostat is about all the time since boot.
        let is_iostat = |statistics: &&Statistics| statistics.timestamp.is_string();
        let since_boot = host.statistics.iter().take(1).filter(is_iostat).count();
        for statistics in host.statistics.iter().skip(since_boot) {
            if statistics.timestamp["utc"] == 0
                || statistics.timestamp["tz"].as_str().is_some_and(|zone| zone != "UTC")
            {
                problems.add(path, None, "zone", || {
                    "times of another zone than UTC, and it is not told which: taken as UTC; run sadf without -T or -t".into()
                });
            }
            let Some(time_s) = moment(&statistics.timestamp) else {
                problems.add(path, None, "timestamp", || {
                    format!(
                        "a timestamp that is not understood: {}; with iostat, use -t and S_TIME_FORMAT=ISO",
                        statistics.timestamp
                    )
                });
                continue;
            };
            for disk in &statistics.disk {
                if let Some(name) = text(disk, &["disk-device", "disk_device"]) {
                    lines.disk(name, time_s, &numbers(disk));
                }
            }
            let interfaces = statistics.network.get("net-dev").and_then(Value::as_array);
            for interface in interfaces.into_iter().flatten().filter_map(Value::as_object) {
                if let Some(name) = text(interface, &["iface"]) {
                    lines.interface(name, time_s, &numbers(interface));
                }
            }
        }
        lines.finish(&host.nodename, recording);
    }
    Ok(())
}

/// `{"date": "2019-04-18", "time": "13:20:19", "tz": "UTC"}` of sadf, or one text of iostat.
fn moment(timestamp: &Value) -> Option<i64> {
    match timestamp {
        Value::String(text) => time::parse(text).or_else(|| crate::sar::moment(text)),
        Value::Object(parts) => {
            let part = |name: &str| parts.get(name).and_then(Value::as_str);
            time::parse(&format!("{} {}", part("date")?, part("time")?))
        }
        _ => None,
    }
}

fn text<'a>(of: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| of.get(*name)).and_then(Value::as_str)
}

fn numbers(of: &Map<String, Value>) -> Vec<(&str, f64)> {
    of.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?))).collect()
}

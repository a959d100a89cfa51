//! Rates as sysstat prints them, in whatever unit of its versions: names of columns, and how they become metrics.

use crate::recording::Recording;
use laggard_core::model::Metric;
use std::collections::{BTreeMap, BTreeSet};

/// The metric of a column, and what a value must be multiplied by. sysstat's kB are 1024 bytes, its sectors 512.
pub fn metric(column: &str) -> Option<(Metric, f64)> {
    let plain = column.trim_end_matches("/s").trim_start_matches('%').trim_end_matches("-percent");
    Some(match plain {
        "tps" => (Metric::Tps, 1.0),
        "rd_sec" | "rsec" => (Metric::RdSec, 1.0),
        "wr_sec" | "wsec" => (Metric::WrSec, 1.0),
        "rkB" => (Metric::RdSec, 2.0),
        "wkB" => (Metric::WrSec, 2.0),
        "rMB" => (Metric::RdSec, 2048.0),
        "wMB" => (Metric::WrSec, 2048.0),
        "avgrq-sz" => (Metric::AvgrqSz, 1.0),
        "areq-sz" => (Metric::AvgrqSz, 2.0),
        "avgqu-sz" | "aqu-sz" => (Metric::AvgquSz, 1.0),
        "await" => (Metric::Await, 1.0),
        "svctm" => (Metric::Svctm, 1.0),
        "util" => (Metric::Util, 1.0),
        "rxpck" => (Metric::Rxpck, 1.0),
        "txpck" => (Metric::Txpck, 1.0),
        "rxbyt" => (Metric::Rxbyt, 1.0),
        "txbyt" => (Metric::Txbyt, 1.0),
        "rxkB" => (Metric::Rxbyt, 1024.0),
        "txkB" => (Metric::Txbyt, 1024.0),
        _ => return None,
    })
}

/// One line about one disk: columns and values. iostat counts reads, writes and discards apart; together they are what sar has.
pub fn of_disk(columns: &[(&str, f64)]) -> Vec<(Metric, f64)> {
    let value = |name: &str| columns.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let mut metrics: BTreeMap<Metric, f64> = BTreeMap::new();
    for (name, value) in columns {
        if let Some((metric, factor)) = metric(name) {
            metrics.insert(metric, value * factor);
        }
    }
    let apart: Vec<(f64, f64)> = [("r/s", "r_await"), ("w/s", "w_await"), ("d/s", "d_await")]
        .into_iter()
        .filter_map(|(rate, latency)| Some((value(rate)?, value(latency).unwrap_or(0.0))))
        .collect();
    if !apart.is_empty() {
        let requests: f64 = apart.iter().map(|(rate, _)| rate).sum();
        let waited: f64 = apart.iter().map(|(rate, latency)| rate * latency).sum();
        metrics.entry(Metric::Tps).or_insert(requests);
        metrics.entry(Metric::Await).or_insert(if requests > 0.0 { waited / requests } else { 0.0 });
    }
    metrics.into_iter().collect()
}

/// What one line says of one disk at one moment.
type Line = (i64, Vec<(Metric, f64)>);

/// Lines of one file, until it is known which devices are partitions of others.
#[derive(Default)]
pub struct Lines {
    disks: BTreeMap<String, Vec<Line>>,
    /// Traffic of all interfaces together.
    traffic: BTreeMap<i64, BTreeMap<Metric, f64>>,
}

impl Lines {
    /// A line about a disk.
    pub fn disk(&mut self, name: &str, time_s: i64, columns: &[(&str, f64)]) {
        self.disks.entry(name.into()).or_default().push((time_s, of_disk(columns)));
    }

    /// A line about an interface; the loopback is nobody's traffic.
    pub fn interface(&mut self, name: &str, time_s: i64, columns: &[(&str, f64)]) {
        if name == "lo" {
            return;
        }
        let sums = self.traffic.entry(time_s).or_default();
        for (metric, value) in columns
            .iter()
            .filter_map(|(name, value)| metric(name).map(|(metric, factor)| (metric, value * factor)))
        {
            *sums.entry(metric).or_default() += value;
        }
    }

    /// Everything into the recording, under the host's name.
    pub fn finish(self, host: &str, recording: &mut Recording) {
        let names: BTreeSet<String> = self.disks.keys().cloned().collect();
        for (name, lines) in self.disks.iter().filter(|(name, _)| !is_partition(name, &names)) {
            let component = recording.component(&format!("{host}:{name}"));
            recording.describe(component, Some(host), None);
            for (time_s, (metric, value)) in
                lines.iter().flat_map(|(time_s, values)| values.iter().map(move |value| (*time_s, *value)))
            {
                recording.push(component, metric, time_s, value);
            }
        }
        for (time_s, values) in self.traffic {
            let component = recording.component(host);
            for (metric, value) in values {
                recording.push(component, metric, time_s, value);
            }
        }
    }
}

/// `sda1` beside `sda`, `nvme0n1p2` beside `nvme0n1`.
fn is_partition(name: &str, all: &BTreeSet<String>) -> bool {
    let disk = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    disk != name && (all.contains(disk) || disk.strip_suffix('p').is_some_and(|disk| all.contains(disk)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iostat_and_sar_mean_the_same() {
        let sar = of_disk(&[("tps", 30.0), ("rkB/s", 8.0), ("await", 4.0), ("%util", 5.0)]);
        let iostat = of_disk(&[
            ("r/s", 10.0),
            ("w/s", 20.0),
            ("r_await", 6.0),
            ("w_await", 3.0),
            ("rkB/s", 8.0),
            ("%util", 5.0),
        ]);
        assert_eq!(sar, iostat);
        assert_eq!(sar[1], (Metric::RdSec, 16.0));
    }

    #[test]
    fn partitions_are_their_disks() {
        let all: BTreeSet<String> =
            ["sda", "sda1", "nvme0n1", "nvme0n1p1", "dm-0", "md127"].map(String::from).into();
        let partitions: Vec<&String> = all.iter().filter(|name| is_partition(name, &all)).collect();
        assert_eq!(partitions, ["nvme0n1p1", "sda1"]);
    }
}

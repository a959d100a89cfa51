//! Text of `lctl get_param`, as sites keep it: one dump after the other in a file, each parameter with the moment it was read.
//!
//! `lctl get_param obdfilter.*.stats osd-*.*.brw_stats mdt.*.md_stats >> oss1.txt`, every few seconds. The host is the file's name.

use crate::problem::FormatError;
use laggard_activity::Counters;
use laggard_activity::kind::{Kind, LUSTRE, TRANSFER};
use laggard_activity::lustre::{self, Param};
use laggard_activity::transfer::{ALL, BYTES, COUNTS, FIELDS, Row, SPACE, sum_up};
use laggard_activity::{ABSENT, Damage, Origin, Stretch};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub use laggard_activity::lustre::is_lctl;

/// What is read within this time belongs to one dump: patterns that overlap print a parameter twice.
const ONE_DUMP_MS: i64 = 500;

/// What one thing was at each moment.
#[derive(Default)]
struct Samples {
    times_ms: Vec<i64>,
    /// Field after field of each sample.
    values: Vec<i64>,
}

/// Dumps, read.
pub struct Lctl {
    origin: Origin,
    /// By kind and name.
    things: BTreeMap<(&'static str, String), Samples>,
    /// Samples older than the one before them.
    out_of_order: usize,
}

impl Lctl {
    /// Reads the text of a file.
    pub fn read(text: &str, path: &Path) -> Result<Lctl, FormatError> {
        // `oss1.txt.gz` is of oss1.
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let host = file.split('.').next().unwrap_or_default().to_string();
        let mut found = Lctl {
            origin: Origin { host, interval_s: 1, kinds: vec![&LUSTRE, &TRANSFER] },
            things: BTreeMap::new(),
            out_of_order: 0,
        };
        let mut dump: Vec<Param> = Vec::new();
        let mut seen: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
        for param in lustre::params(text) {
            // A parameter that comes again begins the next dump.
            if !seen.insert((param.device, param.target, param.name)) {
                found.take(&dump);
                dump.clear();
                seen = BTreeSet::from([(param.device, param.target, param.name)]);
            }
            dump.push(param);
        }
        found.take(&dump);
        if found.things.is_empty() {
            return Err("`lctl get_param` without stats or brw_stats that say when they were read".into());
        }
        found.origin.interval_s = found.interval_s();
        Ok(found)
    }

    fn take(&mut self, dump: &[Param<'_>]) {
        let mut transfers: BTreeMap<&str, (Option<i64>, Row)> = BTreeMap::new();
        for param in dump.iter().filter(|param| lustre::is_server(param.device)) {
            let time_ms = lustre::snapshot_ms(param.text);
            let row = transfers.entry(param.target).or_insert((None, [ABSENT; FIELDS]));
            let plain = || laggard_activity::snapshot::number(param.text.trim()).unwrap_or(ABSENT);
            match param.name {
                "brw_stats" => {
                    if let Some(counts) = lustre::disk_io_sizes(param.text) {
                        row.0 = time_ms;
                        row.1[COUNTS..ALL].copy_from_slice(&counts.concat());
                        sum_up(&mut row.1);
                    }
                }
                "kbytestotal" => row.1[SPACE] = plain(),
                "kbytesfree" => row.1[SPACE + 1] = plain(),
                // An osd has statistics too, of its cache.
                "stats" | "md_stats" if !param.device.starts_with("osd-") => {
                    for statistic in lustre::statistics(param.text) {
                        let total = statistic.total.unwrap_or(ABSENT);
                        match statistic.name {
                            "read_bytes" => row.1[BYTES] = total,
                            "write_bytes" => row.1[BYTES + 1] = total,
                            _ => {}
                        }
                        let name = format!("{}:{}", param.target, statistic.name);
                        self.push(&LUSTRE, name, time_ms, &[statistic.calls, total]);
                    }
                }
                "io_latency_stats" => {
                    for latency in lustre::latencies(param.text) {
                        let direction = if latency.is_write { "write" } else { "read" };
                        let name = format!("{}:io_latency_{direction}:{}", param.target, latency.size);
                        self.push(&LUSTRE, name, time_ms, &[latency.calls, latency.total_us]);
                    }
                }
                _ => {}
            }
        }
        for (target, (time_ms, row)) in transfers {
            self.push(&TRANSFER, target.to_string(), time_ms, &row);
        }
    }

    fn push(&mut self, kind: &'static Kind, name: String, time_ms: Option<i64>, values: &[i64]) {
        let Some(time_ms) = time_ms else { return };
        let samples = self.things.entry((kind.name, name)).or_default();
        match samples.times_ms.last_mut() {
            // Each may know what the other does not.
            Some(last) if (time_ms - *last).abs() < ONE_DUMP_MS => {
                *last = time_ms.max(*last);
                let end = samples.values.len() - values.len();
                let known = samples.values[end..].iter_mut().zip(values);
                known.filter(|(_, new)| **new != ABSENT).for_each(|(old, new)| *old = *new);
            }
            Some(last) if time_ms < *last => self.out_of_order += 1,
            _ => {
                samples.times_ms.push(time_ms);
                samples.values.extend_from_slice(values);
            }
        }
    }

    /// The usual time between two dumps.
    fn interval_s(&self) -> u32 {
        let longest = self.things.values().max_by_key(|samples| samples.times_ms.len());
        let times = longest.map_or(&[][..], |samples| &samples.times_ms);
        let mut steps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let half = steps.len() / 2;
        let usual_ms = if steps.is_empty() { 1000 } else { *steps.select_nth_unstable(half).1 };
        u32::try_from((usual_ms + 500) / 1000).unwrap_or(u32::MAX).max(1)
    }
}

impl Counters for Lctl {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn segments(&self) -> usize {
        1
    }

    fn span_s(&self, _: usize) -> (i64, i64) {
        let times =
            || self.things.values().flat_map(|samples| &samples.times_ms).map(|time| time.div_euclid(1000));
        (times().min().unwrap_or(0), times().max().unwrap_or(0))
    }

    fn scan(
        &self,
        _: usize,
        kind: &'static Kind,
        fields: &[usize],
        each: &mut dyn FnMut(&Stretch),
    ) -> Result<(), Damage> {
        let width = kind.fields.len();
        for ((_, name), samples) in self.things.iter().filter(|((known, _), _)| *known == kind.name) {
            let times_s: Vec<i64> = samples.times_ms.iter().map(|time| time.div_euclid(1000)).collect();
            let late_ms: Vec<i64> = samples.times_ms.iter().map(|time| time.rem_euclid(1000)).collect();
            let column = |field: &usize| samples.values.chunks(width).map(|row| row[*field]).collect();
            let columns: Vec<Vec<i64>> = fields.iter().map(column).collect();
            let fields = columns.iter().map(Vec::as_slice).collect();
            each(&Stretch { name, times_s: &times_s, late_ms: &late_ms, fields });
        }
        Ok(())
    }

    fn damaged(&self) -> Vec<String> {
        let out_of_order =
            || format!("{} samples are older than the one before them, and not used", self.out_of_order);
        (self.out_of_order > 0).then(out_of_order).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_activity::transfer::{SIZES, size_of};
    use proptest::prelude::*;

    fn dump(time_s: i64, writes: i64, bytes: i64) -> String {
        format!(
            "obdfilter.fs-OST0000.stats=\nsnapshot_time             {time_s}.100000000 secs.nsecs\nwrite_bytes   9 samples [bytes] 1 1 {bytes}\n\
             obdfilter.fs-OST0000.kbytestotal=1000\nobdfilter.fs-OST0000.kbytesfree=250\n\
             osd-ldiskfs.fs-OST0000.brw_stats=\nsnapshot_time:            {time_s}.200000000 secs.nsecs\n\n                           read      |     write\n\
             disk I/O size          ios   % cum % |  ios         % cum %\n1M:                      0   0   0   | {writes} 100 100\n"
        )
    }

    #[test]
    fn dumps_one_after_the_other() {
        let text: String = (0..4).map(|index| dump(1000 + 5 * index, 7 * index, 9 * index)).collect();
        assert!(is_lctl(&text[..600]) && !is_lctl("timestamp,component,metric,value\n"));
        let read = Lctl::read(&text, Path::new("/x/oss1.txt")).unwrap();
        assert_eq!(
            (read.origin.host.as_str(), read.origin.interval_s, read.span_s(0)),
            ("oss1", 5, (1000, 1015))
        );
        let mut seen = Vec::new();
        let fields = [BYTES + 1, SPACE, SPACE + 1, COUNTS + SIZES + size_of(1 << 20), COUNTS];
        read.scan(0, &TRANSFER, &fields, &mut |stretch| {
            assert_eq!((stretch.name, stretch.late_ms), ("fs-OST0000", [200; 4].as_slice()));
            seen = stretch.fields.iter().map(|field| field.to_vec()).collect();
        })
        .unwrap();
        assert_eq!(seen, [[0, 9, 18, 27], [1000; 4], [250; 4], [0, 7, 14, 21], [0; 4]]);
    }

    #[test]
    fn what_is_printed_twice_in_one_dump_is_one_sample_and_older_ones_are_told() {
        let at = |time: &str, writes: i64| {
            format!(
                "osd-ldiskfs.fs-OST0000.brw_stats=\nsnapshot_time: {time} secs.nsecs\n\ndisk I/O size          ios   % cum % |  ios\n4K: 0 0 0 | {writes} 1 1\n\n"
            )
        };
        let text = at("10.990", 5) + &at("11.010", 6) + &at("11.800", 9) + &at("9.0", 1);
        let read = Lctl::read(&text, Path::new("oss1.txt")).unwrap();
        let mut seen = Vec::new();
        read.scan(0, &TRANSFER, &[COUNTS + SIZES + size_of(4096)], &mut |stretch| {
            let times =
                stretch.times_s.iter().zip(stretch.late_ms).map(|(second, late)| second * 1000 + late);
            seen = times.zip(stretch.fields[0].iter().copied()).collect();
        })
        .unwrap();
        assert_eq!(seen, [(11_010, 6), (11_800, 9)]);
        assert_eq!(read.damaged().len(), 1);
    }

    #[test]
    fn a_dump_without_a_moment_is_refused_in_words() {
        let said = Lctl::read("obdfilter.fs-OST0000.kbytestotal=1000\n", Path::new("x")).err().unwrap();
        assert!(said.message.contains("when they were read"), "{said}");
    }

    #[test]
    fn shared_data_dumps_of_lustre_2_14() {
        let Some(folder) = crate::shared_data("lustre-proc/lctl-2.14") else { return };
        // The transactions that each target has counted.
        let mut read = BTreeMap::new();
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // What a parameter prints, as `lctl get_param` would have printed it.
            let text = match name.starts_with("brw_stats") {
                true => format!("osd-ldiskfs.fs-OST0000.brw_stats={text}"),
                false => text,
            };
            let found = Lctl::read(&text, &path);
            read.insert(name, found.ok().map(|found| transactions(&found)));
        }
        let sum = |name: &str| read[name].as_ref().map(|of| (of.len(), of.values().sum::<i64>()));
        // Counted by another program, in another language.
        assert_eq!(sum("2.14.0_ddn133_exports.txt"), Some((4, 650_965_966)));
        assert_eq!(read["2.14.0_ddn133_exports.txt"].as_ref().unwrap()["ai400x2-OST0000"], 282_323_056);
        assert_eq!(sum("2.14.0_ddn133_quota.txt"), Some((4, 652_891_943)));
        assert_eq!(sum("2.14.0_ddn145_stats.txt"), Some((4, 0)), "nothing was done yet");
        assert_eq!(sum("brw_stats_with_data.txt"), Some((1, 33)));
        assert_eq!(sum("brw_stats_empty.txt"), Some((1, 0)));
        assert_eq!(sum("brw_stats_with_start_and_elapsed_time.txt"), Some((1, 0)));
        // Recovery, quotas, and pointers to files that are elsewhere.
        assert_eq!(read.values().filter(|found| found.is_none()).count(), 6);
        assert_eq!(read.len(), 12);
    }

    fn transactions(found: &Lctl) -> BTreeMap<String, i64> {
        let fields: Vec<usize> = (COUNTS..COUNTS + 2 * SIZES).collect();
        let mut all = BTreeMap::new();
        found
            .scan(0, &TRANSFER, &fields, &mut |stretch| {
                all.insert(
                    stretch.name.to_string(),
                    stretch.fields.iter().map(|field| field[0].max(0)).sum(),
                );
            })
            .unwrap();
        all
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "([a-zO0-9.=:|_ -]{0,40}\n){0,12}") {
            let _ = (is_lctl(&text), Lctl::read(&text, Path::new("x")));
        }
    }
}

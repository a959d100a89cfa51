//! What `sar -d`, `sar -n DEV` and `iostat -x -t` print.
//!
//! The first line names the host and the day: `Linux 5.0.16 (oss001)  06/30/19  _x86_64_  (8 CPU)`. Columns are found by their
//! headings, so that all versions are understood. Times are as printed there; they are taken as UTC.

use crate::problem::FormatError;
use crate::problem::Problems;
use crate::rates::Lines;
use crate::recording::Recording;
use crate::time;
use std::io::BufRead;
use std::path::Path;

const DAY_S: i64 = 86_400;

/// What the columns under a heading are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Disk,
    Interface,
    Other,
}

struct Text {
    host: String,
    /// The day of the first line, and of the current one.
    first_day_s: i64,
    day_s: i64,
    /// The headings of the section under way; sar repeats them now and then.
    section: Vec<String>,
    subject: Subject,
    columns: Vec<String>,
    name_is_last: bool,
    /// Of a sar line: the last second of the day.
    clock_s: i64,
    /// Of iostat: the moment of the report, and how many there were.
    report_s: Option<i64>,
    reports: u64,
    lines: Lines,
}

/// Reads a text.
pub fn read(
    input: impl BufRead,
    path: &Path,
    recording: &mut Recording,
    problems: &mut Problems,
) -> Result<(), FormatError> {
    let mut text: Option<Text> = None;
    for (number, line) in input.lines().enumerate() {
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                problems.add(path, Some(number as u64 + 1), "text", || {
                    format!("{error}; what is before it is used")
                });
                break;
            }
        };
        if line.starts_with("Linux ") {
            let next = Text::new(&line)?;
            if let Some(done) = text.replace(next) {
                done.lines.finish(&done.host, recording);
            }
        } else if let Some(text) = &mut text {
            text.line(&line, path, number as u64 + 1, problems);
        }
    }
    if let Some(text) = text {
        let host = text.host.clone();
        text.lines.finish(&host, recording);
    }
    problems.add(path, None, "zone", || "times have no zone in this format; they are taken as UTC".into());
    Ok(())
}

impl Text {
    fn new(line: &str) -> Result<Text, FormatError> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let host = words.get(2).map(|word| word.trim_matches(['(', ')'])).unwrap_or_default();
        let day = words.get(3).and_then(|word| date(word));
        match (host, day) {
            (host, Some(day_s)) if !host.is_empty() => Ok(Text {
                host: host.into(),
                first_day_s: day_s,
                day_s,
                section: Vec::new(),
                subject: Subject::Other,
                columns: Vec::new(),
                name_is_last: false,
                clock_s: 0,
                report_s: None,
                reports: 0,
                lines: Lines::default(),
            }),
            _ => Err(format!("line 1: neither sar nor iostat begins like this: `{line}`").into()),
        }
    }

    fn line(&mut self, line: &str, path: &Path, number: u64, problems: &mut Problems) {
        let mut words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            [] => self.columns.clear(),
            ["Average:", ..] => {}
            // iostat: a report begins with its moment, where -t was given.
            [first, ..]
                if words.len() <= 3
                    && self.columns.is_empty()
                    && moment(line).is_some()
                    && (date(first).is_some() || first.contains('T')) =>
            {
                self.report_s = moment(line);
                self.reports += 1;
            }
            [heading, ..] if heading.trim_end_matches(':') == "Device" => {
                self.subject = Subject::Disk;
                self.columns = words[1..].iter().map(ToString::to_string).collect();
            }
            [first, ..] if clock(first).is_some() => self.sar(&mut words),
            [name, values @ ..]
                if self.subject == Subject::Disk
                    && values.len() == self.columns.len()
                    && !self.columns.is_empty() =>
            {
                match self.report_s {
                    // The first report is about all the time since boot.
                    Some(time_s) if self.reports > 1 => self.values(name, time_s, values),
                    Some(_) => {}
                    None => problems.add(path, Some(number), "untimed", || {
                        "reports without a time are of no use; run iostat with -t".into()
                    }),
                }
            }
            _ => {}
        }
    }

    /// `05:39:34  sda  0.00 …`, or a heading with DEV or IFACE behind the time.
    fn sar(&mut self, words: &mut Vec<&str>) {
        let Some(mut clock_s) = clock(words[0]) else { return };
        if let Some(half @ ("AM" | "PM")) = words.get(1).copied() {
            clock_s = clock_s % 43_200 + if half == "PM" { 43_200 } else { 0 };
            words.remove(1);
        }
        match words.as_slice() {
            [_, heading @ ("DEV" | "IFACE"), columns @ ..] => {
                self.subject = if *heading == "DEV" { Subject::Disk } else { Subject::Interface };
                self.name_is_last = false;
                // Errors of interfaces have the same heading, and none of the columns that are wanted.
                self.columns = columns.iter().map(ToString::to_string).collect();
                if self.columns != self.section {
                    self.section.clone_from(&self.columns);
                    (self.day_s, self.clock_s) = (self.first_day_s, clock_s);
                }
            }
            // With -p or -h sysstat 12 puts the name last.
            [_, columns @ .., heading @ ("DEV" | "IFACE")] => {
                self.subject = if *heading == "DEV" { Subject::Disk } else { Subject::Interface };
                self.name_is_last = true;
                self.columns = columns.iter().map(ToString::to_string).collect();
                if self.columns != self.section {
                    self.section.clone_from(&self.columns);
                    (self.day_s, self.clock_s) = (self.first_day_s, clock_s);
                }
            }
            [_, values @ .., name] if self.name_is_last && values.len() == self.columns.len() => {
                self.pass_midnight(clock_s);
                self.values(name, self.day_s + clock_s, values);
            }
            [_, name, values @ ..]
                if values.len() == self.columns.len()
                    && values.iter().all(|value| number(value).is_some()) =>
            {
                self.pass_midnight(clock_s);
                self.values(name, self.day_s + clock_s, values);
            }
            [_, _, ..] => {
                self.subject = Subject::Other;
                self.columns.clear();
            }
            _ => {}
        }
    }

    /// Past midnight sar goes on with the next day.
    fn pass_midnight(&mut self, clock_s: i64) {
        if clock_s < self.clock_s && self.clock_s - clock_s > DAY_S / 2 {
            self.day_s += DAY_S;
        }
        self.clock_s = clock_s;
    }

    fn values(&mut self, name: &str, time_s: i64, values: &[&str]) {
        let columns: Vec<(&str, f64)> = self
            .columns
            .iter()
            .zip(values)
            .filter_map(|(column, value)| Some((column.as_str(), number(value)?)))
            .collect();
        match self.subject {
            Subject::Disk => self.lines.disk(name, time_s, &columns),
            Subject::Interface => self.lines.interface(name, time_s, &columns),
            Subject::Other => {}
        }
    }
}

/// A value; some languages write a comma.
fn number(text: &str) -> Option<f64> {
    text.replace(',', ".").parse().ok()
}

/// `05:39:34`.
fn clock(text: &str) -> Option<i64> {
    let mut parts = text.split(':').map(|part| (part.len() == 2).then(|| part.parse::<i64>().ok()).flatten());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    (parts.next().is_none() && hours < 24 && minutes < 60 && seconds <= 60)
        .then_some(hours * 3600 + minutes * 60 + seconds)
}

/// `2019-06-30`, `06/30/19`, `06/30/2019`, `30.06.2019`: the first second of that day.
fn date(text: &str) -> Option<i64> {
    let numbers: Vec<i64> =
        text.split(['-', '/', '.']).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (year, month, day) = match (numbers.as_slice(), text) {
        ([year, month, day], _) if *year > 31 => (*year, *month, *day),
        ([day, month, year], text) if text.contains('.') => (*year, *month, *day),
        ([month, day, year], _) => (*year, *month, *day),
        _ => return None,
    };
    let year = if year < 100 { 2000 + year } else { year };
    time::parse(&format!("{year:04}-{month:02}-{day:02} 00:00:00"))
}

/// A moment as iostat prints it: `11/16/26 03:08:53`, `2026-11-16T03:08:53+0000`.
pub fn moment(text: &str) -> Option<i64> {
    let mut words = text.split_ascii_whitespace();
    let (day, time_of_day, half) = (words.next()?, words.next(), words.next());
    let Some(time_of_day) = time_of_day else {
        // ISO 8601 as date(1) writes it, without a colon in the zone.
        let (digits, zone) = day.split_at_checked(19)?;
        let zone = match zone.len() {
            5 if zone.is_ascii() => format!("{}:{}", &zone[..3], &zone[3..]),
            _ => zone.to_string(),
        };
        return time::parse(&format!("{digits}{zone}"));
    };
    let half_s = match half {
        Some("PM") => 43_200,
        _ => 0,
    };
    let clock_s = clock(time_of_day)?;
    Some(date(day)? + if half.is_some() { clock_s % 43_200 + half_s } else { clock_s })
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_core::model::Metric;
    use proptest::prelude::*;

    fn recording(text: &str) -> (Recording, Vec<String>) {
        let (mut recording, mut problems) = (Recording::default(), Problems::default());
        read(text.as_bytes(), Path::new("x"), &mut recording, &mut problems).unwrap();
        (recording, problems.list().iter().map(ToString::to_string).collect())
    }

    fn series(recording: &Recording, name: &str, metric: Metric) -> Vec<(i64, f64)> {
        recording.series(recording.find(name).unwrap(), metric).cloned().unwrap_or_default()
    }

    #[test]
    fn sar_of_two_days_with_disks_and_interfaces() {
        let text = "Linux 5.0.16 (oss1) \t06/30/19 \t_x86_64_\t(8 CPU)

23:59:40     LINUX RESTART\t(8 CPU)

23:59:40        CPU     %user     %nice   %system   %iowait    %steal     %idle
23:59:50        all      0.37      0.00      0.62      0.00      0.00     99.00

23:59:40          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
23:59:50          sda      5.93     55.16    173.42      0.00     38.57      0.04      6.68      1.22
23:59:50         sda1      1.00      1.00      1.00      0.00      1.00      0.04      1.00      1.00
00:00:00          sda      6.00      0.00      0,50      0.00     38.57      0.04      7.00      1.22
Average:          sda      6.00      0.00      0.50      0.00     38.57      0.04      7.00      1.22

23:59:40        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil
23:59:50           lo      9.00      9.00      9.00      9.00      0.00      0.00      0.54      0.00
23:59:50         eth0      4.00      1.00      2.00      1.00      0.00      0.00      0.54      0.00
23:59:50         eth1      1.00      1.00      1.00      1.00      0.00      0.00      0.54      0.00
";
        let (recording, said) = recording(text);
        let midnight = time::parse("2019-07-01T00:00:00Z").unwrap();
        assert_eq!(series(&recording, "oss1:sda", Metric::Await), [(midnight - 10, 6.68), (midnight, 7.0)]);
        assert_eq!(series(&recording, "oss1:sda", Metric::WrSec), [(midnight - 10, 346.84), (midnight, 1.0)]);
        assert_eq!(series(&recording, "oss1", Metric::Rxbyt), [(midnight - 10, 3072.0)]);
        assert_eq!(recording.find("oss1:sda1"), None);
        assert!(said.len() == 1 && said[0].contains("UTC"), "{said:?}");
    }

    #[test]
    fn pretty_sar_has_the_name_last() {
        let text = "Linux 6.1 (oss1)  2019-06-30  _x86_64_  (8 CPU)\n\n10:00:00  tps  rkB/s  wkB/s  await  %util DEV\n10:00:01  2.00  4.00  8.00  3.00  1.00 sda\n10:00:02  2.00  4.00  8.00  5.00  1.00 sda\n";
        let (recording, _) = recording(text);
        let ten = time::parse("2019-06-30T10:00:00Z").unwrap();
        assert_eq!(series(&recording, "oss1:sda", Metric::Await), [(ten + 1, 3.0), (ten + 2, 5.0)]);
    }

    #[test]
    fn twelve_hour_clocks() {
        let text = "Linux 3.10.0 (oss1)  2019-06-30  _x86_64_  (8 CPU)\n\n11:59:40 AM  DEV  tps  rd_sec/s  await\n12:00:00 PM  sda  1.00  8.00  2.00\n12:10:00 PM  sda  1.00  8.00  3.00\n01:00:00 PM  sda  1.00  8.00  4.00\n";
        let (recording, _) = recording(text);
        let noon = time::parse("2019-06-30T12:00:00Z").unwrap();
        assert_eq!(
            series(&recording, "oss1:sda", Metric::Await),
            [(noon, 2.0), (noon + 600, 3.0), (noon + 3600, 4.0)]
        );
    }

    #[test]
    fn iostat_with_and_without_times() {
        let report = |time: &str, await_ms: &str| {
            format!(
                "{time}\nDevice            r/s     rkB/s   r_await   w/s     wkB/s  w_await  aqu-sz  %util\nsda  10.0  80.0  {await_ms}  0.0  0.0  0.0  0.1  2.0\n\n"
            )
        };
        let head = "Linux 6.1 (oss1) \t11/16/26 \t_x86_64_\t(2 CPU)\n\n";
        let text = format!(
            "{head}{}{}{}",
            report("11/16/26 03:08:53", "9.0"),
            report("11/16/26 03:08:54", "1.5"),
            report("2026-11-16T03:08:55+0000", "2.5")
        );
        let (timed, _) = recording(&text);
        let start = time::parse("2026-11-16T03:08:54Z").unwrap();
        assert_eq!(
            series(&timed, "oss1:sda", Metric::Await),
            [(start, 1.5), (start + 1, 2.5)],
            "the first is since boot"
        );
        assert_eq!(series(&timed, "oss1:sda", Metric::Tps)[0].1, 10.0);
        let (untimed, said) = recording(&format!("{head}{}", report("", "9.0")));
        assert!(untimed.samples == 0 && said[0].contains("-t"), "{said:?}");
    }

    #[test]
    fn shared_data_of_sysstat_text_and_json() {
        let Some(folder) = crate::shared_data("sysstat") else { return };
        let text = std::fs::read_to_string(folder.join("expected.data-11.6.5")).unwrap();
        let (from_text, _) = recording(&text);
        assert_eq!(series(&from_text, "linux.home:sda", Metric::Await)[0].1, 6.68);
        let (mut from_json, mut problems) = (Recording::default(), Problems::default());
        let file = std::fs::File::open(folder.join("expected.sadf-j")).unwrap();
        crate::sadf::read(file, Path::new("x"), &mut from_json, &mut problems).unwrap();
        let start = time::parse("2019-04-18T13:20:39Z").unwrap();
        assert_eq!(series(&from_json, "SYSSTAT.TEST:sda", Metric::RdSec)[2], (start, 82_999.94));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(Linux a \\(b\\) 06/30/19\n)?([0-9:]{0,9}|Device|DEV|sda|[ \n\t.]|\\PC){0,60}") {
            let (mut recording, mut problems) = (Recording::default(), Problems::default());
            let _ = read(text.as_bytes(), Path::new("x"), &mut recording, &mut problems);
            let _ = crate::sadf::read(text.as_bytes(), Path::new("x"), &mut recording, &mut problems);
        }
    }
}

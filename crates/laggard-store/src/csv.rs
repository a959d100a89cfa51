//! CSV: the long form `timestamp,component,metric,value`, or a column per metric, named by the header or by a mapping.
//!
//! A bad row is a problem with its line, and the next row is read. Quotes around a field are dropped; a quote never spans
//! lines, so that a stray one cannot swallow the rest of a file.

use crate::problem::FormatError;
use crate::problem::{Lost, Problems};
use crate::read::is_many;
use crate::recording::Recording;
use crate::time;
use csv::ByteRecord;
use laggard_core::model::{Metric, hosts};
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Time,
    Component,
    /// The host of a device: part of the component's name, because every host has an `sda`.
    Host,
    Server,
    Group,
    /// Long form: the metric's name and its value.
    MetricName,
    Value,
    /// A metric, in a unit.
    Metric(Metric, Unit),
}

/// The unit of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    /// Nothing says so: the metric's own.
    Assumed,
    /// As given: times this factor.
    Stated(f64),
}

impl Unit {
    fn factor(self) -> f64 {
        match self {
            Unit::Assumed => 1.0,
            Unit::Stated(factor) => factor,
        }
    }
}

/// Names that sites give to the columns of the time, of the component, and among these of devices and of hosts.
const TIME_NAMES: &[&str] = &["timestamp", "time", "ts", "datetime", "date", "epoch"];
const COMPONENT_NAMES: &[&str] = &[
    "component",
    "disk_id",
    "disk",
    "device",
    "dev",
    "lun",
    "ost",
    "volume",
    "drive",
    "host",
    "hostname",
    "node",
    "instance",
    "server",
    "name",
];

const DEVICE_NAMES: &[&str] = &["disk_id", "disk", "device", "dev", "lun", "ost", "volume", "drive"];
const HOST_NAMES: &[&str] = &["host", "hostname", "node", "instance"];

/// Which column is what: `time=ts,component=disk_id,await=latency:us`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mapping {
    entries: Vec<(Column, String)>,
}

impl Mapping {
    /// Reads a mapping as given on the command line.
    pub fn parse(text: &str) -> Result<Mapping, FormatError> {
        let mut entries: Vec<(Column, String)> = Vec::new();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (key, column) = item
                .split_once('=')
                .ok_or_else(|| format!("`{item}` is not what=column, such as await=latency"))?;
            let (column, unit) =
                column.rsplit_once(':').map_or((column, None), |(column, unit)| (column, Some(unit)));
            let what = match key.trim() {
                "time" | "timestamp" => Column::Time,
                "component" => Column::Component,
                "host" => Column::Host,
                "server" => Column::Server,
                "group" => Column::Group,
                "metric" => Column::MetricName,
                "value" => Column::Value,
                metric => {
                    let known = Metric::parse(metric).ok_or_else(|| {
                        format!("`{metric}` is neither time, component, host, server, group nor a metric (nearest: `{}`)", Metric::nearest(metric))
                    })?;
                    Column::Metric(known, Unit::Assumed)
                }
            };
            let what = match (what, unit) {
                (Column::Metric(metric, _), Some(unit)) => {
                    Column::Metric(metric, Unit::Stated(factor(metric, unit)?))
                }
                (_, Some(unit)) => {
                    return Err(format!("`{item}`: only a metric has a unit, not `{unit}`").into());
                }
                (what, None) => what,
            };
            if entries.iter().any(|(known, _)| same_role(*known, what)) {
                return Err(format!("`{key}` is given twice").into());
            }
            entries.push((what, column.trim().to_ascii_lowercase()));
        }
        for (needed, name) in [(Column::Time, "time=COLUMN"), (Column::Component, "component=COLUMN")] {
            if !entries.iter().any(|(known, _)| *known == needed) {
                return Err(format!("{name} is missing").into());
            }
        }
        Ok(Mapping { entries })
    }
}

fn same_role(a: Column, b: Column) -> bool {
    match (a, b) {
        (Column::Metric(a, _), Column::Metric(b, _)) => a == b,
        (a, b) => a == b,
    }
}

/// What a unit multiplies by to become the metric's own.
fn factor(metric: Metric, unit: &str) -> Result<f64, FormatError> {
    let own = metric.properties().unit;
    let known: &[(&str, f64)] = match own {
        "ms" => &[("ns", 1e-6), ("us", 1e-3), ("ms", 1.0), ("s", 1e3)],
        "sectors/s" => {
            &[("sectors", 1.0), ("B", 1.0 / 512.0), ("kB", 1024.0 / 512.0), ("MB", 1_048_576.0 / 512.0)]
        }
        "bytes/s" => &[("B", 1.0), ("kB", 1024.0), ("MB", 1_048_576.0)],
        _ => &[],
    };
    let names = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = known.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    found.ok_or_else(|| format!("{metric} is in {own}; unit `{unit}` is unknown (known: {})", names()).into())
}

fn split_header(line: &str) -> (Vec<String>, u8) {
    let line = line.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
    let delimiter =
        [b',', b';', b'\t'].into_iter().max_by_key(|d| line.bytes().filter(|byte| byte == d).count());
    let delimiter = delimiter.filter(|d| line.as_bytes().contains(d)).unwrap_or(b',');
    let clean =
        |field: &str| field.trim().trim_matches('"').trim_start_matches('#').trim().to_ascii_lowercase();
    (line.split(delimiter as char).map(clean).collect(), delimiter)
}

/// What the columns of a header mean, by their names.
fn layout(header: &[String]) -> Result<Vec<Option<Column>>, FormatError> {
    let first_of =
        |names: &[&str]| names.iter().find_map(|name| header.iter().position(|field| field == name));
    let time = first_of(TIME_NAMES)
        .ok_or("no column for the time (timestamp, time, ts); name it with --csv time=COLUMN,…")?;
    let component = first_of(COMPONENT_NAMES)
        .ok_or("no column for the component (component, disk_id, device, host); name it with --csv component=COLUMN,…")?;
    let is_device = DEVICE_NAMES.contains(&header[component].as_str());
    let host = first_of(HOST_NAMES).filter(|_| is_device);
    let mut columns = vec![None; header.len()];
    for (index, field) in header.iter().enumerate() {
        columns[index] = match field.as_str() {
            _ if index == time => Some(Column::Time),
            _ if index == component => Some(Column::Component),
            _ if Some(index) == host => Some(Column::Host),
            "server" => Some(Column::Server),
            "group" => Some(Column::Group),
            "metric" => Some(Column::MetricName),
            "value" => Some(Column::Value),
            other => Metric::parse(other).map(|metric| Column::Metric(metric, Unit::Assumed)),
        };
    }
    check(&columns)?;
    Ok(columns)
}

fn mapped_layout(header: &[String], mapping: &Mapping) -> Result<Vec<Option<Column>>, FormatError> {
    let mut columns = vec![None; header.len()];
    for (column, name) in &mapping.entries {
        let index = header
            .iter()
            .position(|field| field == name)
            .ok_or_else(|| format!("there is no column `{name}`; the columns are {}", header.join(", ")))?;
        columns[index] = Some(*column);
    }
    // A column that is named like a metric need not be mapped, such as the load that excuses a latency.
    for (column, name) in columns.iter_mut().zip(header).filter(|(column, _)| column.is_none()) {
        let metric = Metric::parse(name).map(|metric| Column::Metric(metric, Unit::Assumed));
        *column =
            metric.filter(|metric| !mapping.entries.iter().any(|(known, _)| same_role(*known, *metric)));
    }
    check(&columns)?;
    Ok(columns)
}

fn check(columns: &[Option<Column>]) -> Result<(), FormatError> {
    let has = |wanted: Column| columns.contains(&Some(wanted));
    let metrics = columns.iter().any(|column| matches!(column, Some(Column::Metric(..))));
    match (has(Column::MetricName), has(Column::Value)) {
        (true, true) => Ok(()),
        (false, false) if metrics => Ok(()),
        (false, false) => {
            Err("no column is a known metric; name them with --csv, such as await=latency".into())
        }
        _ => Err("the long form needs both `metric` and `value`".into()),
    }
}

/// Reads a CSV into a recording. The error is for the header; bad rows are problems.
/// `progress` is told how many bytes have been read.
pub fn read(
    input: impl Read,
    path: &Path,
    mapping: Option<&Mapping>,
    recording: &mut Recording,
    problems: &mut Problems,
    progress: &dyn Fn(u64),
) -> Result<(), FormatError> {
    let mut input = std::io::BufReader::with_capacity(1 << 16, input);
    let mut first = Vec::new();
    std::io::BufRead::read_until(&mut input, b'\n', &mut first).map_err(|error| error.to_string())?;
    let first = String::from_utf8_lossy(&first);
    let (header, delimiter) = split_header(&first);
    let columns = match mapping {
        Some(mapping) => mapped_layout(&header, mapping)?,
        None => layout(&header)?,
    };
    let mut rows = Rows {
        path,
        columns,
        recording,
        problems,
        last_component: None,
        last_time: None,
        long: None,
        read: 0,
        unread: 0,
        of_component: Vec::new(),
        is_last_short: false,
    };
    let last_byte = Cell::new(b'\n');
    let input = Ending { input, last_byte: &last_byte };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .quoting(false)
        .delimiter(delimiter)
        .from_reader(input);
    let mut record = ByteRecord::new();
    let mut count: u64 = 0;
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let lost = Lost::Of(rows.recording.of_this_file());
                rows.problems.add_loss(path, lost, format!("cannot be read to its end: {error}"));
                break;
            }
        }
        rows.take(&record);
        count += 1;
        if count.is_multiple_of(65_536) {
            progress(reader.position().byte());
        }
    }
    rows.note_losses(last_byte.get() != b'\n');
    Ok(())
}

/// Remembers the last byte: a file that ends within a row was cut off.
struct Ending<'a, R> {
    input: R,
    last_byte: &'a Cell<u8>,
}

impl<R: Read> Read for Ending<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.input.read(buffer)?;
        if let Some(last) = buffer[..count].last() {
            self.last_byte.set(*last);
        }
        Ok(count)
    }
}

struct Rows<'a> {
    path: &'a Path,
    columns: Vec<Option<Column>>,
    recording: &'a mut Recording,
    problems: &'a mut Problems,
    /// Neighbouring rows mostly repeat the component or the time: looked up once.
    last_component: Option<(Vec<u8>, usize)>,
    last_time: Option<(Vec<u8>, i64)>,
    long: Option<(Vec<u8>, Metric)>,
    /// Values that were read, and those that were not understood.
    read: u64,
    unread: u64,
    /// The same of each component of the recording, where the row says which it is.
    of_component: Vec<Understood>,
    /// The row that was read last had too few columns.
    is_last_short: bool,
}

/// Values of one component.
#[derive(Debug, Clone, Copy, Default)]
struct Understood {
    read: u64,
    unread: u64,
}

impl Rows<'_> {
    /// A few bad rows are noise; many are a file that was not understood.
    fn note_losses(&mut self, ends_within_a_row: bool) {
        if ends_within_a_row && self.is_last_short {
            let lost = Lost::Of(self.recording.of_this_file());
            let message = "ends within a row: cut off? Copy it again".to_string();
            self.problems.add_loss(self.path, lost, message);
        }
        let known = self.recording.observed().iter().zip(&self.of_component);
        let is_lost = |of: &Understood| is_many(of.unread, of.read + of.unread);
        let names: BTreeSet<String> =
            known.filter(|(_, of)| is_lost(of)).map(|(known, _)| known.name.clone()).collect();
        let (read, unread) = (self.read, self.unread);
        let of_rows = unread - self.of_component.iter().map(|of| of.unread).sum::<u64>();
        if is_many(of_rows, read) || names.is_empty() && is_many(unread, read) {
            let lost = Lost::Of(self.recording.of_this_file());
            let message = format!("{unread} values were not understood, {read} were: see the lines above");
            self.problems.add_loss(self.path, lost, message);
        } else if !names.is_empty() {
            let message =
                format!("values of {} were not understood: see the lines above", hosts::fold(&names));
            self.problems.add_loss(self.path, Lost::Of(names), message);
        }
    }

    fn understood(&mut self, component: usize) -> &mut Understood {
        if self.of_component.len() <= component {
            self.of_component.resize(component + 1, Understood::default());
        }
        &mut self.of_component[component]
    }

    /// A row or a value that is not used.
    fn lost(&mut self, line: u64, kind: &str, message: impl FnOnce() -> String) {
        self.unread += 1;
        self.problem(line, kind, message);
    }

    fn problem(&mut self, line: u64, kind: &str, message: impl FnOnce() -> String) {
        self.problems.add(self.path, Some(line), kind, message);
    }

    fn take(&mut self, record: &ByteRecord) {
        // The header was read before the reader started, hence one more.
        let line = record.position().map_or(0, csv::Position::line) + 1;
        self.is_last_short = record.len() < self.columns.len();
        if self.is_last_short {
            if record.len() > 1 || !field(record, 0).is_empty() {
                let (has, needs) = (record.len(), self.columns.len());
                self.lost(line, "short", || format!("the row has {has} of {needs} columns; skipped"));
            }
            return;
        }
        let surplus = (self.columns.len()..record.len()).find(|&index| !field(record, index).is_empty());
        if surplus.is_some() {
            let (has, needs) = (record.len(), self.columns.len());
            self.lost(line, "long", || {
                format!("the row has {has} columns, the header {needs}; skipped (a comma within a field?)")
            });
            return;
        }
        let mut at = None;
        let (mut host, mut of) = (None, None);
        let (mut server, mut group, mut name, mut value) = (None, None, None, None);
        for index in 0..self.columns.len() {
            match self.columns[index] {
                Some(Column::Time) => {
                    let text = field(record, index);
                    if text.contains(&b'.') {
                        self.recording.note_fractions();
                    }
                    at = self.time(text, line);
                }
                Some(Column::Component) => of = Some(field(record, index)),
                Some(Column::Host) => host = Some(field(record, index)),
                Some(Column::Server) => server = Some(field(record, index)),
                Some(Column::Group) => group = Some(field(record, index)),
                Some(Column::MetricName) => name = Some(field(record, index)),
                Some(Column::Value) => value = Some(field(record, index)),
                Some(Column::Metric(..)) | None => {}
            }
        }
        // A row without a time, such as a header in the middle, must not make its component known.
        let (Some(time_s), Some(of)) = (at, of) else { return };
        let joined =
            host.filter(|host| !host.is_empty() && !of.is_empty()).map(|host| [host, b":", of].concat());
        let Some(component) = self.component(joined.as_deref().unwrap_or(of), line) else { return };
        let server = server.or(host);
        self.recording.tick(component, time_s);
        if server.is_some() || group.is_some() {
            let text = |field: Option<&[u8]>| field.map(printable);
            self.recording.describe(component, text(server).as_deref(), text(group).as_deref());
        }
        if let (Some(name), Some(value)) = (name, value) {
            if let Some(metric) = self.metric(name, line) {
                self.sample(component, metric, Unit::Assumed, time_s, value, line);
            }
            return;
        }
        for index in 0..self.columns.len() {
            if let Some(Column::Metric(metric, unit)) = self.columns[index] {
                self.sample(component, metric, unit, time_s, field(record, index), line);
            }
        }
    }

    fn time(&mut self, text: &[u8], line: u64) -> Option<i64> {
        if let Some((known, time)) = &self.last_time
            && known == text
        {
            return Some(*time);
        }
        let parsed = std::str::from_utf8(text).ok().and_then(time::parse);
        match parsed {
            Some(time) => self.last_time = Some((text.to_vec(), time)),
            None => self.lost(line, "time", || {
                format!(
                    "`{}` is not a time (seconds since 1970 or ISO 8601); skipped",
                    String::from_utf8_lossy(text)
                )
            }),
        }
        parsed
    }

    fn component(&mut self, text: &[u8], line: u64) -> Option<usize> {
        if let Some((known, component)) = &self.last_component
            && known == text
        {
            return Some(*component);
        }
        if text.is_empty() {
            self.lost(line, "component", || "no component name; skipped".into());
            return None;
        }
        let component = self.recording.component(&printable(text));
        self.last_component = Some((text.to_vec(), component));
        Some(component)
    }

    fn metric(&mut self, text: &[u8], line: u64) -> Option<Metric> {
        if let Some((known, metric)) = &self.long
            && known == text
        {
            return Some(*metric);
        }
        let name = String::from_utf8_lossy(text);
        match Metric::parse(&name) {
            Some(metric) => {
                self.long = Some((text.to_vec(), metric));
                Some(metric)
            }
            None => {
                self.problem(line, &format!("metric {name}"), || {
                    format!("unknown metric `{name}` (nearest: `{}`); skipped", Metric::nearest(&name))
                });
                None
            }
        }
    }

    fn sample(&mut self, component: usize, metric: Metric, unit: Unit, time_s: i64, text: &[u8], line: u64) {
        let value = match number(text) {
            Number::Value(value) => value * unit.factor(),
            Number::Missing => return,
            Number::Impossible => {
                self.understood(component).unread += 1;
                self.lost(line, "impossible", || {
                    format!(
                        "`{}` is impossible for {metric}; taken as missing",
                        String::from_utf8_lossy(text)
                    )
                });
                return;
            }
            Number::Bad => {
                self.understood(component).unread += 1;
                self.lost(line, "number", || {
                    format!(
                        "`{}` is not a number for {metric} (decimals need a point); taken as missing",
                        String::from_utf8_lossy(text)
                    )
                });
                return;
            }
        };
        self.read += 1;
        self.understood(component).read += 1;
        if unit == Unit::Assumed {
            self.recording.assume_unit(component, metric);
        }
        let order = self.recording.push(component, metric, time_s, value);
        let name = || self.recording.observed()[component].name.clone();
        match order {
            Ordering::Greater => {}
            Ordering::Less => {
                let name = name();
                self.problem(line, "order", || format!("{metric} of `{name}` goes back in time; sorted"));
            }
            Ordering::Equal => {
                let name = name();
                self.problem(line, "repeated", || {
                    format!("{metric} of `{name}` has this time already; the last sample counts")
                });
            }
        }
    }
}

/// Names are printed on terminals: no escape sequences from other people's files.
fn printable(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace(char::is_control, "?")
}

fn field(record: &ByteRecord, index: usize) -> &[u8] {
    let text = record.get(index).unwrap_or(b"").trim_ascii();
    text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
}

/// No metric of a machine exceeds this; a wrapped 64-bit counter does.
const MOST: f64 = 1e15;

enum Number {
    Value(f64),
    Missing,
    /// Infinite, negative, or beyond anything a machine can do.
    Impossible,
    Bad,
}

fn number(text: &[u8]) -> Number {
    let Ok(text) = std::str::from_utf8(text) else { return Number::Bad };
    match text.parse::<f64>() {
        // Tools that have no value write -1.
        Ok(value) if value.is_nan() || value == -1.0 => Number::Missing,
        Ok(value) if (0.0..=MOST).contains(&value) => Number::Value(value),
        Ok(_) => Number::Impossible,
        Err(_) => match text.to_ascii_lowercase().as_str() {
            "" | "na" | "n/a" | "null" | "none" | "-" => Number::Missing,
            _ => Number::Bad,
        },
    }
}

#[cfg(test)]
mod tests;

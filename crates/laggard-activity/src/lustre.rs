//! The text of Lustre's statistics, 1.8 to 2.15: as files of /proc, /sys and debugfs have it, and as `lctl get_param` prints it.
//!
//! What cannot be understood is passed over: a line that a later version adds must not cost the others.

use crate::snapshot::number;
use crate::transfer::{self, SIZES};
use std::collections::BTreeMap;

/// One line of `stats` or `md_stats`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistic<'a> {
    /// The operation.
    pub name: &'a str,
    /// How often.
    pub calls: i64,
    /// Sum in the statistic's unit, where it has one.
    pub total: Option<i64>,
}

/// `read_bytes  1023683 samples [bytes] 0 1048576 471987441490`: name, calls, unit, and where it has one: least, greatest, sum.
pub fn statistics(text: &str) -> impl Iterator<Item = Statistic<'_>> {
    text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (name, calls) = (words.next()?, number(words.next()?)?);
        if words.next()? != "samples" {
            return None;
        }
        // Sums of bytes and of times say something; of requests, pages and locks, nothing here.
        let has_sum = words.next().is_some_and(|unit| ["[bytes]", "[usec]", "[usecs]"].contains(&unit));
        let total = words.nth(2).and_then(number).filter(|_| has_sum);
        Some(Statistic { name, calls, total })
    })
}

/// Reads and writes of each size, from the section `disk I/O size` of brw_stats; nothing if it has none.
///
/// `1M:  1786747  64 100   | 8168407  98 100`. Sizes are upper bounds: 8K is what is larger than 4K. Lustre leaves out the sizes before
/// the first and after the last that it has seen, so what is not there is zero.
pub fn disk_io_sizes(text: &str) -> Option<[[i64; SIZES]; 2]> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("disk I/O size"));
    lines.next()?;
    let mut counts = [[0i64; SIZES]; 2];
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        // A parameter that follows without an empty line.
        let Some((size, sides)) = line.split_once(':') else { break };
        let Some((reads, writes)) = sides.split_once('|') else { break };
        let count = |side: &str| side.split_ascii_whitespace().next().and_then(number);
        if let (Some(bytes), Some(reads), Some(writes)) = (bytes(size.trim()), count(reads), count(writes)) {
            let size = transfer::size_of(bytes);
            counts[0][size] = counts[0][size].saturating_add(reads);
            counts[1][size] = counts[1][size].saturating_add(writes);
        }
    }
    Some(counts)
}

/// Transactions of one size, and the time that they took together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// Whether they were writes.
    pub is_write: bool,
    /// Bytes of each.
    pub size: u64,
    /// How many.
    pub calls: i64,
    /// Microseconds of all of them, each taken as the middle of its bucket.
    pub total_us: i64,
}

/// `io_latency_stats`: `rd_1024K: { 512us: 3, 1024us: 1, }`. A bucket holds what is longer than half of its label.
pub fn latencies(text: &str) -> Vec<Latency> {
    let mut found: BTreeMap<(bool, u64), (i64, i64)> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, buckets)) = line.trim().split_once(": {") else { continue };
        let (is_write, size) = match name.split_once('_') {
            Some(("rd", size)) => (false, size),
            Some(("wr", size)) => (true, size),
            _ => continue,
        };
        let Some(size) = bytes(size) else { continue };
        let sums = found.entry((is_write, size)).or_default();
        for bucket in buckets.trim_end_matches('}').split(',') {
            let Some((label, count)) = bucket.split_once(':') else { continue };
            let label = label.trim().strip_suffix("us").and_then(number);
            if let (Some(upper_us), Some(count)) = (label, number(count.trim())) {
                sums.0 = sums.0.saturating_add(count);
                sums.1 = sums.1.saturating_add(count.saturating_mul(upper_us).saturating_mul(3) / 4);
            }
        }
    }
    let latency = |((is_write, size), (calls, total_us))| Latency { is_write, size, calls, total_us };
    found.into_iter().map(latency).collect()
}

/// When a statistic was read, in milliseconds since 1970: `snapshot_time: 1534158712.738772898 (secs.nsecs)`.
pub fn snapshot_ms(text: &str) -> Option<i64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("snapshot_time"))?;
    let time = line.trim_start_matches(':').split_ascii_whitespace().next()?;
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    number(seconds)?.checked_mul(1000)?.checked_add(number(&thousandths)?)
}

/// A parameter as `lctl get_param` prints it: `osd-ldiskfs.scratch-OST0000.brw_stats=` and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param<'a> {
    /// `obdfilter`, `osd-ldiskfs`, `mdt`.
    pub device: &'a str,
    /// `scratch-OST0000`.
    pub target: &'a str,
    /// `brw_stats`.
    pub name: &'a str,
    /// Its value.
    pub text: &'a str,
}

/// Whether some line of a text begins with a parameter of a Lustre server, of whatever depth.
pub fn is_lctl(text: &str) -> bool {
    let heads = text.lines().filter_map(|line| line.split_once('=')).map(|(path, _)| path);
    let mut devices = heads.filter(|path| is_path(path)).filter_map(|path| path.split_once('.'));
    devices.any(|(device, _)| is_server(device))
}

/// Whether parameters of a device are those of a server; clients have some too (`llite`), and are no targets.
pub fn is_server(device: &str) -> bool {
    ["obdfilter", "mdt", "mds"].contains(&device) || device.starts_with("osd-")
}

/// The parameters in a text that are of one target; others, such as those of its exports, are passed over.
pub fn params(text: &str) -> Vec<Param<'_>> {
    let mut heads: Vec<(usize, usize, Option<[&str; 3]>)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some((path, _)) = line.split_once('=').filter(|(path, _)| is_path(path)) {
            let mut parts = path.split('.');
            let named = match (parts.next(), parts.next(), parts.next(), parts.next()) {
                (Some(device), Some(target), Some(name), None) => Some([device, target, name]),
                _ => None,
            };
            heads.push((at, at + path.len() + 1, named));
        }
        at += line.len();
    }
    let ends = heads.iter().skip(1).map(|(at, ..)| *at).chain([text.len()]);
    let params = heads.iter().zip(ends).filter_map(|((_, from, named), to)| {
        let [device, target, name] = (*named)?;
        Some(Param { device, target, name, text: &text[*from..to] })
    });
    params.collect()
}

/// `osd-ldiskfs.scratch-OST0000.brw_stats`, or `memused`, at the start of a line. Exports have NIDs in them: `mdt.x.exports.fe80::1@tcp.stats`.
fn is_path(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@*[]:".contains(&byte);
    text.bytes().all(letter) && text.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// `4K`, `1M`, `512`: a size in bytes.
pub fn bytes(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests;

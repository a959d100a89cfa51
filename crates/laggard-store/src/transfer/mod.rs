//! Transactions by size, as the load of each target in each slot of a grid: for all hosts together, in time order.
//!
//! Counters stay in their files; an hour or so of every host is in memory at once, whatever the length of the recording. What a
//! counter grew between two samples counts for the slot of the later. After a hole, a restart or a wrap the growth is not known:
//! that interval is missing, never zero and never negative.

pub mod live;
mod pass;
mod sizes;
mod slots;
mod source;

pub use laggard_activity::lustre::bytes as parse_size;
pub use laggard_activity::transfer::{SIZES, bytes, size_of};
pub use slots::{Block, TargetLoad};

use crate::activity::{FileInfo, HostFiles, Hosts};
use crate::time;
use laggard_activity::Counters;
use laggard_activity::kind::TRANSFER;
use laggard_activity::transfer::{ALL, COUNTS, SPACE};
use laggard_activity::{ABSENT, Damage, growth};
use pass::Pass;
use sizes::{Gaps, Sizes};
use slots::Slots;
use source::Source;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Something that moves data to a disk: a Lustre target, or a block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// `scratch-OST0000`; a block device has its host in front.
    pub name: String,
    /// The host that recorded it last.
    pub host: String,
    /// `scratch` of `scratch-OST0000`; nothing is known of a block device.
    pub file_system: Option<String>,
    /// Whether the sizes of its transactions were counted, or only their number and bytes.
    pub has_sizes: bool,
}

/// The targets of a recording, by name. One that fails over from host to host is one target.
pub fn targets(hosts: &Hosts) -> Vec<Target> {
    let mut found: BTreeMap<String, (i64, Target)> = BTreeMap::new();
    for host in hosts.iter() {
        let is_wanted =
            |thing: &str| file_system(thing).is_some() || is_for_data(thing) && !has_targets(host);
        for (thing, last_s) in host.transfers.iter().filter(|(thing, _)| is_wanted(thing)) {
            let name = name_of(&host.name, thing);
            let file_system = file_system(thing).map(str::to_string);
            let target = Target { name: name.clone(), host: host.name.clone(), file_system, has_sizes: true };
            if found.get(&name).is_none_or(|(known_s, _)| known_s < last_s) {
                found.insert(name, (*last_s, target));
            }
        }
        for disk in host.disks.keys().filter(|_| !has_targets(host)) {
            let name = name_of(&host.name, disk);
            let (host, file_system) = (host.name.clone(), None);
            let target = Target { name: name.clone(), host, file_system, has_sizes: false };
            found.entry(name).or_insert((i64::MIN, target));
        }
    }
    found.into_values().map(|(_, target)| target).collect()
}

/// Whether a host serves targets: what their disks do must not count twice.
fn has_targets(host: &HostFiles) -> bool {
    host.transfers.keys().any(|thing| file_system(thing).is_some() || !is_for_data(thing))
}

/// Metadata targets and the management service have disks too, but hold no data.
fn is_for_data(thing: &str) -> bool {
    !thing.contains("-MDT") && thing != "MGS"
}

fn file_system(thing: &str) -> Option<&str> {
    thing.rsplit_once("-OST").map(|(file_system, _)| file_system)
}

fn name_of(host: &str, thing: &str) -> String {
    match file_system(thing) {
        Some(_) => thing.to_string(),
        None => format!("{host}:{thing}"),
    }
}

/// Transactions of each size: reads, then writes.
pub type Composition = [[u64; SIZES]; 2];

/// How a replay went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Account {
    /// What each target's transactions were.
    pub compositions: Vec<Composition>,
    /// Targets whose compositions lack something of these seconds.
    pub incomplete: Vec<bool>,
    /// Of how many seconds of each target the growth is known.
    pub seconds: Vec<f64>,
    /// Intervals whose growth is known.
    pub intervals: u64,
    /// Intervals lost to counters that fell: a restart, or a wrap.
    pub resets: u64,
    /// Intervals lost because a sample, or several, were missing.
    pub holes: u64,
    /// Intervals lost because the sample did not have what is needed.
    pub uncounted: u64,
    /// What could not be read, in words.
    pub damaged: Vec<String>,
}

impl Account {
    fn new(targets: usize) -> Account {
        Account {
            compositions: vec![Composition::default(); targets],
            incomplete: vec![false; targets],
            seconds: vec![0.0; targets],
            ..Account::default()
        }
    }
}

/// Targets, and how their counters are read.
struct Plan {
    targets: Vec<Target>,
    index: BTreeMap<String, usize>,
    by_size: Source,
    of_disks: Source,
}

impl Plan {
    /// For targets, each with the size from which on a transaction is of the best kind.
    fn new(targets: &[Target], best: &[usize]) -> Plan {
        let index = targets.iter().enumerate().map(|(index, target)| (target.name.clone(), index)).collect();
        let by_size = Source::by_size(best.iter().copied().min().unwrap_or(SIZES));
        Plan { targets: targets.to_vec(), index, by_size, of_disks: Source::of_disks() }
    }

    fn place(&self, host: &str, thing: &str) -> Option<usize> {
        self.index.get(&name_of(host, thing)).copied()
    }

    /// Reads what a host has counted in a segment into slots. Returns whose sizes were counted, if that could be read, and
    /// what could not be.
    fn read(
        &self,
        (pass, slots, account): (&mut Pass, &mut Slots, &mut Account),
        host: &str,
        counters: &dyn Counters,
        segment: usize,
    ) -> (Option<Gaps>, Vec<Damage>) {
        let patience_ms = growth::patience_ms(i64::from(counters.origin().interval_s));
        let (mut counted, mut damaged) = (None, Vec::new());
        let place = |thing: &str| self.place(host, thing);
        match pass.read(counters, segment, (host, &self.by_size), patience_ms, &place) {
            Ok(()) => counted = Some(pass.hand_over(slots, account)),
            Err(damage) => damaged.push(damage),
        }
        // Devices whose sizes are not counted, or were not yet.
        let is_left = |index: usize| {
            self.targets[index].file_system.is_none()
                && !counted.as_ref().is_some_and(|counted| counted.contains_key(&index))
        };
        let is_of_host = |target: &Target| target.file_system.is_none() && target.host == host;
        if !(0..self.targets.len()).any(|index| is_left(index) && is_of_host(&self.targets[index])) {
            return (counted, damaged);
        }
        let place = |thing: &str| place(thing).filter(|index| is_left(*index));
        match pass.read(counters, segment, (host, &self.of_disks), patience_ms, &place) {
            Ok(()) => drop(pass.hand_over(slots, account)),
            Err(damage) => damaged.push(damage),
        }
        (counted, damaged)
    }
}

/// The segments of a file in which there is something of the time that was asked for.
fn wanted_segments(hosts: &Hosts, file: &FileInfo) -> Vec<usize> {
    let (first_s, last_s) = hosts.bounds_s.unwrap_or((i64::MIN, i64::MAX));
    let is_wanted =
        |segment: &usize| file.segments[*segment].0 <= last_s && file.segments[*segment].1 >= first_s;
    (0..file.segments.len()).filter(is_wanted).collect()
}

/// What one segment of a file is, in the order of time.
struct Part<'a> {
    from_s: i64,
    host: &'a HostFiles,
    file: &'a FileInfo,
    segment: usize,
}

/// Replays the loads of all targets, in the order of time.
pub fn replay(
    hosts: &Hosts,
    targets: &[Target],
    grid_s: i64,
    best: &[usize],
    progress: &dyn Fn(u64, u64),
    each: &mut dyn FnMut(&Block<'_>),
) -> Account {
    let bounds_s = hosts.bounds_s.unwrap_or((i64::MIN, i64::MAX));
    let mut parts: Vec<Part> = Vec::new();
    for host in hosts.iter() {
        for file in &host.files {
            let wanted = wanted_segments(hosts, file).into_iter();
            parts.extend(wanted.map(|segment| Part {
                from_s: file.segments[segment].0,
                host,
                file,
                segment,
            }));
        }
    }
    parts.sort_by_key(|part| (part.from_s, &part.host.name, &part.file.path, part.segment));
    let mut account = Account::new(targets.len());
    let mut slots = Slots::new(targets.len(), grid_s);
    let mut pass = Pass::new(best, bounds_s);
    let mut sizes = Sizes::new(targets.len());
    let plan = Plan::new(targets, best);
    // A file has one part after the other in use, and only those of one moment are used together.
    let mut open: BTreeMap<&str, (&FileInfo, Arc<dyn Counters>)> = BTreeMap::new();
    for (done, part) in parts.iter().enumerate() {
        progress(done as u64, parts.len() as u64);
        slots.complete_before(part.from_s, each);
        let known = open.get(part.host.name.as_str()).filter(|(file, _)| std::ptr::eq(*file, part.file));
        let counters = match known {
            Some((_, counters)) => counters.clone(),
            None => match part.file.open() {
                Ok(counters) => {
                    open.insert(&part.host.name, (part.file, counters.clone()));
                    counters
                }
                Err(damage) => {
                    account.damaged.push(format!("{}: {damage}", part.file.path.display()));
                    continue;
                }
            },
        };
        let host = part.host.name.as_str();
        let into = (&mut pass, &mut slots, &mut account);
        let (gaps, damaged) = plan.read(into, host, &*counters, part.segment);
        if let Some(gaps) = gaps {
            sizes.segment(host, (&counters, part.segment), &gaps, &|thing| plan.place(host, thing));
        }
        for damage in damaged {
            let (from, to) = part.file.segments[part.segment];
            account.damaged.push(format!(
                "{}: {damage}: no transactions from {} to {}",
                part.file.path.display(),
                time::format(from),
                time::format(to)
            ));
        }
    }
    slots.complete_before(i64::MAX, each);
    for host in hosts.iter() {
        sizes.catch_up(&host.name, &|thing| plan.place(&host.name, thing));
    }
    account.compositions = sizes.compositions();
    account.damaged.append(&mut sizes.damaged);
    account.incomplete = sizes.incomplete;
    account
}

/// The size from which on a transaction is of the best kind, for each target: the largest of which its file system has more than a stray one
/// in a thousand, by what the counters grew from the first segment that was asked for to the last.
pub fn best_sizes(hosts: &Hosts, targets: &[Target]) -> Vec<usize> {
    let mut systems: BTreeMap<Option<String>, [u64; SIZES]> = BTreeMap::new();
    for host in hosts.iter().filter(|host| !host.transfers.is_empty()) {
        let wanted = |file: &FileInfo| wanted_segments(hosts, file);
        let first_of = |file: &FileInfo| edge(file, *wanted(file).first()?, End::First);
        let last_of = |file: &FileInfo| edge(file, *wanted(file).last()?, End::Last);
        let first = host.files.iter().find_map(first_of).unwrap_or_default();
        let last = host.files.iter().rev().find_map(last_of);
        for (thing, values) in last.unwrap_or_default() {
            let counts = systems.entry(file_system(&thing).map(str::to_string)).or_insert([0; SIZES]);
            let before = first.get(&thing).copied().unwrap_or([0; 2 * SIZES]);
            // Where a counter fell, all of it is new.
            let is_same_life = values.iter().zip(before).all(|(now, before)| *now >= before);
            for (size, (now, before)) in values.iter().zip(before).enumerate() {
                let grown = now.saturating_sub(if is_same_life { before } else { 0 }).max(0) as u64;
                counts[size % SIZES] = counts[size % SIZES].saturating_add(grown);
            }
        }
    }
    let best = |target: &Target| {
        let counts = systems.get(&target.file_system)?;
        let all = counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        (0..SIZES).rev().find(|size| counts[*size] > all / 1000)
    };
    targets.iter().map(|target| best(target).unwrap_or(SIZES - 1)).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    First,
    Last,
}

/// Transactions by size, of all targets of a file, at one end of a segment.
fn edge(file: &FileInfo, segment: usize, end: End) -> Option<BTreeMap<String, [i64; 2 * SIZES]>> {
    let counters = file.open().ok()?;
    let fields: Vec<usize> = count_fields().collect();
    let mut found = BTreeMap::new();
    let read = counters.scan(segment, &TRANSFER, &fields, &mut |stretch| {
        let at = if end == End::First { 0 } else { stretch.times_s.len() - 1 };
        let value = |size: usize| match stretch.fields[size][at] {
            ABSENT => 0,
            value => value,
        };
        found.insert(stretch.name.to_string(), std::array::from_fn(value));
    });
    read.ok().map(|()| found).filter(|found| !found.is_empty())
}

/// How full each target was at last, 0 to 1; NaN where it is not known.
pub fn fullness(hosts: &Hosts, targets: &[Target]) -> Vec<f64> {
    let is_wanted = |file: &&FileInfo| !wanted_segments(hosts, file).is_empty();
    let mut full = vec![f64::NAN; targets.len()];
    for host in hosts.iter().filter(|host| !host.transfers.is_empty()) {
        // The last that can be read is enough: a file system does not fill in a day.
        let files = host.files.iter().rev().filter(is_wanted);
        let newest = files.filter_map(|file| last_space(file).ok()).find(|found| !found.is_empty());
        for (thing, [total, free]) in newest.unwrap_or_default() {
            let name = name_of(&host.name, &thing);
            // Of one that moved from host to host, the last knows best.
            let place = targets.iter().position(|target| target.name == name && target.host == host.name);
            if let Some(place) = place.filter(|_| total > 0 && free != ABSENT) {
                full[place] = 1.0 - free as f64 / total as f64;
            }
        }
    }
    full
}

fn last_space(file: &FileInfo) -> Result<BTreeMap<String, [i64; 2]>, Damage> {
    let counters = file.open()?;
    let mut found = BTreeMap::new();
    if let Some(last) = counters.segments().checked_sub(1) {
        counters.scan(last, &TRANSFER, &[SPACE, SPACE + 1], &mut |stretch| {
            if let (Some(total), Some(free)) = (stretch.fields[0].last(), stretch.fields[1].last()) {
                found.insert(stretch.name.to_string(), [*total, *free]);
            }
        })?;
    }
    Ok(found)
}

/// Fields with transactions: reads by size, then writes by size.
fn count_fields() -> impl Iterator<Item = usize> {
    COUNTS..ALL
}

#[cfg(test)]
mod tests;

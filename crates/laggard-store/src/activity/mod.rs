//! Recordings of counters as input: which hosts and devices they hold, and their counters as metrics, streamed in time order.
//!
//! A host is a component with network metrics; so is each of its disks, `HOST:DISK`, unless it has only one: then the host is that
//! disk. What a client's socket says about a server counts for the server, found by its address; clients are peers of clients.

pub mod following;
pub mod live;
pub mod stream;
pub mod summary;
pub mod work;

use crate::problem::{Lost, Problems};
use crate::recording::Recording;
use laggard_activity::Counters;
use laggard_activity::kind::{
    ADDRESS, DISK, GAP, HOST, Kind, KindId, LUSTRE, MEDIUM, NET, PEER, TCP, TRANSFER,
};
use laggard_activity::{Activity, Damage, Thing, name};
use laggard_core::model::Metric;
use laggard_core::model::groups::CLIENTS;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// No component.
const NOBODY: usize = usize::MAX;

/// One recording of counters.
#[derive(Clone)]
pub struct FileInfo {
    /// Its path, with any of its endings.
    pub path: PathBuf,
    /// The recording itself, where it is not opened when needed.
    pub held: Option<Arc<dyn Counters>>,
    /// Seconds between samples.
    pub interval_s: u32,
    /// First and last second of each segment.
    pub segments: Vec<(i64, i64)>,
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

impl FileInfo {
    /// Opens it, or takes it as it is held.
    pub fn open(&self) -> Result<Arc<dyn Counters>, Damage> {
        match &self.held {
            Some(held) => Ok(held.clone()),
            None => Ok(Arc::new(Activity::open(&self.path)?)),
        }
    }
}

/// A disk of a host.
#[derive(Debug, Clone, Copy)]
pub struct Disk {
    /// Its component.
    pub component: usize,
    /// When it was first seen.
    pub first_s: i64,
}

/// The files of one host, and what they hold.
#[derive(Clone, Default)]
pub struct HostFiles {
    /// The host's name.
    pub name: String,
    /// Its files, oldest first.
    pub files: Vec<FileInfo>,
    /// Its disks.
    pub disks: BTreeMap<String, Disk>,
    /// What they are, where that was recorded: `flash, 1.6 TB, MODEL`.
    media: BTreeMap<String, String>,
    /// Targets and devices of which transactions were counted by size, each with about the last second of it.
    pub transfers: BTreeMap<String, i64>,
    /// Lustre's other statistics, as `TARGET:OPERATION`.
    pub statistics: BTreeSet<String>,
    /// Whether interfaces were recorded.
    pub has_net: bool,
    /// Whether TCP of the whole host was.
    has_tcp: bool,
    /// Whether CPU and memory were.
    has_host: bool,
    /// Sockets to clients, and sockets to servers by address.
    pub has_clients: bool,
    servers: BTreeSet<String>,
    addresses: BTreeSet<String>,
    /// The component of each server that it has sockets to, by address.
    pub server_components: BTreeMap<String, usize>,
    /// The component of the host.
    pub component: usize,
}

/// All hosts that were read from activity files.
#[derive(Clone, Default)]
pub struct Hosts {
    by_name: BTreeMap<String, HostFiles>,
    /// Seconds between samples, by component.
    intervals: HashMap<usize, i64>,
    /// What is outside of these seconds is left out.
    pub bounds_s: Option<(i64, i64)>,
    /// Folders that are deleted when nobody needs their files any more.
    temporary: Vec<Arc<tempfile::TempDir>>,
}

impl Hosts {
    /// Keeps a folder as long as its files may be read.
    pub fn keep(&mut self, folder: tempfile::TempDir) {
        self.temporary.push(Arc::new(folder));
    }

    /// All hosts, by name.
    pub fn iter(&self) -> impl Iterator<Item = &HostFiles> {
        self.by_name.values()
    }

    /// Seconds recorded by the host that recorded longest, of those that are wanted.
    pub fn recorded_s(&self) -> i64 {
        let (first, last) = self.bounds_s.unwrap_or((i64::MIN, i64::MAX));
        let wanted = |from: &i64, to: &i64, interval_s: u32| {
            let length = to.min(&last) - from.max(&first);
            if length < 0 { 0 } else { length + i64::from(interval_s) }
        };
        let of_host = |host: &HostFiles| {
            let of_file = |file: &FileInfo| {
                file.segments.iter().map(|(from, to)| wanted(from, to, file.interval_s)).sum::<i64>()
            };
            host.files.iter().map(of_file).sum::<i64>()
        };
        self.iter().map(of_host).max().unwrap_or(0)
    }

    /// Metrics that the files can yield.
    pub fn metrics(&self) -> BTreeSet<Metric> {
        let mut all = BTreeSet::new();
        for host in self.iter() {
            let has = |kind: KindId| match kind {
                KindId::Disk => !host.disks.is_empty(),
                KindId::Net => host.has_net,
                KindId::Tcp => host.has_tcp,
                KindId::Host => host.has_host,
                KindId::Peer
                | KindId::Lustre
                | KindId::Transfer
                | KindId::Address
                | KindId::Gap
                | KindId::Medium => false,
            };
            let is_recorded = |metric: &Metric| match metric {
                Metric::CwndToClients | Metric::RetransToClients => host.has_clients,
                Metric::CwndFromClients | Metric::RetransFromClients => !host.server_components.is_empty(),
                counted => work::made_of(*counted).is_some_and(|(kind, _)| has(kind)),
            };
            all.extend(Metric::all().filter(is_recorded));
        }
        all
    }

    /// Those of the metrics that are wanted. Where the busy time itself is, the mean of it over requests says nothing more.
    pub fn wanted(&self, wanted: impl Fn(Metric) -> bool) -> Vec<Metric> {
        let is_needed =
            |metric: &Metric| wanted(*metric) && (*metric != Metric::Svctm || !wanted(Metric::Util));
        self.metrics().into_iter().filter(is_needed).collect()
    }

    /// First and last second.
    pub fn span_s(&self) -> Option<(i64, i64)> {
        let (first, last) = self.bounds_s.unwrap_or((i64::MIN, i64::MAX));
        let files = || self.iter().flat_map(|host| &host.files);
        let segments =
            || files().flat_map(|file| &file.segments).filter(|(from, to)| *from <= last && *to >= first);
        let from = segments().map(|(from, _)| *from).min()?.max(first);
        Some((from, segments().map(|(_, to)| *to).max()?.min(last)))
    }

    /// The interval of a component's files.
    pub fn interval_of(&self, component: usize) -> Option<i64> {
        self.intervals.get(&component).copied()
    }

    /// Takes an activity file; says what of it is damaged, and how many rows it has.
    pub fn add_file(&mut self, path: &Path, problems: &mut Problems) -> Result<u64, Damage> {
        let activity = Activity::open(path)?;
        Ok(self.add(path, &activity, None, problems))
    }

    /// Takes any other recording of counters.
    pub fn add_held(&mut self, path: &Path, held: &Arc<dyn Counters>, problems: &mut Problems) -> u64 {
        self.add(path, held.as_ref(), Some(held.clone()), problems)
    }

    fn add(
        &mut self,
        path: &Path,
        counters: &dyn Counters,
        held: Option<Arc<dyn Counters>>,
        problems: &mut Problems,
    ) -> u64 {
        let origin = counters.origin();
        let named = name::parse(path).map(|(host, _)| host.to_string());
        let host_name =
            if origin.host.is_empty() { named.unwrap_or_else(|| "host".into()) } else { origin.host.clone() };
        for message in counters.damaged() {
            problems.add_loss(path, Lost::Of([host_name.clone()].into()), message);
        }
        let host = self.by_name.entry(host_name.clone()).or_default();
        host.name = host_name;
        let mut rows = 0;
        let mut segments = Vec::new();
        for segment in 0..counters.segments() {
            match host.learn(path, counters, segment, problems) {
                Ok(count) => rows += count,
                Err(damage) => {
                    let what = format!(
                        "part {} of {}: {damage}; the others are used",
                        segment + 1,
                        counters.segments()
                    );
                    problems.add_loss(path, Lost::Of([host.name.clone()].into()), what);
                }
            }
            segments.push(counters.span_s(segment));
        }
        host.files.push(FileInfo { path: path.into(), held, interval_s: origin.interval_s, segments });
        host.files.sort_by_key(|file| file.segments.first().copied());
        rows
    }

    /// Makes the components known, when all files are read: only then is it clear who has which address.
    pub fn settle(&mut self, recording: &mut Recording) {
        let owners: BTreeMap<String, String> = self
            .iter()
            .flat_map(|host| host.addresses.iter().map(|address| (address.clone(), host.name.clone())))
            .collect();
        for host in self.by_name.values_mut() {
            let alone = host.disks.len() == 1;
            // A host of which only disks were recorded is not a component: there is nothing to compare it by.
            host.component = NOBODY;
            if alone || host.has_net || host.has_clients || host.disks.is_empty() {
                host.component = recording.component(&host.name);
                recording.describe_host(host.component);
            }
            // Whoever has sockets to servers, and none to clients, is a client.
            let is_client = !host.servers.is_empty() && !host.has_clients;
            if is_client && host.component != NOBODY {
                recording.describe(host.component, None, Some(CLIENTS));
            }
            for (name, disk) in &mut host.disks {
                let medium = host.media.get(name);
                disk.component = host.component;
                if !alone {
                    disk.component = recording.component(&format!("{}:{name}", host.name));
                    recording.describe(
                        disk.component,
                        Some(&host.name),
                        is_client.then_some("disks of clients"),
                    );
                }
                if let Some(medium) = medium.filter(|_| disk.component != NOBODY) {
                    recording.describe_medium(disk.component, medium);
                }
            }
            for address in &host.servers {
                let owner = owners.get(address).unwrap_or(address);
                let component = recording.component(owner);
                recording.describe_host(component);
                host.server_components.insert(address.clone(), component);
            }
            let interval_s = host.files.first().map_or(1, |file| i64::from(file.interval_s));
            let disks = host.disks.values().map(|disk| disk.component);
            let components = disks.chain(host.server_components.values().copied()).chain([host.component]);
            self.intervals.extend(components.map(|component| (component, interval_s)));
        }
    }
}

impl HostFiles {
    /// What a segment holds; how many rows.
    fn learn(
        &mut self,
        path: &Path,
        counters: &dyn Counters,
        segment: usize,
        problems: &mut Problems,
    ) -> Result<u64, Damage> {
        let mut rows = 0;
        for Thing { kind, name, first_s, samples } in counters.inventory(segment)? {
            rows += samples as u64;
            let is = |other: &'static Kind| kind.id == other.id;
            if is(&DISK) {
                let disk = self.disks.entry(name).or_insert(Disk { component: 0, first_s });
                disk.first_s = disk.first_s.min(first_s);
            } else if is(&NET) {
                self.has_net |= name != "lo";
            } else if is(&TCP) {
                self.has_tcp = true;
            } else if is(&HOST) {
                self.has_host = true;
            } else if is(&PEER) {
                match name.strip_prefix("server:") {
                    Some(address) => self.servers.extend([address.to_string()]),
                    None => self.has_clients = true,
                }
            } else if is(&TRANSFER) {
                let interval_s = i64::from(counters.origin().interval_s.max(1));
                let last_s = first_s.saturating_add((samples as i64 - 1).saturating_mul(interval_s));
                let known = self.transfers.entry(name).or_insert(last_s);
                *known = last_s.max(*known);
            } else if is(&LUSTRE) {
                self.statistics.insert(name);
            } else if is(&MEDIUM) {
                // An exchanged disk may be another one: the last counts.
                self.media.extend(name.split_once('=').map(|(disk, medium)| (disk.into(), medium.into())));
            } else if is(&ADDRESS) {
                self.addresses.insert(name);
            } else if is(&GAP) {
                problems.add(path, None, &name, || format!("gap: {name}"));
            }
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests;

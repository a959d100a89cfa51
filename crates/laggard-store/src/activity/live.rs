//! Activity files followed while they are written: what is new is turned into samples, in time order, for all hosts together.

use super::stream::Stream;
use super::{HostFiles, Hosts};
use crate::align::{self, Slice};
use crate::counters::{Counters, Fresh};
use crate::recording::Recording;
use crate::store;
use laggard_activity::kind::{DISK, PEER};
use laggard_activity::{Activity, Follower, Thing, name};
use laggard_core::diagnose::Sample;
use laggard_core::model::{Metric, Roster};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A host that has written nothing for so long is not waited for: its seconds are missing, as those of a dead host are. Collectors
/// write every five seconds.
const PATIENCE: Duration = Duration::from_secs(15);
/// Nor is one whose clock is so far behind the others'.
const FAR_BEHIND_S: i64 = 60;
/// Files of one host that may still grow: today's, and, just after midnight, yesterday's.
const GROWING: usize = 2;

/// Files under observation.
pub struct Live {
    stream: Stream,
    hosts: Hosts,
    paths: Vec<PathBuf>,
    followers: BTreeMap<PathBuf, Follower>,
    /// The newest second of each host, and when it came.
    newest: BTreeMap<String, (i64, Instant)>,
    grid_s: i64,
    /// Roster index of each component of the recording.
    places: Vec<Option<usize>>,
}

/// What a look at the files has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Samples, or nothing new.
    Samples,
    /// A host or a device that was not there before: peer groups have to be formed anew.
    Stranger(String),
}

impl Live {
    /// Follows the files of a recording from where it ends. What it holds already comes with the first look.
    pub fn new(
        recording: &Recording,
        roster: &Roster,
        paths: &[PathBuf],
        grid_s: u32,
        wanted: impl Fn(Metric) -> bool,
    ) -> Live {
        let hosts = recording.hosts().clone();
        let grid_s = i64::from(grid_s.max(1));
        let metrics: Vec<Metric> = hosts.metrics().into_iter().filter(|metric| wanted(*metric)).collect();
        let mut stream = Stream::new(&hosts, grid_s, &metrics);
        stream.read_all();
        let newest = |host: &HostFiles| {
            let segments = host.files.iter().flat_map(|file| &file.segments);
            Some((host.name.clone(), (segments.map(|(_, to)| *to).max()?, Instant::now())))
        };
        let newest = hosts.iter().filter_map(newest).collect();
        let places = recording.observed().iter().map(|known| roster.find(&known.name)).collect();
        Live { stream, hosts, paths: paths.to_vec(), followers: BTreeMap::new(), newest, grid_s, places }
    }

    /// Looks at the files; yields what is complete, in time order. Says on stderr what could not be read.
    pub fn look(&mut self, mut each: impl FnMut(Sample)) -> Found {
        self.discover();
        let mut stranger = None;
        for (path, follower) in &mut self.followers {
            match follower.advance() {
                Ok(0) => continue,
                Ok(_) => {}
                Err(damage) => {
                    eprintln!("laggard: {}: {damage}", path.display());
                    continue;
                }
            }
            let Some(fresh) = Fresh::of(follower) else { continue };
            let host = fresh.origin().host.clone();
            let known = self.hosts.iter().find(|known| known.name == host);
            stranger = stranger.or_else(|| known.map_or(Some(host.clone()), |known| unknown(known, &fresh)));
            let newest = self.newest.entry(host.clone()).or_insert((i64::MIN, Instant::now()));
            for damage in self.stream.read_fresh(&host, &fresh, newest.0) {
                eprintln!("laggard: {}: {damage}", path.display());
            }
            *newest = (newest.0.max(fresh.span_s(0).1), Instant::now());
        }
        let chunk = self.stream.take_before(self.complete());
        let placed = chunk.iter().filter_map(|(component, metric, slots)| {
            Some((self.places.get(*component).copied().flatten()?, *metric, slots.as_slice()))
        });
        let mut placed: Vec<Slice> = placed.collect();
        placed.sort_by_key(|(component, metric, _)| (*component, *metric));
        align::in_order(&placed, self.grid_s, &mut each);
        stranger.map_or(Found::Samples, Found::Stranger)
    }

    /// A new day is a new file.
    fn discover(&mut self) {
        let mut by_host: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for path in listed(&self.paths) {
            // Names sort by time.
            if let Some((host, _)) = name::parse(&path) {
                by_host.entry(host.to_string()).or_default().push(name::beside(&path, name::TAIL));
            }
        }
        let mut growing = BTreeSet::new();
        for stems in by_host.values_mut() {
            stems.sort();
            stems.dedup();
            growing.extend(stems.iter().rev().take(GROWING).cloned());
        }
        // A file of days ago holds no more than its handle.
        self.followers.retain(|stem, _| growing.contains(stem));
        for stem in growing {
            self.followers.entry(stem).or_insert_with_key(|stem| Follower::new(stem));
        }
    }

    /// The first slot that may still get samples.
    fn complete(&self) -> i64 {
        let mut all: Vec<i64> = self.newest.values().map(|(last_s, _)| *last_s).collect();
        all.sort_unstable();
        let usual_s = all.get(all.len() / 2).copied().unwrap_or(0);
        let is_awaited =
            |(last_s, came): &&(i64, Instant)| came.elapsed() < PATIENCE && *last_s >= usual_s - FAR_BEHIND_S;
        let awaited = self.newest.values().filter(is_awaited).map(|(last_s, _)| *last_s).min();
        (awaited.unwrap_or(usual_s) + 1).div_euclid(self.grid_s)
    }
}

/// Activity files at some paths.
fn listed(paths: &[PathBuf]) -> Vec<PathBuf> {
    let files = paths.iter().flat_map(|path| match path.is_dir() {
        true => store::files(path).unwrap_or_default(),
        false => vec![path.clone()],
    });
    files.filter(|path| name::parse(path).is_some()).collect()
}

/// Whether any activity file there has samples. What else is there is for whoever reads it to refuse.
pub fn has_begun(paths: &[PathBuf]) -> bool {
    let files = listed(paths);
    let has_samples = |path: &PathBuf| Activity::open(path).is_ok_and(|activity| activity.segments() > 0);
    let is_other = |path: &PathBuf| path.is_file() && name::parse(path).is_none();
    files.iter().any(has_samples) || paths.iter().any(is_other)
}

/// A disk, or a server, that the host did not have before.
fn unknown(host: &HostFiles, fresh: &Fresh) -> Option<String> {
    let is_unknown = |thing: &Thing| match thing.name.strip_prefix("server:") {
        _ if std::ptr::eq(thing.kind, &DISK) => !host.disks.contains_key(&thing.name),
        Some(address) if std::ptr::eq(thing.kind, &PEER) => !host.server_components.contains_key(address),
        None if std::ptr::eq(thing.kind, &PEER) => !host.has_clients,
        _ => false,
    };
    let things = fresh.inventory(0).unwrap_or_default();
    things.into_iter().find(is_unknown).map(|thing| format!("{} of {}", thing.name, host.name))
}

//! Activity files followed while they are written: what is fresh in each, and up to when all of them are complete.

use super::{HostFiles, Hosts};
use crate::store;
use laggard_activity::{Activity, Follower, name};
use laggard_activity::{Counters, Fresh};
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
pub struct Following {
    paths: Vec<PathBuf>,
    followers: BTreeMap<PathBuf, Follower>,
    /// The newest second of each host, and when it came.
    newest: BTreeMap<String, (i64, Instant)>,
}

impl Following {
    /// Follows the files at some paths. What `hosts` were read from them already is known.
    pub fn new(hosts: &Hosts, paths: &[PathBuf]) -> Following {
        let newest = |host: &HostFiles| {
            let segments = host.files.iter().flat_map(|file| &file.segments);
            Some((host.name.clone(), (segments.map(|(_, to)| *to).max()?, Instant::now())))
        };
        let newest = hosts.iter().filter_map(newest).collect();
        Following { paths: paths.to_vec(), followers: BTreeMap::new(), newest }
    }

    /// Looks at the files: each that has something fresh, with its host and the newest second known of it before. Returns what
    /// could not be read, also by `each`.
    pub fn look(&mut self, each: &mut dyn FnMut(&str, &Fresh<'_>, i64) -> Vec<String>) -> Vec<String> {
        let mut unread = Vec::new();
        self.discover();
        for (path, follower) in &mut self.followers {
            match follower.advance() {
                Ok(0) => continue,
                Ok(_) => {}
                Err(damage) => {
                    unread.push(format!("{}: {damage}", path.display()));
                    continue;
                }
            }
            let Some(fresh) = Fresh::of(follower) else { continue };
            let host = fresh.origin().host.clone();
            let newest = self.newest.entry(host.clone()).or_insert((i64::MIN, Instant::now()));
            for said in each(&host, &fresh, newest.0) {
                unread.push(format!("{}: {said}", path.display()));
            }
            *newest = (newest.0.max(fresh.span_s(0).1), Instant::now());
        }
        unread
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

    /// The first second that may still get samples.
    pub fn complete_s(&self) -> i64 {
        let mut all: Vec<i64> = self.newest.values().map(|(last_s, _)| *last_s).collect();
        all.sort_unstable();
        let usual_s = all.get(all.len() / 2).copied().unwrap_or(0);
        let is_awaited =
            |(last_s, came): &&(i64, Instant)| came.elapsed() < PATIENCE && *last_s >= usual_s - FAR_BEHIND_S;
        let awaited = self.newest.values().filter(is_awaited).map(|(last_s, _)| *last_s).min();
        awaited.unwrap_or(usual_s) + 1
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

/// Whether any of the paths has an activity file.
pub fn has_files(paths: &[PathBuf]) -> bool {
    !listed(paths).is_empty()
}

/// Whether any activity file there has samples. What else is there is for whoever reads it to refuse.
pub fn has_begun(paths: &[PathBuf]) -> bool {
    let files = listed(paths);
    let has_samples = |path: &PathBuf| Activity::open(path).is_ok_and(|activity| activity.segments() > 0);
    let is_other = |path: &PathBuf| path.is_file() && name::parse(path).is_none();
    files.iter().any(has_samples) || paths.iter().any(is_other)
}

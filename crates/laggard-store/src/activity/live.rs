//! The samples of files that are still written: what is new is turned into samples, in time order, for all hosts together.

use super::following::Following;
use super::stream::{Chunk, Stream};
use super::{HostFiles, Hosts};
use crate::align::{self, Slice};
use crate::recording::Recording;
use laggard_activity::Thing;
use laggard_activity::kind::KindId;
use laggard_activity::{Counters, Fresh};
use laggard_core::diagnose::Sample;
use laggard_core::ids::ComponentId;
use laggard_core::model::{Metric, Roster};
use std::path::PathBuf;

/// Files under observation.
pub struct Live {
    stream: Stream,
    hosts: Hosts,
    following: Following,
    grid_s: i64,
    /// Which component each of the recording is.
    places: Vec<Option<ComponentId>>,
    /// What was recorded before this began is still to be replayed.
    is_new: bool,
}

/// What a look at the files has found, beside samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// A host or a device that was not there before: peer groups have to be formed anew.
    pub newcomer: Option<String>,
    /// What could not be read.
    pub unread: Vec<String>,
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
        let metrics = hosts.wanted(wanted);
        let stream = Stream::new(&hosts, grid_s, &metrics);
        let following = Following::new(&hosts, paths);
        let places = recording.observed().iter().map(|known| roster.find(&known.name)).collect();
        Live { stream, hosts, following, grid_s, places, is_new: true }
    }

    /// Looks at the files; yields what is complete, in time order.
    pub fn look(&mut self, mut each: impl FnMut(Sample)) -> Look {
        if std::mem::take(&mut self.is_new) {
            // A day of it need not be in memory at once.
            while let Some(chunk) = self.stream.next_chunk_before(self.complete()) {
                self.replay(&chunk, &mut each);
            }
            self.stream.read_all();
        }
        let mut newcomer = None;
        let (stream, hosts) = (&mut self.stream, &self.hosts);
        let unread = self.following.look(&mut |host, fresh, newest_s| {
            let known = hosts.iter().find(|known| known.name == host);
            let unknown = || known.map_or(Some(host.to_string()), |known| unknown(known, fresh));
            newcomer = newcomer.take().or_else(unknown);
            stream.read_fresh(host, fresh, newest_s)
        });
        let chunk = self.stream.take_before(self.complete());
        self.replay(&chunk, &mut each);
        Look { newcomer, unread }
    }

    /// The first slot that may still get samples.
    fn complete(&self) -> i64 {
        self.following.complete_s().div_euclid(self.grid_s)
    }

    fn replay(&self, chunk: &Chunk, each: &mut impl FnMut(Sample)) {
        let placed = chunk.iter().filter_map(|(component, metric, slots)| {
            let component = self.places.get(*component).copied().flatten()?;
            Some(Slice { component, metric: *metric, slots })
        });
        let mut placed: Vec<Slice> = placed.collect();
        placed.sort_by_key(|slice| (slice.component, slice.metric));
        align::in_order(&placed, self.grid_s, each);
    }
}

/// A disk, or a server, that the host did not have before.
fn unknown(host: &HostFiles, fresh: &Fresh) -> Option<String> {
    let is_unknown = |thing: &Thing| match thing.name.strip_prefix("server:") {
        _ if thing.kind.id == KindId::Disk => !host.disks.contains_key(&thing.name),
        Some(address) if thing.kind.id == KindId::Peer => !host.server_components.contains_key(address),
        None if thing.kind.id == KindId::Peer => !host.has_clients,
        _ => false,
    };
    let things = fresh.inventory(0).unwrap_or_default();
    things.into_iter().find(is_unknown).map(|thing| format!("{} of {}", thing.name, host.name))
}

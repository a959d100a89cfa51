//! What every recording of raw counters can do, whichever program made it: our agent, sysstat, Prometheus.

use crate::kind::Kind;
use crate::{Damage, Follower, Growth, Origin, Stretch, Thing, growth};

/// A recording of raw counters of one host. A segment is an hour or so: what is read at once.
pub trait Counters: Send + Sync {
    /// Whose it is, how often it was sampled, and what it may hold.
    fn origin(&self) -> &Origin;
    /// How many segments there are.
    fn segments(&self) -> usize;
    /// First and last second of a segment.
    fn span_s(&self, segment: usize) -> (i64, i64);
    /// Reads fields of all things of a kind in one segment, thing by thing.
    fn scan(
        &self,
        segment: usize,
        kind: &'static Kind,
        fields: &[usize],
        each: &mut dyn FnMut(&Stretch),
    ) -> Result<(), Damage>;
    /// Reads counters of all things of a kind in one segment, as growth.
    fn growth(
        &self,
        segment: usize,
        kind: &'static Kind,
        fields: &[usize],
        to: &mut dyn Growth,
    ) -> Result<(), Damage> {
        growth::from_values(fields, |each| self.scan(segment, kind, fields, each), to)
    }
    /// Lists what a segment holds.
    fn inventory(&self, segment: usize) -> Result<Vec<Thing>, Damage> {
        let mut things = Vec::new();
        for kind in &self.origin().kinds {
            self.scan(segment, kind, &[], &mut |stretch| {
                let first_s = stretch.times_s.first().copied().unwrap_or(0);
                let (name, samples) = (stretch.name.to_string(), stretch.times_s.len());
                things.push(Thing { kind, name, first_s, samples });
            })?;
        }
        Ok(things)
    }
    /// What could not be read, in words.
    fn damaged(&self) -> Vec<String>;
}

/// What is fresh in a file that still grows: one segment.
pub struct Fresh<'a> {
    follower: &'a Follower,
    origin: &'a Origin,
}

impl<'a> Fresh<'a> {
    /// Nothing, if nothing is fresh.
    pub fn of(follower: &'a Follower) -> Option<Fresh<'a>> {
        follower.span_s()?;
        Some(Fresh { follower, origin: follower.origin()? })
    }
}

impl Counters for Fresh<'_> {
    fn origin(&self) -> &Origin {
        self.origin
    }

    fn segments(&self) -> usize {
        1
    }

    fn span_s(&self, _: usize) -> (i64, i64) {
        self.follower.span_s().unwrap_or_default()
    }

    fn scan(
        &self,
        _: usize,
        kind: &'static Kind,
        fields: &[usize],
        each: &mut dyn FnMut(&Stretch),
    ) -> Result<(), Damage> {
        self.follower.scan(kind, fields, each)
    }

    fn damaged(&self) -> Vec<String> {
        Vec::new()
    }
}

//! How many transactions of each size there were, over all intervals that are known.
//!
//! Counters tell that by their ends: as long as no interval is lost, what lies in between need not be read. So segments are passed
//! over until one has a gap, or other targets than the one before it, and then the last that was passed over is read too.

use super::{Composition, SIZES, count_fields};
use crate::counters::Counters;
use laggard_activity::kind::TRANSFER;
use laggard_activity::{ABSENT, Damage};
use laggard_core::fsu::Direction;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Transactions of each size until some moment, as counted: reads, then writes.
type Counted = [i64; 2 * SIZES];

/// For each target of a segment the rows, from its first, whose interval is lost.
pub type Gaps = BTreeMap<usize, Vec<usize>>;

/// Where a host stands.
#[derive(Default)]
struct Standing {
    /// What each target had counted at the end of the last segment that was read.
    counted: BTreeMap<usize, Counted>,
    /// The segment that was passed over last: of the same targets, and without gaps.
    passed: Option<(Arc<dyn Counters>, usize)>,
}

/// Sizes of the transactions of all targets.
pub struct Sizes {
    grown: Vec<Counted>,
    hosts: BTreeMap<String, Standing>,
}

impl Sizes {
    /// None yet.
    pub fn new(targets: usize) -> Sizes {
        Sizes { grown: vec![[0; 2 * SIZES]; targets], hosts: BTreeMap::new() }
    }

    /// Takes the next segment of a host. `place` tells the index of a target.
    pub fn segment(
        &mut self,
        host: &str,
        (counters, segment): (&Arc<dyn Counters>, usize),
        gaps: &Gaps,
        place: &dyn Fn(&str) -> Option<usize>,
    ) -> Result<(), Damage> {
        let standing = self.hosts.entry(host.to_string()).or_default();
        let is_same = gaps.keys().eq(standing.counted.keys());
        if is_same && gaps.values().all(Vec::is_empty) {
            standing.passed = Some((counters.clone(), segment));
            return Ok(());
        }
        // If all go on into this segment, where they stood before it does not matter.
        let goes_on = is_same && gaps.values().all(|lost| lost.first() != Some(&0));
        let caught_up = if goes_on { Ok(()) } else { self.catch_up(host, place) };
        self.read(host, (&**counters, segment), gaps, place).and(caught_up)
    }

    /// Reads what was passed over last of a host.
    pub fn catch_up(&mut self, host: &str, place: &dyn Fn(&str) -> Option<usize>) -> Result<(), Damage> {
        let Some(standing) = self.hosts.get_mut(host) else { return Ok(()) };
        let Some((counters, segment)) = standing.passed.take() else { return Ok(()) };
        let gaps = standing.counted.keys().map(|target| (*target, Vec::new())).collect();
        self.read(host, (&*counters, segment), &gaps, place)
    }

    fn read(
        &mut self,
        host: &str,
        (counters, segment): (&dyn Counters, usize),
        gaps: &Gaps,
        place: &dyn Fn(&str) -> Option<usize>,
    ) -> Result<(), Damage> {
        let before = self.hosts.remove(host).unwrap_or_default().counted;
        let standing = self.hosts.entry(host.to_string()).or_default();
        let fields: Vec<usize> = count_fields().collect();
        let grown = &mut self.grown;
        counters.scan(segment, &TRANSFER, &fields, &mut |stretch| {
            let Some((target, lost)) =
                place(stretch.name).and_then(|target| Some((target, gaps.get(&target)?)))
            else {
                return;
            };
            let at = |row: usize| -> Counted { std::array::from_fn(|size| stretch.fields[size][row]) };
            // From where on nothing is lost.
            let mut from = before.get(&target).copied().unwrap_or_else(|| at(0));
            for row in lost {
                row.checked_sub(1).iter().for_each(|last| add(&mut grown[target], &from, &at(*last)));
                from = at(*row);
            }
            let last = at(stretch.times_s.len() - 1);
            add(&mut grown[target], &from, &last);
            standing.counted.insert(target, last);
        })
    }

    /// All of them, once everything is read.
    pub fn compositions(&self) -> Vec<Composition> {
        let of = |grown: &Counted| -> Composition {
            Direction::ALL
                .map(|way| std::array::from_fn(|size| grown[way as usize * SIZES + size].max(0) as u64))
        };
        self.grown.iter().map(of).collect()
    }
}

fn add(grown: &mut Counted, from: &Counted, to: &Counted) {
    for (sum, (from, to)) in grown.iter_mut().zip(from.iter().zip(to)) {
        if *from != ABSENT && *to != ABSENT {
            *sum = sum.saturating_add(to.saturating_sub(*from));
        }
    }
}

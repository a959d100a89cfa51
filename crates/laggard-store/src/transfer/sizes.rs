//! How many transactions of each size there were, over all intervals that are known.
//!
//! Counters tell that by their ends: as long as no interval is lost, what lies in between need not be read. So segments are passed
//! over until one has a gap, or other targets than the one before it, and then the last that was passed over is read too.

use super::{Composition, SIZES, count_fields};
use crate::time;
use laggard_activity::ABSENT;
use laggard_activity::Counters;
use laggard_activity::kind::TRANSFER;
use laggard_core::fsu::Direction;
use std::collections::{BTreeMap, VecDeque};
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
    /// What targets had counted that were not in it: they may come back before anything is lost.
    away: BTreeMap<usize, Counted>,
    /// Segments that were passed over since, of the same targets and without gaps: the last is read when it matters, one before it only if
    /// the last is damaged.
    passed: VecDeque<(Arc<dyn Counters>, usize)>,
}

/// So many are kept, and with them at most two files open.
const KEPT: usize = 24;

/// Tells the index of a target by its name on a host.
type Place<'a> = &'a dyn Fn(&str) -> Option<usize>;

/// Sizes of the transactions of all targets.
pub struct Sizes {
    grown: Vec<Counted>,
    hosts: BTreeMap<String, Standing>,
    /// Targets of which some intervals are missing here that are known otherwise.
    pub incomplete: Vec<bool>,
    /// What could not be read, in words.
    pub damaged: Vec<String>,
}

impl Sizes {
    /// None yet.
    pub fn new(targets: usize) -> Sizes {
        Sizes {
            grown: vec![[0; 2 * SIZES]; targets],
            hosts: BTreeMap::new(),
            incomplete: vec![false; targets],
            damaged: Vec::new(),
        }
    }

    /// Takes the next segment of a host.
    pub fn segment(
        &mut self,
        host: &str,
        (counters, segment): (&Arc<dyn Counters>, usize),
        gaps: &Gaps,
        place: Place<'_>,
    ) {
        let standing = self.hosts.entry(host.to_string()).or_default();
        let is_same = gaps.keys().eq(standing.counted.keys());
        if is_same && gaps.values().all(Vec::is_empty) {
            standing.passed.push_back((counters.clone(), segment));
            if standing.passed.len() > KEPT {
                standing.passed.pop_front();
            }
            return;
        }
        // If all go on into this segment, where they stood before it does not matter.
        let goes_on = is_same && gaps.values().all(|lost| lost.first() != Some(&0));
        if goes_on && self.read(host, (&**counters, segment), gaps, place) {
            return;
        }
        self.catch_up(host, place);
        if goes_on || !self.read(host, (&**counters, segment), gaps, place) {
            // Nothing is known across it.
            self.hosts.remove(host);
        }
    }

    /// Reads what was passed over last of a host.
    pub fn catch_up(&mut self, host: &str, place: Place<'_>) {
        let Some(standing) = self.hosts.get_mut(host) else { return };
        let mut passed = std::mem::take(&mut standing.passed);
        let gaps: Gaps = standing.counted.keys().map(|target| (*target, Vec::new())).collect();
        while let Some((counters, segment)) = passed.pop_back() {
            if self.read(host, (&*counters, segment), &gaps, place) {
                return;
            }
        }
    }

    /// Whether it could be read.
    fn read(
        &mut self,
        host: &str,
        (counters, segment): (&dyn Counters, usize),
        gaps: &Gaps,
        place: Place<'_>,
    ) -> bool {
        let standing = self.hosts.entry(host.to_string()).or_default();
        let fields: Vec<usize> = count_fields().collect();
        let mut counted = BTreeMap::new();
        let grown = &mut self.grown;
        let read = counters.scan(segment, &TRANSFER, &fields, &mut |stretch| {
            let Some(target) = place(stretch.name) else { return };
            let Some(lost) = gaps.get(&target) else { return };
            let at = |row: usize| -> Counted { std::array::from_fn(|size| stretch.fields[size][row]) };
            // From where on nothing is lost.
            let before = standing.counted.get(&target).or_else(|| standing.away.get(&target));
            let mut from = before.copied().unwrap_or_else(|| at(0));
            for row in lost {
                row.checked_sub(1).iter().for_each(|last| add(&mut grown[target], &from, &at(*last)));
                from = at(*row);
            }
            let last = at(stretch.times_s.len() - 1);
            add(&mut grown[target], &from, &last);
            counted.insert(target, last);
        });
        match &read {
            Ok(()) => {
                standing.away.append(&mut standing.counted);
                standing.away.retain(|target, _| !counted.contains_key(target));
                standing.counted = counted;
                standing.passed.clear();
            }
            Err(damage) => {
                gaps.keys().for_each(|target| self.incomplete[*target] = true);
                let (from_s, to_s) = counters.span_s(segment);
                let (from, to) = (time::format(from_s), time::format(to_s));
                self.damaged
                    .push(format!("{host}: {damage}: sizes of transactions are missing from {from} to {to}"));
            }
        }
        read.is_ok()
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

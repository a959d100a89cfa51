//! One segment of a file: what counters grew becomes the load of each interval.

use super::Account;
use super::sizes::Gaps;
use super::slots::{Slots, TargetLoad};
use super::source::{Meaning, Source};
use laggard_activity::Counters;
use laggard_activity::kind::KindId;
use laggard_activity::{ABSENT, Damage, Growth, Piece, Rows, growth};
use laggard_core::fsu::Load;
use std::ops::Range;

/// The last sample of a target on one host, by one source: its fields in the order of the source's.
#[derive(Clone)]
struct Latest {
    host: String,
    kind: &'static str,
    time_ms: i64,
    values: Vec<i64>,
}

/// Why the growth of a row is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Nobody has asked for that time.
    Unwanted,
    /// The first of all: there is nothing before it.
    First,
    /// Samples before it are missing.
    Hole,
    /// The sample has no value of something that is needed.
    Uncounted,
    /// A counter fell.
    Reset,
}

/// A target's rows.
struct Thing {
    target: usize,
    rows: Range<usize>,
    last: Latest,
}

/// Reads segments, one after the other, and remembers where each target stands.
pub struct Pass {
    /// Per target: transactions of at least this size are of the best kind.
    best: Vec<usize>,
    /// Only these seconds count.
    bounds_s: (i64, i64),
    latest: Vec<Vec<Latest>>,
    things: Vec<Thing>,
    rows: Intervals,
    /// What is being read.
    kind: KindId,
    /// Whether the source tells sizes, and bytes for clients.
    counts_sizes: bool,
}

/// Intervals, one after the other, a list for each thing that is known of them: each field of the file goes through one or two of them only.
/// What is not known (`lost`) has whatever came; it is not handed over.
#[derive(Default)]
struct Intervals {
    times_s: Vec<i64>,
    seconds: Vec<f64>,
    lost: Vec<Option<Lost>>,
    /// Transactions and their bytes, read and written.
    transactions: [Vec<f64>; 2],
    bytes: [Vec<f64>; 2],
    /// Transactions of the best sizes.
    optimal: Vec<f64>,
    /// Bytes read and written for clients; NaN where they are not counted.
    moved: [Vec<f64>; 2],
}

impl Intervals {
    /// So many. What one field tells alone is left as it is until that field comes.
    fn reset(&mut self, count: usize, has_moved: bool) {
        self.times_s.resize(count, 0);
        self.seconds.resize(count, 0.0);
        self.lost.resize(count, None);
        self.optimal.clear();
        self.optimal.resize(count, 0.0);
        for way in 0..2 {
            self.transactions[way].resize(count, 0.0);
            self.bytes[way].resize(count, 0.0);
            self.moved[way].resize(count, 0.0);
            if !has_moved {
                self.moved[way].fill(f64::NAN);
            }
        }
    }

    /// The list that a field tells alone, and in which unit.
    fn told_by(&mut self, meaning: Meaning) -> Option<(&mut Vec<f64>, f64)> {
        match meaning {
            Meaning::Moved(way) => Some((&mut self.moved[way], 1.0)),
            Meaning::Transactions(way) => Some((&mut self.transactions[way], 1.0)),
            Meaning::Sectors(way) => Some((&mut self.bytes[way], 512.0)),
            Meaning::OfSize(_) => None,
        }
    }

    #[inline]
    fn add_to(&self, slot: &mut TargetLoad, at: usize, counts_sizes: bool) {
        let load = Load {
            reads: self.transactions[0][at],
            read_bytes: self.bytes[0][at],
            writes: self.transactions[1][at],
            write_bytes: self.bytes[1][at],
        };
        slot.seconds += self.seconds[at];
        slot.load.add(&load);
        if counts_sizes {
            slot.sized += load.transactions();
            slot.optimal += self.optimal[at];
        }
        for (way, with_disk) in [load.read_bytes, load.write_bytes].into_iter().enumerate() {
            let moved = self.moved[way][at];
            slot.moved[way] += if moved.is_nan() { with_disk } else { moved };
        }
    }
}

impl Pass {
    /// Nothing read yet.
    pub fn new(best: &[usize], bounds_s: (i64, i64)) -> Pass {
        Pass {
            best: best.to_vec(),
            bounds_s,
            latest: vec![Vec::new(); best.len()],
            things: Vec::new(),
            rows: Intervals::default(),
            kind: KindId::Transfer,
            counts_sizes: false,
        }
    }

    /// Reads what a source has of a host in a segment. `place` tells the index of a target.
    pub fn read(
        &mut self,
        counters: &dyn Counters,
        segment: usize,
        (host, source): (&str, &Source),
        patience_ms: i64,
        place: &dyn Fn(&str) -> Option<usize>,
    ) -> Result<(), Damage> {
        let fields: Vec<usize> = source.fields.iter().map(|(field, _)| *field).collect();
        self.things.clear();
        let mut taking = Taking { pass: self, host, source, patience_ms, place };
        counters.growth(segment, source.kind, &fields, &mut taking)
    }

    /// Gives what was read to its slots. Returns the targets it was of, with what is lost of each.
    pub fn hand_over(&mut self, slots: &mut Slots, account: &mut Account) -> Gaps {
        let rows = &self.rows;
        let mut gaps = Gaps::new();
        for thing in &self.things {
            let (mut intervals, mut seconds) = (0, 0.0);
            let lost: &mut Vec<usize> = gaps.entry(thing.target).or_default();
            slots.each_load(thing.target, &rows.times_s[thing.rows.clone()], |index, slot| {
                let at = thing.rows.start + index;
                if rows.lost[at].is_some() || slot.is_none() {
                    lost.push(index);
                }
                match (rows.lost[at], slot) {
                    (Some(Lost::First | Lost::Unwanted), _) => {}
                    // What comes when its slot is complete already comes too late.
                    (Some(Lost::Hole), _) | (None, None) => account.holes += 1,
                    (Some(Lost::Uncounted), _) => account.uncounted += 1,
                    (Some(Lost::Reset), _) => account.resets += 1,
                    (None, Some(slot)) => {
                        intervals += 1;
                        seconds += rows.seconds[at];
                        rows.add_to(slot, at, self.counts_sizes);
                    }
                }
            });
            account.intervals += intervals;
            account.seconds[thing.target] += seconds;
            let known = &mut self.latest[thing.target];
            known.retain(|latest| (&latest.host, latest.kind) != (&thing.last.host, thing.last.kind));
            known.push(thing.last.clone());
        }
        gaps
    }

    fn begin(
        &mut self,
        rows: &Rows<'_>,
        (host, source): (&str, &Source),
        patience_ms: i64,
        place: &dyn Fn(&str) -> Option<usize>,
    ) {
        self.kind = source.kind.id;
        self.counts_sizes = self.kind == KindId::Transfer;
        self.rows.reset(rows.times_s.len(), self.counts_sizes);
        for (name, range) in &rows.things {
            let Some(target) = place(name) else { continue };
            let is_this = |latest: &&Latest| latest.host == host && latest.kind == source.kind.name;
            let before = self.latest[target].iter().find(is_this);
            let is_new = self.latest[target].is_empty();
            let mut last_ms = before.map(|latest| latest.time_ms);
            for at in range.clone() {
                let time_s = rows.times_s[at];
                let time_ms = time_s.saturating_mul(1000).saturating_add(rows.late_ms[at]);
                let passed_ms = last_ms.map(|last_ms| time_ms.saturating_sub(last_ms));
                let lost = match passed_ms {
                    _ if !(self.bounds_s.0..=self.bounds_s.1).contains(&time_s) => Some(Lost::Unwanted),
                    None if is_new => Some(Lost::First),
                    // On another host, or by another source, counters are others.
                    None => Some(Lost::Hole),
                    Some(passed_ms) if !(1..=patience_ms).contains(&passed_ms) => Some(Lost::Hole),
                    Some(_) => None,
                };
                self.rows.times_s[at] = time_s;
                self.rows.seconds[at] = passed_ms.unwrap_or(0) as f64 / 1000.0;
                self.rows.lost[at] = lost;
                last_ms = Some(time_ms);
            }
            let values =
                before.map_or_else(|| vec![ABSENT; source.fields.len()], |latest| latest.values.clone());
            let (host, kind) = (host.to_string(), source.kind.name);
            let last = Latest { host, kind, time_ms: last_ms.unwrap_or(0), values };
            self.things.push(Thing { target, rows: range.clone(), last });
        }
    }

    /// A stretch of one field of one thing. `place` is the field's, among the source's.
    fn part(&mut self, index: usize, place: usize, meaning: Meaning, mut at: usize, mut part: Piece<'_>) {
        if at == self.things[index].rows.start {
            // The value itself.
            let (first, others) = part.split(1);
            let value = first.first();
            let before = std::mem::replace(&mut self.things[index].last.values[place], value);
            match (value, before) {
                (ABSENT, _) => self.lose(at, meaning, Lost::Uncounted),
                (_, ABSENT) => self.lose(at, meaning, Lost::Hole),
                _ => self.grow(index, at, meaning, (before, value)),
            }
            (at, part) = (at + 1, others);
        }
        let rows = at..at + part.rows();
        let mut value = self.things[index].last.values[place];
        match part {
            Piece::Absent(0) => {}
            Piece::Absent(_) => {
                value = ABSENT;
                rows.for_each(|at| self.lose(at, meaning, Lost::Uncounted));
            }
            // Most counters stand still most of the time.
            Piece::Same(0, _) if value != ABSENT => self.stand(rows, meaning),
            Piece::Same(each, count) => value = self.steps(index, rows, meaning, value, &vec![each; count]),
            Piece::Values(steps) => value = self.steps(index, rows, meaning, value, steps),
        }
        self.things[index].last.values[place] = value;
    }

    /// Takes steps from a value on; what follows an absent one is the value itself. Returns the last value.
    fn steps(
        &mut self,
        index: usize,
        mut rows: Range<usize>,
        meaning: Meaning,
        mut value: i64,
        mut steps: &[i64],
    ) -> i64 {
        if value == ABSENT {
            let Some((first, others)) = steps.split_first() else { return value };
            self.lose(rows.start, meaning, Lost::Hole);
            (value, steps, rows.start) = (*first, others, rows.start + 1);
        }
        if steps.iter().all(|step| *step >= 0) {
            value = steps.iter().fold(value, |value, step| value.wrapping_add(*step));
            self.add(index, rows, meaning, steps);
            return value;
        }
        for (at, step) in rows.zip(steps) {
            let now = value.wrapping_add(*step);
            self.grow(index, at, meaning, (value, now));
            value = now;
        }
        value
    }

    /// A step of one interval, from a value to the next; a restart loses it.
    fn grow(&mut self, index: usize, at: usize, meaning: Meaning, (last, now): (i64, i64)) {
        match growth::grown(self.kind, last, now) {
            Some(step) => self.add(index, at..at + 1, meaning, &[step]),
            None => {
                self.rows.lost[at].get_or_insert(Lost::Reset);
            }
        }
    }

    /// Steps of intervals, none down.
    fn add(&mut self, index: usize, rows: Range<usize>, meaning: Meaning, steps: &[i64]) {
        if let Some((list, times)) = self.rows.told_by(meaning) {
            list[rows].iter_mut().zip(steps).for_each(|(value, step)| *value = *step as f64 * times);
        } else if matches!(meaning, Meaning::OfSize(size) if size >= self.best[self.things[index].target]) {
            self.rows.optimal[rows].iter_mut().zip(steps).for_each(|(sum, step)| *sum += *step as f64);
        }
    }

    /// Intervals in which a counter stood still.
    fn stand(&mut self, rows: Range<usize>, meaning: Meaning) {
        if let Some((list, _)) = self.rows.told_by(meaning) {
            list[rows].fill(0.0);
        }
    }

    fn lose(&mut self, at: usize, meaning: Meaning, why: Lost) {
        match meaning {
            Meaning::Moved(way) => self.rows.moved[way][at] = f64::NAN,
            _ => {
                self.rows.lost[at].get_or_insert(why);
            }
        }
    }
}

/// A pass that takes a segment.
struct Taking<'a> {
    pass: &'a mut Pass,
    host: &'a str,
    source: &'a Source,
    patience_ms: i64,
    place: &'a dyn Fn(&str) -> Option<usize>,
}

impl Growth for Taking<'_> {
    fn begin(&mut self, rows: &Rows<'_>) {
        self.pass.begin(rows, (self.host, self.source), self.patience_ms, self.place);
    }

    fn piece(&mut self, field: usize, row: usize, piece: Piece<'_>) {
        let known = self.source.fields.iter().position(|(known, _)| *known == field);
        let Some((place, (_, meaning))) = known.map(|place| (place, self.source.fields[place])) else {
            return;
        };
        let end = row + piece.rows();
        let first = self.pass.things.partition_point(|thing| thing.rows.end <= row);
        for index in first..self.pass.things.len() {
            let rows = self.pass.things[index].rows.clone();
            if rows.start >= end {
                break;
            }
            let (from, to) = (rows.start.max(row), rows.end.min(end));
            let (_, rest) = piece.split(from - row);
            let (part, _) = rest.split(to - from);
            self.pass.part(index, place, meaning, from, part);
        }
    }
}

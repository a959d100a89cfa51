//! Loads by slot and target, kept until no earlier ones can come any more.

use laggard_core::fsu::Load;
use std::collections::BTreeMap;
use std::ops::Range;

/// Slots that are kept together.
const CHUNK: i64 = 256;

/// What one target did in one slot.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TargetLoad {
    /// Of how many seconds the growth is known; a slot of which less than half is known is missing.
    pub seconds: f64,
    /// Transactions with the disk, and their bytes.
    pub load: Load,
    /// Bytes read and written: for clients, where a target counts them, else with the disk.
    pub moved: [f64; 2],
    /// Transactions whose size is known.
    pub sized: f64,
    /// Of these, those of the best size, or larger.
    pub optimal: f64,
}

impl TargetLoad {
    /// Adds another.
    #[inline]
    pub fn add(&mut self, other: &TargetLoad) {
        self.seconds += other.seconds;
        self.load.add(&other.load);
        self.moved = [0, 1].map(|way| self.moved[way] + other.moved[way]);
        self.sized += other.sized;
        self.optimal += other.optimal;
    }
}

/// Slots one after the other, of all targets.
#[derive(Debug)]
pub struct Block<'a> {
    /// The first second of the first.
    pub from_s: i64,
    /// Seconds of a slot.
    pub grid_s: i64,
    /// How many there are.
    pub slots: usize,
    /// Where the first is, among those of a target.
    first: usize,
    chunk: &'a Chunk,
}

impl Block<'_> {
    /// The first second of a slot.
    pub fn time_s(&self, slot: usize) -> i64 {
        self.from_s.saturating_add(slot as i64 * self.grid_s)
    }

    /// What a target did, with the slot; those of which too little is known are left out.
    pub fn of(&self, target: usize) -> impl Iterator<Item = (usize, &TargetLoad)> {
        self.within(target, 0..self.slots)
    }

    /// The same, of some slots.
    #[inline]
    pub fn within(&self, target: usize, slots: Range<usize>) -> impl Iterator<Item = (usize, &TargetLoad)> {
        let least_s = self.grid_s as f64 / 2.0;
        let reached = self.chunk.of(target);
        let end = reached.len().min(self.first + slots.end);
        let loads = &reached[end.min(self.first + slots.start)..end];
        loads
            .iter()
            .zip(slots)
            .filter(move |(load, _)| load.seconds >= least_s)
            .map(|(load, slot)| (slot, load))
    }
}

/// The loads of all targets in [`CHUNK`] slots.
#[derive(Debug, Default)]
struct Chunk {
    /// Of the first target, slot by slot, then of the next; so they come, and neighbours stay in the processor's caches.
    loads: Vec<TargetLoad>,
    /// Of each target, how many of its slots have been reached: what comes later is left from another chunk.
    reached: Vec<usize>,
}

impl Chunk {
    fn begin(&mut self, targets: usize) {
        self.loads.resize(targets * CHUNK as usize, TargetLoad::default());
        self.reached.clear();
        self.reached.resize(targets, 0);
    }

    fn of(&self, target: usize) -> &[TargetLoad] {
        &self.loads[target * CHUNK as usize..][..self.reached[target]]
    }
}

/// Slots under construction.
pub struct Slots {
    targets: usize,
    grid_s: i64,
    chunks: BTreeMap<i64, Chunk>,
    /// Those that are no longer needed, to be used again: memory that the processor knows is faster.
    spare: Vec<Chunk>,
    /// Slots before this one are complete.
    complete: i64,
}

impl Slots {
    /// None yet.
    pub fn new(targets: usize, grid_s: i64) -> Slots {
        Slots {
            targets,
            grid_s: grid_s.max(1),
            chunks: BTreeMap::new(),
            spare: Vec::new(),
            complete: i64::MIN,
        }
    }

    /// Goes through the loads of a target at some moments: with each the index of the moment, and nothing if its slot is complete.
    pub fn each_load(
        &mut self,
        target: usize,
        times_s: &[i64],
        mut each: impl FnMut(usize, Option<&mut TargetLoad>),
    ) {
        let grid_s = self.grid_s;
        let span_s = grid_s.saturating_mul(CHUNK);
        let mut done = 0;
        while let Some(first_s) = times_s.get(done) {
            let number = first_s.div_euclid(span_s);
            let start_s = number.saturating_mul(span_s);
            let chunk = self.chunks.entry(number).or_insert_with(|| {
                let mut chunk = self.spare.pop().unwrap_or_default();
                chunk.begin(self.targets);
                chunk
            });
            let loads = &mut chunk.loads[target * CHUNK as usize..][..CHUNK as usize];
            let reached = &mut chunk.reached[target];
            let complete = self.complete.saturating_sub(number * CHUNK);
            // Moments are in order: those of one chunk come together, and each is mostly in the slot after the one before it.
            let is_here = |time_s: &&i64| (start_s..=start_s.saturating_add(span_s - 1)).contains(*time_s);
            let (mut slot, mut from_s) = (0, start_s);
            for time_s in times_s[done..].iter().take_while(is_here) {
                match time_s - from_s {
                    into if (0..grid_s).contains(&into) => {}
                    into if (grid_s..2 * grid_s).contains(&into) => {
                        (slot, from_s) = (slot + 1, from_s + grid_s);
                    }
                    _ => {
                        slot = (time_s - start_s) / grid_s;
                        from_s = start_s + slot * grid_s;
                    }
                }
                let place = slot as usize;
                while *reached <= place {
                    loads[*reached] = TargetLoad::default();
                    *reached += 1;
                }
                each(done, (slot >= complete).then(|| &mut loads[place]));
                done += 1;
            }
        }
    }

    /// Hands over all slots before a moment.
    pub fn complete_before(&mut self, time_s: i64, each: &mut dyn FnMut(&Block<'_>)) {
        let to = time_s.div_euclid(self.grid_s);
        while let Some((number, chunk)) = self.chunks.first_key_value() {
            let start = number * CHUNK;
            let (from, end) = (start.max(self.complete), (start + CHUNK).min(to));
            if from < end {
                let (from_s, slots, first) =
                    (from.saturating_mul(self.grid_s), (end - from) as usize, (from - start) as usize);
                each(&Block { from_s, grid_s: self.grid_s, slots, first, chunk });
            }
            if to < start + CHUNK {
                break;
            }
            self.spare.extend(self.chunks.pop_first().map(|(_, chunk)| chunk));
        }
        self.complete = self.complete.max(to);
    }
}

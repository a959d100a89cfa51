//! How long a request takes: one arm, one platter, a queue.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// What a healthy disk can do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shape {
    /// Size, in MiB.
    pub size_mib: u64,
    /// Megabytes per second, once the arm is there.
    pub speed_mb_s: f64,
    /// Milliseconds to an arbitrary place; a neighbouring one is nearer.
    pub seek_ms: f64,
    /// Milliseconds that every request costs.
    pub overhead_ms: f64,
    /// Requests among which the disk chooses the nearest; 1 is first come, first served.
    pub queue: usize,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { size_mib: 2048, speed_mb_s: 8.0, seek_ms: 2.0, overhead_ms: 0.1, queue: 1 }
    }
}

/// What is wrong with it now.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Condition {
    /// A neighbour reads blocks of this size, one after the other, through a door that the server does not see. It gets half of the
    /// time of a disk that is asked without pause.
    pub hidden_kib: u64,
    /// The neighbour is always served first: as long as it reads, nothing else is answered.
    pub starve: bool,
    /// Milliseconds more for every request.
    pub slow_ms: f64,
    /// Nothing is answered.
    pub hang: bool,
    /// Everything is answered with an I/O error.
    pub fail: bool,
}

/// Where on the disk, and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub offset: u64,
    /// Bytes; none is a flush.
    pub length: u64,
}

/// A request that was passed over this many times its queue's length is next, however far it is: no order of service starves it.
const MOST_PASSES: u64 = 2;

/// A request in the disk's queue.
#[derive(Debug)]
pub struct Waiting<T> {
    /// The request.
    pub request: T,
    /// How many requests were served when it came.
    since: u64,
}

/// What the disk does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Serves the waiting request at this place of the queue.
    Request(usize),
    /// Serves a block of the hidden reader.
    Hidden,
    /// Waits.
    Nothing,
}

/// The arm.
#[derive(Debug, Clone)]
pub struct Arm {
    shape: Shape,
    /// Where the last transfer ended.
    position: u64,
    /// Where the hidden reader goes on.
    hidden: u64,
    /// Requests served so far.
    served: u64,
    /// Time that the hidden reader had beyond its half, while requests were waiting.
    advance: f64,
}

impl Arm {
    /// At rest.
    pub fn new(shape: Shape) -> Arm {
        Arm { shape, position: 0, hidden: shape.size_mib << 19, served: 0, advance: 0.0 }
    }

    /// A request comes into the queue.
    pub fn queued<T>(&self, request: T) -> Waiting<T> {
        Waiting { request, since: self.served }
    }

    /// Serves a request.
    pub fn serve(&mut self, extent: Extent, condition: &Condition) -> Duration {
        let taken = self.transfer(extent, condition);
        self.served += 1;
        self.advance -= taken.as_secs_f64();
        taken
    }

    /// Moves and transfers.
    fn transfer(&mut self, extent: Extent, condition: &Condition) -> Duration {
        if extent.length == 0 {
            return millis(self.shape.overhead_ms + condition.slow_ms);
        }
        let distance = extent.offset.abs_diff(self.position) as f64 / (self.shape.size_mib << 20) as f64;
        // Settling costs a fifth of the full way; the rest grows with the root of the distance, as in real drives.
        let seek = if distance == 0.0 { 0.0 } else { self.shape.seek_ms * (0.2 + 0.8 * distance.sqrt()) };
        self.position = extent.offset + extent.length;
        let transfer = extent.length as f64 / (self.shape.speed_mb_s * 1e3);
        millis(self.shape.overhead_ms + condition.slow_ms + seek + transfer)
    }

    /// The next block of the hidden reader, in the second half of the disk.
    pub fn serve_hidden(&mut self, condition: &Condition) -> Duration {
        let length = condition.hidden_kib << 10;
        let end = self.shape.size_mib << 20;
        if self.hidden + length > end {
            self.hidden = end / 2;
        }
        let extent = Extent { offset: self.hidden, length };
        self.hidden += length;
        let taken = self.transfer(extent, condition);
        self.advance += taken.as_secs_f64();
        taken
    }

    /// What is next: the hidden reader and the requests share the time, and of the requests the nearest among the first of the queue
    /// is served, unless one has waited too long.
    pub fn next<T>(
        &mut self,
        waiting: &VecDeque<Waiting<T>>,
        condition: &Condition,
        extent: impl Fn(&T) -> Option<Extent>,
    ) -> Next {
        if condition.hang {
            return Next::Nothing;
        }
        let has_neighbour = condition.hidden_kib > 0;
        if waiting.is_empty() || !has_neighbour {
            // Time that the other did not want is nobody's debt.
            self.advance = 0.0;
        }
        match (has_neighbour, waiting.is_empty()) {
            (true, true) => Next::Hidden,
            (false, true) => Next::Nothing,
            (true, false) if condition.starve || self.advance <= 0.0 => Next::Hidden,
            (_, false) => Next::Request(self.nearest(waiting, extent)),
        }
    }

    /// A request without a place on the disk, a flush, is as near as can be.
    fn nearest<T>(&self, waiting: &VecDeque<Waiting<T>>, extent: impl Fn(&T) -> Option<Extent>) -> usize {
        let queue = self.shape.queue.max(1);
        let is_old =
            |waiting: &Waiting<T>| self.served - waiting.since > MOST_PASSES * queue as u64 + queue as u64;
        let distance = |waiting: &Waiting<T>| {
            extent(&waiting.request).map_or(0, |extent| extent.offset.abs_diff(self.position))
        };
        let seen = waiting.iter().take(queue).enumerate();
        // The first of the queue is the oldest: where any has waited too long, it has.
        let oldest = waiting.front().filter(|first| queue > 1 && is_old(first)).map(|_| 0);
        oldest
            .or_else(|| seen.min_by_key(|(_, waiting)| distance(waiting)).map(|(index, _)| index))
            .unwrap_or(0)
    }
}

fn millis(milliseconds: f64) -> Duration {
    Duration::from_secs_f64(milliseconds.max(0.0) / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape =
        Shape { size_mib: 1024, speed_mb_s: 20.0, seek_ms: 10.0, overhead_ms: 0.5, queue: 4 };

    #[test]
    fn going_on_costs_no_seek_and_a_far_place_costs_the_whole_one() {
        let mut arm = Arm::new(SHAPE);
        let healthy = Condition::default();
        assert_eq!(arm.serve(Extent { offset: 0, length: 20_000 }, &healthy), millis(1.5));
        assert_eq!(arm.serve(Extent { offset: 20_000, length: 20_000 }, &healthy), millis(1.5));
        let far = arm.serve(Extent { offset: 1 << 30, length: 20_000 }, &healthy);
        assert!((far.as_secs_f64() - 0.0115).abs() < 1e-5, "{far:?}");
    }

    #[test]
    fn a_hidden_reader_moves_the_arm_away() {
        let mut arm = Arm::new(SHAPE);
        let busy = Condition { hidden_kib: 1024, ..Condition::default() };
        arm.serve(Extent { offset: 0, length: 4096 }, &busy);
        assert!(arm.serve_hidden(&busy) > millis(52.0), "a megabyte at 20 MB/s, and the way to it");
        assert!(arm.serve(Extent { offset: 4096, length: 4096 }, &busy) > millis(7.0), "and the way back");
    }

    fn at(offset: &u64) -> Option<Extent> {
        Some(Extent { offset: *offset, length: 64 << 10 })
    }

    #[test]
    fn the_nearest_of_the_queue_is_next_and_those_behind_it_wait() {
        let mut arm = Arm::new(SHAPE);
        let waiting = [900, 500, 100, 700, 0].map(|kib| arm.queued(kib << 10)).into();
        let healthy = Condition::default();
        assert_eq!(arm.next(&waiting, &healthy, at), Next::Request(2), "the fifth is not in the queue yet");
        assert_eq!(arm.next(&waiting, &Condition { hang: true, ..healthy }, at), Next::Nothing);
        assert_eq!(arm.next(&VecDeque::<Waiting<u64>>::new(), &healthy, at), Next::Nothing);
    }

    #[test]
    fn a_far_request_is_not_passed_over_for_ever() {
        let mut arm = Arm::new(SHAPE);
        let healthy = Condition::default();
        let mut waiting: VecDeque<Waiting<u64>> = [arm.queued(900 << 20), arm.queued(0)].into();
        let passes = (0..100).take_while(|_| {
            let Next::Request(index) = arm.next(&waiting, &healthy, at) else { return false };
            let served = waiting.remove(index).unwrap().request;
            arm.serve(at(&served).unwrap(), &healthy);
            waiting.push_back(arm.queued(served + (64 << 10)));
            index > 0
        });
        assert_eq!(passes.count(), 13, "three times the queue, and the one that finds it old");
    }

    /// Share of the time that requests get of a disk that is never without one, beside a hidden reader.
    fn share(condition: Condition, queue: usize) -> f64 {
        let mut arm = Arm::new(Shape { queue, ..SHAPE });
        let mut waiting: VecDeque<Waiting<u64>> = (0..queue as u64).map(|at| arm.queued(at << 16)).collect();
        let (mut own, mut all) = (0.0, 0.0);
        while all < 100.0 {
            let taken = match arm.next(&waiting, &condition, at) {
                Next::Request(index) => {
                    let offset = waiting.remove(index).unwrap().request;
                    waiting.push_back(arm.queued(offset + (64 << 10)));
                    let taken = arm.serve(at(&offset).unwrap(), &condition);
                    own += taken.as_secs_f64();
                    taken
                }
                Next::Hidden => arm.serve_hidden(&condition),
                Next::Nothing => break,
            };
            all += taken.as_secs_f64();
        }
        own / all
    }

    #[test]
    fn a_neighbour_takes_half_of_the_disk_or_all_of_it_whatever_the_queue() {
        let busy = Condition { hidden_kib: 512, ..Condition::default() };
        for queue in [1, 2, 4, 16] {
            let own = share(busy, queue);
            assert!((0.48..0.52).contains(&own), "queue {queue}: {own}");
            assert_eq!(share(Condition { starve: true, ..busy }, queue), 0.0);
            assert_eq!(share(Condition::default(), queue), 1.0);
        }
    }
}

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
    /// Somebody else reads blocks of this size, one after the other, through a door that the server does not see.
    pub hidden_kib: u64,
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

/// The arm.
#[derive(Debug, Clone)]
pub struct Arm {
    shape: Shape,
    /// Where the last transfer ended.
    position: u64,
    /// Where the hidden reader goes on.
    hidden: u64,
}

impl Arm {
    /// At rest.
    pub fn new(shape: Shape) -> Arm {
        Arm { shape, position: 0, hidden: shape.size_mib << 19 }
    }

    /// Moves and transfers.
    pub fn serve(&mut self, extent: Extent, condition: &Condition) -> Duration {
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
        self.serve(extent, condition)
    }

    /// Which of the waiting requests is next: the nearest among the first of the queue. A request without a place on the disk waits
    /// for its turn as the hidden reader does, who is in the middle of it.
    pub fn nearest<T>(&self, waiting: &VecDeque<T>, extent: impl Fn(&T) -> Option<Extent>) -> usize {
        let offset = |request: &T| extent(request).map_or(self.hidden, |extent| extent.offset);
        let distance = |request: &T| offset(request).abs_diff(self.position);
        let seen = waiting.iter().take(self.shape.queue.max(1)).enumerate();
        seen.min_by_key(|(_, request)| distance(request)).map_or(0, |(index, _)| index)
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

    #[test]
    fn the_nearest_of_the_queue_is_next_and_those_behind_it_wait() {
        let arm = Arm::new(SHAPE);
        let waiting: VecDeque<u64> = [900, 500, 100, 700, 0].map(|kib| kib << 10).into();
        let at = |offset: &u64| Some(Extent { offset: *offset, length: 1 });
        assert_eq!(arm.nearest(&waiting, at), 2, "the fifth is not in the queue yet");
    }
}

//! All arithmetic of slots and windows.

use crate::ids::{Slot, UnixSeconds, WindowIndex};

/// The parameters of a comparison. Each method has those of its paper; whatever runs a comparison is given them apart from it,
/// so that a study can vary them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Grid in seconds.
    pub interval_s: u32,
    /// Width of the trailing moving average, in slots.
    pub smoothing: usize,
    /// Samples in a window.
    pub size: usize,
    /// Samples from one window to the next.
    pub shift: usize,
    /// Anomalous now, if anomalous in at least `k` of the last `2k-1` windows.
    pub k: usize,
}

impl Params {
    /// Seconds of recording that a decision needs.
    pub fn least_s(self) -> u64 {
        (self.size + (self.k - 1) * self.shift) as u64 * u64::from(self.interval_s)
    }
}

/// A regular grid: slots of equal length, counted from an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Length of a slot.
    pub interval_s: u32,
    /// Start of slot 0, a multiple of the interval.
    pub origin: UnixSeconds,
}

impl Grid {
    /// Start of the slot that holds a moment.
    pub fn floor(interval_s: u32, time: UnixSeconds) -> UnixSeconds {
        let interval_s = i64::from(interval_s);
        UnixSeconds(time.0.div_euclid(interval_s).saturating_mul(interval_s))
    }

    /// The slot that holds a moment; moments before the origin are in slot 0.
    pub fn slot(self, time: UnixSeconds) -> Slot {
        Slot(time.since(self.origin).max(0) as u64 / u64::from(self.interval_s))
    }

    /// When a slot begins.
    pub fn start(self, slot: Slot) -> UnixSeconds {
        self.origin.plus((slot.0 as i64).saturating_mul(i64::from(self.interval_s)))
    }
}

/// Which slots each window of a method covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    size: u64,
    shift: u64,
    smoothing: u64,
}

impl Schedule {
    /// Of a method's parameters.
    pub fn new(params: Params) -> Schedule {
        Schedule { size: params.size as u64, shift: params.shift as u64, smoothing: params.smoothing as u64 }
    }

    /// Slots from one window to the next.
    pub fn shift(self) -> u64 {
        self.shift
    }

    /// First slot of a window.
    pub fn from(self, window: WindowIndex) -> Slot {
        Slot(window.0 * self.shift)
    }

    /// Slot after the last of a window.
    pub fn to(self, window: WindowIndex) -> Slot {
        Slot(window.0 * self.shift + self.size)
    }

    /// The window that a slot completes, if it does.
    pub fn completed_by(self, slot: Slot) -> Option<WindowIndex> {
        let beyond = (slot.0 + 1).checked_sub(self.size)?;
        beyond.is_multiple_of(self.shift).then_some(WindowIndex(beyond / self.shift))
    }

    /// The window that is being filled at a slot: the first that ends with it or later.
    pub fn filling_at(self, slot: Slot) -> WindowIndex {
        WindowIndex((slot.0 + 1).saturating_sub(self.size).div_ceil(self.shift))
    }

    /// Slots into a window at which a member may join and still take part: a quarter.
    pub fn grace(self) -> u64 {
        self.size / 4
    }

    /// Whether a member that joined at a slot takes part in a window.
    pub fn includes(self, window: WindowIndex, joined: Slot) -> bool {
        joined.0 <= self.from(window).0 + self.grace()
    }

    /// Whether the moving average is full at the end of a window; before that one sample stands for many.
    pub fn is_settled(self, window: WindowIndex) -> bool {
        self.to(window).0 >= self.smoothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PARAMS: Params = Params { interval_s: 15, smoothing: 15, size: 60, shift: 30, k: 3 };

    #[test]
    fn windows_overlap_by_size_less_shift() {
        let schedule = Schedule::new(PARAMS);
        assert_eq!((schedule.from(WindowIndex(2)), schedule.to(WindowIndex(2))), (Slot(60), Slot(120)));
        assert_eq!(schedule.completed_by(Slot(59)), Some(WindowIndex(0)));
        assert_eq!(schedule.completed_by(Slot(58)), None);
        assert_eq!(schedule.completed_by(Slot(89)), Some(WindowIndex(1)));
        assert_eq!(schedule.filling_at(Slot(59)), WindowIndex(0));
        assert_eq!(schedule.filling_at(Slot(60)), WindowIndex(1));
    }

    #[test]
    fn who_joins_in_the_first_quarter_takes_part() {
        let schedule = Schedule::new(PARAMS);
        assert!(schedule.includes(WindowIndex(1), Slot(45)));
        assert!(!schedule.includes(WindowIndex(1), Slot(46)));
    }

    #[test]
    fn a_window_is_settled_when_the_moving_average_is_full() {
        let schedule = Schedule::new(Params { smoothing: 31, size: 1, shift: 1, ..PARAMS });
        assert!(!schedule.is_settled(WindowIndex(29)));
        assert!(schedule.is_settled(WindowIndex(30)));
    }

    proptest! {
        #[test]
        fn slots_and_seconds_go_both_ways(origin in -10_000i64..10_000, slot in 0u64..100_000, interval_s in 1u32..900) {
            let grid = Grid { interval_s, origin: Grid::floor(interval_s, UnixSeconds(origin)) };
            prop_assert_eq!(grid.slot(grid.start(Slot(slot))), Slot(slot));
            prop_assert_eq!(grid.slot(grid.start(Slot(slot)).plus(i64::from(interval_s) - 1)), Slot(slot));
        }

        #[test]
        fn every_window_is_completed_by_its_last_slot(window in 0u64..1000, size in 1usize..100, shift in 1usize..50) {
            let schedule = Schedule::new(Params { size, shift, ..PARAMS });
            let last = Slot(schedule.to(WindowIndex(window)).0 - 1);
            prop_assert_eq!(schedule.completed_by(last), Some(WindowIndex(window)));
            prop_assert_eq!(schedule.filling_at(last), WindowIndex(window));
        }
    }
}

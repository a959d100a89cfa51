//! Time: the wall clock says which second a sample stands for, the monotonic one how long to sleep.
//!
//! Each sleep is computed anew from the wall clock, so that nothing drifts; and it is done on the monotonic one, so that a wall
//! clock set back by an hour does not make the collector sleep for an hour.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A sample within this of its second is in time.
pub const IN_TIME_MS: i64 = 50;

/// A clock that can be hurried.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    started: Instant,
    started_ms: i64,
    speed: u32,
}

impl Clock {
    /// The real clock; `speed` above 1 is for tests.
    pub fn new(speed: u32) -> Clock {
        Clock { started: Instant::now(), started_ms: wall_ms(), speed: speed.max(1) }
    }

    /// Milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        if self.speed == 1 {
            return wall_ms();
        }
        self.started_ms + (self.started.elapsed() * self.speed).as_millis() as i64
    }

    /// Real time that passes until so many milliseconds are over on this clock.
    pub fn real(&self, ms: i64) -> Duration {
        Duration::from_millis(ms.max(0) as u64) / self.speed
    }
}

fn wall_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as i64)
}

/// How long to sleep until the next multiple of the interval, or until the one after the last sample: woken a moment early, that
/// one must not be taken twice.
pub fn wait_ms(now_ms: i64, interval_s: u32, last_s: Option<i64>) -> i64 {
    let interval_ms = i64::from(interval_s) * 1000;
    let after_last = last_s.map(|last_s| last_s * 1000 + interval_ms - now_ms);
    // A clock that was set has left the last sample far behind, or far ahead.
    let usual = after_last.filter(|wait_ms| (1..=interval_ms + IN_TIME_MS).contains(wait_ms));
    usual.unwrap_or(interval_ms - now_ms.rem_euclid(interval_ms))
}

/// The second that a sample taken now stands for, and how late it is: 0 if in time.
pub fn stamp(now_ms: i64, interval_s: u32) -> (i64, u32) {
    let interval_ms = i64::from(interval_s) * 1000;
    // A timer may fire a moment early, by another clock's reckoning.
    let late_ms = (now_ms + IN_TIME_MS).rem_euclid(interval_ms) - IN_TIME_MS;
    let time_s = (now_ms - late_ms).div_euclid(1000);
    (time_s, if late_ms > IN_TIME_MS { late_ms as u32 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_fall_on_the_second_and_late_ones_are_marked() {
        assert_eq!(stamp(10_000, 1), (10, 0));
        assert_eq!(stamp(10_049, 1), (10, 0));
        assert_eq!(stamp(10_700, 1), (10, 700));
        assert_eq!(stamp(9_980, 1), (10, 0), "a moment early");
        assert_eq!(stamp(31_000, 15), (30, 1000));
        let wait = |now_ms, interval_s, last_s| wait_ms(now_ms, interval_s, Some(last_s));
        assert_eq!((wait(10_000, 1, 10), wait(10_700, 1, 10), wait(31_000, 15, 30)), (1000, 300, 14_000));
        assert_eq!(wait(9_980, 1, 10), 1020, "not the same second twice");
        assert_eq!(
            (wait(5_300, 1, 10), wait(25_300, 1, 10), wait_ms(5_300, 1, None)),
            (700, 700, 700),
            "set back or forward"
        );
    }

    #[test]
    fn a_hurried_clock_runs_faster() {
        // A busy machine may sleep longer than it was asked to: never more of the clock's time than its speed allows.
        let started = Instant::now();
        let clock = Clock::new(1000);
        let before = clock.now_ms();
        std::thread::sleep(clock.real(2000));
        let passed = clock.now_ms() - before;
        assert!(passed >= 2000 && passed <= (started.elapsed() * 1000).as_millis() as i64, "{passed}");
    }
}

//! What one member did in a piece of time, and how long it took: one slot of samples turned into work and time.

use crate::cost::{Load, SECTOR, Times};
use crate::diagnose::bound::{Bound, HALF};
use crate::model::Metric;

/// Without requests completed, a device that was busy for this share of a slot is stalled ...
pub const STALLED_BUSY: Bound = Bound::new("stalled_busy", HALF, "of a slot");
/// ... or one that had so many requests under way before it and after it.
pub const STALLED_IN_FLIGHT: Bound = Bound::new("stalled_in_flight", 1.0, "requests");

/// What one slot recorded of all members; a metric that was not recorded is absent.
#[derive(Clone, Copy, Default)]
pub struct Recorded<'a> {
    rows: [Option<&'a [f64]>; 7],
}

/// The metrics that are booked, in the order of [`Recorded`].
pub const BOOKED: [Metric; 7] =
    [Metric::Tps, Metric::RdSec, Metric::WrSec, Metric::Await, Metric::Svctm, Metric::Util, Metric::InFlight];

impl<'a> Recorded<'a> {
    /// From the row of each metric.
    pub fn new(row: impl Fn(Metric) -> Option<&'a [f64]>) -> Recorded<'a> {
        Recorded { rows: BOOKED.map(row) }
    }

    /// Whether nothing is recorded of what a device did, or of how long it took.
    pub fn is_empty(&self) -> bool {
        let [tps, rd_sec, wr_sec, await_ms, svctm_ms, util, _] = self.rows.map(|row| row.is_some());
        let has_bytes = rd_sec || wr_sec;
        // Latency and requests alone do not tell a slow device from one whose requests are larger.
        let has_time = util || tps && (svctm_ms || await_ms && has_bytes);
        !((tps || has_bytes) && has_time)
    }

    /// Of one member, in the order of [`BOOKED`]; NaN where nothing is recorded.
    pub(super) fn values(&self, member: usize) -> [f64; 7] {
        self.rows.map(|row| row.map_or(f64::NAN, |row| row[member]))
    }
}

/// What one member did in a piece of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Piece {
    /// The work.
    pub load: Load,
    /// Busy and waiting time.
    pub times: Times,
    /// Seconds in which requests were under way and none was completed.
    pub stalled_s: f64,
    /// Seconds that are booked.
    pub seconds: f64,
}

impl Piece {
    /// One slot of a member; nothing where its work or its time is not known.
    pub(super) fn of_slot(values: [f64; 7], in_flight_before: f64, seconds: f64) -> Option<Piece> {
        let [tps, rd_sec, wr_sec, await_ms, svctm_ms, util, in_flight] = values;
        let known = |value: f64| (!value.is_nan()).then_some(value.max(0.0));
        let requests = known(tps).map(|tps| tps * seconds);
        let (read_bytes, write_bytes) = (
            known(rd_sec).map(|rate| rate * SECTOR * seconds),
            known(wr_sec).map(|rate| rate * SECTOR * seconds),
        );
        if requests.is_none() && read_bytes.is_none() && write_bytes.is_none() {
            return None;
        }
        let per_request = |milliseconds: f64| Some(requests? * known(milliseconds)? / 1000.0);
        let waited_s = per_request(await_ms);
        let busy_s = known(util).map(|percent| percent.min(100.0) / 100.0 * seconds);
        let busy_s = busy_s.or_else(|| per_request(svctm_ms).map(|busy_s| busy_s.min(seconds)));
        // Neither is recorded: requests that come at random leave the device idle for e^(-Q/T) of the time.
        let busy_s =
            busy_s.or_else(|| waited_s.map(|waited_s| seconds * (1.0 - (-waited_s / seconds).exp())));
        let is_waiting = [in_flight_before, in_flight].iter().all(|count| *count >= STALLED_IN_FLIGHT.value);
        let is_stalled = requests == Some(0.0) && is_waiting;
        // Where nothing was completed there is no latency: what waits tells all the same.
        let busy_s = busy_s.or(is_stalled.then_some(seconds))?;
        let mut times = Times { busy_s, waited_s: waited_s.unwrap_or(busy_s) };
        let mut stalled_s = 0.0;
        if is_stalled || requests == Some(0.0) && busy_s >= STALLED_BUSY.value * seconds {
            // The kernel books waiting time only at completion, and some kernels freeze the busy time.
            let waiting = if in_flight.is_nan() { 1.0 } else { in_flight.max(1.0) };
            times = Times { busy_s: seconds, waited_s: times.waited_s.max(waiting * seconds) };
            stalled_s = seconds;
        }
        let (read_bytes, write_bytes) = (read_bytes.unwrap_or(0.0), write_bytes.unwrap_or(0.0));
        let requests = requests.unwrap_or(0.0);
        // Where requests are not counted apart, both directions have requests of one size.
        let bytes = read_bytes + write_bytes;
        let reads = if bytes > 0.0 { requests * read_bytes / bytes } else { 0.0 };
        let load = Load { reads, read_bytes, writes: requests - reads, write_bytes };
        Some(Piece { load, times, stalled_s, seconds })
    }

    /// Adds another piece of the same member.
    pub(super) fn add(&mut self, other: &Piece) {
        self.load.add(&other.load);
        self.times.add(other.times);
        self.stalled_s += other.stalled_s;
        self.seconds += other.seconds;
    }

    /// Whether it did anything.
    pub(super) fn has_work(&self) -> bool {
        self.load.transactions() > 0.0 || self.load.bytes() > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_freezes_its_busy_time_does_not_hide_a_stall() {
        let values = [0.0, 0.0, 0.0, 0.0, f64::NAN, 0.0, 4.0];
        let stalled = Piece::of_slot(values, 3.0, 1.0).unwrap();
        assert_eq!((stalled.times.busy_s, stalled.times.waited_s, stalled.stalled_s), (1.0, 4.0, 1.0));
        assert_eq!(Piece::of_slot(values, 0.0, 1.0).unwrap().stalled_s, 0.0, "it came just now");
        let no_latency = [0.0, 0.0, 0.0, f64::NAN, f64::NAN, f64::NAN, 4.0];
        assert_eq!(Piece::of_slot(no_latency, 3.0, 1.0).unwrap().stalled_s, 1.0, "nothing else is recorded");
        assert_eq!(Piece::of_slot(no_latency, 0.0, 1.0), None);
        let busy = [0.0, 0.0, 0.0, 0.0, f64::NAN, 50.0, f64::NAN];
        assert_eq!(Piece::of_slot(busy, f64::NAN, 1.0).unwrap().stalled_s, 1.0, "busy and completes nothing");
        assert_eq!(
            Piece::of_slot([0.0, 0.0, 0.0, 0.0, f64::NAN, 49.0, f64::NAN], f64::NAN, 1.0).unwrap().stalled_s,
            0.0
        );
    }

    #[test]
    fn requests_of_one_direction_have_no_part_in_the_other() {
        let values = |rd_sec: f64, wr_sec: f64| [10.0, rd_sec, wr_sec, 5.0, f64::NAN, 20.0, 1.0];
        let of = |rd_sec: f64, wr_sec: f64| Piece::of_slot(values(rd_sec, wr_sec), 1.0, 1.0).unwrap().load;
        assert_eq!((of(100.0, 0.0).reads, of(100.0, 0.0).writes), (10.0, 0.0));
        assert_eq!((of(25.0, 75.0).reads, of(25.0, 75.0).writes), (2.5, 7.5));
        assert_eq!((of(0.0, 0.0).reads, of(0.0, 0.0).writes), (0.0, 10.0), "requests without bytes flush");
        let idle = Piece { seconds: 5.0, ..Piece::default() };
        let counted = |transactions: f64, bytes: f64| {
            Piece { load: Load { writes: transactions, write_bytes: bytes, ..Load::default() }, ..idle }
                .has_work()
        };
        assert_eq!([counted(0.0, 0.0), counted(1.0, 0.0), counted(0.0, 512.0)], [false, true, true]);
    }

    #[test]
    fn work_and_its_time_must_both_be_recorded() {
        let known = |metrics: &[Metric]| {
            !Recorded::new(|metric| metrics.contains(&metric).then_some(&[1.0][..])).is_empty()
        };
        assert!(known(&[Metric::WrSec, Metric::Util]) && known(&[Metric::Tps, Metric::Svctm]));
        assert!(!known(&[Metric::Util]) && !known(&[Metric::WrSec, Metric::Await]));
        assert!(!known(&[Metric::Tps, Metric::Await]) && known(&[Metric::Tps, Metric::Await, Metric::RdSec]));
    }
}

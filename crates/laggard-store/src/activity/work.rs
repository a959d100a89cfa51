//! From raw counters to work done: differences between two samples of one thing, and sums of them over a slot.
//!
//! Downsampling by work (LISA'13, section 4.2): what was done in a slot is the difference of what was ever done; a mean time is
//! time spent over requests completed. Never a mean of means.

use laggard_activity::kind::{DISK, DiskField, Kind, KindId, NET, Nature, NetField};
use laggard_activity::{ABSENT, growth};
use laggard_core::model::Metric;

/// What is summed over a slot, for disks and for interfaces: a place in [`Sums`].
mod place {
    pub const ELAPSED_MS: usize = 0;
    pub const REQUESTS: usize = 1;
    pub const SECTORS_READ: usize = 2;
    pub const SECTORS_WRITTEN: usize = 3;
    pub const SECTORS_DISCARDED: usize = 4;
    pub const WAIT_MS: usize = 5;
    pub const BUSY_MS: usize = 6;
    /// Time in the queue beyond [`WAIT_MS`].
    pub const QUEUE_MS: usize = 7;
    /// Requests under way times the time since the sample before.
    pub const IN_FLIGHT_MS: usize = 8;

    pub const RX_BYTES: usize = 1;
    pub const TX_BYTES: usize = 2;
    pub const RX_PACKETS: usize = 3;
    pub const TX_PACKETS: usize = 4;

    pub const SOCKETS: usize = 1;
    pub const WINDOWS: usize = 2;
    pub const SENT_AGAIN: usize = 3;
}

/// Work of one thing in one slot.
pub type Sums = [f64; 9];

/// A field's place, and what it counts for.
type Counted = (usize, usize);

const OF_DISKS: [Counted; 14] = [
    (DiskField::Requests.index(), place::REQUESTS),
    (DiskField::Reads.index(), place::REQUESTS),
    (DiskField::Writes.index(), place::REQUESTS),
    (DiskField::Discards.index(), place::REQUESTS),
    (DiskField::SectorsRead.index(), place::SECTORS_READ),
    (DiskField::SectorsWritten.index(), place::SECTORS_WRITTEN),
    (DiskField::SectorsDiscarded.index(), place::SECTORS_DISCARDED),
    (DiskField::ReadMs.index(), place::WAIT_MS),
    (DiskField::WriteMs.index(), place::WAIT_MS),
    (DiskField::DiscardMs.index(), place::WAIT_MS),
    (DiskField::IoMs.index(), place::BUSY_MS),
    (DiskField::FlushMs.index(), place::QUEUE_MS),
    (DiskField::QueueExtraMs.index(), place::QUEUE_MS),
    (DiskField::InFlight.index(), place::IN_FLIGHT_MS),
];

const OF_INTERFACES: [Counted; 4] = [
    (NetField::RxBytes.index(), place::RX_BYTES),
    (NetField::TxBytes.index(), place::TX_BYTES),
    (NetField::RxPackets.index(), place::RX_PACKETS),
    (NetField::TxPackets.index(), place::TX_PACKETS),
];

/// Which fields of a kind must be read for the wanted metrics, and what each counts for.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The kind.
    pub kind: &'static Kind,
    /// Indices of fields.
    pub fields: Vec<usize>,
    places: Vec<usize>,
    /// How each of them grows.
    steps: Vec<Step>,
}

/// What a field says of the time between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// By how much it grew.
    Grows,
    /// By how much it moved: a difference of other counters, told modulo 2^32, may go down by itself.
    Moves,
    /// It is a level, which held for this time.
    Holds,
}

impl Plan {
    /// What disks need for these metrics.
    pub fn disks(wanted: &[Metric]) -> Plan {
        let needs = |metric: &Metric| match metric {
            Metric::Tps => &[place::REQUESTS][..],
            Metric::RdSec => &[place::SECTORS_READ],
            Metric::WrSec => &[place::SECTORS_WRITTEN],
            Metric::AvgrqSz => {
                &[place::REQUESTS, place::SECTORS_READ, place::SECTORS_WRITTEN, place::SECTORS_DISCARDED]
            }
            Metric::AvgquSz => &[place::WAIT_MS, place::QUEUE_MS],
            Metric::Await => &[place::REQUESTS, place::WAIT_MS],
            Metric::Svctm => &[place::REQUESTS, place::BUSY_MS],
            Metric::Util => &[place::BUSY_MS],
            Metric::InFlight => &[place::IN_FLIGHT_MS],
            _ => &[],
        };
        Plan::new(&DISK, &OF_DISKS, &wanted.iter().flat_map(needs).copied().collect::<Vec<_>>())
    }

    /// What interfaces need for these metrics.
    pub fn interfaces(wanted: &[Metric]) -> Plan {
        let needs = |metric: &Metric| match metric {
            Metric::Rxbyt => Some(place::RX_BYTES),
            Metric::Txbyt => Some(place::TX_BYTES),
            Metric::Rxpck => Some(place::RX_PACKETS),
            Metric::Txpck => Some(place::TX_PACKETS),
            _ => None,
        };
        Plan::new(&NET, &OF_INTERFACES, &wanted.iter().filter_map(needs).collect::<Vec<_>>())
    }

    fn new(kind: &'static Kind, counted: &[Counted], needed: &[usize]) -> Plan {
        let taken: Vec<&Counted> = counted.iter().filter(|(_, place)| needed.contains(place)).collect();
        Plan {
            kind,
            fields: taken.iter().map(|(field, _)| *field).collect(),
            places: taken.iter().map(|(_, place)| *place).collect(),
            steps: taken.iter().map(|(field, _)| step(kind, *field)).collect(),
        }
    }
}

fn step(kind: &Kind, field: usize) -> Step {
    match kind.fields[field].nature {
        Nature::Gauge => Step::Holds,
        Nature::Counter if kind.id == KindId::Disk && field == DiskField::QueueExtraMs.index() => Step::Moves,
        Nature::Counter => Step::Grows,
    }
}

/// The latest sample of one thing.
#[derive(Debug, Clone, Default)]
pub struct Latest {
    time_ms: i64,
    values: Vec<i64>,
}

impl Latest {
    /// Takes the next sample: the work since the one before it. `None` if that cannot be known: it is the first, the time since is
    /// not positive or longer than the patience, or the counters have restarted.
    pub fn advance(
        &mut self,
        plan: &Plan,
        time_ms: i64,
        patience_ms: i64,
        value: impl Fn(usize) -> i64,
    ) -> Option<Sums> {
        let mut sums = [0.0; 9];
        let mut restarted = self.values.is_empty();
        self.values.resize(plan.fields.len(), ABSENT);
        for (index, last) in self.values.iter_mut().enumerate() {
            let now = value(index);
            if now != ABSENT && *last != ABSENT {
                let step = match plan.steps[index] {
                    Step::Grows => growth::grown(plan.kind.id, *last, now),
                    Step::Moves => Some(growth::moved(*last, now)),
                    Step::Holds => Some(now.saturating_mul(time_ms - self.time_ms)),
                };
                // One counter that restarted tells that all did.
                restarted |= step.is_none();
                sums[plan.places[index]] += step.unwrap_or(0) as f64;
            }
            *last = now;
        }
        let elapsed_ms = time_ms - self.time_ms;
        self.time_ms = time_ms;
        sums[place::ELAPSED_MS] = elapsed_ms as f64;
        (!restarted && elapsed_ms > 0 && elapsed_ms <= patience_ms).then_some(sums)
    }

    /// When the latest sample was, in milliseconds.
    pub fn time_ms(&self) -> Option<i64> {
        (!self.values.is_empty()).then_some(self.time_ms)
    }
}

/// Congestion windows of some sockets at one moment, and segments that they sent again since the moment before.
pub fn windows(sockets: i64, cwnd: i64, sent_again: i64) -> Sums {
    let mut sums = Sums::default();
    (sums[place::SOCKETS], sums[place::WINDOWS]) = (sockets as f64, cwnd as f64);
    sums[place::SENT_AGAIN] = sent_again as f64;
    sums
}

/// Adds what a thing did to what it did before in the slot.
pub fn add(sums: &mut Sums, more: &Sums) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// Adds what another thing did in the same time.
pub fn join(sums: &mut Sums, other: &Sums) {
    let elapsed_ms = sums[place::ELAPSED_MS].max(other[place::ELAPSED_MS]);
    add(sums, other);
    sums[place::ELAPSED_MS] = elapsed_ms;
}

/// A metric of a disk from its work in a slot. Without requests a mean time is zero, as sysstat has it.
pub fn of_disk(sums: &Sums, metric: Metric) -> Option<f64> {
    let elapsed_s = sums[place::ELAPSED_MS] / 1000.0;
    let per_request = |sum: f64| if sums[place::REQUESTS] > 0.0 { sum / sums[place::REQUESTS] } else { 0.0 };
    let sectors =
        || sums[place::SECTORS_READ] + sums[place::SECTORS_WRITTEN] + sums[place::SECTORS_DISCARDED];
    Some(match metric {
        Metric::Tps => sums[place::REQUESTS] / elapsed_s,
        Metric::RdSec => sums[place::SECTORS_READ] / elapsed_s,
        Metric::WrSec => sums[place::SECTORS_WRITTEN] / elapsed_s,
        Metric::AvgrqSz => per_request(sectors()),
        Metric::AvgquSz => (sums[place::WAIT_MS] + sums[place::QUEUE_MS]).max(0.0) / sums[place::ELAPSED_MS],
        Metric::Await => per_request(sums[place::WAIT_MS]),
        Metric::Svctm => per_request(sums[place::BUSY_MS]),
        Metric::Util => (100.0 * sums[place::BUSY_MS] / sums[place::ELAPSED_MS]).min(100.0),
        Metric::InFlight => sums[place::IN_FLIGHT_MS] / sums[place::ELAPSED_MS],
        _ => return None,
    })
}

/// A metric of the interfaces from their traffic in a slot.
pub fn of_interfaces(sums: &Sums, metric: Metric) -> Option<f64> {
    let place = match metric {
        Metric::Rxbyt => place::RX_BYTES,
        Metric::Txbyt => place::TX_BYTES,
        Metric::Rxpck => place::RX_PACKETS,
        Metric::Txpck => place::TX_PACKETS,
        _ => return None,
    };
    Some(sums[place] / (sums[place::ELAPSED_MS] / 1000.0))
}

/// A metric of all sockets seen in a slot of some seconds: their mean congestion window, or what they sent again.
pub fn of_sockets(sums: &Sums, metric: Metric, slot_s: i64) -> Option<f64> {
    let value = match metric {
        Metric::CwndToClients | Metric::CwndFromClients => sums[place::WINDOWS] / sums[place::SOCKETS],
        Metric::RetransToClients | Metric::RetransFromClients => sums[place::SENT_AGAIN] / slot_s as f64,
        _ => return None,
    };
    (sums[place::SOCKETS] > 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRAP: i64 = 1 << 32;

    const ALL: [Metric; 9] = [
        Metric::InFlight,
        Metric::Tps,
        Metric::RdSec,
        Metric::WrSec,
        Metric::AvgrqSz,
        Metric::AvgquSz,
        Metric::Await,
        Metric::Svctm,
        Metric::Util,
    ];

    /// Samples a disk that has these named counters, everything else absent.
    fn sample(latest: &mut Latest, time_ms: i64, counters: &[(&str, i64)]) -> Option<Sums> {
        let plan = Plan::disks(&ALL);
        latest.advance(&plan, time_ms, 3000, |index| {
            let name = plan.kind.fields[plan.fields[index]].name;
            counters.iter().find(|(known, _)| *known == name).map_or(ABSENT, |(_, value)| *value)
        })
    }

    #[test]
    fn metrics_as_iostat_computes_them() {
        let mut disk = Latest::default();
        assert_eq!(
            sample(
                &mut disk,
                1000,
                &[
                    ("reads", 10),
                    ("writes", 0),
                    ("sectors_read", 80),
                    ("read_ms", 100),
                    ("io_ms", 50),
                    ("queue_extra_ms", 0),
                    ("in_flight", 7)
                ]
            ),
            None
        );
        let sums = sample(
            &mut disk,
            3000,
            &[
                ("reads", 20),
                ("writes", 10),
                ("sectors_read", 240),
                ("read_ms", 160),
                ("io_ms", 550),
                ("queue_extra_ms", 2),
                ("in_flight", 3),
            ],
        )
        .unwrap();
        let metric = |metric| of_disk(&sums, metric).unwrap();
        assert_eq!(
            [Metric::Tps, Metric::RdSec, Metric::AvgrqSz, Metric::Await, Metric::Svctm, Metric::Util]
                .map(metric),
            [10.0, 80.0, 8.0, 3.0, 25.0, 25.0]
        );
        assert_eq!(metric(Metric::AvgquSz), 0.031);
        assert_eq!(metric(Metric::InFlight), 3.0, "now, not before");
    }

    #[test]
    fn a_wrap_of_32_bits_is_a_step_forward_and_a_restart_is_a_gap() {
        let mut disk = Latest::default();
        let near = WRAP - 10;
        sample(&mut disk, 0, &[("reads", 5), ("read_ms", near), ("queue_extra_ms", 0)]);
        // The queue wraps at another moment than the sum it is told against.
        let sums =
            sample(&mut disk, 1000, &[("reads", 7), ("read_ms", 10), ("queue_extra_ms", WRAP)]).unwrap();
        assert_eq!(
            (of_disk(&sums, Metric::Await), of_disk(&sums, Metric::AvgquSz)),
            (Some(10.0), Some(0.02))
        );
        assert_eq!(
            sample(&mut disk, 2000, &[("reads", 0), ("read_ms", 0), ("queue_extra_ms", 0)]),
            None,
            "reboot"
        );
        let mut alone = Latest::default();
        sample(&mut alone, 0, &[("sectors_read", 3_000_000_000)]);
        assert_eq!(
            sample(&mut alone, 1000, &[("sectors_read", 8)]),
            None,
            "also where only one counter tells"
        );
        assert!(sample(&mut disk, 3000, &[("reads", 1), ("read_ms", 4), ("queue_extra_ms", 0)]).is_some());
    }

    #[test]
    fn time_that_stands_still_goes_back_or_is_long_yields_nothing() {
        let mut disk = Latest::default();
        let counters = |reads| [("reads", reads)];
        sample(&mut disk, 10_000, &counters(1));
        for (time_ms, known) in
            [(10_000, false), (5_000, false), (6_000, true), (9_000, true), (13_001, false)]
        {
            assert_eq!(sample(&mut disk, time_ms, &counters(2)).is_some(), known, "{time_ms}");
        }
    }

    #[test]
    fn an_idle_disk_has_no_latency_and_sockets_have_a_mean() {
        let mut disk = Latest::default();
        sample(&mut disk, 0, &[("requests", 1)]);
        let sums = sample(&mut disk, 1000, &[("requests", 1)]).unwrap();
        assert_eq!(of_disk(&sums, Metric::Await), Some(0.0));
        let mut seen = windows(2, 20, 4);
        add(&mut seen, &windows(3, 90, 2));
        let of = |sums: &Sums, metric| of_sockets(sums, metric, 15);
        assert_eq!(of(&seen, Metric::CwndToClients), Some(22.0));
        assert_eq!(of(&seen, Metric::RetransFromClients), Some(0.4));
        assert_eq!(of(&windows(0, 0, 0), Metric::CwndToClients), None);
    }
}

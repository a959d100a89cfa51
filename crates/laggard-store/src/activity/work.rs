//! From raw counters to work done: differences between two samples of one thing, and sums of them over a slot.
//!
//! Downsampling by work (LISA'13, section 4.2): what was done in a slot is the difference of what was ever done; a mean time is
//! time spent over requests completed. Never a mean of means.

use laggard_activity::kind::{
    DISK, DiskField, HOST, HostField, Kind, KindId, NET, Nature, NetField, TCP, TcpField,
};
use laggard_activity::{ABSENT, growth};
use laggard_core::model::Metric;

/// What is summed over a slot, kind by kind: a place in [`Sums`].
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
    pub const ERRORS: usize = 5;
    pub const CARRIER_CHANGES: usize = 6;
    /// Speed times the time since the sample before.
    pub const SPEED_MS: usize = 7;

    pub const RETRANSMITTED: usize = 1;

    pub const CPU_BUSY: usize = 1;
    pub const CPU_IDLE: usize = 2;
    pub const CPU_WAIT_US: usize = 3;
    pub const MEMORY_WAIT_US: usize = 4;
    /// Memory times the time since the sample before.
    pub const MEMORY_MS: usize = 5;
    pub const AVAILABLE_MS: usize = 6;

    pub const SOCKETS: usize = 1;
    pub const WINDOWS: usize = 2;
    pub const SENT_AGAIN: usize = 3;
}

/// Work of one thing in one slot; NaN where nothing was recorded of it.
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

const OF_INTERFACES: [Counted; 10] = [
    (NetField::RxBytes.index(), place::RX_BYTES),
    (NetField::TxBytes.index(), place::TX_BYTES),
    (NetField::RxPackets.index(), place::RX_PACKETS),
    (NetField::TxPackets.index(), place::TX_PACKETS),
    (NetField::RxErrors.index(), place::ERRORS),
    (NetField::RxDropped.index(), place::ERRORS),
    (NetField::TxErrors.index(), place::ERRORS),
    (NetField::TxDropped.index(), place::ERRORS),
    (NetField::CarrierChanges.index(), place::CARRIER_CHANGES),
    (NetField::SpeedMbit.index(), place::SPEED_MS),
];

const OF_TCP: [Counted; 1] = [(TcpField::Retransmitted.index(), place::RETRANSMITTED)];

const OF_HOSTS: [Counted; 12] = [
    (HostField::CpuUser.index(), place::CPU_BUSY),
    (HostField::CpuNice.index(), place::CPU_BUSY),
    (HostField::CpuSystem.index(), place::CPU_BUSY),
    (HostField::CpuIrq.index(), place::CPU_BUSY),
    (HostField::CpuSoftirq.index(), place::CPU_BUSY),
    (HostField::CpuSteal.index(), place::CPU_BUSY),
    (HostField::CpuIdle.index(), place::CPU_IDLE),
    (HostField::CpuIowait.index(), place::CPU_IDLE),
    (HostField::PressureCpuUs.index(), place::CPU_WAIT_US),
    (HostField::PressureMemorySomeUs.index(), place::MEMORY_WAIT_US),
    (HostField::MemoryTotalKb.index(), place::MEMORY_MS),
    (HostField::MemoryAvailableKb.index(), place::AVAILABLE_MS),
];

/// Kinds whose counters are work, with what their fields count for.
const COUNTED: [(&Kind, &[Counted]); 4] =
    [(&DISK, &OF_DISKS), (&NET, &OF_INTERFACES), (&TCP, &OF_TCP), (&HOST, &OF_HOSTS)];

/// The kind of counters that a metric is made of, and what it needs of them. Congestion windows and segments that are sent again to
/// one remote host come from sockets ([`of_sockets`]); the rest is not made of counters.
pub fn made_of(metric: Metric) -> Option<(KindId, &'static [usize])> {
    Some(match metric {
        Metric::Tps => (KindId::Disk, &[place::REQUESTS][..]),
        Metric::RdSec => (KindId::Disk, &[place::SECTORS_READ]),
        Metric::WrSec => (KindId::Disk, &[place::SECTORS_WRITTEN]),
        Metric::AvgrqSz => (
            KindId::Disk,
            &[place::REQUESTS, place::SECTORS_READ, place::SECTORS_WRITTEN, place::SECTORS_DISCARDED],
        ),
        Metric::AvgquSz => (KindId::Disk, &[place::WAIT_MS, place::QUEUE_MS]),
        Metric::Await => (KindId::Disk, &[place::REQUESTS, place::WAIT_MS]),
        Metric::Svctm => (KindId::Disk, &[place::REQUESTS, place::BUSY_MS]),
        Metric::Util => (KindId::Disk, &[place::BUSY_MS]),
        Metric::InFlight => (KindId::Disk, &[place::IN_FLIGHT_MS]),
        Metric::Rxbyt => (KindId::Net, &[place::RX_BYTES]),
        Metric::Txbyt => (KindId::Net, &[place::TX_BYTES]),
        Metric::Rxpck => (KindId::Net, &[place::RX_PACKETS]),
        Metric::Txpck => (KindId::Net, &[place::TX_PACKETS]),
        Metric::NetErrors => (KindId::Net, &[place::ERRORS]),
        Metric::CarrierChanges => (KindId::Net, &[place::CARRIER_CHANGES]),
        Metric::LinkSpeed => (KindId::Net, &[place::SPEED_MS]),
        Metric::Retrans => (KindId::Tcp, &[place::RETRANSMITTED]),
        Metric::CpuBusy => (KindId::Host, &[place::CPU_BUSY, place::CPU_IDLE]),
        Metric::CpuWait => (KindId::Host, &[place::CPU_WAIT_US]),
        Metric::MemoryWait => (KindId::Host, &[place::MEMORY_WAIT_US]),
        Metric::MemoryAvailable => (KindId::Host, &[place::MEMORY_MS, place::AVAILABLE_MS]),
        Metric::CwndToClients
        | Metric::CwndFromClients
        | Metric::RetransToClients
        | Metric::RetransFromClients
        | Metric::Throughput
        | Metric::Cost
        | Metric::Work => return None,
    })
}

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
    /// What each kind needs for these metrics; kinds of which nothing is needed are left out.
    pub fn all(wanted: &[Metric]) -> Vec<Plan> {
        let plan = |(kind, counted): &(&'static Kind, &[Counted])| {
            let of_kind =
                wanted.iter().filter_map(|metric| made_of(*metric)).filter(|(id, _)| *id == kind.id);
            let needed: Vec<usize> = of_kind.flat_map(|(_, places)| places).copied().collect();
            let taken: Vec<&Counted> = counted.iter().filter(|(_, place)| needed.contains(place)).collect();
            Plan {
                kind,
                fields: taken.iter().map(|(field, _)| *field).collect(),
                places: taken.iter().map(|(_, place)| *place).collect(),
                steps: taken.iter().map(|(field, _)| step(kind, *field)).collect(),
            }
        };
        COUNTED.iter().map(plan).filter(|plan| !plan.fields.is_empty()).collect()
    }
}

fn step(kind: &Kind, field: usize) -> Step {
    match kind.fields[field].nature {
        Nature::Gauge => Step::Holds,
        Nature::Counter if kind.id == KindId::Disk && field == DiskField::QueueExtraMs.index() => Step::Moves,
        Nature::Counter => Step::Grows,
    }
}

/// When samples were taken, and the grid that they fall on.
#[derive(Debug, Clone, Copy)]
pub struct Times<'a> {
    /// The second that each stands for.
    pub seconds: &'a [i64],
    /// How late each was taken.
    pub late_ms: &'a [i64],
    /// Seconds of a slot.
    pub grid_s: i64,
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
        let mut sums = [f64::NAN; 9];
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
                plus(&mut sums[plan.places[index]], step.unwrap_or(0) as f64);
            }
            *last = now;
        }
        let elapsed_ms = time_ms - self.time_ms;
        self.time_ms = time_ms;
        sums[place::ELAPSED_MS] = elapsed_ms as f64;
        (!restarted && elapsed_ms > 0 && elapsed_ms <= patience_ms).then_some(sums)
    }

    /// Takes samples that follow each other without a hole, slot by slot: the work of each slot. Much faster than one by one, and
    /// the same; `None`, and nothing taken, where they must be looked at one by one: at the first sample, at holes, at counters that
    /// wrap, restart or were not recorded.
    pub fn advance_steadily(
        &mut self,
        plan: &Plan,
        times: Times<'_>,
        patience_ms: i64,
        fields: &[&[i64]],
        mut each: impl FnMut(i64, &Sums),
    ) -> Option<()> {
        let last = times.seconds.len().checked_sub(1)?;
        let time_ms = |sample: usize| times.seconds[sample] * 1000 + times.late_ms[sample];
        let follows = |before: i64, now: i64| (1..=patience_ms).contains(&(now - before));
        // Signs are gathered and looked at once: a look at every sample costs more than all else here.
        let late = times.late_ms.windows(2).zip(times.seconds.windows(2));
        let steps = late.map(|(late, seconds)| 1000 * (seconds[1] - seconds[0]) + late[1] - late[0]);
        let is_steady = steps.fold(0, |signs, step| signs | (step - 1) | (patience_ms - step)) >= 0;
        if self.values.len() != fields.len() || !follows(self.time_ms, time_ms(0)) || !is_steady {
            return None;
        }
        for ((known, values), step) in self.values.iter().zip(fields).zip(&plan.steps) {
            let is_plain = match step {
                _ if *known == ABSENT => values.iter().all(|value| *value == ABSENT),
                Step::Grows => *known <= values[0] && never_falls(values),
                Step::Holds => values.iter().all(|value| *value != ABSENT),
                Step::Moves => false,
            };
            if !is_plain {
                return None;
            }
        }
        let mut from = 0;
        while from <= last {
            let slot = times.seconds[from].div_euclid(times.grid_s);
            let end_s = (slot + 1) * times.grid_s;
            let length = times.seconds[from..].iter().take_while(|second| **second < end_s).count();
            let end = from + length - 1;
            let mut sums = [f64::NAN; 9];
            for (((known, values), step), place) in
                self.values.iter_mut().zip(fields).zip(&plan.steps).zip(&plan.places)
            {
                if *known == ABSENT {
                    continue;
                }
                let work = match step {
                    Step::Grows | Step::Moves => values[end] - *known,
                    Step::Holds => {
                        let mut before_ms = self.time_ms;
                        let held = (from..=end).map(|sample| {
                            let since_ms =
                                time_ms(sample) - std::mem::replace(&mut before_ms, time_ms(sample));
                            values[sample].saturating_mul(since_ms)
                        });
                        held.fold(0, i64::saturating_add)
                    }
                };
                plus(&mut sums[*place], work as f64);
                *known = values[end];
            }
            sums[place::ELAPSED_MS] = (time_ms(end) - self.time_ms) as f64;
            self.time_ms = time_ms(end);
            each(slot, &sums);
            from = end + 1;
        }
        Some(())
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

/// Whether counters never fall, and all are there: an absent value is the smallest of all, and negative.
fn never_falls(values: &[i64]) -> bool {
    let first = values.first().copied().unwrap_or(0);
    let signs = |signs: i64, pair: &[i64]| signs | pair[1] | pair[1].wrapping_sub(pair[0]);
    values.windows(2).fold(first, signs) >= 0
}

/// Adds to a sum of which nothing may be recorded yet.
fn plus(sum: &mut f64, more: f64) {
    match (sum.is_nan(), more.is_nan()) {
        (_, true) => {}
        (true, false) => *sum = more,
        (false, false) => *sum += more,
    }
}

/// Adds what a thing did to what it did before in the slot.
pub fn add(sums: &mut Sums, more: &Sums) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| plus(sum, *more));
}

/// Adds what another thing did in the same time.
pub fn join(sums: &mut Sums, other: &Sums) {
    let elapsed_ms = sums[place::ELAPSED_MS].max(other[place::ELAPSED_MS]);
    add(sums, other);
    sums[place::ELAPSED_MS] = elapsed_ms;
}

/// A metric from the work of a slot; none where what it is made of was not recorded. Without requests a mean time is zero, as sysstat
/// has it.
pub fn of(sums: &Sums, metric: Metric) -> Option<f64> {
    let elapsed_ms = sums[place::ELAPSED_MS];
    let rate = |place: usize| sums[place] / (elapsed_ms / 1000.0);
    // What was recorded of several; nothing if of none.
    let total = |places: &[usize]| {
        let mut total = f64::NAN;
        places.iter().for_each(|place| plus(&mut total, sums[*place]));
        total
    };
    let per_request = |sum: f64| if sums[place::REQUESTS] > 0.0 { sum / sums[place::REQUESTS] } else { 0.0 };
    let value = match metric {
        Metric::Tps => rate(place::REQUESTS),
        Metric::RdSec => rate(place::SECTORS_READ),
        Metric::WrSec => rate(place::SECTORS_WRITTEN),
        Metric::AvgrqSz => {
            per_request(total(&[place::SECTORS_READ, place::SECTORS_WRITTEN, place::SECTORS_DISCARDED]))
        }
        Metric::AvgquSz => total(&[place::WAIT_MS, place::QUEUE_MS]).max(0.0) / elapsed_ms,
        Metric::Await => per_request(sums[place::WAIT_MS]),
        Metric::Svctm => per_request(sums[place::BUSY_MS]),
        Metric::Util => (100.0 * sums[place::BUSY_MS] / elapsed_ms).min(100.0),
        Metric::InFlight => sums[place::IN_FLIGHT_MS] / elapsed_ms,
        Metric::Rxbyt => rate(place::RX_BYTES),
        Metric::Txbyt => rate(place::TX_BYTES),
        Metric::Rxpck => rate(place::RX_PACKETS),
        Metric::Txpck => rate(place::TX_PACKETS),
        Metric::NetErrors => rate(place::ERRORS),
        Metric::CarrierChanges => rate(place::CARRIER_CHANGES),
        Metric::LinkSpeed => sums[place::SPEED_MS] / elapsed_ms,
        Metric::Retrans => rate(place::RETRANSMITTED),
        Metric::CpuBusy => 100.0 * sums[place::CPU_BUSY] / (sums[place::CPU_BUSY] + sums[place::CPU_IDLE]),
        Metric::CpuWait => percent_of_us(sums[place::CPU_WAIT_US], elapsed_ms),
        Metric::MemoryWait => percent_of_us(sums[place::MEMORY_WAIT_US], elapsed_ms),
        Metric::MemoryAvailable => 100.0 * sums[place::AVAILABLE_MS] / sums[place::MEMORY_MS],
        Metric::CwndToClients
        | Metric::CwndFromClients
        | Metric::RetransToClients
        | Metric::RetransFromClients
        | Metric::Throughput
        | Metric::Cost
        | Metric::Work => return None,
    };
    (!value.is_nan()).then_some(value)
}

fn percent_of_us(waited_us: f64, elapsed_ms: f64) -> f64 {
    // Two samples are never taken at the very moment at which the kernel adds up: `min` would make NaN 100.
    let percent = waited_us / elapsed_ms / 10.0;
    if percent > 100.0 { 100.0 } else { percent }
}

/// A metric of all sockets seen in a slot of some seconds: their mean congestion window, or what they sent again.
pub fn of_sockets(sums: &Sums, metric: SocketMetric, slot_s: i64) -> Option<f64> {
    let value = match metric {
        SocketMetric::Window => sums[place::WINDOWS] / sums[place::SOCKETS],
        SocketMetric::SentAgain => sums[place::SENT_AGAIN] / slot_s as f64,
    };
    (sums[place::SOCKETS] > 0.0).then_some(value)
}

/// What sockets say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketMetric {
    /// Their mean congestion window.
    Window,
    /// Segments that they sent again, per second.
    SentAgain,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        let plan = Plan::all(&ALL).remove(0);
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
        let metric = |metric| of(&sums, metric).unwrap();
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
        assert_eq!((of(&sums, Metric::Await), of(&sums, Metric::AvgquSz)), (Some(10.0), Some(0.02)));
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

    proptest! {
        #[test]
        fn slot_by_slot_is_sample_by_sample(
            samples in proptest::collection::vec((1i64..3, 0i64..900, 0i64..9, 0u8..40, 0u8..60), 1..200),
            grid_s in 2i64..20,
            cut in 1usize..60,
        ) {
            let plan = Plan::all(&[Metric::Tps, Metric::RdSec, Metric::InFlight, Metric::Util]).remove(0);
            let columns = plan.fields.len();
            let (mut seconds, mut late_ms, mut fields) = (Vec::new(), Vec::new(), vec![Vec::new(); columns]);
            let (mut now, mut counter) = (1_000, 5);
            for (step_s, late, grows, restarts, is_absent) in samples {
                now += step_s;
                counter = if restarts == 0 { 0 } else { counter + grows };
                seconds.push(now);
                late_ms.push(late);
                for (place, field) in fields.iter_mut().enumerate() {
                    let absent = place == 0 || is_absent == 0 && place == 1;
                    field.push(if absent { ABSENT } else { counter * place as i64 });
                }
            }
            let (mut one_by_one, mut by_slot) = (Latest::default(), Latest::default());
            let (mut expected, mut found) = (Vec::<(i64, Sums)>::new(), Vec::<(i64, Sums)>::new());
            let gather = |all: &mut Vec<(i64, Sums)>, slot: i64, sums: &Sums| match all.last_mut() {
                Some((last, known)) if *last == slot => add(known, sums),
                _ => all.push((slot, *sums)),
            };
            let singly = |latest: &mut Latest, sample: usize, all: &mut Vec<(i64, Sums)>| {
                let time_ms = seconds[sample] * 1000 + late_ms[sample];
                let work = latest.advance(&plan, time_ms, 3000, |field| fields[field][sample]);
                work.iter().for_each(|sums| gather(all, seconds[sample].div_euclid(grid_s), sums));
            };
            for sample in 0..seconds.len() {
                singly(&mut one_by_one, sample, &mut expected);
            }
            for from in (0..seconds.len()).step_by(cut) {
                let to = (from + cut).min(seconds.len());
                let part: Vec<&[i64]> = fields.iter().map(|field| &field[from..to]).collect();
                let times = Times { seconds: &seconds[from..to], late_ms: &late_ms[from..to], grid_s };
                let steady = by_slot.advance_steadily(&plan, times, 3000, &part, |slot, sums| {
                    gather(&mut found, slot, sums);
                });
                if steady.is_none() {
                    (from..to).for_each(|sample| singly(&mut by_slot, sample, &mut found));
                }
            }
            let text = |all: &[(i64, Sums)]| format!("{all:?}");
            prop_assert_eq!(text(&found), text(&expected));
        }
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
        assert_eq!(of(&sums, Metric::Await), Some(0.0));
        let mut seen = windows(2, 20, 4);
        add(&mut seen, &windows(3, 90, 2));
        let said = |sums: &Sums, metric| of_sockets(sums, metric, 15);
        assert_eq!(said(&seen, SocketMetric::Window), Some(22.0));
        assert_eq!(said(&seen, SocketMetric::SentAgain), Some(0.4));
        assert_eq!(said(&windows(0, 0, 0), SocketMetric::Window), None);
    }
}

use super::*;
use proptest::prelude::*;

const PARAMS: Params = Params { interval_s: 1, smoothing: 1, size: 40, shift: 10, k: 3 };

/// What a member does in a second: requests, sectors written, busy and waiting milliseconds for each request.
#[derive(Clone, Copy)]
struct Does {
    tps: f64,
    wr_sec: f64,
    service_ms: f64,
    queue: f64,
    in_flight: f64,
}

impl Does {
    /// A healthy disk of 10 MB/s and 2 ms a request.
    fn healthy(tps: f64, wr_sec: f64) -> Does {
        Does { tps, wr_sec, service_ms: 2.0 + wr_sec / tps * 0.0512, queue: 2.0, in_flight: 1.0 }
    }

    fn value(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Tps => self.tps,
            Metric::WrSec => self.wr_sec,
            Metric::RdSec => 0.0,
            Metric::Await => self.service_ms * self.queue,
            Metric::Util if self.tps == 0.0 => {
                if self.in_flight > 0.0 {
                    100.0
                } else {
                    0.0
                }
            }
            Metric::Util => (self.tps * self.service_ms / 10.0).min(100.0),
            Metric::InFlight => self.in_flight,
            _ => f64::NAN,
        }
    }
}

/// Noise that differs by member and second, the same every time.
fn noise(member: usize, second: u64) -> f64 {
    let mut x =
        (member as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ second.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 31;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 40) as f64 / (1u64 << 24) as f64
}

/// All windows of some seconds.
fn windows(
    members: usize,
    seconds: u64,
    recorded: &[Metric],
    does: impl Fn(usize, u64) -> Does,
) -> Vec<Accounts> {
    let mut ledger = Ledger::new(PARAMS, members);
    let mut found = Vec::new();
    for second in 0..seconds {
        let rows: Vec<Option<Vec<f64>>> = BOOKED
            .iter()
            .map(|metric| {
                let row = || (0..members).map(|member| does(member, second).value(*metric)).collect();
                recorded.contains(metric).then(row)
            })
            .collect();
        let row = |metric: Metric| rows[BOOKED.iter().position(|booked| *booked == metric)?].as_deref();
        found.extend(ledger.push(Slot(second), Recorded::new(row)));
    }
    found
}

const ALL: [Metric; 6] =
    [Metric::Tps, Metric::RdSec, Metric::WrSec, Metric::Await, Metric::Util, Metric::InFlight];

fn last(accounts: &[Accounts], member: usize) -> Account {
    *accounts.last().unwrap().of(MemberIndex::new(member)).unwrap()
}

/// Five disks with loads that differ and vary; the third is slow by a factor after 60 s, and merges half as much.
fn five(slow: f64) -> impl Fn(usize, u64) -> Does {
    move |member, second| {
        let load = (1.0 + 0.2 * member as f64) * (0.6 + 0.8 * noise(member, second));
        let healthy = Does::healthy(20.0 * load, 4000.0 * load);
        match member == 2 && second >= 60 {
            true => Does { tps: 2.0 * healthy.tps, service_ms: healthy.service_ms * slow / 2.0, ..healthy },
            false => healthy,
        }
    }
}

#[test]
fn a_slow_disk_is_dear_for_its_work_though_it_merges_less() {
    let found = windows(5, 120, &ALL, five(2.5));
    let slow = last(&found, 2);
    assert!((slow.ratio() / 2.5 - 1.0).abs() < 0.15, "{slow:?}");
    assert!(slow.lost() > 0.1, "{slow:?}");
    for member in [0, 1, 3, 4] {
        assert!(last(&found, member).effect < window::cost_threshold(slow.spread), "{member}");
    }
}

#[test]
fn a_disk_that_only_has_more_to_do_is_not_dear() {
    let found = windows(5, 120, &ALL, |member, second| {
        let load = if member == 2 { 3.0 } else { 1.0 } * (0.6 + 0.8 * noise(member, second));
        Does::healthy(15.0 * load, 3000.0 * load)
    });
    let busy = last(&found, 2);
    assert!(busy.effect.abs() < 0.1 && busy.cost > 2.0 * last(&found, 1).cost, "{busy:?}");
}

#[test]
fn a_stalled_disk_is_in_service_all_the_time_and_its_idle_peers_are_not() {
    let found = windows(5, 120, &ALL, |member, second| match second >= 70 {
        false => Does::healthy(15.0, 3000.0),
        true => Does {
            tps: 0.0,
            wr_sec: 0.0,
            in_flight: if member == 2 { 13.0 } else { 0.0 },
            ..Does::healthy(1.0, 1.0)
        },
    });
    let stalled = last(&found, 2);
    assert!(stalled.service > 0.9 && stalled.effect > 3.0, "{stalled:?}");
    assert!(last(&found, 1).effect < 0.1);
}

#[test]
fn a_kernel_that_freezes_its_busy_time_does_not_hide_a_stall() {
    let values = [0.0, 0.0, 0.0, 0.0, f64::NAN, 0.0, 4.0];
    let stalled = Piece::of_slot(values, 3.0, 1.0).unwrap();
    assert_eq!((stalled.times.busy_s, stalled.times.waited_s, stalled.stalled_s), (1.0, 4.0, 1.0));
    assert_eq!(Piece::of_slot(values, 0.0, 1.0).unwrap().stalled_s, 0.0, "it came just now");
    let busy = [0.0, 0.0, 0.0, 0.0, f64::NAN, 50.0, f64::NAN];
    assert_eq!(Piece::of_slot(busy, f64::NAN, 1.0).unwrap().stalled_s, 1.0, "busy and completes nothing");
    assert_eq!(
        Piece::of_slot([0.0, 0.0, 0.0, 0.0, f64::NAN, 49.0, f64::NAN], f64::NAN, 1.0).unwrap().stalled_s,
        0.0
    );
}

#[test]
fn it_degrades_with_what_is_recorded() {
    let ratio = |recorded: &[Metric]| last(&windows(5, 120, recorded, five(2.5)), 2).ratio();
    assert!(ratio(&ALL) > 2.0);
    assert!(ratio(&[Metric::Tps, Metric::RdSec, Metric::WrSec, Metric::Await]) > 1.5, "no busy time");
    assert!(windows(5, 120, &[Metric::Await], five(2.5)).is_empty(), "latency alone is not booked");
    let known = |metrics: &[Metric]| {
        !Recorded::new(|metric| metrics.contains(&metric).then_some(&[1.0][..])).is_empty()
    };
    assert!(known(&[Metric::WrSec, Metric::Util]) && known(&[Metric::Tps, Metric::Svctm]));
    assert!(!known(&[Metric::Util]) && !known(&[Metric::WrSec, Metric::Await]));
    assert!(!known(&[Metric::Tps, Metric::Await]) && known(&[Metric::Tps, Metric::Await, Metric::RdSec]));
}

#[test]
fn many_channels_are_found_and_a_slow_device_among_them() {
    // Requests of 4 ms each, at once on 16 channels: busy nearly all of the time at any load.
    let found = windows(8, 400, &ALL, |member, second| {
        let tps = 400.0 + 2400.0 * noise(member, second / 5);
        let service_ms = if member == 3 && second > 200 { 8.0 } else { 4.0 };
        Does { tps, wr_sec: tps * 64.0, service_ms, queue: 1.0, in_flight: 4.0 }
    });
    let slow = last(&found, 3);
    assert!(slow.ratio() > 1.6, "{slow:?}");
    assert!((0..8).filter(|member| *member != 3).all(|member| last(&found, member).ratio() < 1.25));
}

#[test]
fn a_permanent_difference_is_subtracted_after_a_while() {
    let found = windows(5, 600, &ALL, |member, second| {
        let healthy = Does::healthy(15.0 * (0.6 + 0.8 * noise(member, second)), 3000.0);
        Does { service_ms: healthy.service_ms * if member == 1 { 1.1 } else { 1.0 }, ..healthy }
    });
    let effect = |accounts: &Accounts| accounts.of(MemberIndex::new(1)).unwrap().effect;
    assert!(effect(&found[2]) > 0.06, "{}", effect(&found[2]));
    assert!(effect(found.last().unwrap()).abs() < 0.04, "{}", effect(found.last().unwrap()));
}

proptest! {
    /// Whatever is recorded, accounts are numbers, and nobody is slow among equals.
    #[test]
    fn equals_are_equal_and_nothing_is_not_a_number(
        tps in 0.0..500.0f64, wr_sec in 0.0..1e6f64, service_ms in 0.0..500.0f64, queue in 0.0..50.0f64, in_flight in 0.0..9.0f64,
    ) {
        let found = windows(4, 80, &ALL, |_, _| Does { tps, wr_sec, service_ms, queue, in_flight });
        for account in found.iter().flat_map(|accounts| accounts.members.iter().flatten()) {
            prop_assert!(account.effect.abs() < 1e-9, "{:?}", account);
            prop_assert!(account.service.is_finite() && account.cost.is_finite() && account.spread >= MIN_SPREAD);
        }
    }
}

#[test]
fn differences_are_known_from_the_side_on_which_no_slow_member_is() {
    let effect = |raw: f64| {
        let sum = Piece { seconds: 40.0, ..Piece::default() };
        Some(Effect { sum, service: 0.5, cost: 0.5, by_request: 0.0, raw, is_active: true })
    };
    let mut known = Differences::default();
    known.remember([-0.1, 0.5, -0.3, 0.0, 9.0].into_iter());
    assert_eq!(known.below, [0.1, 0.3]);
    known.remember((0..600).map(|_| -0.2));
    assert_eq!((known.below.len(), known.below[0]), (MOST_DIFFERENCES, 0.2), "the oldest go");
    let spread = |values: &[f64]| {
        let members: Vec<Option<Effect>> = values.iter().map(|value| effect(*value)).collect();
        let differences: Vec<Option<f64>> = values.iter().map(|value| Some(*value)).collect();
        Differences::default().spread(&members, &differences)
    };
    assert_eq!(spread(&[0.0, 0.0, 0.9]), MIN_SPREAD, "nothing is below");
    assert!((spread(&[-0.1, -0.1, 0.9]) - 0.1 * MAD_TO_DEVIATION).abs() < 1e-12);
    let eight = [-0.1, 0.4, 0.4, 0.4, 0.4, 0.4, -0.1, 0.4];
    assert!((spread(&eight) - 0.4 * MAD_TO_DEVIATION).abs() < 1e-12, "of eight the window itself counts");
    assert!((spread(&eight[..7]) - 0.1 * MAD_TO_DEVIATION).abs() < 1e-12, "of seven it does not");
}

#[test]
fn pieces_are_slow_where_a_device_was_busy_beyond_the_cost_of_its_work() {
    let mut ledger = Ledger::new(PARAMS, 5);
    for second in 0..120 {
        let does = |member: usize| match member == 2 && second >= 60 {
            true => Does {
                service_ms: 10.0 + Does::healthy(20.0, 4000.0).service_ms,
                ..Does::healthy(20.0, 4000.0)
            },
            false => Does::healthy(20.0, 4000.0),
        };
        let rows = BOOKED.map(|metric| (0..5).map(|member| does(member).value(metric)).collect::<Vec<f64>>());
        let row = |metric: Metric| Some(rows[BOOKED.iter().position(|booked| *booked == metric)?].as_slice());
        ledger.push(Slot(second), Recorded::new(row));
    }
    let slow = ledger.slow_pieces(MemberIndex::new(2), ledger.new_pieces());
    assert_eq!((slow.len(), ledger.new_pieces()), (2, 2), "two pieces of five seconds are new in ten");
    assert!(slow.iter().all(|piece| (piece.excess_s - 0.01).abs() < 1e-3), "{slow:?}");
    assert!(ledger.slow_pieces(MemberIndex::new(1), 2).is_empty(), "a healthy one has none");
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
fn the_usual_difference_of_a_member_needs_sixteen_windows_and_keeps_few() {
    let mut usual = Usual::default();
    (0..MIN_USUAL - 1).for_each(|_| usual.push(0.1));
    assert!(!usual.is_known() && usual.level() == 0.0);
    usual.push(0.1);
    assert!(usual.is_known() && (usual.level() - 0.1).abs() < 1e-6);
    (0..1000).for_each(|_| usual.push(0.5));
    assert!(
        usual.values.len() <= MOST_USUAL && usual.stride >= 15,
        "{} {}",
        usual.values.len(),
        usual.stride
    );
    assert_eq!(usual.level(), MAX_USUAL, "a large difference is never usual");
}

#[test]
fn what_teaches_is_thinned_and_of_unrecorded_time_there_is_nothing() {
    let mut ledger = Ledger::new(PARAMS, 5);
    let rows = BOOKED.map(|metric| vec![Does::healthy(20.0, 4000.0).value(metric); 5]);
    let row = |metric: Metric| Some(rows[BOOKED.iter().position(|booked| *booked == metric)?].as_slice());
    for second in 0..5000 {
        ledger.push(Slot(second), Recorded::new(row));
        assert!(ledger.taught.len() <= MOST_PIECES);
    }
    assert_eq!(ledger.taught_pieces, 999);
    assert!(ledger.taught.len() > MOST_PIECES / 2);
    let before = ledger.windows;
    assert!(ledger.push(Slot(4000), Recorded::new(row)).is_none(), "a slot of long ago");
    assert_eq!(ledger.windows, before);
}

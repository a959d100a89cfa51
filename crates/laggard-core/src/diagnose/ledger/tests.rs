use super::super::rules::window;
use super::difference::MIN_SPREAD;
use super::*;
use crate::model::Metric;
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
fn the_last_pieces_show_what_is_violent_before_it_has_filled_a_window() {
    // Six times as slow for the last 15 s of a window of 40 s; every other piece of 5 s has no work.
    let found = |rests: bool, from: u64| {
        windows(5, 120, &ALL, move |member, second| {
            let is_slow = member == 2 && second >= from;
            let healthy = Does::healthy(15.0, 3000.0);
            match rests && second / 5 % 2 == 0 {
                true => Does { tps: 0.0, wr_sec: 0.0, in_flight: 0.0, ..healthy },
                false => Does {
                    service_ms: healthy.service_ms * if is_slow { 6.0 } else { 1.0 },
                    in_flight: 0.0,
                    ..healthy
                },
            }
        })
    };
    let slow = last(&found(false, 105), 2);
    assert!((slow.brief.effect.exp() / 6.0 - 1.0).abs() < 0.15, "{slow:?}");
    assert!(slow.ratio() < 4.0 && slow.brief.seconds == 20.0 && slow.brief.lost > 0.3, "{slow:?}");
    assert!(last(&found(false, 110), 2).brief.effect < 0.1, "two of four pieces are too few");
    let resting = last(&found(true, 90), 2);
    assert!(resting.brief.effect.exp() > 5.0, "pieces without work do not count: {resting:?}");
    assert!(last(&found(true, 105), 2).brief.effect < 0.1);
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
fn it_degrades_with_what_is_recorded() {
    let ratio = |recorded: &[Metric]| last(&windows(5, 120, recorded, five(2.5)), 2).ratio();
    assert!(ratio(&ALL) > 2.0);
    assert!(ratio(&[Metric::Tps, Metric::RdSec, Metric::WrSec, Metric::Await]) > 1.5, "no busy time");
    assert!(windows(5, 120, &[Metric::Await], five(2.5)).is_empty(), "latency alone is not booked");
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

/// A ledger of members of which the first `active` write and the others do nothing.
fn half_idle(members: usize, active: usize, seconds: u64) -> Ledger {
    let mut ledger = Ledger::new(PARAMS, members);
    for second in 0..seconds {
        push(&mut ledger, second, &|member| match member < active {
            true => Does::healthy(20.0, 4000.0),
            false => Does { tps: 0.0, wr_sec: 0.0, in_flight: 0.0, ..Does::healthy(1.0, 1.0) },
        });
    }
    ledger
}

fn push(ledger: &mut Ledger, second: u64, does: &dyn Fn(usize) -> Does) -> Option<Accounts> {
    let members = ledger.in_flight.len();
    let rows =
        BOOKED.map(|metric| (0..members).map(|member| does(member).value(metric)).collect::<Vec<f64>>());
    let row = |metric: Metric| Some(rows[BOOKED.iter().position(|booked| *booked == metric)?].as_slice());
    ledger.push(Slot(second), Recorded::new(row))
}

#[test]
fn every_slot_is_booked_once() {
    let mut ledger = half_idle(3, 3, 10);
    let booked =
        |ledger: &Ledger| ledger.pieces.iter().map(|(_, pieces)| pieces[0].seconds).collect::<Vec<f64>>();
    assert_eq!(booked(&ledger), [5.0, 5.0]);
    push(&mut ledger, 9, &|_| Does::healthy(20.0, 4000.0));
    push(&mut ledger, 3, &|_| Does::healthy(20.0, 4000.0));
    assert_eq!(booked(&ledger), [5.0, 5.0], "a slot of before is not booked again");
    push(&mut ledger, 10, &|_| Does::healthy(20.0, 4000.0));
    assert_eq!(booked(&ledger), [5.0, 5.0, 1.0]);
}

#[test]
fn pieces_are_half_a_shift_where_windows_are_made_of_whole_ones() {
    let slots = |size: usize, shift: usize| {
        let ledger = Ledger::new(Params { size, shift, ..PARAMS }, 3);
        (ledger.piece_slots, ledger.window_pieces)
    };
    assert_eq!([slots(40, 10), slots(9, 3), slots(45, 30), slots(4, 1)], [(5, 8), (1, 9), (15, 3), (1, 4)]);
}

#[test]
fn a_window_of_which_half_is_booked_has_an_account() {
    let unbooked = |first: u64| {
        let mut ledger = half_idle(3, 3, 0);
        let mut found = None;
        for second in 0..40 {
            let rows = BOOKED.map(|metric| {
                let value = |member: usize| match member == 1 && second < first {
                    true => f64::NAN,
                    false => Does::healthy(20.0, 4000.0).value(metric),
                };
                (0..3).map(value).collect::<Vec<f64>>()
            });
            let row =
                |metric: Metric| Some(rows[BOOKED.iter().position(|booked| *booked == metric)?].as_slice());
            found = ledger.push(Slot(second), Recorded::new(row)).or(found);
        }
        found.unwrap()
    };
    let half = unbooked(20);
    assert_eq!(half.of(MemberIndex::new(1)).map(|account| account.seconds), Some(20.0));
    assert!(
        half.ratios[8..12].iter().all(|ratio| ratio.is_nan()),
        "pieces that are not booked have no ratio"
    );
    assert!(half.ratios[12..16].iter().all(|ratio| !ratio.is_nan()));
    assert!(unbooked(21).of(MemberIndex::new(1)).is_none());
}

#[test]
fn a_group_of_which_half_is_active_is_compared_with_its_past() {
    let group = |active: usize| {
        let mut ledger = half_idle(6, active, 400);
        let effects = ledger.effects().unwrap();
        ledger.look_back(None);
        ledger.group_effect(&effects)
    };
    assert!(group(3).is_some_and(|group| group.effect.abs() < 0.01 && group.unlike == 1.0));
    assert!(group(2).is_none());
}

#[test]
fn while_a_group_is_slow_its_past_stays() {
    let looked_back = |effect: f64| {
        let mut ledger = half_idle(4, 4, 200);
        let past = ledger.past.as_mut().unwrap();
        past.fitted.pieces = ledger.lessons.pieces / 3;
        ledger.look_back(Some(GroupEffect { effect, lost: 0.5, unlike: 1.0 }));
        ledger.past.unwrap().fitted.pieces == ledger.lessons.pieces
    };
    assert_eq!([looked_back(0.0), looked_back(OFF - 0.001), looked_back(OFF)], [true, true, false]);
}

#[test]
fn the_cost_does_not_fit_where_all_differ_from_it_or_one_is_slow() {
    let effects = |raw: [f64; 3], peer_effect: f64| {
        let mut effects = half_idle(3, 3, 80).effects().unwrap();
        for (known, raw) in effects.members.iter_mut().flatten().zip(raw) {
            known.raw = raw;
        }
        effects.peer_effect = peer_effect;
        effects.are_off()
    };
    assert!(!effects([0.0; 3], 0.0) && !effects([OFF, 0.0, -9.0], 0.0) && !effects([OFF; 3], OFF));
    assert!(effects([OFF + 0.001, 0.0, 0.0], 0.0));
    assert!(effects([0.3; 3], 0.3) && effects([-0.3; 3], -0.3));
}

#[test]
fn a_cost_that_does_not_fit_is_fitted_again_after_four_windows() {
    let mut ledger = half_idle(4, 4, 4000);
    ledger.fitted_at = ledger.windows;
    let known = ledger.fitted.unwrap().pieces;
    let mut refits = Vec::new();
    for second in 4000..4090 {
        // Every member is twice as slow, so that the cost does not fit; too little is new for a fit in turn.
        let does = |_| Does {
            service_ms: 2.0 * Does::healthy(20.0, 4000.0).service_ms,
            ..Does::healthy(20.0, 4000.0)
        };
        if push(&mut ledger, second, &does).is_some() && ledger.fitted_at == ledger.windows {
            refits.push(ledger.windows);
        }
    }
    assert!(ledger.fitted.unwrap().pieces < known + known / 8, "none was due");
    assert!(
        !refits.is_empty() && refits.windows(2).all(|pair| pair[1] - pair[0] == REFIT_WINDOWS),
        "{refits:?}"
    );
}

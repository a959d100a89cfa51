use super::super::lengths::LENGTHS;
use super::*;
use crate::compare::limp::LIMP;
use crate::diagnose::incident::Diagnosis;
use crate::diagnose::{Conclusion, Config, Diagnoser, Sample};
use crate::ids::{ComponentId, UnixSeconds};
use crate::model::groups::Observed;
use crate::model::{Metric, Roster};
use laggard_sim::chance::Chance;

const DISKS: usize = 10;
const SECONDS: i64 = 5400;

/// A disk that is slower by a factor for a time.
#[derive(Clone, Copy)]
struct Slow {
    disk: usize,
    factor: f64,
    from: i64,
    to: i64,
}

/// Disks that write, with service times that remember themselves; `scatter` is how far they are from each other.
fn recording(seed: u64, scatter: f64, slow: Option<Slow>) -> Diagnosis {
    let observed: Vec<Observed> =
        (0..DISKS).map(|disk| Observed { name: format!("d{disk}"), ..Observed::default() }).collect();
    let mut diagnoser = Diagnoser::new(Config::untrained(&LIMP, 1), Roster::new(&observed, None));
    let mut chance = Chance::new(seed);
    let mut own = [0.0; DISKS];
    for second in 0..SECONDS {
        for (disk, own) in own.iter_mut().enumerate() {
            *own = 0.9 * *own + 0.44 * scatter * chance.normal();
            let is_slow = |slow: &Slow| slow.disk == disk && (slow.from..slow.to).contains(&second);
            let factor = slow.filter(is_slow).map_or(1.0, |slow| slow.factor);
            let service_ms = 4.0 * f64::exp(*own) * factor;
            let tps = (60.0 + 10.0 * chance.normal()).max(1.0).min(1000.0 / service_ms);
            let values = [
                (Metric::Tps, tps),
                (Metric::WrSec, 64.0 * tps),
                (Metric::Util, (tps * service_ms / 10.0).min(100.0)),
                (Metric::Await, 1.5 * service_ms),
            ];
            for (metric, value) in values {
                let (time, component) = (UnixSeconds(second), ComponentId::new(disk));
                diagnoser.push(Sample { time, component, metric, value });
            }
        }
    }
    diagnoser.finish();
    diagnoser.diagnosis()
}

#[test]
fn what_is_claimed_is_found_in_four_of_five_disks_that_really_are_so_slow() {
    for scatter in [0.05, 0.3] {
        let quiet = recording(7, scatter, None);
        assert_eq!(quiet.conclusion(), Conclusion::Quiet);
        assert!(!quiet.power.is_empty(), "{:?}", quiet.power);
        for claim in &quiet.power {
            let from = |number: i64| 300 + 523 * number % (SECONDS - 300 - claim.seconds as i64).max(1);
            let found = (0..DISKS).filter(|&disk| {
                let from = from(disk as i64);
                let slow = Slow { disk, factor: claim.ratio, from, to: from + claim.seconds as i64 };
                let diagnosis = recording(7, scatter, Some(slow));
                diagnosis.incidents.iter().any(|incident| incident.component == format!("d{disk}"))
            });
            let found = found.count();
            assert!(5 * found >= 4 * DISKS, "{scatter} {claim:?}: {found} of {DISKS}");
        }
    }
    let less = |scatter: f64| {
        recording(7, scatter, None).power.iter().map(|seen| seen.ratio).fold(f64::INFINITY, f64::min)
    };
    assert!(less(0.05) < less(0.3), "where peers differ more, less is seen");
}

#[test]
fn where_nothing_is_found_it_is_blind() {
    let (without, last) = (Without::default(), FACTORS.len() - 1);
    let judged = Judged { windows: 12, shift_s: 10.0, without: &without, calibration: None };
    // The least impact that is reported in a short recording is 3.5.
    let cell = |found: usize, not: usize| {
        let early = |impact: f32| Early {
            member: MemberIndex::new(0),
            impact,
            reached: NOTHING_REACHED,
            is_rare: false,
        };
        let early = [vec![early(3.6); found], vec![early(3.4); not]].concat();
        Cell { later: Counted::default(), early }
    };
    let mut power = Power::default();
    assert!(!power.is_blind(&judged), "it was never asked");
    power.chosen = 1;
    assert!(power.is_blind(&judged), "nothing could be tried");
    power.cells[0][last] = cell(3, 2);
    assert!(power.is_blind(&judged) && power.visible(&judged).is_empty());
    power.cells[1][last] = cell(2, 0);
    assert!(power.is_blind(&judged) && power.visible(&judged).is_empty(), "too few tries to claim anything");
    power.cells[1][last] = cell(4, 1);
    assert!(!power.is_blind(&judged) && power.visible(&judged).is_empty(), "it is seen, and not always");
    power.cells[1][last] = Cell::default();
    power.cells[0][last] = cell(5, 0);
    assert_eq!(power.visible(&judged), [Visible { ratio: 10.0, seconds: 30.0 }]);
    let later = Judged { windows: 100, ..judged };
    assert!(power.is_blind(&later), "the longer the recording, the more it must weigh");
    power.cells[0][last - 2] = cell(9, 0);
    assert_eq!(power.visible(&judged).len(), 1, "a gap: what is between was not tried");
    power.cells[1] = std::array::from_fn(|factor| cell(if factor == 0 { 4 } else { 5 }, 0));
    power.cells[2] = power.cells[1].clone();
    let expected = [Visible { ratio: 10.0, seconds: 30.0 }, Visible { ratio: 2.0, seconds: 120.0 }];
    assert_eq!(power.visible(&judged), expected, "a longer time that needs as much says nothing new");
}

#[test]
fn what_began_early_and_what_began_later_are_claimed_apart() {
    let (without, last) = (Without::default(), FACTORS.len() - 1);
    let calibration = learnt();
    let judged = Judged { windows: 100, shift_s: 10.0, without: &without, calibration: Some(&calibration) };
    let visible = |found: u32, early: &[(f32, bool)]| {
        let early = early.iter().map(|&(reached, is_rare)| Early {
            member: MemberIndex::new(0),
            impact: 0.0,
            reached: [reached; LENGTHS],
            is_rare,
        });
        let mut power = Power { chosen: 1, ..Power::default() };
        power.cells[0][last] = Cell { later: Counted { tried: 9, found }, early: early.collect() };
        power.visible(&judged).len()
    };
    assert_eq!([visible(8, &[]), visible(7, &[])], [1, 0], "one more, not found, is counted");
    assert_eq!(
        [visible(8, &[(0.01, false); 4]), visible(8, &[(0.01, false); 5])],
        [1, 0],
        "four say nothing"
    );
    assert_eq!(visible(8, &[(3.0, false); 5]), 1, "what was learnt since shows that it was rare");
    assert_eq!(visible(8, &[(0.01, true); 5]), 1, "it lasted until that was known");
    assert_eq!(visible(0, &[(3.0, false); 9]), 0, "only the first hour would be seen");
}

/// A day of ten members that differ by a tenth.
fn learnt() -> Calibration {
    let mut calibration = Calibration::new(150.0, 10);
    let mut chance = Chance::new(3);
    for _ in 0..576 {
        let slowness = |_| Slowness { window: 0.1 * chance.normal(), brief: f64::NAN };
        let slowness: Vec<Slowness> = (0..10).map(slowness).collect();
        calibration.push(&slowness, Default::default(), 10);
    }
    calibration
}

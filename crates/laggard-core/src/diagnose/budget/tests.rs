use super::*;
use laggard_sim::chance::Chance;

const DAY: u64 = 576;

/// Feeds a group whose members' slowness is noise that remembers itself, as that of real disks does; the first member is slower by `extra`
/// from a window on. Returns the windows with an alarm of the first, and how many the others have.
fn run(seed: u64, members: usize, windows: u64, from: u64, extra: f64) -> (Vec<u64>, usize) {
    let mut chance = Chance::new(seed);
    let mut calibration = Calibration::new(150.0, members);
    let mut last = vec![0.0; members];
    let (mut first, mut others) = (Vec::new(), 0);
    for window in 0..windows {
        let mut next = |last: &mut f64| {
            *last = 0.5 * *last + 0.05 * chance.normal();
            *last
        };
        let mut slowness: Vec<f64> = last.iter_mut().map(&mut next).collect();
        slowness[0] += if window >= from { extra } else { 0.0 };
        let slowness: Vec<Slowness> =
            slowness.into_iter().map(|window| Slowness { window, brief: f64::NAN }).collect();
        calibration.push(&slowness, Rate::default(), members);
        for member in (0..members).map(MemberIndex::new) {
            if calibration.rarity(member).is_some_and(|seen| margin(&seen) >= 0.0) {
                calibration.note_rare(member);
                if member.index() == 0 { first.push(window) } else { others += 1 }
            }
        }
    }
    (first, others)
}

#[test]
fn a_budget_is_a_number_and_a_time() {
    let per_day = |text: &str| Rate::parse(text).map(|rate| (rate.0 * 86_400.0 * 1000.0).round() / 1000.0);
    assert_eq!([per_day("1/day"), per_day("2/week")], [Some(1.0), Some(0.286)]);
    assert_eq!(Rate::parse("1/month"), Some(Rate::default()));
    assert_eq!(Rate::parse("12/year").map(|rate| rate.0 / Rate::default().0), Some(1.0));
    assert!(
        ["", "1", "1/hour", "0/day", "-1/day", "x/day", "inf/day"]
            .iter()
            .all(|text| Rate::parse(text).is_none())
    );
}

#[test]
fn healthy_members_raise_no_alarm_in_ten_days_and_a_slow_one_does() {
    for seed in 0..4 {
        let (first, others) = run(seed, 40, 10 * DAY, u64::MAX, 0.0);
        assert_eq!((first.len(), others), (0, 0), "seed {seed}");
    }
    let (first, others) = run(9, 40, 5 * DAY, 4 * DAY, 1.2);
    assert_eq!(others, 0);
    // Three windows of four, and the floor of ten minutes is 1.45 times.
    assert_eq!(first.first().map(|window| window - 4 * DAY), Some(2));
}

#[test]
fn a_mild_slowness_is_told_when_it_has_lasted() {
    let after = |extra: f64| {
        let (first, others) = run(9, 40, 8 * DAY, 4 * DAY, extra);
        assert_eq!(others, 0);
        first.first().map(|window| window - 4 * DAY)
    };
    let (half, fifth) = (after(0.4).expect("1.5 times"), after(0.18).expect("1.2 times"));
    assert!(half < 24 && half < fifth && fifth < DAY, "after {half} and {fifth} windows");
    assert_eq!(after(0.05), None, "5 % is within the spread");
}

#[test]
fn a_member_that_was_slow_from_the_start_does_not_teach_what_chance_is() {
    let (first, others) = run(3, 12, 2 * DAY, 0, 0.7);
    assert_eq!(others, 0);
    assert!(first.first().is_some_and(|window| *window < DAY), "{:?}", first.first());
}

#[test]
fn fewer_than_five_members_do_not_show_what_chance_is() {
    let known = |members: usize| {
        let mut calibration = Calibration::new(150.0, members);
        let slowness = Slowness { window: 0.1, brief: 0.1 };
        (0..100).for_each(|_| calibration.push(&vec![slowness; members], Rate::default(), members));
        calibration.is_known()
    };
    assert_eq!([known(4), known(5)], [false, true]);
}

#[test]
fn what_is_beyond_the_bar_is_no_more_frequent_than_the_budget_and_what_is_not_may_be() {
    let rate = |extra: f64| {
        let mut chance = Chance::new(5);
        let mut calibration = Calibration::new(150.0, 40);
        for window in 0..3 * DAY {
            let mut slowness: Vec<f64> = (0..40).map(|_| 0.05 * chance.normal()).collect();
            slowness[0] += if window >= 3 * DAY - 8 { extra } else { 0.0 };
            let slowness: Vec<Slowness> =
                slowness.into_iter().map(|window| Slowness { window, brief: f64::NAN }).collect();
            calibration.push(&slowness, Rate::default(), 40);
        }
        calibration.rarity(MemberIndex::new(0)).expect("known").rate / Rate::default().0
    };
    assert!(rate(1.5) <= 1.0 && rate(0.0) > 1.0, "{} {}", rate(1.5), rate(0.0));
}

//! What was not seen is undecided, never healthy.

use super::*;
use crate::diagnose::Conclusion;

#[test]
fn a_disk_without_data_is_undecided_among_healthy_ones() {
    let (diagnosis, _) = run(config(&CDF), disks(8), awaits(8, 0..600, |disk, _| (disk != 5).then_some(5.0)));
    let verdicts: Vec<&str> = diagnosis.components.iter().map(|known| known.verdict.name()).collect();
    let is_undecided = |verdict: &&str| *verdict == "undecided";
    assert_eq!(verdicts.iter().filter(|verdict| is_undecided(verdict)).count(), 1, "{verdicts:?}");
    assert_eq!(verdicts[5], "undecided");
}

/// Forty disks of which one has requests of another size all the time: requests each second, percent of the time busy.
fn unlike_disk(requests_s: f64, busy: f64) -> &'static str {
    let samples =
        (0..200).flat_map(|second| (0..40).map(move |disk| (second, disk))).flat_map(|(second, disk)| {
            let (requests_s, busy) = if disk == 7 { (requests_s, busy) } else { (20.0, 20.0) };
            [(Metric::RdSec, 4000.0), (Metric::Tps, requests_s), (Metric::Util, busy)].map(
                |(metric, level)| sample_of(second, disk, metric, level * (0.9 + 0.2 * noise(disk, second))),
            )
        });
    let verdict = run(config(&LIMP), disks(40), samples).0.components[ComponentId::new(7)].verdict.clone();
    verdict.name()
}

#[test]
fn a_disk_whose_work_is_unlike_its_peers_all_the_time_is_undecided_and_not_healthy() {
    assert_eq!(unlike_disk(20.0, 20.0), "healthy");
    assert_eq!(unlike_disk(5.0, 20.0), "healthy", "larger requests that cost no more");
    assert_eq!(unlike_disk(5.0, 40.0), "undecided", "they may cost twice as much");
    assert_eq!(unlike_disk(5.0, 90.0), "suspect", "but not four times");
}

/// Verdicts of eight servers; the sixth is without the samples that `is_missing` says.
fn with_missing(
    thresholds: Option<Thresholds>,
    is_missing: impl Fn(Metric, i64) -> bool,
) -> Vec<&'static str> {
    let observed: Vec<Observed> = (0..8)
        .map(|n| Observed { name: format!("oss{n}"), has_network: true, ..Observed::default() })
        .collect();
    let metrics = [(Metric::WrSec, 9000.0), (Metric::Await, 5.0), (Metric::Rxbyt, 4e6)];
    let mut samples = Vec::new();
    for (second, server) in (0..400).flat_map(|second| (0..8).map(move |server| (second, server))) {
        for (metric, level) in metrics {
            if server != 5 || !is_missing(metric, second) {
                let value = level * (0.9 + 0.2 * noise(server, second));
                samples.push(sample_of(second, server, metric, value));
            }
        }
    }
    let (diagnosis, _) = run(Config { thresholds, ..config(&LIMP) }, Roster::new(&observed, None), samples);
    diagnosis.components.iter().map(|known| known.verdict.name()).collect()
}

fn sixth(verdict: &'static str) -> Vec<&'static str> {
    let mut verdicts = vec!["healthy"; 8];
    verdicts[5] = verdict;
    verdicts
}

#[test]
fn a_server_whose_disks_are_not_recorded_for_most_of_the_time_is_undecided() {
    let is_disk = |metric: Metric| metric != Metric::Rxbyt;
    assert_eq!(with_missing(None, |_, _| false), sixth("healthy"));
    assert_eq!(with_missing(None, |metric, second| is_disk(metric) && second >= 60), sixth("undecided"));
    assert_eq!(with_missing(None, |metric, second| is_disk(metric) && second >= 330), sixth("healthy"));
    let is_idle = |metric: Metric, _| metric == Metric::Await;
    assert_eq!(with_missing(None, is_idle), sixth("healthy"), "without requests there is no latency");
}

#[test]
fn a_server_that_falls_silent_is_undecided_also_with_trained_thresholds() {
    let entry = Trained::new(&LIMP, Metric::WrSec, 1, (0..8).map(|_| ("oss0", Some(50.0))));
    let thresholds = Thresholds::new("a test".into(), vec![entry]);
    let verdicts = with_missing(Some(thresholds), |_, second| second >= 30);
    assert_eq!(verdicts, sixth("undecided"));
}

#[test]
fn a_disk_that_was_exchanged_is_undecided_and_the_new_one_healthy() {
    let level = |disk: usize, slot: i64| {
        let is_there = match disk {
            5 => slot < 200,
            8 => slot >= 200,
            _ => true,
        };
        is_there.then_some(5.0)
    };
    let (diagnosis, _) = run(config(&CDF), disks(9), awaits(9, 0..600, level));
    let verdicts: Vec<&str> = diagnosis.components.iter().map(|known| known.verdict.name()).collect();
    let mut expected = vec!["healthy"; 9];
    expected[5] = "undecided";
    assert_eq!(verdicts, expected);
}

#[test]
fn where_most_of_a_group_could_not_be_judged_nothing_suspect_is_no_all_clear() {
    let with = |recorded: usize| {
        let metrics = |disk: usize| {
            if disk < recorded { vec![Metric::Await, Metric::Rxbyt] } else { vec![Metric::Rxbyt] }
        };
        let samples =
            (0..300).flat_map(|slot| (0..8).map(move |disk| (slot, disk))).flat_map(|(slot, disk)| {
                metrics(disk).into_iter().map(move |metric| {
                    sample_of(slot * 15, disk, metric, 5.0 * (0.9 + 0.2 * noise(disk, slot)))
                })
            });
        run(config(&CDF), disks(8), samples.collect::<Vec<_>>()).0.conclusion()
    };
    assert_eq!(with(8), Conclusion::Quiet);
    assert_eq!(with(5), Conclusion::Quiet, "three undecided ones of eight are listed");
    assert_eq!(with(3), Conclusion::Undecided, "five of eight are too many");
}

/// Twelve disks of which most are recorded up to a slot only.
fn abandoned(members: usize, left: usize, until: i64) -> (Diagnosis, Vec<&'static str>) {
    let is_there = move |disk: usize, slot: i64| disk < left || slot < until;
    let samples = awaits(members, 0..1800, |disk, slot| is_there(disk, slot).then_some(5.0));
    let (diagnosis, _) = run(config(&LIMP), disks(members), samples);
    let verdicts = diagnosis.components.iter().map(|known| known.verdict.name()).collect();
    (diagnosis, verdicts)
}

#[test]
fn a_group_of_which_most_is_no_longer_recorded_is_undecided() {
    for (members, left, until) in [(12, 2, 1000), (12, 2, 1600), (3, 2, 900), (4, 2, 600)] {
        let (diagnosis, verdicts) = abandoned(members, left, until);
        let conclusion = diagnosis.conclusion();
        assert_eq!(conclusion, Conclusion::Undecided, "{left} of {members} from {until} on: {verdicts:?}");
    }
    let (diagnosis, verdicts) = abandoned(12, 12, 0);
    assert_eq!(diagnosis.conclusion(), Conclusion::Quiet, "{verdicts:?}");
}

#[test]
fn where_nothing_tells_how_slow_disks_are_it_is_blind() {
    let of = |metric: Metric| {
        let samples = awaits(6, 0..600, |_, _| Some(5.0)).into_iter();
        let samples = samples.map(|sample| Sample { metric, value: 900.0 * sample.value, ..sample });
        run(config(&LIMP), disks(6), samples).0.conclusion()
    };
    assert_eq!([of(Metric::WrSec), of(Metric::Await)], [Conclusion::Undecided, Conclusion::Quiet]);
}

#[test]
fn windows_of_a_metric_that_paused_do_not_count_for_the_window_of_now() {
    let servers: Vec<Observed> = (0..6)
        .map(|n| Observed { name: format!("oss{n}"), has_network: true, ..Observed::default() })
        .collect();
    let roster = Roster::new(&servers, None);
    // Traffic is not recorded for a while, and its last windows, in which the first server had a hog, come when it is again.
    let of_second = |second: i64| {
        let sample = move |server: usize| {
            let wobble = 0.95 + 0.1 * noise(server, second);
            let is_hog = server == 0 && second < 100;
            let traffic = if is_hog { 5e7 } else { 1e7 };
            let latency = Some(sample_of(second, server, Metric::Await, 5.0 * wobble));
            let is_recorded = !(100..160).contains(&second);
            let traffic = is_recorded.then(|| sample_of(second, server, Metric::Rxbyt, traffic * wobble));
            latency.into_iter().chain(traffic)
        };
        (0..6).flat_map(sample)
    };
    let mut diagnoser = Diagnoser::new(config(&LIMP), roster);
    let mut before = 0;
    for second in 0..161 {
        if second == 160 {
            diagnoser.drain();
            before = diagnoser.histories[ComponentId::new(0)].accumulator;
        }
        of_second(second).for_each(|sample| diagnoser.push(sample));
    }
    diagnoser.finish();
    let after = diagnoser.histories[ComponentId::new(0)].accumulator;
    assert!(before > 0, "the hog was seen");
    assert!(after < before, "{before}, then {after}: the window of now is quiet");
}

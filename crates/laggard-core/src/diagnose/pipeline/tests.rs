mod coverage;

use super::*;
use crate::compare::{Method, limp::LIMP};
use crate::compare::{cdf::CDF, kl::KL};
use crate::diagnose::case::Relation;
use crate::diagnose::training::Trained;
use crate::diagnose::{Cause, Diagnosis};
use crate::diagnose::{Repair, Thresholds};
use crate::model::Kind;
use crate::model::groups::Observed;
use proptest::prelude::*;

fn roster(names: &[String]) -> Roster {
    let observed: Vec<Observed> =
        names.iter().map(|name| Observed { name: name.clone(), ..Observed::default() }).collect();
    Roster::new(&observed, None)
}

fn disks(count: usize) -> Roster {
    roster(&(0..count).map(|number| format!("disk{number:02}")).collect::<Vec<_>>())
}

fn config(method: &'static Method) -> Config {
    Config::untrained(method, method.params.interval_s)
}

/// Noise that differs by component and slot, the same every time.
fn noise(component: usize, slot: i64) -> f64 {
    let mut x = (component as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (slot as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 31;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 40) as f64 / (1u64 << 24) as f64
}

fn run(config: Config, roster: Roster, samples: impl IntoIterator<Item = Sample>) -> (Diagnosis, Vec<Event>) {
    let mut diagnoser = Diagnoser::new(config, roster);
    samples.into_iter().for_each(|sample| diagnoser.push(sample));
    diagnoser.finish();
    (diagnoser.diagnosis(), diagnoser.drain())
}

fn awaits(
    components: usize,
    slots: std::ops::Range<i64>,
    level: impl Fn(usize, i64) -> Option<f64> + Copy,
) -> Vec<Sample> {
    let sample = move |slot: i64, component: usize| {
        let value = level(component, slot)? * (0.9 + 0.2 * noise(component, slot));
        Some(sample_of(slot * 15, component, Metric::Await, value))
    };
    slots.flat_map(move |slot| (0..components).filter_map(move |component| sample(slot, component))).collect()
}

fn sample_of(second: i64, component: usize, metric: Metric, value: f64) -> Sample {
    Sample { time: UnixSeconds(second), component: ComponentId::new(component), metric, value }
}

fn accused(diagnosis: &Diagnosis) -> Vec<&str> {
    diagnosis.incidents.iter().map(|incident| incident.component.as_str()).collect()
}

#[test]
fn one_slow_disk_is_indicted_and_dated() {
    let (diagnosis, _) = run(
        config(&CDF),
        disks(12),
        awaits(12, 0..600, |disk, slot| Some(if disk == 4 && slot >= 300 { 15.0 } else { 5.0 })),
    );
    assert_eq!(accused(&diagnosis), ["disk04"]);
    let incident = &diagnosis.incidents[0];
    let onset = incident.first.0 / 15;
    assert!((onset - 300).abs() <= 30, "onset at {onset}");
    assert_eq!(incident.cause.name(), "disk-busy");
}

#[test]
fn what_differs_tells_before_what_is_alike_however_severe() {
    let (mut diagnosis, _) = run(
        config(&CDF),
        disks(8),
        awaits(8, 0..600, |disk, slot| Some(if disk == 4 && slot >= 300 { 15.0 } else { 5.0 })),
    );
    let incident = &mut diagnosis.incidents[0];
    let mut seen = incident.telling().expect("it has evidence").1.peak;
    incident.cause = Cause::NetworkHog;
    incident.episode.observe(Metric::Rxbyt, &CDF, UnixSeconds(0), seen);
    (seen.relation, seen.score) = (Relation::Alike, 1000.0 * seen.threshold);
    incident.episode.observe(Metric::Txbyt, &CDF, UnixSeconds(0), seen);
    assert_eq!(incident.telling().map(|(metric, _)| metric), Some(Metric::Rxbyt));
}

#[test]
fn a_disk_that_was_always_slow_is_found_untrained() {
    let (diagnosis, _) =
        run(config(&CDF), disks(8), awaits(8, 0..600, |disk, _| Some(if disk == 0 { 12.0 } else { 5.0 })));
    assert_eq!(accused(&diagnosis), ["disk00"]);
    assert_eq!(diagnosis.incidents[0].first, UnixSeconds(0));
}

#[test]
fn a_change_of_workload_is_no_fault() {
    let (diagnosis, _) = run(
        config(&CDF),
        disks(12),
        awaits(12, 0..900, |_, slot| Some(if slot >= 450 { 25.0 } else { 5.0 })),
    );
    assert!(diagnosis.incidents.is_empty(), "{:?}", accused(&diagnosis));
}

#[test]
fn hours_in_which_nobody_was_recorded_are_a_gap_not_evidence() {
    let three_hours_a_day = |slot: i64| slot % 5760 < 720;
    let samples = awaits(12, 0..5760 * 4, move |disk, slot| {
        three_hours_a_day(slot).then_some(if disk == 3 { 16.0 } else { 5.0 })
    });
    let (diagnosis, events) = run(config(&CDF), disks(12), samples);
    assert_eq!(accused(&diagnosis), ["disk03"]);
    let gaps: Vec<_> =
        diagnosis.gaps.iter().map(|gap| (gap.component.as_str(), gap.from.0 / 15, gap.to.0 / 15)).collect();
    assert_eq!(gaps, [("devices", 720, 5760), ("devices", 6480, 11520), ("devices", 12240, 17280)]);
    let decided = events.iter().filter(|event| matches!(event, Event::Persistence { .. })).count();
    assert!((90..110).contains(&decided), "four times three hours, not four days: {decided}");
}

#[test]
fn a_component_that_falls_silent_is_suspect_and_a_gap() {
    let (diagnosis, _) =
        run(config(&CDF), disks(8), awaits(8, 0..900, |disk, slot| (disk != 2 || slot < 400).then_some(5.0)));
    assert_eq!(accused(&diagnosis), ["disk02"]);
    assert_eq!(diagnosis.incidents[0].cause.name(), "silent");
    assert!(diagnosis.gaps.iter().any(|gap| gap.component == "disk02" && gap.from.0 == 400 * 15));
}

#[test]
fn silence_is_one_trouble_and_does_not_prolong_another() {
    let lossy = |second: i64| if (100..160).contains(&second) { 2.0 } else { 60.0 };
    let seen = |is_silent: bool| {
        let gone = |second: i64| is_silent && second >= 200;
        let window = |second: i64| if gone(second) { f64::NAN } else { lossy(second) };
        let latency = |second: i64| if gone(second) { f64::NAN } else { 20.0 };
        let metrics: [(Metric, f64, Own); 2] =
            [(Metric::CwndToClients, 60.0, &window), (Metric::Await, 20.0, &latency)];
        let diagnosis = servers(&LIMP, 500, &metrics);
        let of_network = |incident: &&crate::diagnose::Incident| incident.cause == Cause::PacketLoss;
        let loss = diagnosis.incidents.iter().find(of_network).expect("the loss was told");
        (loss.persistence, loss.is_open)
    };
    assert_eq!(seen(true), seen(false));
}

#[test]
fn a_disk_that_falls_silent_is_suspect_also_where_only_volumes_are_recorded() {
    let volumes = awaits(8, 0..900, |disk, slot| (disk != 2 || slot < 400).then_some(50_000.0));
    let samples = volumes.into_iter().map(|sample| Sample { metric: Metric::WrSec, ..sample });
    let (diagnosis, _) = run(config(&CDF), disks(8), samples);
    assert_eq!(accused(&diagnosis), ["disk02"]);
    assert_eq!(diagnosis.incidents[0].cause.name(), "silent");
}

#[test]
fn a_component_that_joins_late_is_not_missed_before() {
    let (diagnosis, _) = run(
        config(&CDF),
        disks(8),
        awaits(8, 0..900, |disk, slot| (disk != 2 || slot >= 400).then_some(5.0)),
    );
    assert!(diagnosis.incidents.is_empty(), "{:?}", accused(&diagnosis));
}

#[test]
fn two_peers_are_undecided_never_healthy() {
    let (diagnosis, _) =
        run(config(&CDF), disks(2), awaits(2, 0..600, |disk, _| Some(if disk == 0 { 50.0 } else { 5.0 })));
    assert!(diagnosis.no_all_clear.is_some());
    assert!(diagnosis.components.iter().all(|known| known.verdict.name() == "undecided"));
}

#[test]
fn a_short_recording_says_how_much_is_needed() {
    let (diagnosis, _) = run(config(&CDF), disks(5), awaits(5, 0..40, |_, _| Some(5.0)));
    let undecided = diagnosis.undecided_groups[GroupId::new(0)].as_ref().unwrap();
    assert_eq!(undecided.rule.id, "few-windows");
    assert!(undecided.reason.to_string().contains("1800 s"), "{}", undecided.reason);
}

#[test]
fn resolved_zeroes_the_accumulator_and_what_comes_after_is_new() {
    let slow =
        |disk: usize, slot: i64| Some(if disk == 1 && (100..400).contains(&slot) { 15.0 } else { 5.0 });
    let mut repaired = config(&CDF);
    repaired.resolved = vec![Repair { component: ComponentId::new(1), at: UnixSeconds(460 * 15) }];
    let (diagnosis, _) = run(repaired.clone(), disks(8), awaits(8, 0..900, slow));
    assert!(diagnosis.incidents.is_empty(), "{:?}", accused(&diagnosis));
    let again =
        move |disk: usize, slot: i64| if disk == 1 && slot >= 700 { Some(15.0) } else { slow(disk, slot) };
    let (diagnosis, _) = run(repaired, disks(8), awaits(8, 0..1100, again));
    assert_eq!(accused(&diagnosis), ["disk01"]);
    assert!(diagnosis.incidents[0].first.0 >= 650 * 15);
}

#[test]
fn trained_thresholds_decide_alone() {
    let names: Vec<String> = (0..8).map(|disk| format!("disk{disk:02}")).collect();
    let entry = |value: f64| {
        let learnt = names.iter().map(|name| (name.as_str(), Some(value)));
        Trained::new(&CDF, Metric::Await, 15, learnt)
    };
    let slow = |disk: usize, slot: i64| Some(if disk == 5 && slot >= 200 { 15.0 } else { 5.0 });
    for (value, expected) in [(3.0, 1), (1e6, 0)] {
        let file = Thresholds::new(String::new(), vec![entry(value)]);
        let trained = Config { thresholds: Some(file), ..config(&CDF) };
        let (diagnosis, _) = run(trained, disks(8), awaits(8, 0..600, slow));
        assert_eq!(diagnosis.incidents.len(), expected, "threshold {value}");
        assert!(diagnosis.trained);
    }
}

#[test]
fn a_lossy_server_is_indicted_by_its_congestion_window() {
    let observed: Vec<Observed> = (0..9)
        .map(|n| Observed { name: format!("oss{n}"), has_network: true, ..Observed::default() })
        .collect();
    let mut samples = Vec::new();
    for second in 0..400 {
        for component in 0..9 {
            let usual = 100.0 * (0.5 + noise(component, second));
            let value = if component == 7 && second >= 200 { 1.5 } else { usual };
            samples.push(sample_of(second, component, Metric::CwndFromClients, value));
        }
    }
    let (diagnosis, _) = run(config(&KL), Roster::new(&observed, None), samples);
    assert_eq!(accused(&diagnosis), ["oss7"]);
    assert_eq!(diagnosis.incidents[0].cause.name(), "packet-loss");
    assert!(diagnosis.incidents[0].persistence >= 3);
}

#[test]
fn a_congestion_window_that_stands_still_is_no_loss() {
    let observed: Vec<Observed> = (0..9)
        .map(|n| Observed { name: format!("oss{n}"), has_network: true, ..Observed::default() })
        .collect();
    let with = |own: &dyn Fn(i64) -> f64| {
        let mut samples = Vec::new();
        for (second, component) in
            (0..400).flat_map(|second| (0..9).map(move |component| (second, component)))
        {
            let usual = 100.0 * (0.5 + noise(component, second));
            let value = if component == 7 { own(second) } else { usual };
            samples.push(sample_of(second, component, Metric::CwndFromClients, value));
        }
        run(config(&KL), Roster::new(&observed, None), samples).0
    };
    assert_eq!(accused(&with(&|_| 5.0)), Vec::<&str>::new(), "it remembers a loss of long ago");
    assert_eq!(accused(&with(&|second| 4.0 + 2.0 * noise(7, second))), ["oss7"], "it backs off all the time");
    assert_eq!(accused(&with(&|_| 1.0)), ["oss7"], "it is held down");
}

#[test]
fn loss_is_told_where_packets_sent_again_were_recorded_only_long_ago() {
    let with = |resent_until: i64, own_until: i64| {
        let observed: Vec<Observed> = (0..6)
            .map(|n| Observed { name: format!("oss{n}"), has_network: true, ..Observed::default() })
            .collect();
        let samples = (0..400).flat_map(|second| {
            (0..6).flat_map(move |server| {
                let is_lossy = server == 3 && second >= 250;
                let cwnd =
                    if is_lossy { 1.0 + noise(server, second) } else { 90.0 + 9.0 * noise(server, second) };
                let until = if server == 3 { own_until } else { resent_until };
                let resent =
                    (second < until).then(|| sample_of(second, server, Metric::RetransToClients, 0.0));
                resent.into_iter().chain([sample_of(second, server, Metric::CwndToClients, cwnd)])
            })
        });
        run(config(&LIMP), Roster::new(&observed, None), samples).0
    };
    for resent_until in [0, 5, 100] {
        assert_eq!(accused(&with(resent_until, resent_until)), ["oss3"], "recorded for {resent_until} s");
    }
    assert_eq!(accused(&with(400, 100)), ["oss3"], "no longer recorded of this one");
    assert!(accused(&with(400, 400)).is_empty(), "nothing was sent again");
}

/// What a server has in a metric at a second.
type Own<'a> = &'a dyn Fn(i64) -> f64;

/// Nine servers over some seconds; each metric with what is usual, and what the last but one has instead.
fn servers(method: &'static Method, seconds: i64, metrics: &[(Metric, f64, Own)]) -> Diagnosis {
    let observed: Vec<Observed> = (0..9)
        .map(|n| Observed { name: format!("oss{n}"), has_network: true, ..Observed::default() })
        .collect();
    let mut samples = Vec::new();
    for (second, component) in
        (0..seconds).flat_map(|second| (0..9).map(move |component| (second, component)))
    {
        let vary = 0.9 + 0.2 * noise(component, second);
        for &(metric, usual, own) in metrics {
            let value = if component == 7 { own(second) } else { usual } * vary;
            samples.push(sample_of(second, component, metric, value));
        }
    }
    run(config(method), Roster::new(&observed, None), samples).0
}

/// Nine servers of which one does something else from 150 s on: sectors read and requests each second, ms of service.
fn doing(read: f64, requests_s: f64, service_ms: f64, sent: f64) -> Diagnosis {
    let from = |usual: f64, odd: f64| move |second: i64| if second >= 150 { odd } else { usual };
    servers(
        &LIMP,
        400,
        &[
            (Metric::RdSec, 4000.0, &from(4000.0, read)),
            (Metric::Tps, 20.0, &from(20.0, requests_s)),
            (Metric::Await, 20.0, &from(20.0, 2.0 * service_ms)),
            (Metric::Util, 20.0, &from(20.0, requests_s * service_ms / 10.0)),
            (Metric::Txbyt, 2e6, &from(2e6, sent)),
            (Metric::Rxbyt, 1e5, &from(1e5, 1e5)),
        ],
    )
}

#[test]
fn a_disk_with_more_to_do_is_a_hog_or_a_load_by_what_the_network_says_and_a_slow_one_is_neither() {
    let hog = doing(16_000.0, 80.0, 10.0, 2e6);
    assert_eq!(accused(&hog), ["oss7"]);
    assert_eq!(hog.incidents[0].cause, Cause::DiskHog);
    let asked = doing(16_000.0, 80.0, 10.0, 8e6);
    assert!(asked.incidents.is_empty(), "{:?}", accused(&asked));
    assert_eq!(asked.observations.len(), 1);
    assert_eq!(
        (asked.observations[0].component.as_str(), asked.observations[0].cause),
        ("oss7", Cause::Load)
    );
    assert_eq!(asked.conclusion(), crate::diagnose::Conclusion::Quiet, "nobody is woken for a load");
    let slow = doing(4000.0, 40.0, 20.0, 2e6);
    assert_eq!(accused(&slow), ["oss7"], "twice as many requests for the same work do not excuse it");
    assert!(matches!(slow.incidents[0].cause, Cause::DiskBusy | Cause::FailSlow));
}

/// Nine servers that do the same, all at a speed of their own after a while: requests each second, ms of service.
fn all_doing(service_ms: &dyn Fn(i64) -> f64, read: &dyn Fn(i64) -> f64) -> Diagnosis {
    let observed: Vec<Observed> = (0..9)
        .map(|n| Observed { name: format!("oss{n}"), has_network: true, ..Observed::default() })
        .collect();
    let mut samples = Vec::new();
    for (second, component) in (0..900).flat_map(|second| (0..9).map(move |component| (second, component))) {
        let requests_s = 20.0 * (0.8 + 0.4 * noise(component, second));
        let read = read(second);
        let values = [
            (Metric::RdSec, 200.0 * requests_s * read),
            (Metric::WrSec, 200.0 * requests_s * (1.0 - read)),
            (Metric::Tps, requests_s),
            (Metric::Await, 2.0 * service_ms(second)),
            (Metric::Util, requests_s * service_ms(second) / 10.0),
        ];
        samples.extend(values.map(|(metric, value)| sample_of(second, component, metric, value)));
    }
    run(config(&LIMP), Roster::new(&observed, None), samples).0
}

#[test]
fn a_group_that_is_slow_as_a_whole_is_said_and_nobody_is_accused() {
    let slow =
        |factor: f64| move |second: i64| if (400..700).contains(&second) { 10.0 * factor } else { 10.0 };
    let found = all_doing(&slow(3.0), &|_| 1.0);
    assert!(found.incidents.is_empty(), "{:?}", accused(&found));
    let [group] = found.observations.as_slice() else { panic!("{:?}", found.observations) };
    assert_eq!(
        (group.component.as_str(), group.kind, group.cause),
        ("servers", Kind::Group, Cause::EverybodySlow)
    );
    assert!((360..=440).contains(&group.first.0) && (700..800).contains(&group.last.0), "{group:?}");
    assert!(!group.is_open && group.explains.is_empty());
    assert_eq!(found.conclusion(), crate::diagnose::Conclusion::Quiet, "another workload looks the same");
    let little = all_doing(&slow(1.6), &|_| 1.0);
    assert!(little.observations.is_empty() && little.incidents.is_empty());
    let other_work = all_doing(&slow(3.0), &|second| if second >= 400 { 0.0 } else { 1.0 });
    assert!(other_work.observations.is_empty(), "writes were never seen before");
}

#[test]
fn two_troubles_of_one_server_are_two_incidents_and_two_times_of_one_are_told() {
    let at = |from: i64, to: i64, usual: f64, odd: f64| {
        move |second: i64| if (from..to).contains(&second) { odd } else { usual }
    };
    let both = servers(
        &LIMP,
        900,
        &[
            (Metric::WrSec, 4000.0, &|_| 4000.0),
            (Metric::Tps, 20.0, &|_| 20.0),
            (Metric::Util, 20.0, &|second| {
                if (150..300).contains(&second) || second >= 700 { 80.0 } else { 20.0 }
            }),
            (Metric::Rxbyt, 2e6, &at(250, 500, 2e6, 9e6)),
        ],
    );
    let mut said: Vec<(Cause, bool)> =
        both.incidents.iter().map(|incident| (incident.cause, incident.is_open)).collect();
    said.sort_unstable();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.contains(&(Cause::NetworkHog, false)), "{said:?}");
    let slow = both.incidents.iter().find(|incident| incident.cause != Cause::NetworkHog).unwrap();
    let [first, second] = slow.times.as_slice() else { panic!("{:?}", slow.times) };
    assert!(first.1.0 < 400 && second.0.0 > 600 && slow.is_open, "it came again: {:?}", slow.times);
}

#[test]
fn what_a_slow_disk_has_to_catch_up_with_is_no_hog() {
    let slow = |second: i64| if (100..300).contains(&second) { 50.0 } else { 5.0 };
    let diagnose = |more: &dyn Fn(i64) -> f64| {
        let found = servers(&KL, 700, &[(Metric::WrSec, 400.0, more), (Metric::Await, 5.0, &slow)]);
        assert_eq!(accused(&found), ["oss7"]);
        found.incidents[0].cause.name()
    };
    assert_eq!(diagnose(&|second| if second >= 290 { 1600.0 } else { 400.0 }), "disk-busy");
    assert_eq!(diagnose(&|second| if second >= 100 { 1600.0 } else { 400.0 }), "disk-hog");
}

#[test]
fn a_server_that_was_asked_more_often_and_then_has_a_slow_disk_has_no_hog() {
    let fault = 200..500;
    let own = |before: f64, during: f64| {
        let fault = fault.clone();
        move |second: i64| if fault.contains(&second) { during } else { before }
    };
    let found = servers(
        &LIMP,
        500,
        &[
            (Metric::WrSec, 600.0, &own(1200.0, 600.0)),
            (Metric::Tps, 50.0, &own(90.0, 27.0)),
            (Metric::Svctm, 5.0, &own(5.0, 37.0)),
            (Metric::Await, 5.0, &own(5.0, 150.0)),
        ],
    );
    assert_eq!(accused(&found), ["oss7"]);
    assert!(matches!(found.incidents[0].cause, Cause::DiskBusy | Cause::FailSlow));
}

/// The accumulator of one component after each window.
fn accumulators(events: &[Event], component: usize) -> Vec<u32> {
    let of = |event: &Event| match event {
        Event::Persistence { ranking, .. } => {
            let place = ranking.iter().find(|place| place.component.index() == component);
            Some(place.map_or(0, |place| place.accumulator))
        }
        Event::Window(_) => None,
    };
    events.iter().filter_map(of).collect()
}

#[test]
fn a_metric_that_explains_does_not_go_on_indicting_for_another() {
    // A latency for 100 s. Then, for long, a little more to write, on and off: each window in which it exceeds is quiet by itself,
    // and so is each in which only the filter remembers it.
    let observed: Vec<Observed> = (0..9)
        .map(|n| Observed { name: format!("oss{n}"), has_network: true, ..Observed::default() })
        .collect();
    let mut samples = Vec::new();
    for (second, component) in (0..900).flat_map(|second| (0..9).map(move |component| (second, component))) {
        let vary = 0.95 + 0.1 * noise(component, second);
        let is_odd = component == 7;
        let latency = if is_odd && (100..200).contains(&second) { 50.0 } else { 5.0 };
        let volume = if is_odd && second >= 200 && second % 60 < 40 { 1500.0 } else { 400.0 };
        samples.push(sample_of(second, component, Metric::Await, latency * vary));
        samples.push(sample_of(second, component, Metric::WrSec, volume * vary));
    }
    let limp = &LIMP;
    let (_, events) = run(config(limp), Roster::new(&observed, None), samples);
    let seen = accumulators(&events, 7);
    let peak = seen.iter().copied().max().unwrap();
    assert!((6..=14).contains(&peak), "about ten windows of latency: {seen:?}");
    let after = seen.iter().rposition(|value| *value == peak).unwrap();
    assert!(seen[after..].windows(2).all(|pair| pair[1] <= pair[0]), "it only falls: {seen:?}");
    assert_eq!(seen.last(), Some(&0), "{seen:?}");
}

#[test]
fn incidents_are_ordered_by_persistence_and_severity() {
    // LISA'13, section 7: a short but violent trouble comes before a long mild one.
    let levels = |disk: usize, slot: i64| {
        Some(match disk {
            2 if slot >= 300 => 9.0,
            6 if (300..420).contains(&slot) => 900.0,
            _ => 5.0,
        })
    };
    let (diagnosis, _) = run(config(&CDF), disks(16), awaits(16, 0..900, levels));
    let found: Vec<(&str, u32)> = diagnosis
        .incidents
        .iter()
        .map(|incident| (incident.component.as_str(), incident.persistence))
        .collect();
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["disk06", "disk02"], "{found:?}");
    assert!(found[0].1 < found[1].1, "the more violent one is less persistent: {found:?}");
}

fn slow_fourth(disk: usize, slot: i64) -> Option<f64> {
    (!(slot % 97 < 3 && disk == 1)).then_some(if disk == 4 && slot >= 200 { 14.0 } else { 5.0 })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn verdicts_do_not_depend_on_chunks(cuts in proptest::collection::vec(1usize..2500, 0..12)) {
        let samples = awaits(6, 0..420, slow_fourth);
        let (whole, events) = run(config(&CDF), disks(6), samples.clone());
        let mut diagnoser = Diagnoser::new(config(&CDF), disks(6));
        let mut gathered = Vec::new();
        for (index, sample) in samples.into_iter().enumerate() {
            diagnoser.push(sample);
            if cuts.contains(&index) {
                let _ = diagnoser.diagnosis();
                gathered.extend(diagnoser.drain());
            }
        }
        diagnoser.finish();
        gathered.extend(diagnoser.drain());
        // Text, because undecided windows hold NaN.
        prop_assert_eq!(format!("{:?}", diagnoser.diagnosis()), format!("{whole:?}"));
        prop_assert_eq!(format!("{gathered:?}"), format!("{events:?}"));
    }

    #[test]
    fn late_samples_within_the_lateness_change_nothing(swaps in proptest::collection::vec((0usize..2400, 1usize..18), 0..60)) {
        let mut samples = awaits(6, 0..420, slow_fourth);
        let patient = Config { lateness_slots: 4, ..config(&CDF) };
        let (ordered, _) = run(patient.clone(), disks(6), samples.clone());
        for (at, back) in swaps {
            let from = at.saturating_sub(back);
            samples[from..=at].rotate_right(1);
        }
        let distance = |index: usize| samples[..index].iter().map(|sample| sample.time.0).max().unwrap_or(0) - samples[index].time.0;
        prop_assume!((0..samples.len()).all(|index| distance(index) <= 4 * 15));
        let (shuffled, _) = run(patient, disks(6), samples);
        prop_assert_eq!(format!("{ordered:?}"), format!("{shuffled:?}"));
    }

    /// What is explained is judged like everything else, trained or not, also where a component falls silent.
    #[test]
    fn asking_for_an_explanation_changes_no_verdict(slow in 0usize..6, silent in 0usize..6, trained in proptest::bool::ANY, method in 0usize..4) {
        let method: &'static Method = [&CDF, &KL, &LIMP, &crate::compare::median::MEDIAN][method];
        let level = move |disk: usize, slot: i64| {
            (disk != silent || slot < 250).then_some(if disk == slow && slot >= 150 { 14.0 } else { 5.0 })
        };
        let mut config = Config::untrained(method, 15);
        if trained {
            let names: Vec<String> = (0..6).map(|disk| format!("disk{disk:02}")).collect();
            let learnt = names.iter().map(|name| (name.as_str(), Some(1.0)));
            config.thresholds = Some(Thresholds::new(String::new(), vec![Trained::new(method, Metric::Await, 15, learnt)]));
        }
        let (usual, events) = run(config.clone(), disks(6), awaits(6, 0..420, level));
        config.asked = (0..6).map(ComponentId::new).collect();
        let (asked, explained) = run(config, disks(6), awaits(6, 0..420, level));
        prop_assert_eq!(format!("{usual:?}"), format!("{asked:?}"));
        prop_assert_eq!(format!("{events:?}"), format!("{explained:?}"));
    }

    #[test]
    fn the_last_of_repeated_samples_wins(wrong in 0.0..1e6f64) {
        let samples = awaits(6, 0..300, slow_fourth);
        let (expected, _) = run(config(&CDF), disks(6), samples.clone());
        let doubled = samples.into_iter().flat_map(|sample| [Sample { value: wrong, ..sample }, sample]);
        let (diagnosis, _) = run(config(&CDF), disks(6), doubled);
        prop_assert_eq!(format!("{diagnosis:?}"), format!("{expected:?}"));
    }
}

#[test]
fn a_sample_for_a_closed_slot_is_counted_and_dropped() {
    let mut samples = awaits(6, 0..300, slow_fourth);
    samples.push(sample_of(15, 0, Metric::Await, 1e9));
    let (diagnosis, _) = run(config(&CDF), disks(6), samples);
    assert_eq!(diagnosis.late_samples, 1);
}

#[test]
fn perseus_finds_a_disk_that_is_slow_for_its_throughput_and_not_one_with_more_of_it() {
    let diagnose = |factor: f64, load: f64| {
        let observed: Vec<Observed> =
            (0..12).map(|n| Observed { name: format!("sd{n:02}"), ..Observed::default() }).collect();
        let mut samples = Vec::new();
        for (slot, component) in (0..600).flat_map(|slot| (0..12).map(move |component| (slot, component))) {
            let is_odd = component == 7 && slot >= 300;
            let load = if is_odd { load } else { 1.0 } * (20.0 + 60.0 * noise(component, slot));
            let latency = (2.0 + load / 20.0) * (0.95 + 0.1 * noise(component, slot + 7777));
            let latency = if is_odd { factor * latency } else { latency };
            samples.push(sample_of(15 * slot, component, Metric::Throughput, load));
            samples.push(sample_of(15 * slot, component, Metric::Await, latency));
        }
        let config = Config::untrained(&crate::compare::perseus::PERSEUS, 15);
        run(config, Roster::new(&observed, None), samples).0
    };
    let slow = diagnose(2.5, 1.0);
    assert_eq!(accused(&slow), ["sd07"]);
    assert!((4350..=4800).contains(&slow.incidents[0].first.0), "{:?}", slow.incidents[0].first);
    assert!(accused(&diagnose(1.0, 1.0)).is_empty());
    assert!(accused(&diagnose(1.0, 1.25)).is_empty(), "more throughput, and the latency that goes with it");
}

#[test]
fn where_all_of_a_server_is_missing_at_once_the_server_was_silent() {
    let observed: Vec<Observed> = (0..3)
        .flat_map(|server| (0..2).map(move |disk| (server, disk)))
        .map(|(server, disk)| Observed {
            name: format!("oss{server}:sd{disk}"),
            server: Some(format!("oss{server}")),
            ..Observed::default()
        })
        .collect();
    let roster = Roster::new(&observed, None);
    let gaps = |missing: &dyn Fn(usize) -> bool| {
        let mut samples = Vec::new();
        for (second, component) in
            (0..300).flat_map(|second| (0..6).map(move |component| (second, component)))
        {
            if !((100..200).contains(&second) && missing(component)) {
                samples.push(sample_of(second, component, Metric::Await, 5.0 + noise(component, second)));
            }
        }
        let found = run(config(&LIMP), roster.clone(), samples).0;
        found.gaps.into_iter().map(|gap| (gap.component, gap.reason)).collect::<Vec<_>>()
    };
    let both = gaps(&|component| component < 2);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both.iter().all(|(_, reason)| *reason == GapReason::ServerSilent("oss0".into())), "{both:?}");
    let one = gaps(&|component| component == 0);
    assert_eq!(one, [("oss0:sd0".to_string(), GapReason::PeersRecorded)]);
    let single = |server: usize| Observed {
        name: format!("oss{server}"),
        server: Some(format!("oss{server}")),
        ..Observed::default()
    };
    let roster = Roster::new(&(0..3).map(single).collect::<Vec<_>>(), None);
    let samples = (0..300).flat_map(|second| (0..3).map(move |component| (second, component)));
    let samples = samples.filter(|(second, component)| *component > 0 || !(100..200).contains(second));
    let samples = samples.map(|(second, component)| sample_of(second, component, Metric::Await, 5.0));
    let gaps = run(config(&LIMP), roster, samples).0.gaps;
    assert_eq!(
        gaps.iter().map(|gap| &gap.reason).collect::<Vec<_>>(),
        [&GapReason::PeersRecorded],
        "one disk is no server"
    );
}

#[test]
fn a_slot_stays_open_until_a_sample_newer_by_the_lateness_has_come() {
    let mut diagnoser = Diagnoser::new(Config { lateness_slots: 2, ..config(&LIMP) }, disks(3));
    let mut open = |second: i64| {
        diagnoser.push(sample_of(second, 0, Metric::Await, 5.0));
        diagnoser.open.iter().map(|slot| slot.start.0).collect::<Vec<i64>>()
    };
    assert_eq!([open(0), open(2)], [vec![0], vec![0, 2]]);
    assert_eq!(open(3), [2, 3]);
}

#[test]
fn congestion_windows_of_a_second_are_judged_before_the_window_that_ends_with_it() {
    let observed: Vec<Observed> = (0..4)
        .map(|n| Observed { name: format!("oss{n}"), has_network: true, ..Observed::default() })
        .collect();
    let samples = (0..100).flat_map(|second| {
        (0..4).flat_map(move |server| {
            let value = |metric| sample_of(second, server, metric, 9.0 + noise(server, second));
            [value(Metric::WrSec), value(Metric::CwndToClients)]
        })
    });
    let (_, events) = run(config(&LIMP), Roster::new(&observed, None), samples);
    let windows: Vec<(i64, Metric)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Window(window) => Some((window.to.0, window.metric)),
            Event::Persistence { ranking, .. } => {
                assert!(ranking.is_empty(), "nothing is persistent: {ranking:?}");
                None
            }
        })
        .collect();
    let place = |wanted| windows.iter().position(|window| *window == wanted).unwrap();
    assert!(place((60, Metric::CwndToClients)) < place((60, Metric::WrSec)));
}

#[test]
fn gaps_are_listed_up_to_a_bound_and_counted_beyond() {
    let mut samples = Vec::new();
    for second in 0..(MOST_GAPS as i64 + 5) * 40 {
        let missing = second % 40 < 20 && second >= 40;
        samples.extend(
            (0..3)
                .filter(|disk| *disk > 0 || !missing)
                .map(|disk| sample_of(second, disk, Metric::Await, 5.0)),
        );
    }
    let diagnosis = run(config(&LIMP), disks(3), samples).0;
    assert_eq!((diagnosis.gaps.len(), diagnosis.more_gaps), (MOST_GAPS, 4));
}

#[test]
fn what_is_resolved_is_forgotten_by_the_filters_of_its_group_only() {
    let names: Vec<Observed> = ["a", "b"]
        .into_iter()
        .flat_map(|group| (0..4).map(move |disk| (group, disk)))
        .map(|(group, disk)| Observed {
            name: format!("{group}{disk}"),
            group: Some(group.into()),
            ..Observed::default()
        })
        .collect();
    let mut diagnoser = Diagnoser::new(config(&LIMP), Roster::new(&names, None));
    for second in 0..200 {
        for disk in 0..8 {
            let level = if disk == 0 || disk == 4 { 80.0 } else { 5.0 };
            diagnoser.push(sample_of(second, disk, Metric::Await, level * (0.9 + 0.2 * noise(disk, second))));
        }
    }
    diagnoser.resolve(ComponentId::new(0));
    let remembers = |diagnoser: &Diagnoser, track: usize| {
        diagnoser.tracks[track].memory.filters[MemberIndex::new(0)].clone().push(3, true)
    };
    assert_eq!([remembers(&diagnoser, 0), remembers(&diagnoser, 1)], [false, true]);
}

#[test]
fn what_a_stalled_disk_did_is_known_without_its_latency() {
    let found = servers(
        &LIMP,
        400,
        &[
            (Metric::WrSec, 4000.0, &|second| if second >= 150 { 0.0 } else { 4000.0 }),
            (Metric::Tps, 20.0, &|second| if second >= 150 { 0.0 } else { 20.0 }),
            (Metric::Util, 20.0, &|second| if second >= 150 { 110.0 } else { 20.0 }),
        ],
    );
    assert_eq!((accused(&found), found.incidents[0].cause), (vec!["oss7"], Cause::DiskStall));
}

#[test]
fn a_group_of_three_that_could_not_be_compared_makes_the_verdict_undecided() {
    let with = |members: usize| {
        let disk = |group: &str, disk: usize| Observed {
            name: format!("{group}{disk}"),
            group: Some(group.into()),
            ..Observed::default()
        };
        let observed: Vec<Observed> =
            (0..4).map(|n| disk("a", n)).chain((0..members).map(|n| disk("b", n))).collect();
        // The second group is recorded for a few seconds only.
        let samples = (0..300).flat_map(|second| (0..4 + members).map(move |component| (second, component)));
        let samples = samples.filter(|(second, component)| *component < 4 || *second < 5);
        let samples = samples.map(|(second, component)| {
            sample_of(second, component, Metric::Await, 5.0 + 0.1 * noise(component, second))
        });
        run(config(&LIMP), Roster::new(&observed, None), samples).0.no_all_clear.is_some()
    };
    assert_eq!([with(2), with(3)], [false, true]);
}

#[test]
fn the_metric_that_tells_most_is_one_of_the_cause() {
    let found = servers(
        &LIMP,
        400,
        &[
            (Metric::WrSec, 4000.0, &|_| 4000.0),
            (Metric::Tps, 20.0, &|_| 20.0),
            (Metric::Await, 20.0, &|second| if second >= 150 { 2000.0 } else { 20.0 }),
            (Metric::Util, 20.0, &|second| if second >= 150 { 80.0 } else { 20.0 }),
        ],
    );
    let (metric, evidence) = found.incidents[0].telling().expect("evidence");
    assert_eq!((metric, evidence.relation()), (Metric::Cost, Relation::High));
    assert!(found.judged.iter().any(|judged| judged.metric == Metric::Cost), "{:?}", found.judged);
    assert!(found.judged.iter().all(|judged| judged.metric.can_indict()));
    assert_eq!(found.incidents[0].share_of_slowness(), None, "a fault is no load");
    let said = |members| super::super::incident::UndecidedReason::FewPeers { members }.to_string();
    assert!(said(1).starts_with("1 member,") && said(2).starts_with("2 members,"));
}

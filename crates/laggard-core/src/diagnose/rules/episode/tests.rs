use super::*;
use crate::compare::cdf::CDF;
use crate::diagnose::evidence::Observation;
use crate::ids::UnixSeconds;

/// Metric, relation, severity, ratio.
type Seen = (Metric, Relation, f64, f64);

fn observation(relation: Relation, severity: f64, ratio: f64) -> Observation {
    Observation {
        from: UnixSeconds(0),
        to: UnixSeconds(60),
        score: severity,
        threshold: 1.0,
        level: ratio,
        peer_level: 1.0,
        ratio,
        relation,
        is_busy: false,
        jitters: false,
    }
}

fn episode(seen: &[Seen]) -> Episode {
    let mut episode = Episode::default();
    for &(metric, relation, severity, ratio) in seen {
        episode.observe(metric, &CDF, UnixSeconds(0), observation(relation, severity, ratio));
    }
    episode
}

fn named(kind: Kind, seen: &[Seen]) -> Cause {
    cause(kind, &episode(seen), &Without::default()).cause
}

#[test]
fn the_papers_checklist_in_its_order() {
    let says = |metrics: &[Metric]| checklist(|metric| metrics.contains(&metric));
    use Metric::{Await, CwndFromClients, CwndToClients, RdSec, Rxbyt, Txbyt, WrSec};
    assert_eq!(says(&[WrSec, Await, Rxbyt]), Cause::DiskHog);
    assert_eq!(says(&[RdSec]), Cause::DiskHog);
    assert_eq!(says(&[Await, CwndToClients]), Cause::DiskBusy);
    assert_eq!(says(&[Rxbyt, Txbyt, CwndToClients]), Cause::NetworkHog);
    assert_eq!(says(&[Rxbyt]), Cause::NetworkHog);
    assert_eq!(says(&[Txbyt, CwndFromClients]), Cause::PacketLoss);
    assert_eq!(says(&[CwndFromClients]), Cause::PacketLoss);
    assert_eq!(says(&[]), Cause::Unknown);
}

#[test]
fn a_hog_also_raises_await_and_stays_a_hog() {
    let seen = [(Metric::RdSec, Relation::High, 40.0, 30.0), (Metric::Await, Relation::High, 9.0, 4.8)];
    assert_eq!(named(Kind::Device, &seen), Cause::DiskHog);
}

#[test]
fn a_slight_asymmetry_in_volume_does_not_make_a_busy_disk_a_hog() {
    let with = |severity: f64| {
        [(Metric::WrSec, Relation::High, severity, 1.3), (Metric::Await, Relation::High, 10.0, 4.8)]
    };
    assert_eq!(named(Kind::Device, &with(1.1)), Cause::DiskBusy);
    assert_eq!(named(Kind::Device, &with(2.49)), Cause::DiskBusy, "more than four times less severe");
    assert_eq!(named(Kind::Device, &with(2.51)), Cause::DiskHog);
}

#[test]
fn a_little_more_to_write_explains_a_slow_disk_and_nothing_else() {
    let volume = (Metric::WrSec, Relation::High, 5.0, 1.3);
    let latency = (Metric::Await, Relation::High, 5.0, 2.0);
    assert_eq!(named(Kind::Server, &[volume, latency]), Cause::DiskHog);
    assert_eq!(named(Kind::Server, &[volume, latency, latency]), Cause::DiskHog, "half of the slow windows");
    let loss = (Metric::CwndFromClients, Relation::Low, 2.0, 0.05);
    assert_eq!(named(Kind::Server, &[volume, loss]), Cause::PacketLoss);
    let found = cause(Kind::Server, &episode(&[volume, latency, latency, latency]), &Without::default());
    assert_eq!(found.cause, Cause::DiskBusy);
    let rules: Vec<&str> = found.spoken.iter().map(|spoken| spoken.rule.id).collect();
    assert_eq!(rules, ["small-volume", "slow-disk"]);
}

#[test]
fn much_to_write_explains_a_slow_disk_however_short() {
    let negligible = Metric::WrSec.properties().negligible;
    let with = |extra: f64| {
        let mut seen = episode(&[(Metric::Await, Relation::High, 5.0, 2.0); 8]);
        let more =
            Observation { level: 100.0 + extra, peer_level: 100.0, ..observation(Relation::High, 5.0, 3.0) };
        seen.observe(Metric::WrSec, &CDF, UnixSeconds(0), more);
        cause(Kind::Server, &seen, &Without::default()).cause
    };
    assert_eq!(with(5.0 * negligible), Cause::DiskHog);
    assert_eq!(with(4.99 * negligible), Cause::DiskBusy);
}

#[test]
fn loss_moves_throughput_too_and_stays_loss() {
    let loss =
        [(Metric::Txbyt, Relation::High, 5.0, 1.4), (Metric::CwndFromClients, Relation::Low, 1.8, 0.015)];
    assert_eq!(named(Kind::Server, &loss), Cause::PacketLoss);
    let hog = [
        (Metric::Rxbyt, Relation::High, 5.0, 1.8),
        (Metric::Txbyt, Relation::High, 5.0, 1.8),
        (Metric::CwndFromClients, Relation::Low, 1.1, 0.15),
    ];
    assert_eq!(named(Kind::Server, &hog), Cause::NetworkHog);
}

#[test]
fn a_latency_that_is_secondary_to_the_traffic_is_no_busy_disk() {
    let with = |latency: f64| {
        let seen =
            [(Metric::Await, Relation::High, latency, 2.0), (Metric::Rxbyt, Relation::High, 10.0, 5.0)];
        named(Kind::Server, &seen)
    };
    assert_eq!([with(2.49), with(2.51)], [Cause::NetworkHog, Cause::DiskBusy]);
}

#[test]
fn a_window_collapses_at_a_tenth_of_its_peers() {
    let with = |ratio: f64| {
        let seen =
            [(Metric::CwndFromClients, Relation::Low, 2.0, ratio), (Metric::Await, Relation::High, 5.0, 3.0)];
        named(Kind::Server, &seen)
    };
    assert_eq!(with(0.0999), Cause::PacketLoss);
    assert_eq!(with(0.1001), Cause::DiskBusy);
}

#[test]
fn a_visible_load_outranks_a_collapsed_window_unless_traffic_is_worse() {
    let loss = (Metric::CwndFromClients, Relation::Low, 2.0, 0.05);
    let hog = (Metric::RdSec, Relation::High, 9.0, 5000.0);
    assert_eq!(named(Kind::Device, &[loss, hog]), Cause::DiskHog);
    let traffic = |severity: f64| (Metric::Rxbyt, Relation::High, severity, 5.0);
    assert_eq!(named(Kind::Device, &[loss, hog, traffic(9.5)]), Cause::PacketLoss);
    assert_eq!(named(Kind::Device, &[loss, hog, traffic(8.5)]), Cause::DiskHog);
    assert_eq!(named(Kind::Device, &[loss, hog, traffic(9.0)]), Cause::PacketLoss, "not worse is not enough");
}

#[test]
fn mild_loss_is_told_from_a_hog_by_direction() {
    let low = (Metric::CwndFromClients, Relation::Low, 1.2, 0.12);
    let answers = (Metric::Txbyt, Relation::High, 5.0, 1.4);
    assert_eq!(named(Kind::Server, &[low, answers]), Cause::PacketLoss);
    let payload = (Metric::Rxbyt, Relation::High, 5.0, 1.8);
    assert_eq!(named(Kind::Server, &[low, payload]), Cause::NetworkHog);
    assert_eq!(named(Kind::Server, &[low, answers, payload]), Cause::NetworkHog, "both ways");
    let to = (Metric::CwndToClients, Relation::Low, 1.2, 0.12);
    assert_eq!(named(Kind::Server, &[to, payload]), Cause::PacketLoss);
    assert_eq!(named(Kind::Server, &[to, answers]), Cause::NetworkHog);
    let more = |ratio: f64| named(Kind::Server, &[low, (Metric::Txbyt, Relation::High, 5.0, ratio)]);
    assert_eq!([more(2.99), more(3.01)], [Cause::PacketLoss, Cause::NetworkHog]);
}

#[test]
fn a_slow_lun_is_a_fault_without_load_and_a_workload_with_it() {
    let slow = (Metric::Await, Relation::High, 3.0, 2.0);
    assert_eq!(named(Kind::Attachment, &[slow]), Cause::ComponentFault);
    let loaded = (Metric::WrSec, Relation::High, 3.0, 2.0);
    assert_eq!(named(Kind::Lun, &[slow, loaded]), Cause::SingleLunWorkload);
}

#[test]
fn silence_and_idleness_have_no_other_cause() {
    let silent = (Metric::Await, Relation::Silent, 3.0, 0.1);
    assert_eq!(named(Kind::Device, &[silent]), Cause::Silent);
    let idle = (Metric::RdSec, Relation::Idle, 3.0, 0.01);
    assert_eq!(named(Kind::Attachment, &[idle]), Cause::Unknown);
    assert_eq!(named(Kind::Attachment, &[silent, idle]), Cause::Unknown);
    let trained = (Metric::Await, Relation::Alike, 1.2, 1.05);
    assert_eq!(named(Kind::Server, &[trained]), Cause::DiskBusy, "the paper's word");
}

#[test]
fn what_began_when_something_else_was_ending_is_its_aftermath() {
    let with = |from: i64| {
        let mut seen = Episode::default();
        let low = Observation { to: UnixSeconds(400), ..observation(Relation::Low, 2.0, 0.12) };
        seen.observe(Metric::CwndFromClients, &CDF, UnixSeconds(0), low);
        let late = Observation {
            from: UnixSeconds(from),
            to: UnixSeconds(from + 100),
            ..observation(Relation::High, 9.0, 3.0)
        };
        seen.observe(Metric::Await, &CDF, UnixSeconds(from), late);
        cause(Kind::Server, &seen, &Without::default()).cause
    };
    assert_eq!(with(300), Cause::DiskBusy, "after three quarters, not later");
    assert_eq!(with(301), Cause::PacketLoss);
    let as_long = {
        let mut seen = Episode::default();
        let low = Observation { to: UnixSeconds(400), ..observation(Relation::Low, 2.0, 0.12) };
        seen.observe(Metric::CwndFromClients, &CDF, UnixSeconds(0), low);
        let (from, to) = (UnixSeconds(350), UnixSeconds(750));
        let late = Observation { from, to, ..observation(Relation::High, 9.0, 3.0) };
        seen.observe(Metric::Await, &CDF, UnixSeconds(350), late);
        cause(Kind::Server, &seen, &Without::default())
    };
    assert_eq!(as_long.cause, Cause::DiskBusy, "what lasts as long is no aftermath");
    let mut seen = Episode::default();
    let low = Observation { to: UnixSeconds(400), ..observation(Relation::Low, 2.0, 0.12) };
    seen.observe(Metric::CwndFromClients, &CDF, UnixSeconds(0), low);
    let (from, to) = (UnixSeconds(340), UnixSeconds(440));
    seen.observe(
        Metric::Await,
        &CDF,
        from,
        Observation { from, to, ..observation(Relation::High, 9.0, 3.0) },
    );
    let spoken = cause(Kind::Server, &seen, &Without::default()).spoken[0];
    assert_eq!((spoken.rule.id, spoken.numbers.get("began_after")), ("aftermath", Some(0.85)));
    let without = Without::rule(super::super::find("aftermath").unwrap());
    let mut seen = Episode::default();
    let low = Observation { to: UnixSeconds(400), ..observation(Relation::Low, 2.0, 0.12) };
    seen.observe(Metric::CwndFromClients, &CDF, UnixSeconds(0), low);
    let late =
        Observation { from: UnixSeconds(350), to: UnixSeconds(450), ..observation(Relation::High, 9.0, 3.0) };
    seen.observe(Metric::Await, &CDF, UnixSeconds(350), late);
    assert_eq!(cause(Kind::Server, &seen, &without).cause, Cause::DiskBusy, "the rule is switched off");
}

#[test]
fn the_bar_for_a_report_rises_with_the_recording_until_a_day() {
    let needed = |windows: u64, shift_s: f64| {
        let trouble = Trouble { impact: 0.0, windows, shift_s, is_trained: false };
        trouble.excused(&Without::default()).unwrap().numbers.get("needed").unwrap()
    };
    assert_eq!(needed(5, 10.0), 3.5);
    assert_eq!(needed(12, 10.0), 3.5);
    assert!((needed(24, 10.0) - 1.1 * 24f64.sqrt()).abs() < 1e-12);
    assert!((needed(22, 10.0) - 1.1 * 22f64.sqrt() * 10.0 / 12.0).abs() < 1e-12, "it rises from 12 to 24");
    assert!((needed(1_000_000, 10.0) - 1.1 * 8640f64.sqrt()).abs() < 1e-9, "a day of windows every 10 s");
    assert!((needed(1_000_000, 3600.0) - 1.1 * 192f64.sqrt()).abs() < 1e-9);
    let at = |impact: f64| Trouble { impact, windows: 5, shift_s: 10.0, is_trained: false };
    assert!(at(3.49).excused(&Without::default()).is_some());
    assert!(at(3.5).excused(&Without::default()).is_none());
    let trained = Trouble { is_trained: true, ..at(0.0) };
    assert!(trained.excused(&Without::default()).is_none(), "trained, everything is reported");
}

use super::*;
use crate::diagnose::evidence::Observation;

fn episode(seen: &[(Metric, Relation, f64, f64)]) -> Episode {
    let mut episode = Episode::default();
    for &(metric, relation, severity, ratio) in seen {
        let observation = Observation {
            from_s: 0,
            to_s: 60,
            score: severity,
            threshold: 1.0,
            level: ratio,
            peer_level: 1.0,
            ratio,
            relation,
            is_busy: false,
            jitters: false,
        };
        episode.observe(metric, "cdf", 0, observation);
    }
    episode
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
    let seen =
        episode(&[(Metric::RdSec, Relation::High, 40.0, 30.0), (Metric::Await, Relation::High, 9.0, 4.8)]);
    assert_eq!(ranked(Kind::Server, &seen), Cause::DiskHog);
}

#[test]
fn a_slight_asymmetry_in_volume_does_not_make_a_busy_disk_a_hog() {
    let seen =
        episode(&[(Metric::WrSec, Relation::High, 1.1, 1.3), (Metric::Await, Relation::High, 9.0, 4.8)]);
    assert_eq!(ranked(Kind::Server, &seen), Cause::DiskBusy);
}

#[test]
fn a_little_more_to_write_explains_a_slow_disk_and_nothing_else() {
    let volume = (Metric::WrSec, Relation::High, 5.0, 1.3);
    let latency = (Metric::Await, Relation::High, 5.0, 2.0);
    assert_eq!(ranked(Kind::Server, &episode(&[volume, latency])), Cause::DiskHog);
    let loss = (Metric::CwndFromClients, Relation::Low, 2.0, 0.05);
    assert_eq!(ranked(Kind::Server, &episode(&[volume, loss])), Cause::PacketLoss);
    let mostly_without = episode(&[volume, latency, latency, latency]);
    assert_eq!(ranked(Kind::Server, &mostly_without), Cause::DiskBusy);
}

#[test]
fn loss_moves_throughput_too_and_stays_loss() {
    let loss = episode(&[
        (Metric::Txbyt, Relation::High, 5.0, 1.4),
        (Metric::CwndFromClients, Relation::Low, 1.8, 0.015),
    ]);
    assert_eq!(ranked(Kind::Server, &loss), Cause::PacketLoss);
    let hog = [
        (Metric::Rxbyt, Relation::High, 5.0, 1.8),
        (Metric::Txbyt, Relation::High, 5.0, 1.8),
        (Metric::CwndFromClients, Relation::Low, 1.1, 0.15),
    ];
    assert_eq!(ranked(Kind::Server, &episode(&hog)), Cause::NetworkHog);
}

#[test]
fn mild_loss_is_told_from_a_hog_by_direction() {
    let low = (Metric::CwndFromClients, Relation::Low, 1.2, 0.12);
    let answers = (Metric::Txbyt, Relation::High, 5.0, 1.4);
    assert_eq!(ranked(Kind::Server, &episode(&[low, answers])), Cause::PacketLoss);
    let payload = (Metric::Rxbyt, Relation::High, 5.0, 1.8);
    assert_eq!(ranked(Kind::Server, &episode(&[low, payload])), Cause::NetworkHog);
}

#[test]
fn a_slow_lun_is_a_fault_without_load_and_a_workload_with_it() {
    let slow = (Metric::Await, Relation::High, 3.0, 2.0);
    assert_eq!(ranked(Kind::Attachment, &episode(&[slow])), Cause::ComponentFault);
    let loaded = (Metric::WrSec, Relation::High, 3.0, 2.0);
    assert_eq!(ranked(Kind::Lun, &episode(&[slow, loaded])), Cause::SingleLunWorkload);
}

#[test]
fn every_cause_has_a_meaning_and_a_next_command() {
    for cause in Cause::ALL {
        let next = cause.next_command("sdq", Some("oss1"));
        assert!(
            !cause.meaning().is_empty() && (next.contains("oss1") || next.contains("sdq")),
            "{}",
            cause.name()
        );
    }
}

#[test]
fn a_name_that_is_no_host_name_stays_out_of_commands() {
    let next = Cause::DiskBusy.next_command("sdq", Some("oss1; reboot"));
    assert!(!next.contains("reboot"), "{next}");
}

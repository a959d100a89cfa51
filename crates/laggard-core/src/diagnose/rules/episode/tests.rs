use super::*;
use crate::compare::cdf::CDF;
use crate::diagnose::evidence::Observation;
use crate::ids::{ComponentId, UnixSeconds};

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
        jitters: false,
        by_load: None,
    }
}

fn episode(seen: &[Seen]) -> Episode {
    let mut episode = Episode::default();
    for &(metric, relation, severity, ratio) in seen {
        episode.observe(metric, &CDF, UnixSeconds(0), observation(relation, severity, ratio));
    }
    episode
}

fn trouble(episode: Episode, is_load: bool) -> Trouble {
    Trouble { component: ComponentId::new(0), episode, is_load, is_open: true }
}

fn named(kind: Kind, seen: &[Seen]) -> Cause {
    cause(kind, &trouble(episode(seen), false), &Without::default()).cause
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
    assert_eq!(named(Kind::Server, &seen), Cause::DiskHog);
    assert_eq!(named(Kind::Device, &seen), Cause::SingleLunWorkload, "a disk has no process of its own");
}

#[test]
fn a_slight_asymmetry_in_volume_does_not_make_a_busy_disk_a_hog() {
    let with = |severity: f64| {
        [(Metric::WrSec, Relation::High, severity, 1.3), (Metric::Await, Relation::High, 10.0, 4.8)]
    };
    assert_eq!(named(Kind::Server, &with(1.1)), Cause::DiskBusy);
    assert_eq!(named(Kind::Server, &with(2.49)), Cause::DiskBusy, "more than four times less severe");
    assert_eq!(named(Kind::Server, &with(2.51)), Cause::DiskHog);
}

#[test]
fn a_hog_lowers_the_congestion_window_too() {
    let loss = [(Metric::CwndFromClients, Relation::Low, 1.8, 0.015)];
    assert_eq!(named(Kind::Server, &loss), Cause::PacketLoss);
    let hog = [
        (Metric::Rxbyt, Relation::High, 5.0, 1.8),
        (Metric::Txbyt, Relation::High, 5.0, 1.8),
        (Metric::CwndFromClients, Relation::Low, 1.1, 0.15),
    ];
    assert_eq!(named(Kind::Server, &hog), Cause::NetworkHog);
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
fn the_bar_for_a_report_rises_with_the_recording_until_a_day() {
    let needed = |windows: u64, shift_s: f64| {
        let impact = Impact {
            impact: 0.0,
            windows,
            shift_s,
            is_trained: false,
            is_rare: false,
            rarity: None,
            is_calibrated: false,
        };
        impact.excused(&Without::default()).unwrap().numbers.get("needed").unwrap()
    };
    assert_eq!(needed(5, 10.0), 3.5);
    assert_eq!(needed(12, 10.0), 3.5);
    assert!((needed(24, 10.0) - 1.1 * 24f64.sqrt()).abs() < 1e-12);
    assert!((needed(22, 10.0) - 1.1 * 22f64.sqrt() * 10.0 / 12.0).abs() < 1e-12, "it rises from 12 to 24");
    assert!((needed(1_000_000, 10.0) - 1.1 * 8640f64.sqrt()).abs() < 1e-9, "a day of windows every 10 s");
    assert!((needed(1_000_000, 3600.0) - 1.1 * 192f64.sqrt()).abs() < 1e-9);
    let at = |impact: f64| Impact {
        impact,
        windows: 5,
        shift_s: 10.0,
        is_trained: false,
        is_rare: false,
        rarity: None,
        is_calibrated: false,
    };
    assert!(at(3.49).excused(&Without::default()).is_some());
    assert!(at(3.5).excused(&Without::default()).is_none());
    let trained = Impact { is_trained: true, ..at(0.0) };
    assert!(trained.excused(&Without::default()).is_none(), "trained, everything is reported");
}

const DEAR: Seen = (Metric::Cost, Relation::High, 5.0, 3.0);
const MORE: Seen = (Metric::Work, Relation::High, 2.0, 2.0);

fn slow(excess_s: f64, excess_ratio: f64, queue: f64, stalled: f64) -> SlowPiece {
    SlowPiece { excess_s, excess_ratio, queue, stalled }
}

fn with_pieces(kind: Kind, pieces: &[SlowPiece]) -> Cause {
    let mut seen = episode(&[DEAR]);
    seen.note_slow(pieces);
    cause(kind, &trouble(seen, false), &Without::default()).cause
}

#[test]
fn more_work_is_a_hog_if_it_lasts_half_as_long_as_the_slowness() {
    let named = |cost: usize, work: usize| {
        let seen: Vec<Seen> = [DEAR].repeat(cost).into_iter().chain([MORE].repeat(work)).collect();
        named(Kind::Server, &seen)
    };
    assert_eq!([named(4, 2), named(4, 1), named(0, 1)], [Cause::DiskHog, Cause::DiskBusy, Cause::DiskHog]);
}

#[test]
fn a_device_that_completes_nothing_in_half_of_the_time_is_stalled() {
    let stalled =
        |share: f64| with_pieces(Kind::Server, &[slow(1.0, 100.0, 1.0, share), slow(0.1, 3.0, 2.0, share)]);
    assert_eq!([stalled(0.5), stalled(0.49)], [Cause::DiskStall, Cause::DiskBusy]);
}

#[test]
fn requests_that_are_late_by_the_same_are_a_disk_that_fails_slowly() {
    // Late by 40 ms and a little, whatever the queue.
    let late = |spread: f64| -> Vec<SlowPiece> {
        (0..12)
            .map(|n| {
                slow(
                    0.04 * (1.0 + spread * f64::from(n % 3 - 1)),
                    4.0 * f64::from(n),
                    1.0 + f64::from(n % 4),
                    0.0,
                )
            })
            .collect()
    };
    assert_eq!(with_pieces(Kind::Device, &late(0.05)), Cause::FailSlow);
    assert_eq!(with_pieces(Kind::Device, &late(0.5)), Cause::DiskBusy);
    assert_eq!(with_pieces(Kind::Lun, &late(0.05)), Cause::ComponentFault, "a LUN is more than a disk");
    // Real: pieces at both ends are slow in part, and must not turn the slope.
    let real = [
        (0.0819, 10.3, 36.9),
        (0.0791, 10.8, 23.9),
        (0.0430, 8.9, 24.3),
        (0.0417, 10.4, 50.6),
        (0.0425, 8.8, 35.6),
        (0.0414, 7.1, 50.1),
        (0.0411, 8.6, 37.6),
        (0.0464, 9.9, 28.5),
        (0.0161, 4.1, 49.3),
    ];
    let real = real.map(|(excess_s, excess_ratio, queue)| slow(excess_s, excess_ratio, queue, 0.0));
    assert_eq!(with_pieces(Kind::Device, &real), Cause::FailSlow);
    // Requests of one size: a neighbour that takes its share of the time looks the same, and the wider word stands.
    let alike: Vec<SlowPiece> = (0..12).map(|_| slow(0.04, 1.0, 2.0, 0.0)).collect();
    assert_eq!(with_pieces(Kind::Device, &alike), Cause::DiskBusy);
    // A neighbour's turn comes once for all that wait: the more wait, the less each is late, in multiples of its cost as well.
    let shared: Vec<SlowPiece> = (1..13).map(|n| slow(0.04 / f64::from(n), 4.0, f64::from(n), 0.0)).collect();
    assert_eq!(with_pieces(Kind::Device, &shared), Cause::DiskBusy);
}

#[test]
fn a_load_is_a_load_whatever_it_shows() {
    let load = |kind: Kind| cause(kind, &trouble(episode(&[MORE]), true), &Without::default()).cause;
    assert_eq!(
        [load(Kind::Server), load(Kind::Lun), load(Kind::Device)],
        [Cause::Load, Cause::SingleLunWorkload, Cause::SingleLunWorkload]
    );
}

#[test]
fn links_and_hosts_name_their_own_causes() {
    let high = |metric: Metric| (metric, Relation::High, 2.0, 5.0);
    let low = |metric: Metric| (metric, Relation::Low, 2.0, 0.1);
    let server = |seen: &[Seen]| named(Kind::Server, seen);
    let loss = (Metric::CwndFromClients, Relation::Low, 9.0, 0.01);
    assert_eq!(server(&[loss, high(Metric::CarrierChanges)]), Cause::FlappingLink);
    assert_eq!(server(&[loss, low(Metric::LinkSpeed)]), Cause::SlowLink);
    assert_eq!(server(&[high(Metric::LinkSpeed)]), Cause::Unknown, "a faster link is no cause");
    assert_eq!(server(&[loss, high(Metric::NetErrors)]), Cause::LinkErrors);
    let flooded = [high(Metric::Rxbyt), high(Metric::NetErrors)];
    assert_eq!(server(&flooded), Cause::NetworkHog, "what is flooded drops");
    assert_eq!(server(&[high(Metric::CpuWait)]), Cause::CpuStarved);
    assert_eq!(server(&[high(Metric::CpuBusy)]), Cause::CpuStarved);
    assert_eq!(server(&[high(Metric::CpuWait), high(Metric::MemoryWait)]), Cause::MemoryPressure);
    assert_eq!(server(&[low(Metric::MemoryAvailable)]), Cause::MemoryPressure);
}

#[test]
fn a_shortage_that_was_short_does_not_rename_a_trouble_that_lasts() {
    let with = |seconds: i64| {
        let mut episode = episode(&[
            (Metric::CpuWait, Relation::High, 4.0, 5.0),
            (Metric::MemoryWait, Relation::High, 4.0, 5.0),
        ]);
        for (metric, seconds) in [(Metric::CpuWait, 400), (Metric::MemoryWait, seconds)] {
            let evidence = episode.evidence.get_mut(&metric).expect("seen");
            (evidence.from, evidence.to) = (UnixSeconds(0), UnixSeconds(seconds));
        }
        cause(Kind::Server, &trouble(episode, false), &Without::default()).cause
    };
    assert_eq!([with(199), with(200)], [Cause::CpuStarved, Cause::MemoryPressure], "half of it");
}

#[test]
fn a_queue_that_hardly_varies_says_nothing_of_a_neighbour() {
    // Late by the same but for a little, and less so with the queue: with a queue that varies it is a neighbour's turn.
    let pieces = |step: f64| -> Vec<SlowPiece> {
        (0..12)
            .map(|n| {
                let queue = 2.0 * (1.0 + step * f64::from(n % 4));
                slow(0.04 * (2.0 / queue), 4.0 * f64::from(n % 5 + 1), queue, 0.0)
            })
            .collect()
    };
    assert_eq!(with_pieces(Kind::Device, &pieces(0.05)), Cause::FailSlow);
    assert_eq!(with_pieces(Kind::Device, &pieces(0.105)), Cause::DiskBusy);
}

#[test]
fn a_slowness_is_reported_if_it_is_rarer_than_the_budget_once_chance_is_known() {
    let excused = |is_calibrated: bool, is_rare: bool, impact: f64| {
        let trouble = Impact {
            impact,
            windows: 600,
            shift_s: 150.0,
            is_trained: false,
            is_rare,
            rarity: None,
            is_calibrated,
        };
        trouble.excused(&Without::default()).map(|spoken| spoken.rule.id)
    };
    assert_eq!([excused(true, true, 1.0), excused(true, false, 1e3)], [None, Some("budget")]);
    assert_eq!([excused(false, false, 1.0), excused(false, false, 1e3)], [Some("impact"), None]);
    assert_eq!(excused(false, true, 1.0), None, "what is rare is reported, whatever else was seen");
}

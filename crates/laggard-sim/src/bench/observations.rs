//! The simulator behaves as the paper saw file systems behave: the seven observations of FAST'10, section 6.1, and the effects of
//! section 12. Runs are a quarter as long as the paper's.

use super::setup::{ARRAY, BARRACUDA, GLUSTER, LUSTRE, MB, PVFS};
use super::*;
use laggard_core::model::Metric;

const FAULTY: usize = 3;
const SCALE: f64 = 0.25;
/// Clean seconds, and seconds with the fault, away from its edges.
const BEFORE: std::ops::Range<usize> = 10..30;
const DURING: std::ops::Range<usize> = 45..105;

fn cluster(file_system: FileSystem) -> Cluster {
    Cluster { file_system, clients: 10, servers: 10, disk: BARRACUDA, hardware: 5 }
}

fn record(file_system: FileSystem, workload: Workload, kind: Option<FaultKind>) -> Trace {
    record_on(cluster(file_system), workload, kind, 1.0)
}

fn record_on(cluster: Cluster, workload: Workload, kind: Option<FaultKind>, severity: f64) -> Trace {
    let fault = |kind| Fault { kind, server: FAULTY, from_s: 30.0, to_s: 105.0, severity };
    run(&Experiment {
        cluster,
        workload,
        faults: kind.map(fault).into_iter().collect(),
        seed: 11,
        scale: SCALE,
    })
}

/// Median of the servers without the fault.
fn others(trace: &Trace, metric: Metric, seconds: std::ops::Range<usize>) -> f64 {
    let mut means: Vec<f64> = (0..trace.servers)
        .filter(|server| *server != FAULTY)
        .map(|server| trace.mean(metric, server, seconds.clone()))
        .collect();
    means.sort_by(f64::total_cmp);
    means[means.len() / 2]
}

fn faulty(trace: &Trace, metric: Metric, seconds: std::ops::Range<usize>) -> f64 {
    trace.mean(metric, FAULTY, seconds)
}

/// Faulty server over the others, during the fault.
fn asymmetry(trace: &Trace, metric: Metric) -> f64 {
    faulty(trace, metric, DURING) / others(trace, metric, DURING)
}

#[test]
fn the_same_seed_gives_the_same_recording_and_another_seed_another() {
    let experiment = |seed| Experiment {
        cluster: cluster(LUSTRE),
        workload: Workload::Ddr,
        faults: vec![Fault { from_s: 10.0, to_s: 20.0, ..Fault::published(FaultKind::SendPktloss, 2) }],
        seed,
        scale: 0.05,
    };
    assert_eq!(run(&experiment(1)), run(&experiment(1)));
    assert_ne!(run(&experiment(1)), run(&experiment(2)));
}

#[test]
fn observation_1_servers_track_each_other() {
    for (file_system, workload, metric) in [
        (PVFS, Workload::Ddw, Metric::WrSec),
        (PVFS, Workload::Ddr, Metric::RdSec),
        (LUSTRE, Workload::Ddw, Metric::WrSec),
        (LUSTRE, Workload::Iozoner, Metric::RdSec),
    ] {
        let trace = record(file_system, workload, None);
        let middle = others(&trace, metric, 10..100);
        for server in 0..trace.servers {
            let ratio = trace.mean(metric, server, 10..100) / middle;
            assert!((0.95..1.05).contains(&ratio), "{} {}: {ratio}", file_system.name, workload.name());
            let latency = trace.mean(Metric::Await, server, 10..100) / others(&trace, Metric::Await, 10..100);
            assert!((0.5..2.5).contains(&latency), "{} {}: {latency}", file_system.name, workload.name());
        }
    }
}

#[test]
fn observations_2_and_3_all_lose_the_same_throughput_and_only_one_is_slow() {
    for file_system in [PVFS, LUSTRE] {
        let trace = record(file_system, Workload::Ddr, Some(FaultKind::DiskBusy));
        let drop = |server: usize| {
            trace.mean(Metric::RdSec, server, DURING) / trace.mean(Metric::RdSec, server, BEFORE)
        };
        for server in 0..trace.servers {
            assert!(drop(server) < 0.7, "the bottleneck is everybody's: {}", drop(server));
            assert!((drop(server) / drop(FAULTY) - 1.0).abs() < 0.1);
        }
        let before = others(&trace, Metric::Await, BEFORE);
        assert!(others(&trace, Metric::Await, DURING) <= before, "the others may even become faster");
    }
}

#[test]
fn observation_4_hogs_raise_the_throughput_of_their_server_and_lower_the_others() {
    let disk = record(PVFS, Workload::Ddw, Some(FaultKind::DiskHog));
    let read = faulty(&disk, Metric::RdSec, DURING);
    assert!(read > 20_000.0 && others(&disk, Metric::RdSec, DURING) < 100.0, "{read}");
    assert!(others(&disk, Metric::WrSec, DURING) < 0.8 * others(&disk, Metric::WrSec, BEFORE));
    for (kind, metric) in
        [(FaultKind::WriteNetworkHog, Metric::Rxbyt), (FaultKind::ReadNetworkHog, Metric::Txbyt)]
    {
        let trace = record(LUSTRE, Workload::Ddw, Some(kind));
        assert!(asymmetry(&trace, metric) > 1.1, "{} {}", kind.name(), asymmetry(&trace, metric));
    }
}

#[test]
fn observation_5_busy_disks_and_lossy_links_show_no_asymmetry_of_their_volume() {
    let disk = record(LUSTRE, Workload::Ddr, Some(FaultKind::DiskBusy));
    assert!((asymmetry(&disk, Metric::RdSec) - 1.0).abs() < 0.05);
    let link = record(LUSTRE, Workload::Ddw, Some(FaultKind::ReceivePktloss));
    assert!((asymmetry(&link, Metric::Rxbyt) - 1.0).abs() < 0.1);
    assert!(others(&link, Metric::Rxbyt, DURING) < 0.7 * others(&link, Metric::Rxbyt, BEFORE));
}

#[test]
fn observation_6_disk_faults_raise_latency_queue_and_utilisation_of_their_server() {
    for (file_system, kind) in [(PVFS, FaultKind::DiskHog), (LUSTRE, FaultKind::DiskBusy)] {
        let trace = record(file_system, Workload::Ddr, Some(kind));
        for metric in [Metric::Await, Metric::AvgquSz] {
            assert!(asymmetry(&trace, metric) > 3.0, "{} {}", kind.name(), metric.name());
        }
        assert!(faulty(&trace, Metric::Util, DURING) > others(&trace, Metric::Util, DURING));
        let before = others(&trace, Metric::Await, BEFORE);
        assert!(others(&trace, Metric::Await, DURING) < before, "{} fall", kind.name());
    }
}

#[test]
fn observation_7_loss_collapses_the_congestion_window_of_its_server() {
    let write = record(PVFS, Workload::Ddw, Some(FaultKind::ReceivePktloss));
    let cwnd = faulty(&write, Metric::CwndFromClients, DURING);
    assert!(cwnd < 10.0, "single-digit: {cwnd}");
    assert!(asymmetry(&write, Metric::CwndFromClients) < 0.15);
    let read = record(LUSTRE, Workload::Ddr, Some(FaultKind::SendPktloss));
    assert!(asymmetry(&read, Metric::CwndToClients) < 0.3);
    let after = write.mean(Metric::CwndFromClients, FAULTY, 115..140);
    assert!(after > 5.0 * cwnd, "and opens again: {after}");
}

#[test]
fn buried_acknowledgements_hide_one_direction_of_a_hog() {
    let trace = record(LUSTRE, Workload::Ddr, Some(FaultKind::ReadNetworkHog));
    // 120 MB/s of zeros are acknowledged by 2 MB/s, beside 1 MB/s of the file system's own.
    assert!(asymmetry(&trace, Metric::Txbyt) > 1.1);
    let added = faulty(&trace, Metric::Rxbyt, DURING) - others(&trace, Metric::Rxbyt, DURING);
    let sent = faulty(&trace, Metric::Txbyt, DURING) - others(&trace, Metric::Txbyt, DURING);
    assert!(added < 0.1 * sent, "{added} against {sent}");
    let written = record(LUSTRE, Workload::Ddw, Some(FaultKind::ReadNetworkHog));
    assert!(asymmetry(&written, Metric::Rxbyt) < 1.1, "buried among what clients write");
}

#[test]
fn delayed_acknowledgements_double_under_loss() {
    let trace = record(PVFS, Workload::Ddw, Some(FaultKind::ReceivePktloss));
    let per_data = |server: usize, seconds: std::ops::Range<usize>| {
        trace.mean(Metric::Txpck, server, seconds.clone()) / trace.mean(Metric::Rxpck, server, seconds)
    };
    assert!((0.4..0.6).contains(&per_data(FAULTY, BEFORE)), "every second: {}", per_data(FAULTY, BEFORE));
    assert!(per_data(FAULTY, DURING) > 0.65, "nearly each: {}", per_data(FAULTY, DURING));
    assert!(asymmetry(&trace, Metric::Txbyt) > 1.2, "so that the lossy server sends more than its peers");
}

#[test]
fn a_busy_disk_keeps_the_congestion_window_of_its_server_high() {
    let trace = record(PVFS, Workload::Ddr, Some(FaultKind::DiskBusy));
    assert!(asymmetry(&trace, Metric::CwndToClients) > 1.2, "{}", asymmetry(&trace, Metric::CwndToClients));
}

#[test]
fn one_client_meets_less_congestion_than_ten() {
    let windows = |clients: usize| {
        let trace = record_on(Cluster { clients, ..cluster(PVFS) }, Workload::Ddw, None, 1.0);
        others(&trace, Metric::CwndFromClients, 10..30)
    };
    assert!(windows(1) > 1.2 * windows(10), "{} against {}", windows(1), windows(10));
}

#[test]
fn metadata_is_out_of_balance_where_it_is_spread_and_in_balance_where_it_is_not() {
    let spread = record(PVFS, Workload::Postmark, None);
    let written: Vec<f64> = (0..10).map(|server| spread.mean(Metric::WrSec, server, 10..100)).collect();
    let (least, most) = written.iter().fold((f64::INFINITY, 0.0f64), |(l, m), v| (l.min(*v), m.max(*v)));
    assert!(
        spread.mean(Metric::Rxpck, 0, 10..100) > 1.2 * spread.mean(Metric::Rxpck, 4, 10..100),
        "the root's server"
    );
    assert!(most > 1.5 * least, "and the directories' servers: {written:?}");
    let dedicated = record(LUSTRE, Workload::Postmark, None);
    for server in 0..10 {
        let ratio =
            dedicated.mean(Metric::Rxbyt, server, 10..100) / others(&dedicated, Metric::Rxbyt, 10..100);
        assert!((0.93..1.07).contains(&ratio), "{ratio}");
    }
}

#[test]
fn a_large_write_cache_masks_a_slow_disk_for_a_while_and_a_read_does_not() {
    let cached = FileSystem { server_cache: 1500.0 * MB, ..PVFS };
    let throughput = |file_system: FileSystem, workload, seconds: std::ops::Range<usize>| {
        let trace = record(file_system, workload, Some(FaultKind::DiskBusy));
        others(&trace, Metric::Rxbyt, seconds.clone()) + others(&trace, Metric::Txbyt, seconds)
    };
    let clean = throughput(cached, Workload::Ddw, 10..30);
    let early = throughput(cached, Workload::Ddw, 31..34);
    let late = throughput(cached, Workload::Ddw, 50..100);
    assert!(early > 0.6 * clean && late < 0.6 * clean, "{clean}, then {early}, then {late}");
    let read = throughput(PVFS, Workload::Ddr, 32..37);
    assert!(read < 0.6 * throughput(PVFS, Workload::Ddr, 10..30), "a read shows it at once");
}

#[test]
fn half_a_fault_does_half_the_harm() {
    for kind in FaultKind::PUBLISHED {
        let workload = if matches!(kind, FaultKind::SendPktloss | FaultKind::ReadNetworkHog) {
            Workload::Ddr
        } else {
            Workload::Ddw
        };
        let runtime = |severity| record_on(cluster(PVFS), workload, Some(kind), severity).runtime_s;
        let (little, full) = (runtime(0.2), runtime(1.0));
        assert!(little <= full * 1.02, "{}: {little} against {full}", kind.name());
    }
}

#[test]
fn a_rewrite_finds_its_blocks_allocated() {
    let trace = record(PVFS, Workload::Iozonew, None);
    let half = trace.seconds / 2;
    let written = |seconds| others(&trace, Metric::WrSec, seconds);
    assert!(written(half + 30..half + 60) > 1.05 * written(10..40), "the workload changes half-way");
}

/// The run that the rules of before called healthy: written through the page cache, the slow disk is never idle, and what it is given
/// arrives unmerged, because it is written to all the time.
#[test]
fn a_busy_disk_behind_a_page_cache_is_given_more_requests_for_the_same_bytes() {
    let trace = record(GLUSTER, Workload::Ddw, Some(FaultKind::DiskBusy));
    let ratio = |metric| asymmetry(&trace, metric);
    assert!((0.9..1.1).contains(&ratio(Metric::WrSec)), "{}", ratio(Metric::WrSec));
    assert!(ratio(Metric::Tps) > 1.3, "{}", ratio(Metric::Tps));
    assert!(faulty(&trace, Metric::Util, DURING) > 95.0);
    assert!(others(&trace, Metric::Util, DURING) < 60.0, "{}", others(&trace, Metric::Util, DURING));
    let before = faulty(&trace, Metric::Tps, BEFORE) / others(&trace, Metric::Tps, BEFORE);
    assert!((0.85..1.15).contains(&before), "and as many as its peers before: {before}");
}

#[test]
fn a_stalled_disk_is_busy_and_completes_nothing_while_its_peers_are_idle() {
    for workload in [Workload::Ddw, Workload::Ddr, Workload::Postmark] {
        let trace = record(GLUSTER, workload, Some(FaultKind::DiskStall));
        let value = |metric| faulty(&trace, metric, DURING);
        assert!(value(Metric::Tps) < 1.0 && value(Metric::Util) > 95.0, "{}", workload.name());
        assert!(value(Metric::InFlight) >= 1.0, "{}: {}", workload.name(), value(Metric::InFlight));
        assert!(others(&trace, Metric::Util, DURING) < 10.0, "{}", workload.name());
    }
}

#[test]
fn a_disk_that_fails_slowly_takes_longer_for_each_request_by_the_same() {
    let trace = record(GLUSTER, Workload::Ddr, Some(FaultKind::FailSlow));
    let more = |seconds| trace.mean(Metric::Svctm, FAULTY, seconds) - others(&trace, Metric::Svctm, DURING);
    assert!(more(45..75) > 10.0 && (more(45..75) / more(75..105) - 1.0).abs() < 0.1, "{} ms", more(DURING));
}

#[test]
fn an_array_works_on_many_requests_at_once() {
    let arrays = Cluster { disk: ARRAY, ..cluster(LUSTRE) };
    let trace = record_on(arrays, Workload::Ddr, None, 1.0);
    let (busy, single) = (
        others(&trace, Metric::Util, DURING),
        others(&record(LUSTRE, Workload::Ddr, None), Metric::Util, DURING),
    );
    let at_once = others(&trace, Metric::AvgquSz, DURING) / (busy / 100.0);
    assert!(at_once > 2.0, "{at_once} at once while busy");
    assert!(busy < single, "{busy} % against {single} %");
}

//! From activity files to samples on a grid: by work, in time order, the same with and without summaries.

use super::*;
use crate::align::Aligned;
use crate::problem::Problems;
use crate::read::read;
use crate::store;
use laggard_activity::kind::TCP;
use laggard_activity::{Origin, Snapshot, Table, TailReader, TailWriter, seal};
use laggard_core::model::Roster;
use laggard_core::model::metric::Role;
use std::fs;

/// 2011-05-09T00:00:05Z, when a day's file begins.
const START_S: i64 = 1_304_899_205;

/// What a disk has done by a second: its load has a rhythm, and one disk is slow.
fn disk(host: usize, disk: usize, second: i64) -> Vec<(&'static str, i64)> {
    let step = |second: i64| (second * (disk as i64 + 2) / 3, second * 5 + second / 7);
    let (reads, writes) = step(second);
    let latency = if (host, disk) == (1, 2) { 40 } else { 4 };
    vec![
        ("reads", reads),
        ("writes", writes),
        ("sectors_read", reads * 16),
        ("sectors_written", writes * 64),
        ("read_ms", reads * latency + second / 3),
        ("write_ms", writes * latency % (1 << 32)),
        ("io_ms", second * 300),
        ("queue_extra_ms", second % 3),
    ]
}

fn values(kind: &'static Kind, named: &[(&str, i64)]) -> Vec<i64> {
    let value = |name: &str| {
        named.iter().find(|(known, _)| *known == name).map_or(laggard_activity::ABSENT, |(_, value)| *value)
    };
    kind.fields.iter().map(|field| value(field.name)).collect()
}

fn snapshot(host: usize, second: i64) -> Snapshot {
    let mut disks = Table::new(&DISK);
    for index in 0..3 {
        disks.push(format!("sd{index}"), &values(&DISK, &disk(host, index, second)));
    }
    let mut net = Table::new(&NET);
    net.push(
        "eth0",
        &values(
            &NET,
            &[
                ("rx_bytes", second * 1000),
                ("tx_bytes", second * 500),
                ("rx_packets", second),
                ("tx_packets", second),
            ],
        ),
    );
    let mut peers = Table::new(&PEER);
    // Host 0 serves host 1, which sees it by its address.
    match host {
        0 => peers.push("client:10.0.0.1", &[2, 40 + second % 2, 0, 0]),
        1 => peers.push("server:10.0.0.0", &[1, 7, 0, 0]),
        _ => {}
    }
    let mut addresses = Table::new(&ADDRESS);
    addresses.push(format!("10.0.0.{host}"), &[1]);
    let tables =
        vec![disks, net, peers, addresses].into_iter().filter(|table| !table.names.is_empty()).collect();
    Snapshot { time_s: START_S + second, late_ms: 0, tables }
}

/// Files of three hosts as the agents leave them: two row groups and a tail.
fn record(folder: &Path, seconds: i64) {
    for host in 0..3 {
        let origin = origin(host);
        let stem = folder.join(name::stem(&origin.host, START_S) + ".tail");
        let snapshots: Vec<Snapshot> = (0..seconds).map(|second| snapshot(host, second)).collect();
        let mut tail = TailWriter::create(&stem, origin.clone(), 0).unwrap();
        let third = snapshots.len() / 3 + host * 7;
        for (index, part) in [&snapshots[..third], &snapshots[third..2 * third], &snapshots[2 * third..]]
            .into_iter()
            .enumerate()
        {
            part.chunks(5).for_each(|some| tail.append(some).unwrap());
            if index < 2 {
                seal::seal(&name::beside(&stem, name::SEALED), &TailReader::open(&stem).unwrap()).unwrap();
                tail = TailWriter::create(&stem, origin.clone(), tail.sequence).unwrap();
            }
        }
    }
}

fn origin(host: usize) -> Origin {
    let kinds = vec![&DISK, &NET, &TCP, &PEER, &ADDRESS, &GAP];
    Origin { host: format!("fs{host}"), interval_s: 1, kinds }
}

/// Samples by component and metric, seconds from the start.
type Found = BTreeMap<(String, Metric), Vec<(i64, f64)>>;

fn aligned(path: &Path, interval_s: u32) -> (Roster, Found) {
    let mut problems = Problems::default();
    let recording = read(&[path.to_path_buf()], None, &mut problems, &|_, _| {}).unwrap();
    assert!(problems.list().is_empty(), "{:?}", problems.list());
    let roster = Roster::new(recording.observed(), None);
    let aligned = Aligned::new(&recording, &roster, interval_s, |_| true);
    let mut found = Found::new();
    let mut last = i64::MIN;
    aligned.replay(|sample| {
        assert!(sample.time.0 >= last, "in time order");
        last = sample.time.0;
        let name = roster.components[sample.component].name.clone();
        found.entry((name, sample.metric)).or_default().push((sample.time.0 - START_S, sample.value));
    });
    (roster, found)
}

#[test]
fn hosts_and_disks_become_components_with_the_right_metrics() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), 4000);
    let (roster, found) = aligned(folder.path(), 1);
    assert_eq!(roster.components.len(), 3 + 9);
    let of = |name: &str, metric: Metric| &found[&(name.to_string(), metric)];
    assert_eq!(of("fs0:sd1", Metric::Await).len(), 3999, "all seconds but the first");
    for second in [1usize, 1399, 1400, 3999] {
        let now = |name: &str| {
            let value = |second: i64| disk(1, 2, second).iter().find(|(known, _)| *known == name).unwrap().1;
            (value(second as i64) - value(second as i64 - 1)) as f64
        };
        let requests = now("reads") + now("writes");
        let expected = (now("read_ms") + now("write_ms")) / requests;
        assert_eq!(of("fs1:sd2", Metric::Await)[second - 1], (second as i64, expected));
        assert_eq!(of("fs1:sd2", Metric::Tps)[second - 1].1, requests);
    }
    assert_eq!(of("fs2", Metric::Rxbyt)[0], (1, 1000.0));
    assert_eq!(of("fs0", Metric::CwndToClients)[1], (1, 20.5));
    assert_eq!(of("fs0", Metric::CwndFromClients)[0], (0, 7.0), "what its client sees, found by address");
    assert!(!found.contains_key(&("10.0.0.0".to_string(), Metric::CwndFromClients)));
    assert!(!found.contains_key(&("fs0".to_string(), Metric::WrSec)), "its disks speak for themselves");
}

#[test]
fn a_store_with_summaries_says_the_same_as_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, kept) = (folder.path().join("agent"), folder.path().join("store"));
    fs::create_dir(&raw).unwrap();
    record(&raw, 8000);
    let recording = read(std::slice::from_ref(&raw), None, &mut Problems::default(), &|_, _| {}).unwrap();
    store::import(&recording, &kept, &mut Problems::default()).unwrap();
    let summaries = kept.join(summary::FOLDER);
    assert_eq!(fs::read_dir(&summaries).unwrap().count(), 3);
    let compare = || {
        let ((_, from_raw), (_, from_store)) = (aligned(&raw, 15), aligned(&kept, 15));
        assert_eq!(from_raw.keys().collect::<Vec<_>>(), from_store.keys().collect::<Vec<_>>());
        for (key, raw) in &from_raw {
            // The first slot has a second less to tell from.
            assert_eq!(
                raw.len().abs_diff(from_store[key].len()),
                usize::from(!matches!(key.1.role(), Role::Congestion | Role::Retransmission)),
                "{key:?}"
            );
            let ours: BTreeMap<i64, f64> = from_store[key].iter().copied().collect();
            for (second, value) in raw.iter().filter(|(second, _)| *second > 0) {
                let other = ours[second];
                assert!(
                    (other - value).abs() <= 1e-9 * value.abs(),
                    "{key:?} at {second}: {value} and {other}"
                );
            }
        }
    };
    compare();
    // Missing ones are made again, and so are those of an earlier state of their file.
    fs::remove_dir_all(&summaries).unwrap();
    compare();
    assert_eq!(fs::read_dir(&summaries).unwrap().count(), 3);
    assert_eq!(aligned(&kept, 1).1.len(), aligned(&raw, 1).1.len(), "seconds are still there");
}

#[test]
fn importing_again_changes_nothing_and_a_growing_file_is_taken_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, kept) = (folder.path().join("agent"), folder.path().join("store"));
    fs::create_dir(&raw).unwrap();
    for seconds in [300, 600] {
        record(&raw, seconds);
        let recording = read(std::slice::from_ref(&raw), None, &mut Problems::default(), &|_, _| {}).unwrap();
        store::import(&recording, &kept, &mut Problems::default()).unwrap();
        store::import(&recording, &kept, &mut Problems::default()).unwrap();
        let (_, found) = aligned(&kept, 1);
        assert_eq!(found[&("fs0:sd1".to_string(), Metric::Await)].len() as i64, seconds - 1);
        fs::remove_dir_all(&raw).unwrap();
        fs::create_dir(&raw).unwrap();
    }
}

/// Recordings of one name: the longer one stays, another is refused, and corrected ones do not meet a summary of the old.
#[test]
fn importing_never_replaces_other_data() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("store");
    let import = |name: &str, seconds: i64, other: bool| {
        let raw = folder.path().join(name);
        fs::create_dir(&raw).unwrap();
        record(&raw, seconds);
        if other {
            // Another machine of the same name.
            let path = raw.join("fs0-20110509T000005Z.parquet");
            let origin = Origin { host: "fs0".into(), interval_s: 1, kinds: vec![&DISK] };
            let tail = name::beside(&path, name::TAIL);
            let mut writer = TailWriter::create(&tail, origin, 0).unwrap();
            let _ = fs::remove_file(&path);
            let snapshots: Vec<Snapshot> = (0..900)
                .map(|second| {
                    let mut disks = Table::new(&DISK);
                    disks.push("sd1", &[777 + second]);
                    Snapshot { time_s: START_S + second, late_ms: 0, tables: vec![disks] }
                })
                .collect();
            writer.append(&snapshots).unwrap();
        }
        let recording = read(std::slice::from_ref(&raw), None, &mut Problems::default(), &|_, _| {}).unwrap();
        let mut problems = Problems::default();
        store::import(&recording, &kept, &mut problems).unwrap();
        problems.list().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(import("long", 600, false), Vec::<String>::new());
    assert_eq!(import("short", 300, false), Vec::<String>::new());
    let count = || aligned(&kept, 1).1[&("fs0:sd1".to_string(), Metric::Await)].len();
    assert_eq!(count(), 599, "the shorter copy has not replaced the longer one");
    let said = import("other", 300, true);
    assert!(said.len() == 1 && said[0].contains("two hosts of one name"), "{said:?}");
    assert_eq!(count(), 599);
}

/// Two files of one host, half an hour apart, both count, in time order.
#[test]
fn files_of_one_host_that_overlap_are_replayed_in_time_order() {
    let folder = tempfile::tempdir().unwrap();
    for (index, from) in [0, 1800].into_iter().enumerate() {
        let origin = Origin { host: "fs0".into(), interval_s: 1, kinds: vec![&DISK] };
        let stem = folder.path().join(name::stem("fs0", START_S + from) + ".tail");
        let mut tail = TailWriter::create(&stem, origin.clone(), 0).unwrap();
        for hour in 0..5 {
            let snapshots: Vec<Snapshot> = (0..3600)
                .map(|second| {
                    let mut disks = Table::new(&DISK);
                    let time_s = from + hour * 3600 + second;
                    disks.push(format!("sd{index}"), &[time_s * 3]);
                    Snapshot { time_s: START_S + time_s, late_ms: 0, tables: vec![disks] }
                })
                .collect();
            snapshots.chunks(60).for_each(|some| tail.append(some).unwrap());
            seal::seal(&name::beside(&stem, name::SEALED), &TailReader::open(&stem).unwrap()).unwrap();
            tail = TailWriter::create(&stem, origin.clone(), tail.sequence).unwrap();
        }
    }
    let (_, found) = aligned(folder.path(), 15);
    for disk in ["fs0:sd0", "fs0:sd1"] {
        assert_eq!(
            found[&(disk.to_string(), Metric::Tps)].len(),
            1201,
            "{disk}: five hours, which begin within a slot"
        );
    }
}

#[test]
fn a_damaged_file_is_told_and_the_others_are_used() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), 900);
    let path = folder.path().join("fs1-20110509T000005Z.parquet");
    let mut bytes = fs::read(&path).unwrap();
    // Its first column: when it was sampled.
    bytes[4..404].fill(0);
    fs::write(&path, &bytes).unwrap();
    let mut problems = Problems::default();
    let recording = read(&[folder.path().to_path_buf()], None, &mut problems, &|_, _| {}).unwrap();
    assert_eq!(recording.hosts().iter().count(), 3);
    let said: Vec<String> = problems.list().iter().map(ToString::to_string).collect();
    assert!(
        said.iter().any(|line| line.contains("fs1-20110509T000005Z") && line.contains("others are used")),
        "{said:?}"
    );
    let kept = folder.path().join("store");
    let mut problems = Problems::default();
    assert_eq!(store::import(&recording, &kept, &mut problems).unwrap().len(), 3, "{:?}", problems.list());
    let roster = Roster::new(recording.observed(), None);
    let mut count = 0;
    Aligned::new(&recording, &roster, 1, |_| true).replay(|_| count += 1);
    assert!(count > 0);
}

/// Live and offline are one: hosts write at their own pace, one seals its file half-way, and what was followed is what is replayed.
#[test]
fn what_is_followed_is_what_is_replayed() {
    for grid_s in [1, 5] {
        let folder = tempfile::tempdir().unwrap();
        let stem = |host: usize| folder.path().join(name::stem(&origin(host).host, START_S) + ".tail");
        let mut tails: Vec<TailWriter> =
            (0..3).map(|host| TailWriter::create(&stem(host), origin(host), 0).unwrap()).collect();
        let mut written = [0i64; 3];
        let mut write_to = |until: i64, seals: bool| {
            for (host, tail) in tails.iter_mut().enumerate() {
                // One is always a few seconds behind.
                let until = until - host as i64 * 3;
                let snapshots: Vec<Snapshot> =
                    (written[host]..until).map(|second| snapshot(host, second)).collect();
                written[host] = until.max(written[host]);
                snapshots.chunks(5).for_each(|some| tail.append(some).unwrap());
                if seals && host == 1 {
                    let reader = TailReader::open(&stem(host)).unwrap();
                    seal::seal(&name::beside(&stem(host), name::SEALED), &reader).unwrap();
                    *tail = seal::renew(&stem(host), &reader, tail.sequence, 60).unwrap();
                }
            }
        };
        write_to(100, false);
        let paths = [folder.path().to_path_buf()];
        let mut problems = Problems::default();
        let recording = read(&paths, None, &mut problems, &|_, _| {}).unwrap();
        let roster = Roster::new(recording.observed(), None);
        let mut live = live::Live::new(&recording, &roster, &paths, grid_s, |_| true);
        let mut followed = Found::new();
        let mut look = |live: &mut live::Live| {
            let seen = live.look(|sample| {
                let key = (roster.components[sample.component].name.clone(), sample.metric);
                followed.entry(key).or_default().push((sample.time.0 - START_S, sample.value));
            });
            assert_eq!(seen, live::Look::default());
        };
        for (until, seals) in [(110, false), (117, false), (150, true), (151, false), (200, false)] {
            look(&mut live);
            write_to(until, seals);
        }
        look(&mut live);
        look(&mut live);
        let (_, mut replayed) = aligned(folder.path(), grid_s);
        // The slowest host sets the end of what is complete.
        let end = 200 - 2 * 3 - i64::from(grid_s);
        replayed
            .values_mut()
            .chain(followed.values_mut())
            .for_each(|series| series.retain(|(at, _)| *at < end));
        assert!(followed == replayed, "every {grid_s} s");
        let mut stranger = TailWriter::create(
            &folder.path().join(name::stem("fs7", START_S) + ".tail"),
            Origin { host: "fs7".into(), ..origin(0) },
            0,
        )
        .unwrap();
        stranger.append(&[snapshot(2, 199)]).unwrap();
        assert_eq!(live.look(|_| {}).newcomer, Some("fs7".into()));
    }
}

#[test]
fn links_and_hosts_have_metrics_and_what_was_not_recorded_has_none() {
    let folder = tempfile::tempdir().unwrap();
    for host in 0..2 {
        let origin = Origin { host: format!("oss{host}"), interval_s: 1, kinds: vec![&NET, &TCP, &HOST] };
        let mut tail =
            TailWriter::create(&folder.path().join(format!("oss{host}-20110509T000005Z.tail")), origin, 0)
                .unwrap();
        let second = |second: i64| {
            let mut net = Table::new(&NET);
            let link = |name: &str, speed: i64| {
                let dropped = if host == 1 { 6 * second } else { 0 };
                let fields = [
                    ("rx_bytes", second),
                    ("rx_dropped", dropped),
                    ("carrier_changes", second / 5),
                    ("speed_mbit", speed),
                ];
                (name.to_string(), values(&NET, &fields))
            };
            for (name, row) in [link("eth0", 10_000), link("eth1", if host == 1 { 1000 } else { 10_000 })] {
                net.push(name, &row);
            }
            let mut tcp = Table::new(&TCP);
            tcp.push("tcp", &values(&TCP, &[("retransmitted", 3 * second)]));
            let mut of_host = Table::new(&HOST);
            let mut fields =
                vec![("cpu_user", 30 * second), ("cpu_idle", 70 * second), ("memory_total_kb", 1000)];
            fields.push(("memory_available_kb", 250));
            if host == 1 {
                fields.extend([
                    ("pressure_cpu_us", 800_000 * second),
                    ("pressure_memory_some_us", 2_000_000 * second),
                ]);
            }
            of_host.push("host", &values(&HOST, &fields));
            Snapshot { time_s: START_S + second, late_ms: 0, tables: vec![net, tcp, of_host] }
        };
        tail.append(&(0..60).map(second).collect::<Vec<_>>()).unwrap();
    }
    for interval_s in [1, 15] {
        let (_, found) = aligned(folder.path(), interval_s);
        let last = |host: &str, metric: Metric| {
            found.get(&(host.to_string(), metric)).and_then(|series| series.last()).map(|(_, value)| *value)
        };
        let both = |metric: Metric| [last("oss0", metric), last("oss1", metric)];
        assert_eq!(both(Metric::LinkSpeed), [Some(20_000.0), Some(11_000.0)], "of all links together");
        assert_eq!(both(Metric::NetErrors), [Some(0.0), Some(12.0)]);
        assert_eq!(both(Metric::Retrans), [Some(3.0), Some(3.0)]);
        assert_eq!(both(Metric::CpuBusy), [Some(30.0), Some(30.0)]);
        assert_eq!(both(Metric::MemoryAvailable), [Some(25.0), Some(25.0)]);
        assert_eq!(
            both(Metric::CpuWait),
            [None, Some(80.0)],
            "a kernel without pressure says nothing, not zero"
        );
        assert_eq!(both(Metric::MemoryWait), [None, Some(100.0)], "never more than all of the time");
    }
}

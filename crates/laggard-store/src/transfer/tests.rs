use super::*;
use crate::problem::Problems;
use crate::read::read;
use laggard_activity::kind::{DISK, DiskField, Kind};
use laggard_activity::parquet::Reader;
use laggard_activity::transfer::{FIELDS, Row, SECTORS, sum_up};
use laggard_activity::{Origin, Snapshot, Table, TailReader, TailWriter, name, seal};
use proptest::prelude::*;
use std::path::Path;

const START_S: i64 = 1_350_864_005;

fn read_field(bytes: u64) -> usize {
    COUNTS + size_of(bytes)
}

fn write_field(bytes: u64) -> usize {
    COUNTS + SIZES + size_of(bytes)
}

/// What a target with 3 reads of 4 KiB and `writes` writes of 1 MiB a second has counted.
fn counts(second: i64, writes: i64) -> Row {
    let mut counts = [0; FIELDS];
    counts[BYTES_READ] = second * 3 * 3584;
    counts[BYTES_WRITTEN] = (second * writes) << 20;
    counts[SPACE..SPACE + 2].copy_from_slice(&[1000, 250]);
    counts[read_field(4096)] = second * 3;
    counts[write_field(1 << 20)] = second * writes;
    counts
}

/// A row as the agent makes it: of a disk, bytes are known exactly.
fn summed(name: &str, mut row: Row) -> Row {
    sum_up(&mut row);
    if file_system(name).is_none() {
        (row[SECTORS], row[SECTORS + 1]) = (row[BYTES_READ] / 512, row[BYTES_WRITTEN] / 512);
    }
    row
}

const BYTES_READ: usize = laggard_activity::transfer::BYTES;
const BYTES_WRITTEN: usize = BYTES_READ + 1;

/// Writes the file of a host: `sealed` of its samples in row groups of some minutes, the others in the tail.
fn record(
    folder: &Path,
    host: &str,
    interval_s: i64,
    samples: usize,
    sealed: usize,
    at: &dyn Fn(usize) -> Vec<(&'static str, Row)>,
) {
    let kinds: Vec<&'static Kind> = vec![&TRANSFER];
    let origin = Origin { host: host.into(), interval_s: interval_s as u32, kinds };
    let path = folder.join(name::stem(host, START_S) + ".tail");
    let snapshot = |index: usize| {
        let mut table = Table::new(&TRANSFER);
        at(index).into_iter().for_each(|(name, counts)| table.push(name, &summed(name, counts)));
        let tables = if table.names.is_empty() { Vec::new() } else { vec![table] };
        Snapshot { time_s: START_S + interval_s * index as i64, late_ms: 0, tables }
    };
    let snapshots: Vec<Snapshot> = (0..samples).map(snapshot).collect();
    let mut tail = TailWriter::create(&path, origin.clone(), 0).unwrap();
    for part in snapshots[..sealed].chunks(12) {
        tail.append(part).unwrap();
        let reader = TailReader::open(&path).unwrap();
        seal::seal(&name::beside(&path, name::SEALED), &reader).unwrap();
        tail = TailWriter::create(&path, origin.clone(), tail.sequence).unwrap();
    }
    tail.append(&snapshots[sealed..]).unwrap();
}

/// The loads of each slot of which anything is known.
fn by_slot(block: &Block<'_>, targets: usize) -> BTreeMap<i64, Vec<TargetLoad>> {
    let mut found = BTreeMap::new();
    for target in 0..targets {
        for (slot, load) in block.of(target) {
            let loads =
                found.entry(block.time_s(slot)).or_insert_with(|| vec![TargetLoad::default(); targets]);
            loads[target] = *load;
        }
    }
    found
}

/// Replays a folder: targets by name, each slot's loads, and the account.
fn replayed(folder: &Path, grid_s: i64) -> (Vec<String>, BTreeMap<i64, Vec<TargetLoad>>, Account) {
    let recording = read(&[folder.to_path_buf()], None, &mut Problems::default(), &|_, _| {}).unwrap();
    let hosts = recording.hosts();
    let targets = targets(hosts);
    let mut slots = BTreeMap::new();
    let best = best_sizes(hosts, &targets);
    let mut next_s = i64::MIN;
    let account = replay(hosts, &targets, grid_s, &best, &|_, _| {}, &mut |block| {
        assert!(block.from_s >= next_s, "in time order, each once");
        next_s = block.time_s(block.slots);
        slots.extend(by_slot(block, targets.len()));
    });
    (targets.into_iter().map(|target| target.name).collect(), slots, account)
}

#[test]
fn loads_are_what_counters_grew() {
    let folder = tempfile::tempdir().unwrap();
    // What the disks of a server with targets do is theirs already.
    let hosts: [(&str, &[(&str, i64)]); 3] = [
        ("oss1", &[("fs-OST0000", 1), ("fs-OST0001", 2)]),
        ("oss2", &[("fs-OST0002", 1), ("sdc", 7)]),
        ("oss3", &[("sdb", 2)]),
    ];
    for (host, things) in hosts {
        let at = |index: usize| {
            things.iter().map(|(name, writes)| (*name, counts(5 * index as i64, *writes))).collect()
        };
        record(folder.path(), host, 5, 200, 120, &at);
    }
    let (names, slots, account) = replayed(folder.path(), 5);
    assert_eq!(names, ["fs-OST0000", "fs-OST0001", "fs-OST0002", "oss3:sdb"]);
    assert_eq!(slots.len(), 199, "the first sample says nothing");
    for loads in slots.values() {
        for (index, (load, writes)) in loads.iter().zip([1.0, 2.0, 1.0, 2.0]).enumerate() {
            assert_eq!((load.seconds, load.load.reads, load.load.writes), (5.0, 15.0, 5.0 * writes));
            let exactly = index == 3;
            assert_eq!(
                load.load.read_bytes,
                if exactly { 53_760.0 } else { 15.0 * 4096.0 },
                "a disk counts its own bytes"
            );
            assert_eq!(load.moved, [53_760.0, 5.0 * writes * 1048576.0], "as clients counted them");
            assert_eq!(load.optimal, 5.0 * writes, "1 MiB is the largest");
        }
    }
    assert_eq!((account.intervals, account.holes, account.resets), (4 * 199, 0, 0));
    assert_eq!(account.compositions[1][1][size_of(1 << 20)], 199 * 10);
    let recording = read(&[folder.path().to_path_buf()], None, &mut Problems::default(), &|_, _| {}).unwrap();
    assert_eq!(fullness(recording.hosts(), &targets(recording.hosts())), [0.75; 4]);
}

#[test]
fn a_restart_loses_one_interval_and_nothing_is_ever_negative() {
    // The write counter restarts from zero and passes its old value; reads go on: a server that was replaced in between.
    let at = |index: usize| {
        let mut now = counts(5 * index as i64, 2);
        if index >= 50 {
            now[write_field(1 << 20)] = 10 * (index as i64 - 50);
        }
        vec![("fs-OST0000", now)]
    };
    for sealed in [0, 50, 80, 100] {
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), "oss1", 5, 100, sealed, &at);
        let (_, slots, account) = replayed(folder.path(), 5);
        assert_eq!((account.resets, account.intervals), (1, 98), "{sealed} sealed");
        assert_eq!(slots.len(), 98);
        assert!(slots.values().flatten().all(|load| load.load.writes == 10.0 && load.load.reads == 15.0));
        assert_eq!(account.compositions[0][0][size_of(4096)], 98 * 15, "nor does what else grew then count");
    }
}

#[test]
fn a_target_that_is_away_is_missing_not_idle() {
    let folder = tempfile::tempdir().unwrap();
    let at = |index: usize| {
        let mut all = vec![("fs-OST0000", counts(5 * index as i64, 1))];
        if !(30..60).contains(&index) {
            all.push(("fs-OST0001", counts(5 * index as i64, 1)));
        }
        all
    };
    record(folder.path(), "oss1", 5, 100, 70, &at);
    let (_, slots, account) = replayed(folder.path(), 5);
    let missing = slots.values().filter(|loads| loads[1].seconds == 0.0).count();
    assert_eq!((slots.len(), missing), (99, 31), "thirty away, and the one whose growth is not known");
    assert_eq!(account.holes, 1);
}

#[test]
fn a_size_that_was_never_seen_before_counts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |index: usize| {
        let mut now = counts(5 * index as i64, 1);
        now[write_field(1 << 24)] = (index as i64 - 50).max(0);
        vec![("fs-OST0000", now)]
    };
    record(folder.path(), "oss1", 5, 100, 100, &at);
    let (_, _, account) = replayed(folder.path(), 5);
    assert_eq!(account.compositions[0][1][size_of(1 << 24)], 49);
}

#[test]
fn a_target_that_fails_over_is_unknown_for_an_interval_and_belongs_to_its_last_host() {
    let folder = tempfile::tempdir().unwrap();
    let of = |from: usize, to: usize, base: i64| {
        move |index: usize| match (from..to).contains(&index) {
            true => vec![("fs-OST0000", counts(base + 5 * index as i64, 1))],
            false => Vec::new(),
        }
    };
    // On `b` for a while, where the counter is far ahead; then back.
    let on_a = |index: usize| [of(0, 40, 0)(index), of(60, 100, 0)(index)].concat();
    record(folder.path(), "a", 5, 100, 100, &on_a);
    record(folder.path(), "b", 5, 100, 50, &of(40, 60, 100_000));
    let (_, slots, account) = replayed(folder.path(), 5);
    assert!(slots.values().flatten().all(|load| load.load.writes == 5.0), "never across hosts");
    assert_eq!((account.intervals, account.holes, account.resets), (39 + 19 + 39, 2, 0));
    let recording = read(&[folder.path().to_path_buf()], None, &mut Problems::default(), &|_, _| {}).unwrap();
    assert_eq!(targets(recording.hosts())[0].host, "a");
}

#[test]
fn a_disk_whose_sizes_were_counted_later_has_its_past_too() {
    let folder = tempfile::tempdir().unwrap();
    let kinds: Vec<&'static Kind> = vec![&DISK, &TRANSFER];
    let origin = Origin { host: "nsd1".into(), interval_s: 5, kinds };
    let path = folder.path().join(name::stem("nsd1", START_S) + ".tail");
    let mut tail = TailWriter::create(&path, origin.clone(), 0).unwrap();
    for part in 0..2 {
        let snapshots: Vec<Snapshot> = (50 * part..50 * part + 50)
            .map(|index: i64| {
                // 10 writes of 64 KiB each 5 s, by both counts.
                let mut disks = Table::new(&DISK);
                let mut row = [0; 17];
                (row[4], row[6]) = (10 * index, 10 * index * 128);
                disks.push("sdb", &row);
                let mut tables = vec![disks];
                if part == 1 {
                    let mut sizes = Table::new(&TRANSFER);
                    let mut now = [0; FIELDS];
                    now[BYTES_WRITTEN] = (10 * index) << 16;
                    now[write_field(1 << 16)] = 10 * index;
                    sizes.push("sdb", &summed("sdb", now));
                    tables.push(sizes);
                }
                Snapshot { time_s: START_S + 5 * index, late_ms: 0, tables }
            })
            .collect();
        tail.append(&snapshots).unwrap();
        seal::seal(&name::beside(&path, name::SEALED), &TailReader::open(&path).unwrap()).unwrap();
        tail = TailWriter::create(&path, origin.clone(), tail.sequence).unwrap();
    }
    let (names, slots, account) = replayed(folder.path(), 5);
    assert_eq!(names, ["nsd1:sdb"]);
    assert_eq!(
        (account.intervals, account.holes),
        (49 + 49, 1),
        "the change of counters is one unknown interval"
    );
    assert!(
        slots.values().flatten().all(|load| load.load.writes == 10.0 && load.load.write_bytes == 655_360.0)
    );
}

#[test]
fn the_best_size_is_that_of_each_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let at = |index: usize| {
        let mut large: Row = [0; FIELDS];
        large[write_field(1 << 22)] = 10 * index as i64;
        vec![("a-OST0000", counts(5 * index as i64, 2)), ("b-OST0000", large)]
    };
    record(folder.path(), "oss1", 5, 100, 100, &at);
    let (_, slots, _) = replayed(folder.path(), 5);
    assert!(
        slots.values().all(|loads| loads.iter().all(|load| load.optimal == 10.0)),
        "1 MiB of a, 4 MiB of b"
    );
}

#[test]
fn a_counter_that_wraps_loses_one_interval() {
    // Past the largest that fits, it stands still; then it is small again.
    let at = |index: usize| {
        let mut now = counts(5 * index as i64, 2);
        now[read_field(4096)] = match index {
            ..50 => i64::MAX - 100 + 2 * index as i64,
            _ => 2 * index as i64,
        };
        vec![("fs-OST0000", now)]
    };
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "oss1", 5, 100, 60, &at);
    let (_, slots, account) = replayed(folder.path(), 5);
    assert_eq!((account.resets, slots.len()), (1, 98));
    assert!(slots.values().flatten().all(|load| load.load.reads == 2.0));
}

/// Both readers of disks, that of metrics and that of loads, take the same growth from the same counters.
#[test]
fn a_disk_that_wraps_at_32_bits_or_misses_a_sample_loses_nothing() {
    const WRAP: i64 = 1 << 32;
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin { host: "oss1".into(), interval_s: 1, kinds: vec![&DISK] };
    let path = folder.path().join(name::stem("oss1", START_S) + ".tail");
    let snapshot = |second: i64| {
        let mut row = vec![ABSENT; DISK.fields.len()];
        for (field, each) in [(DiskField::Reads, 10), (DiskField::SectorsRead, 80), (DiskField::ReadMs, 50)] {
            // Sectors wrap after ten seconds.
            let from = if field == DiskField::SectorsRead { WRAP - 800 } else { 0 };
            row[field.index()] = (from + each * second) % WRAP;
        }
        row[DiskField::Writes.index()] = 0;
        row[DiskField::SectorsWritten.index()] = 0;
        let mut table = Table::new(&DISK);
        table.push("sda", &row);
        Snapshot { time_s: START_S + second, late_ms: 0, tables: vec![table] }
    };
    // One sample is missing at 20, three at 30 to 32.
    let recorded = (0..60).filter(|second| *second != 20 && !(30..33).contains(second));
    let snapshots: Vec<Snapshot> = recorded.map(snapshot).collect();
    TailWriter::create(&path, origin, 0).unwrap().append(&snapshots).unwrap();
    let (_, slots, account) = replayed(folder.path(), 5);
    assert_eq!(
        (account.resets, account.holes),
        (0, 1),
        "four seconds between samples are a hole, two are not"
    );
    assert!(slots.values().flatten().all(|load| load.load.read_bytes == 80.0 * 512.0 * load.seconds));
    let recording = read(&[folder.path().to_path_buf()], None, &mut Problems::default(), &|_, _| {}).unwrap();
    let roster = laggard_core::model::Roster::new(recording.observed(), None);
    let mut rates = Vec::new();
    crate::align::Aligned::new(&recording, &roster, 1, |metric| metric == laggard_core::model::Metric::RdSec)
        .replay(|sample| rates.push((sample.time.0 - START_S, sample.value)));
    assert!(rates.iter().all(|(_, value)| *value == 80.0), "{rates:?}");
    let known: Vec<i64> = rates.iter().map(|(second, _)| *second).collect();
    assert!(!known.contains(&20) && known.contains(&21), "what grew over one missing sample is known");
    assert!(!known.contains(&33) && known.contains(&34), "over three it is not");
}

#[test]
fn a_moment_is_no_observation() {
    // Samples a fifth of a slot apart, and then none: 1 s of 5 is known.
    let at =
        |index: usize| if index < 2 { vec![("fs-OST0000", counts(index as i64, 2))] } else { Vec::new() };
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "oss1", 1, 10, 0, &at);
    let (_, slots, _) = replayed(folder.path(), 5);
    assert!(slots.is_empty(), "{slots:?}");
}

#[test]
fn a_stray_large_transaction_is_not_the_best_size() {
    let folder = tempfile::tempdir().unwrap();
    let at = |index: usize| {
        let mut now = counts(500 * index as i64, 1);
        now[write_field(1 << 25)] = i64::from(index > 50);
        vec![("fs-OST0000", now)]
    };
    record(folder.path(), "oss1", 5, 100, 100, &at);
    let recording = read(&[folder.path().to_path_buf()], None, &mut Problems::default(), &|_, _| {}).unwrap();
    let hosts = recording.hosts();
    let best: Vec<u64> = best_sizes(hosts, &targets(hosts)).into_iter().map(bytes).collect();
    assert_eq!(best, [1 << 20]);
}

#[test]
fn where_brw_stats_cannot_be_read_for_a_while_only_that_while_is_lost() {
    let at = |index: usize| {
        let mut now = counts(5 * index as i64, 1);
        if (40..45).contains(&index) {
            now[COUNTS..].fill(ABSENT);
        }
        vec![("fs-OST0000", now)]
    };
    for sealed in [0, 100] {
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), "oss1", 5, 100, sealed, &at);
        let (_, slots, account) = replayed(folder.path(), 5);
        assert_eq!(
            (slots.len(), account.uncounted, account.holes),
            (93, 5, 1),
            "five absent, and the first after them"
        );
        assert!(slots.values().flatten().all(|load| load.load.writes == 5.0));
    }
}

/// Makes a column of a row group unreadable.
fn damage(folder: &Path, group: usize, column: &str) {
    let path = folder.join(name::stem("oss1", START_S) + ".parquet");
    let reader = Reader::open(std::fs::File::open(&path).unwrap()).unwrap();
    let chunk = reader.footer().groups[group].chunks[reader.column_index(column).unwrap()];
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[chunk.offset as usize..][..chunk.length as usize].iter_mut().for_each(|byte| *byte ^= 0x55);
    std::fs::write(&path, &bytes).unwrap();
}

#[test]
fn what_is_damaged_is_lost_and_told_once_and_the_rest_is_used() {
    // Ten segments of a minute: 12 samples each, 119 intervals of 15 reads.
    let cases = [
        // The sums of a segment: its 12 intervals and the one after it, all of the segment's sizes.
        (4, "r_all", 106, 106, "no transactions from"),
        (4, "name", 106, 106, "no transactions from"),
        // Sizes alone. Those in between are told by their ends, at the end of the recording by the segment before.
        (4, "r4k", 119, 119, ""),
        (9, "r4k", 119, 107, "sizes of transactions are missing from"),
        (0, "r4k", 119, 107, "sizes of transactions are missing from"),
    ];
    for (group, column, intervals, sized, said) in cases {
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), "oss1", 5, 120, 120, &|index| {
            vec![("fs-OST0000", counts(5 * index as i64, 2))]
        });
        damage(folder.path(), group, column);
        let (_, slots, account) = replayed(folder.path(), 5);
        let case = format!("{column} of {group}: {:?}", account.damaged);
        assert_eq!((slots.len(), account.intervals), (intervals, intervals as u64), "{case}");
        assert_eq!(account.compositions[0][0][size_of(4096)], 15 * sized, "{case}");
        assert_eq!(account.damaged.len(), usize::from(!said.is_empty()), "{case}");
        assert!(account.damaged.iter().all(|line| line.contains(said)), "{case}");
        assert_eq!(account.incomplete, [intervals as u64 != sized], "{case}");
    }
}

#[test]
fn moments_at_the_ends_of_time_are_survived() {
    for time_s in [i64::MAX, i64::MIN, i64::MAX - 3] {
        let folder = tempfile::tempdir().unwrap();
        let origin = Origin { host: "oss1".into(), interval_s: 5, kinds: vec![&TRANSFER] };
        let mut tail =
            TailWriter::create(&folder.path().join(name::stem("oss1", START_S) + ".tail"), origin, 0)
                .unwrap();
        let snapshot = |time_s: i64, index: i64| {
            let mut table = Table::new(&TRANSFER);
            table.push("fs-OST0000", &summed("fs-OST0000", counts(5 * index, 1)));
            Snapshot { time_s, late_ms: 0, tables: vec![table] }
        };
        tail.append(&[snapshot(START_S, 0), snapshot(START_S + 5, 1), snapshot(time_s, 2)]).unwrap();
        let (_, slots, account) = replayed(folder.path(), 5);
        assert_eq!((slots.len(), account.intervals, account.holes), (1, 1, 1), "{time_s}");
    }
}

#[test]
fn memory_that_is_used_again_is_clean() {
    let mut slots = Slots::new(1, 5);
    let mut seen = Vec::new();
    // Every third sample of an hour is missing, and the clock goes back once; twice the same, a day apart.
    for start_s in [0, 86_400] {
        let times_s: Vec<i64> =
            (0..720).filter(|index| index % 3 != 2).map(|index| start_s + 5 * index).collect();
        slots.each_load(0, &times_s, |_, load| load.unwrap().seconds += 5.0);
        slots.each_load(0, &[start_s + 2000, start_s + 1005], |_, load| load.unwrap().optimal += 1.0);
        slots.complete_before(start_s + 3600, &mut |block| {
            seen.extend(block.of(0).map(|(slot, load)| (block.time_s(slot) - start_s, *load)));
        });
        let mut late = 0;
        slots.each_load(0, &[start_s], |_, load| late += usize::from(load.is_none()));
        assert_eq!(late, 1, "what comes too late has no slot");
    }
    let (first, second) = seen.split_at(480);
    assert_eq!(first, second);
    assert!(first.iter().all(|(_, load)| load.seconds == 5.0));
    let marked: Vec<i64> =
        first.iter().filter(|(_, load)| load.optimal > 0.0).map(|(time_s, _)| *time_s).collect();
    assert_eq!(marked, [1005, 2000]);
}

#[test]
fn a_recording_without_sums_is_not_known_rather_than_idle() {
    // As an agent of before has left it.
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin { host: "oss1".into(), interval_s: 5, kinds: vec![&TRANSFER] };
    let path = folder.path().join(name::stem("oss1", START_S) + ".tail");
    let snapshot = |index: i64| {
        let mut table = Table::new(&TRANSFER);
        let row = counts(5 * index, 2);
        match index {
            ..50 => table.push("fs-OST0000", &row[..ALL]),
            _ => table.push("fs-OST0000", &summed("fs-OST0000", row)),
        }
        Snapshot { time_s: START_S + 5 * index, late_ms: 0, tables: vec![table] }
    };
    let mut tail = TailWriter::create(&path, origin, 0).unwrap();
    tail.append(&(0..100).map(snapshot).collect::<Vec<_>>()).unwrap();
    let (_, slots, account) = replayed(folder.path(), 5);
    assert_eq!((slots.len(), account.uncounted, account.holes), (49, 49, 1));
    assert!(slots.values().flatten().all(|load| load.load.writes == 10.0));
    assert_eq!(account.compositions[0][1][size_of(1 << 20)], 49 * 10);
}

#[test]
fn a_target_that_is_away_for_a_whole_short_segment_loses_no_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |index: usize| {
        let mut now = [0; FIELDS];
        now[read_field(4096)] = 7 * index as i64;
        let here = (0..2).filter(|target| *target == 0 || !(24..26).contains(&index));
        here.map(|target| (["fs-OST0000", "fs-OST0001"][target], now)).collect::<Vec<_>>()
    };
    // The last segment of the first file has one snapshot, without the second target.
    record(folder.path(), "oss1", 5, 60, 25, &at);
    let (_, _, account) = replayed(folder.path(), 5);
    let read = |target: usize| account.compositions[target][0][size_of(4096)];
    assert_eq!([read(0), read(1)], [7 * 59, 7 * 59]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_is_followed_is_what_is_replayed(
        steps in proptest::collection::vec((0i64..50, 0i64..3), 60),
        cuts in proptest::collection::vec(2usize..59, 0..6),
        fall in 1usize..60,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let snapshot = |index: usize| {
            let mut table = Table::new(&TRANSFER);
            let mut now = [0; FIELDS];
            for (small, large) in &steps[if index < fall { 0 } else { fall }..=index] {
                now[read_field(4096)] += small;
                now[write_field(1 << 20)] += large;
            }
            table.push("fs-OST0000", &summed("fs-OST0000", now));
            Snapshot { time_s: START_S + 5 * index as i64, late_ms: 0, tables: vec![table] }
        };
        let origin = Origin { host: "oss1".into(), interval_s: 5, kinds: vec![&TRANSFER] };
        let mut tail = TailWriter::create(&folder.path().join(name::stem("oss1", START_S) + ".tail"), origin, 0).unwrap();
        let mut cuts: Vec<usize> = cuts.into_iter().chain([2, 60]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut followed = BTreeMap::new();
        let mut following: Option<live::LiveLoads> = None;
        let mut from = 0;
        for to in cuts {
            tail.append(&(from..to).map(snapshot).collect::<Vec<_>>()).unwrap();
            from = to;
            let live = following.get_or_insert_with(|| {
                let paths = [folder.path().to_path_buf()];
                let recording = read(&paths, None, &mut Problems::default(), &|_, _| {}).unwrap();
                live::LiveLoads::new(recording.hosts(), &targets(recording.hosts()), &paths, 15)
            });
            let stranger = live.look(&mut |block| followed.extend(by_slot(block, 1)));
            prop_assert_eq!(stranger.newcomer, None);
        }
        let (_, mut replayed, _) = replayed(folder.path(), 15);
        // The last slot may still get samples, and what is optimal is for reports.
        let last = replayed.keys().last().copied();
        replayed.retain(|time_s, _| Some(*time_s) != last || followed.contains_key(time_s));
        replayed.values_mut().flatten().for_each(|load| load.optimal = 0.0);
        prop_assert_eq!(followed, replayed);
    }

    #[test]
    fn sealed_or_not_is_the_same(
        steps in proptest::collection::vec((0i64..50, 0i64..3, 0i64..400), 60),
        sealed in 0usize..60,
        falls in proptest::collection::vec(1usize..60, 0..3),
    ) {
        let at = |index: usize| {
            let from = falls.iter().copied().filter(|fall| *fall <= index).max().unwrap_or(0);
            let mut now = [0; FIELDS];
            for (small, large, bytes) in &steps[from..=index] {
                now[read_field(4096)] += small;
                now[write_field(1 << 20)] += large;
                now[BYTES_READ] += bytes;
            }
            vec![("fs-OST0000", now)]
        };
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        record(one.path(), "oss1", 5, 60, 0, &at);
        record(other.path(), "oss1", 5, 60, sealed, &at);
        let (a, b) = (replayed(one.path(), 15), replayed(other.path(), 15));
        prop_assert_eq!(&a.1, &b.1);
        prop_assert_eq!(a.2, b.2);
        prop_assert!(a.1.values().flatten().all(|load| load.load.reads >= 0.0 && load.moved[0] >= 0.0));
    }

    /// Targets come and go and restart; segments are cut anywhere, and only some of the time is asked for.
    #[test]
    fn sizes_are_those_of_the_intervals_that_count(
        steps in proptest::collection::vec((0i64..50, 0i64..3), 60),
        away in proptest::collection::vec((0usize..3, 0usize..60, 1usize..30), 0..4),
        falls in proptest::collection::vec((0usize..3, 1usize..60), 0..3),
        sealed in 0usize..=60,
        bounds in proptest::option::of((0i64..60, 0i64..60)),
    ) {
        const NAMES: [&str; 3] = ["fs-OST0000", "fs-OST0001", "fs-OST0002"];
        let is_away = |target: usize, index: usize| {
            away.iter().any(|(of, from, count)| *of == target && (*from..from + count).contains(&index))
        };
        let row = |target: usize, index: usize| {
            let fell = falls.iter().filter(|(of, fall)| *of == target && *fall <= index).map(|(_, fall)| *fall);
            let mut now = [0; FIELDS];
            for (small, large) in &steps[fell.max().unwrap_or(0)..=index] {
                now[read_field(4096)] += small + target as i64;
                now[write_field(1 << 20)] += large;
            }
            now
        };
        let at = |index: usize| {
            let here = (0..3).filter(|target| !is_away(*target, index));
            here.map(|target| (NAMES[target], row(target, index))).collect::<Vec<_>>()
        };
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), "oss1", 5, 60, sealed, &at);
        let recording = read(&[folder.path().to_path_buf()], None, &mut Problems::default(), &|_, _| {}).unwrap();
        let mut hosts = recording.hosts().clone();
        hosts.bounds_s = bounds.map(|(a, b)| (START_S + 5 * a.min(b), START_S + 5 * a.max(b)));
        let targets = targets(&hosts);
        let best = vec![SIZES; targets.len()];
        let mut sums = vec![[0.0; 2]; targets.len()];
        let account = replay(&hosts, &targets, 5, &best, &|_, _| {}, &mut |block| {
            for (target, sum) in sums.iter_mut().enumerate() {
                block.of(target).for_each(|(_, load)| {
                    *sum = [sum[0] + load.load.reads, sum[1] + load.load.writes];
                });
            }
        });
        for (composition, sums) in account.compositions.iter().zip(sums) {
            prop_assert_eq!(composition[0][size_of(4096)] as f64, sums[0]);
            prop_assert_eq!(composition[1][size_of(1 << 20)] as f64, sums[1]);
        }
    }
}

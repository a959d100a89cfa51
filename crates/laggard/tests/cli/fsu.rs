//! How busy: calibration, reports of recordings whose numbers are known, and a recording that goes on.

use crate::Bench;
use laggard_activity::kind::{DISK, LUSTRE, TRANSFER};
use laggard_activity::transfer::{COUNTS, FIELDS, Row, SIZES, size_of, sum_up};
use laggard_activity::{ABSENT, Origin, Snapshot, Table, TailReader, TailWriter, name, seal};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const START_S: i64 = 1_350_864_005;
const PAPER: &str =
    "[write]\nlatency_s = 1.04e-3\nper_byte_s = 1.73e-9\n[read]\nlatency_s = 8.02e-4\nper_byte_s = 1.23e-9\n";

/// What an OST with so many writes of 4 KiB and of 1 MiB each 5 s has counted.
fn counted(samples: i64, small: i64, large: i64) -> Row {
    let mut counts = [0; FIELDS];
    counts[COUNTS + SIZES + size_of(4096)] = samples * small;
    counts[COUNTS + SIZES + size_of(1 << 20)] = samples * large;
    counts[1] = samples * (small * 4096 + (large << 20));
    counts[2..4].copy_from_slice(&[1000, 400]);
    sum_up(&mut counts);
    counts
}

fn snapshot(sample: i64, osts: &[(&str, i64, i64)]) -> Snapshot {
    let mut table = Table::new(&TRANSFER);
    osts.iter().for_each(|(name, small, large)| table.push(*name, &counted(sample, *small, *large)));
    Snapshot { time_s: START_S + 5 * sample, late_ms: 0, tables: vec![table] }
}

fn tail_of(folder: &Path, host: &str) -> (PathBuf, TailWriter) {
    std::fs::create_dir_all(folder).unwrap();
    let origin = Origin { host: host.into(), interval_s: 5, kinds: vec![&TRANSFER] };
    let path = folder.join(name::stem(host, START_S) + ".tail");
    let tail = TailWriter::create(&path, origin, 0).unwrap();
    (path, tail)
}

/// Two file systems for an hour: one with small writes, one with large ones.
fn record(folder: &Path) {
    for (host, osts) in [
        ("oss1", [("scratch-OST0000", 2000, 10), ("scratch-OST0001", 2000, 10)]),
        ("oss2", [("scratch2-OST0000", 0, 500), ("scratch2-OST0001", 0, 0)]),
    ] {
        let (path, mut tail) = tail_of(folder, host);
        for part in (0..=720).map(|sample| snapshot(sample, &osts)).collect::<Vec<_>>().chunks(60) {
            tail.append(part).unwrap();
        }
        seal::seal(&name::beside(&path, name::SEALED), &TailReader::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn the_papers_coefficients_are_learnt_from_tests_made_with_them() {
    let bench = Bench::new();
    let mut tests = String::from("test,direction,seconds,size_bytes,count\n");
    for (direction, latency_s, per_byte_s) in [("write", 1.04e-3, 1.73e-9), ("read", 8.02e-4, 1.23e-9)] {
        for power in 12..=20 {
            let size = f64::from(1 << power);
            let off = 1.0 + 0.02 * f64::from(power % 3 - 1);
            let seconds = 10_000.0 * (latency_s + per_byte_s * size) * off;
            tests += &format!("{size}-{direction},{direction},{seconds:.3},{size},10000\n");
        }
    }
    bench.write("tests.csv", &tests);
    let ran = bench.laggard(&["fsu", "calibrate", "tests.csv", "-o", "coefficients.toml"]);
    assert!(ran.code == 0 && ran.err.is_empty(), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("latency 1.0") && ran.out.contains("9 tests"), "{}", ran.out);
    let text = std::fs::read_to_string(bench.path("coefficients.toml")).unwrap();
    let value = |table: &str, key: &str| -> f64 {
        let from = text.find(&format!("[{table}]")).expect(table);
        let line = text[from..].lines().find(|line| line.starts_with(key)).expect(key);
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    for (table, latency_s, per_byte_s) in [("write", 1.04e-3, 1.73e-9), ("read", 8.02e-4, 1.23e-9)] {
        assert!((value(table, "latency_s") / latency_s - 1.0).abs() < 0.03, "{text}");
        assert!((value(table, "per_byte_s") / per_byte_s - 1.0).abs() < 0.03, "{text}");
    }
}

#[test]
fn what_is_busy_and_with_what_is_told_of_two_file_systems() {
    let bench = Bench::new();
    record(&bench.path("files"));
    bench.write("coefficients.toml", PAPER);
    let report = |format: &str| {
        bench.laggard(&["fsu", "report", "files", "--coefficients", "coefficients.toml", "--format", format])
    };
    let json = report("json").json();
    assert_eq!(json["schema"], "laggard/fsu/1");
    let [scratch, scratch2] = [&json["file_systems"][0], &json["file_systems"][1]];
    let near = |value: &serde_json::Value, expected: f64| {
        let value = value.as_f64().unwrap_or(f64::NAN);
        assert!((value - expected).abs() < 1e-6 * expected.abs().max(1.0), "{value} is not {expected}");
    };
    // Equation 7: 2000 writes of 4 KiB and 10 of 1 MiB in 5 s.
    let seconds = 2010.0 * 1.04e-3 + (2000.0 * 4096.0 + 10.0 * 1048576.0) * 1.73e-9;
    near(&scratch["utilization"]["mean"], 100.0 * seconds / 5.0);
    near(&scratch["classes"][2]["part"], 1.0);
    near(&scratch["classes"][2]["optimal"], 10.0 / 2010.0);
    near(&scratch["written_bytes_s"], 2.0 * (2000.0 * 4096.0 + 10.0 * 1048576.0) / 5.0);
    // Equation 6, of both OSTs.
    near(&scratch["achievable_bytes_s"], 2.0 * (2000.0 * 4096.0 + 10.0 * 1048576.0) / seconds);
    let one = 500.0 * (1.04e-3 + 1048576.0 * 1.73e-9);
    near(&scratch2["utilization"]["mean"], 100.0 * one / 5.0 / 2.0);
    assert_eq!((&scratch2["observations"], &scratch2["optimal_bytes"]), (&720.into(), &1_048_576.into()));
    assert_eq!(json["targets"][0]["fullness"], 0.6);
    let text = report("text").out;
    assert!(text.contains("scratch: 2 targets") && text.contains("scratch2 against scratch"), "{text}");
    assert!(text.contains("busy") && text.contains("optimal: 1M and more"), "{text}");
    let html = report("html").out;
    assert!(html.contains("Side by side") && html.matches("<svg").count() > 6, "{}", html.len());
    // Figure 12: of 720 x 2 x 2010 writes, the small ones; figure 11: all observations in the bin from 44 %; table II.
    let titles: Vec<&str> =
        html.split("<title>").skip(1).filter_map(|rest| rest.split("</title>").next()).collect();
    assert!(titles.iter().any(|title| title.starts_with("4K: written 2.9M")), "{titles:?}");
    assert!(titles.contains(&"42: observations 100 % of observations"), "{titles:?}");
    assert!(html.contains("scratch-OST0001: ") && html.contains("busy, up to 60 %"), "the map of targets");
    let limited = bench.laggard(&[
        "fsu",
        "report",
        "files",
        "--coefficients",
        "coefficients.toml",
        "--format",
        "json",
        "--from",
        "2012-10-22T00:30:00Z",
        "--optimal",
        "4K",
    ]);
    let limited = limited.json();
    assert_eq!(limited["file_systems"][0]["optimal_bytes"], 4096);
    assert!(limited["file_systems"][0]["observations"].as_u64().unwrap() < 400);
}

#[test]
fn disks_of_any_file_system_have_a_utilization_too() {
    let bench = Bench::new();
    let folder = bench.path("files");
    std::fs::create_dir_all(&folder).unwrap();
    let origin = Origin { host: "nsd1".into(), interval_s: 1, kinds: vec![&DISK] };
    let mut tail =
        TailWriter::create(&folder.join(name::stem("nsd1", START_S) + ".tail"), origin, 0).unwrap();
    let snapshots: Vec<Snapshot> = (0..600)
        .map(|second| {
            let mut table = Table::new(&DISK);
            // 100 reads of 64 KiB a second.
            table.push("sdb", &[100 * second, 0, 100 * 128 * second, 0, 0, 0, 0, 0, 0, 0]);
            Snapshot { time_s: START_S + second, late_ms: 0, tables: vec![table] }
        })
        .collect();
    tail.append(&snapshots).unwrap();
    bench.write("coefficients.toml", PAPER);
    let ran =
        bench.laggard(&["fsu", "report", "files", "--coefficients", "coefficients.toml", "--format", "json"]);
    let json = ran.json();
    let mean = json["file_systems"][0]["utilization"]["mean"].as_f64().unwrap();
    let expected = 100.0 * 100.0 * (8.02e-4 + 65536.0 * 1.23e-9);
    assert!((mean - expected).abs() < 1e-6, "{mean} is not {expected}");
    assert_eq!(json["file_systems"][0]["name"], "block devices");
    assert!(json["file_systems"][0]["classes"][1]["optimal"].is_null(), "sizes are not known");
}

#[test]
fn a_recording_that_goes_on_is_told_line_by_line() {
    let bench = Bench::new();
    bench.write("coefficients.toml", PAPER);
    let (_, mut tail) = tail_of(&bench.path("files"), "oss1");
    let osts = [("scratch-OST0000", 2000, 10), ("scratch-OST0001", 0, 0)];
    let mut write = |samples: std::ops::Range<i64>| {
        let all: Vec<Snapshot> = samples.map(|sample| snapshot(sample, &osts)).collect();
        tail.append(&all).unwrap();
    };
    write(0..10);
    let mut command = Command::new(env!("CARGO_BIN_EXE_laggard"));
    command.args([
        "fsu",
        "watch",
        "files",
        "--coefficients",
        "coefficients.toml",
        "--format",
        "json",
        "--targets",
    ]);
    command.current_dir(bench.path("")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watching = command.spawn().unwrap();
    crate::wait_for_line(watching.stderr.take().unwrap(), "following ");
    let (sender, lines) = std::sync::mpsc::channel();
    let output = std::io::BufReader::new(watching.stdout.take().unwrap());
    std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    write(10..20);
    let next = || -> serde_json::Value {
        serde_json::from_str(&lines.recv_timeout(Duration::from_secs(60)).expect("a line")).unwrap()
    };
    let told = next();
    // Another host comes: its targets are told from then on.
    let (_, mut other) = tail_of(&bench.path("files"), "oss2");
    let mut both = |samples: std::ops::Range<i64>| {
        let new = [("scratch-OST0002", 2000, 10)];
        other.append(&samples.clone().map(|sample| snapshot(sample, &new)).collect::<Vec<_>>()).unwrap();
        write(samples);
    };
    let mut later = None;
    for round in 2..30 {
        both(10 * round..10 * round + 10);
        let said = std::iter::from_fn(|| lines.recv_timeout(Duration::from_secs(2)).ok());
        let said = said.map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap());
        later = said.filter_map(|line| line["targets"].get("scratch-OST0002")?.as_f64()).next();
        if later.is_some() {
            break;
        }
    }
    watching.kill().unwrap();
    watching.wait().unwrap();
    assert_eq!((&told["file_system"], &told["class"]), (&"scratch".into(), &"moderate".into()), "{told}");
    assert_eq!(told["busiest"]["target"], "scratch-OST0000");
    assert_eq!(told["targets"]["scratch-OST0001"], 0.0, "{told}");
    assert!(later.expect("the new one is told") > 30.0);
}

#[test]
fn dumps_of_lctl_are_a_recording() {
    let bench = Bench::new();
    let dump = |time_s: i64, writes: i64| {
        format!(
            "osd-ldiskfs.fs-OST0000.brw_stats=\nsnapshot_time:            {time_s}.000000000 secs.nsecs\n\n                           read      |     write\n\
             disk I/O size          ios   % cum % |  ios         % cum %\n1M:                      0   0   0   | {writes} 100 100\n\n"
        )
    };
    bench.write("oss1.txt", &(0..30).map(|index| dump(START_S + 5 * index, 100 * index)).collect::<String>());
    bench.write("coefficients.toml", PAPER);
    let report = |path: &str| {
        bench
            .laggard(&["fsu", "report", path, "--coefficients", "coefficients.toml", "--format", "json"])
            .json()
    };
    let direct = report("oss1.txt");
    let expected = 100.0 * 100.0 * (1.04e-3 + 1048576.0 * 1.73e-9) / 5.0;
    let mean = direct["file_systems"][0]["utilization"]["mean"].as_f64().unwrap();
    assert!((mean - expected).abs() < 1e-6, "{mean} is not {expected}");
    let imported = bench.laggard(&["import", "oss1.txt", "--into", "store"]);
    assert_eq!(imported.code, 0, "{}", imported.err);
    assert_eq!(report("store")["file_systems"][0]["utilization"], direct["file_systems"][0]["utilization"]);
}

/// Lustre's other statistics, each with what it grows in 5 s, beside an OST that is not busy.
fn record_statistics(folder: &Path, statistics: &[(&str, [i64; 2])]) {
    std::fs::create_dir_all(folder).unwrap();
    let origin = Origin { host: "oss1".into(), interval_s: 5, kinds: vec![&LUSTRE, &TRANSFER] };
    let mut tail =
        TailWriter::create(&folder.join(name::stem("oss1", START_S) + ".tail"), origin, 0).unwrap();
    let all: Vec<Snapshot> = (0..100)
        .map(|sample| {
            let mut table = Table::new(&LUSTRE);
            for (name, [calls, total]) in statistics {
                let total = if *total == ABSENT { ABSENT } else { total * sample };
                table.push(*name, &[calls * sample, total]);
            }
            let mut all = snapshot(sample, &[("fs-OST0000", 10, 10), ("fs-OST0001", 10, 10)]);
            all.tables.insert(0, table);
            all
        })
        .collect();
    tail.append(&all).unwrap();
}

#[test]
fn coefficients_are_learnt_anew_from_latencies_and_others_stay() {
    let bench = Bench::new();
    // Writes of OST0000: 2 ms and 2 ns a byte. Nothing of its reads, nothing of OST0001.
    let at = |size: i64| [10, 10 * (2000 + 2 * size / 1000)];
    let [small, large] = ["fs-OST0000:io_latency_write:4096", "fs-OST0000:io_latency_write:1048576"];
    record_statistics(&bench.path("files"), &[(small, at(4096)), (large, at(1 << 20))]);
    let classes = "[[class]]\ntargets = [\"fs-OST0000\", \"fs-OST0001\"]\nread = { latency_s = 5.0e-3, per_byte_s = 5.0e-9 }\n";
    bench.write("old.toml", &format!("{PAPER}{classes}"));
    let ran = bench.laggard(&["fsu", "refit", "files", "--coefficients", "old.toml", "-o", "new.toml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let json =
        bench.laggard(&["fsu", "report", "files", "--coefficients", "new.toml", "--format", "json"]).json();
    let of = |target: usize, way: &str| {
        json["targets"][target]["coefficients"][way]["latency_s"].as_f64().unwrap()
    };
    assert!((of(0, "write") - 2e-3).abs() < 2e-5, "learnt: {}", of(0, "write"));
    assert_eq!([of(0, "read"), of(1, "read")], [5e-3, 5e-3], "as they were");
    assert_eq!(of(1, "write"), 1.04e-3, "as it was");
    // While it is busy, its latencies are those of a queue, and nothing is learnt.
    bench.write(
        "slow.toml",
        "[write]\nlatency_s = 1.0\nper_byte_s = 0.0\n[read]\nlatency_s = 1.0\nper_byte_s = 0.0\n",
    );
    let ran = bench.laggard(&["fsu", "refit", "files", "--coefficients", "slow.toml", "-o", "none.toml"]);
    assert!(ran.code == 2 && ran.err.contains("no latencies by size"), "{}", ran.err);
}

#[test]
fn metadata_targets_have_a_load_by_time_or_by_cost() {
    let bench = Bench::new();
    let statistics = [
        ("fs-MDT0000:open", [1000, 1_000_000]),
        ("fs-MDT0000:rename", [100, 50_000]),
        ("fs-MDT0000:samedir_rename", [100, 50_000]),
        ("fs-MDT0001:getattr", [5000, ABSENT]),
        ("fs-MDT0001:mkdir", [10, ABSENT]),
    ];
    record_statistics(&bench.path("files"), &statistics);
    bench.write("costs.toml", &format!("{PAPER}[metadata]\ngetattr = 1.0e-4\n"));
    let report = |format: &str| {
        bench.laggard(&["fsu", "report", "files", "--coefficients", "costs.toml", "--format", format])
    };
    let json = report("json").json();
    let loads: Vec<f64> = json["metadata_experimental"]
        .as_array()
        .unwrap()
        .iter()
        .map(|known| known["load"].as_f64().unwrap())
        .collect();
    // 1.05 s of 5, a rename counted once; 5000 of 0.1 ms in 5 s.
    assert!((loads[0] - 21.0).abs() < 1e-6 && (loads[1] - 10.0).abs() < 1e-6, "{loads:?}");
    let text = report("text").out;
    assert!(
        text.contains("fs-MDT0001 (experimental): 1002 operations/s") && text.contains("not counted: mkdir"),
        "{text}"
    );
    assert!(report("html").out.contains("Metadata targets (experimental)"));
}

#[test]
fn targets_behind_one_controller_are_seen_to_slow_each_other() {
    let bench = Bench::new();
    // 90 % alone, 45 % each when both are busy, in turns of 10 samples.
    let busy = |percent: i64| percent * 50;
    let hosts = [("oss1", "fs-OST0000", 0), ("oss2", "fs-OST0001", 1)];
    for (host, ost, which) in hosts {
        let (_, mut tail) = tail_of(&bench.path("files"), host);
        let mut count = 0;
        let all: Vec<Snapshot> = (0..900)
            .map(|sample| {
                count += match (sample / 10 % 3, which) {
                    (2, _) => busy(45),
                    (turn, which) if turn == which => busy(90),
                    _ => 0,
                };
                snapshot(sample, &[]).with(ost, count)
            })
            .collect();
        tail.append(&all).unwrap();
    }
    bench.write(
        "unit.toml",
        "[write]\nlatency_s = 1.0e-3\nper_byte_s = 0.0\n[read]\nlatency_s = 1.0e-3\nper_byte_s = 0.0\n",
    );
    bench.write(
        "site.toml",
        "[[servers]]\nnames = \"oss[1-2]\"\n[[controllers]]\nnames = \"ddn1\"\n[[luns]]\nnames = \"[0-1]\"\ncontroller = \"ddn1\"\nservers = \"oss[1-2]\"\ndevices = \"fs-OST[0000-0001]\"\n",
    );
    let json = bench.laggard(&[
        "fsu",
        "report",
        "files",
        "--coefficients",
        "unit.toml",
        "--topology",
        "site.toml",
        "--format",
        "json",
    ]);
    let json = json.json();
    assert_eq!(json["contention"][0]["shared"], "server");
    assert!(json["contention"][0]["loss"].is_null(), "they are on two servers");
    assert_eq!(json["contention"][1]["shared"], "controller");
    let loss = json["contention"][1]["loss"].as_f64().unwrap();
    assert!((loss - 0.5).abs() < 0.02, "{loss}");
}

/// A snapshot with one OST more, which has written so many blocks of 4 KiB.
trait With {
    fn with(self, ost: &'static str, writes: i64) -> Snapshot;
}

impl With for Snapshot {
    fn with(mut self, ost: &'static str, writes: i64) -> Snapshot {
        self.tables[0].push(ost, &counted(1, writes, 0));
        self
    }
}

#[test]
fn a_target_is_judged_by_the_class_that_was_as_full() {
    let bench = Bench::new();
    record(&bench.path("files"));
    // The recorded ones are 60 % full.
    let test = |fullness: f64, latency_s: f64| -> String {
        let row = |way: &str, size: f64| {
            let seconds = 1000.0 * (latency_s + 1e-9 * size);
            format!("{size}-{way}-{fullness},{way},{seconds},{size},1000,scratch-OST0000,{fullness}\n")
        };
        ["read", "write"]
            .iter()
            .flat_map(|way| [4096.0, 65536.0, 1048576.0].map(|size| row(way, size)))
            .collect()
    };
    bench.write(
        "tests.csv",
        &format!(
            "test,direction,seconds,size_bytes,count,target,fullness\n{}{}",
            test(0.1, 1e-3),
            test(0.7, 2e-3)
        ),
    );
    let ran = bench.laggard(&["fsu", "calibrate", "tests.csv", "-o", "coefficients.toml"]);
    assert!(
        ran.out
            .contains("write latency: 2.00 times from the best to the worst of 2, +200 % from empty to full"),
        "{}",
        ran.out
    );
    let ran =
        bench.laggard(&["fsu", "report", "files", "--coefficients", "coefficients.toml", "--format", "json"]);
    let json = ran.json();
    let latency =
        |target: usize| json["targets"][target]["coefficients"]["write"]["latency_s"].as_f64().unwrap();
    assert!(
        (latency(0) - 2e-3).abs() < 1e-9 && (latency(1) - 1.5e-3).abs() < 1e-3,
        "{} {}",
        latency(0),
        latency(1)
    );
    assert!(ran.err.contains("as a rank"), "the line through all of them fits none: {}", ran.err);
}

#[test]
fn tests_are_taken_out_of_a_recording() {
    let bench = Bench::new();
    // Two minutes of 4 KiB writes, then two of 1 MiB, as fast as the paper's disks take them.
    let (_, mut tail) = tail_of(&bench.path("files"), "oss1");
    let rate = |size: f64| (5.0 / (1.04e-3 + 1.73e-9 * size)) as i64;
    let (mut small, mut large) = (0, 0);
    let all: Vec<Snapshot> = (0..=48)
        .map(|sample| {
            let mut table = Table::new(&TRANSFER);
            if sample > 0 {
                *(if sample <= 24 { &mut small } else { &mut large }) +=
                    rate(if sample <= 24 { 4096.0 } else { 1048576.0 });
            }
            table.push("fs-OST0000", &counted(1, small, large));
            Snapshot { time_s: START_S + 5 * sample, late_ms: 0, tables: vec![table] }
        })
        .collect();
    tail.append(&all).unwrap();
    let time = |sample: i64| START_S + 5 * sample;
    let tests = [format!("4k,{},{}", time(0), time(24)), format!("1m,{},{}", time(24), time(48))];
    let ran = bench.laggard(&[
        "fsu",
        "tests",
        "files",
        "--test",
        &tests[0],
        "--test",
        &tests[1],
        "-o",
        "tests.csv",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // Files that were put together, and files side by side.
    let text = std::fs::read_to_string(bench.path("tests.csv")).unwrap();
    bench.write("twice.csv", &format!("{text}{}", text.replace("OST0000", "OST0001")));
    let ran = bench.laggard(&["fsu", "calibrate", "twice.csv", "tests.csv"]);
    assert!(ran.out.contains("latency 1.0") && ran.out.contains("1.73"), "{}", ran.out);
    assert!(ran.out.contains("fs-OST0001") && ran.out.contains("[[class]]"), "{}", ran.out);
    // Of a part of a slot too: as many seconds as samples.
    let part = format!("4k,{},{}", time(1), time(8));
    let ran =
        bench.laggard(&["fsu", "tests", "files", "--interval", "60", "--test", &part, "--target", "fs-OST*"]);
    assert!(
        ran.out.contains(&format!("4k,write,35.000,4096,{},fs-OST0000", 7 * rate(4096.0))),
        "{}{}",
        ran.out,
        ran.err
    );
    let nothing = format!("x,{},{}", time(100), time(110));
    let ran = bench.laggard(&["fsu", "tests", "files", "--test", &nothing]);
    assert!(ran.code == 2 && ran.err.contains("no transactions are known"), "{}", ran.err);
}

#[test]
fn what_is_missing_is_said() {
    let bench = Bench::new();
    bench.write("rates.csv", "timestamp,component,metric,value\n0,a,await,1\n1,a,await,1\n");
    bench.write("coefficients.toml", PAPER);
    bench.write("writes.toml", "[write]\nlatency_s = 1.0e-3\nper_byte_s = 1.0e-9\n");
    bench.write("wrong.toml", "[write]\nlatency = 1.0e-3\n");
    bench.write("tests.csv", "test,direction,seconds,size_bytes\na,write,1,1\n");
    bench.write("one.csv", "test,direction,seconds,size_bytes,count\na,write,1,4096,1\n");
    record(&bench.path("files"));
    let failed = |arguments: &[&str], expected: &str| {
        let ran = bench.laggard(arguments);
        assert!(ran.code == 2 && ran.err.contains(expected), "{arguments:?}: {}", ran.err);
    };
    failed(
        &["fsu", "report", "rates.csv", "--coefficients", "coefficients.toml"],
        "neither targets nor disks",
    );
    failed(&["fsu", "report", "files", "--coefficients", "writes.toml"], "no [read] for scratch-OST0000");
    failed(&["fsu", "report", "files", "--coefficients", "wrong.toml"], "wrong.toml: line 2");
    failed(&["fsu", "report", "files", "--coefficients", "none.toml"], "none.toml: No such file");
    failed(
        &["fsu", "report", "files", "--coefficients", "coefficients.toml", "--optimal", "big"],
        "not a size",
    );
    bench.write("oss1.txt", "osd-ldiskfs.fs-OST0000.brw_stats=\nsnapshot_time: 1684867636.6\n\ndisk I/O size          ios\n4K: 1 1 1 | 1 1 1\n");
    failed(&["fsu", "watch", "oss1.txt", "--coefficients", "coefficients.toml"], "there are none");
    let once = bench.laggard(&["fsu", "report", "oss1.txt", "--coefficients", "coefficients.toml"]);
    assert!(once.code == 3 && once.out.contains("one sample only"), "{}{}", once.out, once.err);
    failed(&["fsu", "calibrate", "tests.csv", "-o", "x.toml"], "no column `count`");
    failed(&["fsu", "calibrate", "one.csv", "-o", "x.toml"], "at least two");
    assert!(!bench.path("x.toml").exists());
}

//! Every command does its job, with the contract's names and exit codes.

use crate::synthetic::{long, twelve_disks};
use crate::{Bench, Ran};
use std::process::{Command, Stdio};

#[test]
fn the_demo_finds_exactly_what_was_injected() {
    let bench = Bench::new();
    let ran = bench.laggard(&["demo", "--recording", "demo.csv"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("oss05  disk-busy") && ran.out.contains("oss09  packet-loss"), "{}", ran.out);
    let page = std::fs::read_to_string(bench.path("laggard-report.html")).unwrap();
    assert!(
        page.contains("oss05") && !page.contains("http://") && !page.contains("https://"),
        "self-contained"
    );
    let again = bench.laggard(&["diagnose", "demo.csv", "--format", "json"]);
    assert_eq!(again.code, 1);
    let expected =
        [("oss05", "disk-busy"), ("oss09", "packet-loss")].map(|(a, b)| (a.to_string(), b.to_string()));
    assert_eq!(again.incidents(), expected);
}

#[test]
fn twelve_disks_are_diagnosed_untrained_with_one_command() {
    for seed in [11, 12] {
        let bench = Bench::new();
        bench.write("slow.csv", &twelve_disks(seed, 4, Some((7, 2.5))));
        let mapped =
            ["diagnose", "slow.csv", "--csv", "time=ts,component=disk_id,await=latency", "--format", "json"];
        let ran = bench.laggard(&mapped);
        assert_eq!((ran.code, ran.incidents().len()), (1, 1), "{:?}", ran.incidents());
        assert_eq!(ran.incidents()[0].0, "disk07");
        let by_header = bench.laggard(&["diagnose", "slow.csv", "--format", "json"]);
        assert_eq!(by_header.incidents()[0].0, "disk07");
        let gaps = ran.json()["gaps"].as_array().unwrap().clone();
        assert_eq!(gaps.len(), 3, "the nights between four days: {gaps:?}");
        bench.write("well.csv", &twelve_disks(seed, 4, None));
        let ran = bench.laggard(&["diagnose", "well.csv", "--format", "json"]);
        assert_eq!(ran.code, 0, "{:?}", ran.incidents());
    }
}

#[test]
fn a_few_sectors_against_none_are_no_disk_hog() {
    let bench = Bench::new();
    let rows = |metric: &str, levels: [f64; 8]| {
        let text = long(metric, &levels, 400, 1);
        text.split_once('\n').unwrap().1.to_string()
    };
    let written = long("wr_sec", &[9000.0; 8], 400, 1);
    let read = |third: f64| rows("rd_sec", [0.0, 0.0, third, 0.0, 5.0, 0.0, 0.0, 30.0]);
    bench.write("volumes.csv", &[written.clone(), read(60.0)].concat());
    assert_eq!(bench.laggard(&["diagnose", "volumes.csv"]).code, 3, "nothing tells how slow the disks are");
    let latency = rows("await", [5.0; 8]);
    bench.write("quiet.csv", &[written.clone(), read(60.0), latency.clone()].concat());
    assert_eq!(bench.laggard(&["diagnose", "quiet.csv"]).code, 0);
    bench.write("hog.csv", &[written, read(7000.0), latency].concat());
    let ran = bench.laggard(&["diagnose", "hog.csv", "--format", "json"]);
    assert_eq!((ran.code, ran.incidents()), (0, Vec::new()), "a disk with more to do is no fault");
    let loads = ran.json()["observations"].clone();
    assert_eq!(
        (&loads[0]["component"], &loads[0]["cause"]),
        (&"oss03".into(), &"single-lun-workload".into())
    );
    let text = bench.laggard(&["diagnose", "hog.csv"]).out;
    assert!(text.contains("load, no fault: oss03"), "{text}");
}

#[test]
fn compare_prints_window_component_score() {
    let bench = Bench::new();
    bench.write("x.csv", &long("await", &[5.0, 5.0, 5.0, 20.0, 5.0, 5.0], 15 * 120, 15));
    let ran = bench.laggard(&["compare", "x.csv", "--method", "cdf", "--metric", "await", "--format", "csv"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut lines = ran.out.lines();
    assert_eq!(lines.next(), Some("window,component,score"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 3 * 6);
    let score = |row: &Vec<&str>| row[2].parse::<f64>().unwrap();
    assert!(rows.iter().filter(|row| row[1] == "oss04").all(|row| score(row) > 10.0));
    assert!(rows.iter().filter(|row| row[1] != "oss04").all(|row| score(row) < 3.0));
}

#[test]
fn training_then_diagnosing_uses_the_trained_thresholds() {
    let bench = Bench::new();
    bench.write("clean.csv", &long("await", &[5.0, 5.2, 4.9, 5.1, 7.0], 600, 1));
    bench.write("faulty.csv", &long("await", &[5.0, 5.2, 14.0, 5.1, 7.0], 600, 1));
    let ran = bench.laggard(&["train", "clean.csv", "-o", "thresholds.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let quiet =
        bench.laggard(&["diagnose", "clean.csv", "--thresholds", "thresholds.toml", "--format", "json"]);
    assert_eq!((quiet.code, quiet.json()["trained"].as_bool()), (0, Some(true)));
    let ran =
        bench.laggard(&["diagnose", "faulty.csv", "--thresholds", "thresholds.toml", "--format", "json"]);
    assert_eq!(ran.incidents(), [("oss03".to_string(), "disk-busy".to_string())]);
    let wrong =
        bench.laggard(&["diagnose", "faulty.csv", "--thresholds", "thresholds.toml", "--method", "median"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("no thresholds for method `median`"), "{}", wrong.err);
}

#[test]
fn every_published_method_diagnoses() {
    let bench = Bench::new();
    bench.write("x.csv", &long("await", &[5.0, 5.2, 14.0, 5.1, 5.0, 4.8], 15 * 400, 15));
    for method in ["kl", "cdf", "median", "thresh"] {
        let ran = bench.laggard(&["diagnose", "x.csv", "--method", method, "--format", "json"]);
        assert_eq!(
            ran.incidents().first().map(|(name, _)| name.as_str()),
            Some("oss03"),
            "{method}: {}",
            ran.out
        );
    }
}

#[test]
fn a_store_is_as_good_as_its_files() {
    let bench = Bench::new();
    bench.write("slow.csv", &twelve_disks(5, 2, Some((3, 3.0))));
    let ran = bench.laggard(&["import", "slow.csv", "--into", "store"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("12 components, 2 files"), "{}", ran.out);
    let of = |input: &str| bench.laggard(&["diagnose", input, "--format", "json"]).out;
    assert_eq!(of("store"), of("slow.csv"));
}

#[test]
fn the_topology_collapses_luns_into_their_controller() {
    let bench = Bench::new();
    bench.write(
        "site.toml",
        "[[controllers]]\nnames = \"ddn[1-3]\"\n[[luns]]\nnames = \"lun[00-07]\"\ncontroller = \"ddn[1-3]\"\n",
    );
    let mut text = String::from("timestamp,component,metric,value\n");
    for slot in 0..300i64 {
        for controller in 1..=3 {
            for lun in 0..8 {
                let noise = 1.0 + ((slot * 37 + lun * 11 + controller * 5) % 13) as f64 / 100.0;
                let slow = if controller == 2 && slot > 100 { 3.0 } else { 1.0 };
                text.push_str(&format!(
                    "{},ddn{controller}.lun{lun:02},await,{:.3}\n",
                    1_700_000_100 + slot * 15,
                    6.0 * slow * noise
                ));
            }
        }
    }
    bench.write("luns.csv", &text);
    let ran = bench.laggard(&["diagnose", "luns.csv", "--topology", "site.toml", "--format", "json"]);
    let json = ran.json();
    assert_eq!(json["incidents"].as_array().unwrap().len(), 1, "{}", ran.out);
    let incident = &json["incidents"][0];
    assert_eq!(
        (incident["component"].as_str(), incident["kind"].as_str()),
        (Some("ddn2"), Some("controller"))
    );
    assert_eq!(incident["explains"].as_array().unwrap().len(), 8);
}

#[test]
fn json_has_every_name_of_the_schema() {
    let bench = Bench::new();
    bench.write("x.csv", &long("await", &[5.0, 5.2, 14.0, 5.1, 5.0, 4.8], 15 * 400, 15));
    let ran = bench.laggard(&["diagnose", "x.csv", "--format", "json"]);
    let json = ran.json();
    assert_eq!(json["schema"], "laggard/diagnosis/1");
    for (list, names) in [
        ("peer_groups", &["name", "members", "undecided"][..]),
        (
            "incidents",
            &[
                "component",
                "kind",
                "cause",
                "severity",
                "persistence",
                "first_seen",
                "last_seen",
                "explains",
                "evidence",
            ],
        ),
        ("components", &["component", "peer_group", "verdict", "severity", "persistence"]),
    ] {
        for name in names {
            assert!(json[list][0].get(name).is_some(), "{list}.{name}");
        }
    }
    for name in ["metric", "method", "score", "threshold", "from", "to"] {
        assert!(json["incidents"][0]["evidence"][0].get(name).is_some(), "evidence.{name}");
    }
    assert!(
        json["from"].as_str().unwrap().ends_with('Z') && json["gaps"].is_array() && json["trained"] == false
    );
}

/// What was not compared is not healthy.
#[test]
fn nothing_compared_is_undecided() {
    let bench = Bench::new();
    bench.write(
        "short.csv",
        &(long("await", &[5.0, 15.0, 5.0, 5.0], 50, 1) + &rows(&long("cwnd_to_clients", &[90.0; 4], 50, 1))),
    );
    bench.write("util.csv", &long("util", &[50.0; 4], 600, 1));
    bench.write("load.csv", &long("throughput", &[50.0; 4], 600, 1));
    for (file, part) in [
        ("short.csv", "needs 60 s"),
        ("util.csv", "none of its metrics"),
        ("load.csv", "none of its metrics"),
    ] {
        let ran = bench.laggard(&["diagnose", file]);
        assert_eq!(ran.code, 3, "{file}: {}", ran.out);
        assert!(ran.out.contains(part), "{file}: {}", ran.out);
    }
    assert_eq!(bench.laggard(&["diagnose", "short.csv", "--method", "cwnd"]).code, 2);
}

fn rows(csv: &str) -> String {
    csv.split_once('\n').unwrap().1.to_string()
}

#[test]
fn thresholds_of_other_data_are_refused_or_named() {
    let bench = Bench::new();
    bench.write("a.csv", &long("await", &[5.0, 5.2, 4.9, 5.1], 600, 1));
    bench.write("b.csv", &long("await", &[5.0, 5.2, 4.9, 5.1], 600, 1).replace("oss", "mds"));
    bench.write(
        "c.csv",
        &(long("await", &[5.0, 5.2, 4.9, 5.1], 600, 1) + &rows(&long("wr_sec", &[9000.0; 5], 600, 1))),
    );
    assert_eq!(bench.laggard(&["train", "a.csv", "-o", "t.toml"]).code, 0);
    let other = bench.laggard(&["diagnose", "b.csv", "--thresholds", "t.toml"]);
    assert!(other.code == 2 && other.err.contains("learnt from other components"), "{}", other.err);
    let more = bench.laggard(&["diagnose", "c.csv", "--thresholds", "t.toml"]);
    assert!(
        more.err.contains("no thresholds for wr_sec") && more.err.contains("not in training"),
        "{}",
        more.err
    );
}

#[test]
fn one_server_of_many_luns_is_found_whatever_the_wiring() {
    let bench = Bench::new();
    bench.write(
        "site.toml",
        "[[servers]]\nnames = \"fs[1-12]\"\n[[luns]]\nnames = \"lun[000-191]\"\nservers = \"fs[1-12]\"\nrotate = true\n",
    );
    for slow in 0..3 {
        let mut text = String::from("timestamp,component,metric,value\n");
        for slot in 0..200i64 {
            for lun in 0..192i64 {
                let noise = 1.0 + ((slot * 37 + lun * 101) % 13) as f64 / 100.0;
                let level = if lun % 12 == slow { 15.0 } else { 5.0 };
                text.push_str(&format!(
                    "{},lun{lun:03},await,{:.3}\n",
                    1_700_000_100 + slot * 15,
                    level * noise
                ));
            }
        }
        bench.write("x.csv", &text);
        let ran = bench.laggard(&["diagnose", "x.csv", "--topology", "site.toml", "--format", "json"]);
        assert_eq!(ran.incidents(), [(format!("fs{}", slow + 1), "component-fault".to_string())], "{slow}");
    }
}

#[test]
fn resolved_forgets_what_was_repaired() {
    let bench = Bench::new();
    bench.write("x.csv", &twelve_disks(5, 1, Some((3, 3.0))));
    assert_eq!(bench.laggard(&["diagnose", "x.csv"]).code, 1);
    for time in ["2021-03-01T23:50:00Z", "2021-03-02T00:00:00Z", "2030-01-01T00:00:00Z"] {
        let ran = bench.laggard(&["diagnose", "x.csv", "--resolved", &format!("disk03@{time}")]);
        assert_eq!(ran.code, 0, "{}", ran.out);
    }
    let early = bench.laggard(&[
        "diagnose",
        "x.csv",
        "--resolved",
        "disk03@2021-03-01T22:00:00Z",
        "--format",
        "json",
    ]);
    let since = early.json()["incidents"][0]["first_seen"].as_str().unwrap().to_string();
    assert!(since.as_str() >= "2021-03-01T22:00:00Z", "what comes after a repair is new: {since}");
    let wrong = bench.laggard(&["diagnose", "x.csv", "--resolved", "disk99@0"]);
    assert!(wrong.code == 2 && wrong.err.contains("disk99"), "{}", wrong.err);
}

#[test]
fn explain_shows_the_numbers() {
    let bench = Bench::new();
    bench.write("x.csv", &long("await", &[5.0, 5.2, 14.0, 5.1, 5.0, 4.8], 15 * 400, 15));
    let ran = bench.laggard(&["diagnose", "x.csv", "--explain", "oss03"]);
    assert!(
        ran.out.contains("score") && ran.out.contains("threshold") && ran.out.contains("5 peers"),
        "{}",
        ran.out
    );
    let wrong = bench.laggard(&["diagnose", "x.csv", "--explain", "oss77"]);
    assert!(wrong.code == 2 && wrong.err.contains("nearest: oss0"), "{}", wrong.err);
}

#[test]
fn explain_says_why_a_healthy_part_was_not_accused() {
    let bench = Bench::new();
    // oss02 has twice the load of its peers and takes twice as long; oss04 is slow without it.
    let latency = long("await", &[5.0, 10.0, 5.1, 30.0, 5.0, 4.9], 15 * 400, 15);
    let load = long("tps", &[100.0, 200.0, 101.0, 100.0, 99.0, 100.0], 15 * 400, 15);
    bench.write("x.csv", &(latency + load.split_once('\n').unwrap().1));
    let ran = bench.laggard(&["diagnose", "x.csv", "--explain", "oss02", "--explain", "oss04"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let (healthy, slow) = ran.out.split_once("oss04 (device): disk-busy").expect("oss04 is explained too");
    let (_, healthy) = healthy.split_once("oss02 (device): healthy").expect("oss02 is explained");
    assert!(healthy.contains("found: nothing"), "{healthy}");
    assert!(healthy.contains("excused by `load`"), "{healthy}");
    assert!(healthy.contains("times its peers', allowed 2."), "{healthy}");
    assert!(
        slow.contains("named disk-busy by `slow-disk`") && slow.contains("indicted by `differs`"),
        "{slow}"
    );
    let json = bench.laggard(&["diagnose", "x.csv", "--explain", "oss02", "--format", "json"]).json();
    let components = json["components"].as_array().unwrap();
    let rulings = |name: &str| {
        let found = components.iter().find(|known| known["component"] == name).unwrap();
        found.get("rulings").cloned()
    };
    assert!(rulings("oss01").is_none(), "only of what was asked for");
    let load = rulings("oss02").unwrap();
    let load = load.as_array().unwrap().iter().find(|said| said["rule"] == "load").expect("the rule of load");
    assert_eq!((&load["ruling"], &load["metric"]), (&"excuses".into(), &"await".into()));
    assert!(load["windows"].as_u64().unwrap() > 3 && load["numbers"]["allowed"].as_f64().unwrap() > 2.7);
}

#[test]
fn explain_takes_a_part_and_swallows_no_path() {
    let bench = Bench::new();
    bench.write("x.csv", &long("await", &[5.0; 6], 15 * 400, 15));
    let ran = bench.laggard(&["diagnose", "--explain", "x.csv"]);
    assert!(ran.code == 2 && ran.err.contains("<PATHS>"), "{}", ran.err);
    let ran = bench.laggard(&["diagnose", "--evidence", "x.csv"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn rules_are_printed_with_bounds_and_origins() {
    let bench = Bench::new();
    let text = bench.laggard(&["rules"]);
    assert!(
        text.out.contains("load (window, excuses)") && text.out.contains("min_latency_ratio 1.4"),
        "{}",
        text.out
    );
    let json = bench.laggard(&["rules", "--format", "json"]).json();
    assert_eq!(json["schema"], "laggard/rules/1");
    for rule in json["rules"].as_array().unwrap() {
        for key in ["id", "scope", "ruling", "sentence", "origin"] {
            assert!(rule[key].as_str().is_some_and(|text| !text.is_empty()), "{key} of {rule}");
        }
    }
}

/// `laggard … | head -1` is not a failure.
#[test]
fn a_closed_pipe_is_no_error() {
    let bench = Bench::new();
    bench.write("x.csv", &long("await", &[5.0; 40], 15 * 3000, 15));
    let arguments = ["compare", "x.csv", "--method", "cdf", "--metric", "await"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_laggard"))
        .args(arguments)
        .current_dir(bench.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = Ran::new(&child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

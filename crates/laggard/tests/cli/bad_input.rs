//! Bad input: a message that names file, line and remedy; the rest is used; nothing panics.

use crate::Bench;
use crate::synthetic::{long, twelve_disks};
use std::io::Write;

fn good() -> String {
    long("await", &[5.0, 5.2, 14.0, 5.1, 5.0, 4.8], 15 * 400, 15)
}

/// The faulty server is still found, and stderr holds these parts.
fn still_finds(text: &str, said: &[&str]) {
    let bench = Bench::new();
    bench.write("x.csv", text);
    let ran = bench.laggard(&["diagnose", "x.csv", "--format", "json"]);
    assert_eq!(
        ran.incidents().first().map(|(name, _)| name.as_str()),
        Some("oss03"),
        "{}\n{}",
        ran.out,
        ran.err
    );
    for part in said {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

#[test]
fn a_truncated_file() {
    let text = good();
    still_finds(&text[..text.len() - 9], &["x.csv:2401: "]);
}

#[test]
fn text_in_numbers_and_times() {
    let text = good().replacen("oss01,await,5", "oss01,await,slow5", 3).replacen("\n17000", "\nnoon17000", 1);
    still_finds(
        &text,
        &["x.csv:2: `noon", "is not a time", "is not a number for await", "(and 2 more like it)"],
    );
}

#[test]
fn rows_out_of_order_and_twice() {
    let text = good();
    let (header, rows) = text.split_once('\n').unwrap();
    let mut backwards: Vec<&str> = rows.lines().rev().collect();
    backwards.push(rows.lines().next().unwrap());
    still_finds(
        &format!("{header}\n{}\n", backwards.join("\n")),
        &["goes back in time", "has this time already"],
    );
}

#[test]
fn mixed_intervals() {
    let fine = long("await", &[5.0, 5.2], 15 * 1000, 1);
    let coarse = long("await", &[5.0, 5.2, 14.0, 5.1, 5.0, 4.8], 15 * 1000, 60);
    let rest: String = coarse
        .lines()
        .skip(1)
        .filter(|line| !line.contains("oss01") && !line.contains("oss02"))
        .fold(String::new(), |text, line| text + line + "\n");
    still_finds(&(fine + &rest), &["mixed intervals, 1 s to 60 s"]);
}

#[test]
fn an_all_missing_series_and_unknown_metrics() {
    let mut text = good();
    for slot in 0..400 {
        text.push_str(&format!("{},oss07,await,NaN\n{0},oss01,wombat,1\n", 1_700_000_100 + slot * 15));
    }
    still_finds(&text, &["unknown metric `wombat`"]);
}

#[test]
fn one_component_is_undecided() {
    let bench = Bench::new();
    bench.write("x.csv", &long("await", &[5.0], 15 * 400, 15));
    let ran = bench.laggard(&["diagnose", "x.csv"]);
    assert_eq!(ran.code, 3);
    assert!(ran.out.contains("undecided") && ran.out.contains("1 member"), "{}", ran.out);
}

#[test]
fn what_cannot_be_read_at_all_is_named() {
    let bench = Bench::new();
    bench.write("empty.csv", "");
    bench.write("header.csv", "timestamp,component,metric,value\n");
    bench.write("columns.csv", "when,who,what\n1,2,3\n");
    std::fs::write(bench.path("data.gz"), b"\x1f\x8b\x08\0\0\0").unwrap();
    std::fs::create_dir(bench.path("folder")).unwrap();
    for (file, part) in [
        ("empty.csv", "empty.csv: the file is empty"),
        ("header.csv", "no sample"),
        ("columns.csv", "columns.csv: line 1: no column for the time"),
        ("data.gz", "data.gz: cannot be unpacked"),
        ("folder", "not a store"),
        ("absent.csv", "absent.csv: No such file"),
    ] {
        let ran = bench.laggard(&["diagnose", file]);
        assert_eq!(ran.code, 2, "{file}");
        assert!(ran.err.contains(part), "{file}: {}", ran.err);
        assert!(ran.out.is_empty() && !ran.err.contains("panicked"), "{file}: {}", ran.err);
    }
}

#[test]
fn one_bad_path_among_good_ones_is_named_and_the_rest_is_used() {
    let bench = Bench::new();
    bench.write("x.csv", &good());
    bench.write("empty.csv", "");
    let ran = bench.laggard(&["diagnose", "x.csv", "absent.csv", "empty.csv", "--format", "json"]);
    assert_eq!(ran.incidents()[0].0, "oss03");
    assert!(
        ran.err.contains("absent.csv: No such file") && ran.err.contains("empty.csv: the file is empty"),
        "{}",
        ran.err
    );
}

#[test]
fn one_bad_timestamp_does_not_stretch_the_recording() {
    let text = good() + "1,oss01,await,5.0\n9999999999,oss02,await,5.0\n1700000100,oss01,await,1,5\n";
    still_finds(
        &text,
        &["timestamps more than a year from all others (2, such as ", "the row has 5 columns"],
    );
}

#[test]
fn a_wrong_column_names_those_there_are() {
    let bench = Bench::new();
    bench.write("x.csv", &twelve_disks(1, 1, None));
    let ran = bench.laggard(&["diagnose", "x.csv", "--csv", "time=ts,component=disk,await=latency"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no column `disk`") && ran.err.contains("disk_id"), "{}", ran.err);
}

#[test]
fn a_topology_that_names_unknown_hosts() {
    let bench = Bench::new();
    bench.write("x.csv", &good());
    bench.write("site.toml", "[[servers]]\nnames = \"oss[01-05,77-79]\"\n");
    let ran = bench.laggard(&["diagnose", "x.csv", "--topology", "site.toml", "--format", "json"]);
    assert!(ran.err.contains("site.toml: named there, but never recorded: oss[77-79]"), "{}", ran.err);
    assert!(ran.err.contains("recorded, but not named there: oss06"), "{}", ran.err);
    assert_eq!(ran.incidents()[0].0, "oss03");
    bench.write("bad.toml", "[[servers]]\nnames = \"oss[01-\"\n");
    let ran = bench.laggard(&["diagnose", "x.csv", "--topology", "bad.toml"]);
    assert!(ran.code == 2 && ran.err.contains("bad.toml: line 2, key `names`"), "{}", ran.err);
}

#[test]
fn a_full_disk_leaves_no_half_file() {
    let bench = Bench::new();
    bench.write("x.csv", &good());
    let ran = bench.laggard(&["diagnose", "x.csv", "--format", "json", "-o", "/dev/full"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("/dev/full: No space left"), "{}", ran.err);
}

/// A file system of 16 KiB: the report does not fit, and nothing half is left. Needs root for the mount.
#[test]
fn a_full_file_system_leaves_no_half_file() {
    let bench = Bench::new();
    bench.write("x.csv", &good());
    let small = bench.path("small");
    std::fs::create_dir(&small).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"])
        .arg(&small)
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("CI").is_none(), "CI runs as root and can mount");
        eprintln!("skipped: a_full_file_system_leaves_no_half_file (no right to mount)");
        return;
    }
    let report = bench.laggard(&["diagnose", "x.csv", "--format", "html", "-o", "small/report.html"]);
    let import = bench.laggard(&["import", "x.csv", "--into", "small/store"]);
    let left: Vec<_> =
        walk(&small).into_iter().filter(|path| !path.ends_with("laggard-store.toml")).collect();
    assert!(std::process::Command::new("umount").arg(&small).status().unwrap().success());
    assert!(report.code == 2 && report.err.contains("No space left"), "{} {}", report.code, report.err);
    assert!(import.code == 2 && import.err.contains("No space left"), "{} {}", import.code, import.err);
    assert!(left.is_empty(), "{left:?}");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// kill -9 at any moment: every day in the store is whole or not there.
#[test]
fn a_killed_import_leaves_whole_files_or_none() {
    let bench = Bench::new();
    bench.write("x.csv", &twelve_disks(3, 6, None));
    let rows_of_a_day = 12 * 720 * 2;
    for milliseconds in [5, 15, 30, 45, 60, 80, 110, 150] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_laggard"))
            .args(["import", "x.csv", "--into", "store"])
            .current_dir(bench.folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let ran = bench.laggard(&["import", "x.csv", "--into", "store"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for day in std::fs::read_dir(bench.path("store")).unwrap().flatten().filter(|entry| entry.path().is_dir())
    {
        for file in std::fs::read_dir(day.path()).unwrap().flatten().map(|entry| entry.path()) {
            if file.extension().is_some_and(|extension| extension == "csv") {
                let rows = std::fs::read_to_string(&file).unwrap().lines().count() - 1;
                assert!(rows > rows_of_a_day * 99 / 100, "{}: {rows}", file.display());
            }
        }
    }
    assert_eq!(bench.laggard(&["diagnose", "store"]).code, 0);
}

/// Ten million rows in time order, as a site's export would be: 100 components, two metrics.
#[test]
fn ten_million_rows_are_read() {
    let bench = Bench::new();
    let path = bench.path("large.csv");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(file, "timestamp,component,metric,value").unwrap();
    for slot in 0..50_000i64 {
        for component in 0..100 {
            let noise = (slot * 7919 + component * 104_729) % 1013;
            let level = if component == 42 { 3 } else { 1 };
            let time = 1_700_000_100 + slot * 15;
            writeln!(
                file,
                "{time},d{component:02},await,{}.{noise}\n{time},d{component:02},tps,{noise}",
                5 * level
            )
            .unwrap();
        }
    }
    drop(file);
    let ran = bench.laggard(&["diagnose", "large.csv", "--format", "json"]);
    assert_eq!(ran.incidents().first().map(|(name, _)| name.as_str()), Some("d42"), "{}", ran.err);
}

//! No false all-clear: what was lost, merged or not understood on the way makes the answer undecided, with a remedy that works.

use crate::{Bench, Ran};
use laggard_sim::chance::Chance;
use std::fmt::Write;
use std::process::Command;

const UNDECIDED: i32 = 3;

/// Disks `sda` and `sdb` of eight hosts every 15 s for two hours and a half; `sda` of the third host takes three times as long in the
/// second half. Latencies times `unit`, and clocks later by `later_s` on the fifth host.
fn by_host_and_device(unit: f64, later_s: i64) -> String {
    let mut chance = Chance::new(5);
    let mut text = String::from("timestamp,host,device,await\n");
    for slot in 0..600i64 {
        for host in 1..=8 {
            for device in ["sda", "sdb"] {
                let is_slow = host == 3 && device == "sda" && slot >= 300;
                let latency = 9.0 * if is_slow { 3.0 } else { 1.0 } * (0.1 * chance.normal()).exp() * unit;
                let time = 1_700_000_100 + slot * 15 + if host == 5 { later_s } else { 0 };
                let _ = writeln!(text, "{time},oss{host},{device},{latency:.7}");
            }
        }
    }
    text
}

fn diagnose(text: &str, arguments: &[&str]) -> Ran {
    let bench = Bench::new();
    bench.write("x.csv", text);
    bench.laggard(&[&["diagnose", "x.csv", "--format", "json"], arguments].concat())
}

fn names(ran: &Ran) -> Vec<String> {
    ran.incidents().into_iter().map(|(name, _)| name).collect()
}

/// Nothing suspect, and undecided; a warning that says so holds this text.
fn is_undecided(ran: &Ran, remedy: &str) {
    assert!(ran.incidents().is_empty(), "{}", ran.out);
    assert_eq!(ran.code, UNDECIDED, "{}\n{}", ran.out, ran.err);
    let json = ran.json();
    let warnings = json["warnings"].as_array().expect("warnings");
    let hides = |warning: &&serde_json::Value| {
        warning["hides_faults"] == true
            && warning["message"].as_str().is_some_and(|text| text.contains(remedy))
    };
    assert!(warnings.iter().any(|warning| hides(&warning)), "{warnings:?}");
}

#[test]
fn devices_of_many_hosts_are_told_apart() {
    let ran = diagnose(&by_host_and_device(1.0, 0), &[]);
    assert_eq!((names(&ran), ran.code), (vec!["oss3:sda".to_string()], 1), "{}", ran.err);
}

#[test]
fn devices_of_many_hosts_under_one_name_are_undecided_and_the_remedy_works() {
    let text = by_host_and_device(1.0, 0).replacen("host,device", "place,thing", 1);
    let merged = diagnose(&text, &["--csv", "time=timestamp,component=thing"]);
    is_undecided(&merged, "--csv host=COLUMN");
    let mended = diagnose(&text, &["--csv", "time=timestamp,component=thing,host=place"]);
    assert_eq!(names(&mended), ["oss3:sda"], "{}", mended.err);
}

#[test]
fn devices_of_many_hosts_in_files_of_their_own_are_undecided() {
    let text = by_host_and_device(1.0, 0);
    let bench = Bench::new();
    // Clocks of real hosts are not the same to the second.
    for (host, later_s) in [(1, 0), (2, 0), (3, 3), (4, 7)] {
        let own = text.lines().filter_map(|line| {
            let [time, name, rest] = line.splitn(3, ',').collect::<Vec<_>>()[..] else { return None };
            let time: i64 = time.parse().ok()?;
            (name == format!("oss{host}")).then(|| format!("{},{rest}\n", time + later_s))
        });
        bench.write(
            &format!("h{host}.csv"),
            &("timestamp,device,await\n".to_string() + &own.collect::<String>()),
        );
    }
    let of = |files: [&str; 2]| bench.laggard(&["diagnose", files[0], files[1], "--format", "json"]);
    for files in [["h1.csv", "h2.csv"], ["h1.csv", "h4.csv"], ["h3.csv", "h4.csv"]] {
        is_undecided(&of(files), "--csv host=COLUMN");
    }
    let one_after_the_other = {
        let mut lines: Vec<&str> = text.lines().skip(1).collect();
        lines.sort_by_key(|line| line.split(',').nth(1).map(String::from));
        format!("timestamp,place,thing,await\n{}\n", lines.join("\n"))
    };
    is_undecided(
        &diagnose(&one_after_the_other, &["--csv", "time=timestamp,component=thing"]),
        "--csv host=COLUMN",
    );
    let twice = bench.laggard(&["diagnose", "h1.csv", "h1.csv", "--format", "json"]);
    assert!(!twice.out.contains("--csv host=COLUMN"), "a file given twice: {}", twice.out);
}

#[test]
fn a_plain_file_that_was_cut_is_undecided() {
    let text = by_host_and_device(1.0, 0);
    let at = text.len() * 2 / 5;
    let cut = &text[..at - at % 7];
    let columns = |line: &str| line.split(',').count();
    let cut = (0..40).map(|more| &cut[..cut.len() - more]).find(|cut| {
        let last = cut.rsplit('\n').next().unwrap_or_default();
        (1..4).contains(&columns(last)) && !last.is_empty()
    });
    let cut = cut.expect("a cut within a row");
    is_undecided(&diagnose(cut, &[]), "ends within a row");
    let (whole, _) = cut.rsplit_once('\n').expect("rows");
    assert_eq!(diagnose(whole, &[]).code, 0, "a last row without its end of line is whole");
}

#[test]
fn a_part_whose_values_are_mostly_no_numbers_is_undecided() {
    let text: String = by_host_and_device(1.0, 0)
        .lines()
        .take(1 + 16 * 290)
        .map(|line| match line.split_once(",oss5,sda,") {
            Some((time, value)) if time.ends_with('0') => format!("{time},oss5,sda,>{value}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let ran = diagnose(&text, &[]);
    is_undecided(&ran, "values of oss5:sda were not understood");
}

#[test]
fn latencies_in_seconds_of_disks_that_are_too_busy_for_them_are_undecided() {
    let text = by_host_and_device(8e-3, 0).replace("device,await", "device,util,tps,await");
    let with_work = text.replace(",sda,", ",sda,80,12,").replace(",sdb,", ",sdb,80,12,");
    let ran = diagnose(&with_work, &[]);
    is_undecided(&ran, "await=COLUMN:s");
    let mapping = "time=timestamp,component=device,host=host,await=await:s";
    assert!(!diagnose(&with_work, &["--csv", mapping]).out.contains("State their unit"));
}

#[test]
fn latencies_in_seconds_are_undecided_and_the_remedy_works() {
    let text = by_host_and_device(2.8e-3, 0);
    is_undecided(&diagnose(&text, &[]), "await=COLUMN:s");
    let mapping = "time=timestamp,component=device,host=host,await=await:s";
    let mended = diagnose(&text, &["--csv", mapping]);
    assert_eq!(names(&mended), ["oss3:sda"], "{}", mended.err);
}

#[test]
fn a_packed_file_that_was_cut_is_undecided() {
    let bench = Bench::new();
    let path = bench.write("x.csv", &by_host_and_device(1.0, 0));
    assert!(Command::new("gzip").arg(&path).status().expect("gzip").success());
    let packed = std::fs::read(bench.path("x.csv.gz")).expect("packed");
    std::fs::write(bench.path("x.csv.gz"), &packed[..packed.len() * 2 / 5]).expect("writable");
    let ran = bench.laggard(&["diagnose", "x.csv.gz", "--format", "json"]);
    is_undecided(&ran, "Copy it again");
    let text = bench.laggard(&["diagnose", "x.csv.gz"]).out;
    assert!(text.starts_with("Undecided") && text.contains("warning: x.csv.gz: cut or damaged"), "{text}");
    let json = ran.json();
    assert_eq!(json["components"][0]["verdict"], "undecided", "{}", json["components"][0]);
}

#[test]
fn a_clock_that_is_minutes_off_makes_its_host_undecided() {
    let quiet =
        by_host_and_device(1.0, 420).lines().take(1 + 16 * 290).fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        });
    let ran = diagnose(&quiet, &[]);
    is_undecided(&ran, "420 s later");
    let json = ran.json();
    let states = json["components"].as_array().expect("components").iter();
    let undecided = states.filter(|state| state["verdict"] == "undecided").map(|state| &state["component"]);
    assert_eq!(undecided.collect::<Vec<_>>(), ["oss5:sda", "oss5:sdb"]);
}

#[test]
fn one_bad_file_among_good_ones_is_no_all_clear() {
    let bench = Bench::new();
    bench.write(
        "good.csv",
        &by_host_and_device(1.0, 0).lines().take(1 + 16 * 290).collect::<Vec<_>>().join("\n"),
    );
    bench.write("bad.csv", "\0\0\0\0");
    let ran = bench.laggard(&["diagnose", "good.csv", "bad.csv", "--format", "json"]);
    is_undecided(&ran, "binary data");
}

/// Forty servers every ten minutes for a day, as sysstat records by default; the disk of one takes `factor` times as long for a while.
fn every_ten_minutes(seed: u64, factor: f64, samples: i64) -> String {
    let mut chance = Chance::new(seed);
    let mut text = String::from("timestamp,component,tps,rd_sec,wr_sec,await,util\n");
    for slot in 0..144i64 {
        let day = 1.0 + 0.5 * (slot as f64 / 23.0).sin();
        for server in 1..=40 {
            let is_slow = server == 17 && (60..60 + samples).contains(&slot);
            let tps = 60.0 * day * (0.25 * chance.normal()).exp();
            let service_ms = 3.0 * (0.1 * chance.normal()).exp() * if is_slow { factor } else { 1.0 };
            let busy = (tps * service_ms / 1000.0).min(0.98);
            let latency = service_ms / (1.0 - busy.min(0.9)) * (0.1 * chance.normal()).exp();
            let (read, written) = (tps * 40.0 * (0.1 * chance.normal()).exp(), tps * 90.0);
            let time = 1_700_000_400 + slot * 600;
            let _ = writeln!(
                text,
                "{time},oss{server:02},{tps:.2},{read:.1},{written:.1},{latency:.3},{:.2}",
                100.0 * busy
            );
        }
    }
    text
}

#[test]
fn samples_of_ten_minutes_show_what_lasts_half_an_hour() {
    for (factor, samples) in [(20.0, 3), (4.0, 6), (20.0, 18)] {
        let ran = diagnose(&every_ten_minutes(1, factor, samples), &[]);
        assert_eq!(names(&ran), ["oss17"], "{factor} times for {samples} samples\n{}", ran.err);
    }
    for seed in 2..8 {
        let ran = diagnose(&every_ten_minutes(seed, 1.0, 0), &[]);
        assert_eq!((names(&ran), ran.code), (Vec::new(), 0), "seed {seed}");
    }
}

#[test]
fn latencies_alone_every_ten_minutes_show_it_too() {
    let only = |text: String| {
        let keep = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            format!("{},{},{}\n", fields[0], fields[1], fields[5])
        };
        text.lines().map(keep).collect::<String>()
    };
    for (factor, samples) in [(20.0, 3), (4.0, 6)] {
        let ran = diagnose(&only(every_ten_minutes(1, factor, samples)), &[]);
        assert_eq!(names(&ran), ["oss17"], "{factor} times for {samples} samples\n{}", ran.err);
    }
    for seed in 2..8 {
        let ran = diagnose(&only(every_ten_minutes(seed, 1.0, 0)), &[]);
        assert_eq!((names(&ran), ran.code), (Vec::new(), 0), "seed {seed}");
    }
}

//! Files of sysstat: real ones where they are, and one written here byte by byte, in both orders.

use super::*;
use crate::activity::Hosts;
use crate::problem::Problems;
use proptest::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};

const START_S: u64 = 1_700_000_000;

/// Writes integers in either order.
struct Bytes {
    out: Vec<u8>,
    is_big: bool,
}

impl Bytes {
    fn u16(&mut self, value: u16) {
        self.out.extend(if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn u32(&mut self, values: &[u32]) {
        values.iter().for_each(|value| {
            self.out.extend(if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() });
        });
    }

    fn u64(&mut self, values: &[u64]) {
        values.iter().for_each(|value| {
            self.out.extend(if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() });
        });
    }

    fn text(&mut self, text: &str, length: usize) {
        let mut field = text.as_bytes().to_vec();
        field.resize(length, 0);
        self.out.append(&mut field);
    }
}

/// A file of format 0x2175 as sysstat 12.6 writes it: two disks, one interface, an activity that nobody knows, a restart and a
/// comment in between.
fn written(is_big: bool, records: u64) -> Vec<u8> {
    let mut file = Bytes { out: Vec::new(), is_big };
    file.u16(0xd596);
    file.u16(0x2175);
    file.out.extend([12, 6, 1, 0]);
    file.u32(&[336, 0, 1, 1, 12]);
    file.out.extend([0; 48]);
    file.u64(&[START_S, 100]);
    file.u32(&[3, 3, 123, 0, 0, 9, 2, 0, 1, 36, 24, 0]);
    file.out.extend([14, 10, 8]);
    ["Linux", "oss1", "6.1", "x86_64"].iter().for_each(|text| file.text(text, 65));
    file.text("UTC", 8);
    file.out.resize(76 + 336, 0);
    file.u32(&[11, 0x8c, 2, 1, 1, 80, 3, 3, 8]);
    file.u32(&[200, 0x99, 1, 2, 0, 12, 0, 0, 3]);
    file.u32(&[12, 0x8d, 1, 1, 1, 80, 7, 0, 1]);
    let header = |file: &mut Bytes, record: u64, kind: u8| {
        file.u64(&[(50_000 + record) * 100, START_S + record]);
        file.u32(&[0]);
        file.out.extend([kind, 1, 2, 3]);
    };
    for record in 0..records {
        if record == 3 {
            header(&mut file, record, 4);
            file.text("hello", 64);
        }
        header(&mut file, record, 1);
        file.u32(&[2]);
        for disk in 0..2u32 {
            let count = record * 10 * u64::from(disk + 1);
            file.u64(&[
                count,
                if disk == 0 { 0x5000_cca3_69f1_93ac } else { 0 },
                0,
                count * 8,
                count * 16,
                0,
            ]);
            file.u32(&[
                count as u32 * 3,
                count as u32 * 5,
                record as u32 * 500,
                count as u32 * 8,
                253,
                disk,
                0,
                0,
            ]);
        }
        file.out.extend([7; 24]);
        file.u32(&[1]);
        file.u64(&[record * 2, record * 3, record * 1000, record * 2000, 0, 0, 0]);
        file.u32(&[1000]);
        file.text("eth0", 20);
    }
    file.out
}

fn open(bytes: &[u8]) -> Result<Sysstat, String> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Sysstat::open(file).map_err(|error| error.to_string())
}

fn column(sysstat: &Sysstat, kind: &'static Kind, thing: &str, field: &str) -> Vec<i64> {
    let mut found = Vec::new();
    for segment in 0..sysstat.segments() {
        sysstat
            .scan(segment, kind, &[kind.field(field).unwrap()], &mut |stretch| {
                if stretch.name == thing {
                    found.extend_from_slice(stretch.fields[0]);
                }
            })
            .unwrap();
    }
    found
}

#[test]
fn both_byte_orders_read_the_same() {
    for is_big in [false, true] {
        let sysstat = open(&written(is_big, 6)).unwrap();
        assert_eq!((sysstat.origin().host.as_str(), sysstat.origin().interval_s), ("oss1", 1));
        assert_eq!(sysstat.damaged(), Vec::<String>::new());
        assert_eq!(sysstat.span_s(0), (START_S as i64, START_S as i64 + 5));
        assert_eq!(column(&sysstat, &DISK, "wwn-0x5000cca369f193ac", "requests"), [0, 10, 20, 30, 40, 50]);
        assert_eq!(column(&sysstat, &DISK, "dev253-1", "sectors_written"), [0, 320, 640, 960, 1280, 1600]);
        assert_eq!(column(&sysstat, &DISK, "dev253-1", "read_ms")[2], 120);
        assert_eq!(column(&sysstat, &DISK, "dev253-1", "queue_extra_ms")[2], 0);
        assert_eq!(column(&sysstat, &DISK, "dev253-1", "flushes"), [ABSENT; 6]);
        assert_eq!(column(&sysstat, &NET, "eth0", "tx_bytes")[5], 10_000);
    }
}

#[test]
fn a_file_that_is_cut_off_yields_what_is_whole() {
    let whole = written(false, 6);
    for cut in [whole.len() - 1, whole.len() - 300] {
        let sysstat = open(&whole[..cut]).unwrap();
        assert_eq!(
            column(&sysstat, &NET, "eth0", "rx_bytes").len(),
            if cut + 1 == whole.len() { 5 } else { 4 }
        );
        assert!(sysstat.damaged()[0].contains("not whole"), "{:?}", sysstat.damaged());
    }
    let mut wrong = whole;
    let fourth = wrong.len() - 2 * 296;
    wrong[fourth..fourth + 100].fill(0xee);
    let sysstat = open(&wrong).unwrap();
    assert!(sysstat.damaged()[0].contains("what is before it is used"), "{:?}", sysstat.damaged());
}

#[test]
fn other_formats_are_refused_with_the_remedy() {
    let mut newer = written(false, 1);
    newer[2..4].copy_from_slice(&[0x77, 0x21]);
    assert!(
        open(&newer).unwrap_err().contains("newer sysstat (12.6.1, format 0x2177); export it there: sadf -j")
    );
    newer[2..4].copy_from_slice(&[0x6f, 0x21]);
    assert!(open(&newer).unwrap_err().contains("sadf -c"));
    assert!(open(&written(false, 1)[..100]).unwrap_err().contains("cut off"));
}

fn shared() -> Option<PathBuf> {
    crate::shared_data("sysstat")
}

/// sar's own figures for these files: the first line with a rate of the disk and of the interface.
#[test]
fn shared_data_real_files_of_11_6_and_12_0() {
    use crate::align::Aligned;
    use laggard_core::model::{Metric, Roster};
    let Some(folder) = shared() else { return };
    for (file, disk, await_ms, tps) in
        [("data-11.6.5", "dev8-0", 6.68, 5.93), ("data-12.0.0", "dev8-0", 0.0, 0.0)]
    {
        let recording =
            crate::read(&[folder.join(file)], None, &mut Problems::default(), &|_, _| {}).unwrap();
        let interval_s = recording.hosts().iter().next().unwrap().files[0].interval_s;
        let roster = Roster::new(recording.observed(), None);
        let mut found = Vec::new();
        Aligned::new(&recording, &roster, interval_s, |_| true).replay(|sample| {
            // A host with one disk is that disk.
            let name = &roster.components[sample.component].name;
            if name.ends_with(disk) || roster.components.len() == 1 {
                found.push((sample.metric, (sample.value * 100.0).round() / 100.0));
            }
        });
        let value = |metric: Metric| found.iter().find(|(known, _)| *known == metric).unwrap().1;
        assert_eq!((value(Metric::Await), value(Metric::Tps)), (await_ms, tps), "{file}");
    }
}

#[test]
fn shared_data_damaged_files_say_what_is_wrong() {
    let Some(folder) = shared() else { return };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("data-") {
            continue;
        }
        match Sysstat::open(File::open(&path).unwrap()) {
            Err(message) => {
                assert!(name.ends_with("err") && message.message.contains("damaged"), "{name}: {message}");
            }
            Ok(sysstat) => {
                let harmless = ["data-12.6.0-file_act-nr-nr_max-err", "data-12.6.0-file_act-types_nr-SARerr"];
                assert!(!name.ends_with("-err") || harmless.contains(&name.as_str()), "{name}");
                let whole = sysstat.damaged().is_empty();
                assert_eq!(whole, name != "data-trunc", "{name}: {:?}", sysstat.damaged());
                let mut problems = Problems::default();
                let held: std::sync::Arc<dyn Counters> = std::sync::Arc::new(sysstat);
                Hosts::default().add_held(&path, &held, &mut problems);
            }
        }
    }
}

/// What sadc recorded here a moment ago, computed from our raw counters, is what sadf prints.
#[test]
fn a_file_of_this_machines_sadc_reads_as_sadf_reads_it() {
    use crate::activity::work::{Latest, Plan, of};
    use laggard_core::model::Metric::{AvgquSz, Await, RdSec, Tps, Util, WrSec};
    let sadc = Path::new("/usr/lib/sysstat/sadc");
    if !sadc.exists() {
        let demanded =
            std::env::var_os("LAGGARD_REQUIRE_PACKAGES").is_some() || std::env::var_os("CI").is_some();
        assert!(!demanded, "sadc is missing; `cargo xtask test` gets it");
        eprintln!("skipped: sysstat is missing; run `cargo xtask test`");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let sa = folder.path().join("sa");
    let mut recorder =
        std::process::Command::new(sadc).args(["-S", "DISK", "1", "5"]).arg(&sa).spawn().unwrap();
    while recorder.try_wait().unwrap().is_none() {
        let file = File::create(folder.path().join("load")).unwrap();
        (&file).write_all(&vec![1; 1 << 20]).unwrap();
        file.sync_all().unwrap();
    }
    let json =
        std::process::Command::new("sadf").args(["-j", "-U"]).arg(&sa).args(["--", "-d"]).output().unwrap();
    let printed: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let sysstat = Sysstat::open(File::open(&sa).unwrap()).unwrap();
    let metrics = [
        (Tps, "tps"),
        (RdSec, "rd_sec"),
        (WrSec, "wr_sec"),
        (Await, "await"),
        (AvgquSz, "avgqu-sz"),
        (Util, "util-percent"),
    ];
    let plan = Plan::all(&metrics.map(|(metric, _)| metric)).remove(0);
    let mut compared = 0;
    sysstat
        .scan(0, &DISK, &plan.fields, &mut |stretch| {
            let (major, minor) = stretch.name.trim_start_matches("dev").split_once('-').unwrap_or_default();
            let Ok(link) = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")) else { return };
            let kernel = link.file_name().unwrap().to_string_lossy().into_owned();
            let mut latest = Latest::default();
            for (sample, time_s) in stretch.times_s.iter().enumerate() {
                let time_ms = time_s * 1000 + stretch.late_ms[sample];
                let work = latest.advance(&plan, time_ms, 5000, |field| stretch.fields[field][sample]);
                let (Some(work), Some(record)) = (work, sample.checked_sub(1)) else { continue };
                let disks = printed["sysstat"]["hosts"][0]["statistics"][record]["disk"].as_array().unwrap();
                let line = disks.iter().find(|disk| disk["disk-device"] == kernel.as_str()).unwrap();
                for (metric, name) in metrics {
                    let (ours, theirs) = (of(&work, metric).unwrap(), line[name].as_f64().unwrap());
                    assert!(
                        (ours - theirs).abs() <= 0.011 + 0.0001 * theirs.abs(),
                        "{kernel} {name}: {ours} and {theirs}"
                    );
                    compared += usize::from(theirs > 0.0);
                }
            }
        })
        .unwrap();
    assert!(compared > 5, "{compared} values above zero compared");
}

proptest! {
    #[test]
    fn a_damaged_file_never_panics(flips in proptest::collection::vec((0usize..2200, any::<u8>()), 1..6), cut in 0usize..2200) {
        let mut bytes = written(cut % 2 == 0, 6);
        bytes.truncate(cut.max(500));
        for (at, value) in flips {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        if let Ok(sysstat) = open(&bytes) {
            for segment in 0..sysstat.segments().min(50) {
                for kind in [&DISK, &NET] {
                    let fields: Vec<usize> = (0..kind.fields.len()).collect();
                    let _ = sysstat.scan(segment, kind, &fields, &mut |_| {});
                }
            }
        }
    }
}

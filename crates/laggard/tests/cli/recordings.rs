//! What sites already have: activity files, sysstat's files, a Prometheus; and the store that they go into.

use crate::{Bench, is_there};
use laggard_activity::kind::{DISK, NET};
use laggard_activity::{Origin, Snapshot, Table, TailReader, TailWriter, name, seal};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const START_S: i64 = 1_304_899_205;

/// A host with three disks for half an hour. One disk of one host takes eight times as long from the tenth minute on.
fn half_an_hour(host: i64) -> Vec<Snapshot> {
    seconds_of(host, 1800, 600)
}

/// The same for some seconds, slow after some of them.
fn seconds_of(host: i64, seconds: i64, slow_after: i64) -> Vec<Snapshot> {
    let mut sums = [[0i64; 3]; 3];
    let mut snapshots = Vec::new();
    for second in 0..seconds {
        let mut disks = Table::new(&DISK);
        for (disk, [writes, sectors, write_ms]) in sums.iter_mut().enumerate() {
            let noise = (second * 7919 + host * 104_729 + disk as i64 * 1299) % 17;
            let slow = if (host, disk) == (4, 1) && second > slow_after { 8 } else { 1 };
            *writes += 60 + noise;
            *sectors += (60 + noise) * 128;
            *write_ms += (60 + noise) * 5 * slow + noise * 3;
            disks.push(format!("sd{disk}"), &[0, 0, 0, 0, *writes, 0, *sectors, *write_ms, 0, *write_ms / 9]);
        }
        let mut net = Table::new(&NET);
        net.push(
            "eth0",
            &[second * 20_000_000, second * 15_000, 0, 0, second * 1_000_000, second * 8000, 0, 0],
        );
        snapshots.push(Snapshot { time_s: START_S + second, late_ms: 0, tables: vec![disks, net] });
    }
    snapshots
}

/// The tail of a host's file, to be written.
fn tail_of(folder: &Path, host: i64) -> (std::path::PathBuf, TailWriter) {
    std::fs::create_dir_all(folder).unwrap();
    let origin = Origin { host: format!("fs{host}"), interval_s: 1, kinds: vec![&DISK, &NET] };
    let stem = folder.join(name::stem(&origin.host, START_S) + ".tail");
    let tail = TailWriter::create(&stem, origin, 0).unwrap();
    (stem, tail)
}

/// The files of six hosts.
fn record(folder: &Path) {
    for host in 0..6i64 {
        let (stem, mut tail) = tail_of(folder, host);
        half_an_hour(host).chunks(5).for_each(|some| tail.append(some).unwrap());
        // Half of the hosts have sealed theirs.
        if host % 2 == 0 {
            seal::seal(&name::beside(&stem, name::SEALED), &TailReader::open(&stem).unwrap()).unwrap();
            std::fs::remove_file(&stem).unwrap();
        }
    }
}

#[test]
fn activity_files_tell_which_disk_is_slow_directly_and_from_a_store() {
    let bench = Bench::new();
    record(&bench.path("files"));
    let direct = bench.laggard(&["diagnose", "files", "--format", "json"]);
    let accused =
        |incidents: Vec<(String, String)>| incidents.into_iter().map(|(part, _)| part).collect::<Vec<_>>();
    let found = accused(direct.incidents());
    assert_eq!(found, ["fs4:sd1"], "one problem, one line: {}", direct.out);
    let imported = bench.laggard(&["import", "files", "--into", "store"]);
    assert!(
        imported.code == 0 && imported.out.contains("24 components, 6 files"),
        "{}{}",
        imported.out,
        imported.err
    );
    assert!(
        bench.path("store/summaries").is_dir()
            && bench.path("store/fs4/fs4-20110509T000005Z.parquet").is_file()
    );
    let stored = bench.laggard(&["diagnose", "store", "--format", "json"]);
    assert_eq!(accused(stored.incidents()), found);
    assert_eq!(direct.json()["incidents"], stored.json()["incidents"], "a store is as good as its files");
    let page = bench.laggard(&["diagnose", "store", "--format", "html", "-o", "report.html"]);
    assert_eq!(page.code, 1);
    let html = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(html.contains("await of fs4:sd1 and its peers") && html.matches("class=\"peer\"").count() > 3);
    // Before the disk became slow there is nothing to find; and there is nothing at all a year later.
    let before = bench.laggard(&["diagnose", "store", "--to", "2011-05-09T00:09:00Z"]);
    assert_eq!(before.code, 0, "{}", before.out);
    assert!(before.out.contains("to 2011-05-09T00:09:0"), "{}", before.out);
    let later = bench.laggard(&["diagnose", "store", "--from", "2012-05-09T00:09:00Z"]);
    assert!(later.code == 2 && later.err.contains("no samples"), "{}", later.err);
    let trained = bench.laggard(&["train", "store", "-o", "thresholds.toml"]);
    assert_eq!(trained.code, 0, "{}", trained.err);
    let columns = bench.laggard(&["compare", "files", "--method", "kl", "--metric", "await"]);
    assert!(columns.out.lines().any(|line| line.contains("fs4:sd1")), "{}", columns.err);
}

/// Wherever a file is damaged: what is said is what was said before, or stderr says what is missing.
#[test]
fn damage_never_changes_the_verdict_silently() {
    let bench = Bench::new();
    record(&bench.path("files"));
    let path = bench.path("files/fs4-20110509T000005Z.parquet");
    let whole = std::fs::read(&path).unwrap();
    let verdict = || bench.laggard(&["diagnose", "files", "--format", "json"]);
    let good = verdict().out;
    let mut told = 0;
    for part in 0..24 {
        let at = whole.len() * part / 24 + 40;
        let mut damaged = whole.clone();
        damaged[at..at + 4].iter_mut().for_each(|byte| *byte ^= 0x5a);
        std::fs::write(&path, &damaged).unwrap();
        let ran = verdict();
        assert!(ran.out == good || ran.err.contains("fs4-20110509T000005Z"), "byte {at}: {}", ran.err);
        told += usize::from(ran.err.contains("fs4-20110509T000005Z"));
    }
    assert!(told > 8, "{told} of 24 were told");
    let imported = bench.laggard(&["import", "files", "--into", "store"]);
    assert_eq!(imported.code, 0, "{}", imported.err);
}

#[test]
fn a_lone_parquet_of_others_and_a_torn_tail_are_told_apart() {
    let bench = Bench::new();
    record(&bench.path("files"));
    let tail = bench.path("files/fs1-20110509T000005Z.tail");
    let bytes = std::fs::read(&tail).unwrap();
    std::fs::write(&tail, &bytes[..bytes.len() - 1000]).unwrap();
    std::fs::write(bench.path("other.parquet"), b"PAR1 nothing of ours PAR1").unwrap();
    let torn = bench.laggard(&["diagnose", "files", "other.parquet", "--format", "json"]);
    assert_eq!(torn.incidents()[0].0, "fs4:sd1");
    assert!(torn.err.contains("other.parquet: "), "{}", torn.err);
}

/// Packed or not, directly or through sadf: the same components come out.
#[test]
fn a_sa_file_of_this_machine_is_read_packed_and_through_sadf() {
    let sadc = Path::new("/usr/lib/sysstat/sadc");
    if !is_there(sadc, "a_sa_file_of_this_machine_is_read_packed_and_through_sadf") {
        return;
    }
    let bench = Bench::new();
    let sa = bench.path("today.sa");
    assert!(Command::new(sadc).args(["-S", "DISK", "1", "4"]).arg(&sa).status().unwrap().success());
    let json =
        Command::new("sadf").args(["-j", "-U"]).arg(&sa).args(["--", "-d", "-n", "DEV"]).output().unwrap();
    std::fs::write(bench.path("today.json"), &json.stdout).unwrap();
    assert!(Command::new("xz").arg("-k").arg(&sa).status().unwrap().success());
    let imported = |file: &str, store: &str| {
        let ran = bench.laggard(&["import", file, "--into", store]);
        assert!(ran.code == 0 && !ran.out.starts_with("0 samples"), "{file}: {}{}", ran.out, ran.err);
        ran.out.split(" into ").next().unwrap_or_default().to_string()
    };
    assert_eq!(imported("today.sa", "native"), imported("today.sa.xz", "packed"));
    imported("today.json", "through");
    assert_eq!(bench.laggard(&["diagnose", "native", "--interval", "1"]).code, 3, "one host has no peers");
}

/// A process that is stopped whatever happens.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The real Prometheus and node_exporter of Debian, on loopback.
#[test]
fn a_real_prometheus_is_read() {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debian/usr/bin");
    let (server, exporter) = (packages.join("prometheus"), packages.join("prometheus-node-exporter"));
    if !is_there(&server, "a_real_prometheus_is_read") || !is_there(&exporter, "a_real_prometheus_is_read") {
        return;
    }
    let bench = Bench::new();
    let (port, exporter_port) = (free_port(), free_port());
    let quiet =
        |command: &mut Command| Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let _exporter =
        quiet(Command::new(&exporter).arg(format!("--web.listen-address=127.0.0.1:{exporter_port}")));
    bench.write(
        "prometheus.yml",
        &format!("global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: node\n  static_configs:\n  - targets: ['127.0.0.1:{exporter_port}']\n    labels: {{cluster: here}}\n"),
    );
    let _server = quiet(
        Command::new(&server)
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg(format!("--config.file={}", bench.path("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", bench.path("tsdb").display())),
    );
    let url = format!("http://127.0.0.1:{port}");
    let started = Instant::now();
    let mut ran = bench.laggard(&["import", &url, "--into", "store", "--select", "cluster=\"here\""]);
    while !(ran.code == 0 && started.elapsed() > Duration::from_secs(8))
        && started.elapsed() < Duration::from_secs(40)
    {
        std::thread::sleep(Duration::from_millis(500));
        ran = bench.laggard(&["import", &url, "--into", "store", "--select", "cluster=\"here\""]);
    }
    assert!(ran.code == 0 && ran.out.contains("into store"), "{}{}", ran.out, ran.err);
    let diagnosed = bench.laggard(&["diagnose", "store", "--format", "json"]).json();
    assert!(diagnosed["components"].to_string().contains("127.0.0.1"), "{diagnosed}");
    let stepped = bench.laggard(&["compare", &url, "--step", "2", "--method", "thresh", "--metric", "tps"]);
    assert!(stepped.code == 3 || stepped.code == 0, "{}", stepped.err);
    let nobody = bench.laggard(&["import", &url, "--into", "none", "--select", "cluster=\"elsewhere\""]);
    assert!(nobody.code == 2 && nobody.err.contains("label selector"), "{}", nobody.err);
    let wrong = bench.laggard(&["import", &url, "--into", "none", "--select", "cluster=here"]);
    assert!(wrong.code == 2 && wrong.err.contains("parse error"), "{}", wrong.err);
}

/// A process that is ended with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_disk_that_begins_to_limp_is_told_while_it_is_recorded() {
    use std::io::BufRead;
    let bench = Bench::new();
    let folder = bench.path("files");
    let mut tails: Vec<(TailWriter, Vec<Snapshot>)> =
        (0..6).map(|host| (tail_of(&folder, host).1, half_an_hour(host))).collect();
    let mut write = |seconds: std::ops::Range<usize>| {
        for (tail, snapshots) in &mut tails {
            snapshots[seconds.clone()].chunks(5).for_each(|some| tail.append(some).unwrap());
        }
    };
    write(0..500);
    let mut command = Command::new(env!("CARGO_BIN_EXE_laggard"));
    command.args(["diagnose", "--follow", "--format", "json"]).arg(&folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut follower = Ended(command.spawn().unwrap());
    crate::wait_for_line(follower.0.stderr.take().unwrap(), "following ");
    let (sender, lines) = std::sync::mpsc::channel();
    let output = std::io::BufReader::new(follower.0.stdout.take().unwrap());
    std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    // Still there, and silent.
    let silent = Err(std::sync::mpsc::RecvTimeoutError::Timeout);
    assert_eq!(lines.recv_timeout(Duration::from_secs(5)), silent, "nothing limps yet");
    write(500..700);
    let line = lines.recv_timeout(Duration::from_secs(60)).expect("it is told");
    let told: serde_json::Value = serde_json::from_str(&line).expect("a line of JSON");
    assert_eq!((&told["component"], &told["state"]), (&"fs4:sd1".into(), &"new".into()), "{line}");
    write(700..900);
    assert_eq!(lines.recv_timeout(Duration::from_secs(5)), silent, "what has been told is not told again");
}

#[test]
fn when_two_hours_have_been_recorded_a_follower_goes_on_as_a_replay_would() {
    use std::io::BufRead;
    const LIMPS_AFTER_S: i64 = 7500;
    let bench = Bench::new();
    let folder = bench.path("files");
    let of_host = |host: i64| (tail_of(&folder, host).1, seconds_of(host, 7800, LIMPS_AFTER_S));
    let mut tails: Vec<(TailWriter, Vec<Snapshot>)> = (0..6).map(of_host).collect();
    let mut write = |seconds: std::ops::Range<usize>| {
        for (tail, snapshots) in &mut tails {
            snapshots[seconds.clone()].chunks(5).for_each(|some| tail.append(some).unwrap());
        }
    };
    write(0..7100);
    let mut command = Command::new(env!("CARGO_BIN_EXE_laggard"));
    command.args(["diagnose", "--follow", "--format", "json"]).arg(&folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut follower = Ended(command.spawn().unwrap());
    let begins = crate::lines_with(follower.0.stderr.take().unwrap(), "following ");
    let wait = Duration::from_secs(60);
    begins.recv_timeout(wait).expect("it follows a short recording");
    write(7100..LIMPS_AFTER_S as usize);
    begins.recv_timeout(wait).expect("it begins anew on the grid of a longer one");
    write(LIMPS_AFTER_S as usize..7800);
    let line = std::io::BufReader::new(follower.0.stdout.take().unwrap()).lines().next();
    let told: serde_json::Value = serde_json::from_str(&line.unwrap().unwrap()).expect("a line of JSON");
    assert_eq!((&told["component"], &told["state"]), (&"fs4:sd1".into(), &"new".into()), "{told}");
    let replay = bench.laggard(&["diagnose", "files", "--format", "json"]).json();
    assert_eq!(replay["interval_s"], 3, "{replay}");
    let first = |incident: &serde_json::Value| incident["first_seen"].clone();
    assert_eq!(first(&told), first(&replay["incidents"][0]), "{told}\n{}", replay["incidents"]);
}

#[test]
fn only_what_grows_can_be_followed() {
    let bench = Bench::new();
    bench.write("rates.csv", "timestamp,component,metric,value\n0,a,await,1\n1,a,await,1\n");
    let refused = bench.laggard(&["diagnose", "--follow", "rates.csv"]);
    assert!(refused.code == 2 && refused.err.contains("activity files"), "{}", refused.err);
    let missing = bench.laggard(&["diagnose", "--follow", "nowhere"]);
    assert!(missing.code == 2 && missing.err.contains("nowhere: not there"), "{}", missing.err);
    let page = bench.laggard(&["diagnose", "--follow", "rates.csv", "--format", "html"]);
    assert!(page.code == 2 && page.err.contains("text or json"), "{}", page.err);
}

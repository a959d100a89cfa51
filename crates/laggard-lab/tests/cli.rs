//! The laboratory's commands, run as a user would.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn lab(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_laggard-lab"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("laggard-lab runs")
}

fn error_of(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let ran = lab(folder.path(), arguments);
    assert_eq!(ran.status.code(), Some(2), "{arguments:?}");
    assert!(ran.stdout.is_empty());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    String::from_utf8(ran.stderr).unwrap()
}

#[test]
fn a_simulated_bench_is_the_same_for_the_same_seed() {
    let folder = tempfile::tempdir().unwrap();
    let simulate = |output: &str, seed: &str| {
        let arguments = [
            "sim",
            "bench",
            "--cluster",
            "pvfs-6-12",
            "--fault",
            "disk-hog",
            "--server",
            "2",
            "--seed",
            seed,
            "-o",
            output,
        ];
        let ran = lab(folder.path(), &arguments);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let read = |name: &str| fs::read_to_string(folder.path().join(output).join(name)).unwrap();
        (read("recording.csv"), read("truth.toml"), read("sockets.csv"))
    };
    let (recording, truth, sockets) = simulate("a", "7");
    assert_eq!((recording.clone(), truth.clone(), sockets.clone()), simulate("b", "7"));
    assert_ne!(recording, simulate("c", "8").0);
    let header = recording.lines().next().unwrap();
    assert_eq!(
        header,
        "timestamp,component,tps,rd_sec,wr_sec,avgrq_sz,avgqu_sz,await,svctm,util,rxpck,txpck,rxbyt,txbyt,cwnd_to_clients,cwnd_from_clients,in_flight"
    );
    assert!(truth.contains("component = \"oss02\"") && truth.contains("cause = \"disk-hog\""), "{truth}");
    let seconds = recording.lines().count() / 12;
    assert_eq!(sockets.lines().count() - 1, 2 * 6 * 12 * seconds, "every socket of clients and servers");
}

#[test]
fn a_simulated_machine_room_has_a_topology_and_a_truth() {
    let folder = tempfile::tempdir().unwrap();
    let ran = lab(
        folder.path(),
        &["sim", "production", "--hours", "1", "--event", "15", "--interval", "60", "-o", "day"],
    );
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let read = |name: &str| fs::read_to_string(folder.path().join("day").join(name)).unwrap();
    assert!(read("truth.toml").contains("Drawer error"));
    assert!(laggard_core::model::Topology::parse(&read("topology.toml")).is_ok());
    let rows = read("recording.csv").lines().count() - 1;
    assert!((2304 * 58..=2304 * 60).contains(&rows), "a few samples are lost: {rows}");
}

#[test]
fn bad_arguments_say_what_would_be_good() {
    let with = |key: &str, value: &str| error_of(&["sim", "bench", key, value, "-o", "x"]);
    assert!(with("--cluster", "ceph").contains("lustre-6-12"));
    assert!(with("--workload", "fio").contains("postmark"));
    assert!(with("--fault", "gremlin").contains("send-pktloss"));
    assert!(with("--server", "11").contains("10 servers"));
    assert!(with("--severity", "nan").contains("above 0"));
    assert!(error_of(&["sim", "production", "--event", "24", "-o", "x"]).contains("1 to 23"));
    assert!(error_of(&["score", "--severity", "2"]).contains("up to 1"));
    assert!(error_of(&["score", "--repetitions", "0"]).contains("repetitions"));
}

#[test]
fn what_is_there_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("mine")).unwrap();
    fs::write(folder.path().join("mine/recording.csv"), "precious").unwrap();
    let ran = lab(folder.path(), &["sim", "bench", "-o", "mine"]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("mine"));
    assert_eq!(fs::read_to_string(folder.path().join("mine/recording.csv")).unwrap(), "precious");
}

#[test]
fn the_page_of_faults_lists_what_can_be_injected() {
    let output = Command::new(env!("CARGO_BIN_EXE_laggard-lab")).args(["run", "--faults"]).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/faults.md")).unwrap();
    let documented: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| `")).collect();
    assert_eq!(documented.len(), listed.lines().count());
    for (line, documented) in listed.lines().zip(documented) {
        let (name, summary) = line.split_once(' ').unwrap();
        assert!(documented.starts_with(&format!("{name}` | {} |", summary.trim())), "{line}\n{documented}");
    }
}

#[test]
fn what_the_laboratory_cannot_do_it_says_before_it_begins() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let refusal = |text: &str| {
        fs::write(&plan, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_laggard-lab")).arg("run").arg(&plan).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(!folder.path().join("plan").exists(), "nothing is made");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refusal("faults = [\"disk-fire\"]").contains("disk-hog"));
    assert!(refusal("sec = 3").contains("plan.toml"));
    assert!(refusal("[bench]\nservers = 8").contains("power of two"));
}

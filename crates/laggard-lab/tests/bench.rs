//! The bench, for real: namespaces, FUSE, loop devices, GlusterFS. Needs root; `cargo xtask test` runs it where it has it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// One bench at a time, whatever the order: each test has its own name, but a machine has two cores. Only the smoke campaign, which mostly
/// waits, goes on beside the others.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_laggard-lab")).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Takes a bench away also when its test fails.
struct Down(&'static str);

impl Drop for Down {
    fn drop(&mut self) {
        lab(&["bench", "down", "--name", self.0]);
    }
}

fn up(name: &'static str, config: &str) -> Down {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bench.toml");
    fs::write(&file, config).unwrap();
    let down = Down(name);
    let output = lab(&["bench", "up", "--name", name, "--config", &file.to_string_lossy()]);
    assert!(output.status.success(), "{}", said(&output));
    down
}

/// What benches could leave: loop devices, mounts, control groups, folders, processes.
fn traces(name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir("/sys/block").unwrap().flatten() {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        if file.contains(name) {
            found.insert(format!("{}: {file}", entry.path().display()));
        }
    }
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    found.extend(mounts.lines().filter(|line| line.contains(name)).map(String::from));
    for folder in ["/run/laggard-lab", "/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu"] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().contains(name) {
                found.insert(entry.path().display().to_string());
            }
        }
    }
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let command = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        // Not this test, which has the name among its arguments at most.
        if command.contains(&format!("/run/laggard-lab/{name}"))
            || command.contains(&format!("--name\0{name}"))
        {
            found.insert(command.replace('\0', " "));
        }
    }
    found
}

/// What `status` says of one bench; others may be up.
fn status(name: &str) -> String {
    let text = said(&lab(&["bench", "status"]));
    let from = text.find(&format!("bench {name}:")).expect("it is up");
    let end = text[from + 1..].find("\nbench ").map_or(text.len(), |end| from + 1 + end);
    text[from..end].to_string()
}

fn keeper(name: &str) -> i32 {
    let text = status(name);
    let line = text.lines().next().unwrap();
    line.rsplit(' ').next().unwrap().parse().expect("the keeper's number comes last")
}

#[test]
#[ignore = "needs root: namespaces, FUSE, loop devices"]
fn a_bench_comes_up_in_seconds_and_nothing_is_left_of_it() {
    let _alone = alone();
    let down = up("test-updown", "servers = 5\nclients = 1");
    let status = status("test-updown");
    let (_, rest) = status.split_once("up in ").unwrap();
    let seconds: f64 = rest.split(' ').next().unwrap().parse().unwrap();
    assert!(seconds < 30.0, "it takes two on an idle machine: {seconds} s");
    assert_eq!(status.matches(" runs").count(), 5, "{status}");
    let again = lab(&["bench", "up", "--name", "test-updown"]);
    assert!(!again.status.success() && said(&again).contains("is up already"));
    assert!(!traces("test-updown").is_empty());
    drop(down);
    assert_eq!(traces("test-updown"), BTreeSet::new());
}

#[test]
#[ignore = "needs root: namespaces, FUSE, loop devices"]
fn a_killed_bench_is_taken_away_by_clean() {
    let _alone = alone();
    let _down = up("test-kill", "servers = 3\nclients = 1");
    let pid = rustix::process::Pid::from_raw(keeper("test-kill")).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    // What is up stays up; a bench is dead when its keeper is.
    until(&|| !traces("test-kill").iter().any(|trace| trace.contains("keep")));
    let output = lab(&["clean"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(traces("test-kill"), BTreeSet::new());
}

/// Waits for something that must come soon.
fn until(condition: &dyn Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < patience, "it does not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A file of the bench, from outside.
fn inside(name: &str, path: &str) -> PathBuf {
    Path::new("/proc").join(keeper(name).to_string()).join("root").join(path.trim_start_matches('/'))
}

#[test]
#[ignore = "needs root: namespaces, FUSE, loop devices"]
fn every_fault_is_injected_and_taken_back() {
    let _alone = alone();
    let _down = up("test-faults", "servers = 3\nclients = 1\n[disk]\nsize_mib = 128");
    let listed = said(&lab(&["run", "--faults"]));
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&"disk-hog") && names.len() > 10, "{names:?}");
    for name in names {
        let output = lab(&["inject", name, "--bench", "test-faults", "--on", "oss2", "--for", "1"]);
        assert!(output.status.success() && said(&output).contains("undone"), "{name}: {}", said(&output));
        let hosts =
            fs::read_dir(inside("test-faults", "/run/laggard-lab/test-faults/undo")).unwrap().flatten();
        let journals = hosts.flat_map(|host| fs::read_dir(host.path()).unwrap().flatten());
        let left: Vec<PathBuf> = journals.map(|entry| entry.path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "{name} leaves a journal");
        let status = status("test-faults");
        assert_eq!(status.matches(" runs").count(), 3, "{name}: {status}");
    }
    let probe = inside("test-faults", "/run/laggard-lab/test-faults/client/client1/afterwards");
    fs::write(&probe, "still a file system").unwrap();
    assert_eq!(fs::read_to_string(&probe).unwrap(), "still a file system");
    let refused = lab(&["inject", "disk-fire", "--bench", "test-faults", "--on", "oss2", "--for", "1"]);
    assert!(said(&refused).contains("disk-hog"), "{}", said(&refused));
    let nobody = lab(&["inject", "disk-hog", "--bench", "test-faults", "--on", "oss9", "--for", "1"]);
    assert!(said(&nobody).contains("oss1, oss2, oss3"), "{}", said(&nobody));
}

#[test]
#[ignore = "needs root: namespaces, FUSE, loop devices"]
fn a_fault_is_taken_back_when_whoever_injected_it_is_killed() {
    let _alone = alone();
    let _down = up("test-leash", "servers = 3\nclients = 1");
    let undo = inside("test-leash", "/run/laggard-lab/test-leash/undo/oss1");
    let journals = || fs::read_dir(&undo).map_or(0, Iterator::count);
    let arguments = ["inject", "receive-pktloss", "--bench", "test-leash", "--on", "oss1", "--for", "100"];
    let mut injector = Command::new(env!("CARGO_BIN_EXE_laggard-lab")).args(arguments).spawn().unwrap();
    until(&|| journals() == 1);
    injector.kill().unwrap();
    injector.wait().unwrap();
    until(&|| journals() == 0);
    // Its hand is killed, too: nobody is left to take it back, in a bench that stays up.
    let mut injector = Command::new(env!("CARGO_BIN_EXE_laggard-lab")).args(arguments).spawn().unwrap();
    until(&|| journals() == 1);
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let command = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        let pid = entry.file_name().to_string_lossy().parse().ok().and_then(rustix::process::Pid::from_raw);
        if let (true, Some(pid)) = (command.contains("/run/laggard-lab/test-leash/undo/oss1"), pid) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
    injector.kill().unwrap();
    injector.wait().unwrap();
    assert_eq!(journals(), 1);
    let cleaned = lab(&["clean"]);
    assert!(cleaned.status.success() && said(&cleaned).contains("1 faults undone"), "{}", said(&cleaned));
    assert_eq!(journals(), 0);
}

/// As on a cluster: machines that do not see the campaign's folder, programs from their path, files fetched when the run is over.
#[test]
#[ignore = "needs root: namespaces, FUSE, loop devices"]
fn a_plan_runs_on_machines_that_share_nothing() {
    let _alone = alone();
    let _down = up("test-site", "servers = 5\nclients = 1");
    let folder = tempfile::tempdir().unwrap();
    let site = String::from_utf8(lab(&["bench", "site", "--name", "test-site"]).stdout).unwrap();
    fs::write(folder.path().join("site.toml"), &site).unwrap();
    let plan = "clean_s = 4\nfault_s = 4\nafter_s = 2\nfaults = [\"read-network-hog\"]\nworkloads = [\"small\"]\nrepetitions = 1";
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_laggard-lab")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_laggard-lab"))
        .args(["run", "plan.toml", "--site", "site.toml"])
        .current_dir(folder.path())
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let run = fs::read_dir(folder.path().join("plan/runs")).unwrap().next().unwrap().unwrap().path();
    let truth: serde_json::Value =
        serde_json::from_slice(&fs::read(run.join("truth.json")).unwrap()).unwrap();
    assert!(truth["work"][0].as_f64().unwrap() > 0.0, "{truth}");
    for host in ["oss1", "oss5", "client1"] {
        let files = fs::read_dir(run.join("activity").join(host)).unwrap().flatten();
        assert!(
            files.into_iter().any(|file| file.path().extension().is_some_and(|ending| ending == "parquet")),
            "{host}"
        );
    }
    let left = fs::read_dir("/var/lib/laggard-lab").into_iter().flatten().flatten();
    let run = run.file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with(&run)).count(),
        0,
        "nothing is left there"
    );
}

#[test]
#[ignore = "needs root: namespaces, FUSE, loop devices"]
fn a_fault_is_taken_back_when_a_terminal_interrupts_everybody() {
    use std::os::unix::process::CommandExt;
    let _alone = alone();
    let _down = up("test-int", "servers = 3\nclients = 1");
    let arguments = ["inject", "disk-hog", "--bench", "test-int", "--on", "oss1", "--for", "100"];
    let mut injector =
        Command::new(env!("CARGO_BIN_EXE_laggard-lab")).args(arguments).process_group(0).spawn().unwrap();
    let undo = inside("test-int", "/run/laggard-lab/test-int/undo/oss1");
    let journals = || {
        fs::read_dir(&undo).map_or(0, |entries| {
            entries
                .flatten()
                .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "undo"))
                .count()
        })
    };
    until(&|| journals() == 1);
    let group = rustix::process::Pid::from_raw(injector.id() as i32).unwrap();
    // Not INT, which a shell makes its background processes ignore, and so this test.
    rustix::process::kill_process_group(group, rustix::process::Signal::TERM).unwrap();
    injector.wait().unwrap();
    until(&|| journals() == 0);
    // Of this bench's device: another may be at work.
    let status = status("test-int");
    let device = status.split_whitespace().find(|word| word.starts_with("/dev/")).unwrap();
    let is_hog = |line: String| line.contains("read-device") && line.split('\0').any(|word| word == device);
    let hogs = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        processes.filter(|entry| fs::read_to_string(entry.path().join("cmdline")).is_ok_and(is_hog)).count()
    };
    until(&|| hogs() == 0);
}

#[test]
#[ignore = "needs root: namespaces, FUSE, loop devices"]
fn moosefs_is_a_file_system_too() {
    let _alone = alone();
    let _down =
        up("test-moose", "file_system = \"moosefs\"\nservers = 3\nclients = 1\n[server]\nmemory_mib = 1024");
    let file = inside("test-moose", "/run/laggard-lab/test-moose/client/client1/hello");
    fs::write(&file, "here").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "here");
    let output = lab(&["inject", "crash", "--bench", "test-moose", "--on", "oss3", "--for", "1"]);
    assert!(output.status.success(), "{}", said(&output));
}

/// An emulated disk under a loop device, taken away again whatever happens.
struct EmulatedDisk {
    folder: tempfile::TempDir,
    server: std::process::Child,
    device: String,
}

impl EmulatedDisk {
    fn new(shape: &str, size_mib: u64) -> EmulatedDisk {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::File::create(path("image")).unwrap().set_len(size_mib << 20).unwrap();
        fs::create_dir(path("mount")).unwrap();
        let server = Command::new(env!("CARGO_BIN_EXE_laggard-lab"))
            .args(["disk", "serve", "--shape", shape, "--socket"])
            .arg(path("socket"))
            .args(["--file", "disk"])
            .args([path("image"), path("mount")])
            .spawn()
            .unwrap();
        let mut disk = EmulatedDisk { server, device: String::new(), folder };
        let file = disk.folder.path().join("mount/disk");
        until(&|| file.exists());
        let attached =
            Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(&file).output();
        disk.device = String::from_utf8(attached.unwrap().stdout).unwrap().trim().into();
        assert!(disk.device.starts_with("/dev/loop"), "{}", disk.device);
        disk
    }
}

impl Drop for EmulatedDisk {
    fn drop(&mut self) {
        if !self.device.is_empty() {
            let _ = Command::new("losetup").args(["-d", &self.device]).status();
        }
        let _ = Command::new("umount").arg("-l").arg(self.folder.path().join("mount")).status();
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Figure 7 of CUG'13 on a disk whose cost is known: half a second for ten megabytes, and the mean way of its arm.
#[test]
#[ignore = "needs root: FUSE, loop devices"]
fn a_sweep_finds_what_a_transaction_costs() {
    let _alone = alone();
    // Over random places the arm goes 0.2 + 0.8 x 8/15 of the full way.
    let (seek_ms, overhead_ms, speed_mb_s) = (8.0, 0.1, 20.0);
    let latency_s = (overhead_ms + seek_ms * (0.2 + 0.8 * 8.0 / 15.0)) / 1e3;
    let shape = format!(
        "{{\"size_mib\":64,\"speed_mb_s\":{speed_mb_s},\"seek_ms\":{seek_ms},\"overhead_ms\":{overhead_ms},\"queue\":1}}"
    );
    let disk = EmulatedDisk::new(&shape, 64);
    let folder = tempfile::tempdir().unwrap();
    let [tests, coefficients] =
        ["tests.csv", "coefficients.toml"].map(|name| folder.path().join(name).display().to_string());
    let refused = lab(&["fsu-sweep", &disk.device]);
    assert!(!refused.status.success() && said(&refused).contains("--overwrite"), "{}", said(&refused));
    let formatted = Command::new("mkfs.ext4").args(["-q", &disk.device]).status().unwrap();
    assert!(formatted.success());
    let refused = lab(&["fsu-sweep", &disk.device, "--overwrite"]);
    assert!(!refused.status.success() && said(&refused).contains("it has ext4 on it"), "{}", said(&refused));
    assert!(Command::new("wipefs").args(["-qa", &disk.device]).status().unwrap().success());
    let small = ["--seconds", "1.5", "--largest", "512", "--target", "oss1:loop"];
    let swept = lab(&[&["fsu-sweep", &disk.device, "--overwrite", "-o", &tests][..], &small].concat());
    assert!(swept.status.success() && said(&swept).contains("test 16 of 16"), "{}", said(&swept));
    let laggard = Path::new(env!("CARGO_BIN_EXE_laggard-lab")).with_file_name("laggard");
    let output =
        Command::new(laggard).args(["fsu", "calibrate", &tests, "-o", &coefficients]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    println!("{}", said(&output));
    let text = fs::read_to_string(&coefficients).unwrap();
    for direction in ["write", "read"] {
        let table = &text[text.find(&format!("[{direction}]")).unwrap()..];
        let value = |key: &str| -> f64 {
            let line = table.lines().find(|line| line.starts_with(key)).unwrap();
            line.rsplit(' ').next().unwrap().parse().unwrap()
        };
        let (latency, per_byte) = (value("latency_s") / latency_s, value("per_byte_s") * speed_mb_s * 1e6);
        // What loop, FUSE and a busy machine add comes on top.
        assert!(
            (0.85..1.6).contains(&latency) && (0.85..1.35).contains(&per_byte),
            "{direction}: {latency} {per_byte}"
        );
        assert!(value("residual") < 0.15, "predicted is measured: {text}");
    }
}

/// A file as a block device, taken away again whatever happens.
struct Loop(String);

impl Loop {
    fn new(file: &Path) -> Loop {
        let attached = Command::new("losetup").args(["--find", "--show"]).arg(file).output().unwrap();
        let device = Loop(String::from_utf8(attached.stdout).unwrap().trim().into());
        assert!(device.0.starts_with("/dev/loop"), "{}", device.0);
        device
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

/// The collector's eBPF program in this kernel: as many requests of each size as there were.
#[test]
#[ignore = "needs root: eBPF, loop devices"]
fn requests_are_counted_by_size() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::File::create(path("image")).unwrap().set_len(64 << 20).unwrap();
    let device = Loop::new(&path("image"));
    let name = device.0.trim_start_matches("/dev/");
    let config = format!(
        "directory = \"{}\"\nname = \"nsd1\"\n[retention]\nkeep_free_mib = 0\n[disk]\nnames = \"kernel\"\ninclude = [\"{name}\"]\n[block]\nenabled = true\n",
        path("data").display()
    );
    fs::write(path("agent.toml"), config).unwrap();
    let beside = |name: &str| Path::new(env!("CARGO_BIN_EXE_laggard-lab")).with_file_name(name);
    let mut agent = Command::new(beside("laggard-agent"))
        .args(["run", "--config"])
        .arg(path("agent.toml"))
        .spawn()
        .unwrap();
    let write = |size: &str, count: &str| {
        let (size, count) = (format!("bs={size}"), format!("count={count}"));
        let into = format!("of={}", device.0);
        let dd = Command::new("dd")
            .args(["if=/dev/zero", &into, &size, &count, "oflag=direct", "status=none"])
            .status();
        assert!(dd.unwrap().success());
    };
    std::thread::sleep(Duration::from_secs(2));
    // A device is known from its first request on.
    write("8k", "1");
    std::thread::sleep(Duration::from_secs(3));
    write("4k", "200");
    write("128k", "50");
    std::thread::sleep(Duration::from_secs(3));
    Command::new("kill").args(["-TERM", &agent.id().to_string()]).status().unwrap();
    assert!(agent.wait().unwrap().success());
    let coefficients =
        "[write]\nlatency_s = 1e-3\nper_byte_s = 1e-9\n[read]\nlatency_s = 1e-3\nper_byte_s = 1e-9\n";
    fs::write(path("coefficients.toml"), coefficients).unwrap();
    let report = Command::new(beside("laggard"))
        .args(["fsu", "report", "--format", "json", "--coefficients"])
        .args([path("coefficients.toml"), path("data")])
        .output()
        .unwrap();
    let json: serde_json::Value =
        serde_json::from_slice(&report.stdout).unwrap_or_else(|_| panic!("{}", said(&report)));
    let target = &json["targets"][0];
    assert_eq!(target["name"], format!("nsd1:{name}"));
    let sizes = target["sizes"].as_array().unwrap();
    let writes = |size: &str| {
        sizes.iter().find(|known| known["size"] == size).map(|known| known["writes"].as_u64().unwrap())
    };
    assert_eq!((writes("4K"), writes("128K")), (Some(200), Some(50)), "{sizes:?}");
    let written: f64 = target["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["written_bytes_s"].as_f64().unwrap())
        .sum();
    assert!(written > 0.0, "{target}");
}

/// The smoke campaign: two real runs, recorded by the collector, judged live and afterwards.
#[test]
#[ignore = "needs root: namespaces, FUSE, loop devices"]
fn a_busy_disk_and_a_lossy_link_are_found_while_they_last() {
    const PLAN: &str = r#"
clean_s = 32
fault_s = 75
after_s = 4
faults = ["disk-busy", "receive-pktloss"]
workloads = ["ddw"]
repetitions = 1
[bench.disk]
speed_mb_s = 2.0
[bench.link]
mbit_s = 24
[bench.server]
dirty_kib = 512
"#;
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("smoke.toml");
    fs::write(&plan, PLAN).unwrap();
    let campaign = folder.path().join("smoke");
    let [plan, campaign] = [plan, campaign].map(|path| path.display().to_string());
    let output = lab(&["run", &plan, "--parallel", "2"]);
    assert!(output.status.success(), "{}", said(&output));
    println!("{}", said(&output));
    let output = lab(&["score", "--only", "real", "--real", &campaign, "--format", "json"]);
    let score: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a score");
    println!("{score:#}");
    let runs = score["real"]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run["is_right"] == true), "the right server, the right cause, nobody else");
    assert_eq!(score["real"]["live"]["rates"][0], 100.0, "said while it lasted");
    assert_eq!(traces("smoke"), BTreeSet::new());
    let again = lab(&["run", &plan]);
    assert!(
        again.status.success() && said(&again).contains("2 of 2 runs are there already"),
        "{}",
        said(&again)
    );
}

//! The agent as it runs: killed, signalled, on a full disk, with disks that come and go.

use laggard_activity::Counters;
use laggard_activity::kind::{DISK, GAP, Kind};
use laggard_activity::{Activity, name};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A fake machine, and a directory for its files.
struct Bed {
    folder: tempfile::TempDir,
}

impl Bed {
    fn new() -> Bed {
        let bed = Bed { folder: tempfile::tempdir().unwrap() };
        bed.furnish();
        bed
    }

    /// On a file system in memory: what is killed is the agent, not the power, and a slow disk of this machine is not to be tested.
    fn in_memory() -> Bed {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let bed = Bed { folder };
        bed.furnish();
        bed
    }

    fn furnish(&self) {
        fs::create_dir_all(self.root().join("proc/net")).unwrap();
        fs::create_dir_all(self.files()).unwrap();
        self.disks(&[("sda", 1), ("sdb", 2)]);
        self.configure("");
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    fn configure(&self, more: &str) {
        let text = format!(
            "directory = {:?}\nname = \"fs1\"\nroot = {:?}\n{more}\n[retention]\nkeep_free_mib = 0\n[net]\nenabled = false\n[tcp]\nenabled = false\n[peer]\nenabled = false\n[host]\nenabled = false\n",
            self.files(),
            self.root()
        );
        fs::write(self.folder.path().join("agent.toml"), text).unwrap();
    }

    /// Replaces diskstats as the kernel would: at once.
    fn disks(&self, disks: &[(&str, u64)]) {
        let line = |(name, count): &(&str, u64)| format!("8 0 {name} {count} 0 8 1 0 0 0 0 0 1 1\n");
        let text: String = disks.iter().map(line).collect();
        fs::write(self.root().join("proc/diskstats"), text).unwrap();
        // Kept open, the file is read again from its start.
        disks
            .iter()
            .for_each(|(name, _)| fs::create_dir_all(self.root().join("sys/block").join(name)).unwrap());
    }

    fn agent(&self, arguments: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_laggard-agent"))
            .args(["run", "--config"])
            .arg(self.folder.path().join("agent.toml"))
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// An agent that has taken its first sample.
    fn agent_at_work(&self, arguments: &[&str]) -> Working {
        let mut agent = self.agent(&[&["--verbose"], arguments].concat());
        let (sender, lines) = std::sync::mpsc::channel();
        let output = BufReader::new(agent.stderr.take().unwrap());
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let mut working = Working { agent, lines, said: Vec::new() };
        working.wait_for_samples(1);
        working
    }

    /// All samples of a kind's first field, by thing, in the order of files and records.
    fn samples(&self, kind: &'static Kind) -> BTreeMap<String, Vec<(i64, i64)>> {
        let mut all: BTreeMap<String, Vec<(i64, i64)>> = BTreeMap::new();
        for stem in self.stems() {
            let activity =
                Activity::open(&stem).unwrap_or_else(|error| panic!("{}: {error}", stem.display()));
            for segment in 0..activity.segments() {
                let mut each = |stretch: &laggard_activity::Stretch| {
                    let samples = stretch.times_s.iter().copied().zip(stretch.fields[0].iter().copied());
                    all.entry(stretch.name.into()).or_default().extend(samples);
                };
                activity.scan(segment, kind, &[0], &mut each).unwrap();
            }
        }
        all
    }

    fn stems(&self) -> Vec<PathBuf> {
        let paths = fs::read_dir(self.files()).unwrap().map(|entry| entry.unwrap().path());
        let mut stems: Vec<PathBuf> = paths
            .filter(|path| name::parse(path).is_some())
            .map(|path| path.with_extension("tail"))
            .collect();
        stems.sort();
        stems.dedup();
        stems
    }
}

/// An agent that works, and what it says.
struct Working {
    agent: Child,
    lines: std::sync::mpsc::Receiver<String>,
    /// Everything that it said but what it sampled.
    said: Vec<String>,
}

impl Working {
    /// The next line that is wanted; others are passed over.
    fn wait_for(&mut self, what: &str, mut is_wanted: impl FnMut(&str) -> bool) -> String {
        let limit = Instant::now() + Duration::from_secs(60);
        loop {
            let left = limit.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("{what}: {:?}", self.said));
            if sampled(&line).is_none() {
                self.said.push(line.clone());
            }
            if is_wanted(&line) {
                return line;
            }
        }
    }

    /// Waits until so many more samples were taken.
    fn wait_for_samples(&mut self, count: usize) {
        for _ in 0..count {
            self.wait_for("a sample", |line| sampled(line).is_some());
        }
    }

    /// Waits for something that is no sample.
    fn next_said(&mut self) -> String {
        self.wait_for("a line", |line| sampled(line).is_none())
    }

    /// Ends it by a signal; returns everything it said.
    fn end(mut self, name: &str) -> String {
        signal(&self.agent, name);
        assert!(self.agent.wait().unwrap().success());
        self.said.extend(self.lines.iter().filter(|line| sampled(line).is_none()));
        self.said.join("\n")
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// The second in a line `laggard-agent: sampled 1700000000, 0 ms late: …`.
fn sampled(line: &str) -> Option<i64> {
    line.strip_prefix("laggard-agent: sampled ")?.split(',').next()?.parse().ok()
}

/// Killed at any moment, a hundred times over, in half of them while tails are sealed all the time: every file is readable, and
/// nothing older than ten seconds is lost.
#[test]
fn kill_nine_a_hundred_times() {
    std::thread::scope(|scope| {
        for lane in 0..5u32 {
            scope.spawn(move || kill_nine_twenty_times(lane, if lane % 2 == 0 { "3600" } else { "6" }));
        }
    });
}

fn kill_nine_twenty_times(lane: u32, seal_after: &str) {
    // Flushed every five seconds, which are a quarter of a real one: the rest of the ten is for this machine to be slow in.
    const SPEED: &str = "20";
    let bed = Bed::in_memory();
    let mut seed = 2_463_534_242u32.wrapping_add(lane * 7919);
    let mut kept = 0;
    for _ in 0..20 {
        let mut agent = bed.agent(&["--verbose", "--speed", SPEED, "--seal-after", seal_after]);
        let mut lines = BufReader::new(agent.stderr.take().unwrap()).lines();
        // Not before it has begun, else nothing is tested.
        let first = lines.by_ref().find_map(|line| sampled(&line.unwrap())).unwrap();
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        std::thread::sleep(Duration::from_millis(u64::from(seed % 1200)));
        agent.kill().unwrap();
        agent.wait().unwrap();
        let last = lines.map_while(Result::ok).filter_map(|line| sampled(&line)).last().unwrap_or(first);
        let samples = bed.samples(&DISK).remove("sda").unwrap_or_default();
        let newest = samples.last().map_or(0, |(time, _)| *time);
        assert!(last - newest.max(first) <= 10, "sampled from {first} to {last}, kept until {newest}");
        // All that was kept before is still there.
        assert!(samples.len() >= kept, "{} samples, and {kept} before", samples.len());
        kept = samples.len();
    }
    bed.agent(&["--seconds", "1"]).wait().unwrap();
    let left =
        fs::read_dir(bed.files()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let strange: Vec<String> = left.filter(|name| !name.ends_with(".parquet") && name != ".lock").collect();
    assert!(strange.is_empty(), "{strange:?}");
    assert!(kept > 50, "{kept} samples of twenty runs");
}

#[test]
fn a_disk_that_goes_is_missing_and_counters_that_restart_are_kept_as_they_are() {
    let bed = Bed::new();
    let mut agent = bed.agent_at_work(&[]);
    agent.wait_for_samples(2);
    bed.disks(&[("sda", 0), ("sdc", 5)]);
    // One may be under way with the disks of before.
    agent.wait_for_samples(3);
    agent.end("TERM");
    let samples = bed.samples(&DISK);
    let values = |name: &str| samples[name].iter().map(|(_, value)| *value).collect::<Vec<_>>();
    assert!(values("sda").starts_with(&[1]) && values("sda").ends_with(&[0]), "{:?}", values("sda"));
    assert!(samples["sdb"].len() < samples["sda"].len() && values("sdc").iter().all(|value| *value == 5));
    assert_eq!(
        fs::read_dir(bed.files())
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|ending| ending == "tail"))
            .count(),
        0,
        "sealed when told to stop"
    );
}

#[test]
fn sighup_reads_the_configuration_again_and_a_wrong_one_changes_nothing() {
    let bed = Bed::new();
    let mut agent = bed.agent_at_work(&[]);
    bed.configure("intervall_s = 1");
    signal(&agent.agent, "HUP");
    let said = agent.next_said();
    assert!(
        said.contains("did you mean `interval_s`?") && said.contains("the old configuration stays"),
        "{said}"
    );
    let elsewhere = fs::read_to_string(bed.folder.path().join("agent.toml")).unwrap();
    fs::write(
        bed.folder.path().join("agent.toml"),
        elsewhere.replace("intervall_s = 1", "").replace("/files", "/root/proc/diskstats/x"),
    )
    .unwrap();
    signal(&agent.agent, "HUP");
    let said = agent.next_said();
    assert!(said.contains("the old configuration stays"), "a directory that cannot be: {said}");
    bed.configure("[disk]\nexclude = [\"sda\"]");
    signal(&agent.agent, "HUP");
    assert!(agent.next_said().contains("read again"));
    agent.wait_for_samples(3);
    agent.end("INT");
    let samples = bed.samples(&DISK);
    assert!(samples["sdb"].len() > samples["sda"].len(), "{samples:?}");
}

#[test]
fn a_second_agent_in_one_directory_is_refused() {
    let bed = Bed::new();
    let mut agent = bed.agent_at_work(&[]);
    let second = bed.agent(&[]).wait_with_output().unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another laggard-agent writes there"));
    agent.agent.kill().unwrap();
    agent.agent.wait().unwrap();
}

/// A tmpfs of one MiB that others fill: samples are lost with a count, and no file is damaged.
#[test]
fn a_full_file_system_loses_samples_with_a_count_and_no_file() {
    let bed = Bed::new();
    let mount = |arguments: &[&str]| {
        Command::new("mount")
            .args(arguments)
            .arg(bed.files())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=1m", "laggard-test"]) {
        eprintln!("skipped: mounting a tmpfs needs root");
        return;
    }
    struct Unmount(PathBuf);
    impl Drop for Unmount {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        }
    }
    let _unmount = Unmount(bed.files());
    let mut agent = bed.agent_at_work(&["--speed", "50"]);
    // Flushed every five seconds, which are a tenth of a real one.
    agent.wait_for_samples(15);
    let hog = bed.files().join("hog");
    let mut file = fs::File::create(&hog).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    agent.wait_for("a full disk", |line| line.contains("No space left"));
    agent.wait_for_samples(20);
    drop(file);
    fs::remove_file(&hog).unwrap();
    agent.wait_for("that it goes on", |line| line.contains("writing again after"));
    agent.wait_for_samples(10);
    let said = agent.end("TERM");
    assert!(said.contains("No space left") && said.contains("writing again after"), "{said}");
    let gaps = bed.samples(&GAP);
    assert!(gaps.keys().any(|name| name.contains("samples lost, they could not be written")), "{gaps:?}");
    let samples = &bed.samples(&DISK)["sda"];
    assert!(samples.windows(2).any(|pair| pair[1].0 - pair[0].0 > 10), "a hole where the disk was full");
    assert!(samples.windows(2).all(|pair| pair[1].0 > pair[0].0));
}

#[test]
fn current_values_can_be_scraped() {
    let bed = Bed::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    bed.configure(&format!("[expose]\nlisten = \"127.0.0.1:{port}\""));
    let mut agent = bed.agent(&[]);
    let started = Instant::now();
    let mut answer = String::new();
    while started.elapsed() < Duration::from_secs(5) && !answer.contains("laggard_disk_reads_total") {
        std::thread::sleep(Duration::from_millis(200));
        answer.clear();
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let _ = stream.read_to_string(&mut answer);
        }
    }
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert!(answer.contains("laggard_disk_reads_total{device=\"sdb\"} 2\n"), "{answer}");
}

#[test]
fn check_says_what_it_sees_and_example_is_a_configuration() {
    let bed = Bed::new();
    let output = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_laggard-agent")).args(arguments).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let config = bed.folder.path().join("agent.toml");
    let (code, said) = output(&["check", "--config", config.to_str().unwrap()]);
    assert!(
        code == Some(0) && said.contains("disk    2 seen") && said.contains("CPU-seconds a day"),
        "{said}"
    );
    let (code, real) = output(&["check"]);
    assert!(code == Some(0) && real.contains("together"), "{real}");
    let example = bed.folder.path().join("example.toml");
    fs::write(&example, output(&["example"]).1).unwrap();
    assert_eq!(output(&["check", "-c", example.to_str().unwrap()]).0, Some(0));
    let wrong = [&["run"][..], &["walk"], &["run", "--config", "/nowhere"], &["check", "--frobnicate"]];
    for arguments in wrong {
        let (code, said) = output(arguments);
        assert!(code == Some(2) && said.starts_with("laggard-agent: "), "{arguments:?}: {said}");
    }
    assert!(Path::new("/proc/diskstats").exists());
}

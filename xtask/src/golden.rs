//! `cargo xtask golden`: the verdicts on many recordings, compared with those of `xtask/golden.txt`.
//!
//! A change of the code that is not meant to change a verdict must leave every line as it is. A change that is meant to, writes
//! the file anew with `--write`, and its commit explains the lines that differ. Each line: the case, the digest of the whole JSON
//! document, and the incidents in it. `--keep FOLDER` keeps the documents, `--programs FOLDER` takes other programs than those
//! of this tree: two kept folders can be compared by `diff -r`.
//!
//! Recordings: simulated test benches, untrained and trained; simulated production days; and, where they are there, the
//! recorded runs of `../shared/data/recordings`.

use crate::{Outcome, cargo, root, run};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CLUSTERS: [&str; 4] = ["pvfs-10-10", "pvfs-6-12", "lustre-10-10", "lustre-6-12"];
const WORKLOADS: [&str; 5] = ["ddw", "ddr", "iozonew", "iozoner", "postmark"];
const FAULTS: [&str; 6] =
    ["disk-hog", "disk-busy", "write-network-hog", "read-network-hog", "receive-pktloss", "send-pktloss"];
/// Events of LISA'13's tables, by their place; none is a quiet day.
const EVENTS: [Option<u32>; 9] =
    [None, Some(1), Some(2), Some(5), Some(9), Some(12), Some(15), Some(19), Some(23)];

struct Cases {
    programs: PathBuf,
    scratch: PathBuf,
    /// Where documents go.
    folder: PathBuf,
    /// A line for each case.
    lines: String,
}

/// Makes all verdicts and compares them.
pub fn golden(arguments: &[String]) -> Outcome {
    let value = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).map(PathBuf::from)
    };
    let programs = match value("--programs") {
        Some(programs) => {
            programs.canonicalize().map_err(|error| format!("{}: {error}", programs.display()))?
        }
        None => {
            cargo(&["build", "--release", "-p", "laggard", "-p", "laggard-lab"])?;
            root().join("target/release")
        }
    };
    let scratch = std::env::temp_dir().join(format!("laggard-golden-{}", std::process::id()));
    let folder = value("--keep").unwrap_or_else(|| scratch.join("documents"));
    for path in [&scratch, &folder] {
        fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut cases = Cases { programs, scratch: scratch.clone(), folder, lines: String::new() };
    let outcome = cases.all();
    let _ = fs::remove_dir_all(scratch);
    outcome?;
    let known_path = root().join("xtask/golden.txt");
    if arguments.iter().any(|argument| argument == "--write") {
        return fs::write(&known_path, cases.lines).map_err(|error| error.to_string());
    }
    compare(&fs::read_to_string(&known_path).unwrap_or_default(), &cases.lines)
}

/// Without the recordings of `../shared`, their lines are passed over, aloud.
fn compare(known: &str, found: &str) -> Outcome {
    let name = |line: &str| line.split(' ').next().unwrap_or("").to_string();
    let mut differences = 0;
    for line in known.lines() {
        match found.lines().find(|other| name(other) == name(line)) {
            Some(other) if other == line => {}
            Some(other) => {
                differences += 1;
                eprintln!("- {line}\n+ {other}");
            }
            None => eprintln!("xtask: no recording for {}", name(line)),
        }
    }
    for line in found.lines().filter(|line| !known.lines().any(|other| name(other) == name(line))) {
        differences += 1;
        eprintln!("+ {line}");
    }
    match differences {
        0 => {
            eprintln!("xtask: {} verdicts, all as in xtask/golden.txt", found.lines().count());
            Ok(())
        }
        _ => Err(format!("{differences} verdicts differ from xtask/golden.txt")),
    }
}

impl Cases {
    fn all(&mut self) -> Outcome {
        self.quick_score()?;
        self.demo()?;
        self.benches()?;
        self.production()?;
        self.recorded()
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.stderr(std::process::Stdio::null());
        command
    }

    fn quick_score(&mut self) -> Outcome {
        let mut score = self.program("laggard-lab");
        score.args(["score", "--quick", "--format", "json"]);
        self.document("score-quick", &mut score)
    }

    /// The demo's recording by every method.
    fn demo(&mut self) -> Outcome {
        let folder = self.scratch.join("demo");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let mut demo = self.program("laggard");
        demo.args(["demo", "--recording", "recording.csv"]).current_dir(&folder);
        run(demo.stdout(std::process::Stdio::null()))?;
        for method in ["limp", "kl", "cdf", "median", "thresh"] {
            self.diagnose(&format!("demo-{method}"), &folder, &["--method".as_ref(), method.as_ref()])?;
        }
        Ok(())
    }

    /// Every fault on every cluster, one workload each in turn; thresholds from a clean run of the same cluster and workload.
    fn benches(&mut self) -> Outcome {
        for (c, cluster) in CLUSTERS.iter().enumerate() {
            for (w, workload) in WORKLOADS.iter().enumerate() {
                let clean = self.bench(cluster, workload, "none", 1, 100 + w)?;
                let thresholds = clean.join("thresholds.toml");
                run(self
                    .program("laggard")
                    .args(["train", "--method", "kl"])
                    .arg(clean.join("recording.csv"))
                    .arg("-o")
                    .arg(&thresholds)
                    .stdout(std::process::Stdio::null()))?;
                self.diagnose(&format!("{cluster}-{workload}-none"), &clean, &[])?;
                for (f, fault) in FAULTS.iter().enumerate().filter(|(f, _)| (f + c) % 5 == w || f + c == w) {
                    let folder = self.bench(cluster, workload, fault, 1 + (3 * f + c) % 6, 10 + f)?;
                    let name = format!("{cluster}-{workload}-{fault}");
                    self.diagnose(&name, &folder, &[])?;
                    let trained = ["--thresholds".as_ref(), thresholds.as_os_str()];
                    self.diagnose(&format!("{name}-trained"), &folder, &trained)?;
                    self.diagnose(&format!("{name}-kl"), &folder, &["--method".as_ref(), "kl".as_ref()])?;
                }
            }
        }
        Ok(())
    }

    fn bench(
        &self,
        cluster: &str,
        workload: &str,
        fault: &str,
        server: usize,
        seed: usize,
    ) -> Result<PathBuf, String> {
        let folder = self.scratch.join(format!("{cluster}-{workload}-{fault}"));
        let mut sim = self.program("laggard-lab");
        sim.args([
            "sim",
            "bench",
            "--cluster",
            cluster,
            "--workload",
            workload,
            "--fault",
            fault,
            "--server",
        ])
        .arg(server.to_string())
        .arg("--seed")
        .arg(seed.to_string())
        .arg("-o")
        .arg(&folder)
        .stdout(std::process::Stdio::null());
        run(&mut sim)?;
        Ok(folder)
    }

    fn production(&mut self) -> Outcome {
        let mut thresholds = None;
        for event in EVENTS {
            let name = event.map_or_else(|| "production-quiet".into(), |event| format!("production-{event}"));
            let folder = self.scratch.join(&name);
            let mut sim = self.program("laggard-lab");
            sim.args(["sim", "production", "--hours", "14", "-o"])
                .arg(&folder)
                .stdout(std::process::Stdio::null());
            if let Some(event) = event {
                sim.args(["--event", &event.to_string(), "--seed", &(event + 1).to_string()]);
            }
            run(&mut sim)?;
            let topology = folder.join("topology.toml");
            let with_topology = ["--topology".as_ref(), topology.as_os_str()];
            self.diagnose(&name, &folder, &with_topology)?;
            let thresholds = thresholds.get_or_insert_with(|| self.scratch.join("thresholds.toml")).clone();
            if event.is_none() {
                run(self
                    .program("laggard")
                    .arg("train")
                    .arg(folder.join("recording.csv"))
                    .args(with_topology)
                    .arg("-o")
                    .arg(&thresholds)
                    .stdout(std::process::Stdio::null()))?;
            } else {
                let mut trained = with_topology.to_vec();
                trained.extend(["--thresholds".as_ref(), thresholds.as_os_str()]);
                self.diagnose(&format!("{name}-trained"), &folder, &trained)?;
            }
            let _ = fs::remove_file(folder.join("recording.csv"));
        }
        Ok(())
    }

    fn recorded(&mut self) -> Outcome {
        let recordings = root().join("../shared/data/recordings");
        let entries = fs::read_dir(&recordings).into_iter().flatten().flatten();
        let mut runs: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.join("truth.json").exists()).collect();
        runs.sort();
        if runs.is_empty() {
            return Ok(());
        }
        let mut score = self.program("laggard-lab");
        score.args(["score", "--only", "real", "--format", "json"]);
        runs.iter().for_each(|run| {
            score.arg("--real").arg(run);
        });
        self.document("score-real", &mut score)?;
        for run in runs {
            let name = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for method in ["limp", "cdf"] {
                let mut diagnose = self.program("laggard");
                diagnose
                    .arg("diagnose")
                    .arg(run.join("activity"))
                    .args(["--method", method, "--format", "json"]);
                self.document(&format!("{name}-{method}"), &mut diagnose)?;
            }
        }
        Ok(())
    }

    fn diagnose(&mut self, name: &str, folder: &Path, more: &[&std::ffi::OsStr]) -> Outcome {
        let mut diagnose = self.program("laggard");
        diagnose.arg("diagnose").arg(folder.join("recording.csv")).args(["--format", "json"]).args(more);
        self.document(name, &mut diagnose)
    }

    /// Runs a command that prints a document; adds its line.
    fn document(&mut self, name: &str, command: &mut Command) -> Outcome {
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if output.status.code().is_none_or(|code| code == 2) || text.is_empty() {
            return Err(format!("{command:?}: {}", output.status));
        }
        let path = self.folder.join(format!("{name}.json"));
        fs::write(&path, output.stdout.as_slice()).map_err(|error| error.to_string())?;
        let digest = Command::new("sha256sum").arg(&path).output().map_err(|error| error.to_string())?;
        let digest = String::from_utf8_lossy(&digest.stdout).chars().take(16).collect::<String>();
        let _ = writeln!(self.lines, "{name} {digest} {}", incidents(&text));
        Ok(())
    }
}

/// Accused parts and their causes, from a diagnosis printed by us.
fn incidents(json: &str) -> String {
    let value = |line: &str, key: &str| {
        let rest = line.trim().strip_prefix(&format!("\"{key}\": \""))?;
        Some(rest.split('"').next()?.to_string())
    };
    let (mut found, mut component) = (Vec::new(), String::new());
    for line in json.lines() {
        if let Some(name) = value(line, "component") {
            component = name;
        }
        if let Some(cause) = value(line, "cause") {
            found.push(format!("{component}:{cause}"));
        }
    }
    const SHOWN: usize = 6;
    let more = found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    if more > 0 {
        found.push(format!("+{more}"));
    }
    found.join(" ")
}

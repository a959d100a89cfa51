//! What a campaign does: every fault with every workload, each time on another server.

use crate::bench::Config;
use crate::fault::{self, Fault};
use crate::workload::Workload;
use laggard_sim::chance::Chance;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The plan, as written in TOML. Every value has a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Seconds before the fault, with it, and after it.
    pub clean_s: f64,
    /// With it.
    pub fault_s: f64,
    /// After it.
    pub after_s: f64,
    /// Names of faults; `none` is a run without one, `a + b` are two at once on one server, `a & b` on two servers.
    pub faults: Vec<String>,
    /// What clients do.
    pub workloads: Vec<Workload>,
    /// How often each combination comes.
    pub repetitions: usize,
    /// Only so many of the runs, chosen by the seed, on each bench; 0 is all.
    pub runs: usize,
    /// Chooses servers and order; plans with different seeds are different experiments.
    pub seed: u64,
    /// How clients work.
    pub load: Load,
    /// The bench, where the plan is not run on a cluster ...
    pub bench: Config,
    /// ... or several, by name: all runs on each, one bench after the other.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub benches: BTreeMap<String, Config>,
}

/// How clients work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Load {
    /// Files at a time, per client.
    pub streams: usize,
    /// Size of files that are written.
    pub file_mib: u64,
    /// Size of files that are read; together they must exceed the servers' memory, or nothing reaches a disk.
    pub read_mib: u64,
    /// Bytes of one call.
    pub record_kib: usize,
}

impl Default for Load {
    fn default() -> Load {
        Load { streams: 2, file_mib: 256, read_mib: 400, record_kib: 1024 }
    }
}

impl Default for Plan {
    fn default() -> Plan {
        let faults = ["none", "disk-hog", "disk-busy", "write-network-hog", "read-network-hog"];
        Plan {
            clean_s: 45.0,
            fault_s: 80.0,
            after_s: 30.0,
            faults: faults.into_iter().chain(["receive-pktloss", "send-pktloss"]).map(String::from).collect(),
            workloads: vec![Workload::Ddw, Workload::Ddr, Workload::Postmark],
            repetitions: 2,
            runs: 0,
            seed: 1,
            load: Load::default(),
            bench: Config::default(),
            benches: BTreeMap::new(),
        }
    }
}

/// A fault in one server.
#[derive(Clone, Copy)]
pub struct Injection {
    /// What is injected.
    pub fault: &'static Fault,
    /// Index of the faulty server.
    pub server: usize,
}

/// One run.
#[derive(Clone)]
pub struct Experiment {
    /// Which of several benches.
    pub bench: Option<String>,
    /// What is injected; nothing in a run without a fault.
    pub injections: Vec<Injection>,
    /// What clients do.
    pub workload: Workload,
}

impl Experiment {
    /// For folders and lines.
    pub fn name(&self) -> String {
        let mut words: Vec<String> = self.bench.iter().cloned().collect();
        words.extend(self.injections.iter().map(|injection| injection.fault.name.into()));
        if self.injections.is_empty() {
            words.push("none".into());
        }
        words.push(self.workload.name());
        let mut servers: Vec<usize> = self.injections.iter().map(|injection| injection.server + 1).collect();
        servers.dedup();
        words.extend(servers.iter().map(|server| format!("oss{server}")));
        words.join("-")
    }

    /// Whether every fault has a pattern of its own: then the workload must survive it.
    pub fn is_survived(&self) -> bool {
        self.injections.iter().all(|injection| injection.fault.cause.is_some())
    }
}

/// What a line of `faults` means: the faults, and on how many servers after the first each is.
fn parse(line: &str) -> Result<Vec<(&'static Fault, usize)>, String> {
    if line == "none" {
        return Ok(Vec::new());
    }
    let mut faults = Vec::new();
    for (offset, of_server) in line.split('&').enumerate() {
        for name in of_server.split('+') {
            faults.push((fault::find(name.trim())?, offset));
        }
    }
    Ok(faults)
}

impl Plan {
    /// From a file.
    pub fn load(path: &Path) -> Result<Plan, String> {
        let said = |message: String| format!("{}: {message}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| said(error.to_string()))?;
        let plan: Plan = toml::from_str(&text).map_err(|error| said(error.to_string()))?;
        plan.check().map_err(said)?;
        Ok(plan)
    }

    /// Says what cannot be.
    pub fn check(&self) -> Result<(), String> {
        self.bench.check().map_err(|message| format!("[bench] {message}"))?;
        for (name, bench) in &self.benches {
            bench.check().map_err(|message| format!("[benches.{name}] {message}"))?;
            if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric()) {
                return Err(format!("[benches.{name}]: letters and digits only"));
            }
        }
        let spans = [("clean_s", self.clean_s), ("fault_s", self.fault_s), ("after_s", self.after_s)];
        for (name, seconds) in spans {
            if !(1.0..=86_400.0).contains(&seconds) {
                return Err(format!("{name} = {seconds}: 1 to 86400"));
            }
        }
        if self.load.streams == 0 || self.load.file_mib == 0 || self.load.record_kib == 0 {
            return Err("load.streams, load.file_mib and load.record_kib: at least 1".into());
        }
        if self.experiments(None)?.is_empty() {
            return Err("no runs: faults, workloads and repetitions multiply".into());
        }
        Ok(())
    }

    /// The plan as it is run on one of its benches.
    pub fn on(&self, bench: Option<&String>) -> Plan {
        let known = bench.and_then(|name| self.benches.get(name)).unwrap_or(&self.bench);
        Plan { bench: known.clone(), benches: BTreeMap::new(), ..self.clone() }
    }

    /// The benches that runs need.
    pub fn all_benches(&self) -> impl Iterator<Item = &Config> {
        let one = Some(&self.bench).filter(|_| self.benches.is_empty());
        self.benches.values().chain(one)
    }

    /// On benches, says if what is read fits into the servers' memory: it is then read from there, from one server more than from
    /// another.
    pub fn check_memory(&self) -> Result<(), String> {
        self.benches.keys().try_for_each(|name| self.on(Some(name)).check_memory())?;
        if !self.benches.is_empty() {
            return Ok(());
        }
        let all_mib = self.load.read_mib * self.load.streams as u64 * self.bench.clients as u64;
        let (share_mib, memory_mib) = (all_mib / self.bench.servers as u64, self.bench.server.memory_mib);
        if !self.reads() || share_mib >= 3 * memory_mib / 2 {
            return Ok(());
        }
        Err(format!(
            "load.read_mib = {}: {share_mib} MiB of files to read on each server, but server.memory_mib = {memory_mib}: \
             half as much again, or nothing reaches a disk",
            self.load.read_mib
        ))
    }

    /// All runs, in an order that mixes everything on a bench: what is interrupted is balanced. On a cluster of so many servers, or on
    /// the plan's benches.
    pub fn experiments(&self, cluster: Option<usize>) -> Result<Vec<Experiment>, String> {
        if cluster.is_some() || self.benches.is_empty() {
            return self.shuffled(None, cluster.unwrap_or(self.bench.servers));
        }
        let on = |(name, bench): (&String, &Config)| self.shuffled(Some(name), bench.servers);
        Ok(self.benches.iter().map(on).collect::<Result<Vec<_>, String>>()?.concat())
    }

    fn shuffled(&self, bench: Option<&String>, servers: usize) -> Result<Vec<Experiment>, String> {
        let faults = self.faults.iter().map(|line| parse(line)).collect::<Result<Vec<_>, String>>()?;
        let mut experiments = Vec::new();
        for repetition in 0..self.repetitions {
            for (row, faults) in faults.iter().enumerate() {
                for (column, workload) in self.workloads.iter().enumerate() {
                    let turn = repetition * 7 + row * 3 + column + self.seed as usize * 5;
                    let inject = |&(fault, offset): &(&'static Fault, usize)| Injection {
                        fault,
                        server: (turn + 2 * offset) % servers,
                    };
                    experiments.push(Experiment {
                        bench: bench.cloned(),
                        injections: faults.iter().map(inject).collect(),
                        workload: *workload,
                    });
                }
            }
        }
        // Each bench has an order of its own: of a sample of runs, others are drawn.
        let of_bench: u64 = bench.map_or(0, |name| name.bytes().map(u64::from).sum());
        let mut chance = Chance::new(self.seed + (of_bench << 8));
        for last in (1..experiments.len()).rev() {
            experiments.swap(last, chance.below(last + 1));
        }
        if self.runs > 0 {
            experiments.truncate(self.runs);
        }
        Ok(experiments)
    }

    /// Whether any workload reads what was there before.
    pub fn reads(&self) -> bool {
        self.workloads.iter().any(|workload| workload.reads())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_plan_is_the_one_of_the_papers_and_every_combination_is_in_it() {
        let plan = Plan::default();
        assert_eq!((plan.check(), plan.check_memory()), (Ok(()), Ok(())));
        let experiments = plan.experiments(None).unwrap();
        assert_eq!(experiments.len(), 7 * 3 * 2);
        let injected = experiments.iter().flat_map(|run| &run.injections);
        let servers: std::collections::BTreeSet<usize> = injected.map(|known| known.server).collect();
        assert_eq!(servers.len(), 9, "different servers");
        let names = |plan: &Plan| -> Vec<String> {
            plan.experiments(None).unwrap().iter().map(Experiment::name).collect()
        };
        assert_eq!(names(&plan), names(&plan.clone()), "a resumed campaign is the same campaign");
        assert_ne!(names(&plan), names(&Plan { seed: 2, ..plan.clone() }));
    }

    #[test]
    fn nonsense_is_refused_with_its_name() {
        let refusal = |text: &str| {
            toml::from_str::<Plan>(text).map_err(|error| error.to_string()).and_then(|plan| plan.check())
        };
        assert!(refusal("faults = [\"disk-fire\"]").unwrap_err().contains("disk-hog"));
        assert!(refusal("fault_s = 0").unwrap_err().contains("fault_s"));
        assert!(refusal("repetitions = 0").unwrap_err().contains("no runs"));
        assert!(refusal("workloads = [\"ddx\"]").unwrap_err().contains("ddw"));
        assert!(refusal("[bench]\nservers = 4").unwrap_err().contains("[bench]"));
        assert!(refusal("[benches.b]\nservers = 4").unwrap_err().contains("[benches.b]"));
        assert!(refusal("[benches.\"../b\"]").unwrap_err().contains("letters"));
        assert!(refusal("faults = [\"disk-hog + disk-fire\"]").unwrap_err().contains("disk-fire"));
        let small: Plan = toml::from_str("[load]\nread_mib = 64").unwrap();
        assert!(small.check_memory().unwrap_err().contains("read_mib = 64"));
    }

    #[test]
    fn several_benches_and_two_faults_at_once() {
        let text = "faults = [\"disk-busy + send-pktloss\", \"disk-busy & disk-hog\", \"none\"]\nworkloads = [\"ddw\"]\n\
                    repetitions = 1\n[benches.small]\nservers = 3\n[benches.large]\nservers = 5\n";
        let plan: Plan = toml::from_str(text).unwrap();
        assert_eq!(plan.check(), Ok(()));
        let mut names: Vec<String> = plan.experiments(None).unwrap().iter().map(Experiment::name).collect();
        assert!(names[..3].iter().all(|name| name.starts_with("large")), "one bench after the other");
        names.sort_unstable();
        let expected = [
            "large-disk-busy-disk-hog-ddw-oss4-oss1",
            "large-disk-busy-send-pktloss-ddw-oss1",
            "large-none-ddw",
            "small-disk-busy-disk-hog-ddw-oss3-oss2",
            "small-disk-busy-send-pktloss-ddw-oss3",
            "small-none-ddw",
        ];
        assert_eq!(names, expected);
        assert_eq!(plan.on(Some(&"small".to_string())).bench.servers, 3);
        assert_eq!(plan.experiments(Some(4)).unwrap().len(), 3, "a cluster is one place");
        assert_eq!(Plan { runs: 2, ..plan }.experiments(None).unwrap().len(), 4, "two on each");
    }
}

//! What a campaign does: every fault with every workload, each time on another server.

use crate::bench::Config;
use crate::fault::{self, Fault};
use crate::workload::Workload;
use laggard_sim::chance::Chance;
use serde::{Deserialize, Serialize};
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
    /// Names of faults; `none` is a run without one.
    pub faults: Vec<String>,
    /// What clients do.
    pub workloads: Vec<Workload>,
    /// How often each combination comes.
    pub repetitions: usize,
    /// Chooses servers and order; plans with different seeds are different experiments.
    pub seed: u64,
    /// How clients work.
    pub load: Load,
    /// The bench, where the plan is not run on a cluster.
    pub bench: Config,
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
            seed: 1,
            load: Load::default(),
            bench: Config::default(),
        }
    }
}

/// One run.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// What is injected.
    pub fault: Option<&'static Fault>,
    /// What clients do.
    pub workload: Workload,
    /// Index of the faulty server; without a fault, of nobody.
    pub server: usize,
}

impl Experiment {
    /// For folders and lines.
    pub fn name(&self) -> String {
        match self.fault {
            Some(fault) => format!("{}-{}-oss{}", fault.name, self.workload.name(), self.server + 1),
            None => format!("none-{}", self.workload.name()),
        }
    }
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
        let spans = [("clean_s", self.clean_s), ("fault_s", self.fault_s), ("after_s", self.after_s)];
        for (name, seconds) in spans {
            if !(1.0..=86_400.0).contains(&seconds) {
                return Err(format!("{name} = {seconds}: 1 to 86400"));
            }
        }
        if self.load.streams == 0 || self.load.file_mib == 0 || self.load.record_kib == 0 {
            return Err("load.streams, load.file_mib and load.record_kib: at least 1".into());
        }
        if self.experiments(self.bench.servers)?.is_empty() {
            return Err("no runs: faults, workloads and repetitions multiply".into());
        }
        Ok(())
    }

    /// On a bench, says if what is read fits into the servers' memory: it is then read from there, from one server more than from another.
    pub fn check_memory(&self) -> Result<(), String> {
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

    /// All runs, in an order that mixes everything: what is interrupted is balanced.
    pub fn experiments(&self, servers: usize) -> Result<Vec<Experiment>, String> {
        let faults: Vec<Option<&'static Fault>> = self
            .faults
            .iter()
            .map(|name| if name == "none" { Ok(None) } else { fault::find(name).map(Some) })
            .collect::<Result<_, _>>()?;
        let mut experiments = Vec::new();
        for repetition in 0..self.repetitions {
            for (row, fault) in faults.iter().enumerate() {
                for (column, workload) in self.workloads.iter().enumerate() {
                    let turn = repetition * 7 + row * 3 + column + self.seed as usize * 5;
                    experiments.push(Experiment {
                        fault: *fault,
                        workload: *workload,
                        server: turn % servers,
                    });
                }
            }
        }
        let mut chance = Chance::new(self.seed);
        for last in (1..experiments.len()).rev() {
            experiments.swap(last, chance.below(last + 1));
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
        let experiments = plan.experiments(9).unwrap();
        assert_eq!(experiments.len(), 7 * 3 * 2);
        let servers: std::collections::BTreeSet<usize> = experiments.iter().map(|run| run.server).collect();
        assert_eq!(servers.len(), 9, "different servers");
        let names = |plan: &Plan| -> Vec<String> {
            plan.experiments(9).unwrap().iter().map(Experiment::name).collect()
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
        let small: Plan = toml::from_str("[load]\nread_mib = 64").unwrap();
        assert!(small.check_memory().unwrap_err().contains("read_mib = 64"));
    }
}

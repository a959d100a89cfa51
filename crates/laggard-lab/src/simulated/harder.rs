//! The simulated bench that is no kinder than reality: page caches that merge, disks that hardly complete anything, arrays and flash
//! that work on many requests at once. Judged by our method; the papers' tables have nothing to set beside it.

use super::seed;
use super::tally::{Expected, Tally};
use crate::verdict::ours::{self, Variants};
use indicatif::ProgressBar;
use laggard_sim::bench::{Cluster, Experiment, Fault, FaultKind, Workload, run};
use rayon::prelude::*;
use std::fmt::Write;

/// Seconds of a run without a fault; when the fault comes and goes.
const RUN_S: f64 = 220.0;
const FAULT_S: (f64, f64) = (60.0, 160.0);
/// Share of the paper's work by which it is found how much work a run needs.
const TRIAL: f64 = 0.05;

/// Which experiments.
pub struct Plan {
    /// Other machines and other chance than development.
    pub held_out: bool,
    /// Runs of each combination.
    pub repetitions: usize,
    /// Our method.
    pub variants: Variants,
}

/// What came of one fault on one cluster.
pub struct Row {
    cluster: String,
    fault: &'static str,
    /// Of each variant.
    tallies: Vec<Tally>,
}

/// None, and all faults.
fn conditions() -> impl Iterator<Item = Option<FaultKind>> {
    std::iter::once(None).chain(FaultKind::ALL.map(Some))
}

impl Plan {
    fn clusters(&self) -> [Cluster; 4] {
        Cluster::harder(if self.held_out { 9_001 } else { 1 })
    }

    /// Runs in all.
    pub fn len(&self) -> u64 {
        (self.clusters().len() * conditions().count() * Workload::ALL.len() * self.repetitions) as u64
    }

    /// Runs and judges everything, fault by fault.
    pub fn run(&self, bar: &ProgressBar) -> Vec<Row> {
        let clusters = self.clusters();
        let rows = clusters.iter().flat_map(|cluster| conditions().map(move |fault| (cluster, fault)));
        let judged = |(cluster, fault): (&Cluster, Option<FaultKind>)| Row {
            cluster: cluster.name(),
            fault: fault.map_or("none", FaultKind::name),
            tallies: self.judge(cluster, fault, bar),
        };
        rows.map(judged).collect()
    }

    fn judge(&self, cluster: &Cluster, fault: Option<FaultKind>, bar: &ProgressBar) -> Vec<Tally> {
        let runs: Vec<(Workload, usize)> = Workload::ALL
            .into_iter()
            .flat_map(|workload| (0..self.repetitions).map(move |repetition| (workload, repetition)))
            .collect();
        let judge = |&(workload, repetition): &(Workload, usize)| {
            let experiment = self.experiment(cluster, fault, workload, repetition);
            let expected: Vec<Expected> = experiment.faults.iter().map(Expected::from).collect();
            let injected_s = if expected.is_empty() { f64::INFINITY } else { FAULT_S.0 };
            let trace = run(&experiment);
            let judged =
                self.variants.each_alone(|ours| Tally::of(&expected, &ours::judge(&trace, ours, injected_s)));
            bar.inc(1);
            judged
        };
        Tally::sums(&runs.par_iter().map(judge).collect::<Vec<_>>())
    }

    fn experiment(
        &self,
        cluster: &Cluster,
        fault: Option<FaultKind>,
        workload: Workload,
        repetition: usize,
    ) -> Experiment {
        let seed = seed(self.held_out, &[cluster.servers, workload as usize, repetition]);
        let fault = fault.map(|kind| Fault {
            kind,
            server: (repetition * 7 + kind as usize * 3 + workload as usize) % cluster.servers,
            from_s: FAULT_S.0,
            to_s: FAULT_S.1,
            severity: 1.0,
        });
        let experiment = Experiment { cluster: *cluster, workload, faults: Vec::new(), seed, scale: TRIAL };
        let scale = TRIAL * RUN_S / run(&experiment).runtime_s.max(1.0);
        Experiment { faults: fault.into_iter().collect(), scale, ..experiment }
    }
}

/// Sums over all clusters and faults, of each variant.
pub fn sums(rows: &[Row]) -> Vec<Tally> {
    Tally::sums(&rows.iter().map(|row| row.tallies.clone()).collect::<Vec<_>>())
}

/// The table, and the sums, of all rules.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| cluster | fault | runs | server named | cause right | something wrong | told after, median |\n|---|---|---|---|---|---|---|\n",
    );
    let mut line = |cluster: &str, fault: &str, tally: &Tally| {
        let told = tally.latency_s().map_or_else(|| "-".into(), |s| format!("{s:.0} s"));
        let Tally { runs, indicted, diagnosed, misdiagnosed, .. } = tally;
        let _ = writeln!(
            text,
            "| {cluster} | {fault} | {runs} | {indicted} | {diagnosed} | {misdiagnosed} | {told} |"
        );
    };
    for row in rows {
        line(&row.cluster, row.fault, &row.tallies[0]);
    }
    line("all", "", &sums(rows)[0]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::ours::Ours;

    #[test]
    fn a_run_outlasts_its_fault_on_every_cluster_and_the_table_has_the_sums() {
        let plan = Plan { held_out: false, repetitions: 1, variants: Ours::default().into() };
        for cluster in plan.clusters() {
            let runtime_s = run(&plan.experiment(&cluster, None, Workload::Ddw, 0)).runtime_s;
            assert!(runtime_s > FAULT_S.1, "{}: {runtime_s} s", cluster.name());
        }
        let tally = |runs, indicted| Tally { runs, indicted, ..Tally::default() };
        let row = |fault, tally| Row { cluster: "a".into(), fault, tallies: vec![tally] };
        let text = table(&[row("none", tally(5, 0)), row("disk-hog", tally(5, 4))]);
        assert!(
            text.contains("| a | disk-hog | 5 | 4 | 0 | 0 | - |") && text.contains("| all |  | 10 | 4 |"),
            "{text}"
        );
    }
}

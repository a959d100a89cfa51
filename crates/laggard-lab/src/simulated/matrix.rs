//! Every experiment of the matrix: clusters x conditions x workloads x repetitions, judged by every pipeline.

use super::seed;
use super::tally::{Expected, Tally};
use crate::verdict::{
    ours::{self, Ours},
    published::{Pipeline, Scores, Trained},
};
use indicatif::ProgressBar;
use laggard_sim::bench::{Cluster, Experiment, Fault, FaultKind, Trace, Workload, run};
use rayon::prelude::*;

/// Which experiments.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// Held-out experiments are on other machines and other chance than those that methods are developed on.
    pub held_out: bool,
    /// Repetitions of each combination, each with another faulty server.
    pub repetitions: usize,
    /// Runs of each training workload.
    pub training: usize,
    /// Of the paper's work; below 1 the runs are shorter, and so is the fault.
    pub scale: f64,
    /// Severity of the faults.
    pub severity: f64,
}

/// Control and the six faults.
pub fn conditions() -> [Option<FaultKind>; 7] {
    let mut conditions = [None; 7];
    for (condition, fault) in conditions[1..].iter_mut().zip(FaultKind::PUBLISHED) {
        *condition = Some(fault);
    }
    conditions
}

/// What came of one combination of cluster, condition and workload.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// The published pipeline.
    pub published: Tally,
    /// Ours.
    pub ours: Tally,
    /// Seconds that the workload took, by repetition.
    pub runtimes_s: Vec<f64>,
    /// How many times as long as without a fault, on average.
    pub slowdown: f64,
}

/// By cluster, condition, workload.
pub type Cells = Vec<Vec<Vec<Cell>>>;

impl Matrix {
    /// The four clusters, of the machines of this matrix.
    pub fn clusters(&self) -> [Cluster; 4] {
        Cluster::all(if self.held_out { 9_001 } else { 1 })
    }

    /// Runs to come, for the progress bar.
    pub fn len(&self) -> usize {
        4 * (7 * 5 * self.repetitions + Workload::TRAINING.len() * self.training)
    }

    /// One experiment. The same repetition of all conditions has the same chance, so that run times compare.
    pub fn experiment(
        &self,
        cluster: usize,
        fault: Option<FaultKind>,
        workload: Workload,
        repetition: usize,
    ) -> Experiment {
        let machines = self.clusters()[cluster];
        // Another faulty server each time, and not the same for all faults.
        let server =
            |kind: FaultKind| (repetition * 7 + kind as usize * 3 + workload as usize) % machines.servers;
        let fault = fault.map(|kind| Fault {
            from_s: 120.0 * self.scale,
            to_s: 420.0 * self.scale,
            severity: self.severity,
            ..Fault::published(kind, server(kind))
        });
        let seed = seed(self.held_out, &[cluster, workload as usize, repetition, 1]);
        Experiment {
            cluster: machines,
            workload,
            faults: fault.into_iter().collect(),
            seed,
            scale: self.scale,
        }
    }

    /// Fault-free runs to train on.
    pub fn training_runs(&self, cluster: usize, bar: &ProgressBar) -> Vec<Trace> {
        let runs: Vec<(Workload, usize)> = Workload::TRAINING
            .into_iter()
            .flat_map(|workload| (0..self.training).map(move |run| (workload, run)))
            .collect();
        let record = |&(workload, repetition): &(Workload, usize)| {
            let seed = seed(self.held_out, &[cluster, workload as usize, repetition, 2]);
            let experiment = Experiment { seed, ..self.experiment(cluster, None, workload, repetition) };
            let trace = run(&experiment);
            bar.inc(1);
            trace
        };
        runs.par_iter().map(record).collect()
    }

    /// Runs and judges everything.
    pub fn judge(&self, ours: &Ours, bar: &ProgressBar) -> Cells {
        (0..4).map(|cluster| self.judge_cluster(cluster, ours, bar)).collect()
    }

    fn judge_cluster(&self, cluster: usize, ours: &Ours, bar: &ProgressBar) -> Vec<Vec<Cell>> {
        let pipeline = Pipeline::default();
        let training: Vec<Scores> =
            self.training_runs(cluster, bar).par_iter().map(|trace| pipeline.scores(trace)).collect();
        let trained = pipeline.train(&training.iter().collect::<Vec<_>>(), self.clusters()[cluster].servers);
        let cells = conditions().map(|fault| {
            let of_workload =
                |workload| self.judge_cell(cluster, fault, workload, (&pipeline, &trained), ours, bar);
            Workload::ALL.into_par_iter().map(of_workload).collect::<Vec<Cell>>()
        });
        let mut cells = Vec::from(cells);
        let clean: Vec<Vec<f64>> = cells[0].iter().map(|cell| cell.runtimes_s.clone()).collect();
        for cell in cells.iter_mut().flat_map(|row| row.iter_mut().zip(&clean)) {
            let (cell, clean) = cell;
            let ratios = cell.runtimes_s.iter().zip(clean).map(|(with, without)| with / without);
            cell.slowdown = ratios.sum::<f64>() / clean.len().max(1) as f64;
        }
        cells
    }

    fn judge_cell(
        &self,
        cluster: usize,
        fault: Option<FaultKind>,
        workload: Workload,
        (pipeline, trained): (&Pipeline, &Trained),
        ours: &Ours,
        bar: &ProgressBar,
    ) -> Cell {
        let judge = |repetition: usize| {
            let experiment = self.experiment(cluster, fault, workload, repetition);
            let trace = run(&experiment);
            let mut cell = Cell { runtimes_s: vec![trace.runtime_s], ..Cell::default() };
            let from_s = experiment.faults.first().map_or(f64::INFINITY, |fault| fault.from_s);
            let verdict = pipeline.judge(&pipeline.scores(&trace), trained, from_s);
            let expected: Vec<Expected> = experiment.faults.iter().map(Expected::from).collect();
            cell.published.add(&expected, &verdict);
            cell.ours.add(&expected, &ours::judge(&trace, ours, from_s));
            bar.inc(1);
            cell
        };
        let judged: Vec<Cell> = (0..self.repetitions).into_par_iter().map(judge).collect();
        judged.into_iter().fold(Cell::default(), |mut sum, cell| {
            sum.published.merge(&cell.published);
            sum.ours.merge(&cell.ours);
            sum.runtimes_s.extend(cell.runtimes_s);
            sum
        })
    }
}

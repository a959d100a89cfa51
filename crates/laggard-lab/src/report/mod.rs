//! A score, and the bounds it must keep; `text` and `html` render it, JSON is the thing itself.

pub mod html;
pub mod plot;
pub mod text;

use crate::production;
use crate::real;
use crate::simulated::matrix::{Cell, Cells, conditions};
use crate::simulated::paper::{Rates, TABLES};
use crate::simulated::tally::Tally;
use laggard_sim::bench::{Cluster, FaultKind, Workload};
use serde::Serialize;

/// A fault that slows the workload less than this is nobody's problem.
const SLOWED: f64 = 1.10;

/// Everything that was scored.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Always `laggard/score/1`.
    pub schema: &'static str,
    /// Other seeds than those of development.
    pub held_out: bool,
    /// Of the published faults.
    pub severity: f64,
    /// The test bench.
    pub bench: Option<Bench>,
    /// The production site.
    pub production: Option<production::Score>,
    /// Real runs.
    pub real: Option<real::Score>,
    /// What must hold.
    pub bounds: Vec<Bound>,
}

/// The test bench of FAST'10.
#[derive(Debug, Serialize)]
pub struct Bench {
    /// By cluster.
    pub clusters: Vec<ClusterScore>,
}

/// One of the paper's tables.
#[derive(Debug, Serialize)]
pub struct ClusterScore {
    /// `PVFS 10/10`.
    pub name: String,
    /// By condition: control, then the six faults.
    pub rows: Vec<Row>,
}

/// One line of a table.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The fault, or `none`.
    pub fault: &'static str,
    /// ITP, IFP, DTP, DFP of the paper.
    pub paper: Rates,
    /// The published pipeline on the simulator.
    pub published: Summary,
    /// Ours.
    pub ours: Summary,
    /// By workload.
    pub workloads: Vec<WorkloadScore>,
}

/// One workload of a line.
#[derive(Debug, Serialize)]
pub struct WorkloadScore {
    /// Its name.
    pub name: &'static str,
    /// Times as long as without a fault.
    pub slowdown: f64,
    /// The published pipeline.
    pub published: Summary,
    /// Ours.
    pub ours: Summary,
}

/// A tally in numbers.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Experiments.
    pub runs: usize,
    /// ITP, IFP, DTP, DFP in percent.
    pub rates: Rates,
    /// Median seconds from injection to indictment.
    pub latency_s: Option<f64>,
}

/// Something that must hold.
#[derive(Debug, Clone, Serialize)]
pub struct Bound {
    /// In words.
    pub what: String,
    /// What was seen.
    pub seen: String,
    /// Whether it does.
    pub holds: bool,
}

impl From<&Tally> for Summary {
    fn from(tally: &Tally) -> Summary {
        Summary { runs: tally.runs, rates: tally.rates(), latency_s: tally.latency_s() }
    }
}

impl From<Cells> for Bench {
    fn from(cells: Cells) -> Bench {
        let sum = |cells: &[Cell], of: fn(&Cell) -> &Tally| {
            let mut sum = Tally::default();
            cells.iter().for_each(|cell| sum.merge(of(cell)));
            Summary::from(&sum)
        };
        let row = |cells: &[Cell], fault: Option<FaultKind>, paper: Rates| Row {
            fault: fault.map_or("none", FaultKind::name),
            paper,
            published: sum(cells, |cell| &cell.published),
            ours: sum(cells, |cell| &cell.ours),
            workloads: Workload::ALL
                .iter()
                .zip(cells)
                .map(|(workload, cell)| WorkloadScore {
                    name: workload.name(),
                    slowdown: cell.slowdown,
                    published: (&cell.published).into(),
                    ours: (&cell.ours).into(),
                })
                .collect(),
        };
        let cluster = |((cluster, cells), paper): ((&Cluster, &Vec<Vec<Cell>>), &[Rates; 7])| ClusterScore {
            name: cluster.name(),
            rows: conditions()
                .into_iter()
                .zip(cells)
                .zip(paper)
                .map(|((fault, cells), paper)| row(cells, fault, *paper))
                .collect(),
        };
        Bench { clusters: Cluster::all(0).iter().zip(&cells).zip(&TABLES).map(cluster).collect() }
    }
}

/// As the paper aggregates: true positives over the faults, false ones over the control too.
pub fn aggregate(rates: &[Rates]) -> Rates {
    let mean = |of: &[Rates], index: usize| {
        of.iter().map(|rates| rates[index]).sum::<f64>() / of.len().max(1) as f64
    };
    let faults = rates.get(1..).unwrap_or(&[]);
    [mean(faults, 0), mean(rates, 1), mean(faults, 2), mean(rates, 3)]
}

impl Report {
    /// Nothing scored yet.
    pub fn new(held_out: bool, severity: f64) -> Report {
        Report {
            schema: "laggard/score/1",
            held_out,
            severity,
            bench: None,
            production: None,
            real: None,
            bounds: Vec::new(),
        }
    }

    /// What must hold, for faults of full severity.
    pub fn check(&self) -> Vec<Bound> {
        let mut bounds = Vec::new();
        if let Some(bench) = self.bench.as_ref().filter(|_| self.severity == 1.0) {
            bounds.extend(bench.bounds());
        }
        if let Some(production) = &self.production {
            let seen = production.outcomes.iter().filter(|outcome| outcome.ours_h.is_some()).count();
            bounds.push(Bound {
                what: "every production event is seen".into(),
                seen: format!("{seen} of {}", production.outcomes.len()),
                holds: seen == production.outcomes.len(),
            });
        }
        bounds.extend(self.real.iter().flat_map(real::Score::bounds));
        bounds
    }
}

impl Bench {
    /// By condition, the mean over the clusters: fault, paper, published pipeline, ours.
    pub fn all_clusters(&self) -> Vec<(&'static str, [Rates; 3])> {
        let clusters = self.clusters.len().max(1) as f64;
        let mean = |row: usize, of: fn(&Row) -> Rates| -> Rates {
            let rates = self.clusters.iter().map(|cluster| of(&cluster.rows[row]));
            rates.fold([0.0; 4], |sum, rates| {
                std::array::from_fn(|index| sum[index] + rates[index] / clusters)
            })
        };
        let faults = self.clusters.first().map_or(&[][..], |cluster| &cluster.rows);
        let of = |(row, known): (usize, &Row)| {
            let rates = [
                mean(row, |row| row.paper),
                mean(row, |row| row.published.rates),
                mean(row, |row| row.ours.rates),
            ];
            (known.fault, rates)
        };
        faults.iter().enumerate().map(of).collect()
    }

    /// Ours, over all combinations that the fault slows by more than a tenth: ITP, DTP, and how many runs.
    pub fn slowed(&self) -> (f64, f64, usize) {
        let (mut runs, mut indicted, mut diagnosed) = (0, 0.0, 0.0);
        for row in self.clusters.iter().flat_map(|cluster| &cluster.rows[1..]) {
            for workload in row.workloads.iter().filter(|workload| workload.slowdown > SLOWED) {
                runs += workload.ours.runs;
                indicted += workload.ours.rates[0] * workload.ours.runs as f64;
                diagnosed += workload.ours.rates[2] * workload.ours.runs as f64;
            }
        }
        (indicted / runs.max(1) as f64, diagnosed / runs.max(1) as f64, runs)
    }

    /// Ours, over everything: IFP and DFP.
    pub fn false_rates(&self) -> (f64, f64) {
        let rows = || self.clusters.iter().flat_map(|cluster| &cluster.rows);
        let count = rows().count().max(1) as f64;
        let mean = |index: usize| rows().map(|row| row.ours.rates[index]).sum::<f64>() / count;
        (mean(1), mean(3))
    }

    /// Cells of the paper's tables in which ours is worse.
    pub fn worse_than_paper(&self) -> Vec<String> {
        let mut worse = Vec::new();
        for cluster in &self.clusters {
            for row in &cluster.rows {
                let names = ["ITP", "IFP", "DTP", "DFP"];
                for (index, name) in names.iter().enumerate() {
                    let (paper, ours) = (row.paper[index], row.ours.rates[index]);
                    let is_false = index % 2 == 1;
                    if if is_false { ours > paper } else { ours < paper } {
                        worse.push(format!(
                            "{} {} {name}: {ours:.0} against {paper:.0}",
                            cluster.name, row.fault
                        ));
                    }
                }
            }
        }
        worse
    }

    fn bounds(&self) -> Vec<Bound> {
        let (indicted, diagnosed, runs) = self.slowed();
        let (false_indicted, false_diagnosed) = self.false_rates();
        let worse = self.worse_than_paper();
        let bound = |what: &str, seen: f64, holds: bool| Bound {
            what: what.into(),
            seen: format!("{seen:.1} %"),
            holds,
        };
        let slowed = format!("where the fault slows the workload by more than 10 % ({runs} runs)");
        vec![
            bound(&format!("ours: ITP at least 95 % {slowed}"), indicted, indicted >= 95.0),
            bound(&format!("ours: DTP at least 92 % {slowed}"), diagnosed, diagnosed >= 92.0),
            bound("ours: IFP at most 1 % over everything", false_indicted, false_indicted <= 1.0),
            bound("ours: DFP at most 1 % over everything", false_diagnosed, false_diagnosed <= 1.0),
            Bound {
                what: "ours: no worse than the paper in any cell of its tables".into(),
                seen: format!("{} worse", worse.len()),
                holds: worse.is_empty(),
            },
        ]
    }
}

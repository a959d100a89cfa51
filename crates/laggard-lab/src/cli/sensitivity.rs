//! `laggard-lab sensitivity`: what each parameter of the published pipeline does to its accuracy (FAST'10, section 11.2).

use super::{Format, Outcome, bar, deliver};
use crate::report::{html::page, plot};
use crate::simulated::matrix::{Matrix, conditions};
use crate::simulated::tally::{Expected, Tally};
use crate::verdict::published::{Pipeline, Scores, Trained};
use clap::Args as ClapArgs;
use indicatif::ProgressBar;
use laggard_core::compare::kl::KL;
use laggard_core::grid::Params;
use laggard_sim::bench::{Trace, Workload, run as simulate};
use maud::html;
use rayon::prelude::*;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// Vary the parameters of the published pipeline one by one, with plots
#[derive(ClapArgs)]
pub struct Args {
    /// Repetitions of each combination of cluster, fault and workload
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=100))]
    repetitions: u64,

    /// The seeds that methods are developed on, in place of the held-out ones
    #[arg(long)]
    development: bool,

    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// Where to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// One parameter and the values that it takes.
struct Parameter {
    name: &'static str,
    /// What the paper found.
    paper: &'static str,
    chosen: f64,
    values: &'static [f64],
    pipeline: fn(f64) -> Pipeline,
}

fn with_histogram(change: impl Fn(&mut Params)) -> Pipeline {
    let mut params = KL.params;
    change(&mut params);
    Pipeline::with(params, SPAN, SCALE)
}

const SPAN: usize = 31;
const SCALE: f64 = 2.0;

const PARAMETERS: [Parameter; 6] = [
    Parameter {
        name: "histogram moving average (samples)",
        paper: "5 is best; none: DFP 10 %; 9: DTP falls to 58 %",
        chosen: 5.0,
        values: &[1.0, 3.0, 5.0, 7.0, 9.0],
        pipeline: |value| with_histogram(|params| params.smoothing = value as usize),
    },
    Parameter {
        name: "filter k (of the last 2k-1 windows)",
        paper: "3 to 7 alike, and 6 % better than none; from 8 on worse",
        chosen: 3.0,
        values: &[1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 9.0],
        pipeline: |value| with_histogram(|params| params.k = value as usize),
    },
    Parameter {
        name: "window size (samples)",
        paper: "from 48 on alike: 62 to 66 % DTP, 6 to 9 % DFP",
        chosen: 64.0,
        values: &[32.0, 48.0, 64.0, 80.0, 96.0, 112.0, 128.0],
        pipeline: |value| with_histogram(|params| params.size = value as usize),
    },
    Parameter {
        name: "window shift (samples)",
        paper: "from 32 on alike",
        chosen: 32.0,
        values: &[16.0, 24.0, 32.0, 40.0, 48.0, 56.0, 64.0],
        pipeline: |value| with_histogram(|params| params.shift = value as usize),
    },
    Parameter {
        name: "threshold scale",
        paper: "1: IFP 19 %, DFP 23 %; 1.5: 3 %, 8 %; 2 to 4: DTP falls from 65 to 48 %",
        chosen: 2.0,
        values: &[1.0, 1.5, 2.0, 2.5, 3.0, 4.0],
        pipeline: |value| Pipeline::with(KL.params, SPAN, value),
    },
    Parameter {
        name: "cwnd moving average (seconds)",
        paper: "5 to 31 alike, and 8 % better than none",
        chosen: 31.0,
        values: &[1.0, 5.0, 11.0, 21.0, 31.0],
        pipeline: |value| Pipeline::with(KL.params, value as usize, SCALE),
    },
];

/// Accuracy at one value of one parameter.
#[derive(Debug, Clone, Serialize)]
struct Point {
    value: f64,
    /// ITP, IFP, DTP, DFP in percent: true ones over the faults, false ones over everything.
    rates: [f64; 4],
}

/// One parameter's study.
#[derive(Debug, Serialize)]
struct Study {
    parameter: &'static str,
    paper: &'static str,
    chosen: f64,
    points: Vec<Point>,
}

#[derive(Default, Clone)]
struct Count {
    faults: Tally,
    all: Tally,
}

pub fn run(args: &Args) -> Result<Outcome, String> {
    let matrix = Matrix {
        held_out: !args.development,
        repetitions: args.repetitions as usize,
        training: args.repetitions.max(3) as usize,
        scale: 1.0,
        severity: 1.0,
    };
    let bar = bar("experiments", matrix.len() as u64);
    let studies = study(&matrix, &bar);
    bar.finish_and_clear();
    let text = match args.format {
        Format::Text => text(&studies),
        Format::Json => serde_json::to_string_pretty(&studies).map_err(|error| error.to_string())? + "\n",
        Format::Html => html_page(&studies),
    };
    deliver(&text, args.output.as_ref())?;
    Ok(Outcome::Good)
}

fn study(matrix: &Matrix, bar: &ProgressBar) -> Vec<Study> {
    let settings: Vec<(usize, f64, Pipeline)> = PARAMETERS
        .iter()
        .enumerate()
        .flat_map(|(index, parameter)| {
            parameter.values.iter().map(move |&value| (index, value, (parameter.pipeline)(value)))
        })
        .collect();
    let mut counts = vec![Count::default(); settings.len()];
    for cluster in 0..matrix.clusters().len() {
        let servers = matrix.clusters()[cluster].servers;
        let training = matrix.training_runs(cluster, bar);
        let train = |(_, _, pipeline): &(usize, f64, Pipeline)| {
            let scores: Vec<Scores> = training.iter().map(|trace: &Trace| pipeline.scores(trace)).collect();
            pipeline.train(&scores.iter().collect::<Vec<_>>(), servers)
        };
        let trained: Vec<Trained> = settings.par_iter().map(train).collect();
        let combinations: Vec<_> = conditions()
            .into_iter()
            .flat_map(|fault| Workload::ALL.map(|workload| (fault, workload)))
            .flat_map(|pair| (0..matrix.repetitions).map(move |repetition| (pair, repetition)))
            .collect();
        let judged: Vec<Vec<Count>> = combinations
            .par_iter()
            .map(|&((fault, workload), repetition)| {
                let experiment = matrix.experiment(cluster, fault, workload, repetition);
                let trace = simulate(&experiment);
                let expected: Vec<Expected> = experiment.faults.iter().map(Expected::from).collect();
                let judge = |((_, _, pipeline), trained): (&(usize, f64, Pipeline), &Trained)| {
                    let from_s = experiment.faults.first().map_or(f64::INFINITY, |fault| fault.from_s);
                    let verdict = pipeline.judge(&pipeline.scores(&trace), trained, from_s);
                    let mut count = Count::default();
                    count.all.add(&expected, &verdict);
                    if fault.is_some() {
                        count.faults.add(&expected, &verdict);
                    }
                    count
                };
                let counts = settings.iter().zip(&trained).map(judge).collect();
                bar.inc(1);
                counts
            })
            .collect();
        for run in judged {
            for (sum, count) in counts.iter_mut().zip(run) {
                sum.faults.merge(&count.faults);
                sum.all.merge(&count.all);
            }
        }
    }
    let point = |((_, value, _), count): (&(usize, f64, Pipeline), &Count)| {
        let (faults, all) = (count.faults.rates(), count.all.rates());
        Point { value: *value, rates: [faults[0], all[1], faults[2], all[3]] }
    };
    PARAMETERS
        .iter()
        .enumerate()
        .map(|(index, parameter)| Study {
            parameter: parameter.name,
            paper: parameter.paper,
            chosen: parameter.chosen,
            points: settings.iter().zip(&counts).filter(|((of, _, _), _)| *of == index).map(point).collect(),
        })
        .collect()
}

fn text(studies: &[Study]) -> String {
    let mut out = String::new();
    for study in studies {
        let _ = writeln!(out, "### {} (the paper: {})\n", study.parameter, study.paper);
        let _ = writeln!(out, "| value | ITP | IFP | DTP | DFP |\n|---|---|---|---|---|");
        for point in &study.points {
            let chosen = if point.value == study.chosen { " (chosen)" } else { "" };
            let rates = point.rates.map(|rate| format!("{rate:.1}")).join(" | ");
            let _ = writeln!(out, "| {}{chosen} | {rates} |", point.value);
        }
        out.push('\n');
    }
    out
}

fn html_page(studies: &[Study]) -> String {
    const NAMES: [&str; 4] = ["ITP", "IFP", "DTP", "DFP"];
    let content = html! {
        p { "The published pipeline on the simulated test bench, all clusters, faults and workloads; one parameter varied at a time. "
            "The dashed line is the paper's choice. Percent of experiments." }
        (plot::legend(&NAMES))
        div.charts {
            @for study in studies {
                figure {
                    figcaption { (study.parameter) }
                    (plot::lines(
                        &study.points.iter().map(|point| point.value).collect::<Vec<_>>(),
                        study.chosen,
                        &NAMES.iter().enumerate()
                            .map(|(index, name)| (*name, study.points.iter().map(|point| point.rates[index]).collect()))
                            .collect::<Vec<(&str, Vec<f64>)>>(),
                    ))
                    p { "The paper: " (study.paper) "." }
                }
            }
        }
    };
    page("Laggard: sensitivity of the published pipeline", &content)
}

//! Campaigns: many experiments on a real file system, unattended.
//!
//! A campaign is a folder: `plan.toml`, and a folder per run, `runs/007-disk-hog-ddw-oss3/`, with the collectors' files
//! (`activity/`), what the workload did (`load-*.log`), what was said during the run (`live.jsonl`), and last, when all the rest
//! is there, the truth (`truth.json`). A run with its truth is done and is not repeated; one without is.

pub mod experiment;
pub mod plan;
pub mod site;
pub mod truth;

use crate::bench::Bench;
use crate::bench::state::Life;
use experiment::Stage;
use plan::{Experiment, Plan};
use site::Site;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use truth::Truth;

/// Where runs happen.
pub enum Place {
    /// On benches that are brought up for it.
    Benches {
        /// How many at a time.
        parallel: usize,
        /// The first part of their names.
        name: String,
    },
    /// On somebody's test cluster.
    Cluster(Site),
}

/// The folder of one run.
fn folder(campaign: &Path, number: usize, experiment: &Experiment) -> PathBuf {
    campaign.join("runs").join(format!("{number:03}-{}", experiment.name()))
}

/// What came of a campaign.
pub struct Done {
    /// Runs that were recorded now.
    pub recorded: usize,
    /// Runs that failed twice, and why; the next `run` tries them again.
    pub failed: Vec<String>,
}

/// Runs what is not done yet. A run that fails is tried once more, on a bench made anew; the others go on.
pub fn run(plan: &Plan, place: &Place, campaign: &Path) -> Result<Done, String> {
    let said = |error: std::io::Error| format!("{}: {error}", campaign.display());
    fs::create_dir_all(campaign.join("runs")).map_err(said)?;
    let cluster = match place {
        Place::Cluster(site) => Some(site.servers.len()),
        Place::Benches { .. } => None,
    };
    let experiments: Vec<(usize, Experiment)> = plan.experiments(cluster)?.into_iter().enumerate().collect();
    let total = experiments.len();
    let is_open = |(number, experiment): &(usize, Experiment)| {
        !truth::path(&folder(campaign, *number + 1, experiment)).exists()
    };
    let left: VecDeque<(usize, Experiment)> = experiments.into_iter().filter(is_open).collect();
    let open = left.len();
    if open < total {
        eprintln!("laggard-lab: {} of {total} runs are there already", total - open);
    }
    if open > 0 {
        let each_s = plan.clean_s + plan.fault_s + plan.after_s;
        eprintln!(
            "laggard-lab: {open} runs of {each_s:.0} s; the first line comes when the first of them is over"
        );
    }
    let queue = Mutex::new((left, 0));
    let failed = Mutex::new(Vec::new());
    let begun = Instant::now();
    let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).0.pop_front();
    let tell = |experiment: &Experiment, outcome: Result<Truth, String>| {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.1 += 1;
        let done = queue.1;
        let left = begun.elapsed().mul_f64((open - done) as f64 / done as f64);
        let said = outcome.as_ref().map_or_else(|message| format!("FAILED: {message}"), Truth::sentence);
        let (number, left) = (total - open + done, minutes(left));
        eprintln!("laggard-lab: {number}/{total} {}: {said}; {left} left", experiment.name());
        if let Err(message) = outcome {
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.push(format!("{}: {message}", experiment.name()));
        }
    };
    match place {
        Place::Cluster(site) => {
            let stage = Stage::new(site)?;
            stage.prepare(plan)?;
            let mut stage = Some(stage);
            let mut run = |experiment: &Experiment, folder: &Path| {
                let hands = match stage.take() {
                    Some(hands) => hands,
                    None => Stage::new(site)?,
                };
                let truth = hands.run(plan, experiment, folder)?;
                // After a failed run the hands are gone: they take back whatever it had begun.
                stage = Some(hands);
                Ok(truth)
            };
            while let Some((number, experiment)) = take() {
                let folder = folder(campaign, number + 1, &experiment);
                tell(&experiment, run(&experiment, &folder).or_else(|_: String| run(&experiment, &folder)));
            }
        }
        Place::Benches { parallel, name } => {
            let work = |worker: usize| {
                let mut bench = Occupied::new(&format!("{name}-{}", worker + 1));
                while let Some((number, experiment)) = take() {
                    let folder = folder(campaign, number + 1, &experiment);
                    let first = bench.run(plan, &experiment, &folder);
                    tell(&experiment, first.or_else(|_| bench.run(plan, &experiment, &folder)));
                }
            };
            let work = &work;
            std::thread::scope(|scope| {
                for worker in 0..(*parallel).min(open) {
                    scope.spawn(move || work(worker));
                }
            });
        }
    }
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Done { recorded: open - failed.len(), failed })
}

/// A bench and the hands on it, made when first needed, and anew after a fault that may have left scars.
struct Occupied {
    name: String,
    /// Which of the plan's benches it is.
    bench: Option<String>,
    up: Option<(Bench, Stage)>,
}

impl Occupied {
    fn new(name: &str) -> Occupied {
        Occupied { name: name.into(), bench: None, up: None }
    }

    fn run(&mut self, plan: &Plan, experiment: &Experiment, folder: &Path) -> Result<Truth, String> {
        let plan = &plan.on(experiment.bench.as_ref());
        if self.bench != experiment.bench {
            self.leave()?;
            self.bench.clone_from(&experiment.bench);
        }
        if self.up.is_none() {
            let bench = Bench::up(&self.name, &plan.bench, Life::OfCaller)?;
            let stage = Site::of_bench(&bench).and_then(|site| Stage::new(&site));
            match stage.and_then(|stage| stage.prepare(plan).map(|()| stage)) {
                Ok(stage) => self.up = Some((bench, stage)),
                Err(message) => {
                    bench.down()?;
                    return Err(message);
                }
            }
        }
        let (_, stage) = self.up.as_ref().ok_or("no bench")?;
        let outcome = stage.run(plan, experiment, folder);
        // A server that was dead or full for a while has to be healed; a new one is healthy at once.
        if outcome.is_err() || !experiment.is_survived() {
            // What was recorded is good, whatever becomes of the bench.
            if let Err(message) = self.leave() {
                eprintln!("laggard-lab: {message}");
            }
        }
        outcome
    }

    fn leave(&mut self) -> Result<(), String> {
        match self.up.take() {
            Some((bench, stage)) => {
                drop(stage);
                bench.down()
            }
            None => Ok(()),
        }
    }
}

impl Drop for Occupied {
    fn drop(&mut self) {
        if let Err(message) = self.leave() {
            eprintln!("laggard-lab: {message}");
        }
    }
}

fn minutes(left: Duration) -> String {
    match left.as_secs() {
        seconds if seconds < 90 => format!("{seconds} s"),
        seconds if seconds < 5400 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

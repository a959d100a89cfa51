//! Real runs, read from the folders of campaigns and judged again: the same pipelines as on simulated ones.

mod recorded;

use crate::report::{Bound, Summary};
use crate::simulated::tally::Tally;
use crate::verdict::Indictment;
use crate::verdict::ours::{self, Ours, Variants};
use crate::verdict::published::{Pipeline, Scores};
use indicatif::ProgressBar;
use rayon::prelude::*;
use recorded::Recorded;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A run in which the fault slows the workload by more than this share is one that people complain about.
const SLOWED: f64 = 0.1;

/// What came of all runs.
#[derive(Debug, Serialize)]
pub struct Score {
    /// By fault; `none` first.
    pub rows: Vec<Row>,
    /// Every run.
    pub runs: Vec<Judged>,
    /// All runs: the published pipeline, ours; then ours where the fault can be seen.
    pub all: [Summary; 3],
    /// What was said while runs went on.
    pub live: Summary,
    /// Median seconds until it was said while the run went on, of all runs in which the fault is visible; one that was never said takes
    /// for ever.
    pub latency_s: Option<f64>,
    /// Fault-free runs that the published pipeline has learnt from.
    pub trained_on: usize,
}

/// All runs of one fault.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its name, or `none`.
    pub fault: String,
    /// In how many of the runs it slows the workload or moves its own metric.
    pub visible: usize,
    /// The published pipeline.
    pub published: Summary,
    /// Ours.
    pub ours: Summary,
    /// Ours, of those in which it is visible.
    pub ours_visible: Summary,
    /// What was said while the runs went on.
    pub live: Summary,
}

/// One run.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// Its folder.
    pub name: String,
    /// What was injected.
    pub fault: Option<String>,
    /// Share of its speed that the workload lost.
    pub slowed: Option<f64>,
    /// What the fault's own metric shows.
    pub shows: String,
    /// Whether the fault slows the workload or moves its metric.
    pub is_visible: bool,
    /// What ours says.
    pub said: Vec<String>,
    /// Right server, right cause, nobody else.
    pub is_right: bool,
    #[serde(skip)]
    tallies: [Tally; 3],
}

/// Folders of runs that are complete, in campaigns, side by side in a folder, or given one by one.
fn folders(given: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in given {
        if crate::campaign::truth::path(path).exists() {
            found.push(path.clone());
            continue;
        }
        let runs = Some(path.join("runs")).filter(|runs| runs.is_dir()).unwrap_or_else(|| path.clone());
        let entries = std::fs::read_dir(&runs).map_err(|error| format!("{}: {error}", runs.display()))?;
        let complete = entries.flatten().map(|entry| entry.path());
        let before = found.len();
        found.extend(complete.filter(|folder| crate::campaign::truth::path(folder).exists()));
        if found.len() == before {
            return Err(format!("{}: no run there, which is a folder with truth.json", path.display()));
        }
    }
    found.sort();
    Ok(found)
}

/// How many runs there are to judge.
pub fn count(given: &[PathBuf]) -> Result<usize, String> {
    folders(given).map(|found| found.len())
}

/// Judges all runs. The published pipeline learns from the fault-free runs, except the one that it judges.
pub fn judge(given: &[PathBuf], ours: &Ours, bar: &ProgressBar) -> Result<Score, String> {
    let pipeline = Pipeline::default();
    let read = |folder: &PathBuf| -> Result<(Recorded, Scores), String> {
        let run = Recorded::load(folder)?;
        let scores = pipeline.scores(&run.trace);
        Ok((run, scores))
    };
    let runs = folders(given)?.par_iter().map(read).collect::<Result<Vec<_>, String>>()?;
    let judge = |(index, (run, scores)): (usize, &(Recorded, Scores))| {
        // Of benches of the same size.
        let is_alike =
            |other: &Recorded| other.truth.fault.is_none() && other.trace.servers == run.trace.servers;
        let clean = runs.iter().enumerate().filter(|(other, (run, _))| *other != index && is_alike(run));
        let training: Vec<&Scores> = clean.map(|(_, (_, scores))| scores).collect();
        let published = match training.is_empty() {
            true => Vec::new(),
            false => pipeline.judge(scores, &pipeline.train(&training, run.trace.servers), run.injected_s()),
        };
        let said = run.listen(ours);
        bar.inc(1);
        judged(run, &published, &said)
    };
    let runs: Vec<Judged> = runs.par_iter().enumerate().map(judge).collect();
    Ok(Score::new(runs))
}

/// All runs as each variant of ours judges them.
pub fn tallies(given: &[PathBuf], variants: &Variants) -> Result<Vec<Tally>, String> {
    let judge = |folder: &PathBuf| -> Result<Vec<Tally>, String> {
        let run = Recorded::load(folder)?;
        Ok(variants.each_alone(|ours| Tally::of(&run.expected(), &run.listen(ours))))
    };
    let runs = folders(given)?.par_iter().map(judge).collect::<Result<Vec<_>, String>>()?;
    Ok(Tally::sums(&runs))
}

fn judged(run: &Recorded, published: &[Indictment], ours: &[Indictment]) -> Judged {
    let expected = run.expected();
    let tally = |verdict: &[Indictment]| {
        let mut tally = Tally::default();
        tally.add(&expected, verdict);
        tally
    };
    let live = tally(&run.live());
    let (shows, is_moved) = run.shows();
    let ours_tally = tally(ours);
    let is_right = ours_tally.misdiagnosed == 0 && ours_tally.diagnosed == usize::from(!expected.is_empty());
    let said = |indictment: &Indictment| {
        format!(
            "{} {} at {:.0} s",
            run.name_of(indictment.server),
            indictment.cause.name(),
            indictment.said_s
        )
    };
    let slowed = run.truth.slowed();
    Judged {
        name: run.name.clone(),
        fault: run.truth.fault.clone(),
        slowed,
        shows,
        is_visible: run.truth.fault.is_some() && (is_moved || slowed.is_some_and(|slowed| slowed > SLOWED)),
        said: ours.iter().map(said).collect(),
        is_right,
        tallies: [tally(published), ours_tally, live],
    }
}

impl Score {
    fn new(runs: Vec<Judged>) -> Score {
        let sum = |which: usize, of: &dyn Fn(&Judged) -> bool| {
            let mut sum = Tally::default();
            runs.iter().filter(|run| of(run)).for_each(|run| sum.merge(&run.tallies[which]));
            Summary::from(&sum)
        };
        let mut by_fault: BTreeMap<Option<&String>, usize> = BTreeMap::new();
        for run in &runs {
            *by_fault.entry(run.fault.as_ref()).or_default() += usize::from(run.is_visible);
        }
        let row = |(fault, visible): (Option<&String>, usize)| {
            let is_of = |run: &Judged| run.fault.as_ref() == fault;
            Row {
                fault: fault.map_or_else(|| "none".into(), String::clone),
                visible,
                published: sum(0, &is_of),
                ours: sum(1, &is_of),
                ours_visible: sum(1, &|run| is_of(run) && run.is_visible),
                live: sum(2, &is_of),
            }
        };
        let everything = |_: &Judged| true;
        let faulty = |run: &Judged| run.fault.is_some();
        Score {
            rows: by_fault.into_iter().map(row).collect(),
            all: [sum(0, &faulty), sum(1, &everything), sum(1, &|run| run.is_visible)],
            live: sum(2, &faulty),
            latency_s: median_latency(&runs),
            trained_on: runs.iter().filter(|run| run.fault.is_none()).count(),
            runs,
        }
    }
}

/// Of the runs in which the fault is visible.
fn median_latency(runs: &[Judged]) -> Option<f64> {
    let live = |run: &Judged| run.tallies[2].latencies_s.first().copied().unwrap_or(f64::INFINITY);
    let mut all: Vec<f64> = runs.iter().filter(|run| run.is_visible).map(live).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().filter(|latency| latency.is_finite())
}

impl Score {
    /// What must hold on enough runs.
    pub fn bounds(&self) -> Vec<Bound> {
        let [_, all, visible] = &self.all;
        let runs = visible.runs;
        let bound = |what: String, seen: String, holds: bool| Bound { what, seen, holds };
        let percent = |value: f64| format!("{value:.1} %");
        let median = self.latency_s.unwrap_or(f64::INFINITY);
        vec![
            bound(
                format!("real runs, ours: ITP at least 95 % where the fault is visible ({runs} runs)"),
                percent(visible.rates[0]),
                visible.rates[0] >= 95.0,
            ),
            bound(
                "real runs, ours: DTP at least 92 % there".into(),
                percent(visible.rates[2]),
                visible.rates[2] >= 92.0,
            ),
            bound(
                format!("real runs, ours: a false indictment in at most 1 of 100 ({} runs)", all.runs),
                percent(all.rates[1]),
                all.rates[1] <= 1.0,
            ),
            bound(
                "real runs, ours: half of the visible faults are told within 60 s, live".into(),
                format!("{median:.0} s"),
                median <= 60.0,
            ),
        ]
    }
}

/// A run by its folder's name.
fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

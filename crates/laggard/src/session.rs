//! One run over one recording: what the verbs share between reading and reporting.

use crate::cli::Outcome;
use crate::report::words;
use indicatif::ProgressBar;
use laggard_core::compare::{Method, Windower, cdf::CDF, cwnd::CWND, kl::KL, limp::LIMP};
use laggard_core::diagnose::train::{SCHEMA, Trained};
use laggard_core::diagnose::{Config, Diagnoser, Diagnosis, Event, Thresholds, Trainer};
use laggard_core::model::metric::Role;
use laggard_core::model::{Metric, Roster};
use laggard_store::align::{self, Aligned};
use laggard_store::{Recording, time};
use std::collections::BTreeSet;

/// Recordings shorter than this are for `kl`, which needs minutes, not hours.
const SHORT_S: i64 = 2 * 3600;

/// A diagnosed recording, with what a report needs.
pub struct Session {
    /// Samples on the grid.
    pub aligned: Aligned,
    /// Components and groups.
    pub roster: Roster,
    /// The verdicts.
    pub diagnosis: Diagnosis,
    /// All windows, where a report draws them.
    pub history: Vec<Event>,
}

impl Session {
    /// Replays the recording through the operator.
    pub fn diagnose(
        recording: Recording,
        roster: Roster,
        config: Config,
        keep_history: bool,
        bar: &ProgressBar,
    ) -> Session {
        let interval_s = config.interval_s;
        let mut aligned = Aligned::new(&recording, &roster, interval_s, is_compared);
        drop(recording);
        let mut diagnoser = Diagnoser::new(config, roster);
        let mut history = Vec::new();
        bar.set_length(aligned.len() as u64);
        let mut count: u64 = 0;
        aligned.replay(|sample| {
            diagnoser.push(sample);
            count += 1;
            if count.is_multiple_of(100_000) {
                bar.set_position(count);
            }
            let events = diagnoser.drain();
            if keep_history {
                history.extend(events);
            }
        });
        diagnoser.finish();
        history.extend(diagnoser.drain().into_iter().filter(|_| keep_history));
        let diagnosis = diagnoser.diagnosis();
        if keep_history {
            aligned.fetch(&drawn(&diagnosis, diagnoser.roster()));
        }
        Session { aligned, roster: diagnoser.roster().clone(), diagnosis, history }
    }

    /// The exit status.
    pub fn outcome(&self) -> Outcome {
        match &self.diagnosis {
            diagnosis if !diagnosis.incidents.is_empty() => Outcome::Suspect,
            diagnosis if diagnosis.is_undecided => Outcome::Undecided,
            _ => Outcome::Quiet,
        }
    }
}

/// What a report draws: the worst evidence of each incident, of the accused and all its peers.
fn drawn(diagnosis: &Diagnosis, roster: &Roster) -> BTreeSet<(usize, Metric)> {
    let of_incident = |incident| {
        let (metric, _) = words::telling(incident)?;
        let members = &roster.groups[roster.components[incident.worst].group].members;
        Some(members.iter().map(move |member| (*member, metric)))
    };
    diagnosis.incidents.iter().filter_map(of_incident).flatten().collect()
}

/// What untrained diagnosis uses: ours, which needs minutes and keeps up with months.
pub const UNTRAINED: &Method = &LIMP;

/// The published method to train: `cdf` for anything long enough for it; short recordings at a fine grain are test-bench runs,
/// and `kl` was made for those.
pub fn published_method(recording: &Recording) -> &'static Method {
    let found = align::intervals(recording, is_compared);
    let fine = found.is_some_and(|found| found.usual_s < i64::from(CDF.params.interval_s));
    let short = recording.recorded_s() < SHORT_S;
    if fine && short { &KL } else { &CDF }
}

/// The usual grid of a method. Ours takes the grid of `cdf` where a recording is as long as those that `cdf` was made for: what
/// lasts seconds in a day is nobody's trouble.
pub fn grid_s(method: &Method, recording: &Recording) -> u32 {
    let long = recording.recorded_s() >= SHORT_S;
    if method.name == LIMP.name && long { CDF.params.interval_s } else { method.params.interval_s }
}

/// The least recording a method can decide on.
pub fn shortest_s(method: &Method, interval_s: u32) -> u64 {
    let params = method.params;
    (params.size + (params.k - 1) * params.shift) as u64 * u64::from(interval_s)
}

/// The entry that sets method and grid of a diagnosis; cwnd goes along with any.
pub fn main_entry(thresholds: &Thresholds) -> Option<&Trained> {
    thresholds.thresholds.iter().find(|entry| entry.method != CWND.name).or(thresholds.thresholds.first())
}

/// Whether diagnosis compares a metric.
pub fn is_compared(metric: Metric) -> bool {
    metric.properties().role != Role::Context
}

/// The scores of one window of one group.
pub struct Scored<'a> {
    /// Index of the window.
    pub window: u64,
    /// Index of the group.
    pub group: usize,
    /// Roster indices.
    pub components: &'a [usize],
    /// Their scores.
    pub scores: Vec<f64>,
    /// Slot of each one's first sample, from the origin.
    pub joined: &'a [u64],
}

/// One group under comparison in one metric.
struct Run {
    members: Vec<usize>,
    joined: Vec<u64>,
    windower: Windower,
    row: Vec<f64>,
    slot: Option<u64>,
}

impl Run {
    fn push_row(&mut self, group: usize, method: &Method, each: &mut impl FnMut(Scored)) {
        let Some(slot) = self.slot.take() else { return };
        let (components, joined) = (&self.members, &self.joined);
        self.windower.push(slot, &self.row, &mut |window, values| {
            each(Scored { window, group, components, scores: (method.scores)(&values), joined });
        });
        self.row.fill(f64::NAN);
    }
}

/// Runs one method over one metric, all groups in one pass.
pub fn compare(
    recording: &Recording,
    roster: &Roster,
    method: &'static Method,
    metric: Metric,
    interval_s: u32,
    mut each: impl FnMut(Scored),
) {
    let aligned = Aligned::new(recording, roster, interval_s, |known| known == metric);
    let Some((origin, _)) = aligned.slots() else { return };
    let params = method.params.on_grid(interval_s, method);
    let mut place = vec![(usize::MAX, 0); roster.components.len()];
    let mut runs: Vec<Run> = Vec::new();
    for (index, group) in roster.groups.iter().enumerate() {
        let first = |member: &usize| aligned.first_slot(*member, metric);
        let members: Vec<usize> =
            group.members.iter().copied().filter(|member| first(member).is_some()).collect();
        members.iter().enumerate().for_each(|(position, &member)| place[member] = (index, position));
        let joined = members.iter().filter_map(first).map(|slot| (slot - origin).max(0) as u64).collect();
        let (windower, row) = (Windower::new(params, members.len()), vec![f64::NAN; members.len()]);
        runs.push(Run { members, joined, windower, row, slot: None });
    }
    aligned.replay(|sample| {
        let (group, position) = place[sample.component];
        let slot = (sample.time_s.div_euclid(i64::from(interval_s)) - origin) as u64;
        let run = &mut runs[group];
        if run.slot != Some(slot) {
            run.push_row(group, method, &mut each);
            run.slot = Some(slot);
        }
        run.row[position] = sample.value;
    });
    for (group, run) in runs.iter_mut().enumerate() {
        run.push_row(group, method, &mut each);
    }
}

/// Learns thresholds for every metric that diagnosis compares.
pub fn train(recording: &Recording, roster: &Roster, method: &'static Method, interval_s: u32) -> Thresholds {
    let mut entries = Vec::new();
    for metric in recording.metrics() {
        let method = match metric.properties().role {
            role if !role.can_indict() => continue,
            Role::Congestion => &CWND,
            _ => method,
        };
        let mut trainers: std::collections::BTreeMap<usize, (Vec<usize>, Trainer)> = Default::default();
        let params = method.params.on_grid(interval_s, method);
        compare(recording, roster, method, metric, interval_s, |mut scored| {
            let (from, to) = (
                scored.window * params.shift as u64,
                scored.window * params.shift as u64 + params.size as u64,
            );
            // As in diagnosis: not before the moving average is full, and nobody before it was there.
            if to < params.smoothing as u64 {
                return;
            }
            for (score, joined) in scored.scores.iter_mut().zip(scored.joined) {
                if *joined > from + params.size as u64 / 4 {
                    *score = f64::NAN;
                }
            }
            let fresh = || (scored.components.to_vec(), Trainer::new(method, scored.components.len()));
            trainers.entry(scored.group).or_insert_with(fresh).1.push(&scored.scores);
        });
        let mut entry = Trained {
            method: method.name.into(),
            metric: metric.name().into(),
            interval_s,
            fraction: None,
            components: Default::default(),
        };
        for (components, trainer) in trainers.values() {
            for (component, threshold) in components.iter().zip(trainer.thresholds()) {
                let Some(threshold) = threshold else { continue };
                if method.name == CWND.name {
                    // One fraction per direction for all servers, the largest that raises no alarm anywhere.
                    entry.fraction = Some(entry.fraction.unwrap_or(1.0).min(1.0 - threshold));
                } else {
                    entry.components.insert(roster.components[*component].name.clone(), threshold);
                }
            }
        }
        if entry.fraction.is_some() || !entry.components.is_empty() {
            entries.push(entry);
        }
    }
    let span = recording
        .span()
        .map_or_else(String::new, |(from, to)| format!("{}/{}", time::format(from), time::format(to)));
    Thresholds { schema: SCHEMA.into(), trained_on: span, thresholds: entries }
}

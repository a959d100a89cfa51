//! One run over one recording: what the verbs share between reading and reporting.

use crate::cli::Outcome;
use indicatif::ProgressBar;
use laggard_core::compare::{Method, Windower, cdf::CDF, cwnd::CWND, kl::KL};
use laggard_core::diagnose::train::{SCHEMA, Trained};
use laggard_core::diagnose::{Config, Diagnoser, Diagnosis, Event, Thresholds, Trainer};
use laggard_core::model::metric::Role;
use laggard_core::model::{Metric, Roster};
use laggard_store::align::{self, Aligned};
use laggard_store::{Recording, time};

/// Recordings shorter than this are judged by `kl`, which needs minutes, not hours.
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
        let aligned =
            Aligned::new(&recording, &roster, interval_s, |metric| metric.properties().role != Role::Context);
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

/// `cdf` for anything long enough for it; short recordings at a fine grain are test-bench runs, and `kl` was made for those.
pub fn suitable_method(recording: &Recording) -> &'static Method {
    let fine =
        align::intervals(recording).is_some_and(|found| found.usual_s < i64::from(CDF.params.interval_s));
    let short = recording.span().is_some_and(|(from, to)| to - from < SHORT_S);
    if fine && short { &KL } else { &CDF }
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

/// The scores of one window of one group.
pub struct Scored<'a> {
    /// Index of the window.
    pub window: u64,
    /// Roster indices.
    pub components: &'a [usize],
    /// Their scores.
    pub scores: &'a [f64],
}

/// Runs one method over one metric, group by group.
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
    for group in &roster.groups {
        let members: Vec<usize> =
            group.members.iter().copied().filter(|&member| aligned.find(member, metric).is_some()).collect();
        if members.is_empty() {
            continue;
        }
        let mut windower = Windower::new(method.params.on_grid(interval_s, method), members.len());
        let mut row = vec![f64::NAN; members.len()];
        let mut found = |window: u64, values| {
            each(Scored { window, components: &members, scores: &(method.scores)(&values) });
        };
        let mut slot = None;
        let position: std::collections::HashMap<usize, usize> =
            members.iter().enumerate().map(|(position, &member)| (member, position)).collect();
        aligned.replay(|sample| {
            let Some(&position) = position.get(&sample.component) else { return };
            let at = (sample.time_s.div_euclid(i64::from(interval_s)) - origin) as u64;
            if let Some(open) = slot.replace(at)
                && open != at
            {
                windower.push(open, &row, &mut found);
                row.fill(f64::NAN);
            }
            row[position] = sample.value;
        });
        if let Some(open) = slot {
            windower.push(open, &row, &mut found);
        }
    }
}

/// Learns thresholds for every metric that diagnosis compares.
pub fn train(recording: &Recording, roster: &Roster, method: &'static Method, interval_s: u32) -> Thresholds {
    let mut entries = Vec::new();
    for metric in recording.metrics() {
        let method = match metric.properties().role {
            Role::Context | Role::Load => continue,
            Role::Congestion => &CWND,
            _ => method,
        };
        let mut trainers: std::collections::BTreeMap<usize, (Vec<usize>, Trainer)> = Default::default();
        compare(recording, roster, method, metric, interval_s, |scored| {
            let group = roster.components[scored.components[0]].group;
            let fresh = || (scored.components.to_vec(), Trainer::new(method, scored.components.len()));
            trainers.entry(group).or_insert_with(fresh).1.push(scored.scores);
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

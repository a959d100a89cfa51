//! Why, and why not: everything that the rules said of one component, in three buckets as in a medical report.

use crate::Session;
use laggard_core::diagnose::cause::Cause;
use laggard_core::diagnose::incident::JudgedMetric;
use laggard_core::diagnose::rules::episode::Spoken;
use laggard_core::diagnose::rules::{Numbers, Ruling, Step};
use laggard_core::diagnose::trace::Tally;
use laggard_core::diagnose::{Incident, Verdict};
use laggard_core::ids::{ComponentId, UnixSeconds};
use laggard_core::model::metric::Domain;
use laggard_core::model::{Kind, Metric};
use std::collections::{BTreeMap, BTreeSet};

/// What the rules said of one component.
pub struct Explanation {
    /// The component.
    pub component: ComponentId,
    /// It is no suspect, and told as an observation by this cause.
    pub observed: Option<Cause>,
    /// What speaks against it, and why it is that.
    pub found: Vec<Tally>,
    /// What was looked at and is no trouble.
    pub ruled_out: Vec<Tally>,
    /// What could not be judged, by a rule.
    pub undecided: Vec<Tally>,
    /// Metrics that were compared in its group, but never of it.
    pub never_compared: Vec<Metric>,
    /// Metrics that could speak against it, and were recorded too little to compare any member of its group ...
    pub not_compared: Vec<Metric>,
    /// ... or of no member at all.
    pub not_recorded: Vec<Metric>,
}

impl Explanation {
    /// Of a component of a session. Of one that was not asked for, windows in which nothing stood out have left no trace.
    pub fn new(session: &Session, component: ComponentId) -> Explanation {
        let (not_compared, not_recorded) = not_compared(session, component);
        let explains = |found: &&Incident| found.explains.contains(&component);
        let is_suspect = session.diagnosis.incidents.iter().any(|incident| explains(&incident));
        let observation = session.diagnosis.observations.iter().find(explains);
        let observed = observation.map(|found| found.cause).filter(|_| !is_suspect);
        let is_told = is_suspect || observed.is_some();
        let mut explanation = Explanation {
            component,
            observed,
            found: Vec::new(),
            ruled_out: Vec::new(),
            undecided: Vec::new(),
            never_compared: never_compared(session, component),
            not_compared,
            not_recorded,
        };
        let tallies = all(session, component);
        // What speaks against it belongs to a fault that was told; of an observation it was excused.
        let is_found = |tally: &Tally| match tally.ruling {
            Ruling::Indicts(_) => is_suspect,
            Ruling::Observes(_) | Ruling::Explains => is_told,
            Ruling::Excuses | Ruling::Undecided => false,
        };
        let indicts = |tally: &&Tally| matches!(tally.ruling, Ruling::Indicts(_)) && is_found(tally);
        let found: BTreeSet<Metric> =
            tallies.iter().filter(indicts).filter_map(|tally| tally.metric).collect();
        for tally in tallies {
            // Windows before it had lasted long enough belong to what was found.
            let is_early = matches!(tally.rule.step, Step::Lasts)
                && tally.metric.is_some_and(|metric| found.contains(&metric));
            let bucket = match tally.ruling {
                _ if is_early => &mut explanation.found,
                _ if is_found(&tally) => &mut explanation.found,
                // It differed, and another rule excused it.
                Ruling::Indicts(_) | Ruling::Observes(_) | Ruling::Explains | Ruling::Excuses => {
                    &mut explanation.ruled_out
                }
                Ruling::Undecided => &mut explanation.undecided,
            };
            bucket.push(tally);
        }
        // What stood out first: of the rest there is little to say.
        explanation.ruled_out.sort_by_key(|tally| !stood_out(tally));
        explanation
    }

    /// Metrics in which it stood out from its peers and was excused, each with the most windows in which one rule excused it.
    pub fn excused(&self) -> BTreeMap<Metric, u64> {
        let mut excused = BTreeMap::new();
        let unclear = self.undecided.iter().filter(|tally| matches!(tally.rule.step, Step::Differs(_)));
        for tally in self.ruled_out.iter().filter(|tally| stood_out(tally)).chain(unclear) {
            if let Some(metric) = tally.metric {
                let windows = excused.entry(metric).or_insert(0);
                *windows = tally.windows.max(*windows);
            }
        }
        excused
    }

    /// All rulings: found, ruled out, undecided.
    pub fn rulings(&self) -> impl Iterator<Item = &Tally> {
        self.found.iter().chain(&self.ruled_out).chain(&self.undecided)
    }
}

/// Whether a rule spoke of more than a score within its threshold.
fn stood_out(tally: &Tally) -> bool {
    !matches!(tally.rule.step, Step::Exceeds(_))
}

/// Rulings of all scopes, window by metric first.
fn all(session: &Session, component: ComponentId) -> Vec<Tally> {
    let diagnosis = &session.diagnosis;
    let mut tallies = session.rulings_of(component).to_vec();
    tallies.sort_by_key(|tally| tally.metric);
    for excused in diagnosis.excused.iter().filter(|excused| excused.component == component) {
        tallies.push(tally(&excused.by, (excused.episode.first, excused.episode.last)));
    }
    let told = diagnosis.incidents.iter().chain(&diagnosis.observations);
    for incident in told.filter(|incident| incident.explains.contains(&component)) {
        let span = (incident.first, incident.last);
        tallies.extend(incident.named_by.iter().map(|spoken| tally(spoken, span)));
        tallies.push(tally(&incident.found_by, span));
    }
    if let Verdict::Undecided(undecided) = &diagnosis.components[component].verdict {
        let spoken = Spoken { rule: undecided.rule, metric: None, numbers: Numbers::NONE };
        tallies.push(tally(&spoken, (diagnosis.from, diagnosis.to)));
    }
    tallies
}

fn tally(spoken: &Spoken, span: (UnixSeconds, UnixSeconds)) -> Tally {
    Tally::new(spoken.rule, spoken.metric, span, 0.0, spoken.numbers)
}

/// Metrics of its kind that no member of its group was compared in: recorded, and not recorded.
fn not_compared(session: &Session, component: ComponentId) -> (Vec<Metric>, Vec<Metric>) {
    let known = &session.roster.components[component];
    let is_in = |list: &[JudgedMetric], metric: &Metric| {
        list.iter().any(|judged| judged.group == known.group && judged.metric == *metric)
    };
    let is_judged = |metric: &Metric| is_in(&session.diagnosis.judged, metric);
    let is_its = |metric: &Metric| match known.kind {
        Kind::Server => true,
        Kind::Lun | Kind::Attachment | Kind::Device | Kind::Controller | Kind::Drawer | Kind::Group => {
            metric.role().domain() == Domain::Storage
        }
    };
    let can_indict = |metric: &Metric| metric.can_indict() && !metric.role().is_derived();
    let not_judged =
        Metric::all().filter(|metric| can_indict(metric) && is_its(metric) && !is_judged(metric));
    not_judged.partition(|metric| is_in(&session.diagnosis.recorded, metric))
}

fn never_compared(session: &Session, component: ComponentId) -> Vec<Metric> {
    let group = session.roster.components[component].group;
    let is_known =
        |metric: Metric| session.rulings_of(component).iter().any(|tally| tally.metric == Some(metric));
    let judged = session.diagnosis.judged.iter().filter(|judged| judged.group == group);
    let is_asked = session.asked.contains(&component);
    judged.map(|judged| judged.metric).filter(|metric| is_asked && !is_known(*metric)).collect()
}

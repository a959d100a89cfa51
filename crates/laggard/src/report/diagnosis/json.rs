//! JSON, schema `laggard/diagnosis/1` (docs/diagnosis-json.md). Scripts rely on these names.

use crate::report::advice;
use laggard_core::diagnose::evidence::Evidence;
use laggard_core::diagnose::rules::episode::checklist;
use laggard_core::diagnose::trace::Tally;
use laggard_core::diagnose::{Cause, Incident, Verdict};
use laggard_core::ids::ComponentId;
use laggard_core::model::Metric;
use laggard_engine::{Explanation, Session};
use laggard_store::{Lost, time};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// What the exit status says: quiet, suspect or undecided.
    conclusion: &'static str,
    from: String,
    to: String,
    trained: bool,
    method: &'static str,
    interval_s: u32,
    peer_groups: Vec<Group<'a>>,
    incidents: Vec<Problem<'a>>,
    /// Troubles that are over, beyond those listed.
    more_incidents: u64,
    /// Loads, of the shape of incidents.
    observations: Vec<Problem<'a>>,
    components: Vec<State<'a>>,
    /// What would have been named, by group: the least ratio for a time.
    power: Vec<Visible<'a>>,
    /// What to know before believing it.
    warnings: Vec<Note>,
    gaps: Vec<Gap<'a>>,
    /// Gaps beyond those listed.
    more_gaps: usize,
    late_samples: u64,
}

#[derive(Serialize)]
struct Group<'a> {
    name: &'a str,
    members: usize,
    undecided: Option<String>,
}

#[derive(Serialize)]
struct Problem<'a> {
    component: &'a str,
    kind: &'static str,
    cause: &'static str,
    severity: f64,
    persistence: u32,
    /// The probability that healthy parts show nothing like it in such a recording ...
    confidence: f64,
    /// ... and how that is known.
    confidence_basis: &'static str,
    first_seen: String,
    last_seen: String,
    ongoing: bool,
    /// Each time of it, where it came again within the day.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    times: Vec<Span>,
    explains: Vec<&'a str>,
    /// Of a load: the share of the extra time in service that it explains, where that is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    share_of_slowness: Option<f64>,
    /// What FAST'10's checklist alone would say.
    checklist: &'static str,
    next: String,
    evidence: Vec<Proof>,
}

#[derive(Serialize)]
struct Span {
    from: String,
    to: String,
}

#[derive(Serialize)]
struct Proof {
    metric: &'static str,
    method: &'static str,
    /// Null where a silent component has none.
    score: Option<f64>,
    threshold: Option<f64>,
    level: Option<f64>,
    peer_level: Option<f64>,
    windows: u32,
    from: String,
    to: String,
}

#[derive(Serialize)]
struct State<'a> {
    component: &'a str,
    peer_group: &'a str,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    severity: f64,
    persistence: u32,
    accumulator: u32,
    /// Of a component that was asked for: what each rule said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rulings: Option<Vec<Said>>,
}

#[derive(Serialize)]
struct Said {
    rule: &'static str,
    scope: &'static str,
    ruling: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metric: Option<&'static str>,
    windows: u64,
    /// The worst window.
    from: String,
    to: String,
    /// What the rule spoke upon there; null is unknown.
    numbers: BTreeMap<&'static str, Option<f64>>,
}

#[derive(Serialize)]
struct Visible<'a> {
    group: &'a str,
    ratio: f64,
    seconds: f64,
}

#[derive(Serialize)]
struct Note {
    message: String,
    /// Whether a fault may be hidden by it: then nothing suspect is undecided.
    hides_faults: bool,
}

#[derive(Serialize)]
struct Gap<'a> {
    component: &'a str,
    from: String,
    to: String,
    reason: String,
}

/// Renders the document.
pub fn render(session: &Session) -> String {
    let (diagnosis, roster) = (&session.diagnosis, &session.roster);
    let groups = roster.groups.iter().zip(&diagnosis.undecided_groups);
    let components = roster.components.enumerate().zip(&diagnosis.components);
    let document = Document {
        schema: "laggard/diagnosis/1",
        conclusion: diagnosis.conclusion().name(),
        from: time::format(diagnosis.from),
        to: time::format(diagnosis.to),
        trained: diagnosis.trained,
        method: diagnosis.method.name,
        interval_s: diagnosis.interval_s,
        peer_groups: groups
            .map(|(group, undecided)| Group {
                name: &group.name,
                members: group.members.len(),
                undecided: undecided.as_ref().map(|known| known.reason.to_string()),
            })
            .collect(),
        incidents: diagnosis.incidents.iter().map(|incident| problem(session, incident)).collect(),
        more_incidents: diagnosis.more_troubles,
        observations: diagnosis.observations.iter().map(|load| problem(session, load)).collect(),
        components: components
            .map(|((id, component), state)| State {
                component: &component.name,
                peer_group: &roster.groups[component.group].name,
                verdict: state.verdict.name(),
                reason: match &state.verdict {
                    Verdict::Undecided(known) => Some(known.reason.to_string()),
                    Verdict::Healthy | Verdict::Suspect => None,
                },
                severity: state.severity,
                persistence: state.persistence,
                accumulator: state.accumulator,
                rulings: session.asked.contains(&id).then(|| rulings(session, id)),
            })
            .collect(),
        power: diagnosis
            .power
            .iter()
            .map(|seen| Visible {
                group: &roster.groups[seen.group].name,
                ratio: seen.ratio,
                seconds: seen.seconds,
            })
            .collect(),
        warnings: session
            .warnings
            .iter()
            .map(|warning| Note {
                message: warning.to_string(),
                hides_faults: warning.lost() != Lost::Nothing,
            })
            .collect(),
        gaps: diagnosis
            .gaps
            .iter()
            .map(|gap| Gap {
                component: &gap.component,
                from: time::format(gap.from),
                to: time::format(gap.to),
                reason: gap.reason.to_string(),
            })
            .collect(),
        more_gaps: diagnosis.more_gaps,
        late_samples: diagnosis.late_samples,
    };
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn rulings(session: &Session, component: ComponentId) -> Vec<Said> {
    let said = |tally: &Tally| Said {
        rule: tally.rule.id,
        scope: tally.rule.scope.name(),
        ruling: tally.ruling.name(),
        cause: tally.ruling.cause().map(Cause::name),
        metric: tally.metric.map(Metric::name),
        windows: tally.windows,
        from: time::format(tally.from),
        to: time::format(tally.to),
        numbers: tally.numbers.iter().map(|(name, value)| (name, known(value))).collect(),
    };
    Explanation::new(session, component).rulings().map(said).collect()
}

/// Times of an incident that came again; nothing of one that did not.
fn times(incident: &Incident) -> Vec<Span> {
    let again = if incident.times.len() > 1 { incident.times.as_slice() } else { &[] };
    again.iter().map(|(from, to)| Span { from: time::format(*from), to: time::format(*to) }).collect()
}

/// JSON has no infinities and no NaN.
fn known(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn problem<'a>(session: &'a Session, incident: &'a Incident) -> Problem<'a> {
    let mut evidence: Vec<(&Metric, &Evidence)> = incident.episode.evidence.iter().collect();
    evidence.sort_by(|a, b| b.1.severity().total_cmp(&a.1.severity()));
    let proof = |(metric, evidence): (&Metric, &Evidence)| Proof {
        metric: metric.name(),
        method: evidence.method.name,
        score: known(evidence.peak.score),
        threshold: known(evidence.peak.threshold),
        level: known(evidence.peak.level),
        peer_level: known(evidence.peak.peer_level),
        windows: evidence.windows,
        from: time::format(evidence.from),
        to: time::format(evidence.to),
    };
    Problem {
        component: &incident.component,
        kind: incident.kind.name(),
        cause: incident.cause.name(),
        severity: incident.severity,
        persistence: incident.persistence,
        confidence: incident.confidence.value,
        confidence_basis: incident.confidence.basis.name(),
        first_seen: time::format(incident.first),
        last_seen: time::format(incident.last),
        ongoing: incident.is_open,
        times: times(incident),
        explains: incident.explains.iter().map(|&id| session.roster.name(id)).collect(),
        share_of_slowness: incident.share_of_slowness(),
        checklist: checklist(|metric| incident.episode.evidence.contains_key(&metric)).name(),
        next: advice::next(session, incident),
        evidence: evidence.into_iter().map(proof).collect(),
    }
}

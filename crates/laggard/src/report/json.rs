//! JSON, schema `laggard/diagnosis/1` (docs/diagnosis-json.md). Scripts rely on these names.

use crate::cli::Failure;
use crate::session::Session;
use laggard_core::diagnose::cause;
use laggard_core::diagnose::evidence::Evidence;
use laggard_core::diagnose::{Incident, Verdict};
use laggard_core::model::Metric;
use laggard_store::time;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    from: String,
    to: String,
    trained: bool,
    method: &'static str,
    interval_s: u32,
    peer_groups: Vec<Group<'a>>,
    incidents: Vec<Problem<'a>>,
    components: Vec<State<'a>>,
    gaps: Vec<Gap<'a>>,
    /// Gaps beyond those listed.
    more_gaps: usize,
    late_samples: u64,
}

#[derive(Serialize)]
struct Group<'a> {
    name: &'a str,
    members: usize,
    undecided: Option<&'a str>,
}

#[derive(Serialize)]
struct Problem<'a> {
    component: &'a str,
    kind: &'static str,
    cause: &'static str,
    severity: f64,
    persistence: u32,
    first_seen: String,
    last_seen: String,
    explains: Vec<&'a str>,
    /// What FAST'10's checklist alone would say.
    checklist: &'static str,
    next: String,
    evidence: Vec<Proof>,
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
    reason: Option<&'a str>,
    severity: f64,
    persistence: u32,
    accumulator: u32,
}

#[derive(Serialize)]
struct Gap<'a> {
    component: &'a str,
    from: String,
    to: String,
    reason: &'a str,
}

pub fn render(session: &Session) -> Result<String, Failure> {
    let (diagnosis, roster) = (&session.diagnosis, &session.roster);
    let groups = roster.groups.iter().zip(&diagnosis.undecided_groups);
    let components = roster.components.iter().zip(&diagnosis.components);
    let document = Document {
        schema: "laggard/diagnosis/1",
        from: time::format(diagnosis.from_s),
        to: time::format(diagnosis.to_s),
        trained: diagnosis.trained,
        method: diagnosis.method,
        interval_s: diagnosis.interval_s,
        peer_groups: groups
            .map(|(group, undecided)| Group {
                name: &group.name,
                members: group.members.len(),
                undecided: undecided.as_deref(),
            })
            .collect(),
        incidents: diagnosis.incidents.iter().map(|incident| problem(session, incident)).collect(),
        components: components
            .map(|(component, state)| State {
                component: &component.name,
                peer_group: &roster.groups[component.group].name,
                verdict: state.verdict.name(),
                reason: if let Verdict::Undecided(reason) = &state.verdict { Some(reason) } else { None },
                severity: state.severity,
                persistence: state.persistence,
                accumulator: state.accumulator,
            })
            .collect(),
        gaps: diagnosis
            .gaps
            .iter()
            .map(|gap| Gap {
                component: &gap.component,
                from: time::format(gap.from_s),
                to: time::format(gap.to_s),
                reason: &gap.reason,
            })
            .collect(),
        more_gaps: diagnosis.more_gaps,
        late_samples: diagnosis.late_samples,
    };
    let text =
        serde_json::to_string_pretty(&document).map_err(|error| Failure::Said(format!("JSON: {error}")))?;
    Ok(text + "\n")
}

fn problem<'a>(session: &'a Session, incident: &'a Incident) -> Problem<'a> {
    let mut evidence: Vec<(&Metric, &Evidence)> = incident.episode.evidence.iter().collect();
    evidence.sort_by(|a, b| b.1.severity().total_cmp(&a.1.severity()));
    let known = |value: f64| value.is_finite().then_some(value);
    let proof = |(metric, evidence): (&Metric, &Evidence)| Proof {
        metric: metric.name(),
        method: evidence.method,
        score: known(evidence.peak.score),
        threshold: known(evidence.peak.threshold),
        level: known(evidence.peak.level),
        peer_level: known(evidence.peak.peer_level),
        windows: evidence.windows,
        from: time::format(evidence.from_s),
        to: time::format(evidence.to_s),
    };
    Problem {
        component: &incident.component,
        kind: incident.kind.name(),
        cause: incident.cause.name(),
        severity: incident.severity,
        persistence: incident.persistence,
        first_seen: time::format(incident.first_s),
        last_seen: time::format(incident.last_s),
        explains: incident.explains.iter().map(|&id| session.roster.components[id].name.as_str()).collect(),
        checklist: cause::checklist(|metric| incident.episode.evidence.contains_key(&metric)).name(),
        next: super::words::next(session, incident),
        evidence: evidence.into_iter().map(proof).collect(),
    }
}

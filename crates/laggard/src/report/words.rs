//! Sentences that the formats share.

use crate::session::Session;
use laggard_core::diagnose::cause::{self, Cause};
use laggard_core::diagnose::evidence::Evidence;
use laggard_core::diagnose::incident::ComponentVerdict;
use laggard_core::diagnose::untrained::Relation;
use laggard_core::diagnose::{Diagnosis, Incident, Verdict};
use laggard_core::model::metric::Role;
use laggard_core::model::{Kind, Metric, hosts};
use laggard_store::time;
use std::collections::BTreeMap;

/// A number with three significant digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{value:.2e}"),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.01 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    }
}

/// "1 day", "2 days".
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The first line of every report.
pub fn headline(session: &Session) -> String {
    let diagnosis = &session.diagnosis;
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    session.roster.components.iter().for_each(|component| *kinds.entry(component.kind).or_default() += 1);
    let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| counted(count, kind.name())).collect();
    let total = diagnosis.components.len();
    let is_undecided = |known: &&ComponentVerdict| matches!(known.verdict, Verdict::Undecided(_));
    let undecided = diagnosis.components.iter().filter(is_undecided).count();
    let problems = match diagnosis.incidents.len() {
        0 if undecided == total => "Undecided".into(),
        0 if undecided > 0 => format!("Nothing suspect, but {undecided} undecided,"),
        0 => "Nothing suspect".into(),
        count => counted(count, "problem"),
    };
    format!(
        "{problems} in {}, {} to {}, every {} s by {} ({}).",
        kinds.join(", "),
        time::format(diagnosis.from_s),
        time::format(diagnosis.to_s),
        diagnosis.interval_s,
        diagnosis.method,
        if diagnosis.trained { "trained" } else { "untrained: thresholds come from the peers" },
    )
}

/// The metric that says most about an incident's cause.
pub fn telling(incident: &Incident) -> Option<(Metric, &Evidence)> {
    let roles: &[Role] = match incident.cause {
        Cause::DiskHog | Cause::SingleLunWorkload => &[Role::StorageVolume],
        Cause::DiskBusy | Cause::ComponentFault | Cause::DrawerError => &[Role::StorageLatency],
        Cause::NetworkHog => &[Role::NetworkVolume],
        Cause::PacketLoss => &[Role::Congestion],
        _ => &[],
    };
    let strongest = |of_role: bool| {
        let matching = incident.episode.evidence.iter().filter(|(metric, evidence)| {
            !of_role || roles.contains(&metric.properties().role) && evidence.relation() != Relation::Alike
        });
        matching
            .max_by(|a, b| a.1.severity().total_cmp(&b.1.severity()))
            .map(|(metric, evidence)| (*metric, evidence))
    };
    strongest(true).or_else(|| strongest(false))
}

/// What one metric shows, in numbers.
pub fn shows(metric: Metric, evidence: &Evidence) -> String {
    let unit = metric.properties().unit;
    let (level, peers) = (number(evidence.peak.level), number(evidence.peak.peer_level));
    match evidence.relation() {
        Relation::Silent => format!("no {metric} while its peers have some"),
        Relation::Idle => format!("{metric} {level} {unit} where its peers have {peers}"),
        _ if evidence.peak.peer_level.abs() <= metric.properties().negligible => {
            format!("{metric} {level} {unit} where its peers have {peers}")
        }
        _ => format!(
            "{metric} {level} {unit}, {} times its peers' {peers}",
            number(evidence.peak.level / evidence.peak.peer_level)
        ),
    }
}

/// One incident in one clause.
pub fn sentence(session: &Session, incident: &Incident) -> String {
    let shown = telling(incident).map_or_else(String::new, |(metric, evidence)| shows(metric, evidence));
    if incident.explains.len() < 2 {
        return shown;
    }
    let name = |id: usize| &session.roster.components[id].name;
    let worst = match incident.cause {
        // The worst of a lost attachment is the one that took its load.
        Cause::LostAttachment | Cause::ServerDown | Cause::ControllerFailed
            if incident.episode.is_mostly(Relation::High) =>
        {
            format!("its load is on {}", name(incident.worst))
        }
        _ => format!("worst {}", name(incident.worst)),
    };
    let names = hosts::fold(incident.explains.iter().map(|&id| name(id)));
    let names = if names.len() > 80 { String::new() } else { format!(" ({names})") };
    format!("explains {} components{names}; {worst}: {shown}", incident.explains.len())
}

/// What to run next: on the part itself if it is a server, else on the server that holds it.
pub fn next(session: &Session, incident: &Incident) -> String {
    let parts = Some(&session.roster.components[incident.worst].parts);
    // The accused component's own server; that of the worst it explains, if it is a part.
    let accused = session.roster.find(&incident.component).map(|id| &session.roster.components[id].parts);
    let server = accused.or(parts).and_then(|parts| parts.iter().find(|(kind, _)| *kind == Kind::Server));
    let host = match incident.kind {
        Kind::Server => Some(incident.component.as_str()),
        Kind::Controller | Kind::Drawer => None,
        _ => server.map(|(_, name)| name.as_str()),
    };
    incident.cause.next_command(&incident.component, host)
}

/// Gaps, those of one time and reason as one: names, from, to, reason.
pub fn gaps(diagnosis: &Diagnosis) -> Vec<(String, i64, i64, &str)> {
    let mut alike: BTreeMap<(i64, i64, &str), Vec<&str>> = BTreeMap::new();
    for gap in &diagnosis.gaps {
        alike.entry((gap.from_s, gap.to_s, &gap.reason)).or_default().push(&gap.component);
    }
    alike
        .into_iter()
        .map(|((from_s, to_s, reason), names)| (hosts::fold(names), from_s, to_s, reason))
        .collect()
}

/// A verdict in words.
pub fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Undecided(reason) => format!("undecided ({reason})"),
        other => other.name().into(),
    }
}

/// How the decision came about, step by step, each with its numbers.
pub fn trail(session: &Session, incident: &Incident) -> Vec<String> {
    let diagnosis = &session.diagnosis;
    let mut lines = Vec::new();
    let worst = &session.roster.components[incident.worst];
    let group = &session.roster.groups[worst.group];
    let peers = counted(group.members.len() - 1, "peer");
    lines.push(format!("{} was compared with {peers} of `{}`", worst.name, group.name));
    let mut evidence: Vec<(&Metric, &Evidence)> = incident.episode.evidence.iter().collect();
    evidence.sort_by(|a, b| b.1.severity().total_cmp(&a.1.severity()));
    for (metric, evidence) in evidence {
        let judged = match evidence.peak.score.is_nan() {
            true => format!("{} has no score for it", evidence.method),
            false => format!(
                "{} score {} against threshold {}",
                evidence.method,
                number(evidence.peak.score),
                number(evidence.peak.threshold)
            ),
        };
        lines.push(format!(
            "{}: {judged} at its worst ({} to {}), {}, severity {}",
            shows(*metric, evidence),
            time::format(evidence.peak.from_s),
            time::format(evidence.peak.to_s),
            counted(evidence.windows as usize, "window"),
            number(evidence.severity()),
        ));
    }
    let quiet: Vec<&str> = diagnosis
        .judged
        .iter()
        .filter(|(of, metric)| *of == worst.group && !incident.episode.evidence.contains_key(metric))
        .map(|(_, metric)| metric.name())
        .collect();
    if !quiet.is_empty() {
        lines.push(format!("like its peers in {}", quiet.join(", ")));
    }
    let differs = |metric: Metric| incident.episode.evidence.contains_key(&metric);
    let paper = cause::checklist(differs);
    if paper != Cause::Unknown && paper != incident.cause {
        lines.push(format!(
            "FAST'10's checklist alone would say {}; severity and topology say {}",
            paper.name(),
            incident.cause.name()
        ));
    }
    lines.push(format!(
        "anomalous from {} to {}, accumulator up to {}; {}",
        time::format(incident.first_s),
        time::format(incident.last_s),
        incident.persistence,
        if diagnosis.trained { "trained thresholds" } else { "thresholds from the peers" },
    ));
    lines.push(format!("next: {}", next(session, incident)));
    lines
}

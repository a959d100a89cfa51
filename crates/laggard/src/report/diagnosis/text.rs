//! Text: reads like an answer. One line per problem, worst first, with the next command; evidence on request.

use crate::report::{advice, sentences};
use laggard_core::diagnose::{Cause, Incident, Verdict};
use laggard_core::ids::ComponentId;
use laggard_core::model::hosts;
use laggard_engine::{Explanation, Session};
use laggard_store::time;
use std::fmt::Write;

/// Components of one part that are explained, at most.
const MOST_EXPLAINED: usize = 10;

/// Renders a diagnosis; with the evidence of all problems, and parts explained.
pub fn render(session: &Session, with_evidence: bool, explained: &[String]) -> String {
    let mut out = String::new();
    let (diagnosis, roster) = (&session.diagnosis, &session.roster);
    let _ = writeln!(out, "{}", sentences::headline(session));
    let width = diagnosis.incidents.iter().map(|incident| incident.component.len()).max().unwrap_or(0);
    let causes = diagnosis.incidents.iter().map(|incident| incident.cause.name().len()).max().unwrap_or(0);
    for incident in &diagnosis.incidents {
        let _ = writeln!(
            out,
            "  {:width$}  {:causes$}  {}  severity {:>5}  persistence {:>3}  sure {:>7}  {}  next: {}",
            incident.component,
            incident.cause.name(),
            sentences::when(incident),
            sentences::number(incident.severity),
            incident.persistence,
            sentences::sure(&incident.confidence),
            sentences::summary(session, incident),
            advice::next(session, incident),
        );
    }
    if diagnosis.more_troubles > 0 {
        let more = diagnosis.more_troubles;
        let _ = writeln!(out, "  … and {more} more that are over: of each part the largest are listed");
    }
    observations(&mut out, session);
    for (group, reason) in roster.groups.iter().zip(&diagnosis.undecided_groups) {
        if let Some(undecided) = reason {
            let names = hosts::fold(group.members.iter().map(|&member| roster.name(member)));
            let _ = writeln!(out, "  undecided: {} ({names}): {}", group.name, undecided.reason);
        }
    }
    for (names, reason) in sentences::undecided_components(session) {
        let _ = writeln!(out, "  undecided: {names}: {reason}");
    }
    if let Some(spoken) = &diagnosis.no_all_clear {
        let _ = writeln!(out, "  undecided by `{}`: {}", spoken.rule.id, sentences::clause(spoken));
    }
    for line in sentences::power(session) {
        let _ = writeln!(out, "  power: {line}");
    }
    for warning in sentences::losses(session) {
        let _ = writeln!(out, "  warning: {warning}");
    }
    gaps(&mut out, session);
    if with_evidence {
        for incident in &diagnosis.incidents {
            problem(&mut out, incident, sentences::trail(session, incident));
        }
    }
    let mut parts: Vec<&String> = explained.iter().collect();
    parts.dedup();
    for part in parts {
        explain(&mut out, session, part);
    }
    if !with_evidence && explained.is_empty() && !diagnosis.incidents.is_empty() {
        let _ = writeln!(
            out,
            "Evidence: add --evidence, --explain PART, or --format html -o report.html for the plots."
        );
    }
    out
}

/// Loads, and groups that are slow as a whole, below the problems: for them nobody is woken.
fn observations(out: &mut String, session: &Session) {
    const SHOWN: usize = 10;
    let observations = &session.diagnosis.observations;
    for observation in observations.iter().take(SHOWN) {
        let (cause, when) = (observation.cause.name(), sentences::when(observation));
        let shown = sentences::summary(session, observation);
        let is_shared = matches!(observation.cause, Cause::EverybodySlow | Cause::SlowTogether);
        let what = if is_shared { "no part to blame" } else { "load, no fault" };
        let _ = writeln!(out, "  {what}: {}  {cause}  {when}  {shown}", observation.component);
    }
    let more = observations.len().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(out, "  … and {more} more (--format json lists them)");
    }
}

fn gaps(out: &mut String, session: &Session) {
    const SHOWN: usize = 5;
    let diagnosis = &session.diagnosis;
    let gaps = sentences::gaps(diagnosis);
    for gap in gaps.iter().take(SHOWN) {
        let (from, to) = (time::format(gap.from), time::format(gap.to));
        let _ = writeln!(out, "  gap: {} {from} to {to}: {}", gap.names, gap.reason);
    }
    let more = gaps.len().saturating_sub(SHOWN) + diagnosis.more_gaps;
    if more > 0 {
        let _ = writeln!(out, "  … and {more} more gaps (--format json lists them)");
    }
    if diagnosis.late_samples > 0 {
        let _ = writeln!(
            out,
            "  {} samples came too late for their slot and were not used",
            diagnosis.late_samples
        );
    }
}

/// One problem with its evidence.
fn problem(out: &mut String, incident: &Incident, evidence: Vec<String>) {
    let _ = writeln!(out, "\n{} ({}): {}", incident.component, incident.kind.name(), incident.cause.name());
    let _ = writeln!(out, "  {}", incident.cause.meaning());
    for line in evidence {
        let _ = writeln!(out, "  - {line}");
    }
}

/// A part: the problems that name it, and each of its components, healthy or not.
fn explain(out: &mut String, session: &Session, part: &str) {
    let told = session.diagnosis.incidents.iter().chain(&session.diagnosis.observations);
    for incident in told.filter(|incident| incident.component == part) {
        problem(out, incident, sentences::evidence(session, incident));
    }
    let components = session.roster.components_of(part);
    for &component in components.iter().take(MOST_EXPLAINED) {
        component_explained(out, session, component);
    }
    if components.len() > MOST_EXPLAINED {
        let more = components.len() - MOST_EXPLAINED;
        let _ = writeln!(out, "\n… and {more} more components of {part} (--format json has them all)");
    }
}

fn component_explained(out: &mut String, session: &Session, component: ComponentId) {
    let known = &session.diagnosis.components[component];
    let kind = session.roster.components[component].kind.name();
    let verdict = sentences::verdict(&known.verdict);
    let _ = writeln!(out, "\n{} ({kind}): {verdict}", session.roster.name(component));
    let _ = writeln!(
        out,
        "  {}, accumulator at most {}",
        sentences::compared(session, component),
        known.persistence
    );
    let explanation = Explanation::new(session, component);
    if known.verdict == Verdict::Healthy {
        let _ = writeln!(out, "  {}", sentences::why_healthy(&explanation));
    }
    let list = |out: &mut String, title: &str, lines: Vec<String>| {
        let _ = writeln!(out, "  {title}:{}", if lines.is_empty() { " nothing" } else { "" });
        for line in lines {
            let _ = writeln!(out, "  - {line}");
        }
    };
    list(out, "found", explanation.found.iter().map(sentences::ruling).collect());
    list(out, "ruled out", explanation.ruled_out.iter().map(sentences::ruled_out).collect());
    list(out, "could not be judged", sentences::not_judged(&explanation, &known.verdict));
}

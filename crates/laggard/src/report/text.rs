//! Text: reads like an answer. One line per problem, worst first, with the next command; evidence on request.

use super::words;
use crate::cli::Failure;
use crate::session::Session;
use laggard_core::diagnose::Incident;
use laggard_core::model::hosts;
use laggard_store::time;
use std::fmt::Write;

pub fn render(session: &Session, explain: Option<&str>) -> Result<String, Failure> {
    let mut out = String::new();
    let (diagnosis, roster) = (&session.diagnosis, &session.roster);
    let _ = writeln!(out, "{}", words::headline(session));
    let width = diagnosis.incidents.iter().map(|incident| incident.component.len()).max().unwrap_or(0);
    let causes = diagnosis.incidents.iter().map(|incident| incident.cause.name().len()).max().unwrap_or(0);
    for incident in &diagnosis.incidents {
        let _ = writeln!(
            out,
            "  {:width$}  {:causes$}  since {}  severity {:>5}  persistence {:>3}  {}  next: {}",
            incident.component,
            incident.cause.name(),
            time::format(incident.first_s),
            words::number(incident.severity),
            incident.persistence,
            words::sentence(session, incident),
            words::next(session, incident),
        );
    }
    for (group, reason) in roster.groups.iter().zip(&diagnosis.undecided_groups) {
        if let Some(reason) = reason {
            let names = hosts::fold(group.members.iter().map(|&member| &roster.components[member].name));
            let _ = writeln!(out, "  undecided: {} ({names}): {reason}", group.name);
        }
    }
    gaps(&mut out, session);
    if let Some(part) = explain {
        explain_part(&mut out, session, part)?;
    } else if !diagnosis.incidents.is_empty() {
        let _ = writeln!(out, "Evidence: add --explain, or --format html -o report.html for the plots.");
    }
    Ok(out)
}

fn gaps(out: &mut String, session: &Session) {
    const SHOWN: usize = 5;
    let diagnosis = &session.diagnosis;
    let gaps = words::gaps(diagnosis);
    for (names, from_s, to_s, reason) in gaps.iter().take(SHOWN) {
        let _ =
            writeln!(out, "  gap: {names} {} to {}: {reason}", time::format(*from_s), time::format(*to_s));
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

fn explain_part(out: &mut String, session: &Session, part: &str) -> Result<(), Failure> {
    let named = |incident: &&Incident| {
        let explained = || incident.explains.iter().any(|&id| session.roster.components[id].name == part);
        part.is_empty() || incident.component == part || explained()
    };
    let chosen: Vec<&Incident> = session.diagnosis.incidents.iter().filter(named).collect();
    if chosen.is_empty() && !part.is_empty() {
        let Some(component) = session.roster.find(part) else {
            return Err(Failure::Said(format!("--explain {part}: no such part in the data")));
        };
        let known = &session.diagnosis.components[component];
        let group = session.roster.components[component].group;
        let judged = session.diagnosis.judged.iter().filter(|(of, _)| *of == group);
        let judged: Vec<&str> = judged.map(|(_, metric)| metric.name()).collect();
        let _ = writeln!(
            out,
            "
{part}: {}",
            words::verdict(&known.verdict)
        );
        let peers = words::counted(session.roster.groups[group].members.len() - 1, "peer");
        let _ = writeln!(
            out,
            "  - compared with {peers} of `{}` in {}",
            session.roster.groups[group].name,
            judged.join(", ")
        );
        let _ = writeln!(out, "  - accumulator at most {}", known.persistence);
    }
    for incident in chosen {
        let _ =
            writeln!(out, "\n{} ({}): {}", incident.component, incident.kind.name(), incident.cause.name());
        let _ = writeln!(out, "  {}", incident.cause.meaning());
        for line in words::trail(session, incident) {
            let _ = writeln!(out, "  - {line}");
        }
    }
    Ok(())
}

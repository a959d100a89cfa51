//! Sentences that the formats share.

use super::advice;
use laggard_core::diagnose::case::Relation;
use laggard_core::diagnose::evidence::Evidence;
use laggard_core::diagnose::gaps::GapReason;
use laggard_core::diagnose::incident::{ComponentVerdict, Confidence, Power};
use laggard_core::diagnose::rules::episode::{Spoken, checklist};
use laggard_core::diagnose::rules::{Ruling, Step};
use laggard_core::diagnose::trace::Tally;
use laggard_core::diagnose::{Cause, Diagnosis, Incident, Verdict};
use laggard_core::ids::{ComponentId, GroupId, UnixSeconds};
use laggard_core::model::groups::CLIENTS;
use laggard_core::model::{Kind, Metric, hosts};
use laggard_engine::{Explanation, Session};
use laggard_store::{Lost, time};
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
    let mut kinds: BTreeMap<(bool, Kind), usize> = BTreeMap::new();
    for component in &session.roster.components {
        let is_client = session.roster.groups[component.group].name == CLIENTS;
        *kinds.entry((is_client, component.kind)).or_default() += 1;
    }
    let name = |is_client: bool, kind: Kind| if is_client { "client" } else { kind.name() };
    let kinds: Vec<String> =
        kinds.into_iter().map(|((is_client, kind), count)| counted(count, name(is_client, kind))).collect();
    let total = diagnosis.components.len();
    let is_undecided = |known: &&ComponentVerdict| matches!(known.verdict, Verdict::Undecided(_));
    let undecided = diagnosis.components.iter().filter(is_undecided).count();
    let problems = match diagnosis.incidents.len() {
        0 if diagnosis.no_all_clear.is_some() && undecided == total => "Undecided".into(),
        0 if diagnosis.no_all_clear.is_some() => "Undecided: nothing suspect in what could be judged".into(),
        0 if undecided > 0 => format!("Nothing suspect, but {undecided} undecided,"),
        0 => "Nothing suspect".into(),
        count => counted(count, "problem"),
    };
    format!(
        "{problems} in {}, {} to {}, every {} s by {} ({}).",
        kinds.join(", "),
        time::format(diagnosis.from),
        time::format(diagnosis.to),
        diagnosis.interval_s,
        diagnosis.method.name,
        if diagnosis.trained { "trained" } else { "untrained: thresholds come from the peers" },
    )
}

/// Warnings of what may hide a fault.
pub fn losses(session: &Session) -> impl Iterator<Item = String> {
    session.warnings.iter().filter(|warning| warning.lost() != Lost::Nothing).map(ToString::to_string)
}

/// What one metric shows, in numbers.
pub fn shows(metric: Metric, evidence: &Evidence) -> String {
    let unit = metric.properties().unit;
    let (level, peers) = (number(evidence.peak.level), number(evidence.peak.peer_level));
    match evidence.relation() {
        Relation::High if metric == Metric::Cost => {
            format!("{level} times the time that the same work costs its peers")
        }
        Relation::High if metric == Metric::Work => {
            format!("its work would keep a healthy peer busy for {level} of the time, its peers' {peers}")
        }
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

/// How sure an incident is, in percent. Nobody is entirely sure.
pub fn sure(confidence: &Confidence) -> String {
    let percent = 100.0 * confidence.value;
    match percent {
        percent if percent >= 99.9 => "> 99.9 %".into(),
        percent if percent >= 99.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// When it was, and whether it goes on.
pub fn when(incident: &Incident) -> String {
    let again = match incident.times.len() {
        0 | 1 => String::new(),
        times => format!(", {times} times"),
    };
    match incident.is_open {
        true => format!("since {}{again}", time::format(incident.first)),
        false => {
            format!("over, from {} for {}{again}", time::format(incident.first), lasted(incident.lasted_s()))
        }
    }
}

/// What could have been seen, in one line for each group of which it is known.
pub fn power(session: &Session) -> Vec<String> {
    let line = |group: GroupId| {
        let visible = session.diagnosis.power.iter().filter(|seen| seen.group == group);
        let named =
            |seen: &Power| format!("{} times as slow for {}", seen.ratio, at_least(seen.seconds as i64));
        let steps: Vec<String> = visible.map(named).collect();
        (!steps.is_empty()).then(|| {
            let group = &session.roster.groups[group].name;
            format!("a part of `{group}` that works would have been named at {}", steps.join(", or "))
        })
    };
    session.roster.groups.ids().filter_map(line).collect()
}

/// A time span that is no shorter, in whole minutes or hours.
fn at_least(seconds: i64) -> String {
    match seconds {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 7200 => format!("{} min", (seconds + 59) / 60),
        seconds => format!("{} h", (seconds + 3599) / 3600),
    }
}

/// A time span in the largest unit that has at least two of it.
pub fn lasted(seconds: i64) -> String {
    match seconds {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 7200 => format!("{} min", seconds / 60),
        seconds if seconds < 172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// One incident in one clause.
pub fn summary(session: &Session, incident: &Incident) -> String {
    if incident.cause == Cause::EverybodySlow {
        let ratio = incident.telling().map_or(f64::NAN, |(_, evidence)| evidence.ratio());
        return format!("the same work costs all members {} times what it did before", number(ratio));
    }
    let mut shown = incident.telling().map_or_else(String::new, |(metric, evidence)| shows(metric, evidence));
    if let Some(share) = incident.share_of_slowness() {
        shown += &format!("; that is {:.0} % of its extra time in service", 100.0 * share);
    }
    if incident.explains.len() < 2 {
        return shown;
    }
    let name = |id: ComponentId| session.roster.name(id);
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

/// Gaps of one time and reason.
pub struct Gaps<'a> {
    /// Whose, folded.
    pub names: String,
    /// First moment without samples.
    pub from: UnixSeconds,
    /// First moment with samples again.
    pub to: UnixSeconds,
    /// Why.
    pub reason: &'a GapReason,
}

/// Gaps, those of one time and reason as one.
pub fn gaps(diagnosis: &Diagnosis) -> Vec<Gaps<'_>> {
    let mut alike: BTreeMap<(UnixSeconds, UnixSeconds, String), (Vec<&str>, &GapReason)> = BTreeMap::new();
    for gap in &diagnosis.gaps {
        let key = (gap.from, gap.to, gap.reason.to_string());
        alike.entry(key).or_insert_with(|| (Vec::new(), &gap.reason)).0.push(&gap.component);
    }
    let folded = alike.into_iter();
    folded
        .map(|((from, to, _), (names, reason))| Gaps { names: hosts::fold(names), from, to, reason })
        .collect()
}

/// A verdict in words.
pub fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Undecided(undecided) => format!("undecided ({})", undecided.reason),
        other => other.name().into(),
    }
}

/// How the decision came about, step by step, each with its numbers: the evidence, then what the rules said beside it.
pub fn trail(session: &Session, incident: &Incident) -> Vec<String> {
    let mut lines = evidence(session, incident);
    let explanation = Explanation::new(session, incident.worst);
    // What indicts in a window is the evidence.
    let is_beside = |tally: &&Tally| tally.metric.is_none() || !matches!(tally.ruling, Ruling::Indicts(_));
    lines.extend(explanation.rulings().filter(is_beside).map(ruling));
    lines.push(format!("next: {}", advice::next(session, incident)));
    lines
}

/// What speaks against the worst component of an incident.
pub fn evidence(session: &Session, incident: &Incident) -> Vec<String> {
    let diagnosis = &session.diagnosis;
    let mut lines = vec![compared(session, incident.worst)];
    let mut evidence: Vec<(&Metric, &Evidence)> = incident.episode.evidence.iter().collect();
    evidence.sort_by(|a, b| b.1.severity().total_cmp(&a.1.severity()));
    for (metric, evidence) in evidence {
        let judged = match evidence.peak.score.is_nan() {
            true => format!("{} has no score for it", evidence.method.name),
            false => format!(
                "{} score {} against threshold {}",
                evidence.method.name,
                number(evidence.peak.score),
                number(evidence.peak.threshold)
            ),
        };
        lines.push(format!(
            "{}: {judged} at its worst ({} to {}), {}, severity {}",
            shows(*metric, evidence),
            time::format(evidence.peak.from),
            time::format(evidence.peak.to),
            counted(evidence.windows as usize, "window"),
            number(evidence.severity()),
        ));
    }
    let group = session.roster.components[incident.worst].group;
    let differs = |metric: &Metric| incident.episode.evidence.contains_key(metric);
    let judged = diagnosis.judged.iter().filter(|judged| judged.group == group);
    let stood_out = |metric: &Metric| {
        let of_worst = session.rulings_of(incident.worst).iter();
        of_worst
            .filter(|tally| tally.metric == Some(*metric))
            .any(|tally| matches!(tally.ruling, Ruling::Indicts(_)))
    };
    let judged = judged.map(|judged| judged.metric).filter(|metric| !differs(metric));
    let (short, quiet): (Vec<Metric>, Vec<Metric>) = judged.partition(stood_out);
    let names = |metrics: Vec<Metric>| metrics.into_iter().map(Metric::name).collect::<Vec<_>>().join(", ");
    if !short.is_empty() {
        lines.push(format!("differs now and then in {}, and not for long", names(short)));
    }
    if !quiet.is_empty() {
        lines.push(format!("like its peers in {}", names(quiet)));
    }
    let paper = checklist(|metric| differs(&metric));
    if paper != Cause::Unknown && paper != incident.cause {
        lines.push(format!(
            "FAST'10's checklist alone would say {}; severity and topology say {}",
            paper.name(),
            incident.cause.name()
        ));
    }
    lines.push(format!(
        "anomalous from {} to {}, accumulator up to {}; {}",
        time::format(incident.first),
        time::format(incident.last),
        incident.persistence,
        if diagnosis.trained { "trained thresholds" } else { "thresholds from the peers" },
    ));
    lines
}

/// What a component was compared with, and why with these.
pub fn compared(session: &Session, component: ComponentId) -> String {
    let id = session.roster.components[component].group;
    let group = &session.roster.groups[id];
    let peers = counted(group.members.len() - 1, "peer");
    let was = match session.diagnosis.undecided_groups[id] {
        Some(_) => "could not be compared",
        None => "was compared",
    };
    format!(
        "{} {was} with {peers} of `{}` ({})",
        session.roster.name(component),
        group.name,
        group.alike.clause()
    )
}

/// Components that could not be judged in groups that were: their names, and why.
pub fn undecided_components(session: &Session) -> Vec<(String, String)> {
    let (diagnosis, roster) = (&session.diagnosis, &session.roster);
    let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (component, known) in diagnosis.components.enumerate() {
        let is_of_judged = diagnosis.undecided_groups[roster.components[component].group].is_none();
        if let Verdict::Undecided(undecided) = &known.verdict
            && is_of_judged
        {
            by_reason.entry(undecided.reason.to_string()).or_default().push(roster.name(component));
        }
    }
    by_reason.into_iter().map(|(reason, names)| (hosts::fold(names), reason)).collect()
}

/// Why a healthy component is not accused, in one sentence.
pub fn why_healthy(explanation: &Explanation) -> String {
    let excused = explanation.excused();
    if let Some(cause) = explanation.observed {
        return format!("not accused: {} is no fault of it ({})", cause.name(), cause.meaning());
    }
    if excused.is_empty() {
        return "not accused: in no window did it stand out from its peers".into();
    }
    let metrics: Vec<String> = excused
        .iter()
        .map(|(metric, windows)| format!("{} ({})", metric.name(), counted(*windows as usize, "window")))
        .collect();
    format!("not accused: it stood out in {}, and each time it was excused or not clear", metrics.join(", "))
}

/// What a rule said, how often, and its worst example.
pub fn ruling(tally: &Tally) -> String {
    let by = match (tally.ruling, tally.metric) {
        (Ruling::Indicts(Some(cause)) | Ruling::Observes(cause), None) => {
            format!("named {} by", cause.name())
        }
        (Ruling::Indicts(_), _) => "indicted by".into(),
        (Ruling::Observes(_), _) => "observed by".into(),
        (Ruling::Explains, None) => "found by".into(),
        (Ruling::Explains, Some(_)) => "noted by".into(),
        (Ruling::Excuses, _) if matches!(tally.rule.step, Step::Exceeds(_)) => "normal by".into(),
        (Ruling::Excuses, _) => "excused by".into(),
        (Ruling::Undecided, _) => "undecided by".into(),
    };
    format!("{by} {}", said(tally))
}

/// The rule, how often it spoke, and its worst example.
fn said(tally: &Tally) -> String {
    let windows = match tally.metric {
        Some(_) => format!(", {}", counted(tally.windows as usize, "window")),
        None => String::new(),
    };
    let worst = match tally.metric {
        Some(_) => {
            format!(" (largest score: {} to {})", time::format(tally.from), time::format(tally.to))
        }
        None => String::new(),
    };
    format!("`{}`{windows}: {}{worst}", tally.rule.id, tally.clause(whole_or_number))
}

/// What a rule spoke upon, in words.
pub fn clause(spoken: &Spoken) -> String {
    let never = (UnixSeconds::default(), UnixSeconds::default());
    Tally::new(spoken.rule, spoken.metric, never, 0.0, spoken.numbers).clause(whole_or_number)
}

/// What could not be judged of a component.
pub fn not_judged(explanation: &Explanation, verdict: &Verdict) -> Vec<String> {
    let mut lines: Vec<String> = explanation.undecided.iter().map(ruling).collect();
    lines.extend(explanation.never_compared.iter().map(|metric| format!("{metric}: never compared")));
    if !explanation.not_compared.is_empty() {
        let metrics: Vec<&str> = explanation.not_compared.iter().map(|metric| metric.name()).collect();
        lines.push(format!("not compared in its group, for lack of samples: {}", metrics.join(", ")));
    }
    if !explanation.not_recorded.is_empty() {
        let metrics: Vec<&str> = explanation.not_recorded.iter().map(|metric| metric.name()).collect();
        lines.push(format!("not recorded of any member of its group: {}", metrics.join(", ")));
    }
    if let Verdict::Undecided(undecided) = verdict {
        lines.push(undecided.reason.to_string());
    }
    lines
}

/// What a rule said of a component that is healthy all the same: what differed was excused by another rule.
pub fn ruled_out(tally: &Tally) -> String {
    match (tally.ruling, tally.metric) {
        (Ruling::Indicts(_), Some(_)) => {
            format!("differed, by {}; not for long or not by enough", said(tally))
        }
        _ => ruling(tally),
    }
}

/// Counts without digits after the point, anything else with three significant ones.
fn whole_or_number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e6 { format!("{value:.0}") } else { number(value) }
}

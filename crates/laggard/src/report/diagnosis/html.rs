//! HTML: one self-contained page. What an administrator looks at to believe a verdict: the samples of all peers with the
//! suspect on top, its distribution against theirs, the scores over time, persistence, and how the decision came about.

use crate::report::chart::{self, Cell, Line, TimeAxis};
use crate::report::page::page;
use crate::report::{advice, sentences};
use laggard_core::compare::Score;
use laggard_core::diagnose::evidence::Evidence;
use laggard_core::diagnose::pipeline::Persistent;
use laggard_core::diagnose::{Event, Incident, JudgedWindow, Verdict};
use laggard_core::ids::{ComponentId, GroupId};
use laggard_core::model::metric::Role;
use laggard_core::model::{Metric, hosts};
use laggard_engine::{Explanation, Session};
use laggard_store::time;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// More than this nobody looks at; the page says what it leaves out.
const MOST_INCIDENTS: usize = 20;
const MOST_PEERS: usize = 40;
const MOST_ROWS: usize = 30;
const MOST_COLUMNS: usize = 240;
const MOST_HOURS: usize = 48;

/// Renders the page.
pub fn render(session: &Session) -> String {
    let diagnosis = &session.diagnosis;
    let headline = sentences::headline(session);
    let main = html! {
        (problems(session))
        @for (index, incident) in diagnosis.incidents.iter().take(MOST_INCIDENTS).enumerate() {
            (problem(session, index, incident))
        }
        (observations(session))
        (explained(session))
        (heat_maps(session))
        (persistence(session))
        (groups(session))
        (power(session))
        (warnings(session))
        (gaps(session))
    };
    page(&headline, &main)
}

fn problems(session: &Session) -> Markup {
    let incidents = &session.diagnosis.incidents;
    html! {
        section id="problems" {
            h2 { "Problems, worst first" }
            @let undecided = undecided(session);
            @if incidents.is_empty() && !undecided.is_empty() {
                p { "None found, but not everything could be judged:" }
                ul { @for (names, reason) in undecided { li { (names) ": " (reason) } } }
            } @else if incidents.is_empty() {
                p { "None." }
            } @else {
                table {
                    thead { tr { th { "part" } th { "cause" } th { "when" } th { "severity" } th { "persistence" } th { "sure" } th { "what is seen" } th { "next" } } }
                    tbody {
                        @for (index, incident) in incidents.iter().enumerate() {
                            tr {
                                td { @if index < MOST_INCIDENTS { a href=(format!("#problem-{index}")) { (incident.component) } } @else { (incident.component) } }
                                td { (incident.cause.name()) }
                                td { (sentences::when(incident)) }
                                td.number { (sentences::number(incident.severity)) }
                                td.number { (incident.persistence) }
                                td.number title={ "from " (incident.confidence.basis.name()) } { (sentences::sure(&incident.confidence)) }
                                td { (sentences::summary(session, incident)) }
                                td { code { (advice::next(session, incident)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Loads: parts with more to do than their peers.
fn observations(session: &Session) -> Markup {
    let observations = &session.diagnosis.observations;
    html! {
        @if !observations.is_empty() {
            section id="observations" {
                h2 { "Loads, no fault" }
                table {
                    thead { tr { th { "part" } th { "load" } th { "when" } th { "what is seen" } th { "next" } } }
                    tbody {
                        @for observation in observations {
                            tr {
                                td { (observation.component) }
                                td { (observation.cause.name()) }
                                td { (sentences::when(observation)) }
                                td { (sentences::summary(session, observation)) }
                                td { code { (advice::next(session, observation)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What may hide a fault.
fn warnings(session: &Session) -> Markup {
    let losses: Vec<String> = sentences::losses(session).collect();
    html! {
        @if !losses.is_empty() {
            section id="warnings" {
                h2 { "What may hide a fault" }
                ul { @for loss in &losses { li { (loss) } } }
            }
        }
    }
}

/// The parts that were asked for: what was found, ruled out, and could not be judged.
fn explained(session: &Session) -> Markup {
    let list = |title: &str, lines: Vec<String>| {
        html! {
            h4 { (title) }
            @if lines.is_empty() { p { "Nothing." } } @else { ul.trail { @for line in &lines { li { (line) } } } }
        }
    };
    html! {
        @if !session.asked.is_empty() {
            section id="explained" {
                h2 { "Why, and why not" }
                @for &component in session.asked.iter().take(MOST_INCIDENTS) {
                    @let explanation = Explanation::new(session, component);
                    @let verdict = &session.diagnosis.components[component].verdict;
                    h3 { (session.roster.name(component)) ": " (sentences::verdict(verdict)) }
                    p { (sentences::compared(session, component)) "." }
                    @if *verdict == Verdict::Healthy { p { (sentences::why_healthy(&explanation)) "." } }
                    (list("Found", explanation.found.iter().map(sentences::ruling).collect()))
                    (list("Ruled out", explanation.ruled_out.iter().map(sentences::ruled_out).collect()))
                    (list("Could not be judged", sentences::not_judged(&explanation, verdict)))
                }
            }
        }
    }
}

/// Groups and components that could not be judged, and why.
fn undecided(session: &Session) -> Vec<(String, String)> {
    let groups = session.roster.groups.iter().zip(&session.diagnosis.undecided_groups);
    let groups =
        groups.filter_map(|(group, known)| Some((group.name.clone(), known.as_ref()?.reason.to_string())));
    let losses = sentences::losses(session).map(|loss| ("the input".to_string(), loss));
    groups.chain(sentences::undecided_components(session)).chain(losses).collect()
}

fn problem(session: &Session, index: usize, incident: &Incident) -> Markup {
    let evidence = incident.telling();
    html! {
        section.problem id=(format!("problem-{index}")) {
            h2 { (incident.component) ": " (incident.cause.name()) }
            p { (incident.kind.name()) " " (incident.component) ": " (incident.cause.meaning()) "." }
            @for metric in drawn_metrics(session, incident) {
                (samples(session, incident, incident.worst, metric))
            }
            @if let Some((metric, evidence)) = evidence.filter(|(metric, _)| !metric.role().is_derived()) {
                (distribution(session, incident.worst, metric, evidence))
            }
            h3 { "How the decision came about" }
            ol.trail { @for line in sentences::trail(session, incident) { li { (line) } } }
            @if incident.explains.len() > 1 {
                p { "Explains " (incident.explains.len()) " components: "
                    (hosts::fold(incident.explains.iter().map(|&id| session.roster.name(id)))) "." }
            }
        }
    }
}

/// Metrics of which there is something to draw.
fn drawn_metrics(session: &Session, incident: &Incident) -> Vec<Metric> {
    let is_recorded = |metric: &Metric| session.aligned.find(incident.worst, *metric).is_some();
    incident.drawn().into_iter().filter(is_recorded).collect()
}

/// Members to draw: the suspects, and peers spread evenly over the group.
fn drawn(session: &Session, incident: &Incident, worst: ComponentId) -> Drawn {
    let members = session.roster.peers(worst);
    let healthy: Vec<ComponentId> =
        members.iter().copied().filter(|id| !incident.explains.contains(id)).collect();
    let step = healthy.len().div_ceil(MOST_PEERS).max(1);
    let peers: Vec<ComponentId> = healthy.iter().copied().step_by(step).collect();
    Drawn { left_out: healthy.len() - peers.len(), peers }
}

/// Peers that a plot shows, and how many it does not.
struct Drawn {
    peers: Vec<ComponentId>,
    left_out: usize,
}

fn samples(session: &Session, incident: &Incident, worst: ComponentId, metric: Metric) -> Markup {
    let interval_s = i64::from(session.diagnosis.interval_s);
    let Drawn { peers, left_out } = drawn(session, incident, worst);
    let points = |id: ComponentId| -> Vec<(i64, f64)> {
        let series = session.aligned.find(id, metric);
        series.map_or_else(Vec::new, |series| {
            series.iter().map(|(slot, value)| (slot * interval_s, *value)).collect()
        })
    };
    let mut lines: Vec<Line> = peers
        .iter()
        .map(|&id| Line { name: session.roster.name(id).into(), points: points(id), class: "peer" })
        .collect();
    let moments: BTreeSet<i64> = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|(time, _)| *time))
        .chain(points(worst).iter().map(|(time, _)| *time))
        .collect();
    let axis = TimeAxis::new(&moments.into_iter().collect::<Vec<_>>(), 20 * interval_s);
    lines.push(Line { name: "median of the peers".into(), points: medians(&lines), class: "median" });
    lines.push(Line { name: session.roster.name(worst).into(), points: points(worst), class: "suspect" });
    let congestion = metric.role() == Role::Congestion;
    html! {
        h3 { (metric) " of " (session.roster.name(worst)) " and its peers" }
        figure {
            (chart::lines(&lines, &axis, Some((incident.first.0, incident.last.0)), metric.properties().unit, congestion))
            figcaption {
                span.key.suspect {} (session.roster.name(worst))
                span.key.median {} "median of the peers"
                span.key.peer {} (peers.len()) " peers" @if left_out > 0 { " (" (left_out) " more not drawn)" }
                span.key.anomalous {} "anomalous time"
                span.readout {}
            }
        }
    }
}

fn medians(lines: &[Line]) -> Vec<(i64, f64)> {
    let mut at: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (moment, value) in lines.iter().flat_map(|line| &line.points) {
        at.entry(*moment).or_default().push(*value);
    }
    at.into_iter().map(|(moment, mut values)| (moment, laggard_core::stats::median(&mut values))).collect()
}

fn distribution(session: &Session, worst: ComponentId, metric: Metric, evidence: &Evidence) -> Markup {
    let interval_s = i64::from(session.diagnosis.interval_s);
    let smoothing = evidence.method.published_on(session.diagnosis.interval_s).smoothing;
    // A window of one sample has no distribution: show the minute before it.
    let to = evidence.peak.to.0;
    let from = evidence.peak.from.0.min(to - 60 * interval_s);
    let values = |id: ComponentId| -> Vec<f64> {
        let Some(series) = session.aligned.find(id, metric) else { return Vec::new() };
        let start = series
            .partition_point(|(slot, _)| slot * interval_s < from - (smoothing as i64 - 1) * interval_s);
        let end = series.partition_point(|(slot, _)| slot * interval_s < to);
        let samples: Vec<f64> = series[start..end].iter().map(|(_, value)| *value).collect();
        samples
            .windows(smoothing.min(samples.len()).max(1))
            .map(|window| window.iter().sum::<f64>() / window.len() as f64)
            .collect()
    };
    let members = session.roster.peers(worst);
    let step = members.len().div_ceil(MOST_PEERS).max(1);
    let name = |id: ComponentId| session.roster.name(id).to_string();
    let mut lines: Vec<(String, &'static str, Vec<f64>)> = members
        .iter()
        .step_by(step)
        .filter(|id| **id != worst)
        .map(|&id| (name(id), "peer", values(id)))
        .collect();
    lines.push((name(worst), "suspect", values(worst)));
    html! {
        h3 { "Distribution of " (metric) " in the worst window, smoothed as " (evidence.method.name) " sees it" }
        figure {
            (chart::distributions(&lines, metric.properties().unit))
            figcaption { span.key.suspect {} (name(worst)) span.key.peer {} "peers" " · " (time::format(from)) " to " (time::format(to)) }
        }
    }
}

/// One heat map per group and metric in which something was anomalous.
fn heat_maps(session: &Session) -> Markup {
    let incidents = &session.diagnosis.incidents;
    let mut suspects: Vec<ComponentId> = incidents.iter().map(|incident| incident.worst).collect();
    let others = incidents.iter().flat_map(|incident| incident.explains.iter().copied());
    suspects.extend(others.filter(|id| incidents.iter().all(|incident| incident.worst != *id)));
    let shown: BTreeSet<(GroupId, Metric)> = session
        .diagnosis
        .incidents
        .iter()
        .take(MOST_INCIDENTS)
        .filter_map(|incident| Some((session.roster.components[incident.worst].group, incident.telling()?.0)))
        .collect();
    html! {
        section id="scores" {
            h2 { "Scores of all components over time" }
            @if shown.is_empty() { p { "Nothing stood out." } } @else {
                (chart::heat_legend(&chart::SCORES, Some("anomalous after the filter")))
                @if !session.diagnosis.trained {
                    p.legend { "Untrained, a score above the threshold counts only if the difference also matters in the metric's own unit." }
                }
            }
            @for (group, metric) in shown {
                h3 { (session.roster.groups[group].name) ": " (metric) }
                (heat_map(session, group, metric, &suspects))
            }
        }
    }
}

fn heat_map(session: &Session, group: GroupId, metric: Metric, suspects: &[ComponentId]) -> Markup {
    let windows: Vec<&JudgedWindow> = session
        .history
        .iter()
        .filter_map(|event| if let Event::Window(window) = event { Some(window) } else { None })
        .filter(|window| (window.group, window.metric) == (group, metric))
        .collect();
    let members = &session.roster.groups[group].members;
    // The worst of each incident, then all suspects, then the rest.
    let mut rows: Vec<ComponentId> =
        suspects.iter().copied().filter(|id| members.as_slice().contains(id)).collect();
    rows.extend(members.iter().filter(|id| !suspects.contains(id)));
    let left_out = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    let columns: Vec<&[&JudgedWindow]> =
        windows.chunks(windows.len().div_ceil(MOST_COLUMNS).max(1)).collect();
    let times: Vec<(i64, i64)> =
        columns.iter().map(|column| (column[0].from.0, column[column.len() - 1].to.0)).collect();
    let name = |id: ComponentId| session.roster.name(id).to_string();
    let row = |id: ComponentId| (name(id), columns.iter().map(|column| cell(column, id)).collect());
    let rows: Vec<(String, Vec<Cell>)> = rows.into_iter().map(row).collect();
    html! {
        figure {
            (chart::heat_map(&rows, &times, &chart::SCORES))
            @if left_out > 0 { figcaption { (left_out) " more members are not drawn" } }
        }
    }
}

/// The worst of a component in the windows of one column.
fn cell(column: &[&JudgedWindow], id: ComponentId) -> Cell {
    let mut cell = Cell { value: f64::NAN, marked: false };
    for window in column {
        let Ok(position) = window.components.binary_search(&id) else { continue };
        let ratio = match window.scores[position] {
            Score::Exact(score) => (score / window.thresholds[position].max(1e-9)).max(0.0),
            Score::WithinThreshold => 0.5,
            Score::Missing => continue,
        };
        cell.value = cell.value.max(ratio);
        cell.marked |= window.anomalous[position];
    }
    cell
}

/// The list of LISA'13, figure 5: each hour, who is most persistently anomalous.
fn persistence(session: &Session) -> Markup {
    let ticks: Vec<(i64, &Vec<Persistent>)> = session
        .history
        .iter()
        .filter_map(|event| match event {
            Event::Persistence { time, ranking, .. } if !ranking.is_empty() => Some((time.0, ranking)),
            Event::Persistence { .. } | Event::Window(_) => None,
        })
        .collect();
    let span = ticks.last().map_or(0, |(last, _)| last - ticks[0].0);
    let step = [60, 300, 3600, 14_400, 86_400]
        .into_iter()
        .find(|step| span / step < MOST_HOURS as i64)
        .unwrap_or(604_800);
    let mut rows: BTreeMap<i64, BTreeMap<ComponentId, u32>> = BTreeMap::new();
    for (moment, ranking) in ticks {
        // The state at the end of the step.
        let row = rows.entry(moment.div_euclid(step) * step).or_default();
        row.extend(ranking.iter().map(|place| (place.component, place.accumulator)));
    }
    let top = |row: &BTreeMap<ComponentId, u32>| {
        let mut ranking: Vec<(u32, ComponentId)> =
            row.iter().map(|(component, accumulator)| (*accumulator, *component)).collect();
        ranking.sort_by_key(|(accumulator, component)| (std::cmp::Reverse(*accumulator), *component));
        ranking.truncate(4);
        ranking
    };
    html! {
        section id="persistence" {
            h2 { "Most persistent anomalies over time" }
            @if rows.is_empty() { p { "None." } } @else {
                p { "Accumulator: +1 for an anomalous window, −1 for a quiet one." }
                table {
                    @for (moment, row) in &rows {
                        tr {
                            td { (time::format(*moment)) }
                            @for (accumulator, component) in top(row) {
                                td { b { (accumulator) } " " (session.roster.name(component)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn groups(session: &Session) -> Markup {
    html! {
        section id="groups" {
            h2 { "Who was compared with whom" }
            table {
                thead { tr { th { "peer group" } th { "members" } th { "" } } }
                @for (group, undecided) in session.roster.groups.iter().zip(&session.diagnosis.undecided_groups) {
                    tr {
                        td { (group.name) }
                        td { (group.members.len()) ": " (hosts::fold(group.members.iter().map(|&id| session.roster.name(id)))) }
                        td { @if let Some(known) = undecided { "undecided: " (known.reason) } @else { "decided" } }
                    }
                }
            }
        }
    }
}

/// The curve of what would have been named: the longer it lasts, the less is needed.
fn power(session: &Session) -> Markup {
    let power = &session.diagnosis.power;
    let curve = |group: GroupId| -> Vec<(f64, f64)> {
        let of_group = power.iter().filter(|seen| seen.group == group);
        of_group.map(|seen| (seen.seconds, seen.ratio)).collect()
    };
    let groups = session.roster.groups.ids().filter(|group| !curve(*group).is_empty());
    html! {
        @if !power.is_empty() {
            section id="power" {
                h2 { "What would have been seen" }
                p { "Slowness was put into this recording, in parts that work: above the curve at least four of five were named." }
                @for group in groups {
                    figure {
                        (chart::steps(&curve(group), |seconds| sentences::lasted(seconds as i64)))
                        figcaption { (session.roster.groups[group].name) }
                    }
                }
                ul { @for line in sentences::power(session) { li { (line) } } }
            }
        }
    }
}

fn gaps(session: &Session) -> Markup {
    const SHOWN: usize = 100;
    let gaps = sentences::gaps(&session.diagnosis);
    let more = gaps.len().saturating_sub(SHOWN) + session.diagnosis.more_gaps;
    html! {
        @if !gaps.is_empty() {
            section id="gaps" {
                h2 { "Times without samples" }
                table {
                    @for gap in gaps.iter().take(SHOWN) {
                        tr { td { (gap.names) } td { (time::format(gap.from)) } td { (time::format(gap.to)) } td { (gap.reason) } }
                    }
                }
                @if more > 0 { p { "… and " (more) " more." } }
            }
        }
    }
}

//! Localisation: the smallest set of parts that explains the components in trouble, from the topology.
//!
//! Lost attachments first: a LUN whose preferred attachment is silent or idle while another carries its load. Then what
//! is slow: a part is accused in place of its components where trouble is much denser behind it than elsewhere. Greedy:
//! the part that explains most comes first; what no part explains stands for itself.

use super::cause::{self, Cause};
use super::evidence::Episode;
use super::incident::Incident;
use super::untrained::Relation;
use crate::model::{Kind, Roster};
use std::collections::{BTreeMap, BTreeSet};

/// All but this share of a part's attachments lost: the part itself is down.
const ALL: f64 = 0.9;

/// A part is accused if at least this share of its components is in trouble ...
const DENSE: f64 = 0.1;

/// ... and trouble is so many times as frequent behind it as elsewhere.
const DENSER: f64 = 5.0;

/// Incidents from the components in trouble, worst first.
pub fn incidents(roster: &Roster, suspects: Vec<(usize, Episode)>) -> Vec<Incident> {
    let mut open: BTreeMap<usize, Episode> = suspects.into_iter().collect();
    let mut incidents = lost_attachments(roster, &mut open);
    while let Some((part, explained)) = densest_part(roster, &open) {
        let cause = shared_cause(roster, &part, &explained, &open);
        incidents.push(incident(part.1, part.0, cause, &explained, &mut open));
    }
    for component in open.keys().copied().collect::<Vec<_>>() {
        let known = &roster.components[component];
        let cause = cause::ranked(known.kind, &open[&component]);
        incidents.push(incident(known.name.clone(), known.kind, cause, &[component], &mut open));
    }
    incidents.sort_by(|a, b| b.impact.total_cmp(&a.impact).then_with(|| a.component.cmp(&b.component)));
    incidents
}

fn incident(
    component: String,
    kind: Kind,
    cause: Cause,
    explained: &[usize],
    open: &mut BTreeMap<usize, Episode>,
) -> Incident {
    let mut parts: Vec<(usize, Episode)> =
        explained.iter().filter_map(|id| Some((*id, open.remove(id)?))).collect();
    parts.sort_by(|a, b| b.1.impact().total_cmp(&a.1.impact()));
    let over = |value: fn(&Episode) -> f64| parts.iter().map(move |(_, episode)| value(episode));
    Incident {
        component,
        kind,
        cause,
        severity: over(Episode::severity).fold(0.0, f64::max),
        persistence: parts.iter().map(|(_, episode)| episode.persistence).max().unwrap_or(0),
        impact: over(Episode::impact).sum(),
        first_s: parts.iter().map(|(_, episode)| episode.first_s).min().unwrap_or(0),
        last_s: parts.iter().map(|(_, episode)| episode.last_s).max().unwrap_or(0),
        explains: parts.iter().map(|(id, _)| *id).collect(),
        worst: parts.first().map_or(0, |(id, _)| *id),
        episode: parts.into_iter().next().map(|(_, episode)| episode).unwrap_or_default(),
    }
}

fn gone(episode: &Episode) -> bool {
    episode.is_mostly(Relation::Silent) || episode.is_mostly(Relation::Idle)
}

/// LUNs that lost an attachment: which attachment, and all components that show it.
fn lost_luns(
    roster: &Roster,
    open: &BTreeMap<usize, Episode>,
) -> BTreeMap<String, (Option<usize>, Vec<usize>)> {
    let mut by_lun: BTreeMap<&String, Vec<(u32, usize)>> = BTreeMap::new();
    for (id, component) in roster.components.iter().enumerate() {
        if let Some((lun, priority)) = &component.attachment {
            by_lun.entry(lun).or_default().push((*priority, id));
        }
    }
    let is_gone = |id: usize| open.get(&id).is_some_and(gone);
    let loaded = |id: usize| open.get(&id).is_some_and(|episode| episode.is_mostly(Relation::High));
    let mut lost = BTreeMap::new();
    for (lun, mut attachments) in by_lun {
        attachments.sort_unstable();
        // The one that takes the load; all before it must be gone or have never been recorded. Where all are gone, one that nobody
        // recorded has it.
        let taker = attachments.iter().position(|&(priority, id)| priority > 1 && loaded(id));
        let before = &attachments[..taker.unwrap_or(attachments.len())];
        if before.iter().any(|&(_, id)| !is_gone(id)) || taker.is_none() && before.len() < 2 {
            continue;
        }
        let shown = before.iter().map(|&(_, id)| id).chain(taker.map(|taker| attachments[taker].1));
        lost.insert(lun.clone(), (before.first().map(|&(_, id)| id), shown.collect()));
    }
    lost
}

fn lost_attachments(roster: &Roster, open: &mut BTreeMap<usize, Episode>) -> Vec<Incident> {
    let mut lost = lost_luns(roster, open);
    let mut incidents = Vec::new();
    // Parts that all of whose preferred attachments are lost; the one that explains most first.
    let mut down: Vec<(Part, Vec<usize>)> = Vec::new();
    while let Some((part, luns)) = down_part(roster, &lost) {
        let mut explained: Vec<usize> =
            luns.iter().filter_map(|lun| lost.remove(lun)).flat_map(|(_, shown)| shown).collect();
        // What else went quiet with it: attachments that it held as a second choice.
        explained.extend(
            open.iter()
                .filter(|(id, episode)| roster.components[**id].parts.contains(&part) && gone(episode))
                .map(|(id, _)| *id),
        );
        down.push((part, explained));
    }
    for (part, explained) in together(roster, down, open) {
        let cause = if part.0 == Kind::Server { Cause::ServerDown } else { Cause::ControllerFailed };
        incidents.push(incident(part.1, part.0, cause, &explained, open));
    }
    // Otherwise misconfiguration or a bad state, gathered by the server that lost them.
    let mut by_server: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (lun, (preferred, shown)) in lost {
        let parts = preferred.map(|id| &roster.components[id].parts);
        let server = parts.and_then(|parts| parts.iter().find(|(kind, _)| *kind == Kind::Server));
        by_server.entry(server.map_or(lun, |(_, name)| name.clone())).or_default().extend(shown);
    }
    for (server, shown) in by_server {
        let alone = shown.len() <= 2;
        let (name, kind) = match shown.first() {
            Some(&id) if alone => (roster.components[id].name.clone(), Kind::Attachment),
            _ => (server, Kind::Server),
        };
        let mut found = incident(name, kind, Cause::LostAttachment, &shown, open);
        // The attachment that was lost speaks for the incident, not the one that took its load.
        found
            .explains
            .sort_by_key(|id| roster.components[*id].attachment.as_ref().map(|(_, priority)| *priority));
        incidents.push(found);
    }
    incidents
}

type Part = (Kind, String);

/// Servers that went at the same time behind one controller did not go by themselves: one of a pair of controllers failed, and
/// took the paths of its servers with it.
fn together(
    roster: &Roster,
    down: Vec<(Part, Vec<usize>)>,
    open: &BTreeMap<usize, Episode>,
) -> Vec<(Part, Vec<usize>)> {
    const SERVERS: usize = 3;
    const WITHIN_S: i64 = 3600;
    let controller = |explained: &[usize]| {
        let behind = explained.iter().flat_map(|&id| &roster.components[id].parts);
        let controllers: BTreeSet<&Part> = behind.filter(|(kind, _)| *kind == Kind::Controller).collect();
        controllers.first().filter(|_| controllers.len() == 1).map(|part| (*part).clone())
    };
    let since = |explained: &[usize]| {
        explained.iter().filter_map(|id| Some(open.get(id)?.first_s)).min().unwrap_or(0)
    };
    let mut found: Vec<(Part, Vec<usize>)> = Vec::new();
    let mut behind: BTreeMap<Part, Vec<(Part, Vec<usize>)>> = BTreeMap::new();
    for (part, explained) in down {
        match controller(&explained).filter(|_| part.0 == Kind::Server) {
            Some(controller) => behind.entry(controller).or_default().push((part, explained)),
            None => found.push((part, explained)),
        }
    }
    for (controller, servers) in behind {
        let times = servers.iter().map(|(_, explained)| since(explained));
        let at_once = times.clone().max().unwrap_or(0) - times.min().unwrap_or(0) <= WITHIN_S;
        if servers.len() >= SERVERS && at_once {
            found.push((controller, servers.into_iter().flat_map(|(_, explained)| explained).collect()));
        } else {
            found.extend(servers);
        }
    }
    found
}

/// A server or controller that has lost (nearly) all LUNs it should serve first.
fn down_part(
    roster: &Roster,
    lost: &BTreeMap<String, (Option<usize>, Vec<usize>)>,
) -> Option<(Part, Vec<String>)> {
    let mut served: BTreeMap<&Part, BTreeSet<&String>> = BTreeMap::new();
    for component in &roster.components {
        let Some((lun, 1)) = &component.attachment else { continue };
        for part in component.parts.iter().filter(|(kind, _)| matches!(kind, Kind::Server | Kind::Controller))
        {
            served.entry(part).or_default().insert(lun);
        }
    }
    let candidates = served.into_iter().filter_map(|(part, luns)| {
        let gone: Vec<String> =
            luns.iter().filter(|lun| lost.contains_key(**lun)).map(|lun| (*lun).clone()).collect();
        (gone.len() >= 2 && gone.len() as f64 >= ALL * luns.len() as f64).then(|| (part.clone(), gone))
    });
    // A controller with one server behind it: the server is the smaller claim.
    candidates.max_by_key(|((kind, _), gone)| (gone.len(), *kind == Kind::Server))
}

/// The part behind which trouble is dense, and what it explains.
fn densest_part(roster: &Roster, open: &BTreeMap<usize, Episode>) -> Option<(Part, Vec<usize>)> {
    let groups: BTreeSet<usize> = open.keys().map(|&id| roster.components[id].group).collect();
    // Only groups with trouble count: idle secondaries say nothing about the primaries' controller.
    let in_groups: Vec<usize> =
        groups.iter().flat_map(|&group| roster.groups[group].members.iter().copied()).collect();
    let mut behind: BTreeMap<&Part, Vec<usize>> = BTreeMap::new();
    for &id in &in_groups {
        for part in &roster.components[id].parts {
            behind.entry(part).or_default().push(id);
        }
    }
    let candidate = |(part, members): (&Part, Vec<usize>)| {
        let suspects: Vec<usize> = members.iter().copied().filter(|id| open.contains_key(id)).collect();
        let worst = suspects.iter().max_by(|a, b| open[a].impact().total_cmp(&open[b].impact()))?;
        let (from, to) = (open[worst].first_s, open[worst].last_s);
        let explained: Vec<usize> =
            suspects.into_iter().filter(|id| open[id].first_s <= to && open[id].last_s >= from).collect();
        let inside = explained.len() as f64 / members.len() as f64;
        let outside = (open.len() - explained.len()) as f64 / (in_groups.len() - members.len()).max(1) as f64;
        let several = explained.len() >= 3 || explained.len() == 2 && members.len() == 2;
        // With nothing outside to compare with, the whole group would be accused: that is no peer comparison.
        let comparable = members.len() < in_groups.len();
        (several && comparable && inside >= DENSE && inside >= DENSER * outside)
            .then(|| (part.clone(), explained, inside))
    };
    let best = behind.into_iter().filter_map(candidate).max_by(|a, b| {
        let (by_count, by_density) = (a.1.len().cmp(&b.1.len()), a.2.total_cmp(&b.2));
        by_count.then(by_density).then(b.0.0.cmp(&a.0.0))
    });
    best.map(|(part, explained, _)| (part, explained))
}

/// Why the components behind one part are in trouble together.
fn shared_cause(roster: &Roster, part: &Part, explained: &[usize], open: &BTreeMap<usize, Episode>) -> Cause {
    let mut votes: BTreeMap<Cause, usize> = BTreeMap::new();
    for id in explained {
        *votes.entry(cause::ranked(roster.components[*id].kind, &open[id])).or_default() += 1;
    }
    let jittery = explained
        .iter()
        .filter(|id| open[id].evidence.values().any(super::evidence::Evidence::jitters))
        .count();
    let most = votes.into_iter().max_by_key(|(_, count)| *count).map_or(Cause::Unknown, |(cause, _)| cause);
    let is_primary = |id: &usize| matches!(roster.components[*id].attachment, Some((_, 1)));
    match (part.0, most) {
        // Unused while its peers work, and nobody recorded where the load went: paths of a lower priority, perhaps.
        (_, Cause::Unknown) if explained.iter().all(|id| is_primary(id) && gone(&open[id])) => {
            Cause::LostAttachment
        }
        (Kind::Controller | Kind::Drawer, _) if 2 * jittery > explained.len() => Cause::DrawerError,
        (_, Cause::DiskBusy) => Cause::ComponentFault,
        (_, most) => most,
    }
}

#[cfg(test)]
mod tests;

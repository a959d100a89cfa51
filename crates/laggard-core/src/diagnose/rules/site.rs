//! Rules of all components in trouble and the topology: the smallest set of parts that explains them, and what could not be
//! judged.
//!
//! Lost attachments first: a LUN whose preferred attachment is silent or idle while another carries its load. Then what is slow:
//! a part is accused in place of its components where trouble is much denser behind it than elsewhere. Greedy: the part that
//! explains most comes first; what no part explains stands for itself.

use super::episode::{self, Named};
use super::{Bound, Numbers, Rule, Ruling, Scope, Step, Without};
use crate::compare::Method;
use crate::diagnose::case::Relation;
use crate::diagnose::cause::Cause;
use crate::diagnose::evidence::{Episode, Evidence};
use crate::diagnose::incident::{UndecidedGroup, UndecidedReason};
use crate::diagnose::persistence::Trouble;
use crate::grid::{FEWEST_PEERS, Params};
use crate::ids::{ComponentId, UnixSeconds};
use crate::model::groups::Component;
use crate::model::{Kind, Part, Roster};
use std::collections::{BTreeMap, BTreeSet};

/// A part is down where at least this share of the LUNs that it should serve first is lost ...
const DOWN_SHARE: Bound = Bound::new("min_lost", 0.9, "of its LUNs");
/// ... and at least so many.
const DOWN_LUNS: Bound = Bound::new("min_luns", 2.0, "LUNs");
/// Servers behind one controller that went down together ...
const MIN_SERVERS: Bound = Bound::new("min_servers", 3.0, "servers");
/// ... within this time ...
const TOGETHER_WITHIN: Bound = Bound::new("within", 3600.0, "s");
/// ... or fewer, at the same moment.
const FEWER_SERVERS: Bound = Bound::new("fewer_servers", 2.0, "servers");
/// Seconds that are the same moment, as well as windows can tell.
const AT_ONCE: Bound = Bound::new("at_once", 300.0, "s");
/// Attachments of a LUN that are unused, where none was recorded that carries its load.
const MIN_UNUSED: Bound = Bound::new("min_unused", 2.0, "attachments");
/// With no more attachments than this the attachment itself is named, with more its server.
const MAX_ALONE: Bound = Bound::new("max_alone", 2.0, "attachments");
/// A part is accused if at least this share of its components is in trouble ...
const MIN_DENSITY: Bound = Bound::new("min_density", 0.1, "of its components");
/// ... trouble is so many times as frequent behind it as elsewhere ...
const MIN_DENSITY_RATIO: Bound = Bound::new("min_density_ratio", 5.0, "times the density elsewhere");
/// ... and so many components are, or both of two.
const MIN_COMPONENTS: Bound = Bound::new("min_components", 3.0, "components");
/// A component jitters beyond this coefficient of variation ...
const MIN_VARIATION: Bound = Bound::new("min_variation", 0.25, "of the mean");
/// ... and this many times its peers'.
const MIN_VARIATION_RATIO: Bound = Bound::new("min_variation_ratio", 2.0, "times the peers'");
/// Share of the components behind a controller or drawer that jitter.
const MIN_JITTERY: Bound = Bound::new("min_jittery", 0.5, "of its components");
/// Members that a comparison needs.
const MIN_PEERS: Bound = Bound::new("min_peers", FEWEST_PEERS as f64, "members");

/// Site rules, in the order in which they are asked.
pub static RULES: &[Rule] = &[
    Rule {
        id: "part-down",
        scope: Scope::Site,
        sentence: "A server or controller that has lost nearly all LUNs that it should serve first is down.",
        clause: "{lost} of {luns} LUNs lost",
        origin: "LISA'13, section 5.2.1",
        bounds: &[DOWN_SHARE, DOWN_LUNS],
        ruling: Ruling::Explains,
        step: Step::Part(parts_down),
    },
    Rule {
        id: "controller-of-servers",
        scope: Scope::Site,
        sentence: "Servers that went down at one time behind one controller did not go by themselves: one of a pair of controllers failed.",
        clause: "{servers} servers within {seconds} s",
        origin: "LISA'13, table 4",
        bounds: &[MIN_SERVERS, TOGETHER_WITHIN, FEWER_SERVERS, AT_ONCE],
        ruling: Ruling::Explains,
        step: Step::Together(controller_of_servers),
    },
    Rule {
        id: "lost-attachment",
        scope: Scope::Site,
        sentence: "A LUN whose preferred attachments are silent or idle while another carries its load has lost them.",
        clause: "{components} attachments show it",
        origin: "LISA'13, section 5.2.1, table 5",
        bounds: &[MIN_UNUSED, MAX_ALONE],
        ruling: Ruling::Explains,
        step: Step::Part(lost_attachments),
    },
    Rule {
        id: "dense-part",
        scope: Scope::Site,
        sentence: "A part behind which trouble is much denser than elsewhere explains its components.",
        clause: "{explained} of {components} components in trouble, {density_ratio} times the density elsewhere",
        origin: "LISA'13, sections 5.2.2 and 7",
        bounds: &[MIN_DENSITY, MIN_DENSITY_RATIO, MIN_COMPONENTS],
        ruling: Ruling::Explains,
        step: Step::Part(dense_part),
    },
    Rule {
        id: "alone",
        scope: Scope::Site,
        sentence: "A component in trouble that no part explains stands for itself.",
        clause: "no other part explains it",
        origin: "LISA'13, section 5.2.3",
        bounds: &[],
        ruling: Ruling::Explains,
        step: Step::Part(alone),
    },
    Rule {
        id: "unused-paths",
        scope: Scope::Site,
        sentence: "Preferred attachments that are unused while their peers work are lost, also where the paths that took the load were not recorded.",
        clause: "all preferred attachments are silent or idle",
        origin: "LISA'13, section 5.2.1",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::LostAttachment)),
        step: Step::SharedCause(unused_paths),
    },
    Rule {
        id: "drawer-jitter",
        scope: Scope::Site,
        sentence: "Many LUNs of one controller or drawer that jitter together have errors in a drawer.",
        clause: "most of them jitter",
        origin: "LISA'13, section 5.2.2",
        bounds: &[MIN_JITTERY, MIN_VARIATION, MIN_VARIATION_RATIO],
        ruling: Ruling::Indicts(Some(Cause::DrawerError)),
        step: Step::SharedCause(drawer_jitter),
    },
    Rule {
        id: "part-fault",
        scope: Scope::Site,
        sentence: "Components that are slow together behind one part have no busy disk each: the part has a fault.",
        clause: "most of them are slow",
        origin: "LISA'13, section 7",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::ComponentFault)),
        step: Step::SharedCause(part_fault),
    },
    Rule {
        id: "majority",
        scope: Scope::Site,
        sentence: "A part has the cause that most of its components have.",
        clause: "most of them have it",
        origin: "LISA'13, section 7",
        bounds: &[],
        ruling: Ruling::Explains,
        step: Step::SharedCause(majority),
    },
    Rule {
        id: "few-peers",
        scope: Scope::Site,
        sentence: "A group of one or two members cannot be judged.",
        clause: "too few members",
        origin: "FAST'10, section 2",
        bounds: &[MIN_PEERS],
        ruling: Ruling::Undecided,
        step: Step::Judged(few_peers),
    },
    Rule {
        id: "nothing-compared",
        scope: Scope::Site,
        sentence: "A group in which no metric is compared cannot be judged.",
        clause: "none of its metrics is compared",
        origin: "FAST'10, section 7",
        bounds: &[],
        ruling: Ruling::Undecided,
        step: Step::Judged(nothing_compared),
    },
    Rule {
        id: "few-windows",
        scope: Scope::Site,
        sentence: "A group with fewer windows than the filter needs cannot be judged.",
        clause: "too few windows",
        origin: "FAST'10, section 10.1",
        bounds: &[],
        ruling: Ruling::Undecided,
        step: Step::Judged(few_windows),
    },
    Rule {
        id: "no-data",
        scope: Scope::Site,
        sentence: "A component without any window of its own cannot be judged.",
        clause: "no window with its data",
        origin: "LISA'13, section 6",
        bounds: &[],
        ruling: Ruling::Undecided,
        step: Step::HasData(no_data),
    },
];

/// The metric of a group that was judged most often.
#[derive(Debug, Clone, Copy)]
pub struct MostJudged {
    /// Windows that could be decided.
    pub windows: u64,
    /// By which method ...
    pub method: &'static Method,
    /// ... and with which parameters.
    pub params: Params,
}

/// What is known of a group when the question is whether it can be judged.
pub struct GroupState {
    /// Its members.
    pub members: usize,
    /// None if no metric is compared.
    pub most_judged: Option<MostJudged>,
}

fn few_peers(group: &GroupState) -> Option<UndecidedReason> {
    let members = group.members;
    (members < FEWEST_PEERS).then_some(UndecidedReason::FewPeers { members })
}

fn nothing_compared(group: &GroupState) -> Option<UndecidedReason> {
    group.most_judged.is_none().then_some(UndecidedReason::NothingCompared)
}

fn few_windows(group: &GroupState) -> Option<UndecidedReason> {
    let MostJudged { windows, method, params } = group.most_judged?;
    let needed_s = params.least_s();
    (windows < params.k as u64).then_some(UndecidedReason::FewWindows { windows, method, needed_s })
}

fn no_data(windows: u64) -> Option<UndecidedReason> {
    (windows == 0).then_some(UndecidedReason::NoData)
}

/// Why a component with so many windows cannot be judged, if so.
pub fn undecided_component(windows: u64, without: &Without) -> Option<UndecidedReason> {
    RULES.iter().filter(|rule| without.asks(rule)).find_map(|rule| {
        let Step::HasData(speaks) = rule.step else { return None };
        speaks(windows)
    })
}

/// Why a group cannot be judged, if so, and the rule that says it.
pub fn undecided(group: &GroupState, without: &Without) -> Option<UndecidedGroup> {
    RULES.iter().filter(|rule| without.asks(rule)).find_map(|rule| {
        let Step::Judged(speaks) = rule.step else { return None };
        Some(UndecidedGroup { reason: speaks(group)?, rule })
    })
}

/// A trouble among all that are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TroubleId(usize);

/// A part that explains components in trouble.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The part.
    pub part: Part,
    /// Why it limps; none if the components' own causes say it.
    pub cause: Option<Cause>,
    /// What it explains.
    pub explained: Vec<TroubleId>,
    /// What the claim rests upon.
    pub numbers: Numbers,
    /// Whether it was made of the claims of several parts.
    pub is_merged: bool,
}

/// A LUN that lost its attachments, at one time.
#[derive(Debug)]
struct LostLun {
    lun: String,
    /// The attachment that should serve it, if it was recorded.
    preferred: Option<ComponentId>,
    /// All troubles that show the loss.
    shown: Vec<TroubleId>,
    /// When it was lost.
    since: UnixSeconds,
}

/// Everything in trouble that no part explains yet.
pub struct Site<'a> {
    roster: &'a Roster,
    without: &'a Without,
    open: BTreeMap<TroubleId, Trouble>,
    /// Components that only have more to do than their peers.
    loads: BTreeMap<TroubleId, Trouble>,
    lost: Vec<LostLun>,
}

/// A claim that was accepted, with the troubles that it explains, worst first.
pub struct Explained {
    /// The rule that made it.
    pub rule: &'static Rule,
    /// The part and its numbers.
    pub claim: Claim,
    /// Why it limps.
    pub named: Named,
    /// What it explains.
    pub troubles: Vec<Trouble>,
}

/// The parts that explain the components in trouble, then those that explain loads.
pub fn explain(roster: &Roster, troubles: Vec<Trouble>, without: &Without) -> Vec<Explained> {
    let numbered = troubles.into_iter().enumerate().map(|(index, trouble)| (TroubleId(index), trouble));
    let (loads, open): (BTreeMap<_, _>, BTreeMap<_, _>) = numbered.partition(|(_, trouble)| trouble.is_load);
    let mut site = Site { roster, without, open, loads, lost: Vec::new() };
    site.lost = lost_luns(&site);
    let mut explained = site.claims();
    // What is left of the loads is told, too, by the same parts.
    site.open =
        std::mem::take(&mut site.loads).into_iter().filter(|(_, load)| episode::is_told(load)).collect();
    explained.extend(site.claims());
    explained
}

impl Site<'_> {
    /// Asks the rules for parts until nothing is open.
    fn claims(&mut self) -> Vec<Explained> {
        let mut explained = Vec::new();
        for rule in RULES.iter().filter(|rule| self.without.asks(rule)) {
            let Step::Part(claims) = rule.step else { continue };
            loop {
                let mut found = claims(self);
                let open = self.open.len();
                if found.is_empty() {
                    break;
                }
                let mut merged_by = rule;
                for together in RULES.iter().filter(|rule| self.without.asks(rule)) {
                    if let Step::Together(merge) = together.step {
                        (found, merged_by) = (merge(self, found), together);
                    }
                }
                for claim in found {
                    let rule = if claim.is_merged { merged_by } else { rule };
                    explained.push(self.settle(rule, claim));
                }
                if self.open.len() == open {
                    // Claims that explain nothing would come again and again.
                    break;
                }
            }
        }
        explained
    }

    fn trouble(&self, id: TroubleId) -> Option<&Trouble> {
        self.open.get(&id).or_else(|| self.loads.get(&id))
    }

    fn component(&self, trouble: &Trouble) -> &Component {
        &self.roster.components[trouble.component]
    }

    /// Takes what a claim explains out of the open trouble.
    fn settle(&mut self, rule: &'static Rule, claim: Claim) -> Explained {
        let own = claim.explained.first().filter(|_| claim.explained.len() == 1);
        let named = match (claim.cause, own.and_then(|id| self.open.get(id))) {
            (Some(cause), _) => Named { cause, spoken: Vec::new() },
            (None, Some(trouble)) => self.own_cause(trouble),
            (None, None) => self.shared_cause(&claim),
        };
        let mut take = |id: &TroubleId| self.open.remove(id).or_else(|| self.loads.remove(id));
        let mut troubles: Vec<Trouble> = claim.explained.iter().filter_map(&mut take).collect();
        troubles.sort_by(|a, b| b.episode.impact().total_cmp(&a.episode.impact()));
        Explained { rule, claim, named, troubles }
    }

    fn own_cause(&self, trouble: &Trouble) -> Named {
        episode::cause(self.component(trouble).kind, trouble, self.without)
    }

    /// Why the components behind one part are in trouble together.
    fn shared_cause(&self, claim: &Claim) -> Named {
        let explained: Vec<&Trouble> = claim.explained.iter().filter_map(|id| self.open.get(id)).collect();
        let mut votes: BTreeMap<Cause, usize> = BTreeMap::new();
        for trouble in &explained {
            *votes.entry(self.own_cause(trouble).cause).or_default() += 1;
        }
        let most = votes.into_iter().max_by_key(|(_, count)| *count);
        let is_jittery = |trouble: &&&Trouble| trouble.episode.evidence.values().any(Evidence::jitters);
        let is_preferred = |trouble: &Trouble| {
            self.component(trouble).attachment.as_ref().is_some_and(|known| known.priority == 1)
        };
        let shared = SharedTrouble {
            kind: claim.part.kind,
            most: most.map_or(Cause::Unknown, |(cause, _)| cause),
            components: explained.len(),
            jittery: explained.iter().filter(is_jittery).count(),
            is_unused: explained.iter().all(|trouble| is_preferred(trouble) && is_unused(&trouble.episode)),
        };
        let speaks = |rule: &'static Rule| {
            let Step::SharedCause(speaks) = rule.step else { return None };
            let spoken = episode::Spoken { rule, metric: None, numbers: Numbers::NONE };
            Some(Named { cause: speaks(&shared)?, spoken: vec![spoken] })
        };
        let found = RULES.iter().filter(|rule| self.without.asks(rule)).find_map(speaks);
        found.unwrap_or(Named { cause: Cause::Unknown, spoken: Vec::new() })
    }
}

/// The trouble of several components behind one part.
pub struct SharedTrouble {
    kind: Kind,
    /// The cause that most of them have.
    most: Cause,
    components: usize,
    jittery: usize,
    /// Whether all are preferred attachments that are silent or idle.
    is_unused: bool,
}

fn unused_paths(shared: &SharedTrouble) -> Option<Cause> {
    (shared.most == Cause::Unknown && shared.is_unused).then_some(Cause::LostAttachment)
}

fn drawer_jitter(shared: &SharedTrouble) -> Option<Cause> {
    let is_enclosure = match shared.kind {
        Kind::Controller | Kind::Drawer => true,
        Kind::Server | Kind::Lun | Kind::Attachment | Kind::Device => false,
    };
    let share = shared.jittery as f64 / shared.components as f64;
    (is_enclosure && share > MIN_JITTERY.value).then_some(Cause::DrawerError)
}

/// Whether a component jitters and its peers do not.
pub fn jitters(variation: f64, peers: f64) -> bool {
    variation > MIN_VARIATION.value && variation > MIN_VARIATION_RATIO.value * peers
}

fn part_fault(shared: &SharedTrouble) -> Option<Cause> {
    matches!(shared.most, Cause::DiskBusy | Cause::DiskStall | Cause::FailSlow)
        .then_some(Cause::ComponentFault)
}

fn majority(shared: &SharedTrouble) -> Option<Cause> {
    Some(shared.most)
}

/// Whether an attachment carries no load any more.
fn is_unused(episode: &Episode) -> bool {
    episode.is_mostly(Relation::Silent) || episode.is_mostly(Relation::Idle)
}

/// LUNs that lost an attachment.
fn lost_luns(site: &Site) -> Vec<LostLun> {
    let mut by_lun: BTreeMap<&String, Vec<(u32, ComponentId)>> = BTreeMap::new();
    for (id, component) in site.roster.components.enumerate() {
        if let Some(attachment) = &component.attachment {
            by_lun.entry(&attachment.lun).or_default().push((attachment.priority, id));
        }
    }
    let mut of_component: BTreeMap<ComponentId, Vec<TroubleId>> = BTreeMap::new();
    for (id, trouble) in site.open.iter().chain(&site.loads) {
        of_component.entry(trouble.component).or_default().push(*id);
    }
    let mut lost = Vec::new();
    for (lun, mut attachments) in by_lun {
        attachments.sort_unstable();
        let troubles = |component: ComponentId| {
            let known = of_component.get(&component).map_or(&[][..], Vec::as_slice);
            known.iter().filter_map(|id| Some((*id, site.trouble(*id)?)))
        };
        // Each time in which the first of them is unused; without it, each time in which another has a load.
        let Some(&(priority, first)) = attachments.first() else { continue };
        let is_preferred = priority == 1;
        let times: Vec<(TroubleId, &Trouble)> = troubles(first)
            .filter(|(_, trouble)| match is_preferred {
                true => !trouble.is_load && is_unused(&trouble.episode),
                false => is_unused(&trouble.episode) || is_loaded(trouble),
            })
            .collect();
        for (id, time) in times {
            let at_that_time = |component: ComponentId, is_wanted: &dyn Fn(&Trouble) -> bool| {
                let mut found = troubles(component)
                    .filter(|(_, trouble)| is_wanted(trouble) && trouble.episode.overlaps(&time.episode));
                found.next().map(|(id, _)| id)
            };
            let unused = |component: ComponentId| {
                at_that_time(component, &|trouble| !trouble.is_load && is_unused(&trouble.episode))
            };
            let loaded = |component: ComponentId| at_that_time(component, &is_loaded);
            // The one that takes the load; all before it must be unused or have never been recorded. Where all are unused, one that was
            // not recorded has it.
            let taker = attachments.iter().position(|&(priority, id)| priority > 1 && loaded(id).is_some());
            let before = &attachments[..taker.unwrap_or(attachments.len())];
            let is_seen_by_one = taker.is_none() && (before.len() as f64) < MIN_UNUSED.value;
            let shown: Option<Vec<TroubleId>> = before.iter().map(|&(_, id)| unused(id)).collect();
            let Some(mut shown) = shown.filter(|_| !is_seen_by_one) else { continue };
            shown.extend(taker.and_then(|taker| loaded(attachments[taker].1)));
            if !shown.contains(&id) {
                continue;
            }
            let preferred = before.first().map(|&(_, id)| id);
            lost.push(LostLun { lun: lun.clone(), preferred, shown, since: time.episode.first });
        }
    }
    lost.sort_by_key(|lost| lost.since);
    lost
}

/// Whether a component has more to do than its peers.
fn is_loaded(trouble: &Trouble) -> bool {
    trouble.episode.is_mostly(Relation::High)
}

/// Parts all of whose preferred attachments are lost at one time; the one that explains most first.
fn parts_down(site: &mut Site) -> Vec<Claim> {
    let mut down = Vec::new();
    while let Some(found) = part_down(site) {
        let mut explained: Vec<TroubleId> = Vec::new();
        site.lost.retain(|lost| {
            let is_found = found.luns.contains(&lost.lun) && found.since.contains(&lost.since);
            explained.extend(lost.shown.iter().filter(|_| is_found));
            !is_found
        });
        // What else went quiet with it: attachments that it held as a second choice.
        let seen: Vec<&Trouble> = explained.iter().filter_map(|id| site.open.get(id)).collect();
        let (from, to) = (
            seen.iter().map(|seen| seen.episode.first).min(),
            seen.iter().map(|seen| seen.episode.last).max(),
        );
        let quiet = site.open.iter().filter(|(_, trouble)| {
            let is_then = from.is_some_and(|from| trouble.episode.last >= from)
                && to.is_some_and(|to| trouble.episode.first <= to);
            is_then && site.component(trouble).parts.contains(&found.part) && is_unused(&trouble.episode)
        });
        explained.extend(quiet.map(|(id, _)| *id));
        explained.sort_unstable();
        explained.dedup();
        let cause = if found.part.kind == Kind::Server { Cause::ServerDown } else { Cause::ControllerFailed };
        let numbers = Numbers::of(&[("lost", found.luns.len() as f64), ("luns", found.served as f64)]);
        down.push(Claim { part: found.part, cause: Some(cause), explained, numbers, is_merged: false });
    }
    down
}

/// A part and the LUNs that it lost at one time.
struct Down {
    part: Part,
    luns: BTreeSet<String>,
    since: std::ops::RangeInclusive<UnixSeconds>,
    /// LUNs that it should serve first.
    served: usize,
}

/// A server or controller that has lost (nearly) all LUNs it should serve first.
fn part_down(site: &Site) -> Option<Down> {
    let mut served: BTreeMap<&Part, BTreeSet<&String>> = BTreeMap::new();
    for component in &site.roster.components {
        let Some(attachment) = component.attachment.as_ref().filter(|known| known.priority == 1) else {
            continue;
        };
        let parts = component.parts.iter();
        for part in parts.filter(|part| matches!(part.kind, Kind::Server | Kind::Controller)) {
            served.entry(part).or_default().insert(&attachment.lun);
        }
    }
    let candidates =
        served.into_iter().filter_map(|(part, luns)| {
            let lost: Vec<&LostLun> = site.lost.iter().filter(|lost| luns.contains(&lost.lun)).collect();
            // Lost one soon after the other, in the order of time.
            let times = lost.chunk_by(|a, b| b.since.since(a.since) as f64 <= TOGETHER_WITHIN.value);
            let down =
                times.filter_map(|lost| {
                    let names: BTreeSet<String> = lost.iter().map(|lost| lost.lun.clone()).collect();
                    let count = names.len() as f64;
                    let since = lost.first()?.since..=lost.last()?.since;
                    (count >= DOWN_LUNS.value && count >= DOWN_SHARE.value * luns.len() as f64)
                        .then(|| Down { part: part.clone(), luns: names, since, served: luns.len() })
                });
            down.max_by_key(|down| down.luns.len())
        });
    // A controller with one server behind it: the server is the smaller claim.
    candidates.max_by_key(|down| (down.luns.len(), down.part.kind == Kind::Server))
}

fn controller_of_servers(site: &Site, claims: Vec<Claim>) -> Vec<Claim> {
    let controller = |claim: &Claim| {
        let explained = claim.explained.iter().filter_map(|id| site.trouble(*id));
        let parts = explained.flat_map(|trouble| &site.component(trouble).parts);
        let controllers: BTreeSet<&Part> = parts.filter(|part| part.kind == Kind::Controller).collect();
        controllers.first().filter(|_| controllers.len() == 1).map(|part| (*part).clone())
    };
    let since = |claim: &Claim| {
        let first = claim.explained.iter().filter_map(|id| Some(site.open.get(id)?.episode.first));
        first.min().unwrap_or_default()
    };
    let mut found: Vec<Claim> = Vec::new();
    let mut behind: BTreeMap<Part, Vec<Claim>> = BTreeMap::new();
    for claim in claims {
        match controller(&claim).filter(|_| claim.cause == Some(Cause::ServerDown)) {
            Some(controller) => behind.entry(controller).or_default().push(claim),
            None => found.push(claim),
        }
    }
    for (controller, servers) in behind {
        let times = servers.iter().map(&since);
        let first: UnixSeconds = times.clone().min().unwrap_or_default();
        let within_s = times.max().unwrap_or_default().since(first) as f64;
        let count = servers.len() as f64;
        let is_soon = count >= MIN_SERVERS.value && within_s <= TOGETHER_WITHIN.value;
        let is_at_once = count >= FEWER_SERVERS.value && within_s <= AT_ONCE.value;
        if is_soon || is_at_once {
            let numbers = Numbers::of(&[("servers", count), ("seconds", within_s)]);
            let explained = servers.into_iter().flat_map(|claim| claim.explained).collect();
            let cause = Some(Cause::ControllerFailed);
            found.push(Claim { part: controller, cause, explained, numbers, is_merged: true });
        } else {
            found.extend(servers);
        }
    }
    found
}

/// Misconfiguration or a bad state, gathered by the server that lost the LUNs.
fn lost_attachments(site: &mut Site) -> Vec<Claim> {
    let mut by_server: BTreeMap<String, Vec<LostLun>> = BTreeMap::new();
    for lost in std::mem::take(&mut site.lost) {
        let server = lost.preferred.and_then(|id| site.roster.components[id].part(Kind::Server));
        by_server.entry(server.unwrap_or(&lost.lun).into()).or_default().push(lost);
    }
    let mut claims = Vec::new();
    for (server, lost) in by_server {
        // Lost one soon after the other, in the order of time.
        for lost in lost.chunk_by(|a, b| b.since.since(a.since) as f64 <= TOGETHER_WITHIN.value) {
            let shown: Vec<TroubleId> = lost.iter().flat_map(|lost| lost.shown.iter().copied()).collect();
            let is_alone = shown.len() as f64 <= MAX_ALONE.value;
            let part = match shown.first().and_then(|id| site.trouble(*id)) {
                Some(trouble) if is_alone => Part::new(Kind::Attachment, &site.component(trouble).name),
                _ => Part::new(Kind::Server, &server),
            };
            let numbers = Numbers::of(&[("components", shown.len() as f64)]);
            let cause = Some(Cause::LostAttachment);
            claims.push(Claim { part, cause, explained: shown, numbers, is_merged: false });
        }
    }
    claims
}

/// A part behind which trouble is dense, and what it explains.
struct Dense {
    part: Part,
    explained: Vec<TroubleId>,
    components: usize,
    /// Share of its components that is in trouble, and of all others at that time.
    inside: f64,
    outside: f64,
}

fn dense_part(site: &mut Site) -> Vec<Claim> {
    let (roster, open) = (site.roster, &site.open);
    let groups: BTreeSet<_> = open.values().map(|trouble| site.component(trouble).group).collect();
    // Only groups with trouble count: idle secondaries say nothing about the primaries' controller.
    let in_groups: Vec<ComponentId> =
        groups.iter().flat_map(|&group| roster.groups[group].members.iter().copied()).collect();
    let mut behind: BTreeMap<&Part, Vec<ComponentId>> = BTreeMap::new();
    for &id in &in_groups {
        for part in &roster.components[id].parts {
            behind.entry(part).or_default().push(id);
        }
    }
    let mut by_part: BTreeMap<&Part, Vec<TroubleId>> = BTreeMap::new();
    for (id, trouble) in open {
        for part in &site.component(trouble).parts {
            by_part.entry(part).or_default().push(*id);
        }
    }
    let candidate = |(part, suspects): (&Part, &Vec<TroubleId>)| {
        let members = &behind[part];
        let worst =
            suspects.iter().max_by(|a, b| open[a].episode.impact().total_cmp(&open[b].episode.impact()))?;
        let time = &open[worst].episode;
        // Trouble of another kind, or at another time, is another trouble.
        let is_then =
            |trouble: &Trouble| trouble.episode.domain == time.domain && trouble.episode.overlaps(time);
        let explained: Vec<TroubleId> = suspects.iter().copied().filter(|id| is_then(&open[id])).collect();
        let count = |ids: &mut dyn Iterator<Item = ComponentId>| ids.collect::<BTreeSet<_>>().len() as f64;
        let inside_count = count(&mut explained.iter().map(|id| open[id].component));
        let all_count =
            count(&mut open.values().filter(|trouble| is_then(trouble)).map(|trouble| trouble.component));
        let inside = inside_count / members.len() as f64;
        let outside = (all_count - inside_count) / (in_groups.len() - members.len()).max(1) as f64;
        let is_several = inside_count >= MIN_COMPONENTS.value || inside_count == 2.0 && members.len() == 2;
        // With nothing outside to compare with, the whole group would be accused: that is no peer comparison.
        let is_comparable = members.len() < in_groups.len();
        let is_dense = inside >= MIN_DENSITY.value && inside >= MIN_DENSITY_RATIO.value * outside;
        (is_several && is_comparable && is_dense).then(|| Dense {
            part: part.clone(),
            explained,
            components: members.len(),
            inside,
            outside,
        })
    };
    let best = by_part.iter().filter_map(|(part, suspects)| candidate((part, suspects))).max_by(|a, b| {
        let by_count = a.explained.len().cmp(&b.explained.len());
        by_count.then(a.inside.total_cmp(&b.inside)).then(b.part.kind.cmp(&a.part.kind))
    });
    let claim = |dense: Dense| Claim {
        numbers: Numbers::of(&[
            ("explained", dense.explained.len() as f64),
            ("components", dense.components as f64),
            ("density_ratio", dense.inside / dense.outside),
        ]),
        part: dense.part,
        cause: None,
        explained: dense.explained,
        is_merged: false,
    };
    best.map(claim).into_iter().collect()
}

fn alone(site: &mut Site) -> Vec<Claim> {
    let claim = |(id, trouble): (&TroubleId, &Trouble)| {
        let known = site.component(trouble);
        let part = Part::new(known.kind, &known.name);
        Claim { part, cause: None, explained: vec![*id], numbers: Numbers::NONE, is_merged: false }
    };
    site.open.iter().map(claim).collect()
}

#[cfg(test)]
mod tests;

//! Rules of all components in trouble and the topology: the smallest set of parts that explains them, and what could not be
//! judged.
//!
//! Lost attachments first: a LUN whose preferred attachment is silent or idle while another carries its load. Then what is slow:
//! a part is accused in place of its components where trouble is much denser behind it than elsewhere. Greedy: the part that
//! explains most comes first; what no part explains stands for itself.

mod judged;
mod parts;

use super::episode::{self, Named, Spoken};
use super::{Bound, Numbers, Rule, Ruling, Scope, Step, Without};
use crate::compare::Method;
use crate::diagnose::bound::{HALF, QUARTER, SEVERAL, TENTH, TWICE};
use crate::diagnose::budget::power::{MIN_FOUND, MIN_TRIED};
use crate::diagnose::case::Relation;
use crate::diagnose::cause::Cause;
use crate::diagnose::evidence::{Episode, Evidence};
use crate::diagnose::incident::{Excused, Undecided, UndecidedReason};
use crate::diagnose::ledger::{NEW_DIRECTION, NO_DIRECTION};
use crate::diagnose::persistence::{OVER_AFTER, Trouble};
use crate::grid::{FEWEST_PEERS, Params};
use crate::ids::{ComponentId, UnixSeconds};
use crate::model::groups::Component;
use crate::model::metric::{Domain, Role};
use crate::model::{Kind, Metric, Part, Roster};
pub use judged::{
    ComponentWindows, Coverage, GroupCoverage, GroupState, MostJudged, Sight, no_all_clear, undecided,
    undecided_component,
};
use judged::{
    blind, few_peers, few_windows, incomplete_input, input_lost, late_samples, mostly_partial,
    mostly_unclear, mostly_uncompared, no_data, not_all_judged, not_all_recorded, nothing_compared,
};
use parts::{
    alone, controller_of_servers, controllers_failed, dense_part, host_explains, is_unused, lost_attachments,
    lost_luns, one_job, one_moment, reopened, servers_down,
};
use std::collections::{BTreeMap, BTreeSet};

/// A part is down where at least this share of the LUNs that it should serve first is lost ...
const DOWN_SHARE: Bound = Bound::new("min_lost", 1.0 - TENTH, "of its LUNs");
/// ... and at least so many.
const DOWN_LUNS: Bound = Bound::new("min_luns", SEVERAL, "LUNs");
/// Servers behind one controller that went down together ...
const MIN_SERVERS: Bound = Bound::new("min_servers", FEWEST_PEERS as f64, "servers");
/// ... within this time ...
const TOGETHER_WITHIN: Bound = Bound::new("within", 3600.0, "s");
/// ... or fewer, at the same moment.
const FEWER_SERVERS: Bound = Bound::new("fewer_servers", SEVERAL, "servers");
/// Seconds that are the same moment, as well as windows can tell.
const AT_ONCE: Bound = Bound::new("at_once", 300.0, "s");
/// Attachments of a LUN that are unused, where none was recorded that carries its load.
const MIN_UNUSED: Bound = Bound::new("min_unused", SEVERAL, "attachments");
/// With no more attachments than this the attachment itself is named, with more its server.
const MAX_ALONE: Bound = Bound::new("max_alone", SEVERAL, "attachments");
/// A part is accused if at least this share of its components is in trouble ...
const MIN_DENSITY: Bound = Bound::new("min_density", TENTH, "of its components");
/// ... trouble is so many times as frequent behind it as elsewhere ...
const MIN_DENSITY_RATIO: Bound = Bound::new("min_density_ratio", 5.0, "times the density elsewhere");
/// ... and so many components are, or both of two.
const MIN_COMPONENTS: Bound = Bound::new("min_components", FEWEST_PEERS as f64, "components");
/// Share of the windows in which it cannot be said whether a component is slow, so that nothing is said of it.
const MIN_UNCLEAR: Bound = Bound::new("min_unclear", HALF, "of its windows");
/// Share of the recording for which too few members of a group may have samples at a time.
const MAX_UNCOMPARED: Bound = Bound::new("max_uncompared", TENTH, "of the recording");
/// Share of the samples that may come too late for an all-clear.
const MAX_LATE: Bound = Bound::new("max_late", TENTH, "of the samples");
/// Share of a group that must have been judged for an all-clear.
const MIN_JUDGED: Bound = Bound::new("min_judged", HALF, "of a group");
/// A component jitters beyond this coefficient of variation ...
const MIN_VARIATION: Bound = Bound::new("min_variation", QUARTER, "of the mean");
/// ... and this many times its peers'.
const MIN_VARIATION_RATIO: Bound = Bound::new("min_variation_ratio", TWICE, "times the peers'");
/// Share of its windows in which a component jitters that is jittery.
const MIN_JITTERY_WINDOWS: Bound = Bound::new("min_jittery_windows", HALF, "of its windows");
/// Share of the components behind a controller or drawer that jitter.
const MIN_JITTERY: Bound = Bound::new("min_jittery", HALF, "of its components");
/// A part with so few components is in trouble if all are.
const ALL_OF_FEW: Bound = Bound::new("all_of_few", SEVERAL, "components");
/// A job touches so many parts.
const MIN_PARTS: Bound = Bound::new("min_parts", SEVERAL, "parts");
/// Share of the servers that are slow at one moment that must have more to do than their peers.
const MIN_LOADED: Bound = Bound::new("min_loaded", QUARTER, "of them");
/// A trouble that comes again within this is the same one.
const REOPENED_WITHIN: Bound = Bound::new("reopened_within", 86_400.0, "s");
/// Times what the same work cost a group before ...
pub const MIN_GROUP_RATIO: Bound = Bound::new("min_group_ratio", TWICE, "times its own past");
/// ... with so much of the time lost by the median member ...
const MIN_GROUP_LOST: Bound = Bound::new("min_group_lost", TENTH, "of the time");
/// ... and work that it had before: requests of no other size, in no direction that is new.
const MAX_GROUP_UNLIKE: Bound = Bound::new("max_group_unlike", TWICE, "times larger or smaller requests");
/// Members that a comparison needs.
const MIN_PEERS: Bound = Bound::new("min_peers", FEWEST_PEERS as f64, "members");

/// Site rules, in the order in which they are asked within a step. Steps are asked in the order parts, together, shared cause, told; and
/// groups, components and the all-clear by themselves.
pub static RULES: &[Rule] = &[
    Rule {
        id: "server-down",
        scope: Scope::Site,
        sentence: "A server that has lost nearly all LUNs that it should serve first is down.",
        clause: "{lost} of {luns} LUNs lost",
        origin: "LISA'13, section 5.2.1",
        bounds: &[DOWN_SHARE, DOWN_LUNS, TOGETHER_WITHIN, MIN_UNUSED],
        ruling: Ruling::Indicts(Some(Cause::ServerDown)),
        step: Step::Part(servers_down),
    },
    Rule {
        id: "controller-failed",
        scope: Scope::Site,
        sentence: "A controller that has lost nearly all LUNs that it should serve first has failed.",
        clause: "{lost} of {luns} LUNs lost",
        origin: "LISA'13, section 5.2.1",
        bounds: &[DOWN_SHARE, DOWN_LUNS, TOGETHER_WITHIN, MIN_UNUSED],
        ruling: Ruling::Indicts(Some(Cause::ControllerFailed)),
        step: Step::Part(controllers_failed),
    },
    Rule {
        id: "controller-of-servers",
        scope: Scope::Site,
        sentence: "Servers that went down at one time behind one controller did not go by themselves: one of a pair of controllers failed.",
        clause: "{servers} servers within {seconds} s",
        origin: "LISA'13, table 4",
        bounds: &[MIN_SERVERS, TOGETHER_WITHIN, FEWER_SERVERS, AT_ONCE],
        ruling: Ruling::Indicts(Some(Cause::ControllerFailed)),
        step: Step::Together(controller_of_servers),
    },
    Rule {
        id: "host-explains",
        scope: Scope::Site,
        sentence: "A host that is short of CPU or memory answers late, and reads again what it dropped: a less severe loss or hog of the same time is a consequence.",
        clause: "it explains {consequences} less severe troubles",
        origin: "docs/faults.md: a CPU hog under a changing workload",
        bounds: &[],
        ruling: Ruling::Explains,
        step: Step::Together(host_explains),
    },
    Rule {
        id: "one-job",
        scope: Scope::Site,
        sentence: "Loads of several parts that begin at one moment are one job.",
        clause: "{parts} parts at one moment",
        origin: "uneven days, simulated: cron jobs, backups and hot files over several LUNs",
        bounds: &[AT_ONCE, MIN_PARTS],
        ruling: Ruling::Explains,
        step: Step::Together(one_job),
    },
    Rule {
        id: "one-moment",
        scope: Scope::Site,
        sentence: "Parts of one group that become slow at one moment, of servers some with more to do, and are well again within the hour, did not fail each by itself: a job touches them.",
        clause: "{parts} parts at one moment",
        origin: "uneven days, simulated: cron jobs over one LUN of every controller",
        bounds: &[AT_ONCE, MIN_COMPONENTS, MIN_LOADED, TOGETHER_WITHIN],
        ruling: Ruling::Observes(Cause::SlowTogether),
        step: Step::Together(one_moment),
    },
    Rule {
        id: "reopened",
        scope: Scope::Site,
        sentence: "The same trouble of the same part again within the day, or soon after it was over, is the same incident, reopened.",
        clause: "{times} times, at most {pause} h apart",
        origin: "docs/methods.md, incidents that end",
        bounds: &[REOPENED_WITHIN, TOGETHER_WITHIN],
        ruling: Ruling::Explains,
        step: Step::Together(reopened),
    },
    Rule {
        id: "lost-attachment",
        scope: Scope::Site,
        sentence: "A LUN whose preferred attachments are silent or idle while another carries its load has lost them.",
        clause: "{components} attachments show it",
        origin: "LISA'13, section 5.2.1, table 5",
        bounds: &[MIN_UNUSED, MAX_ALONE, TOGETHER_WITHIN],
        ruling: Ruling::Indicts(Some(Cause::LostAttachment)),
        step: Step::Part(lost_attachments),
    },
    Rule {
        id: "dense-part",
        scope: Scope::Site,
        sentence: "A part behind which trouble is much denser than elsewhere explains its components.",
        clause: "{explained} of {components} components in trouble, {density_ratio} times the density elsewhere",
        origin: "LISA'13, sections 5.2.2 and 7",
        bounds: &[MIN_DENSITY, MIN_DENSITY_RATIO, MIN_COMPONENTS, ALL_OF_FEW],
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
        id: "no-extra-work",
        scope: Scope::Site,
        sentence: "A load is told where its work costs more than the peers'; more volume or latency alone only helps to find lost attachments.",
        clause: "{metrics} metrics are above the peers', and the work is not",
        origin: "uneven quiet days, simulated",
        bounds: &[],
        ruling: Ruling::Excuses,
        step: Step::Told(no_extra_work),
    },
    Rule {
        id: "unused-paths",
        scope: Scope::Site,
        sentence: "Preferred attachments that are unused while their peers work are lost, also where the paths that took the load were not recorded.",
        clause: "{count} of {components} preferred attachments are silent or idle",
        origin: "LISA'13, section 5.2.1",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::LostAttachment)),
        step: Step::SharedCause(unused_paths),
    },
    Rule {
        id: "drawer-jitter",
        scope: Scope::Site,
        sentence: "Many LUNs of one controller or drawer that jitter together have errors in a drawer.",
        clause: "{count} of {components} jitter",
        origin: "LISA'13, section 5.2.2",
        bounds: &[MIN_JITTERY, MIN_JITTERY_WINDOWS, MIN_VARIATION, MIN_VARIATION_RATIO],
        ruling: Ruling::Indicts(Some(Cause::DrawerError)),
        step: Step::SharedCause(drawer_jitter),
    },
    Rule {
        id: "part-fault",
        scope: Scope::Site,
        sentence: "Components that are slow together behind one part have no busy disk each: the part has a fault.",
        clause: "{count} of {components} are slow",
        origin: "LISA'13, section 7",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::ComponentFault)),
        step: Step::SharedCause(part_fault),
    },
    Rule {
        id: "majority",
        scope: Scope::Site,
        sentence: "A part has the cause that most of its components have.",
        clause: "{count} of {components} have it",
        origin: "LISA'13, section 7",
        bounds: &[],
        ruling: Ruling::Explains,
        step: Step::SharedCause(majority),
    },
    Rule {
        id: "everybody-slow",
        scope: Scope::Site,
        sentence: "The same work costs a whole group more than it did: something that all share, or work of another locality; no member is to blame.",
        clause: "{ratio} times what it cost before, {lost} of the time lost",
        origin: "FAST'10, section 2: peer comparison is blind to it",
        bounds: &[MIN_GROUP_RATIO, MIN_GROUP_LOST, MAX_GROUP_UNLIKE, NEW_DIRECTION, NO_DIRECTION],
        ruling: Ruling::Observes(Cause::EverybodySlow),
        step: Step::Group(group_is_slow),
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
        id: "mostly-uncompared",
        scope: Scope::Site,
        sentence: "A group of which too few members have samples in most windows, in the last ones, or for long, cannot be judged: what is left has no peers.",
        clause: "too few of its members have samples",
        origin: "no false all-clear: collectors that stop, docs/methods.md",
        bounds: &[MIN_UNCLEAR, OVER_AFTER, MAX_UNCOMPARED],
        ruling: Ruling::Undecided,
        step: Step::Judged(mostly_uncompared),
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
    Rule {
        id: "incomplete-input",
        scope: Scope::Site,
        sentence: "A component of which samples were lost, merged with others or not understood is not healthy: it cannot be judged.",
        clause: "its samples are not all there, or not its own",
        origin: "no false all-clear: cut files, devices of many hosts under one name, latencies in another unit",
        bounds: &[],
        ruling: Ruling::Undecided,
        step: Step::HasData(incomplete_input),
    },
    Rule {
        id: "mostly-partial",
        scope: Scope::Site,
        sentence: "A component whose disks or traffic could not be compared in most windows or in the last ones, although those of its peers were, cannot be judged.",
        clause: "its disks or its traffic are not recorded",
        origin: "LISA'13, section 6: a missing sample is evidence",
        bounds: &[MIN_UNCLEAR, OVER_AFTER],
        ruling: Ruling::Undecided,
        step: Step::HasData(mostly_partial),
    },
    Rule {
        id: "mostly-unclear",
        scope: Scope::Site,
        sentence: "A component that stood out in most windows, or in the last ones, and of which it cannot be said whether it is slow, idle or hangs, is not healthy: it cannot be judged.",
        clause: "it stood out, and what is recorded does not tell whether it is slow",
        origin: "no false all-clear: LUNs with metadata, disks without busy time, docs/methods.md",
        bounds: &[MIN_UNCLEAR, OVER_AFTER],
        ruling: Ruling::Undecided,
        step: Step::HasData(mostly_unclear),
    },
    Rule {
        id: "not-all-judged",
        scope: Scope::Site,
        sentence: "Where less than half of a group that could have been compared was judged, or no component at all, \"nothing suspect\" is not said.",
        clause: "{blind} of {groups} groups were judged for less than half",
        origin: "no false all-clear: docs/methods.md",
        bounds: &[MIN_PEERS, MIN_JUDGED],
        ruling: Ruling::Undecided,
        step: Step::AllClear(not_all_judged),
    },
    Rule {
        id: "not-all-recorded",
        scope: Scope::Site,
        sentence: "Where most of what the topology names was never recorded, \"nothing suspect\" is not said.",
        clause: "{never} components of the topology were never recorded, {recorded} were",
        origin: "no false all-clear: docs/methods.md",
        bounds: &[MIN_JUDGED],
        ruling: Ruling::Undecided,
        step: Step::AllClear(not_all_recorded),
    },
    Rule {
        id: "blind",
        scope: Scope::Site,
        sentence: "Where not even a part ten times as slow as its peers would have been named, \"nothing suspect\" is not said: slowness was put into the recording itself and not found, or nothing tells how slow the disks are.",
        clause: "in {blind} of {groups} groups a part ten times as slow would not have been named",
        origin: "no false all-clear: docs/methods.md, power",
        bounds: &[MIN_TRIED, MIN_FOUND],
        ruling: Ruling::Undecided,
        step: Step::AllClear(blind),
    },
    Rule {
        id: "input-lost",
        scope: Scope::Site,
        sentence: "Where samples were lost, merged or not understood on the way, \"nothing suspect\" is not said.",
        clause: "{incomplete} components, or files, are not all there",
        origin: "no false all-clear: docs/methods.md",
        bounds: &[],
        ruling: Ruling::Undecided,
        step: Step::AllClear(input_lost),
    },
    Rule {
        id: "late-samples",
        scope: Scope::Site,
        sentence: "Where many samples came too late to be judged, \"nothing suspect\" is not said.",
        clause: "{late} of {samples} samples came too late",
        origin: "no false all-clear: docs/methods.md",
        bounds: &[MAX_LATE],
        ruling: Ruling::Undecided,
        step: Step::AllClear(late_samples),
    },
];

/// How all members of a group stand against its past, in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupEffect {
    /// Logarithm of the time in service over what the same work cost before: of the median member.
    pub effect: f64,
    /// Share of the time that the median member lost by it.
    pub lost: f64,
    /// Times by which requests are larger or smaller than before; infinite where they go in a direction that is new.
    pub unlike: f64,
}

fn group_is_slow(group: &GroupEffect) -> Option<Numbers> {
    let is_slow = group.effect >= MIN_GROUP_RATIO.value.ln() && group.lost >= MIN_GROUP_LOST.value;
    let is_known = group.unlike <= MAX_GROUP_UNLIKE.value;
    (is_slow && is_known).then(|| Numbers::of(&[("ratio", group.effect.exp()), ("lost", group.lost)]))
}

/// The rule of groups that are slow as a whole.
pub fn everybody_slow_rule() -> &'static Rule {
    // A test holds that this step has one rule.
    RULES.iter().find(|rule| matches!(rule.step, Step::Group(_))).unwrap_or(&RULES[0])
}

/// Whether a whole group is slow against its own past, and upon what that is said.
pub fn everybody_slow(group: &GroupEffect, without: &Without) -> Option<Numbers> {
    without.first(RULES, |rule| {
        let Step::Group(speaks) = rule.step else { return None };
        speaks(group)
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
    /// Whether it was made of the claims of several parts ...
    pub is_merged: bool,
    /// ... and by which rule.
    pub by: Option<&'static Rule>,
}

impl Claim {
    /// A claim of one part; its cause is the rule's, or the components' own.
    fn new(part: Part, explained: Vec<TroubleId>, numbers: Numbers) -> Claim {
        Claim { part, cause: None, explained, numbers, is_merged: false, by: None }
    }
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

/// The parts that explain the components in trouble, then those that explain loads; and loads that are not worth a line.
pub fn explain(roster: &Roster, troubles: Vec<Trouble>, without: &Without) -> (Vec<Explained>, Vec<Excused>) {
    let numbered = troubles.into_iter().enumerate().map(|(index, trouble)| (TroubleId(index), trouble));
    let (loads, open): (BTreeMap<_, _>, BTreeMap<_, _>) = numbered.partition(|(_, trouble)| trouble.is_load);
    let mut site = Site { roster, without, open, loads, lost: Vec::new() };
    site.lost = lost_luns(&site);
    let mut explained = site.claims();
    // What is left of the loads is told, too, by the same parts.
    let mut excused = Vec::new();
    for (id, load) in std::mem::take(&mut site.loads) {
        match not_told(&load, without) {
            Some(by) => excused.push(Excused { component: load.component, by, episode: load.episode }),
            None => drop(site.open.insert(id, load)),
        }
    }
    explained.extend(site.claims());
    (explained, excused)
}

/// The rule that says that a load is not worth a line, if there is one.
fn not_told(load: &Trouble, without: &Without) -> Option<Spoken> {
    without.first(RULES, |rule| {
        let Step::Told(speaks) = rule.step else { return None };
        Some(Spoken { rule, metric: None, numbers: speaks(load)? })
    })
}

fn no_extra_work(load: &Trouble) -> Option<Numbers> {
    let evidence = &load.episode.evidence;
    let has_work = evidence.get(&Metric::Work).is_some_and(|work| work.relation() == Relation::High);
    (!has_work).then(|| Numbers::of(&[("metrics", evidence.len() as f64)]))
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
                self.without.note(rule);
                found.iter_mut().for_each(|claim| claim.cause = rule.ruling.cause());
                for together in RULES.iter().filter(|rule| self.without.asks(rule)) {
                    if let Step::Together(merge) = together.step {
                        found = merge(self, found);
                        for claim in found.iter_mut().filter(|claim| claim.is_merged && claim.by.is_none()) {
                            claim.by = Some(together);
                            claim.cause = together.ruling.cause().or(claim.cause);
                        }
                    }
                }
                for claim in found {
                    let rule = claim.by.unwrap_or(rule);
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

    /// The trouble of a claim that explains one, whose cause is its own.
    fn single(&self, claim: &Claim) -> Option<(TroubleId, &Trouble)> {
        match claim.explained.as_slice() {
            [id] if claim.cause.is_none() => Some((*id, self.open.get(id)?)),
            _ => None,
        }
    }

    fn component(&self, trouble: &Trouble) -> &Component {
        &self.roster.components[trouble.component]
    }

    /// Takes what a claim explains out of the open trouble.
    fn settle(&mut self, rule: &'static Rule, claim: Claim) -> Explained {
        let own = claim.explained.first().filter(|_| claim.explained.len() == 1);
        let named = match (claim.cause, own.and_then(|id| self.open.get(id))) {
            (Some(cause), _) => {
                let first = claim.explained.first().and_then(|id| self.open.get(id));
                let own = first.map(|trouble| self.own_cause(trouble)).filter(|own| own.cause == cause);
                own.unwrap_or(Named { cause, spoken: Vec::new() })
            }
            (None, Some(trouble)) => self.own_cause(trouble),
            (None, None) => self.shared_cause(&claim),
        };
        let mut take = |id: &TroubleId| self.open.remove(id).or_else(|| self.loads.remove(id));
        let mut troubles: Vec<Trouble> = claim.explained.iter().filter_map(&mut take).collect();
        // A host stands before its consequences, however long they last.
        let is_host = |trouble: &Trouble| trouble.episode.domain == Domain::Host;
        troubles.sort_by(|a, b| {
            is_host(b).cmp(&is_host(a)).then(b.episode.impact().total_cmp(&a.episode.impact()))
        });
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
        let jitters = |evidence: &Evidence| evidence.jittery_share() > MIN_JITTERY_WINDOWS.value;
        let is_jittery = |trouble: &&&Trouble| trouble.episode.evidence.values().any(jitters);
        let is_preferred = |trouble: &Trouble| {
            self.component(trouble).attachment.as_ref().is_some_and(|known| known.priority == 1)
        };
        let shared = SharedTrouble {
            kind: claim.part.kind,
            most: most.map_or(Cause::Unknown, |(cause, _)| cause),
            with_most: most.map_or(0, |(_, count)| count),
            components: explained.len(),
            jittery: explained.iter().filter(is_jittery).count(),
            is_unused: explained.iter().all(|trouble| is_preferred(trouble) && is_unused(&trouble.episode)),
        };
        shared.cause(self.without)
    }
}

/// The trouble of several components behind one part.
pub struct SharedTrouble {
    kind: Kind,
    /// The cause that most of them have ...
    most: Cause,
    /// ... and how many these are.
    with_most: usize,
    components: usize,
    jittery: usize,
    /// Whether all are preferred attachments that are silent or idle.
    is_unused: bool,
}

impl SharedTrouble {
    /// The cause that the first rule names, or that most of the components have.
    fn cause(&self, without: &Without) -> Named {
        let found = without.first(RULES, |rule| {
            let Step::SharedCause(speaks) = rule.step else { return None };
            let spoken = Spoken { rule, metric: None, numbers: speaks(self)? };
            Some(Named { cause: rule.ruling.cause().unwrap_or(self.most), spoken: vec![spoken] })
        });
        found.unwrap_or(Named { cause: Cause::Unknown, spoken: Vec::new() })
    }

    /// So many of all.
    fn numbers(&self, of: usize) -> Numbers {
        Numbers::of(&[("count", of as f64), ("components", self.components as f64)])
    }
}

fn unused_paths(shared: &SharedTrouble) -> Option<Numbers> {
    (shared.most == Cause::Unknown && shared.is_unused).then(|| shared.numbers(shared.components))
}

fn drawer_jitter(shared: &SharedTrouble) -> Option<Numbers> {
    let is_enclosure = match shared.kind {
        Kind::Controller | Kind::Drawer => true,
        Kind::Server | Kind::Lun | Kind::Attachment | Kind::Device | Kind::Group => false,
    };
    let share = shared.jittery as f64 / shared.components as f64;
    (is_enclosure && share > MIN_JITTERY.value).then(|| shared.numbers(shared.jittery))
}

/// Whether a component jitters and its peers do not.
pub fn jitters(variation: f64, peers: f64) -> bool {
    variation > MIN_VARIATION.value && variation > MIN_VARIATION_RATIO.value * peers
}

fn part_fault(shared: &SharedTrouble) -> Option<Numbers> {
    shared.most.is_slow_disk().then(|| shared.numbers(shared.with_most))
}

fn majority(shared: &SharedTrouble) -> Option<Numbers> {
    Some(shared.numbers(shared.with_most))
}

#[cfg(test)]
mod tests;

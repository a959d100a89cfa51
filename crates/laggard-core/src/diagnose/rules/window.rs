//! Rules of one component in one window and one metric.
//!
//! First: does its level differ from its peers' (`Differs`)? Then: does the difference matter (`Matters`)? `differs`, the last
//! of these, speaks always: a difference that nothing excuses indicts. Trained thresholds are judged as published: what exceeds them indicts,
//! and the rules only say how the level relates to the peers'.

mod network;
mod rare;
mod work;

pub use rare::{FOR_GOOD_AFTER, least_slowness, margin, slow_for_good};
pub use work::{MIN_WORK, cost_threshold, slowness_for_work, work_threshold};

use super::{Bound, Numbers, Rule, Ruling, Scope, Step, Without};
use crate::compare::Score;
use crate::diagnose::bound::{HALF, TENTH, THREE_TIMES, TWICE};
use crate::diagnose::budget::{KNOWN_AFTER, MIN_MEMBERS, Slowness};
use crate::diagnose::case::{ABSENT_PRESENCE, Case, IDLE_SHARE, PEERS_PRESENCE, Reading, Relation};
use crate::diagnose::cause::Cause;
use crate::diagnose::ledger::{MAX_USUAL, MIN_USUAL, USUAL_QUANTILE};
use crate::model::metric::{Harm, Role};
use crate::model::{Kind, Metric};

/// Where a smaller share of a group has samples of a metric, it is not compared: thresholds from the peers only.
pub const MIN_PRESENT: Bound = Bound::new("min_present", HALF, "of the members");
/// Robust standard deviations between a component's level and its peers' that are not chance.
const MIN_SPREADS: Bound = Bound::new("min_spreads", 4.0, "robust standard deviations");
/// Times what is negligible that matters for the latency of a group that does next to nothing.
const IDLE_GROUP: Bound = Bound::new("idle_group_factor", 10.0, "times what is negligible");
/// Mean latencies below this are in some other unit than milliseconds.
pub const MIN_LATENCY_MS: Bound = Bound::new("min_latency", 0.02, "ms");
/// Times its peers' load up to which latency is known to follow it.
pub const MAX_KNOWN_LOAD: Bound = Bound::new("max_known_load", 1.5, "times the peers' load");
/// Times its peers' latency that is a fault.
const MIN_LATENCY_RATIO: Bound = Bound::new("min_latency_ratio", 1.4, "times the peers'");
/// Times its peers' level, in all other metrics.
const MIN_RATIO: Bound = Bound::new("min_ratio", 1.0 + TENTH, "times the peers'");
/// Percent of its CPU time at which a host is full.
const MIN_CPU_BUSY: Bound = Bound::new("min_cpu_busy", 90.0, "%");
/// Percent of its memory below which a host has next to none.
const MAX_MEMORY_AVAILABLE: Bound = Bound::new("max_memory_available", 15.0, "%");
/// Windows between a disk's last sample and its successor's first.
pub const REPLACED_WITHIN: Bound = Bound::new("replaced_within", 8.0, "windows");
/// Times what is negligible for one disk that a server must read or write beside its peers.
const MIN_SERVER_VOLUME: Bound = Bound::new("min_extra_volume", 5.0, "times what is negligible");
/// Times its peers' volume that no uneven load of LUNs or disks explains.
const MIN_VOLUME_RATIO: Bound = Bound::new("min_volume_ratio", THREE_TIMES, "times the peers'");

/// A latency shows in both halves of a window: each has at least this share of it, as a logarithm.
const BOTH_HALVES: Bound = Bound::new("both_halves", TWICE, "times the slowness of either half");
/// What was sent again is forgotten so long after it was recorded last.
pub const RESENT_FOR: Bound = Bound::new("resent_for", TWICE, "windows");

/// Window rules, in the order in which they are asked.
pub static RULES: &[Rule] = &[
    Rule {
        id: "no-score",
        scope: Scope::Window,
        sentence: "A component without a score, for lack of samples of it or of its peers, cannot be judged.",
        clause: "{metric} has no score: {presence} of the samples, its peers' {peer_presence}",
        origin: "LISA'13, section 6",
        bounds: &[MIN_PRESENT],
        ruling: Ruling::Undecided,
        step: Step::Differs(no_score),
    },
    Rule {
        id: "rare",
        scope: Scope::Window,
        sentence: "A slowness that chance shows less often than the budget of false alarms allows, given how slow healthy peers were for how long, speaks against the component at once: it has lasted.",
        clause: "{metric} {ratio} times its peers' for {minutes} minutes, {allowed} allowed",
        origin: "docs/methods.md, a budget of false alarms",
        bounds: &[
            rare::TWICE_AFTER,
            rare::MIN_EXCESS,
            rare::ACCEPTED,
            rare::MIN_BRIEF_RATIO,
            rare::STILL_SLOW,
            BOTH_HALVES,
            work::MIN_LOST_S,
            work::MIN_LOST_SHARE,
            work::MIN_UNLIKE_SIZE,
            work::LOCALITY,
            IDLE_GROUP,
            MIN_LATENCY_MS,
            KNOWN_AFTER,
            MIN_MEMBERS,
            MAX_USUAL,
            FOR_GOOD_AFTER,
            rare::MIN_FOR_GOOD_SPREADS,
            rare::MIN_FOR_GOOD_MEMBERS,
            rare::MIN_FOR_GOOD,
        ],
        ruling: Ruling::Indicts(None),
        step: Step::Rare(rare::rare),
    },
    Rule {
        id: "threshold",
        scope: Scope::Window,
        sentence: "A score that does not exceed the threshold is no difference.",
        clause: "{metric} {level}, its peers' {peers}: score {score}, threshold {threshold}",
        origin: "FAST'10, section 10.1; LISA'13, section 4.2; the threshold is the method's; of cost and work, these",
        bounds: &[
            work::MIN_COST_RATIO,
            work::MIN_COST_SPREADS,
            MIN_WORK,
            MIN_USUAL,
            USUAL_QUANTILE,
            MAX_USUAL,
        ],
        ruling: Ruling::Excuses,
        step: Step::Exceeds(threshold),
    },
    Rule {
        id: "replaced",
        scope: Scope::Window,
        sentence: "A component that fell silent when another joined was replaced.",
        clause: "no {metric}; another member joined within {windows} windows",
        origin: "disks that are exchanged",
        bounds: &[REPLACED_WITHIN],
        ruling: Ruling::Undecided,
        step: Step::Matters(replaced),
    },
    Rule {
        id: "samples-lost",
        scope: Scope::Window,
        sentence: "Of a component of which samples were lost on the way, or have another clock's time, silence says nothing.",
        clause: "no {metric}",
        origin: "no false accusation: a clock that is an hour off, docs/methods.md",
        bounds: &[],
        ruling: Ruling::Undecided,
        step: Step::Differs(samples_lost),
    },
    Rule {
        id: "window-size",
        scope: Scope::Window,
        sentence: "A congestion window is low where loss holds it at a few segments, or far below its peers'.",
        clause: "{metric} {level}, its peers' {peers}: not below {allowed}",
        origin: "FAST'10, section 6.1, observation 7; Mathis and others, 1997",
        bounds: &[network::MAX_SEGMENTS, network::MAX_WINDOW_SHARE, network::HARMLESS_SEGMENTS],
        ruling: Ruling::Excuses,
        step: Step::Differs(network::window_size),
    },
    Rule {
        id: "spread",
        scope: Scope::Window,
        sentence: "A level within a few robust standard deviations of the peers' is chance.",
        clause: "{metric} {level}, its peers' {peers}: {spreads} of their standard deviations, {allowed} allowed",
        origin: "docs/decisions/0006; untrained only; the threshold of limp implies it, those of the other methods do not",
        bounds: &[MIN_SPREADS],
        ruling: Ruling::Excuses,
        step: Step::Differs(spread),
    },
    Rule {
        id: "negligible",
        scope: Scope::Window,
        sentence: "A difference that is negligible in the metric's unit (docs/metrics.md) is no difference; in an idle group, ten times that of a latency.",
        clause: "{metric} {level}, its peers' {peers}: a difference of {difference}, {allowed} allowed",
        origin: "LISA'13, section 5.3.2: housekeeping on idle attachments stays below a millisecond",
        bounds: &[IDLE_GROUP, MIN_LATENCY_MS],
        ruling: Ruling::Excuses,
        step: Step::Differs(negligible),
    },
    Rule {
        id: "ratio",
        scope: Scope::Window,
        sentence: "A level of nearly as much as the peers' is no difference.",
        clause: "{metric} {ratio} times its peers', {allowed} allowed",
        origin: "docs/decisions/0006; untrained only",
        bounds: &[MIN_LATENCY_RATIO, MIN_RATIO],
        ruling: Ruling::Excuses,
        step: Step::Differs(ratio),
    },
    Rule {
        id: "load",
        scope: Scope::Window,
        sentence: "A latency that is higher by no more than the load is no difference.",
        clause: "{metric} {ratio} times its peers', allowed {allowed} at {load} times the load",
        origin: "FAST'10, section 7: tps explains, it does not indict",
        bounds: &[MIN_LATENCY_RATIO],
        ruling: Ruling::Excuses,
        step: Step::Differs(load),
    },
    Rule {
        id: "queue",
        scope: Scope::Window,
        sentence: "A latency under far more load than the peers' may be that of its queue: without busy time nothing tells whether the disk is slow.",
        clause: "{metric} {ratio} times its peers' at {load} times the load, {allowed} allowed",
        origin: "queues of equal disks, simulated: at twice the load a latency may be ten times the peers'",
        bounds: &[MAX_KNOWN_LOAD],
        ruling: Ruling::Undecided,
        step: Step::Differs(queue),
    },
    Rule {
        id: "lost-time",
        scope: Scope::Window,
        sentence: "A device that is slow for its work, but loses next to no time by it, does no harm.",
        clause: "{metric} {ratio} times its peers', {lost} of the time lost, {allowed} allowed",
        origin: "docs/methods.md, work and its cost",
        bounds: &[work::MIN_LOST_S, work::MIN_LOST_SHARE],
        ruling: Ruling::Excuses,
        step: Step::Differs(work::lost_time),
    },
    Rule {
        id: "unlike-work",
        scope: Scope::Window,
        sentence: "What work costs is not known where its requests have other sizes than all of the peers', or another share of the cost: where data lie counts, and no counter tells.",
        clause: "{metric} {ratio} times its peers', {allowed} allowed: requests beyond the peers' sizes by {size}, their share of the cost differs by {mix}",
        origin: "uneven quiet days, simulated: LUNs with metadata",
        bounds: &[work::MIN_UNLIKE_SIZE, work::LOCALITY],
        ruling: Ruling::Undecided,
        step: Step::Differs(work::unlike_work),
    },
    Rule {
        id: "idle-or-hung",
        scope: Scope::Window,
        sentence: "A disk that completes next to nothing while its peers work is idle or hangs: without busy time and requests under way nothing tells which.",
        clause: "{metric} {presence} of its samples; its peers have {peer_presence}",
        origin: "no false all-clear: a hung disk without busy time, docs/methods.md",
        bounds: &[ABSENT_PRESENCE, PEERS_PRESENCE],
        ruling: Ruling::Undecided,
        step: Step::Matters(idle_or_hung),
    },
    Rule {
        id: "idle",
        scope: Scope::Window,
        sentence: "A component that does next to nothing is idle; only an attachment has lost its load to another.",
        clause: "{metric} {level}, its peers' {peers}",
        origin: "LISA'13, section 5.2.1",
        bounds: &[IDLE_SHARE, ABSENT_PRESENCE, PEERS_PRESENCE],
        ruling: Ruling::Excuses,
        step: Step::Matters(idle),
    },
    Rule {
        id: "harmless-side",
        scope: Scope::Window,
        sentence: "A component that does less than its peers, or is faster, or has a faster link, does no harm.",
        clause: "{metric} {ratio} times its peers'",
        origin: "FAST'10, section 6.1, observations 5 and 7",
        bounds: &[],
        ruling: Ruling::Excuses,
        step: Step::Matters(harmless_side),
    },
    Rule {
        id: "headroom",
        scope: Scope::Window,
        sentence: "A CPU that is not full, or memory that is not nearly gone, harms nothing, however much more the peers have.",
        clause: "{metric} {level}, its peers' {peers}; {allowed} is harm",
        origin: "docs/faults.md, cpu-hog and memory-pressure",
        bounds: &[MIN_CPU_BUSY, MAX_MEMORY_AVAILABLE],
        ruling: Ruling::Excuses,
        step: Step::Matters(headroom),
    },
    Rule {
        id: "still-window",
        scope: Scope::Window,
        sentence: "A congestion window that stands still belongs to a connection with next to nothing to send, and remembers a loss of long ago.",
        clause: "{metric} {level}, changed in {movement} of the slots",
        origin: "first real campaign, docs/accuracy.md",
        bounds: &[network::LOSS_SEGMENTS, network::MIN_MOVEMENT],
        ruling: Ruling::Excuses,
        step: Step::Matters(network::still_window),
    },
    Rule {
        id: "nothing-resent",
        scope: Scope::Window,
        sentence: "A congestion window of connections that send nothing again is not held down by loss; it may remember one of long ago.",
        clause: "{metric} {level}, its peers' {peers}; {resent} segments/s were sent again",
        origin: "MooseFS campaign, docs/accuracy.md: idle connections keep a window of two segments",
        bounds: &[network::MAX_RESENT, RESENT_FOR],
        ruling: Ruling::Excuses,
        step: Step::Matters(network::nothing_resent),
    },
    Rule {
        id: "harmless-resent",
        scope: Scope::Window,
        sentence: "Segments that are sent again not many times as often as the peers', or rarely among all, while the congestion window is as large as theirs, are lost by no link: a busy host answers late.",
        clause: "{metric} {level}, its peers' {peers}; the congestion window is {window} segments, its peers' {peers_window}",
        origin: "three held-out campaigns, docs/accuracy.md: busy hosts; Mathis and others, 1997",
        bounds: &[network::MIN_RESENT_RATIO, network::MIN_RESENT_SHARE, network::MAX_HELD_DOWN],
        ruling: Ruling::Excuses,
        step: Step::Matters(network::harmless_resent),
    },
    Rule {
        id: "cost-decides",
        scope: Scope::Window,
        sentence: "Where work and the time it took are recorded, what the work costs decides; latency and volume only show it, unless this device alone is saturated by the same work.",
        clause: "{metric} {ratio} times its peers'; its work costs {cost} times theirs, {lost} of the time lost",
        origin: "CUG'13; docs/methods.md, work and its cost",
        bounds: &[work::SATURATED, work::MIN_SATURATED_RATIO, work::MAX_ALIKE_WORK],
        ruling: Ruling::Explains,
        step: Step::Matters(work::cost_decides),
    },
    Rule {
        id: "same-load",
        scope: Scope::Window,
        sentence: "More work or traffic than its peers' that was a load until now, and has hardly grown, is still that load: what its peers or its cache do has changed.",
        clause: "{metric} {level}, its peers' {peers}; a difference of {explained} was a load until now",
        origin: "simulated development runs: metadata servers under postmark while another server has a hog; MooseFS campaign: reads from the cache",
        bounds: &[MIN_WORK],
        ruling: Ruling::Explains,
        step: Step::Matters(work::same_load),
    },
    Rule {
        id: "asked-for",
        scope: Scope::Window,
        sentence: "More work or volume than its peers' is a load, unless it is a server's, moves more bytes, did not come by the network, and is of another kind or the network tells.",
        clause: "{metric} {level}, its peers' {peers}; {by_network} of the extra bytes came by the network",
        origin: "FAST'10, section 12; docs/methods.md, work and its cost",
        bounds: &[
            work::MIN_EXTRA_BYTES,
            work::MIN_BY_NETWORK,
            work::MIN_ACCOUNTED,
            work::MIN_SIZE_RATIO,
            work::MIN_READ_DIFFERENCE,
        ],
        ruling: Ruling::Explains,
        step: Step::Matters(work::asked_for),
    },
    Rule {
        id: "served",
        scope: Scope::Window,
        sentence: "More traffic than its peers' that its disk read or wrote as well is the file system's own.",
        clause: "{metric} {level}, its peers' {peers}; {by_disk} of the extra bytes went to or came from its disk",
        origin: "uneven load, as at most sites: a server that is asked for more has no hog",
        bounds: &[work::MIN_BY_DISK],
        ruling: Ruling::Explains,
        step: Step::Matters(work::served),
    },
    Rule {
        id: "server-volume",
        scope: Scope::Window,
        sentence: "What a server reads or writes beside its peers indicts it only if it is much for any disk.",
        clause: "{metric} {level}, its peers' {peers}; a difference of {allowed} indicts",
        origin: "metadata servers, FAST'10, section 12",
        bounds: &[MIN_SERVER_VOLUME],
        ruling: Ruling::Explains,
        step: Step::Matters(server_volume),
    },
    Rule {
        id: "more-volume",
        scope: Scope::Window,
        sentence: "Files are not spread evenly over LUNs and disks: only far more volume than the peers' speaks of itself.",
        clause: "{metric} {ratio} times its peers', {allowed} allowed",
        origin: "LISA'13, section 5.2.3; docs/accuracy.md, twelve disks",
        bounds: &[MIN_VOLUME_RATIO],
        ruling: Ruling::Explains,
        step: Step::Matters(more_volume),
    },
    Rule {
        id: "silent",
        scope: Scope::Window,
        sentence: "A component without samples while its peers have some is in trouble.",
        clause: "no {metric}, {presence} of its samples; its peers have {peer_presence}",
        origin: "LISA'13, section 6: absence of data is evidence",
        bounds: &[ABSENT_PRESENCE, PEERS_PRESENCE],
        ruling: Ruling::Indicts(Some(Cause::Silent)),
        step: Step::Matters(silent),
    },
    Rule {
        id: "differs",
        scope: Scope::Window,
        sentence: "A difference from the peers that nothing excuses speaks against the component.",
        clause: "{metric} {level}, its peers' {peers}; score {score}, threshold {threshold}",
        origin: "FAST'10, section 10.1; LISA'13, section 4.2",
        bounds: &[],
        ruling: Ruling::Indicts(None),
        step: Step::Matters(differs),
    },
    Rule {
        id: "published",
        scope: Scope::Window,
        sentence: "A score that exceeds a trained threshold indicts, as published; no rule excuses it.",
        clause: "{metric} {level}, its peers' {peers}; score {score}, threshold {threshold}",
        origin: "FAST'10, section 10.1; LISA'13, section 4.2; trained only",
        bounds: &[],
        ruling: Ruling::Indicts(None),
        step: Step::Published,
    },
    Rule {
        id: "filter",
        scope: Scope::Window,
        sentence: "What lasts less than k of the last 2k-1 windows of the method is chance.",
        clause: "{metric} differed in {exceeded} of the last {windows} windows, {needed} needed",
        origin: "FAST'10, section 10.1: 3 of 5",
        bounds: &[],
        ruling: Ruling::Excuses,
        step: Step::Lasts,
    },
];

fn rule_of(is_wanted: impl Fn(&Step) -> bool) -> &'static Rule {
    // A test holds that each of these steps has one rule.
    RULES.iter().find(|rule| is_wanted(&rule.step)).unwrap_or(&RULES[0])
}

/// The rule of the threshold: switched off, every window with a score is a candidate.
pub fn threshold_rule() -> &'static Rule {
    rule_of(|step| matches!(step, Step::Exceeds(_)))
}

/// The rule of trained thresholds.
pub fn published_rule() -> &'static Rule {
    rule_of(|step| matches!(step, Step::Published))
}

/// The rule of the filter: switched off, every window that differs counts.
pub fn filter_rule() -> &'static Rule {
    rule_of(|step| matches!(step, Step::Lasts))
}

/// Windows that must differ, of the last 2k-1: the method's, or one without the rule of the filter.
pub fn filter_k(k: usize, without: &Without) -> usize {
    if without.asks(filter_rule()) { k } else { 1 }
}

/// What the rules say of a case.
#[derive(Debug, Clone, Copy)]
pub struct Decision {
    /// The rule that spoke.
    pub rule: &'static Rule,
    /// What it ruled.
    pub ruling: Ruling,
    /// How the level relates to the peers'.
    pub relation: Relation,
    /// What it spoke upon.
    pub numbers: Numbers,
}

impl Decision {
    /// Whether it matters, and nothing can be said of it.
    pub fn is_unclear(&self) -> bool {
        self.ruling == Ruling::Undecided && matches!(self.rule.step, Step::Matters(_))
    }

    /// Whether the rule knows that it lasted, so that the filter is not asked.
    pub fn has_lasted(&self) -> bool {
        matches!(self.rule.step, Step::Rare(_))
    }
}

/// Asks the rules in order. Without any that speaks, nothing is wrong.
pub fn decide(case: &Case, without: &Without) -> Option<Decision> {
    without.first(RULES, |rule| {
        let (numbers, relation) = match rule.step {
            Step::Exceeds(speaks) | Step::Differs(speaks) => (speaks(case)?, Relation::Alike),
            Step::Rare(speaks) | Step::Matters(speaks) => (speaks(case)?, case.relation()),
            Step::Published
            | Step::Lasts
            | Step::Cause(_)
            | Step::Reported(_)
            | Step::Part(_)
            | Step::Together(_)
            | Step::SharedCause(_)
            | Step::Told(_)
            | Step::Group(_)
            | Step::Judged(_)
            | Step::HasData(_)
            | Step::AllClear(_) => return None,
        };
        Some(Decision { rule, ruling: rule.ruling, relation, numbers })
    })
}

/// How a level relates to the peers' where the score exceeds a trained threshold, whatever a rule would excuse.
pub fn published(case: &Case, without: &Without) -> Decision {
    let decided = decide(case, without);
    let relation = decided.map_or(Relation::Alike, |decision| decision.relation);
    let rule = published_rule();
    Decision { rule, ruling: rule.ruling, relation, numbers: numbers(case) }
}

/// The same of any reading.
fn numbers(case: &Case) -> Numbers {
    let seen = &case.reading;
    Numbers::of(&[
        ("level", seen.level),
        ("peers", seen.peer_level),
        ("ratio", seen.ratio),
        ("score", seen.score.exact().unwrap_or(f64::NAN)),
        ("threshold", seen.threshold),
    ])
}

fn no_score(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    (seen.score == Score::Missing && !case.is_silent && !case.may_hang())
        .then(|| Numbers::of(&[("presence", seen.presence), ("peer_presence", seen.peer_presence)]))
}

fn threshold(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    let exceeds = seen.score.exact().is_some_and(|score| score > seen.threshold);
    let score = seen.score.exact().unwrap_or(f64::NAN);
    (!exceeds && !case.is_silent).then(|| {
        Numbers::of(&[
            ("level", seen.level),
            ("peers", seen.peer_level),
            ("score", score),
            ("threshold", seen.threshold),
        ])
    })
}

/// How slow a member is in latency, beyond what its load may explain, as a logarithm: what the budget is held against where work is
/// not recorded. One slow request in a window is no slow device: both halves show at least half of it.
pub fn slowness_in_latency(
    seen: &Reading,
    halves: impl Iterator<Item = Reading>,
    pieces: impl Iterator<Item = Reading>,
    by_load: f64,
) -> Slowness {
    let of_half = |half: Reading| BOTH_HALVES.value * slowness_in_part(&half, by_load);
    let window = halves.map(of_half).fold(slowness_in_part(seen, by_load), f64::min);
    let mut late: Vec<f64> = pieces.map(|piece| slowness_in_part(&piece, by_load)).collect();
    late.sort_by(f64::total_cmp);
    // Three of the four; what is not known sorts last, and makes it unknown.
    let brief =
        if late.iter().any(|own| own.is_nan()) { f64::NAN } else { late.get(1).copied().unwrap_or(f64::NAN) };
    Slowness { window, brief }
}

/// Score over threshold of a latency, as [`limp`](crate::compare::limp) has it; 0 where the difference would be excused.
pub fn severity_in_latency(seen: &Reading, threshold: f64, slowness: Slowness) -> f64 {
    let is_different = slowness.window >= MIN_LATENCY_RATIO.value.ln();
    let score = (seen.difference().max(0.0) / seen.spread).ln_1p();
    if is_different { score / threshold } else { 0.0 }
}

fn slowness_in_part(seen: &Reading, by_load: f64) -> f64 {
    let slowness = seen.ratio.ln();
    match seen.difference() {
        // Without requests there is no latency.
        _ if seen.level.is_nan() || seen.level <= 0.0 => f64::NAN,
        // What is faster tells how much members differ.
        difference if difference <= 0.0 => slowness,
        difference if difference <= negligible_latency(seen) => 0.0,
        _ => slowness - by_load,
    }
}

/// The difference in latency that is none.
fn negligible_latency(seen: &Reading) -> f64 {
    let own = seen.metric.properties().negligible;
    match seen.peer_level {
        // No device answers this fast: the unit is not milliseconds, and what is negligible in it is not known.
        peers if peers > 0.0 && peers < MIN_LATENCY_MS.value => 0.0,
        peers if peers <= own => IDLE_GROUP.value * own,
        _ => own,
    }
}

/// Whether a case has a level that is held against the peers' levels.
fn has_level(case: &Case) -> bool {
    match case.reading.metric.role() {
        // Congestion windows and what comes from the books have bounds of their own.
        Role::Congestion | Role::Cost | Role::Work => false,
        Role::StorageVolume
        | Role::StorageLatency
        | Role::NetworkVolume
        | Role::Retransmission
        | Role::HostHealth
        | Role::LinkHealth
        | Role::Load
        | Role::Account
        | Role::Context => !case.is_absent(),
    }
}

fn spread(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    let stands_out = seen.difference().abs() >= MIN_SPREADS.value * seen.spread;
    (has_level(case) && !stands_out).then(|| {
        Numbers::of(&[
            ("level", seen.level),
            ("peers", seen.peer_level),
            ("spreads", seen.difference().abs() / seen.spread),
            ("allowed", MIN_SPREADS.value),
        ])
    })
}

fn negligible(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    let own = seen.metric.properties().negligible;
    let allowed = match seen.metric.role() {
        Role::StorageLatency => negligible_latency(seen),
        Role::StorageVolume
        | Role::NetworkVolume
        | Role::Congestion
        | Role::Retransmission
        | Role::HostHealth
        | Role::LinkHealth
        | Role::Load
        | Role::Account
        | Role::Cost
        | Role::Work
        | Role::Context => own,
    };
    (has_level(case) && seen.difference().abs() <= allowed).then(|| {
        Numbers::of(&[
            ("level", seen.level),
            ("peers", seen.peer_level),
            ("difference", seen.difference().abs()),
            ("allowed", allowed),
        ])
    })
}

/// Whether a level is within some ratio of the peers', up or down.
fn is_within(case: &Case, ratio: f64) -> bool {
    let seen = &case.reading;
    match case.relation() {
        Relation::High => seen.level < ratio * seen.peer_level,
        Relation::Low => seen.level * ratio > seen.peer_level,
        Relation::Idle | Relation::Silent | Relation::Alike => false,
    }
}

fn ratio(case: &Case) -> Option<Numbers> {
    let allowed = match case.reading.metric.role() {
        Role::StorageLatency => MIN_LATENCY_RATIO,
        Role::StorageVolume
        | Role::NetworkVolume
        | Role::Congestion
        | Role::Retransmission
        | Role::HostHealth
        | Role::LinkHealth
        | Role::Load
        | Role::Account
        | Role::Cost
        | Role::Work
        | Role::Context => MIN_RATIO,
    };
    (has_level(case) && is_within(case, allowed.value))
        .then(|| Numbers::of(&[("ratio", case.reading.ratio), ("allowed", allowed.value)]))
}

/// Times its peers' load, at least 1.
fn load_ratio(case: &Case) -> f64 {
    case.load().map_or(f64::NAN, |load| load.ratio).max(1.0)
}

fn load(case: &Case) -> Option<Numbers> {
    if case.reading.metric.role() != Role::StorageLatency {
        return None;
    }
    let load = load_ratio(case);
    let allowed = MIN_LATENCY_RATIO.value * load;
    let is_high = case.relation() == Relation::High;
    (load > 1.0 && is_high && is_within(case, allowed))
        .then(|| Numbers::of(&[("ratio", case.reading.ratio), ("allowed", allowed), ("load", load)]))
}

fn queue(case: &Case) -> Option<Numbers> {
    let is_latency = case.reading.metric.role() == Role::StorageLatency && case.account().is_none();
    let load = load_ratio(case);
    (is_latency && case.relation() == Relation::High && load >= MAX_KNOWN_LOAD.value).then(|| {
        Numbers::of(&[("ratio", case.reading.ratio), ("load", load), ("allowed", MAX_KNOWN_LOAD.value)])
    })
}

fn replaced(case: &Case) -> Option<Numbers> {
    (case.is_silent && case.is_replaced).then(|| Numbers::of(&[("windows", REPLACED_WITHIN.value)]))
}

fn idle(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    (case.relation() == Relation::Idle && case.component.kind != Kind::Attachment)
        .then(|| Numbers::of(&[("level", seen.level), ("peers", seen.peer_level)]))
}

fn harmless_side(case: &Case) -> Option<Numbers> {
    let is_harmless = match case.reading.metric.properties().harm {
        Harm::High => case.relation() == Relation::Low,
        Harm::Low => case.relation() == Relation::High,
    };
    is_harmless.then(|| Numbers::of(&[("ratio", case.reading.ratio)]))
}

fn headroom(case: &Case) -> Option<Numbers> {
    let level = case.reading.level;
    let (is_cpu, is_memory) =
        (case.reading.metric == Metric::CpuBusy, case.reading.metric == Metric::MemoryAvailable);
    let allowed = if is_cpu { MIN_CPU_BUSY.value } else { MAX_MEMORY_AVAILABLE.value };
    let has_room = is_cpu && level < allowed || is_memory && level > allowed;
    has_room.then(|| {
        let seen = &case.reading;
        Numbers::of(&[("level", seen.level), ("peers", seen.peer_level), ("allowed", allowed)])
    })
}

/// Whether it has more of something than its peers; silence is no small volume.
fn has_more(case: &Case) -> bool {
    case.relation() == Relation::High
}

fn server_volume(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    if seen.metric.role() != Role::StorageVolume || case.component.kind != Kind::Server || !has_more(case) {
        return None;
    }
    let allowed = MIN_SERVER_VOLUME.value * seen.metric.properties().negligible;
    (seen.difference() < allowed)
        .then(|| Numbers::of(&[("level", seen.level), ("peers", seen.peer_level), ("allowed", allowed)]))
}

fn more_volume(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    // Less than its peers means that its load went elsewhere.
    let is_its =
        seen.metric.role() == Role::StorageVolume && case.component.kind != Kind::Server && has_more(case);
    (is_its && seen.ratio < MIN_VOLUME_RATIO.value)
        .then(|| Numbers::of(&[("ratio", seen.ratio), ("allowed", MIN_VOLUME_RATIO.value)]))
}

fn samples_lost(case: &Case) -> Option<Numbers> {
    case.is_incomplete.then_some(Numbers::NONE)
}

fn idle_or_hung(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    case.may_hang()
        .then(|| Numbers::of(&[("presence", seen.presence), ("peer_presence", seen.peer_presence)]))
}

fn silent(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    (case.relation() == Relation::Silent)
        .then(|| Numbers::of(&[("presence", seen.presence), ("peer_presence", seen.peer_presence)]))
}

fn differs(case: &Case) -> Option<Numbers> {
    Some(numbers(case))
}

#[cfg(test)]
mod tests;

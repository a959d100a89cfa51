//! Rules of one component in one window and one metric.
//!
//! First: does its level differ from its peers' (`Differs`)? Then: does the difference matter (`Matters`)? The last rule speaks
//! always: a difference that nothing excuses indicts. Trained thresholds are judged as published: what exceeds them indicts,
//! and the rules only say how the level relates to the peers'.

use super::{Bound, Numbers, Rule, Ruling, Scope, Step, Without};
use crate::compare::Score;
use crate::cost::SECTOR;
use crate::diagnose::case::{ABSENT_PRESENCE, Case, IDLE_SHARE, PEERS_PRESENCE, Reading, Relation};
use crate::diagnose::cause::Cause;
use crate::model::metric::{Harm, Role};
use crate::model::{Kind, Metric};

/// Where a smaller share of a group has samples of a metric, it is not compared: thresholds from the peers only.
pub const MIN_PRESENT: Bound = Bound::new("min_present", 0.5, "of the members");
/// Robust standard deviations between a component's level and its peers' that are not chance.
const MIN_SPREADS: Bound = Bound::new("min_spreads", 4.0, "robust standard deviations");
/// Times what is negligible that matters for the latency of a group that does next to nothing.
const IDLE_GROUP: Bound = Bound::new("idle_group_factor", 10.0, "times what is negligible");
/// Mean latencies below this are in some other unit than milliseconds.
pub const MIN_LATENCY_MS: Bound = Bound::new("min_latency", 0.02, "ms");
/// Times its peers' latency that is a fault.
const MIN_LATENCY_RATIO: Bound = Bound::new("min_latency_ratio", 1.4, "times the peers'");
/// Times its peers' level, in all other metrics.
const MIN_RATIO: Bound = Bound::new("min_ratio", 1.1, "times the peers'");
/// Times what the same work costs its peers at which a device is slow ...
const MIN_COST_RATIO: Bound = Bound::new("min_cost_ratio", 1.25, "times the peers' cost");
/// ... and robust standard deviations of its peers' differences.
const MIN_COST_SPREADS: Bound = Bound::new("min_cost_spreads", 5.0, "robust standard deviations");
/// Requests this many times beyond the sizes of the peers' are of another kind: a slow disk that merges less has twice as many.
const MIN_UNLIKE_SIZE: Bound = Bound::new("min_unlike_size", 2.0, "times larger or smaller than the peers'");
/// Where the data of a request lie makes it dearer or cheaper by this factor, at most.
const LOCALITY: Bound = Bound::new("locality", 2.5, "times the cost of a request");
/// Seconds of a window that must be lost to a slow device ...
const MIN_LOST_S: Bound = Bound::new("min_lost_time", 4.0, "s of the window");
/// ... and at least this share of it.
const MIN_LOST_SHARE: Bound = Bound::new("min_lost_share", 0.005, "of the time");
/// Share of the time that a component's work must cost beyond its peers' to be a load of its own.
pub const MIN_WORK: Bound = Bound::new("min_work", 0.15, "of the time");
/// Share of a server's extra work that came by the network: then no process of the server does it.
const MIN_BY_NETWORK: Bound = Bound::new("min_by_network", 0.5, "of its extra bytes");
/// Share of a server's extra traffic that its disk read or wrote: then it is the file system's own.
const MIN_BY_DISK: Bound = Bound::new("min_by_disk", 0.5, "of its extra bytes");
/// The network tells what disks are asked for where it carried this share of the bytes of the peers' disks.
const MIN_ACCOUNTED: Bound = Bound::new("min_accounted", 0.8, "of the peers' bytes");
/// Otherwise extra work is of another kind than the peers' by its request size ...
const MIN_SIZE_RATIO: Bound =
    Bound::new("min_size_ratio", 2.0, "times the peers' request size, or a part of it");
/// ... or by the share of it that is read.
const MIN_READ_DIFFERENCE: Bound = Bound::new("min_read_difference", 0.5, "more or less of it read");
/// Segments at which a congestion window is held down ...
const MAX_SEGMENTS: Bound = Bound::new("max_window", 10.0, "segments");
/// ... or the share of its peers' window.
const MAX_WINDOW_SHARE: Bound = Bound::new("max_window_share", 0.3, "of the peers'");
/// Segments above which a window tells of no harm: the loss that holds a window of w segments is (1.22 / w)^2, here 0.1 %.
const HARMLESS_SEGMENTS: Bound = Bound::new("harmless_window", 40.0, "segments");
/// Segments at which only loss holds a window.
const LOSS_SEGMENTS: Bound = Bound::new("loss_window", 2.0, "segments");
/// Share of slots in which a congestion window under loss differs from the slot before.
const MIN_MOVEMENT: Bound = Bound::new("min_movement", 0.25, "of the slots");
/// Share of the slots of a window in which a link that loses packets has more of them sent again than its peers.
const MIN_RECURRENCE: Bound = Bound::new("min_recurrence", 0.25, "of the slots");
/// Share of the time in service at which a device is saturated ...
const SATURATED: Bound = Bound::new("saturated", 0.95, "of the time");
/// ... and times its peers' latency that requests then wait for, though the work is alike ...
const MIN_SATURATED_RATIO: Bound = Bound::new("min_saturated_ratio", 3.0, "times the peers'");
/// ... which is no more than this.
const MAX_ALIKE_WORK: Bound = Bound::new("max_alike_work", 1.1, "times the peers'");
/// Segments sent again that are none: a single one in a window is more.
const MAX_RESENT: Bound = Bound::new("max_resent", 0.01, "segments/s");
/// Percent of its CPU time at which a host is full.
const MIN_CPU_BUSY: Bound = Bound::new("min_cpu_busy", 90.0, "%");
/// Percent of its memory below which a host has next to none.
const MAX_MEMORY_AVAILABLE: Bound = Bound::new("max_memory_available", 15.0, "%");
/// Windows between a disk's last sample and its successor's first.
pub const REPLACED_WITHIN: Bound = Bound::new("replaced_within", 8.0, "windows");
/// Times what is negligible for one disk that a server must read or write beside its peers.
const MIN_SERVER_VOLUME: Bound = Bound::new("min_extra_volume", 5.0, "times what is negligible");
/// Times its peers' volume that no uneven load of LUNs in one file system explains.
const MIN_ATTACHMENT_VOLUME: Bound = Bound::new("min_volume_ratio", 1.5, "times the peers'");
/// Times its peers' volume that no uneven load of disks explains.
const MIN_DISK_VOLUME: Bound = Bound::new("min_volume_ratio", 3.0, "times the peers'");

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
        id: "threshold",
        scope: Scope::Window,
        sentence: "A score that does not exceed the threshold is no difference.",
        clause: "{metric} {level}, its peers' {peers}: score {score}, threshold {threshold}",
        origin: "FAST'10, section 10.1; LISA'13, section 4.2; the threshold is the method's; of cost and work, these",
        bounds: &[MIN_COST_RATIO, MIN_COST_SPREADS, MIN_WORK],
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
        id: "window-size",
        scope: Scope::Window,
        sentence: "A congestion window is low where loss holds it at a few segments, or far below its peers'.",
        clause: "{metric} {level}, its peers' {peers}: not below {allowed}",
        origin: "FAST'10, section 6.1, observation 7; Mathis and others, 1997",
        bounds: &[MAX_SEGMENTS, MAX_WINDOW_SHARE, HARMLESS_SEGMENTS],
        ruling: Ruling::Excuses,
        step: Step::Differs(window_size),
    },
    Rule {
        id: "spread",
        scope: Scope::Window,
        sentence: "A level within a few robust standard deviations of the peers' is chance.",
        clause: "{metric} {level}, its peers' {peers}: {spreads} of their standard deviations, {allowed} allowed",
        origin: "docs/decisions/0006; untrained only",
        bounds: &[MIN_SPREADS],
        ruling: Ruling::Excuses,
        step: Step::Differs(spread),
    },
    Rule {
        id: "negligible",
        scope: Scope::Window,
        sentence: "A difference that is negligible in the metric's unit is no difference; in an idle group, ten times that of a latency.",
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
        id: "unlike-work",
        scope: Scope::Window,
        sentence: "What work costs is not known where its requests have other sizes than all of the peers', or another share of the cost: where data lie counts, and no counter tells.",
        clause: "{metric} {ratio} times its peers', {allowed} allowed: requests beyond the peers' sizes by {size}, their share of the cost differs by {mix}",
        origin: "uneven quiet days, simulated: LUNs with metadata",
        bounds: &[MIN_UNLIKE_SIZE, LOCALITY],
        ruling: Ruling::Undecided,
        step: Step::Differs(unlike_work),
    },
    Rule {
        id: "lost-time",
        scope: Scope::Window,
        sentence: "A device that is slow for its work, but loses next to no time by it, does no harm.",
        clause: "{metric} {ratio} times its peers', {lost} of the time lost, {allowed} allowed",
        origin: "docs/methods.md, work and its cost",
        bounds: &[MIN_LOST_S, MIN_LOST_SHARE],
        ruling: Ruling::Excuses,
        step: Step::Differs(lost_time),
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
        id: "burst",
        scope: Scope::Window,
        sentence: "Packets that are sent again in a few slots of a window only are a burst; a lossy link loses them all the time.",
        clause: "{metric} {level}, its peers' {peers}: more than theirs in {recurs} of the slots, {allowed} needed",
        origin: "MooseFS campaign, docs/accuracy.md: a start of many transfers at once",
        bounds: &[MIN_RECURRENCE],
        ruling: Ruling::Excuses,
        step: Step::Matters(burst),
    },
    Rule {
        id: "still-window",
        scope: Scope::Window,
        sentence: "A congestion window that stands still belongs to a connection with next to nothing to send, and remembers a loss of long ago.",
        clause: "{metric} {level}, changed in {movement} of the slots",
        origin: "first real campaign, docs/accuracy.md",
        bounds: &[LOSS_SEGMENTS, MIN_MOVEMENT],
        ruling: Ruling::Excuses,
        step: Step::Matters(still_window),
    },
    Rule {
        id: "nothing-resent",
        scope: Scope::Window,
        sentence: "A congestion window of connections that send nothing again is not held down by loss; it may remember one of long ago.",
        clause: "{metric} {level}, its peers' {peers}; {resent} segments/s were sent again",
        origin: "MooseFS campaign, docs/accuracy.md: idle connections keep a window of two segments",
        bounds: &[MAX_RESENT],
        ruling: Ruling::Excuses,
        step: Step::Matters(nothing_resent),
    },
    Rule {
        id: "cost-decides",
        scope: Scope::Window,
        sentence: "Where work and the time it took are recorded, what the work costs decides; latency and volume only show it, unless this device alone is saturated by the same work.",
        clause: "{metric} {ratio} times its peers'; its work costs {cost} times theirs, {lost} of the time lost",
        origin: "CUG'13; docs/methods.md, work and its cost",
        bounds: &[SATURATED, MIN_SATURATED_RATIO, MAX_ALIKE_WORK],
        ruling: Ruling::Explains,
        step: Step::Matters(cost_decides),
    },
    Rule {
        id: "asked-for",
        scope: Scope::Window,
        sentence: "More work than its peers' is a load, unless it is a server's, did not come by the network, and is of another kind or the network tells.",
        clause: "{metric} {level} of the time, its peers' {peers}; {by_network} of the extra bytes came by the network",
        origin: "FAST'10, section 12; docs/methods.md, work and its cost",
        bounds: &[MIN_BY_NETWORK, MIN_ACCOUNTED, MIN_SIZE_RATIO, MIN_READ_DIFFERENCE],
        ruling: Ruling::Explains,
        step: Step::Matters(asked_for),
    },
    Rule {
        id: "served",
        scope: Scope::Window,
        sentence: "More traffic than its peers' that its disk read or wrote as well is the file system's own.",
        clause: "{metric} {level}, its peers' {peers}; {by_disk} of the extra bytes went to or came from its disk",
        origin: "uneven load, as at most sites: a server that is asked for more has no hog",
        bounds: &[MIN_BY_DISK],
        ruling: Ruling::Explains,
        step: Step::Matters(served),
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
        id: "attachment-volume",
        scope: Scope::Window,
        sentence: "Files are not spread evenly over LUNs: only much more volume than the peers' indicts an attachment.",
        clause: "{metric} {ratio} times its peers', {allowed} allowed",
        origin: "LISA'13, section 5.2.3",
        bounds: &[MIN_ATTACHMENT_VOLUME],
        ruling: Ruling::Explains,
        step: Step::Matters(attachment_volume),
    },
    Rule {
        id: "disk-volume",
        scope: Scope::Window,
        sentence: "Load is not spread evenly over disks: only far more volume than the peers' indicts a disk.",
        clause: "{metric} {ratio} times its peers', {allowed} allowed",
        origin: "docs/accuracy.md, twelve disks",
        bounds: &[MIN_DISK_VOLUME],
        ruling: Ruling::Explains,
        step: Step::Matters(disk_volume),
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
        clause: "{metric} {level}, {ratio} times its peers' {peers}; score {score}, threshold {threshold}",
        origin: "FAST'10, section 10.1; LISA'13, section 4.2",
        bounds: &[],
        ruling: Ruling::Indicts(None),
        step: Step::Matters(differs),
    },
    Rule {
        id: "published",
        scope: Scope::Window,
        sentence: "A score that exceeds a trained threshold indicts, as published; no rule excuses it.",
        clause: "{metric} {level}, {ratio} times its peers' {peers}; score {score}, threshold {threshold}",
        origin: "FAST'10, section 10.1; LISA'13, section 4.2; trained only",
        bounds: &[],
        ruling: Ruling::Indicts(None),
        step: Step::Published,
    },
    Rule {
        id: "filter",
        scope: Scope::Window,
        sentence: "What lasts less than k of the last 2k-1 windows of the method is chance.",
        clause: "{metric} {ratio} times its peers' in {exceeded} of the last {windows} windows, {needed} needed",
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

/// Asks the rules in order. Without any that speaks, nothing is wrong.
pub fn decide(case: &Case, without: &Without) -> Option<Decision> {
    RULES.iter().filter(|rule| without.asks(rule)).find_map(|rule| {
        let (numbers, relation) = match rule.step {
            Step::Exceeds(speaks) | Step::Differs(speaks) => (speaks(case)?, Relation::Alike),
            Step::Matters(speaks) => (speaks(case)?, case.relation()),
            Step::Published
            | Step::Lasts
            | Step::Cause(_)
            | Step::Reported(_)
            | Step::Part(_)
            | Step::Together(_)
            | Step::SharedCause(_)
            | Step::Group(_)
            | Step::Judged(_)
            | Step::HasData(_) => return None,
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
    (seen.score == Score::Missing && !case.is_silent)
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

fn window_size(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    if seen.metric.role() != Role::Congestion || case.is_absent() {
        return None;
    }
    // The method itself is one-sided and works on logarithms, where a spread means something.
    let share = (MAX_WINDOW_SHARE.value * seen.peer_level).min(HARMLESS_SEGMENTS.value);
    let is_low = seen.level < MAX_SEGMENTS.value || seen.level <= share;
    (!is_low || seen.difference().is_nan() || seen.difference() >= 0.0).then(|| {
        let allowed = MAX_SEGMENTS.value.max(share);
        Numbers::of(&[("level", seen.level), ("peers", seen.peer_level), ("allowed", allowed)])
    })
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
        Role::StorageLatency => match seen.peer_level {
            // No device answers this fast: the unit is not milliseconds, and what is negligible in it is not known.
            peers if peers > 0.0 && peers < MIN_LATENCY_MS.value => 0.0,
            peers if peers <= own => IDLE_GROUP.value * own,
            _ => own,
        },
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
    (load > 1.0 && is_within(case, allowed))
        .then(|| Numbers::of(&[("ratio", case.reading.ratio), ("allowed", allowed), ("load", load)]))
}

/// The effect at which a device is slow for its work, given how much its peers differ.
pub fn cost_threshold(spread: f64) -> f64 {
    MIN_COST_RATIO.value.ln().max(MIN_COST_SPREADS.value * spread)
}

fn unlike_work(case: &Case) -> Option<Numbers> {
    if case.reading.metric.role() != Role::Cost {
        return None;
    }
    let unlike = &case.account()?.unlike;
    let by_size = unlike.size / MIN_UNLIKE_SIZE.value;
    let by_mix = LOCALITY.value.powf(unlike.mix);
    let allowed = MIN_COST_RATIO.value * by_size.max(by_mix);
    (by_size.max(by_mix) > 1.0 && case.reading.ratio < allowed).then(|| {
        Numbers::of(&[
            ("ratio", case.reading.ratio),
            ("allowed", allowed),
            ("size", unlike.size),
            ("mix", unlike.mix),
        ])
    })
}

fn lost_time(case: &Case) -> Option<Numbers> {
    if case.reading.metric.role() != Role::Cost {
        return None;
    }
    let account = case.account()?;
    let allowed = (MIN_LOST_S.value / account.seconds).max(MIN_LOST_SHARE.value);
    (account.lost() < allowed).then(|| {
        Numbers::of(&[("ratio", case.reading.ratio), ("lost", account.lost()), ("allowed", allowed)])
    })
}

/// Whether only this device saturates, by no more work than its peers': then its time in service says no more than that, and how
/// much slower it is shows in how long requests wait.
fn waits_while_peers_do_not(case: &Case) -> bool {
    let (Some(account), Some(work)) = (case.account(), case.reading_of(Metric::Work)) else { return false };
    let is_saturated = account.service >= SATURATED.value
        && account.lost() >= 1.0 - SATURATED.value
        && work.level <= MAX_ALIKE_WORK.value * work.peer_level;
    is_saturated
        && case.reading.metric.role() == Role::StorageLatency
        && case.reading.ratio >= MIN_SATURATED_RATIO.value
}

fn cost_decides(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    let is_shown = match seen.metric.role() {
        Role::StorageLatency | Role::StorageVolume => has_more(case),
        Role::NetworkVolume
        | Role::Congestion
        | Role::Retransmission
        | Role::HostHealth
        | Role::LinkHealth
        | Role::Load
        | Role::Account
        | Role::Cost
        | Role::Work
        | Role::Context => false,
    };
    let account = case.account().filter(|_| is_shown && !waits_while_peers_do_not(case))?;
    Some(Numbers::of(&[("ratio", seen.ratio), ("cost", account.ratio()), ("lost", account.lost().min(1.0))]))
}

/// Bytes of disk and network of a component beyond its peers', and of its peers.
struct Traffic {
    read: f64,
    written: f64,
    sent: f64,
    received: f64,
    requests: f64,
}

impl Traffic {
    fn of(case: &Case, value: impl Fn(&Reading) -> f64) -> Traffic {
        let level = |metric: Metric| case.reading_of(metric).map_or(f64::NAN, |seen| value(&seen).max(0.0));
        let known = |metric: Metric| Some(level(metric)).filter(|value| !value.is_nan()).unwrap_or(0.0);
        Traffic {
            read: known(Metric::RdSec) * SECTOR,
            written: known(Metric::WrSec) * SECTOR,
            sent: level(Metric::Txbyt),
            received: level(Metric::Rxbyt),
            requests: known(Metric::Tps),
        }
    }

    fn bytes(&self) -> f64 {
        self.read + self.written
    }

    /// Share of the disk's bytes that the network carried; NaN where that is not recorded.
    fn by_network(&self) -> f64 {
        // `min` would pass over what is not recorded.
        let carried = |disk: f64, network: f64| if network.is_nan() { network } else { disk.min(network) };
        (carried(self.read, self.sent) + carried(self.written, self.received)) / self.bytes()
    }
}

/// Whether the extra work of a component is of another kind than its peers' work.
fn is_other_kind(extra: &Traffic, peers: &Traffic) -> bool {
    let sizes = (extra.bytes() / extra.requests) / (peers.bytes() / peers.requests);
    let reads = extra.read / extra.bytes() - peers.read / peers.bytes();
    let is_alike = sizes < MIN_SIZE_RATIO.value && sizes * MIN_SIZE_RATIO.value > 1.0;
    // Peers that do nothing have no kind: whatever it does is another.
    let is_known = !(sizes.is_nan() || reads.is_nan());
    !(is_known && is_alike && reads.abs() < MIN_READ_DIFFERENCE.value)
}

fn asked_for(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    if seen.metric.role() != Role::Work || !has_more(case) {
        return None;
    }
    let (extra, peers) = (Traffic::of(case, Reading::difference), Traffic::of(case, |seen| seen.peer_level));
    let by_network = extra.by_network();
    let is_told = peers.by_network() >= MIN_ACCOUNTED.value;
    let is_own = case.kind == Kind::Server
        && by_network < MIN_BY_NETWORK.value
        && (is_told || is_other_kind(&extra, &peers));
    (!is_own).then(|| {
        Numbers::of(&[("level", seen.level), ("peers", seen.peer_level), ("by_network", by_network)])
    })
}

fn served(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    if seen.metric.role() != Role::NetworkVolume || !has_more(case) {
        return None;
    }
    let extra = Traffic::of(case, Reading::difference);
    let disk = if seen.metric == Metric::Rxbyt { extra.written } else { extra.read };
    let by_disk = disk / seen.difference();
    (by_disk >= MIN_BY_DISK.value)
        .then(|| Numbers::of(&[("level", seen.level), ("peers", seen.peer_level), ("by_disk", by_disk)]))
}

fn replaced(case: &Case) -> Option<Numbers> {
    (case.is_silent && case.is_replaced).then(|| Numbers::of(&[("windows", REPLACED_WITHIN.value)]))
}

fn idle(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    (case.relation() == Relation::Idle && case.kind != Kind::Attachment)
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

fn burst(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    let is_burst = seen.metric.role() == Role::Retransmission && seen.recurrence < MIN_RECURRENCE.value;
    is_burst.then(|| {
        Numbers::of(&[
            ("level", seen.level),
            ("peers", seen.peer_level),
            ("recurs", seen.recurrence),
            ("allowed", MIN_RECURRENCE.value),
        ])
    })
}

fn still_window(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    let is_still = seen.level > LOSS_SEGMENTS.value && seen.movement < MIN_MOVEMENT.value;
    (case.relation() == Relation::Low && seen.metric.role() == Role::Congestion && is_still)
        .then(|| Numbers::of(&[("level", seen.level), ("movement", seen.movement)]))
}

fn nothing_resent(case: &Case) -> Option<Numbers> {
    let resent = case.resent().filter(|_| case.relation() == Relation::Low)?;
    let seen = &case.reading;
    // Neither is loss known before it could have been seen.
    (resent.is_nan() || resent < MAX_RESENT.value)
        .then(|| Numbers::of(&[("level", seen.level), ("peers", seen.peer_level), ("resent", resent)]))
}

/// Whether it has more of something than its peers; silence is no small volume.
fn has_more(case: &Case) -> bool {
    case.relation() == Relation::High
}

fn server_volume(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    if seen.metric.role() != Role::StorageVolume || case.kind != Kind::Server || !has_more(case) {
        return None;
    }
    let allowed = MIN_SERVER_VOLUME.value * seen.metric.properties().negligible;
    (seen.difference() < allowed)
        .then(|| Numbers::of(&[("level", seen.level), ("peers", seen.peer_level), ("allowed", allowed)]))
}

fn attachment_volume(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    let is_its = seen.metric.role() == Role::StorageVolume && case.kind == Kind::Attachment;
    // Less than its peers means that its load went elsewhere.
    (is_its && has_more(case) && seen.ratio < MIN_ATTACHMENT_VOLUME.value)
        .then(|| Numbers::of(&[("ratio", seen.ratio), ("allowed", MIN_ATTACHMENT_VOLUME.value)]))
}

fn disk_volume(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    let is_its = match case.kind {
        Kind::Server | Kind::Attachment | Kind::Group => false,
        Kind::Controller | Kind::Drawer | Kind::Lun | Kind::Device => true,
    };
    let is_little = seen.metric.role() == Role::StorageVolume && seen.ratio < MIN_DISK_VOLUME.value;
    (is_its && has_more(case) && is_little)
        .then(|| Numbers::of(&[("ratio", seen.ratio), ("allowed", MIN_DISK_VOLUME.value)]))
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

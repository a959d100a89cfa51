//! Rules of one trouble of one component: what its cause is, and whether it is worth a report.
//!
//! Of the disks, what their work costs says it (docs/methods.md, "Work and its cost"); where work is not recorded, FAST'10's order,
//! sections 10.2 and 12, with secondary manifestations told by their severity. Of the network, more traffic is a hog, and a low
//! congestion window without it is loss.

use super::{Bound, Numbers, Rule, Ruling, Scope, Step, Without};
use crate::diagnose::bound::{HALF, TENTH};
use crate::diagnose::budget::{KNOWN_AFTER, Rarity};
use crate::diagnose::case::Relation;
use crate::diagnose::cause::Cause;
use crate::diagnose::evidence::{Episode, Evidence, FIRST_SLOW, SILENCE_SEVERITY};
use crate::diagnose::ledger::{STALLED_BUSY, STALLED_IN_FLIGHT, SlowPiece};
use crate::diagnose::persistence::{OVER_AFTER, Trouble};
use crate::model::metric::{Harm, Role};
use crate::model::{Kind, Metric};
use crate::stats::{Spread, median};

/// A device is stalled where nothing was completed in this share of the slow time.
const MIN_STALLED: Bound = Bound::new("min_stalled", HALF, "of the slow time");
/// A neighbour's time does not grow with the requests: the excess of each falls with the queue by more than this power ...
const NEIGHBOUR_SLOPE: Bound = Bound::new("max_slope", -0.5, "power of the queue");
/// ... where the queue varies by more than this.
const MIN_QUEUE_VARIATION: Bound =
    Bound::new("min_queue_variation", TENTH, "standard deviation of its logarithm");
/// Every request is late by about the same: its robust variation is at most this.
const MAX_EXCESS_VARIATION: Bound = Bound::new("max_variation", 0.14, "of the median excess");
/// What explains a trouble lasts at least this share of it.
const MIN_WORK_WINDOWS: Bound = Bound::new("min_lasting", HALF, "of the trouble");
/// A metric this many times less severe than the worst is a secondary manifestation.
const SECONDARY: Bound = Bound::new("secondary_below", 4.0, "times less severe");
/// Three windows just above the threshold may be chance in any recording, however short.
const MIN_IMPACT: Bound = Bound::new("min_impact", 3.5, "persistence times severity");
/// Chance grows with the square root of the number of windows.
const IMPACT_OF_WINDOWS: Bound = Bound::new("impact_of_windows", 1.1, "times the square root of the windows");
/// In a recording of so few windows the bar is the lowest; at twice as many it is that of the windows.
const FEW_WINDOWS: Bound = Bound::new("few_windows", OVER_AFTER.value, "windows");
/// After so long the bar stays ...
const DAY: Bound = Bound::new("day", 86_400.0, "s");
/// ... and after so many windows at least: those of `cdf` on its own grid.
const MIN_DAY_WINDOWS: Bound = Bound::new("min_day", 192.0, "windows");

/// Episode rules, in the order in which they are asked.
pub static RULES: &[Rule] = &[
    Rule {
        id: "all-silent",
        scope: Scope::Episode,
        sentence: "Without samples in all metrics that were judged, the component is silent.",
        clause: "{metrics} metrics without samples",
        origin: "LISA'13, section 6",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::Silent)),
        step: Step::Cause(all_silent),
    },
    Rule {
        id: "link-flaps",
        scope: Scope::Episode,
        sentence: "A link that goes down and up again flaps, whatever else that does to the traffic.",
        clause: "{level} changes a second, its peers' {peers}",
        origin: "flapping links, docs/faults.md",
        bounds: &[MIN_WORK_WINDOWS],
        ruling: Ruling::Indicts(Some(Cause::FlappingLink)),
        step: Step::Cause(|seen| seen.harmful(Metric::CarrierChanges)),
    },
    Rule {
        id: "low-link-speed",
        scope: Scope::Episode,
        sentence: "A link that has negotiated a lower speed than its peers' is slow.",
        clause: "{level} Mbit/s, its peers' {peers}",
        origin: "slow links, docs/faults.md",
        bounds: &[MIN_WORK_WINDOWS],
        ruling: Ruling::Indicts(Some(Cause::SlowLink)),
        step: Step::Cause(|seen| seen.harmful(Metric::LinkSpeed)),
    },
    Rule {
        id: "errors-of-link",
        scope: Scope::Episode,
        sentence: "Interfaces that report errors or drop packets, without more traffic than their peers', have a bad link.",
        clause: "{level} packets a second, its peers' {peers}",
        origin: "link errors, docs/faults.md",
        bounds: &[MIN_WORK_WINDOWS],
        ruling: Ruling::Indicts(Some(Cause::LinkErrors)),
        step: Step::Cause(|seen| seen.harmful(Metric::NetErrors).filter(|_| seen.traffic.is_none())),
    },
    Rule {
        id: "short-of-memory",
        scope: Scope::Episode,
        sentence: "A host in which processes wait for memory, or which has next to none left, is under memory pressure.",
        clause: "{level} %, its peers' {peers}",
        origin: "memory pressure, docs/faults.md",
        bounds: &[MIN_WORK_WINDOWS],
        ruling: Ruling::Indicts(Some(Cause::MemoryPressure)),
        step: Step::Cause(|seen| {
            seen.harmful(Metric::MemoryWait).or_else(|| seen.harmful(Metric::MemoryAvailable))
        }),
    },
    Rule {
        id: "short-of-cpu",
        scope: Scope::Episode,
        sentence: "A host in which processes wait for a CPU, or whose CPUs are full, starves the file system's server.",
        clause: "{level} %, its peers' {peers}",
        origin: "CPU hogs, docs/faults.md",
        bounds: &[MIN_WORK_WINDOWS],
        ruling: Ruling::Indicts(Some(Cause::CpuStarved)),
        step: Step::Cause(|seen| seen.harmful(Metric::CpuWait).or_else(|| seen.harmful(Metric::CpuBusy))),
    },
    Rule {
        id: "lun-load",
        scope: Scope::Episode,
        sentence: "A LUN or disk that only has more to do than its peers has a load of its own.",
        clause: "more work in {windows} windows",
        origin: "LISA'13, section 5.2.3",
        bounds: &[],
        ruling: Ruling::Observes(Cause::SingleLunWorkload),
        step: Step::Cause(|seen| load(seen).filter(|_| seen.kind != Kind::Server)),
    },
    Rule {
        id: "server-load",
        scope: Scope::Episode,
        sentence: "A server that only has more to do than its peers is asked for more.",
        clause: "more work in {windows} windows",
        origin: "docs/methods.md, work and its cost",
        bounds: &[],
        ruling: Ruling::Observes(Cause::Load),
        step: Step::Cause(|seen| load(seen).filter(|_| seen.kind == Kind::Server)),
    },
    Rule {
        id: "own-work",
        scope: Scope::Episode,
        sentence: "A server whose disk has more to do than its peers', for as long as it is slow, and not by the network, has a hog.",
        clause: "more work in {work_windows} windows, slow in {slow_windows}",
        origin: "FAST'10, section 10.2, step 1; docs/methods.md, work and its cost",
        bounds: &[MIN_WORK_WINDOWS],
        ruling: Ruling::Indicts(Some(Cause::DiskHog)),
        step: Step::Cause(own_work),
    },
    Rule {
        id: "slow-lun",
        scope: Scope::Episode,
        sentence: "A LUN that takes longer for its work than its peers, or is slow without a load that explains it, has a fault.",
        clause: "it takes {ratio} times as long as its peers",
        origin: "LISA'13, section 5.2.3; docs/methods.md, work and its cost",
        bounds: &[SECONDARY, MIN_WORK_WINDOWS],
        ruling: Ruling::Indicts(Some(Cause::ComponentFault)),
        step: Step::Cause(|seen| seen.slowness().filter(|_| seen.is_stored())),
    },
    Rule {
        id: "stalled",
        scope: Scope::Episode,
        sentence: "A device with requests under way that completes next to none is stalled.",
        clause: "nothing completed in {stalled} of the slow time",
        origin: "docs/methods.md, work and its cost: real runs",
        bounds: &[MIN_STALLED, STALLED_BUSY, STALLED_IN_FLIGHT],
        ruling: Ruling::Indicts(Some(Cause::DiskStall)),
        step: Step::Cause(stalled),
    },
    Rule {
        id: "late-requests",
        scope: Scope::Episode,
        sentence: "A device of which every request is late by about the same fails slowly; a neighbour costs a share of the time, or of the queue.",
        clause: "each request late by {excess_ms} ms, varying by {variation}",
        origin: "docs/methods.md, work and its cost: real runs",
        bounds: &[NEIGHBOUR_SLOPE, MIN_QUEUE_VARIATION, MAX_EXCESS_VARIATION, FIRST_SLOW],
        ruling: Ruling::Indicts(Some(Cause::FailSlow)),
        step: Step::Cause(late_requests),
    },
    Rule {
        id: "slow-disk",
        scope: Scope::Episode,
        sentence: "A server or disk that takes longer for its work than its peers, or is slow without a load that explains it, has a busy disk.",
        clause: "it takes {ratio} times as long as its peers",
        origin: "FAST'10, section 10.2, step 2; docs/methods.md, work and its cost",
        bounds: &[SECONDARY, MIN_WORK_WINDOWS],
        ruling: Ruling::Indicts(Some(Cause::DiskBusy)),
        step: Step::Cause(|seen| seen.slowness().filter(|_| !seen.is_stored())),
    },
    Rule {
        id: "lun-volume",
        scope: Scope::Episode,
        sentence: "A LUN or disk with more volume than its peers, at least nearly as severe as its latency, has a load of its own.",
        clause: "severity of volume {volume}, of latency {latency}",
        origin: "LISA'13, section 5.2.3",
        bounds: &[SECONDARY, MIN_WORK_WINDOWS],
        ruling: Ruling::Observes(Cause::SingleLunWorkload),
        step: Step::Cause(lun_volume),
    },
    Rule {
        id: "disk-load",
        scope: Scope::Episode,
        sentence: "A server with more volume than its peers, at least nearly as severe as its latency, has a hog.",
        clause: "severity of volume {volume}, of latency {latency}",
        origin: "FAST'10, section 10.2, step 1",
        bounds: &[SECONDARY, MIN_WORK_WINDOWS],
        ruling: Ruling::Indicts(Some(Cause::DiskHog)),
        step: Step::Cause(disk_load),
    },
    Rule {
        id: "traffic",
        scope: Scope::Episode,
        sentence: "A server with more traffic than its peers has a network hog.",
        clause: "traffic {ratio} times the peers'",
        origin: "FAST'10, section 10.2, step 3",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::NetworkHog)),
        step: Step::Cause(traffic),
    },
    Rule {
        id: "low-window",
        scope: Scope::Episode,
        sentence: "A low congestion window without more traffic is loss.",
        clause: "the congestion window is {ratio} times the peers'",
        origin: "FAST'10, section 10.2, step 4",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::PacketLoss)),
        step: Step::Cause(low_window),
    },
    Rule {
        id: "sent-again",
        scope: Scope::Episode,
        sentence: "Segments that are sent again, without more traffic, are lost on the way: by a bad link, or by one that flaps.",
        clause: "{ratio} times as many as of the peers",
        origin: "flapping links, docs/faults.md",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::PacketLoss)),
        step: Step::Cause(sent_again),
    },
    Rule {
        id: "idle-unknown",
        scope: Scope::Episode,
        sentence: "A component that does less than its peers is in trouble of unknown cause: where its load went, only the topology can say.",
        clause: "idle in {metrics} metrics",
        origin: "LISA'13, section 5.2.1",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::Unknown)),
        step: Step::Cause(idle_unknown),
    },
    Rule {
        id: "checklist-disk-hog",
        scope: Scope::Episode,
        sentence: "Trained thresholds indict for differences of any size and direction: then the paper's word stands. Volume: a disk hog.",
        clause: "rd_sec or wr_sec differ",
        origin: "FAST'10, section 10.2, step 1",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::DiskHog)),
        step: Step::Cause(|seen| published(seen, Cause::DiskHog)),
    },
    Rule {
        id: "checklist-disk-busy",
        scope: Scope::Episode,
        sentence: "The paper's checklist: latency is a busy disk.",
        clause: "await differs",
        origin: "FAST'10, section 10.2, step 2",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::DiskBusy)),
        step: Step::Cause(|seen| published(seen, Cause::DiskBusy)),
    },
    Rule {
        id: "checklist-network-hog",
        scope: Scope::Episode,
        sentence: "The paper's checklist: traffic both ways, or one way without congestion, is a network hog.",
        clause: "rxbyt or txbyt differ",
        origin: "FAST'10, section 10.2, step 3",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::NetworkHog)),
        step: Step::Cause(|seen| published(seen, Cause::NetworkHog)),
    },
    Rule {
        id: "checklist-packet-loss",
        scope: Scope::Episode,
        sentence: "The paper's checklist: congestion is loss.",
        clause: "cwnd differs",
        origin: "FAST'10, section 10.2, step 4",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::PacketLoss)),
        step: Step::Cause(|seen| published(seen, Cause::PacketLoss)),
    },
    Rule {
        id: "unexplained",
        scope: Scope::Episode,
        sentence: "A trouble that no rule explains has an unknown cause.",
        clause: "no other rule spoke",
        origin: "FAST'10, section 10.2",
        bounds: &[],
        ruling: Ruling::Indicts(Some(Cause::Unknown)),
        step: Step::Cause(|_| Some(Numbers::NONE)),
    },
    Rule {
        id: "budget",
        scope: Scope::Episode,
        sentence: "A slowness that chance would show more often than the budget of false alarms allows, given how slow healthy peers were for how long, is not reported.",
        clause: "{ratio} times its peers' for {minutes} minutes at its rarest, {allowed} allowed",
        origin: "docs/methods.md, a budget of false alarms",
        bounds: &[KNOWN_AFTER],
        ruling: Ruling::Excuses,
        step: Step::Reported(within_budget),
    },
    Rule {
        id: "impact",
        scope: Scope::Episode,
        sentence: "Anomalies always exist in a large system. Where it is not known how rare a slowness is: the longer the recording, the longer or the more violent a trouble must be to be reported.",
        clause: "persistence times severity {impact}, {needed} needed",
        origin: "LISA'13, section 4.3; simulated quiet days",
        bounds: &[
            KNOWN_AFTER,
            MIN_IMPACT,
            IMPACT_OF_WINDOWS,
            FEW_WINDOWS,
            DAY,
            MIN_DAY_WINDOWS,
            SILENCE_SEVERITY,
            OVER_AFTER,
        ],
        ruling: Ruling::Excuses,
        step: Step::Reported(impact),
    },
];

/// The strongest evidence of each kind.
pub struct Symptoms<'a> {
    kind: Kind,
    /// Nothing of it indicts.
    is_load: bool,
    episode: &'a Episode,
    volume: Option<&'a Evidence>,
    latency: Option<&'a Evidence>,
    traffic: Option<&'a Evidence>,
    congestion: Option<&'a Evidence>,
    retransmission: Option<&'a Evidence>,
    cost: Option<&'a Evidence>,
    work: Option<&'a Evidence>,
}

/// A rule of an episode that spoke.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spoken {
    /// The rule.
    pub rule: &'static Rule,
    /// The metric it spoke of, if of one.
    pub metric: Option<Metric>,
    /// What it spoke upon.
    pub numbers: Numbers,
}

/// The cause of an episode, and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// The cause.
    pub cause: Cause,
    /// Rules that spoke, in order; the last named the cause.
    pub spoken: Vec<Spoken>,
}

/// The strongest explanation of everything that was seen on a component.
pub fn cause(kind: Kind, trouble: &Trouble, without: &Without) -> Named {
    let symptoms = Symptoms::of(kind, trouble);
    let named = without.first(RULES, |rule| {
        let (Step::Cause(speaks), Some(cause)) = (rule.step, rule.ruling.cause()) else {
            return None;
        };
        let numbers = speaks(&symptoms)?;
        Some(Named { cause, spoken: vec![Spoken { rule, metric: None, numbers }] })
    });
    named.unwrap_or(Named { cause: Cause::Unknown, spoken: Vec::new() })
}

impl<'a> Symptoms<'a> {
    fn of(kind: Kind, trouble: &'a Trouble) -> Symptoms<'a> {
        let episode = &trouble.episode;
        let strongest = |role: Role, relation: Relation| {
            let matching = episode
                .evidence
                .iter()
                .filter(|(metric, evidence)| metric.role() == role && evidence.relation() == relation);
            matching.map(|(_, evidence)| evidence).max_by(|a, b| a.severity().total_cmp(&b.severity()))
        };
        Symptoms {
            kind,
            is_load: trouble.is_load,
            episode,
            volume: strongest(Role::StorageVolume, Relation::High),
            latency: strongest(Role::StorageLatency, Relation::High),
            traffic: strongest(Role::NetworkVolume, Relation::High),
            congestion: strongest(Role::Congestion, Relation::Low),
            retransmission: strongest(Role::Retransmission, Relation::High),
            cost: strongest(Role::Cost, Relation::High),
            work: strongest(Role::Work, Relation::High),
        }
    }

    /// The worst window of a metric that is on its harmful side.
    fn harmful(&self, metric: Metric) -> Option<Numbers> {
        let harmful = match metric.properties().harm {
            Harm::High => Relation::High,
            Harm::Low => Relation::Low,
        };
        let evidence = self.episode.evidence.get(&metric).filter(|seen| seen.relation() == harmful)?;
        // What was seen for a short while does not rename a trouble that lasts. Windows of different metrics have different lengths: spans.
        let span = |seen: &Evidence| seen.to.since(seen.from) as f64;
        let longest = self.episode.evidence.values().map(span).fold(0.0, f64::max);
        if span(evidence) < MIN_WORK_WINDOWS.value * longest {
            return None;
        }
        Some(Numbers::of(&[("level", evidence.peak.level), ("peers", evidence.peak.peer_level)]))
    }

    fn is_stored(&self) -> bool {
        match self.kind {
            Kind::Lun | Kind::Attachment => true,
            Kind::Server | Kind::Controller | Kind::Drawer | Kind::Device | Kind::Group => false,
        }
    }

    /// More volume that lasts, and is not merely a secondary manifestation of the latency.
    fn has_load(&self) -> bool {
        is_primary(severity(self.volume), severity(self.latency)) && lasts(self.volume, self.latency)
    }

    fn loads(&self) -> Numbers {
        Numbers::of(&[("volume", severity(self.volume)), ("latency", severity(self.latency))])
    }

    /// How many times as long as its peers it takes: for its work, or, where that is not recorded, in latency that no load explains.
    fn slowness(&self) -> Option<Numbers> {
        let slow = self.cost.or(self.latency.filter(|_| !self.has_load()))?;
        Some(Numbers::of(&[("ratio", slow.ratio())]))
    }
}

fn severity(evidence: Option<&Evidence>) -> f64 {
    evidence.map_or(0.0, Evidence::severity)
}

fn is_primary(part: f64, whole: f64) -> bool {
    part > 0.0 && part * SECONDARY.value >= whole
}

fn windows(evidence: Option<&Evidence>) -> f64 {
    evidence.map_or(0.0, |evidence| f64::from(evidence.windows))
}

/// Whether more to do lasts long enough to explain a slowness.
fn lasts(more: Option<&Evidence>, slow: Option<&Evidence>) -> bool {
    windows(more) >= MIN_WORK_WINDOWS.value * windows(slow)
}

fn all_silent(seen: &Symptoms) -> Option<Numbers> {
    let evidence = &seen.episode.evidence;
    let is_silent = evidence.values().all(|evidence| evidence.relation() == Relation::Silent);
    is_silent.then(|| Numbers::of(&[("metrics", evidence.len() as f64)]))
}

/// More to do than its peers, and nothing else.
fn load(seen: &Symptoms) -> Option<Numbers> {
    let windows = seen.episode.evidence.values().map(|evidence| evidence.windows).max()?;
    seen.is_load.then(|| Numbers::of(&[("windows", f64::from(windows))]))
}

fn own_work(seen: &Symptoms) -> Option<Numbers> {
    // Work that only explains is what it was asked for.
    let own = seen.work.map_or(0.0, |work| f64::from(work.indicting));
    let lasts = own > 0.0 && own >= MIN_WORK_WINDOWS.value * windows(seen.cost);
    (lasts && seen.kind == Kind::Server)
        .then(|| Numbers::of(&[("work_windows", own), ("slow_windows", windows(seen.cost))]))
}

fn stalled(seen: &Symptoms) -> Option<Numbers> {
    seen.cost?;
    let slow = &seen.episode.slow;
    let stalled = slow.iter().map(|piece| piece.stalled).sum::<f64>() / slow.len() as f64;
    (stalled >= MIN_STALLED.value).then(|| Numbers::of(&[("stalled", stalled)]))
}

/// The slope of the logarithm of the excess of each request on that of the queue, and the deviation of the latter. The median of the slopes
/// of all pairs: the first and the last pieces are slow in part, and must not turn it.
fn slope(slow: &[SlowPiece]) -> (f64, f64) {
    let points: Vec<(f64, f64)> = slow
        .iter()
        .map(|piece| (piece.queue.ln(), piece.excess_s.ln()))
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    let pairs = points.iter().enumerate().flat_map(|(place, a)| points[..place].iter().map(move |b| (a, b)));
    let mut slopes: Vec<f64> =
        pairs.filter(|(a, b)| a.0 != b.0).map(|(a, b)| (a.1 - b.1) / (a.0 - b.0)).collect();
    let count = points.len() as f64;
    let mean = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let squares: f64 = points.iter().map(|(x, _)| (x - mean).powi(2)).sum();
    (median(&mut slopes), (squares / count).sqrt())
}

fn late_requests(seen: &Symptoms) -> Option<Numbers> {
    seen.cost?;
    let slow = &seen.episode.slow;
    let (slope, deviation) = slope(slow);
    let is_shared = slope <= NEIGHBOUR_SLOPE.value && deviation > MIN_QUEUE_VARIATION.value;
    let variation = |of: fn(&SlowPiece) -> f64| {
        let spread = Spread::of(&slow.iter().map(of).collect::<Vec<f64>>());
        spread.deviation / spread.middle
    };
    let (variation, of_ratio) = (variation(|piece| piece.excess_s), variation(|piece| piece.excess_ratio));
    // A neighbour that gets its share of the time costs a multiple of the work, not so much for each request.
    let is_shared = is_shared || variation >= of_ratio;
    let excess = Spread::of(&slow.iter().map(|piece| piece.excess_s).collect::<Vec<f64>>()).middle;
    (!is_shared && variation <= MAX_EXCESS_VARIATION.value)
        .then(|| Numbers::of(&[("excess_ms", 1000.0 * excess), ("variation", variation)]))
}

fn lun_volume(seen: &Symptoms) -> Option<Numbers> {
    (seen.has_load() && seen.kind != Kind::Server).then(|| seen.loads())
}

fn disk_load(seen: &Symptoms) -> Option<Numbers> {
    (seen.has_load() && seen.kind == Kind::Server).then(|| seen.loads())
}

fn traffic(seen: &Symptoms) -> Option<Numbers> {
    seen.traffic.map(|traffic| Numbers::of(&[("ratio", traffic.ratio())]))
}

fn low_window(seen: &Symptoms) -> Option<Numbers> {
    seen.congestion.map(|congestion| Numbers::of(&[("ratio", congestion.ratio())]))
}

fn sent_again(seen: &Symptoms) -> Option<Numbers> {
    seen.retransmission.map(|again| Numbers::of(&[("ratio", again.ratio())]))
}

fn idle_unknown(seen: &Symptoms) -> Option<Numbers> {
    let idle = seen.episode.evidence.values().filter(|evidence| evidence.relation() == Relation::Idle);
    let metrics = idle.count();
    (metrics > 0).then(|| Numbers::of(&[("metrics", metrics as f64)]))
}

fn published(seen: &Symptoms, step: Cause) -> Option<Numbers> {
    let found = checklist(|metric| seen.episode.evidence.contains_key(&metric));
    (found == step).then_some(Numbers::NONE)
}

/// The paper's checklist, first match wins.
pub fn checklist(diverges: impl Fn(Metric) -> bool) -> Cause {
    let congested = diverges(Metric::CwndToClients) || diverges(Metric::CwndFromClients);
    match (diverges(Metric::Rxbyt), diverges(Metric::Txbyt)) {
        _ if diverges(Metric::RdSec) || diverges(Metric::WrSec) => Cause::DiskHog,
        _ if diverges(Metric::Await) => Cause::DiskBusy,
        (true, true) => Cause::NetworkHog,
        (true, false) | (false, true) if !congested => Cause::NetworkHog,
        _ if congested => Cause::PacketLoss,
        _ => Cause::Unknown,
    }
}

/// A trouble that may be worth an administrator's time.
pub struct Impact {
    /// Persistence times severity.
    pub impact: f64,
    /// Windows of the group that were judged.
    pub windows: u64,
    /// Seconds from one window to the next.
    pub shift_s: f64,
    /// Trained, everything is reported, as published.
    pub is_trained: bool,
    /// It is rarer than the budget of false alarms ...
    pub is_rare: bool,
    /// ... and how rare it was at its rarest.
    pub rarity: Option<Rarity>,
    /// It is a slowness, and it is known how rare that is.
    pub is_calibrated: bool,
}

impl Impact {
    /// Of an episode in a group of which so many windows were judged.
    pub fn new(episode: &Episode, windows: u64, shift_s: f64, is_trained: bool) -> Impact {
        Impact {
            impact: episode.impact(),
            windows,
            shift_s,
            is_trained,
            is_rare: episode.is_rare,
            rarity: episode.rarity,
            is_calibrated: episode.is_calibrated(),
        }
    }

    /// The least impact that is reported.
    fn min_impact(&self) -> f64 {
        if self.is_trained {
            return 0.0;
        }
        let day = (DAY.value / self.shift_s).max(MIN_DAY_WINDOWS.value);
        let windows = self.windows as f64;
        let rise = ((windows - FEW_WINDOWS.value) / FEW_WINDOWS.value).clamp(0.0, 1.0);
        (IMPACT_OF_WINDOWS.value * windows.min(day).sqrt() * rise).max(MIN_IMPACT.value)
    }

    /// The rule that says that it is not worth a report, if one does.
    pub fn excused(&self, without: &Without) -> Option<Spoken> {
        without.first(RULES, |rule| {
            let Step::Reported(speaks) = rule.step else { return None };
            Some(Spoken { rule, metric: None, numbers: speaks(self)? })
        })
    }
}

fn within_budget(trouble: &Impact) -> Option<Numbers> {
    let seen = |of: fn(&Rarity) -> f64| trouble.rarity.as_ref().map_or(f64::NAN, of);
    (trouble.is_calibrated && !trouble.is_rare).then(|| {
        Numbers::of(&[
            ("ratio", seen(|rarity| rarity.slowness.exp())),
            ("minutes", seen(|rarity| rarity.seconds / 60.0)),
            ("allowed", seen(|rarity| rarity.bar.exp())),
        ])
    })
}

fn impact(trouble: &Impact) -> Option<Numbers> {
    let needed = trouble.min_impact();
    (trouble.impact < needed && !trouble.is_calibrated && !trouble.is_rare)
        .then(|| Numbers::of(&[("impact", trouble.impact), ("needed", needed)]))
}

#[cfg(test)]
mod tests;

//! Root cause of one component's trouble: FAST'10, sections 10.2 and 12.
//!
//! [`checklist`] is the paper's, in its order. [`ranked`] is ours: the same questions, but secondary manifestations are
//! dropped by severity first, and the depth of the fall in cwnd tells loss from a hog. What it corrects is the paper's
//! own list: a hog's load also raises await; loss also moves rxbyt and txbyt; a hog's congestion also lowers cwnd.

use super::evidence::{Episode, Evidence};
use super::untrained::{self, Relation};
use crate::model::metric::Role;
use crate::model::{Kind, Metric};

/// Why a part limps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "see Cause::meaning")]
pub enum Cause {
    DiskHog,
    DiskBusy,
    NetworkHog,
    PacketLoss,
    LostAttachment,
    ServerDown,
    ControllerFailed,
    DrawerError,
    ComponentFault,
    SingleLunWorkload,
    Silent,
    Unknown,
}

impl Cause {
    /// All causes.
    pub const ALL: [Cause; 12] = [
        Cause::DiskHog,
        Cause::DiskBusy,
        Cause::NetworkHog,
        Cause::PacketLoss,
        Cause::LostAttachment,
        Cause::ServerDown,
        Cause::ControllerFailed,
        Cause::DrawerError,
        Cause::ComponentFault,
        Cause::SingleLunWorkload,
        Cause::Silent,
        Cause::Unknown,
    ];

    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Cause::DiskHog => "disk-hog",
            Cause::DiskBusy => "disk-busy",
            Cause::NetworkHog => "network-hog",
            Cause::PacketLoss => "packet-loss",
            Cause::LostAttachment => "lost-attachment",
            Cause::ServerDown => "server-down",
            Cause::ControllerFailed => "controller-failed",
            Cause::DrawerError => "drawer-error",
            Cause::ComponentFault => "component-fault",
            Cause::SingleLunWorkload => "single-lun-workload",
            Cause::Silent => "silent",
            Cause::Unknown => "unknown",
        }
    }

    /// What it means, in an administrator's words.
    pub fn meaning(self) -> &'static str {
        match self {
            Cause::DiskHog => {
                "the disk does work that its peers do not: a process on the server reads or writes beside the file system"
            }
            Cause::DiskBusy => {
                "requests take longer than on its peers at the same load: a failing disk, a scrub, or a neighbour on shared storage"
            }
            Cause::NetworkHog => {
                "the server sends or receives more than its peers: traffic beside the file system's"
            }
            Cause::PacketLoss => {
                "TCP backs off towards this server only: a bad cable, port, NIC or an overrun switch"
            }
            Cause::LostAttachment => {
                "a LUN is no longer reached through its preferred server: misconfiguration or a bad state"
            }
            Cause::ServerDown => {
                "all LUNs of the server have moved to their next servers: it is down or out of the file system"
            }
            Cause::ControllerFailed => {
                "all LUNs of the controller have moved to other paths: it failed or was failed"
            }
            Cause::DrawerError => "many LUNs behind one controller jitter together: errors in a disk drawer",
            Cause::ComponentFault => "slow without a load that explains it: a fault of the part itself",
            Cause::SingleLunWorkload => "slow because it has a load that its peers do not have",
            Cause::Silent => "no samples while its peers have some: gone, hung, or not recorded",
            Cause::Unknown => "it differs from its peers; the metrics at hand do not say why",
        }
    }

    /// The next command to run, on `host` where it is known.
    pub fn next_command(self, part: &str, host: Option<&str>) -> String {
        // Names come from data; only what looks like a host name goes into a command that people paste into a shell.
        let plain = |name: &&str| {
            name.chars().all(|c| c.is_ascii_alphanumeric() || "._:-".contains(c)) && !name.starts_with('-')
        };
        let on_host = |command: &str| match host.filter(plain) {
            Some(host) => format!("ssh {host} '{command}'"),
            None => format!("on the server of {part}: {command}"),
        };
        match self {
            Cause::DiskHog => on_host("pidstat -d 5 3"),
            Cause::DiskBusy => on_host("iostat -x 5 3; dmesg -T | tail -50"),
            Cause::NetworkHog => on_host("sar -n DEV 5 3; ss -tinp state established"),
            Cause::PacketLoss => on_host("nstat -az TcpRetransSegs; ip -s -s link"),
            Cause::LostAttachment | Cause::ServerDown => {
                on_host("uptime; multipath -ll; dmesg -T | tail -50")
            }
            Cause::ControllerFailed | Cause::DrawerError => format!("read the event log of {part}"),
            Cause::ComponentFault if host.is_none() => format!("read the event log of {part}"),
            Cause::ComponentFault => on_host("multipath -ll; iostat -x 5 3; dmesg -T | tail -50"),
            Cause::SingleLunWorkload => {
                format!("find the jobs with files on {part} (job statistics, lfs find)")
            }
            Cause::Silent => on_host("uptime; lsblk; dmesg -T | tail -50"),
            Cause::Unknown => format!("laggard diagnose … --explain {part}"),
        }
    }
}

/// A metric this many times less severe than the worst is a secondary manifestation.
const SECONDARY: f64 = 4.0;

/// A congestion window below this share of the peers' is loss, whatever the throughput says. A hog leaves about 0.15,
/// five percent of loss 0.015 to 0.08.
const COLLAPSED: f64 = 0.1;

/// Each segment acknowledged instead of every second, and some repeated: more than this is other traffic.
const ANSWERS: f64 = 3.0;

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

/// Ours: the strongest explanation of everything that was seen on a component.
pub fn ranked(kind: Kind, episode: &Episode) -> Cause {
    if episode.evidence.values().all(|evidence| evidence.relation() == Relation::Silent) {
        return Cause::Silent;
    }
    let of = |role: Role, relation: Relation, counts: &dyn Fn(Metric, &Evidence) -> bool| {
        let matching = episode.evidence.iter().filter(|(metric, evidence)| {
            metric.properties().role == role
                && evidence.relation() == relation
                && !is_aftermath(evidence, episode)
                && counts(**metric, evidence)
        });
        matching.map(|(_, evidence)| evidence).max_by(|a, b| a.severity().total_cmp(&b.severity()))
    };
    let always = |_: Metric, _: &Evidence| true;
    let latency = of(Role::StorageLatency, Relation::High, &always);
    // A little more to read or write explains a disk that is slow for as long, and nothing else: a server that was slow has a
    // little more to do afterwards, too.
    let explains = |metric: Metric, evidence: &Evidence| {
        let seen = &evidence.peak;
        let lasts = |slow: &Evidence| 2 * evidence.windows >= slow.windows;
        // That a disk is busy says something only if it is not slow.
        kind != Kind::Server || untrained::is_much(metric, seen) || latency.map_or(seen.is_busy, lasts)
    };
    let volume = of(Role::StorageVolume, Relation::High, &explains);
    let traffic = of(Role::NetworkVolume, Relation::High, &always);
    let congestion = of(Role::Congestion, Relation::Low, &always);
    let severity = |evidence: Option<&Evidence>| evidence.map_or(0.0, Evidence::severity);
    let storage = severity(volume).max(severity(latency));
    let collapsed = congestion.is_some_and(|evidence| evidence.ratio() <= COLLAPSED);
    let stored = matches!(kind, Kind::Lun | Kind::Attachment);
    let is_primary = |part: f64, whole: f64| part > 0.0 && part * SECONDARY >= whole;
    // A busy disk never lowers cwnd, so a collapsed one outranks latency; only a visible extra load outranks it.
    if collapsed && !(is_primary(severity(volume), severity(latency)) && storage > severity(traffic)) {
        return Cause::PacketLoss;
    }
    if is_primary(severity(volume), severity(latency)) {
        return if stored { Cause::SingleLunWorkload } else { Cause::DiskHog };
    }
    if latency.is_some() && is_primary(severity(latency), severity(traffic)) {
        return if stored { Cause::ComponentFault } else { Cause::DiskBusy };
    }
    let low =
        |metric: Metric| episode.evidence.get(&metric).is_some_and(|seen| seen.relation() == Relation::Low);
    let high =
        |metric: Metric| episode.evidence.get(&metric).is_some_and(|seen| seen.relation() == Relation::High);
    // A hog's bytes go the way of the window it lowers; loss makes the acknowledgements grow, which go the other way, and
    // at most twice as many.
    let answers_only = traffic.is_some_and(|evidence| evidence.ratio() < ANSWERS)
        && (low(Metric::CwndFromClients) && high(Metric::Txbyt) && !high(Metric::Rxbyt)
            || low(Metric::CwndToClients) && high(Metric::Rxbyt) && !high(Metric::Txbyt));
    match (traffic, congestion) {
        _ if answers_only => Cause::PacketLoss,
        (Some(_), _) => Cause::NetworkHog,
        (None, Some(_)) => Cause::PacketLoss,
        // It does less than its peers: where its load went, only the topology can say.
        (None, None) if episode.is_mostly(Relation::Idle) => Cause::Unknown,
        // Trained thresholds indict for differences of any size and direction: then the paper's word stands.
        (None, None) => checklist(|metric| episode.evidence.contains_key(&metric)),
    }
}

/// What began only when something else was ending, and lasted less, came of it: when a lossy link is mended, the clients'
/// caches empty themselves into that server, and its disk is busier than its peers for a minute.
fn is_aftermath(evidence: &Evidence, episode: &Episode) -> bool {
    let lasted = |seen: &Evidence| seen.to_s - seen.from_s;
    episode.evidence.values().any(|other| {
        lasted(other) > lasted(evidence) && evidence.from_s > other.from_s + lasted(other) * 3 / 4
    })
}

#[cfg(test)]
mod tests;

//! Window rules of work: what a device did, what that costs its peers, and where it came from.

use super::super::{Bound, Numbers};
use super::has_more;
use crate::cost::SECTOR;
use crate::diagnose::bound::{HALF, TENTH, THREE_TIMES, TWICE};
use crate::diagnose::budget::Slowness;
use crate::diagnose::case::{Case, Reading};
use crate::diagnose::ledger::{Account, Unlike};
use crate::model::metric::Role;
use crate::model::{Kind, Metric};

/// Times what the same work costs its peers at which a device is slow ...
pub(super) const MIN_COST_RATIO: Bound = Bound::new("min_cost_ratio", 1.25, "times the peers' cost");
/// ... and robust standard deviations of its peers' differences.
pub(super) const MIN_COST_SPREADS: Bound = Bound::new("min_cost_spreads", 5.0, "robust standard deviations");
/// Requests this many times beyond the sizes of the peers' are of another kind: a slow disk that merges less has twice as many.
pub(super) const MIN_UNLIKE_SIZE: Bound =
    Bound::new("min_unlike_size", TWICE, "times larger or smaller than the peers'");
/// Where the data of a request lie makes it dearer or cheaper by this factor, at most.
pub(super) const LOCALITY: Bound = Bound::new("locality", 2.5, "times the cost of a request");
/// Seconds of a window that must be lost to a slow device ...
pub(super) const MIN_LOST_S: Bound = Bound::new("min_lost_time", 4.0, "s of the window");
/// ... and at least this share of it.
pub(super) const MIN_LOST_SHARE: Bound = Bound::new("min_lost_share", 0.005, "of the time");
/// Share of the time that a component's work must cost beyond its peers' to be a load of its own.
pub const MIN_WORK: Bound = Bound::new("min_work", 0.15, "of the time");
/// The same where the peers' own work is more than all of the time, as that of arrays is: as a share of it.
pub fn work_threshold(peers: f64) -> f64 {
    MIN_WORK.value * peers.max(1.0)
}

/// Bytes beyond the peers' without which more work is no other work: a slow disk that merges less has more requests for the same bytes.
pub(super) const MIN_EXTRA_BYTES: Bound = Bound::new("min_extra_bytes", 0.05, "of the peers' bytes");
/// Share of a server's extra work that came by the network: then no process of the server does it.
pub(super) const MIN_BY_NETWORK: Bound = Bound::new("min_by_network", HALF, "of its extra bytes");
/// Share of a server's extra traffic that its disk read or wrote: then it is the file system's own.
pub(super) const MIN_BY_DISK: Bound = Bound::new("min_by_disk", HALF, "of its extra bytes");
/// The network tells what disks are asked for where it carried this share of the bytes of the peers' disks.
pub(super) const MIN_ACCOUNTED: Bound = Bound::new("min_accounted", 0.8, "of the peers' bytes");
/// Otherwise extra work is of another kind than the peers' by its request size ...
pub(super) const MIN_SIZE_RATIO: Bound =
    Bound::new("min_size_ratio", TWICE, "times the peers' request size, or a part of it");
/// ... or by the share of it that is read.
pub(super) const MIN_READ_DIFFERENCE: Bound =
    Bound::new("min_read_difference", HALF, "more or less of it read");
/// Share of the time in service at which a device is saturated ...
pub(super) const SATURATED: Bound = Bound::new("saturated", 0.95, "of the time");
/// ... and times its peers' latency that requests then wait for, though the work is alike ...
pub(super) const MIN_SATURATED_RATIO: Bound =
    Bound::new("min_saturated_ratio", THREE_TIMES, "times the peers'");
/// ... which is no more than this.
pub(super) const MAX_ALIKE_WORK: Bound = Bound::new("max_alike_work", 1.0 + TENTH, "times the peers'");

/// The effect at which a device is slow for its work, given how much its peers differ.
pub fn cost_threshold(spread: f64) -> f64 {
    MIN_COST_RATIO.value.ln().max(MIN_COST_SPREADS.value * spread)
}

/// Times that work unlike the peers' may cost more than theirs, at least 1.
fn unlikeness(unlike: &Unlike) -> f64 {
    let by_size = unlike.size / MIN_UNLIKE_SIZE.value;
    by_size.max(LOCALITY.value.powf(unlike.mix)).max(1.0)
}

/// Share of the time that must be lost to a slow device, in so many seconds.
fn lost_allowed(seconds: f64) -> f64 {
    (MIN_LOST_S.value / seconds).max(MIN_LOST_SHARE.value)
}

/// How slow a device is beyond what unlike work may explain: what the budget is held against. Its usual difference is part of it: the
/// budget learns by itself what a member always has, and by how much that is more than others have.
pub fn slowness_for_work(account: &Account) -> Slowness {
    let slowness = |effect: f64, lost: f64, seconds: f64| match effect + account.usual {
        // What is faster tells how much members differ.
        effect if effect <= 0.0 => effect,
        _ if lost < lost_allowed(seconds) => 0.0,
        effect => effect - unlikeness(&account.unlike).ln(),
    };
    let brief = &account.brief;
    Slowness {
        window: slowness(account.effect, account.lost(), account.seconds),
        brief: slowness(brief.effect, brief.lost, brief.seconds),
    }
}

pub(super) fn unlike_work(case: &Case) -> Option<Numbers> {
    if case.reading.metric.role() != Role::Cost {
        return None;
    }
    let unlike = &case.account()?.unlike;
    let by_work = unlikeness(unlike);
    let allowed = MIN_COST_RATIO.value * by_work;
    (by_work > 1.0 && case.reading.ratio < allowed).then(|| {
        Numbers::of(&[
            ("ratio", case.reading.ratio),
            ("allowed", allowed),
            ("size", unlike.size),
            ("mix", unlike.mix),
        ])
    })
}

pub(super) fn lost_time(case: &Case) -> Option<Numbers> {
    if case.reading.metric.role() != Role::Cost {
        return None;
    }
    let account = case.account()?;
    let allowed = lost_allowed(account.seconds);
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

pub(super) fn cost_decides(case: &Case) -> Option<Numbers> {
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

pub(super) fn same_load(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    let growth = match seen.metric.role() {
        Role::Work => work_threshold(seen.peer_level),
        Role::NetworkVolume => seen.metric.properties().negligible,
        Role::StorageVolume
        | Role::StorageLatency
        | Role::Congestion
        | Role::Retransmission
        | Role::HostHealth
        | Role::LinkHealth
        | Role::Load
        | Role::Account
        | Role::Cost
        | Role::Context => return None,
    };
    let is_known = has_more(case) && case.explained > 0.0;
    (is_known && seen.difference() <= case.explained + growth).then(|| {
        Numbers::of(&[("level", seen.level), ("peers", seen.peer_level), ("explained", case.explained)])
    })
}

pub(super) fn asked_for(case: &Case) -> Option<Numbers> {
    let seen = &case.reading;
    let is_asked = match seen.metric.role() {
        Role::Work => has_more(case),
        // Of a server without books, only the network says where a volume comes from.
        Role::StorageVolume => {
            has_more(case) && case.component.kind == Kind::Server && case.account().is_none()
        }
        Role::StorageLatency
        | Role::NetworkVolume
        | Role::Congestion
        | Role::Retransmission
        | Role::HostHealth
        | Role::LinkHealth
        | Role::Load
        | Role::Account
        | Role::Cost
        | Role::Context => false,
    };
    if !is_asked {
        return None;
    }
    let (extra, peers) = (Traffic::of(case, Reading::difference), Traffic::of(case, |seen| seen.peer_level));
    let by_network = extra.by_network();
    let is_told = peers.by_network() >= MIN_ACCOUNTED.value;
    let is_by_network = by_network >= MIN_BY_NETWORK.value;
    let moves_more = extra.bytes() >= MIN_EXTRA_BYTES.value * peers.bytes();
    let is_own = case.component.kind == Kind::Server
        && moves_more
        && !is_by_network
        && (is_told || is_other_kind(&extra, &peers));
    let is_of_work = seen.metric.role() == Role::Work;
    (is_by_network || is_of_work && !is_own).then(|| {
        Numbers::of(&[("level", seen.level), ("peers", seen.peer_level), ("by_network", by_network)])
    })
}

pub(super) fn served(case: &Case) -> Option<Numbers> {
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

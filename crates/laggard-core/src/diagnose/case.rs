//! The facts that window rules look at: one component in one window, metric by metric, beside its peers.

use super::bound::{Bound, QUARTER, TENTH};
use super::budget::Rarity;
use super::ledger::{Account, Accounts};
use super::score::ScoredWindow;
use crate::compare::Score;
use crate::grid::Window;
use crate::ids::{GroupId, MemberIndex, Slot, WindowIndex};
use crate::model::groups::Component;
use crate::model::metric::{Harm, Role};
use crate::model::{Kind, Metric};
use crate::stats::{self, Spread, median};
use std::collections::BTreeMap;

/// How a component's level relates to its peers' in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Markedly higher.
    High,
    /// Markedly lower.
    Low,
    /// Present, but next to nothing where the peers have a level.
    Idle,
    /// No samples where the peers have some.
    Silent,
    /// Not different in a way that matters.
    Alike,
}

impl Relation {
    /// All relations.
    pub const ALL: [Relation; 5] =
        [Relation::High, Relation::Low, Relation::Idle, Relation::Silent, Relation::Alike];
}

/// Below this share of its peers' level a component does nothing.
pub const IDLE_SHARE: Bound = Bound::new("max_idle_level", TENTH, "of the peers' level");

/// A component with fewer of its samples than this ...
pub const ABSENT_PRESENCE: Bound = Bound::new("max_presence", QUARTER, "of the samples");

/// ... is absent where its peers have more than this.
pub const PEERS_PRESENCE: Bound = Bound::new("min_peer_presence", 1.0 - QUARTER, "of the samples");

/// Payload of a full segment in an Ethernet frame of 1500 bytes. In larger frames fewer segments carry the same bytes, and loss is a larger share
/// of them than it seems.
const SEGMENT_BYTES: f64 = 1448.0;

/// One metric of one component in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// The metric.
    pub metric: Metric,
    /// What the method says.
    pub score: Score,
    /// What the score is held against; NaN where the metric is not compared.
    pub threshold: f64,
    /// The component's mean level.
    pub level: f64,
    /// The median level of the group.
    pub peer_level: f64,
    /// Level over peers' level, both at least what is negligible in the metric's unit.
    pub ratio: f64,
    /// Robust standard deviation of the group's levels.
    pub spread: f64,
    /// Share of its samples that are present.
    pub presence: f64,
    /// The median of that share in the group.
    pub peer_presence: f64,
    /// Share of the last slots in which a congestion window changed; NaN of other metrics.
    pub movement: f64,
}

/// Level over peers' level, both at least what is negligible in the metric's unit.
fn ratio(metric: Metric, level: f64, peer_level: f64) -> f64 {
    let least = metric.properties().negligible.max(1e-9);
    level.max(0.0).max(least) / peer_level.max(least)
}

impl Reading {
    /// Level less peers' level.
    pub fn difference(&self) -> f64 {
        self.level - self.peer_level
    }

    /// The same at another level.
    pub fn at(&self, level: f64) -> Reading {
        let ratio = ratio(self.metric, level, self.peer_level);
        Reading { level, ratio, ..*self }
    }

    /// The same at this many times the level.
    pub fn slowed(&self, by: f64) -> Reading {
        Reading { level: by * self.level, ratio: by * self.ratio, ..*self }
    }

    /// Score over threshold.
    pub fn severity(&self) -> f64 {
        self.score.exact().unwrap_or(f64::NAN) / self.threshold.max(1e-9)
    }
}

/// The levels of a group in one window and one metric, row by row of the window.
#[derive(Debug, Clone)]
pub struct Levels {
    metric: Metric,
    levels: Vec<f64>,
    presences: Vec<f64>,
    spread: Spread,
    peer_presence: f64,
}

impl Levels {
    /// Of all rows of a window.
    pub fn new(metric: Metric, window: &Window) -> Levels {
        let levels = window.levels();
        let presences: Vec<f64> = window.each().map(stats::presence).collect();
        let spread = Spread::of(&levels);
        Levels { metric, spread, peer_presence: median(&mut presences.clone()), levels, presences }
    }

    /// As the books of a group have them: levels, and their spread.
    pub fn booked(metric: Metric, levels: Vec<f64>, spread: Spread) -> Levels {
        let presences: Vec<f64> = levels.iter().map(|level| f64::from(u8::from(!level.is_nan()))).collect();
        let peer_presence = median(&mut presences.clone());
        Levels { metric, levels, presences, spread, peer_presence }
    }

    /// What one row shows; without score and movement.
    pub fn reading(&self, row: usize) -> Reading {
        let level = self.levels[row];
        Reading {
            metric: self.metric,
            score: Score::Missing,
            threshold: f64::NAN,
            level,
            peer_level: self.spread.middle,
            ratio: ratio(self.metric, level, self.spread.middle),
            spread: self.spread.deviation,
            presence: self.presences[row],
            peer_presence: self.peer_presence,
            movement: f64::NAN,
        }
    }
}

/// The last window of a metric that is never compared and explains others.
#[derive(Debug, Clone)]
struct ContextWindow {
    index: WindowIndex,
    members: Vec<MemberIndex>,
    levels: Levels,
}

/// What the last window of a group says of load, and of packets that were sent again, where it is recorded.
#[derive(Debug, Clone, Default)]
pub struct Context {
    load: Option<ContextWindow>,
    /// By metric, where it is recorded.
    resent: BTreeMap<Metric, Resent>,
}

/// What is known of packets that were sent again.
#[derive(Debug, Clone)]
struct Resent {
    /// When its last window was complete; of the first, when it began.
    at: Slot,
    /// Nothing while the first window is not complete.
    window: Option<ContextWindow>,
}

impl Context {
    /// Keeps the window of a metric that explains others, complete at a slot; of all others nothing.
    pub fn keep(&mut self, scored: &ScoredWindow, at: Slot) {
        let kept = || {
            let members = scored.members.clone();
            ContextWindow { index: scored.index, members, levels: scored.levels().clone() }
        };
        match scored.metric.role() {
            Role::Load => self.load = Some(kept()),
            Role::Retransmission => {
                let window = Some(kept());
                self.resent.insert(scored.metric, Resent { at, window });
            }
            Role::StorageVolume
            | Role::StorageLatency
            | Role::NetworkVolume
            | Role::Congestion
            | Role::HostHealth
            | Role::LinkHealth
            | Role::Account
            | Role::Cost
            | Role::Work
            | Role::Context => {}
        }
    }

    /// The first sample of a metric has come: what it will explain is not known before its first window is complete.
    pub fn expect(&mut self, metric: Metric, at: Slot) {
        if metric.role() == Role::Retransmission {
            self.resent.insert(metric, Resent { at, window: None });
        }
    }

    /// Forgets what was not recorded any more since a slot: it explains nothing of today.
    pub fn forget_before(&mut self, slot: Slot) {
        self.resent.retain(|_, resent| resent.at >= slot);
    }

    fn reading(known: &Option<ContextWindow>, window: WindowIndex, member: MemberIndex) -> Option<Reading> {
        let known = known.as_ref().filter(|known| known.index == window)?;
        let row = known.members.binary_search(&member).ok()?;
        Some(known.levels.reading(row))
    }
}

/// All windows of a group that a case can ask about.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The group.
    pub group: GroupId,
    /// Metrics that explain others.
    pub context: &'a Context,
    /// Windows that the same slot completed, of this group and others.
    pub windows: &'a [ScoredWindow],
    /// What work costs in this group, and what each member did, where it is recorded.
    pub accounts: Option<&'a Accounts>,
}

impl Surroundings<'_> {
    /// Requests of a member beside its peers', where they are recorded.
    pub fn load_of(&self, window: WindowIndex, member: MemberIndex) -> Option<Reading> {
        Context::reading(&self.context.load, window, member)
    }
}

/// One component in one window, under judgement in one metric.
pub struct Case<'a> {
    /// The component.
    pub component: &'a Component,
    /// The metric under judgement.
    pub reading: Reading,
    /// Whether any metric of the component has a sample in the window.
    pub is_recorded: bool,
    /// Whether its silence is judged: no metric has a sample, and thresholds come from the peers. Trained ones judge only scores.
    pub is_silent: bool,
    /// Whether it is silent and samples of it were lost on the way.
    pub is_incomplete: bool,
    /// Whether another member joined about when this one fell silent.
    pub is_replaced: bool,
    /// Which window.
    pub window: WindowIndex,
    /// Which member.
    pub member: MemberIndex,
    /// The most that it had beyond its peers since it began to stand out, and that was explained as a load. 0 without one.
    pub explained: f64,
    /// How rare its slowness is, at the length of time at which it is rarest, once that is known.
    pub rarity: Option<Rarity>,
    /// Everything else that is known of the group in this window.
    pub surroundings: Surroundings<'a>,
}

impl Case<'_> {
    /// What a metric shows of the component in this window; none if it was not recorded, or its windows lie otherwise.
    pub fn reading_of(&self, metric: Metric) -> Option<Reading> {
        if metric == self.reading.metric {
            return Some(self.reading);
        }
        match metric.role() {
            Role::Load => self.load(),
            Role::StorageVolume
            | Role::StorageLatency
            | Role::NetworkVolume
            | Role::Congestion
            | Role::Retransmission
            | Role::HostHealth
            | Role::LinkHealth
            | Role::Cost
            | Role::Work => {
                let same = |scored: &&ScoredWindow| {
                    let of_group = scored.group == self.surroundings.group;
                    of_group && scored.metric == metric && scored.index == self.window
                };
                let scored = self.surroundings.windows.iter().find(same)?;
                scored.reading_of(self.member)
            }
            Role::Account | Role::Context => None,
        }
    }

    /// Requests beside its peers', where they are recorded.
    pub fn load(&self) -> Option<Reading> {
        self.surroundings.load_of(self.window, self.member)
    }

    /// Segments per second that were sent again in the direction of a congestion window, in their last window; NaN while that is
    /// not complete, nothing where it is not recorded.
    pub fn resent(&self) -> Option<f64> {
        if self.reading.metric.role() != Role::Congestion {
            return None;
        }
        let is_to_clients = self.reading.metric == Metric::CwndToClients;
        let beside = if is_to_clients { Metric::RetransToClients } else { Metric::RetransFromClients };
        match &self.surroundings.context.resent.get(&beside)?.window {
            None => Some(f64::NAN),
            Some(known) => {
                let level = known.levels.reading(known.members.binary_search(&self.member).ok()?).level;
                Some(level).filter(|level| !level.is_nan())
            }
        }
    }

    /// The congestion window in the direction of segments that were sent again, at the end of their window; nothing of all else, or
    /// where it is not recorded.
    pub fn congestion(&self) -> Option<Reading> {
        if self.reading.metric.role() != Role::Retransmission {
            return None;
        }
        let is_from_clients = self.reading.metric == Metric::RetransFromClients;
        let beside = if is_from_clients { Metric::CwndFromClients } else { Metric::CwndToClients };
        let is_it =
            |scored: &&ScoredWindow| scored.group == self.surroundings.group && scored.metric == beside;
        self.surroundings.windows.iter().find(is_it)?.reading_of(self.member)
    }

    /// Of segments that were sent again: their share of all that were sent in their direction, as far as bytes tell how many these were.
    /// Nothing of all else, or where the traffic is not recorded.
    pub fn resent_share(&self) -> Option<f64> {
        if self.reading.metric.role() != Role::Retransmission {
            return None;
        }
        let is_from_clients = self.reading.metric == Metric::RetransFromClients;
        let traffic = self.reading_of(if is_from_clients { Metric::Rxbyt } else { Metric::Txbyt })?;
        Some(self.reading.level * SEGMENT_BYTES / traffic.level).filter(|share| share.is_finite())
    }

    /// What it did and how long it was in service for it, where that is recorded.
    pub fn account(&self) -> Option<&Account> {
        let known = self.surroundings.accounts.filter(|known| known.index == self.window)?;
        known.of(self.member)
    }

    /// Of more work than the peers': the share of the extra time in service that it explains. Nothing of all else.
    pub fn by_load(&self) -> Option<f64> {
        let account = self.account().filter(|_| self.reading.metric.role() == Role::Work)?;
        Some(account.by_load(self.reading.peer_level)).filter(|share| !share.is_nan())
    }

    /// Whether a disk has no latency where its peers have one, and nothing tells whether it is busy: it is idle, or hangs. An attachment
    /// without requests has lost its load.
    pub fn may_hang(&self) -> bool {
        let is_disk = self.reading.metric.role() == Role::StorageLatency;
        let is_path = self.component.kind == Kind::Attachment;
        is_disk && !is_path && self.is_recorded && self.is_absent() && self.account().is_none()
    }

    /// How its level relates to its peers', whatever the difference.
    pub fn relation(&self) -> Relation {
        let seen = &self.reading;
        if self.is_absent() {
            // It is recorded, and has nothing to say in this metric: no requests, no latency.
            return if self.is_recorded { Relation::Idle } else { Relation::Silent };
        }
        match seen.metric.properties().harm {
            Harm::Low if seen.difference() < 0.0 => Relation::Low,
            Harm::High if seen.level >= seen.peer_level => Relation::High,
            Harm::High if seen.level <= IDLE_SHARE.value * seen.peer_level => Relation::Idle,
            Harm::Low => Relation::High,
            Harm::High => Relation::Low,
        }
    }

    /// Whether it has no level to compare: absent where its peers are not.
    pub fn is_absent(&self) -> bool {
        self.reading.presence < ABSENT_PRESENCE.value && self.reading.peer_presence > PEERS_PRESENCE.value
    }
}

//! How to diagnose: the method, what was repaired, what the input lost.

use super::budget::Rate;
use super::rules::Without;
use super::training::Thresholds;
use crate::compare::{Method, Subject, cost::COST, cwnd::CWND, limp::LIMP};
use crate::ids::{ComponentId, UnixSeconds};
use crate::model::Metric;
use crate::model::metric::{Domain, Role};

/// A component that was repaired: what was seen of it before is history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// The component.
    pub component: ComponentId,
    /// When.
    pub at: UnixSeconds,
}

/// How to diagnose.
#[derive(Debug, Clone)]
pub struct Config {
    /// The grid.
    pub interval_s: u32,
    /// For all metrics but congestion windows, which have their own.
    pub method: &'static Method,
    /// Trained thresholds; without, they come from the peers.
    pub thresholds: Option<Thresholds>,
    /// A slot stays open until a sample this many slots newer has come.
    pub lateness_slots: i64,
    /// What was repaired.
    pub resolved: Vec<Repair>,
    /// Rules that are not asked.
    pub without: Without,
    /// Components of which every window is explained, also where nothing stands out.
    pub asked: Vec<ComponentId>,
    /// What the input lost.
    pub incomplete: Incomplete,
    /// False alarms that the site accepts.
    pub budget: Rate,
}

/// Samples that were lost, merged with others or not understood before they came here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Incomplete {
    /// Of these components, ascending.
    pub components: Vec<ComponentId>,
    /// Of others, which are not known.
    pub is_of_others: bool,
}

impl Config {
    /// Without training, with all rules.
    pub fn untrained(method: &'static Method, interval_s: u32) -> Config {
        Config {
            interval_s,
            method,
            thresholds: None,
            lateness_slots: 0,
            resolved: Vec::new(),
            without: Without::default(),
            asked: Vec::new(),
            incomplete: Incomplete::default(),
            budget: Rate::default(),
        }
    }

    /// Published methods know metrics only; ours also asks what work costs.
    pub(super) fn keeps_books(&self) -> bool {
        self.thresholds.is_none() && *self.method == LIMP
    }

    /// By which method a metric is judged, or taken into the books; `None` for metrics that are not used.
    pub fn method_of(&self, metric: Metric) -> Option<&'static Method> {
        let of_disks = metric.role().domain() == Domain::Storage;
        Some(match metric.role() {
            Role::Context => return None,
            _ if self.method.subject == Subject::Slowdown && !of_disks => return None,
            Role::Account if !self.keeps_books() => return None,
            Role::Congestion => &CWND,
            Role::Cost | Role::Work | Role::Account => &COST,
            Role::StorageVolume
            | Role::StorageLatency
            | Role::NetworkVolume
            | Role::Retransmission
            | Role::HostHealth
            | Role::LinkHealth
            | Role::Load => self.method,
        })
    }

    /// Whether samples of a metric change anything.
    pub fn uses(&self, metric: Metric) -> bool {
        metric.is_used() && self.method_of(metric).is_some()
    }
}

//! Untrained mode: thresholds from the peers themselves, and differences that matter in absolute terms too.
//!
//! The score must exceed a multiple of the median score of the peers, so that one bad peer cannot raise its own bar, not
//! even by being slow for the whole recording. And the component's level must stand out from its peers': beyond their
//! own spread, by a real ratio, and by an amount that is not negligible in the metric's unit.

use super::evidence::Observation;
use crate::compare::window::{mean_of_present, median};
use crate::compare::{Method, Window};
use crate::model::Metric;
use crate::model::metric::Role;

/// Peers whose scores make the threshold; more would cost time and change nothing.
pub const SAMPLED_PEERS: usize = 64;

/// Robust standard deviations between a component's level and its peers' that are not chance.
const SPREADS: f64 = 4.0;

/// Levels of healthy peers differ by this share even where the recording shows them equal.
const LEAST_SPREAD: f64 = 0.02;

/// Below this share of its peers' level a component does nothing.
const IDLE: f64 = 0.1;

/// A congestion window that is held down, in segments, or as a share of its peers'.
const FEW_SEGMENTS: f64 = 10.0;
const FAR_BELOW: f64 = 0.3;

/// Mean latencies below this are in some other unit than milliseconds.
const FASTEST_MS: f64 = 0.02;

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

/// What is known of a component beside its latency, as multiples of its peers'; NaN is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Excuse {
    /// Work it has to do.
    pub load: f64,
    /// Time its device takes for a request, without queueing.
    pub service: f64,
}

impl Excuse {
    /// Nothing is known.
    pub const NONE: Excuse = Excuse { load: f64::NAN, service: f64::NAN };

    /// How many times its peers' a latency must be to be a fault: more than the load is, and where the device itself is
    /// no slower than its peers, so much that it cannot be the queue that gathers before the least lucky of equals.
    fn latency_ratio(self) -> f64 {
        let slower = if self.service < LIKE_ITS_PEERS { QUEUE_ONLY } else { SLOWER };
        slower * self.load.max(1.0)
    }
}

/// Times its peers' latency that is a fault.
const SLOWER: f64 = 1.4;

/// Where all disks are saturated, one of them has all the queue: times its peers' latency that is more than that ...
const QUEUE_ONLY: f64 = 3.0;

/// ... where its service time is below this many times its peers'.
pub const LIKE_ITS_PEERS: f64 = 1.15;

/// The threshold for one window, from the scores of (a sample of) the group.
pub fn threshold(method: &Method, scores: &[f64]) -> f64 {
    // Distances are positive; where a score has a sign, chance goes both ways.
    let mut known: Vec<f64> =
        scores.iter().filter(|score| !score.is_nan()).map(|score| score.abs()).collect();
    let middle = median(&mut known);
    if middle.is_nan() {
        f64::INFINITY
    } else {
        (middle * method.untrained.factor).max(method.untrained.least)
    }
}

/// A sample of a group's members, always the same. Not every k-th: members are in name order, and names follow the
/// wiring, so that a stride would see one server's LUNs only.
pub fn sample(members: usize) -> Vec<usize> {
    if members <= SAMPLED_PEERS {
        return (0..members).collect();
    }
    let mut pool: Vec<usize> = (0..members).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for chosen in 0..SAMPLED_PEERS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pool.swap(chosen, chosen + (state % (members - chosen) as u64) as usize);
    }
    pool.truncate(SAMPLED_PEERS);
    pool
}

/// The levels of a group in one window, and how far they spread.
#[derive(Debug)]
pub struct Levels {
    metric: Metric,
    levels: Vec<f64>,
    present: Vec<f64>,
    /// Median level of the group.
    pub middle: f64,
    spread: f64,
    usual_presence: f64,
}

impl Levels {
    /// Levels of all components of a window.
    pub fn new(metric: Metric, window: &Window) -> Levels {
        let share = |samples: &[f64]| {
            samples.iter().filter(|value| !value.is_nan()).count() as f64 / samples.len() as f64
        };
        let levels = window.levels();
        let present: Vec<f64> = window.each().map(share).collect();
        let mut known: Vec<f64> = levels.iter().copied().filter(|level| !level.is_nan()).collect();
        let middle = median(&mut known);
        known.iter_mut().for_each(|level| *level = (*level - middle).abs());
        let spread = (1.4826 * median(&mut known)).max(LEAST_SPREAD * middle.abs());
        Levels { metric, usual_presence: median(&mut present.clone()), levels, present, middle, spread }
    }

    /// The level of one component.
    pub fn of(&self, component: usize) -> f64 {
        self.levels[component]
    }

    /// The level of a component over its peers'.
    pub fn ratio(&self, component: usize) -> f64 {
        let least = self.metric.properties().negligible.max(1e-9);
        self.levels[component].max(0.0).max(least) / self.middle.max(least)
    }

    /// In a group that does next to nothing, the few requests of a server's own housekeeping are not worth a word: LISA'13,
    /// section 5.3.2, saw them stay below a millisecond.
    fn negligible(&self) -> f64 {
        let properties = self.metric.properties();
        if properties.role != Role::StorageLatency {
            return properties.negligible;
        }
        match self.middle {
            // No device answers this fast: the unit is not milliseconds, and nobody knows what is negligible in it.
            middle if middle > 0.0 && middle < FASTEST_MS => 0.0,
            middle if middle <= properties.negligible => 10.0 * properties.negligible,
            _ => properties.negligible,
        }
    }

    /// How a component relates to its peers.
    pub fn relation(&self, component: usize, excuse: Excuse) -> Relation {
        if self.present[component] < 0.25 && self.usual_presence > 0.75 {
            return Relation::Silent;
        }
        let level = self.levels[component];
        let difference = level - self.middle;
        let properties = self.metric.properties();
        if properties.role == Role::Congestion {
            // The method itself is one-sided and works on logarithms, where a spread means something. Loss holds a window
            // at a few segments (FAST'10, observation 7), or far below its peers'.
            let fell = level < FEW_SEGMENTS || level <= FAR_BELOW * self.middle;
            return if difference < 0.0 && fell { Relation::Low } else { Relation::Alike };
        }
        let stands_out = difference.abs() >= SPREADS * self.spread && difference.abs() > self.negligible();
        if !stands_out {
            return Relation::Alike;
        }
        let ratio = match properties.role {
            Role::StorageLatency => excuse.latency_ratio(),
            _ => 1.1,
        };
        match level {
            level if level >= ratio * self.middle => Relation::High,
            level if level <= IDLE * self.middle => Relation::Idle,
            level if level * ratio <= self.middle => Relation::Low,
            _ => Relation::Alike,
        }
    }
}

/// Times what matters for one disk that a server has to read or write beside its peers. One server's directories are asked for
/// more often than another's; what slows a server is more than that.
const MUCH: f64 = 5.0;

/// Whether what a server reads or writes beside its peers is much, for any disk.
pub fn is_much(metric: Metric, seen: &Observation) -> bool {
    seen.level - seen.peer_level >= MUCH * metric.properties().negligible
}

/// Coefficient of variation of a component's samples in the window.
pub fn unsteadiness(samples: &[f64]) -> f64 {
    let mean = mean_of_present(samples);
    let squares: Vec<f64> = samples.iter().map(|value| (value - mean).powi(2)).collect();
    mean_of_present(&squares).sqrt() / mean.abs().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(metric: Metric, levels: &[f64]) -> Vec<Relation> {
        let values: Vec<f64> = levels.iter().flat_map(|level| [*level; 8]).collect();
        let levels = Levels::new(metric, &Window::new(values, 8));
        (0..levels.levels.len()).map(|component| levels.relation(component, Excuse::NONE)).collect()
    }

    #[test]
    fn a_few_sectors_against_none_do_not_matter() {
        assert_eq!(relation(Metric::RdSec, &[0.0, 0.0, 0.0, 60.0])[3], Relation::Alike);
        assert_eq!(relation(Metric::RdSec, &[0.0, 0.0, 0.0, 7000.0])[3], Relation::High);
    }

    #[test]
    fn housekeeping_on_an_idle_group_does_not_matter() {
        assert_eq!(relation(Metric::Await, &[0.0, 0.0, 0.0, 0.6])[3], Relation::Alike);
        assert_eq!(relation(Metric::Await, &[0.0, 0.0, 0.0, 9.0])[3], Relation::High);
        assert_eq!(relation(Metric::Await, &[0.15, 0.15, 0.16, 0.6])[3], Relation::High);
        let in_seconds = relation(Metric::Await, &[0.005, 0.005, 0.0051, 0.02]);
        assert_eq!(in_seconds[3], Relation::High);
    }

    #[test]
    fn a_slow_disk_stands_out_and_a_silent_one_is_silent() {
        let found = relation(Metric::Await, &[5.0, 5.2, 4.9, 12.0, 0.0, f64::NAN]);
        assert_eq!(found[3..], [Relation::High, Relation::Idle, Relation::Silent]);
        assert!(found[..3].iter().all(|relation| *relation == Relation::Alike));
    }

    #[test]
    fn spread_peers_hide_what_is_not_unusual_among_them() {
        assert_eq!(relation(Metric::Await, &[2.0, 3.0, 4.0, 5.0, 6.0, 8.0])[5], Relation::Alike);
    }

    #[test]
    fn a_latency_that_its_load_explains_is_no_fault() {
        let values: Vec<f64> = [5.0, 5.1, 4.9, 5.0, 10.0].iter().flat_map(|level| [*level; 8]).collect();
        let levels = Levels::new(Metric::Await, &Window::new(values, 8));
        let with = |load: f64, service: f64| levels.relation(4, Excuse { load, service });
        assert_eq!(with(1.9, f64::NAN), Relation::Alike);
        assert_eq!(with(0.7, f64::NAN), Relation::High);
        assert_eq!(with(1.0, 1.05), Relation::Alike, "only a queue");
        assert_eq!(with(1.0, 1.9), Relation::High);
    }

    #[test]
    fn the_worst_peer_cannot_raise_the_threshold() {
        let cdf = Method::parse("cdf").unwrap();
        let healthy = threshold(cdf, &[1.0, 1.2, 0.9, 1.1, 1.0]);
        assert!(threshold(cdf, &[1.0, 1.2, 0.9, 1.1, 500.0]) < healthy * 1.2);
    }
}

//! What lasts: the filter of each metric, the accumulator of each component, and its episodes.

use super::evidence::{Episode, Observation};
use super::ledger::SlowPiece;
use super::rules::episode::Spoken;
use crate::compare::Method;
use crate::ids::{MemberIndex, Table, UnixSeconds, WindowIndex};
use crate::model::Metric;
use std::collections::VecDeque;

/// Anomalous now, if the score exceeded the threshold in at least `k` of the last `2k-1` windows.
///
/// Windows in which nothing could be decided (none recorded, too few peers) are passed over: they are no evidence. The newest
/// window is in the lowest bit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    history: u64,
}

impl Filter {
    /// Takes the newest window; returns whether the component is anomalous now. The history holds `k` up to 32.
    pub fn push(&mut self, k: usize, exceeded: bool) -> bool {
        let length = (2 * k - 1).min(63);
        self.history = (self.history << 1 | u64::from(exceeded)) & ((1 << length) - 1);
        self.count() >= k
    }

    /// Windows in memory that exceeded.
    pub fn count(self) -> usize {
        self.history.count_ones() as usize
    }

    /// How many windows ago the oldest exceeding one that still counts was.
    pub fn oldest(self) -> u64 {
        u64::from(63 - (self.history | 1).leading_zeros())
    }

    /// Forgets everything, for the administrator's "resolved".
    pub fn clear(&mut self) {
        self.history = 0;
    }
}

/// The longest memory of a filter, in windows.
const MOST_WINDOWS: usize = 64;

/// What one metric of a group remembers of its last windows.
#[derive(Debug)]
pub struct Memory {
    /// One for each member.
    pub filters: Table<MemberIndex, Filter>,
    /// The last decided windows, to date the filters' memory.
    decided: VecDeque<WindowIndex>,
    first_decided: Option<WindowIndex>,
    /// Whether the last window of each member that differed indicted it: a member that is anomalous by the filter's memory only is so
    /// in the way it was before.
    pub indicted: Table<MemberIndex, bool>,
    /// Members that were anomalous in the first window, and already in its first part.
    pub from_the_start: Table<MemberIndex, bool>,
    /// How many windows could be decided.
    pub decided_windows: u64,
}

impl Memory {
    /// For so many members.
    pub fn new(members: usize) -> Memory {
        Memory {
            filters: Table::filled(Filter::default(), members),
            indicted: Table::filled(false, members),
            decided: VecDeque::new(),
            first_decided: None,
            from_the_start: Table::filled(false, members),
            decided_windows: 0,
        }
    }

    /// A window could be decided.
    pub fn decide(&mut self, window: WindowIndex) {
        self.decided.push_back(window);
        self.first_decided.get_or_insert(window);
        if self.decided.len() > MOST_WINDOWS {
            self.decided.pop_front();
        }
        self.decided_windows += 1;
    }

    /// Whether a window was the first that could be decided.
    pub fn is_first(&self, window: WindowIndex) -> bool {
        self.first_decided == Some(window)
    }

    /// The oldest window that still counts for a member.
    pub fn oldest(&self, member: MemberIndex) -> WindowIndex {
        let last = self.decided.len() - 1;
        self.decided[last - (self.filters[member].oldest() as usize).min(last)]
    }
}

/// A window that speaks against a component in one metric.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The metric.
    pub metric: Metric,
    /// The method.
    pub method: &'static Method,
    /// When the trouble began.
    pub onset: UnixSeconds,
    /// What was seen.
    pub seen: Observation,
    /// What is new of it, piece by piece, where a device was slow for its work.
    pub slow: Vec<SlowPiece>,
}

/// What is remembered of one component.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// +1 for an anomalous window, -1 (not below 0) otherwise: LISA'13, section 4.3.
    pub accumulator: u32,
    /// Its largest value.
    pub peak: u32,
    /// Windows in which it could be judged.
    pub decided: u64,
    /// The trouble that goes on.
    pub episode: Option<Episode>,
    /// Trouble that is over, merged.
    ended: Episode,
    /// What does not indict by itself, of windows in which something else did.
    context: Episode,
    /// The same of the window that is being gathered.
    context_now: Vec<Finding>,
}

impl History {
    /// Takes a window that indicts.
    pub fn indict(&mut self, finding: &Finding) {
        let episode = self.episode.get_or_insert_default();
        episode.observe(finding.metric, finding.method, finding.onset, finding.seen);
        episode.note_slow(&finding.slow);
    }

    /// Takes a window that may explain another.
    pub fn explain(&mut self, finding: Finding) {
        self.context_now.push(finding);
    }

    /// An anomalous window is complete.
    pub fn count_anomalous(&mut self) {
        self.accumulator += 1;
        self.peak = self.peak.max(self.accumulator);
        if let Some(episode) = &mut self.episode {
            episode.persistence = episode.persistence.max(self.accumulator);
        }
        for finding in std::mem::take(&mut self.context_now) {
            self.context.observe(finding.metric, finding.method, finding.onset, finding.seen);
        }
    }

    /// A quiet window is complete. A trouble that is over is remembered, unless a rule excuses it: or it would date the next one.
    /// Returns the trouble that was excused, and by which rule.
    pub fn count_quiet(&mut self, excused: impl Fn(&Episode) -> Option<Spoken>) -> Option<(Spoken, Episode)> {
        self.context_now.clear();
        self.accumulator = self.accumulator.saturating_sub(1);
        if self.accumulator > 0 {
            return None;
        }
        let Some(episode) = self.episode.take() else {
            // Context explains only the trouble it came with.
            if self.ended.evidence.is_empty() {
                self.context = Episode::default();
            }
            return None;
        };
        match excused(&episode) {
            Some(by) => Some((by, episode)),
            None => {
                self.ended.merge(&episode);
                None
            }
        }
    }

    /// A window in which it could not be judged is complete.
    pub fn count_undecided(&mut self) {
        self.context_now.clear();
    }

    /// What was seen so far is history.
    pub fn forget(&mut self) {
        *self = History { decided: self.decided, ..History::default() };
    }

    /// All trouble, over or not, without context.
    pub fn trouble(&self) -> Episode {
        let mut trouble = self.ended.clone();
        if let Some(episode) = &self.episode {
            trouble.merge(episode);
        }
        trouble
    }

    /// Adds the context to a trouble; dates and persistence stay those of what indicts.
    pub fn with_context(&self, mut trouble: Episode) -> Episode {
        if self.context.evidence.is_empty() {
            return trouble;
        }
        let Episode { persistence, first, last, .. } = trouble;
        trouble.merge(&self.context);
        Episode { persistence, first, last, ..trouble }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_five() {
        let mut filter = Filter::default();
        let fired: Vec<bool> =
            [true, false, true, false, true, false, false, true, true].map(|e| filter.push(3, e)).into();
        assert_eq!(fired, [false, false, false, false, true, false, false, false, true]);
        assert_eq!(filter.oldest(), 4);
    }

    #[test]
    fn k_of_one_fires_at_once() {
        let mut filter = Filter::default();
        assert!(!filter.push(1, false));
        assert!(filter.push(1, true));
        assert!(!filter.push(1, false));
    }
}

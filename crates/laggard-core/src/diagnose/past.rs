//! A group against its own past: the same work may cost all of its members more than it did. Then no peer differs, and no part is
//! to blame; that is said as such. Whether it is so, the rule `everybody-slow` decides.

use super::case::Relation;
use super::evidence::{Episode, Observation};
use super::persistence::{Filter, OVER_AFTER};
use super::rules::site::{self, GroupEffect};
use super::rules::{Numbers, Without};
use crate::compare::cost::COST;
use crate::ids::UnixSeconds;
use crate::model::Metric;

/// Times that are remembered when they are over.
const MOST_OVER: usize = 16;

/// A time in which a whole group was slow.
#[derive(Debug, Clone)]
pub struct SlowTime {
    /// What was seen of it.
    pub episode: Episode,
    /// What the rule spoke upon.
    pub numbers: Numbers,
    /// Whether it goes on.
    pub is_open: bool,
}

/// What is remembered of a group as a whole.
#[derive(Debug, Default)]
pub struct Past {
    filter: Filter,
    quiet: u32,
    open: Option<SlowTime>,
    over: Vec<SlowTime>,
}

impl Past {
    /// Takes a window: how all members stand against the past of the group, if that is known.
    pub fn push(
        &mut self,
        span: (UnixSeconds, UnixSeconds),
        k: usize,
        effect: Option<&GroupEffect>,
        without: &Without,
    ) {
        // A group that does nothing is not slow.
        let spoken = effect.and_then(|effect| site::everybody_slow(effect, without));
        let is_slow = self.filter.push(k, spoken.is_some());
        let (Some(numbers), Some(effect)) = (spoken.filter(|_| is_slow), effect) else {
            self.quiet += u32::from(!is_slow);
            if self.quiet >= OVER_AFTER.value as u32 {
                self.end();
            }
            return;
        };
        self.quiet = 0;
        let seen = Observation {
            from: span.0,
            to: span.1,
            score: effect.effect,
            threshold: site::MIN_GROUP_RATIO.value.ln(),
            level: effect.effect.exp(),
            peer_level: 1.0,
            ratio: effect.effect.exp(),
            relation: Relation::High,
            jitters: false,
            by_load: None,
        };
        let fresh = || SlowTime { episode: Episode::default(), numbers, is_open: true };
        let open = self.open.get_or_insert_with(fresh);
        open.episode.observe(Metric::Cost, &COST, span.0, seen);
        open.episode.persistence += 1;
    }

    fn end(&mut self) {
        if let Some(open) = self.open.take() {
            self.over.push(SlowTime { is_open: false, ..open });
            if self.over.len() > MOST_OVER {
                self.over.remove(0);
            }
        }
    }

    /// All such times.
    pub fn slow_times(&self) -> impl Iterator<Item = &SlowTime> {
        self.over.iter().chain(&self.open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_time_is_over_after_twelve_quiet_windows_also_of_an_idle_group() {
        let slow = GroupEffect { effect: 1.5, lost: 0.5, unlike: 1.0 };
        let mut past = Past::default();
        let mut windows = 0;
        let mut push = |past: &mut Past, effect: Option<&GroupEffect>| {
            windows += 1;
            let span = (UnixSeconds(windows * 10), UnixSeconds(windows * 10 + 40));
            past.push(span, 3, effect, &Without::default());
        };
        let open = |past: &Past| past.slow_times().map(|slow| slow.is_open).collect::<Vec<bool>>();
        (0..2).for_each(|_| push(&mut past, Some(&slow)));
        assert!(open(&past).is_empty(), "two of five windows are chance");
        push(&mut past, Some(&slow));
        assert_eq!(open(&past), [true]);
        // The filter remembers three slow ones for two windows more.
        (0..2 + OVER_AFTER.value as u32 - 1).for_each(|_| push(&mut past, None));
        assert_eq!(open(&past), [true]);
        (0..2).for_each(|_| push(&mut past, None));
        assert_eq!(open(&past), [false], "an idle group is not slow");
        for _ in 0..MOST_OVER + 3 {
            (0..3).for_each(|_| push(&mut past, Some(&slow)));
            (0..20).for_each(|_| push(&mut past, None));
        }
        assert_eq!(past.slow_times().count(), MOST_OVER);
    }
}

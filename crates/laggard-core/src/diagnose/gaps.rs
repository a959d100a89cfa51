//! Gaps: times without samples, with their reason. Hours in which nobody was recorded are a gap, not evidence.

/// A time without samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Component, or the name of its group if nobody in it was recorded.
    pub component: String,
    /// Seconds since 1970.
    pub from_s: i64,
    /// Seconds since 1970.
    pub to_s: i64,
    /// Why, in words.
    pub reason: String,
}

/// Gaps remembered; beyond that they are counted.
pub const MOST_GAPS: usize = 1000;

/// Holes shorter than this many slots are bridged by the moving average and not worth a line.
const SHORTEST: u64 = 15;

/// Follows one group's slots.
#[derive(Debug, Default)]
pub struct Follower {
    last_slot: Option<u64>,
    /// Slots with data of anybody, so that a member's hole is measured in its peers' time.
    active: u64,
    /// Per member: the last active slot it was seen in, and that slot.
    seen: Vec<Option<(u64, u64)>>,
}

/// A hole in slots: who (`None`: the whole group), from, to.
pub type Hole = (Option<usize>, u64, u64);

impl Follower {
    /// For `members` components.
    pub fn new(members: usize) -> Follower {
        Follower { seen: vec![None; members], ..Follower::default() }
    }

    /// Takes who was seen in a slot; holes that end here go to `found`.
    pub fn push(&mut self, slot: u64, is_seen: impl Fn(usize) -> bool, found: &mut Vec<Hole>) {
        if let Some(last) = self.last_slot
            && slot - last > SHORTEST
        {
            found.push((None, last + 1, slot));
        }
        self.last_slot = Some(slot);
        self.active += 1;
        for (member, seen) in self.seen.iter_mut().enumerate() {
            if is_seen(member) {
                if let Some((active, last)) = *seen
                    && self.active - active > SHORTEST
                {
                    found.push((Some(member), last + 1, slot));
                }
                *seen = Some((self.active, slot));
            }
        }
    }

    /// The last slot in which a member was seen, in any metric.
    pub fn heard(&self, member: usize) -> Option<u64> {
        self.seen[member].map(|(_, slot)| slot)
    }

    /// Holes that are still open at slot `now`, which other groups may have reached.
    pub fn open(&self, now: u64) -> Vec<Hole> {
        let Some(last) = self.last_slot else { return Vec::new() };
        let end = last + 1;
        if now.saturating_sub(last) > SHORTEST {
            return vec![(None, end, now + 1)];
        }
        let members = self.seen.iter().enumerate();
        let open = members.filter_map(|(member, seen)| {
            let (active, last) = (*seen)?;
            (self.active - active >= SHORTEST).then_some((Some(member), last + 1, end))
        });
        open.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_recorded_is_the_groups_gap_and_not_each_members() {
        let mut follower = Follower::new(2);
        let mut found = Vec::new();
        for slot in (0..50).chain(500..600) {
            follower.push(slot, |member| member == 0 || !(520..560).contains(&slot), &mut found);
        }
        assert_eq!(found, [(None, 50, 500), (Some(1), 520, 560)]);
        assert!(follower.open(599).is_empty());
        assert_eq!(follower.open(900), [(None, 600, 901)]);
    }

    #[test]
    fn who_never_came_back_is_an_open_hole() {
        let mut follower = Follower::new(2);
        let mut found = Vec::new();
        (0..100).for_each(|slot| follower.push(slot, |member| member == 0 || slot < 40, &mut found));
        assert_eq!(follower.open(99), [(Some(1), 40, 100)]);
    }
}

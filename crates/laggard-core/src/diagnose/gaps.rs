//! Gaps: times without samples, with their reason. Hours in which no member was recorded are a gap, not evidence.

use crate::ids::{MemberIndex, Slot, Table, UnixSeconds};
use std::fmt;

/// A time without samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Component, or the name of its group if no member was recorded.
    pub component: String,
    /// First moment without samples.
    pub from: UnixSeconds,
    /// First moment with samples again.
    pub to: UnixSeconds,
    /// Why.
    pub reason: GapReason,
}

/// Why there are no samples.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GapReason {
    /// The component's peers were recorded.
    PeersRecorded,
    /// No member of the group was recorded.
    GroupNotRecorded,
    /// Everything that a server reports is missing at once.
    ServerSilent(String),
    /// The topology names it, the data does not.
    NeverRecorded,
}

impl fmt::Display for GapReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GapReason::PeersRecorded => f.write_str("no samples while its peers have some"),
            GapReason::GroupNotRecorded => f.write_str("no member of the group was recorded"),
            GapReason::ServerSilent(server) => write!(f, "its server {server} was silent"),
            GapReason::NeverRecorded => f.write_str("named by the topology, never recorded"),
        }
    }
}

/// Gaps remembered; beyond that they are counted.
pub const MOST_GAPS: usize = 1000;

/// Holes shorter than this many slots are bridged by the moving average and not worth a line.
const SHORTEST_HOLE: u64 = 15;

/// The last slot in which a member was recorded, in any metric.
#[derive(Debug, Clone, Copy)]
struct LastSeen {
    slot: Slot,
    /// How many slots the group had been recorded in by then.
    recorded_slots: u64,
}

/// When the members of one group were recorded.
#[derive(Debug, Default)]
pub struct Attendance {
    last_slot: Option<Slot>,
    /// Slots with data of any member, so that a member's hole is measured in its peers' time.
    recorded_slots: u64,
    members: Table<MemberIndex, Option<LastSeen>>,
}

/// A time without samples of a member, or of the whole group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hole {
    /// The member; none is the whole group.
    pub member: Option<MemberIndex>,
    /// First slot without samples.
    pub from: Slot,
    /// First slot with samples again.
    pub to: Slot,
}

impl Attendance {
    /// For so many members.
    pub fn new(members: usize) -> Attendance {
        Attendance { members: Table::filled(None, members), ..Attendance::default() }
    }

    /// Takes which members were recorded in a slot; holes that end here go to `found`.
    pub fn push(&mut self, slot: Slot, is_recorded: impl Fn(MemberIndex) -> bool, found: &mut Vec<Hole>) {
        if let Some(last) = self.last_slot
            && slot.0 - last.0 > SHORTEST_HOLE
        {
            found.push(Hole { member: None, from: Slot(last.0 + 1), to: slot });
        }
        self.last_slot = Some(slot);
        self.recorded_slots += 1;
        for (member, seen) in self.members.ids().zip(self.members.iter_mut()) {
            if is_recorded(member) {
                if let Some(last) = *seen
                    && self.recorded_slots - last.recorded_slots > SHORTEST_HOLE
                {
                    found.push(Hole { member: Some(member), from: Slot(last.slot.0 + 1), to: slot });
                }
                *seen = Some(LastSeen { slot, recorded_slots: self.recorded_slots });
            }
        }
    }

    /// Slots in which any member was recorded.
    pub fn recorded_slots(&self) -> u64 {
        self.recorded_slots
    }

    /// The last slot in which a member was recorded, in any metric.
    pub fn last_seen(&self, member: MemberIndex) -> Option<Slot> {
        self.members[member].map(|last| last.slot)
    }

    /// Holes that are still open at slot `now`, which other groups may have reached.
    pub fn open(&self, now: Slot) -> Vec<Hole> {
        let Some(last) = self.last_slot else { return Vec::new() };
        let end = Slot(last.0 + 1);
        if now.0.saturating_sub(last.0) > SHORTEST_HOLE {
            return vec![Hole { member: None, from: end, to: Slot(now.0 + 1) }];
        }
        let open = self.members.enumerate().filter_map(|(member, seen)| {
            let last = (*seen)?;
            (self.recorded_slots - last.recorded_slots >= SHORTEST_HOLE).then_some(Hole {
                member: Some(member),
                from: Slot(last.slot.0 + 1),
                to: end,
            })
        });
        open.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hole(member: Option<usize>, from: u64, to: u64) -> Hole {
        Hole { member: member.map(MemberIndex::new), from: Slot(from), to: Slot(to) }
    }

    #[test]
    fn a_time_without_any_member_is_the_groups_gap_and_not_each_members() {
        let mut attendance = Attendance::new(2);
        let mut found = Vec::new();
        for slot in (0..50).chain(500..600) {
            let is_recorded = |member: MemberIndex| member.index() == 0 || !(520..560).contains(&slot);
            attendance.push(Slot(slot), is_recorded, &mut found);
        }
        assert_eq!(found, [hole(None, 50, 500), hole(Some(1), 520, 560)]);
        assert!(attendance.open(Slot(599)).is_empty());
        assert_eq!(attendance.open(Slot(900)), [hole(None, 600, 901)]);
    }

    #[test]
    fn a_member_that_never_came_back_is_an_open_hole() {
        let mut attendance = Attendance::new(2);
        let mut found = Vec::new();
        for slot in 0..100 {
            attendance.push(Slot(slot), |member| member.index() == 0 || slot < 40, &mut found);
        }
        assert_eq!(attendance.open(Slot(99)), [hole(Some(1), 40, 100)]);
    }

    #[test]
    fn a_hole_is_longer_than_its_shortest() {
        let holes = |pause: u64| {
            let mut attendance = Attendance::new(1);
            let mut found = Vec::new();
            attendance.push(Slot(0), |_| true, &mut found);
            let open = attendance.open(Slot(pause)).len();
            attendance.push(Slot(pause), |_| true, &mut found);
            (found.len(), open)
        };
        assert_eq!([holes(SHORTEST_HOLE), holes(SHORTEST_HOLE + 1)], [(0, 0), (1, 1)]);
        let of_member = |pause: u64| {
            let mut attendance = Attendance::new(2);
            let mut found = Vec::new();
            (0..=pause).for_each(|slot| {
                attendance.push(
                    Slot(slot),
                    |member| member.index() == 0 || slot == 0 || slot == pause,
                    &mut found,
                );
            });
            found.len()
        };
        assert_eq!([of_member(SHORTEST_HOLE), of_member(SHORTEST_HOLE + 1)], [0, 1]);
    }
}

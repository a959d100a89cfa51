//! What could not be judged: groups, components, and whether "nothing suspect" may be said.

use super::*;

/// What a diagnosis rests upon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Each peer group.
    pub groups: Vec<GroupCoverage>,
    /// Components whose samples are not all there; files of which that is not known count as one.
    pub incomplete: usize,
    /// Components that the topology names, of kinds that were recorded, and of which there is no sample.
    pub never_recorded: usize,
    /// Samples that came too late to be judged, ...
    pub late: u64,
    /// ... and those that did not.
    pub taken: u64,
}

/// How many members of a group there are, and how many of them are healthy or suspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupCoverage {
    /// Members.
    pub members: usize,
    /// Those that could be judged.
    pub judged: usize,
    /// How slow its disks could have been seen to be.
    pub sight: Sight,
}

/// What tells how slow the disks of a group are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sight {
    /// Thresholds are trained: what they see was decided in training.
    pub is_trained: bool,
    /// What disks moved was recorded ...
    pub has_volume: bool,
    /// ... and something that tells how slow they are.
    pub is_told: bool,
    /// Slowness was put into the recording, and not even the largest was found.
    pub is_tried_in_vain: bool,
}

/// Groups of one or two never can be judged, and are no reason for alarm.
pub(super) fn not_all_judged(coverage: &Coverage) -> Option<Numbers> {
    let groups = &coverage.groups;
    let is_blind = |group: &&GroupCoverage| {
        group.members >= FEWEST_PEERS && (group.judged as f64) < MIN_JUDGED.value * group.members as f64
    };
    let blind = groups.iter().filter(is_blind).count();
    (blind > 0 || groups.iter().all(|group| group.judged == 0))
        .then(|| Numbers::of(&[("blind", blind as f64), ("groups", groups.len() as f64)]))
}

pub(super) fn not_all_recorded(coverage: &Coverage) -> Option<Numbers> {
    let (never, recorded) = (
        coverage.never_recorded as f64,
        coverage.groups.iter().map(|group| group.members).sum::<usize>() as f64,
    );
    (recorded < MIN_JUDGED.value * (never + recorded))
        .then(|| Numbers::of(&[("never", never), ("recorded", recorded)]))
}

pub(super) fn blind(coverage: &Coverage) -> Option<Numbers> {
    let is_blind = |sight: &Sight| {
        let is_untold = !sight.is_trained && sight.has_volume && !sight.is_told;
        is_untold || sight.is_tried_in_vain
    };
    let blind = coverage.groups.iter().filter(|group| is_blind(&group.sight)).count();
    (blind > 0).then(|| Numbers::of(&[("blind", blind as f64), ("groups", coverage.groups.len() as f64)]))
}

pub(super) fn input_lost(coverage: &Coverage) -> Option<Numbers> {
    let incomplete = coverage.incomplete;
    (incomplete > 0).then(|| Numbers::of(&[("incomplete", incomplete as f64)]))
}

pub(super) fn late_samples(coverage: &Coverage) -> Option<Numbers> {
    let (late, all) = (coverage.late as f64, (coverage.late + coverage.taken) as f64);
    (late > MAX_LATE.value * all).then(|| Numbers::of(&[("late", late), ("samples", all)]))
}

/// The rule that says that nothing suspect is no all-clear, if one does.
pub fn no_all_clear(coverage: &Coverage, without: &Without) -> Option<Spoken> {
    without.first(RULES, |rule| {
        let Step::AllClear(speaks) = rule.step else { return None };
        Some(Spoken { rule, metric: None, numbers: speaks(coverage)? })
    })
}

/// The metric of a group that was judged most often.
#[derive(Debug, Clone, Copy)]
pub struct MostJudged {
    /// Windows that could be decided.
    pub windows: u64,
    /// By which method ...
    pub method: &'static Method,
    /// ... and with which parameters.
    pub params: Params,
}

/// What is known of a group when the question is whether it can be judged.
pub struct GroupState {
    /// Its members.
    pub members: usize,
    /// None if no metric is compared.
    pub most_judged: Option<MostJudged>,
    /// Windows' time in which any member was recorded ...
    pub recorded: f64,
    /// ... windows in which members were compared ...
    pub compared: u64,
    /// ... and windows' time since the last of them.
    pub since_compared: f64,
    /// The longest time in windows, while some member was recorded, without one between.
    pub longest_uncompared: f64,
}

pub(super) fn few_peers(group: &GroupState) -> Option<UndecidedReason> {
    let members = group.members;
    (members < FEWEST_PEERS).then_some(UndecidedReason::FewPeers { members })
}

pub(super) fn nothing_compared(group: &GroupState) -> Option<UndecidedReason> {
    group.most_judged.is_none().then_some(UndecidedReason::NothingCompared)
}

pub(super) fn few_windows(group: &GroupState) -> Option<UndecidedReason> {
    let MostJudged { windows, method, params } = group.most_judged?;
    let needed_s = params.least_s();
    (windows < params.k as u64).then_some(UndecidedReason::FewWindows { windows, method, needed_s })
}

pub(super) fn mostly_uncompared(group: &GroupState) -> Option<UndecidedReason> {
    let is_most = (group.compared as f64) < (1.0 - MIN_UNCLEAR.value) * group.recorded - OVER_AFTER.value;
    let is_now = group.since_compared >= OVER_AFTER.value;
    let is_long = group.longest_uncompared >= OVER_AFTER.value.max(MAX_UNCOMPARED.value * group.recorded);
    (is_most || is_now || is_long).then_some(UndecidedReason::TooFewRecorded)
}

/// The windows of a component, by what could be said in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ComponentWindows {
    /// It was compared in any metric.
    pub judged: u64,
    /// It stood out, and a rule said that nothing can be said ...
    pub unclear: u64,
    /// ... in so many of the last windows without one between.
    pub unclear_now: u64,
    /// Since it was recorded first ...
    pub present: u64,
    /// ... and its disks or its traffic could not be compared, although those of its peers were.
    pub partial: u64,
    /// The last of them without one between.
    pub partial_now: u64,
    /// Samples of it were lost, merged with others or not understood.
    pub is_incomplete: bool,
}

pub(super) fn no_data(windows: &ComponentWindows) -> Option<UndecidedReason> {
    (windows.judged == 0).then_some(UndecidedReason::NoData)
}

pub(super) fn incomplete_input(windows: &ComponentWindows) -> Option<UndecidedReason> {
    windows.is_incomplete.then_some(UndecidedReason::IncompleteInput)
}

pub(super) fn mostly_partial(windows: &ComponentWindows) -> Option<UndecidedReason> {
    let is_most = windows.partial as f64 >= MIN_UNCLEAR.value * windows.present as f64;
    let is_now = windows.partial_now as f64 >= OVER_AFTER.value;
    (is_most || is_now).then_some(UndecidedReason::PartlyRecorded)
}

pub(super) fn mostly_unclear(windows: &ComponentWindows) -> Option<UndecidedReason> {
    let is_most = windows.unclear as f64 >= MIN_UNCLEAR.value * windows.judged as f64;
    let is_now = windows.unclear_now as f64 >= OVER_AFTER.value;
    (is_most || is_now).then_some(UndecidedReason::Unclear)
}

/// Why a component cannot be judged, if so, and the rule that says it.
pub fn undecided_component(windows: &ComponentWindows, without: &Without) -> Option<Undecided> {
    without.first(RULES, |rule| {
        let Step::HasData(speaks) = rule.step else { return None };
        Some(Undecided { reason: speaks(windows)?, rule })
    })
}

/// Why a group cannot be judged, if so, and the rule that says it.
pub fn undecided(group: &GroupState, without: &Without) -> Option<Undecided> {
    without.first(RULES, |rule| {
        let Step::Judged(speaks) = rule.step else { return None };
        Some(Undecided { reason: speaks(group)?, rule })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::cdf::CDF;

    #[test]
    fn nothing_suspect_is_said_only_where_all_that_can_be_compared_was() {
        let says = |groups: &[(usize, usize)]| {
            let coverage = |&(members, judged): &(usize, usize)| GroupCoverage {
                members,
                judged,
                sight: Sight::default(),
            };
            let coverage = Coverage { groups: groups.iter().map(coverage).collect(), ..Coverage::default() };
            let is_lost = Coverage { incomplete: 1, ..coverage.clone() };
            assert!(no_all_clear(&is_lost, &Without::default()).is_some(), "samples were lost");
            let sees = |sight: Sight| {
                let mut coverage = coverage.clone();
                coverage.groups.iter_mut().take(1).for_each(|group| group.sight = sight);
                groups.is_empty() || no_all_clear(&coverage, &Without::default()).is_none()
            };
            let volumes = Sight { has_volume: true, ..Sight::default() };
            assert!(groups.is_empty() || !sees(Sight { is_tried_in_vain: true, ..Sight::default() }));
            assert!(groups.is_empty() || !sees(volumes), "nothing tells how slow disks are");
            let is_seen = no_all_clear(&coverage, &Without::default()).is_none();
            assert!(is_seen == sees(Sight { is_told: true, ..volumes }) || groups.is_empty());
            assert!(is_seen == sees(Sight { is_trained: true, ..volumes }) || groups.is_empty());
            no_all_clear(&coverage, &Without::default()).is_none()
        };
        assert!(says(&[(9, 9)]) && says(&[(9, 9), (2, 0)]), "single machines are never compared");
        assert!(says(&[(8, 4)]) && !says(&[(8, 3)]) && !says(&[(9, 9), (3, 1)]), "half of each group");
        assert!(!says(&[(2, 0)]) && !says(&[]), "no component was judged");
    }

    #[test]
    fn where_most_of_the_topology_was_never_recorded_nothing_suspect_is_not_said() {
        let says = |never_recorded: usize| {
            no_all_clear(&Coverage { never_recorded, ..four_judged() }, &Without::default())
        };
        assert!(says(4).is_none());
        assert_eq!(says(5).map(|spoken| spoken.rule.id), Some("not-all-recorded"));
    }

    /// A group of four, all judged.
    fn four_judged() -> Coverage {
        let groups = vec![GroupCoverage { members: 4, judged: 4, sight: Sight::default() }];
        Coverage { groups, ..Coverage::default() }
    }

    #[test]
    fn where_many_samples_came_too_late_nothing_suspect_is_not_said() {
        let says = |late: u64| {
            no_all_clear(&Coverage { late, taken: 900, ..four_judged() }, &Without::default())
                .map(|spoken| spoken.rule.id)
        };
        assert_eq!([says(100), says(101)], [None, Some("late-samples")]);
    }

    /// Three members that were compared in so many windows of those that were recorded.
    fn judged_for(recorded: f64, compared: u64) -> GroupState {
        let (members, most_judged) = (3, None);
        GroupState { members, most_judged, recorded, compared, since_compared: 0.0, longest_uncompared: 0.0 }
    }

    #[test]
    fn a_group_is_judged_from_three_members_and_as_many_windows_as_the_filter_needs() {
        let reason = |members: usize, windows: Option<u64>| {
            let most_judged = windows.map(|windows| MostJudged { windows, method: &CDF, params: CDF.params });
            let state = GroupState { members, most_judged, ..judged_for(9.0, 9) };
            undecided(&state, &Without::default()).map(|found| found.rule.id)
        };
        let uncompared = |recorded: f64, compared: u64, since_compared: f64| {
            let most_judged = Some(MostJudged { windows: compared, method: &CDF, params: CDF.params });
            let state = GroupState { most_judged, since_compared, ..judged_for(recorded, compared) };
            undecided(&state, &Without::default()).map(|found| found.rule.id)
        };
        let long = |recorded: f64, longest_uncompared: f64| {
            let most_judged = Some(MostJudged { windows: 90, method: &CDF, params: CDF.params });
            let state = GroupState { most_judged, longest_uncompared, ..judged_for(recorded, 90) };
            undecided(&state, &Without::default()).map(|found| found.rule.id)
        };
        assert_eq!([long(100.0, 11.9), long(100.0, 12.0)], [None, Some("mostly-uncompared")]);
        assert_eq!([long(200.0, 19.9), long(200.0, 20.0)], [None, Some("mostly-uncompared")]);
        assert_eq!(
            [uncompared(40.0, 30, 11.9), uncompared(40.0, 30, 12.0)],
            [None, Some("mostly-uncompared")]
        );
        assert_eq!(
            [uncompared(224.0, 100, 0.0), uncompared(225.0, 100, 0.0)],
            [None, Some("mostly-uncompared")]
        );
        assert_eq!(reason(2, Some(9)), Some("few-peers"));
        assert_eq!(reason(3, None), Some("nothing-compared"));
        assert_eq!(reason(3, Some(2)), Some("few-windows"));
        assert_eq!(reason(3, Some(3)), None);
        let windows = |judged: u64, unclear: u64| ComponentWindows {
            judged,
            unclear,
            unclear_now: 0,
            present: 10,
            partial: 0,
            partial_now: 0,
            is_incomplete: false,
        };
        let incomplete = ComponentWindows { is_incomplete: true, ..windows(10, 0) };
        let reason = undecided_component(&incomplete, &Without::default()).map(|known| known.reason);
        assert_eq!(reason, Some(UndecidedReason::IncompleteInput));
        let now = |unclear_now: u64| {
            undecided_component(&ComponentWindows { unclear_now, ..windows(100, 9) }, &Without::default())
        };
        assert_eq!(
            [now(11), now(12)].map(|found| found.map(|found| found.rule.id)),
            [None, Some("mostly-unclear")]
        );
        let component = |judged: u64, unclear: u64| {
            undecided_component(&windows(judged, unclear), &Without::default()).map(|known| known.reason)
        };
        let partial = |partial: u64| {
            let windows = ComponentWindows { partial, ..windows(10, 0) };
            undecided_component(&windows, &Without::default()).map(|known| known.reason)
        };
        let lately = |partial_now: u64| {
            let windows = ComponentWindows { partial_now, present: 1000, ..windows(10, 0) };
            undecided_component(&windows, &Without::default()).map(|known| known.reason)
        };
        assert_eq!([lately(11), lately(12)], [None, Some(UndecidedReason::PartlyRecorded)]);
        assert_eq!([partial(4), partial(5)], [None, Some(UndecidedReason::PartlyRecorded)]);
        assert_eq!(component(0, 0), Some(UndecidedReason::NoData));
        assert_eq!(component(1, 0), None);
        assert_eq!(component(10, 4), None);
        assert_eq!(component(10, 5), Some(UndecidedReason::Unclear));
    }
}

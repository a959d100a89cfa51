//! The operator's state as a diagnosis: what is in trouble enough to be worth an administrator's time, what cannot be judged.

use super::budget::power::{Judged, Power as Probes, Visible};
use super::budget::{KNOWN_AFTER, Rarity};
use super::cause::Cause;
use super::evidence::Episode;
use super::gaps::{Gap, GapReason};
use super::incident::{
    ComponentVerdict, Confidence, Diagnosis, Excused, Incident, JudgedMetric, Power, Undecided, Verdict,
};
use super::judge::Track;
use super::past::SlowTime;
use super::persistence::Trouble;
use super::pipeline::{Diagnoser, Group, Place};
use super::rules;
use super::rules::episode::{Impact, Spoken};
use super::rules::site::{
    self, ComponentWindows, Coverage, Explained, GroupCoverage, GroupState, MostJudged, Sight,
};
use crate::ids::{ComponentId, GroupId, Table, UnixSeconds};
use crate::model::Kind;
use crate::model::metric::{Domain, Role};
use std::collections::{HashMap, HashSet};

/// When a component was in trouble, one after the other; what overlaps is one time.
fn times_of(troubles: &[Trouble], component: ComponentId) -> Vec<(UnixSeconds, UnixSeconds)> {
    let own = troubles.iter().filter(|trouble| trouble.component == component);
    let mut all: Vec<_> = own.map(|trouble| (trouble.episode.first, trouble.episode.last)).collect();
    all.sort_unstable();
    let mut times: Vec<(UnixSeconds, UnixSeconds)> = Vec::new();
    for (first, last) in all {
        match times.last_mut() {
            Some(known) if first <= known.1 => known.1 = known.1.max(last),
            _ => times.push((first, last)),
        }
    }
    times
}

/// Whether a trouble is slowness that began when nothing was known of chance.
pub(super) fn is_early_slowness(episode: &Episode, origin: UnixSeconds) -> bool {
    let known_from = origin.plus(KNOWN_AFTER.value as i64);
    episode.domain == Domain::Storage && !episode.is_calibrated() && episode.first < known_from
}

impl Diagnoser {
    /// The diagnosis as of now.
    pub fn diagnosis(&self) -> Diagnosis {
        let (troubles, mut excused) = self.troubles();
        let (explained, not_told) = site::explain(&self.roster, troubles, &self.config.without);
        excused.extend(not_told);
        let mut found: Vec<Incident> = explained.into_iter().map(|found| self.incident(found)).collect();
        found.extend(self.slow_groups());
        found.sort_by(|a, b| b.impact.total_cmp(&a.impact).then_with(|| a.component.cmp(&b.component)));
        let (observations, incidents): (Vec<Incident>, Vec<Incident>) =
            found.into_iter().partition(|found| rules::is_observation(found.cause));
        let suspects: HashSet<ComponentId> =
            incidents.iter().flat_map(|incident| incident.explains.iter().copied()).collect();
        let undecided_groups: Table<GroupId, Option<Undecided>> =
            self.groups.ids().map(|group| self.undecided(group)).collect();
        let verdict = |id: ComponentId| self.verdict(id, suspects.contains(&id), &undecided_groups);
        let components: Table<ComponentId, ComponentVerdict> = self.histories.ids().map(verdict).collect();
        let interval_s = self.config.interval_s;
        Diagnosis {
            from: self.grid().origin,
            to: self.newest_start().plus(i64::from(interval_s)),
            trained: self.config.thresholds.is_some(),
            interval_s,
            method: self.config.method,
            no_all_clear: self.no_all_clear(&components).filter(|_| incidents.is_empty()),
            components,
            judged: self.judged(),
            recorded: self.recorded(),
            power: self.power(),
            undecided_groups,
            incidents,
            observations,
            excused,
            more_troubles: self.histories.iter().map(|history| history.forgotten).sum(),
            gaps: self.all_gaps(),
            more_gaps: self.more_gaps,
            late_samples: self.late,
        }
    }

    /// Troubles that are worth a report, and those that are not.
    fn troubles(&self) -> (Vec<Trouble>, Vec<Excused>) {
        let (mut troubles, mut excused) = (Vec::new(), Vec::new());
        for (component, history) in self.histories.enumerate() {
            for mut trouble in history.troubles(component) {
                let group = self.roster.components[component].group;
                if let Some(rarity) = self.rarity_of_early(component, &trouble) {
                    (trouble.episode.is_rare, trouble.episode.rarity) = (true, Some(rarity));
                }
                match self.not_reported(group, &trouble.episode) {
                    Some(by) => excused.push(Excused { component, by, episode: trouble.episode }),
                    None => troubles.push(trouble),
                }
            }
        }
        (troubles, excused)
    }

    /// How rare a slowness is that began when nothing was known of chance: what was learnt since tells it.
    fn rarity_of_early(&self, component: ComponentId, trouble: &Trouble) -> Option<Rarity> {
        let Place { group, member } = self.places[component];
        if trouble.is_load
            || trouble.episode.is_rare
            || !is_early_slowness(&trouble.episode, self.grid().origin)
        {
            return None;
        }
        let of_group = self.tracks.iter().filter(|track| track.scorer.group == group);
        of_group.filter_map(|track| track.calibration.as_ref()?.rarity_of_early(member)).next()
    }

    /// The rule that says that a trouble in a group is not worth a report, if one does.
    fn not_reported(&self, group: GroupId, episode: &Episode) -> Option<Spoken> {
        let (windows, is_trained) = (self.groups[group].windows, self.config.thresholds.is_some());
        let impact = Impact::new(episode, windows, self.shift_s(), is_trained);
        impact.excused(&self.config.without)
    }

    fn incident(&self, found: Explained) -> Incident {
        let Explained { rule, claim, named, troubles } = found;
        let episodes = || troubles.iter().map(|trouble| &trouble.episode);
        let mut explains: Vec<ComponentId> = troubles.iter().map(|trouble| trouble.component).collect();
        let mut seen = HashSet::new();
        explains.retain(|id| seen.insert(*id));
        let worst = explains.first().copied().unwrap_or(ComponentId::new(0));
        Incident {
            component: claim.part.name,
            kind: claim.part.kind,
            cause: named.cause,
            severity: episodes().map(Episode::severity).fold(0.0, f64::max),
            persistence: episodes().map(|episode| episode.persistence).max().unwrap_or(0),
            confidence: Confidence::of(episodes(), self.recorded_s()),
            impact: episodes().map(Episode::impact).sum(),
            first: episodes().map(|episode| episode.first).min().unwrap_or_default(),
            last: episodes().map(|episode| episode.last).max().unwrap_or_default(),
            times: times_of(&troubles, worst),
            is_open: troubles.iter().any(|trouble| trouble.is_open),
            explains,
            worst,
            episode: troubles.into_iter().next().map(|trouble| trouble.episode).unwrap_or_default(),
            found_by: Spoken { rule, metric: None, numbers: claim.numbers },
            named_by: named.spoken,
        }
    }

    /// Seconds from the first moment of data to the last.
    fn recorded_s(&self) -> f64 {
        self.newest_start().since(self.grid().origin) as f64 + f64::from(self.config.interval_s)
    }

    /// Groups that are slow as a whole against their own past: no member is accused.
    fn slow_groups(&self) -> Vec<Incident> {
        let rule = site::everybody_slow_rule();
        let incident = |group: GroupId, slow: &SlowTime| Incident {
            component: self.roster.groups[group].name.clone(),
            kind: Kind::Group,
            cause: rule.ruling.cause().unwrap_or(Cause::Unknown),
            severity: slow.episode.severity(),
            persistence: slow.episode.persistence,
            confidence: Confidence::of(std::iter::once(&slow.episode), self.recorded_s()),
            impact: slow.episode.impact(),
            first: slow.episode.first,
            last: slow.episode.last,
            times: vec![(slow.episode.first, slow.episode.last)],
            is_open: slow.is_open,
            explains: Vec::new(),
            worst: self.roster.groups[group].members.iter().next().copied().unwrap_or(ComponentId::new(0)),
            episode: slow.episode.clone(),
            found_by: Spoken { rule, metric: None, numbers: slow.numbers },
            named_by: Vec::new(),
        };
        let of_group = |(group, known): (GroupId, &Group)| -> Vec<Incident> {
            let times = known.past.slow_times();
            let told = times.filter(|slow| self.not_reported(group, &slow.episode).is_none());
            told.map(|slow| incident(group, slow)).collect()
        };
        self.groups.enumerate().flat_map(of_group).collect()
    }

    fn all_gaps(&self) -> Vec<Gap> {
        let mut gaps = self.gaps.clone();
        let now = self.newest_slot();
        for (group, known) in self.groups.enumerate() {
            gaps.extend(known.attendance.open(now).into_iter().map(|hole| self.gap(group, hole)));
        }
        self.name_silent_servers(&mut gaps);
        let (from, to) = (self.grid().origin, self.newest_start().plus(i64::from(self.config.interval_s)));
        for component in &self.roster.never_recorded {
            gaps.push(Gap { component: component.clone(), from, to, reason: GapReason::NeverRecorded });
        }
        gaps
    }

    /// Where everything that a server reports is missing at once, the server was silent.
    fn name_silent_servers(&self, gaps: &mut [Gap]) {
        let server_of = |name: &str| self.roster.components[self.roster.find(name)?].part(Kind::Server);
        let mut reporting: HashMap<&str, usize> = HashMap::new();
        for component in &self.roster.components {
            component
                .part(Kind::Server)
                .into_iter()
                .for_each(|server| *reporting.entry(server).or_default() += 1);
        }
        let mut missing: HashMap<(&str, UnixSeconds, UnixSeconds), usize> = HashMap::new();
        for gap in gaps.iter() {
            server_of(&gap.component)
                .into_iter()
                .for_each(|server| *missing.entry((server, gap.from, gap.to)).or_default() += 1);
        }
        for gap in gaps.iter_mut() {
            let Some(server) = server_of(&gap.component) else { continue };
            let (missing, reporting) = (missing[&(server, gap.from, gap.to)], reporting[server]);
            if reporting > 1 && missing == reporting {
                gap.reason = GapReason::ServerSilent(server.into());
            }
        }
    }

    /// The rule that says that "nothing suspect" would be no all-clear, if one does.
    fn no_all_clear(&self, components: &Table<ComponentId, ComponentVerdict>) -> Option<Spoken> {
        let is_judged = |id: &&ComponentId| !matches!(components[**id].verdict, Verdict::Undecided(_));
        let members = self.roster.groups.iter().map(|group| &group.members);
        let groups = self.roster.groups.ids().zip(members).map(|(group, members)| GroupCoverage {
            members: members.len(),
            judged: members.iter().filter(is_judged).count(),
            sight: self.sight(group),
        });
        let incomplete = &self.config.incomplete;
        let coverage = Coverage {
            groups: groups.collect(),
            incomplete: incomplete.components.len() + usize::from(incomplete.is_of_others),
            never_recorded: self.roster.never_recorded.len(),
            late: self.late,
            taken: self.taken,
        };
        site::no_all_clear(&coverage, &self.config.without)
    }

    /// How slow disks of a group could have been seen to be.
    fn sight(&self, group: GroupId) -> Sight {
        let of_group = || self.tracks.iter().filter(|track| track.scorer.group == group);
        Sight {
            is_trained: self.config.thresholds.is_some(),
            has_volume: of_group().any(|track| track.scorer.metric.role() == Role::StorageVolume),
            is_told: of_group().any(|track| track.calibration.is_some()),
            is_tried_in_vain: self.probed(group).any(|(probes, judged)| probes.is_blind(&judged)),
        }
    }

    /// What each metric of a group could have seen, and what was judged of it.
    fn probed(&self, group: GroupId) -> impl Iterator<Item = (&Probes, Judged<'_>)> {
        let (windows, shift_s) = (self.groups[group].windows, self.shift_s());
        let tracks = self.tracks.iter().filter(move |track| track.scorer.group == group);
        tracks.filter_map(move |track| {
            let calibration = track.calibration.as_ref();
            Some((track.power()?, Judged { windows, shift_s, without: &self.config.without, calibration }))
        })
    }

    /// The least slowness that would have been named in each group, as far as it is known.
    fn power(&self) -> Vec<Power> {
        let of_group = |group: GroupId| {
            let visible = self.probed(group).flat_map(|(probes, judged)| probes.visible(&judged));
            visible.map(move |Visible { ratio, seconds }| Power { group, ratio, seconds })
        };
        self.groups.ids().flat_map(of_group).collect()
    }

    fn undecided(&self, group: GroupId) -> Option<Undecided> {
        let members = self.roster.groups[group].members.len();
        let indicting = || {
            let of_group = self.tracks.iter().filter(move |track| track.scorer.group == group);
            of_group.filter(|track| track.scorer.metric.can_indict())
        };
        // Others decide only where nothing else was recorded: they are blind to disks.
        let is_main = |track: &&Track| track.scorer.metric.role().is_main();
        let most = |tracks: &mut dyn Iterator<Item = &Track>| {
            tracks.max_by_key(|track| track.memory.decided_windows).map(|track| MostJudged {
                windows: track.memory.decided_windows,
                method: track.scorer.method,
                params: track.scorer.params,
            })
        };
        let most_judged = most(&mut indicting().filter(is_main)).or_else(|| most(&mut indicting()));
        let known = &self.groups[group];
        let windows_of = |slots: u64| slots as f64 / self.params.shift as f64;
        let state = GroupState {
            members,
            most_judged,
            recorded: windows_of(known.attendance.recorded_slots()),
            compared: known.windows,
            longest_uncompared: windows_of(known.longest_uncompared),
            since_compared: windows_of((self.newest_slot().0 + 1).saturating_sub(known.compared_until.0)),
        };
        site::undecided(&state, &self.config.without)
    }

    /// What was recorded at all, of what can speak against a component.
    fn recorded(&self) -> Vec<JudgedMetric> {
        let can_indict =
            self.tracks.iter().map(|track| &track.scorer).filter(|scorer| scorer.metric.can_indict());
        can_indict.map(|scorer| JudgedMetric { group: scorer.group, metric: scorer.metric }).collect()
    }

    /// What was judged often enough to mean something.
    fn judged(&self) -> Vec<JudgedMetric> {
        let enough = |track: &&Track| {
            let scorer = &track.scorer;
            track.memory.decided_windows >= scorer.params.k as u64 && scorer.metric.can_indict()
        };
        let judged = |track: &Track| JudgedMetric { group: track.scorer.group, metric: track.scorer.metric };
        self.tracks.iter().filter(enough).map(judged).collect()
    }

    fn verdict(
        &self,
        component: ComponentId,
        is_suspect: bool,
        undecided: &Table<GroupId, Option<Undecided>>,
    ) -> ComponentVerdict {
        let history = &self.histories[component];
        let group = undecided[self.roster.components[component].group].as_ref();
        let is_incomplete = self.config.incomplete.components.binary_search(&component).is_ok();
        let windows = ComponentWindows { is_incomplete, ..history.windows };
        let own = || site::undecided_component(&windows, &self.config.without);
        let verdict = match group.cloned().or_else(own) {
            _ if is_suspect => Verdict::Suspect,
            Some(undecided) => Verdict::Undecided(undecided),
            None => Verdict::Healthy,
        };
        let severity = history.severity();
        ComponentVerdict { verdict, severity, persistence: history.peak, accumulator: history.accumulator }
    }
}

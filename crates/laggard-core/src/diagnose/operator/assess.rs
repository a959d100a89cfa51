//! The operator's state as a diagnosis: who is in trouble enough to be worth an administrator's time, who cannot be judged.

use super::Diagnoser;
use crate::diagnose::evidence::Episode;
use crate::diagnose::gaps::Gap;
use crate::diagnose::incident::{ComponentVerdict, Diagnosis, Verdict};
use crate::diagnose::localise;
use crate::diagnose::track::Track;
use crate::model::metric::Role;
use crate::model::{Kind, Metric};
use std::collections::{HashMap, HashSet};

/// Three windows just above the threshold may be chance in any recording, however short.
const LEAST_IMPACT: f64 = 3.5;

/// Windows of a day, at least: those of `cdf` on its own grid.
const LEAST_DAY: f64 = 192.0;

impl Diagnoser {
    /// The diagnosis as of now.
    pub fn diagnosis(&self) -> Diagnosis {
        let suspects: Vec<(usize, Episode)> = (0..self.states.len())
            .filter_map(|component| Some((component, self.trouble(component)?)))
            .collect();
        let incidents = localise::incidents(&self.roster, suspects);
        let explained: HashSet<usize> =
            incidents.iter().flat_map(|incident| incident.explains.iter().copied()).collect();
        let is_suspect = |component: usize| explained.contains(&component);
        let mut gaps = self.gaps.clone();
        for (index, group) in self.groups.iter().enumerate() {
            let now = (self.newest - self.origin.unwrap_or(self.newest)).max(0) as u64;
            gaps.extend(group.follower.open(now).into_iter().map(|hole| self.gap(index, hole)));
        }
        self.name_silent_servers(&mut gaps);
        let from_s = self.seconds(0);
        let to_s = self
            .newest
            .max(self.origin.unwrap_or(0))
            .saturating_add(1)
            .saturating_mul(i64::from(self.config.interval_s));
        for name in &self.roster.never_recorded {
            let reason = "named by the topology, never recorded".into();
            gaps.push(Gap { component: name.clone(), from_s, to_s, reason });
        }
        let undecided_groups: Vec<Option<String>> =
            (0..self.groups.len()).map(|group| self.undecided(group)).collect();
        let components = (0..self.states.len())
            .map(|component| self.verdict(component, is_suspect(component), &undecided_groups));
        Diagnosis {
            from_s,
            to_s,
            trained: self.config.thresholds.is_some(),
            interval_s: self.config.interval_s,
            method: self.config.method.name,
            components: components.collect(),
            is_undecided: self.is_undecided(&undecided_groups) && incidents.is_empty(),
            judged: self.judged(),
            undecided_groups,
            incidents,
            gaps,
            more_gaps: self.more_gaps,
            late_samples: self.late,
        }
    }

    /// Where everything that a server reports is missing at once, the server was silent.
    fn name_silent_servers(&self, gaps: &mut [Gap]) {
        let server_of = |name: &str| {
            let parts = &self.roster.components[self.roster.find(name)?].parts;
            parts.iter().find(|(kind, _)| *kind == Kind::Server).map(|(_, server)| server.as_str())
        };
        let mut reporting: HashMap<&str, usize> = HashMap::new();
        for component in &self.roster.components {
            server_of(&component.name)
                .into_iter()
                .for_each(|server| *reporting.entry(server).or_default() += 1);
        }
        let mut missing: HashMap<(&str, i64, i64), usize> = HashMap::new();
        for gap in gaps.iter() {
            server_of(&gap.component)
                .into_iter()
                .for_each(|server| *missing.entry((server, gap.from_s, gap.to_s)).or_default() += 1);
        }
        for gap in gaps.iter_mut() {
            let Some(server) = server_of(&gap.component) else { continue };
            let (missing, reporting) = (missing[&(server, gap.from_s, gap.to_s)], reporting[server]);
            if reporting > 1 && missing == reporting {
                gap.reason = format!("its server {server} was silent");
            }
        }
    }

    /// All trouble of a component, if it was enough to be worth an administrator's time.
    fn trouble(&self, component: usize) -> Option<Episode> {
        let state = &self.states[component];
        let mut trouble = state.ended.clone();
        if let Some(episode) = &state.episode {
            trouble.merge(episode);
        }
        let windows = self.groups[self.roster.components[component].group].ticks;
        let least = self.least_impact(windows);
        if trouble.persistence == 0 || trouble.impact() < least {
            return None;
        }
        if !state.aside.evidence.is_empty() {
            let persistence = trouble.persistence;
            let (first_s, last_s) = (trouble.first_s, trouble.last_s);
            trouble.merge(&state.aside);
            trouble = Episode { persistence, first_s, last_s, ..trouble };
        }
        Some(trouble)
    }

    /// Anomalies "always exist" in a large system (LISA'13, section 4.3): the longer the recording, the longer or the more
    /// violent a trouble must be to be reported. Chance grows with the square root of the number of windows; after a day the
    /// bar stays, or a long history would blind the diagnosis.
    pub(super) fn least_impact(&self, windows: u64) -> f64 {
        // Trained, everything is reported, as published.
        if self.config.thresholds.is_some() {
            return 0.0;
        }
        const FEW: f64 = 12.0;
        let shift_s = self.params.shift as f64 * f64::from(self.config.interval_s);
        let day = (86_400.0 / shift_s).max(LEAST_DAY);
        let windows = windows as f64;
        let rise = ((windows - FEW) / FEW).clamp(0.0, 1.0);
        (1.1 * windows.min(day).sqrt() * rise).max(LEAST_IMPACT)
    }

    /// A group that could have been compared was not. Groups of one or two never can, and are no reason for alarm.
    fn is_undecided(&self, undecided: &[Option<String>]) -> bool {
        let sizes = self.roster.groups.iter().map(|group| group.members.len());
        let comparable = |size: usize| size >= crate::compare::FEWEST_PEERS;
        undecided.iter().zip(sizes).any(|(reason, size)| reason.is_some() && comparable(size))
            || undecided.iter().all(Option::is_some)
    }

    fn undecided(&self, group: usize) -> Option<String> {
        let members = self.roster.groups[group].members.len();
        if members < crate::compare::FEWEST_PEERS {
            let plural = if members == 1 { "" } else { "s" };
            return Some(format!("{members} member{plural}, a comparison needs at least 3"));
        }
        let indicting = self
            .tracks
            .iter()
            .filter(|track| track.group == group && track.metric.properties().role.can_indict());
        // Congestion alone decides only where nothing else was recorded: it is blind to disks.
        let is_main = |track: &&Track| track.metric.properties().role != Role::Congestion;
        let main = indicting.clone().filter(is_main).max_by_key(|track| track.decided_windows);
        let Some(best) = main.or_else(|| indicting.max_by_key(|track| track.decided_windows)) else {
            return Some("none of its metrics is compared (docs/metrics.md)".into());
        };
        let params = best.params;
        let slots = (params.size + (params.k - 1) * params.shift) as u64;
        let needed = slots * u64::from(self.config.interval_s);
        (best.decided_windows < params.k as u64).then(|| {
            let (windows, method) = (best.decided_windows, best.method.name);
            let plural = if windows == 1 { "" } else { "s" };
            format!("{windows} window{plural} with data of three members; `{method}` needs {needed} s of recording")
        })
    }

    /// Per group and metric: what was judged often enough to mean something.
    fn judged(&self) -> Vec<(usize, Metric)> {
        let enough = |track: &&Track| {
            track.decided_windows >= track.params.k as u64 && track.metric.properties().role.can_indict()
        };
        self.tracks.iter().filter(enough).map(|track| (track.group, track.metric)).collect()
    }

    fn verdict(&self, component: usize, is_suspect: bool, undecided: &[Option<String>]) -> ComponentVerdict {
        let state = &self.states[component];
        let group_reason = &undecided[self.roster.components[component].group];
        let verdict = match group_reason {
            _ if is_suspect => Verdict::Suspect,
            Some(reason) => Verdict::Undecided(reason.clone()),
            None if state.decided == 0 => Verdict::Undecided("no window with its data".into()),
            None => Verdict::Healthy,
        };
        let mut trouble = state.ended.clone();
        state.episode.iter().for_each(|episode| trouble.merge(episode));
        let severity = if trouble.evidence.is_empty() { 0.0 } else { trouble.severity() };
        ComponentVerdict { verdict, severity, persistence: state.peak, accumulator: state.accumulator }
    }
}

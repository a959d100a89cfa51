//! What speaks against a component: per metric, and gathered over one episode.

use super::bound::{Bound, THREE_TIMES};
use super::budget::Rarity;
use super::case::{Reading, Relation};
use super::ledger::SlowPiece;
use super::persistence::Finding;
use crate::compare::Method;
use crate::ids::UnixSeconds;
use crate::model::Metric;
use crate::model::metric::Domain;
use std::collections::BTreeMap;

/// One anomalous window of one component in one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Start of the window.
    pub from: UnixSeconds,
    /// End of the window.
    pub to: UnixSeconds,
    /// The score in this window; NaN of a silent component.
    pub score: f64,
    /// The threshold it exceeded.
    pub threshold: f64,
    /// The component's mean level.
    pub level: f64,
    /// The median level of its peers.
    pub peer_level: f64,
    /// Level over peers' level, with both at least negligible.
    pub ratio: f64,
    /// How the level relates to the peers'.
    pub relation: Relation,
    /// Whether the component jitters and its peers do not.
    pub jitters: bool,
    /// Of more work than the peers': the share of the extra time in service that it explains. Nothing of all else.
    pub by_load: Option<f64>,
}

impl Observation {
    /// What a reading says of a window.
    pub fn new(from: UnixSeconds, to: UnixSeconds, seen: &Reading, relation: Relation) -> Observation {
        Observation {
            from,
            to,
            score: seen.score.exact().unwrap_or(f64::NAN),
            threshold: seen.threshold,
            level: seen.level,
            peer_level: seen.peer_level,
            ratio: seen.ratio,
            relation,
            jitters: false,
            by_load: None,
        }
    }
}

/// What one metric says against a component.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The method.
    pub method: &'static Method,
    /// Start of the first anomalous window.
    pub from: UnixSeconds,
    /// End of the last anomalous window.
    pub to: UnixSeconds,
    /// Anomalous windows.
    pub windows: u32,
    /// Those of them that speak against the component; the others only explain.
    pub indicting: u32,
    /// The worst window.
    pub peak: Observation,
    log_severity: f64,
    log_ratio: f64,
    relations: [u32; Relation::ALL.len()],
    jittery: u32,
    /// Sum over the windows in which it is known, and their number.
    by_load: (f64, u32),
}

impl Evidence {
    fn new(method: &'static Method, first: Observation) -> Evidence {
        let mut evidence = Evidence {
            method,
            from: first.from,
            to: first.to,
            windows: 0,
            indicting: 0,
            peak: first,
            log_severity: 0.0,
            log_ratio: 0.0,
            relations: [0; Relation::ALL.len()],
            jittery: 0,
            by_load: (0.0, 0),
        };
        evidence.add(first);
        evidence
    }

    fn add(&mut self, seen: Observation) {
        self.from = self.from.min(seen.from);
        self.to = self.to.max(seen.to);
        self.windows += 1;
        if severity(&seen) > severity(&self.peak) {
            self.peak = seen;
        }
        self.log_severity += severity(&seen).ln();
        self.log_ratio += if seen.ratio > 0.0 { seen.ratio.ln() } else { 0.0 };
        self.relations[seen.relation as usize] += 1;
        self.jittery += u32::from(seen.jitters);
        if let Some(by_load) = seen.by_load {
            self.by_load = (self.by_load.0 + by_load, self.by_load.1 + 1);
        }
    }

    /// Share of the extra time in service that a load explains, on average; none where it is not known.
    pub fn by_load(&self) -> Option<f64> {
        (self.by_load.1 > 0).then(|| self.by_load.0 / f64::from(self.by_load.1))
    }

    /// Score over threshold, geometric mean over the anomalous windows.
    pub fn severity(&self) -> f64 {
        (self.log_severity / f64::from(self.windows)).exp()
    }

    /// Level over the peers' level, geometric mean over the anomalous windows.
    pub fn ratio(&self) -> f64 {
        (self.log_ratio / f64::from(self.windows)).exp()
    }

    /// How the level mostly related to the peers'.
    pub fn relation(&self) -> Relation {
        let seen = |relation: &Relation| self.relations[*relation as usize];
        // Of equally frequent ones the first: a difference outranks none.
        Relation::ALL.into_iter().rev().max_by_key(seen).unwrap_or(Relation::Alike)
    }

    /// Share of the windows in which the component jittered.
    pub fn jittery_share(&self) -> f64 {
        f64::from(self.jittery) / f64::from(self.windows)
    }
}

/// The distance to a missing sample has no scale of its own: silence is severe, always alike.
pub const SILENCE_SEVERITY: Bound = Bound::new("silence_severity", THREE_TIMES, "times the threshold");

/// More severe than this means nothing.
const MAX_SEVERITY: f64 = 1e6;

/// Score over threshold.
fn severity(seen: &Observation) -> f64 {
    let ratio = seen.score / seen.threshold.max(1e-9);
    match seen.relation {
        Relation::Silent => SILENCE_SEVERITY.value,
        Relation::High | Relation::Low | Relation::Idle | Relation::Alike => match ratio.is_finite() {
            true => ratio.clamp(1.0, MAX_SEVERITY),
            false => 1.0,
        },
    }
}

/// One time of trouble of one component, of its disks or of its network: from the first anomalous window until it was not seen for a
/// while.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Episode {
    /// Of what.
    pub domain: Domain,
    /// When the trouble began, as well as the windows can tell.
    pub first: UnixSeconds,
    /// End of the last anomalous window.
    pub last: UnixSeconds,
    /// Peak of the accumulator.
    pub persistence: u32,
    /// What each metric says.
    pub evidence: BTreeMap<Metric, Evidence>,
    /// Pieces of time in which a device was slow for its work, the first of them.
    pub slow: Vec<SlowPiece>,
    /// Windows of slowness, of which it was known how rare that is, indicted ...
    pub is_calibrated: bool,
    /// ... and windows of something else, or of a time in which it was not known.
    pub is_other: bool,
    /// Rarer than the budget of false alarms in any window ...
    pub is_rare: bool,
    /// ... and the rarest that it was.
    pub rarity: Option<Rarity>,
}

/// So many pieces, the first, tell what kind of slowness it is.
pub const FIRST_SLOW: Bound = Bound::new("first_pieces", 64.0, "pieces");

impl Episode {
    /// Adds pieces of time in which the device was slow.
    pub fn note_slow(&mut self, slow: &[SlowPiece]) {
        let left = (FIRST_SLOW.value as usize).saturating_sub(self.slow.len());
        self.slow.extend(slow.iter().take(left));
    }

    /// Keeps how rare it was at its rarest, and whether that was known in all windows.
    pub fn note_rarity(&mut self, finding: &Finding) {
        self.is_calibrated |= finding.is_calibrated;
        self.is_other |= !finding.is_calibrated;
        let rarity = finding.rarity.filter(|_| finding.is_rare || !self.is_rare);
        let is_rarer = |other: &Rarity| {
            finding.is_rare && !self.is_rare || self.rarity.is_none_or(|known| other.rate < known.rate)
        };
        self.rarity = rarity.filter(is_rarer).or(self.rarity);
        self.is_rare |= finding.is_rare;
    }

    /// Adds an anomalous window.
    pub fn observe(
        &mut self,
        metric: Metric,
        method: &'static Method,
        onset: UnixSeconds,
        seen: Observation,
    ) {
        let is_new = self.evidence.is_empty();
        self.first = if is_new { onset } else { self.first.min(onset) };
        self.last = if is_new { seen.to } else { self.last.max(seen.to) };
        self.observe_context(metric, method, seen);
        if let Some(known) = self.evidence.get_mut(&metric) {
            known.indicting += 1;
        }
    }

    /// Adds a window that shows what else was to be seen: it does not date the trouble.
    pub fn observe_context(&mut self, metric: Metric, method: &'static Method, seen: Observation) {
        self.evidence
            .entry(metric)
            .and_modify(|known| known.add(seen))
            .or_insert_with(|| Evidence::new(method, seen));
    }

    /// Whether it was seen at any time between two moments.
    pub fn overlaps(&self, other: &Episode) -> bool {
        self.first <= other.last && self.last >= other.first
    }

    /// The largest severity of any metric.
    pub fn severity(&self) -> f64 {
        self.evidence.values().map(Evidence::severity).fold(1.0, f64::max)
    }

    /// Persistence times severity: what incidents are ordered by, so that a short but violent trouble and a mild but
    /// lasting one both come up (LISA'13, section 7).
    pub fn impact(&self) -> f64 {
        f64::from(self.persistence) * self.severity()
    }

    /// Whether all that indicted is slowness of which it was known how rare it is.
    pub fn is_calibrated(&self) -> bool {
        self.is_calibrated && !self.is_other
    }

    /// Whether any metric mostly relates to the peers like this.
    pub fn is_mostly(&self, relation: Relation) -> bool {
        self.evidence.values().any(|evidence| evidence.relation() == relation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::cdf::CDF;

    fn observation(relation: Relation, severity: f64) -> Observation {
        Observation {
            from: UnixSeconds(0),
            to: UnixSeconds(60),
            score: severity,
            threshold: 1.0,
            level: 2.0,
            peer_level: 1.0,
            ratio: 2.0,
            relation,
            jitters: false,
            by_load: None,
        }
    }

    fn episode(seen: &[Observation]) -> Episode {
        let mut episode = Episode::default();
        seen.iter().for_each(|seen| episode.observe(Metric::Await, &CDF, UnixSeconds(0), *seen));
        episode
    }

    #[test]
    fn a_difference_that_is_as_frequent_as_none_is_a_difference() {
        let relation = |seen: &[Relation]| {
            let seen: Vec<Observation> = seen.iter().map(|relation| observation(*relation, 2.0)).collect();
            episode(&seen).evidence[&Metric::Await].relation()
        };
        assert_eq!(relation(&[Relation::Alike, Relation::High]), Relation::High);
        assert_eq!(relation(&[Relation::High, Relation::Alike]), Relation::High);
        assert_eq!(relation(&[Relation::Alike, Relation::Alike, Relation::High]), Relation::Alike);
        assert_eq!(relation(&[Relation::Silent, Relation::Idle]), Relation::Idle);
    }

    #[test]
    fn severity_is_the_geometric_mean_and_silence_is_always_severe() {
        let seen = [observation(Relation::High, 2.0), observation(Relation::High, 8.0)];
        assert!((episode(&seen).severity() - 4.0).abs() < 1e-12);
        assert!((episode(&[observation(Relation::Silent, f64::NAN)]).severity() - 3.0).abs() < 1e-12);
        assert_eq!(episode(&[observation(Relation::High, 0.2)]).severity(), 1.0, "at least one");
    }

    #[test]
    fn the_worst_window_and_the_span_are_kept() {
        let early = observation(Relation::High, 5.0);
        let late =
            Observation { from: UnixSeconds(90), to: UnixSeconds(150), ..observation(Relation::High, 2.0) };
        let mut seen = episode(&[early, late]);
        let evidence = &seen.evidence[&Metric::Await];
        assert_eq!((evidence.peak, evidence.windows), (early, 2));
        assert_eq!((evidence.from, evidence.to), (UnixSeconds(0), UnixSeconds(150)));
        seen.observe_context(Metric::RdSec, &CDF, Observation { to: UnixSeconds(300), ..early });
        assert_eq!((seen.last, seen.evidence.len()), (UnixSeconds(150), 2), "context does not date it");
    }

    #[test]
    fn the_share_of_jittery_windows_is_kept() {
        let share = |count: usize, of: usize| {
            let seen =
                |index: usize| Observation { jitters: index < count, ..observation(Relation::High, 2.0) };
            episode(&(0..of).map(seen).collect::<Vec<_>>()).evidence[&Metric::Await].jittery_share()
        };
        assert_eq!([share(1, 2), share(3, 4)], [0.5, 0.75]);
    }

    #[test]
    fn the_share_of_a_load_is_the_mean_of_the_windows_in_which_it_is_known() {
        let with = |by_load: Option<f64>| Observation { by_load, ..observation(Relation::High, 2.0) };
        let seen = episode(&[with(Some(0.5)), with(None), with(Some(1.0))]);
        assert_eq!(seen.evidence[&Metric::Await].by_load(), Some(0.75));
        assert_eq!(episode(&[with(None)]).evidence[&Metric::Await].by_load(), None);
    }

    #[test]
    fn of_equally_severe_windows_the_first_is_shown_and_a_ratio_of_zero_says_nothing() {
        let at = |from: i64, severity: f64, ratio: f64| {
            let span = (UnixSeconds(from), UnixSeconds(from + 60));
            Observation { from: span.0, to: span.1, ratio, ..observation(Relation::High, severity) }
        };
        let seen = episode(&[at(0, 2.0, 2.0), at(60, 2.0, 8.0), at(120, 3.0, 4.0), at(180, 3.0, 4.0)]);
        assert_eq!(seen.evidence[&Metric::Await].peak.from, UnixSeconds(120));
        assert!((seen.evidence[&Metric::Await].ratio() - 4.0).abs() < 1e-9);
        let zero = episode(&[at(0, 2.0, 0.0), at(60, 2.0, 4.0)]);
        assert!(
            (zero.evidence[&Metric::Await].ratio() - 2.0).abs() < 1e-9,
            "{}",
            zero.evidence[&Metric::Await].ratio()
        );
    }
}

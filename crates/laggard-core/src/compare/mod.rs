//! Comparison methods: each turns a window of smoothed samples of one peer group into one score per component.
//!
//! A method is one file and one line in [`METHODS`]. Definitions and numbers are those of `docs/methods.md`.
//! Every file keeps its plain definition beside the fast path, as the oracle of the property tests.

pub mod cdf;
pub mod cost;
pub mod cwnd;
pub mod kl;
pub mod limp;
pub mod median;
pub mod perseus;
pub mod thresh;

#[cfg(test)]
mod properties;

use crate::grid::{Params, Window};

/// What is known of a component's score in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Score {
    /// The score itself.
    Exact(f64),
    /// Not above the threshold it was asked about; the fast path had no need to know more.
    WithinThreshold,
    /// No data, or too few peers.
    Missing,
}

impl Score {
    /// The score where it is known.
    pub fn exact(self) -> Option<f64> {
        if let Score::Exact(score) = self { Some(score) } else { None }
    }
}

/// What scores are held against.
#[derive(Clone, Copy)]
pub enum Threshold<'a> {
    /// One per component, from training.
    Trained(&'a [f64]),
    /// One for all, made from the scores of some components.
    FromPeers {
        /// Components whose scores make it.
        sample: &'a [usize],
        /// How they do.
        rule: &'a dyn Fn(&[f64]) -> f64,
    },
}

/// Scores of a window where they matter, and the thresholds they were held against.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Per component.
    pub scores: Vec<Score>,
    /// Per component.
    pub thresholds: Vec<f64>,
}

impl Judgement {
    /// Nothing can be said of this window.
    pub fn missing(components: usize) -> Judgement {
        Judgement { scores: vec![Score::Missing; components], thresholds: vec![f64::NAN; components] }
    }

    /// For methods whose scores are cheap: compute them all, and say everything.
    fn from_scores(scores: &[f64], threshold: Threshold) -> Judgement {
        let known = |score: &f64| if score.is_nan() { Score::Missing } else { Score::Exact(*score) };
        let thresholds = match threshold {
            Threshold::Trained(thresholds) => thresholds.to_vec(),
            Threshold::FromPeers { sample, rule } => {
                let sampled: Vec<f64> = sample.iter().map(|&component| scores[component]).collect();
                vec![rule(&sampled); scores.len()]
            }
        };
        Judgement { scores: scores.iter().map(known).collect(), thresholds }
    }
}

/// How training turns the largest fault-free score into a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cushion {
    /// Times this factor.
    Factor(f64),
    /// Rounded up to a multiple of `step`, at least `step`, then times `factor`.
    RoundedUp {
        /// Increment of the search.
        step: f64,
        /// The cushion.
        factor: f64,
    },
    /// As it is, one for the whole group.
    None,
}

impl Cushion {
    /// The threshold for a largest fault-free score.
    pub fn threshold(self, largest: f64) -> f64 {
        match self {
            Cushion::Factor(factor) => largest * factor,
            Cushion::RoundedUp { step, factor } => ((largest / step).ceil() * step).max(step) * factor,
            Cushion::None => largest,
        }
    }
}

/// Parameters of a method without training: beyond the papers, so they are not the papers'.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Untrained {
    /// The threshold is this many times the median score of the peers ...
    pub factor: f64,
    /// ... but never below this score.
    pub least: f64,
    /// Samples from one window to the next: closer windows decide sooner.
    pub shift: usize,
    /// The filter's `k`.
    pub k: usize,
    /// On coarse grids, a window is no longer than this many seconds, where that is a sample or more; a quarter of it is new from one to the
    /// next.
    pub longest_s: Option<u32>,
}

/// What a method compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Levels of any metric.
    AnyMetric,
    /// TCP congestion windows only; such a method goes along with one for all other metrics. Only a low window scores.
    CongestionWindow,
    /// What devices did, and the time that it took, from the books of a group; goes along with ours.
    Books,
    /// Latency over what the throughput makes one expect: two metrics at once, so that it is not trained, nor compared by one metric.
    Slowdown,
}

/// Where in the first window that exceeds a trouble begins, at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onset {
    /// In what was new in that window.
    NewSlots,
    /// The method asks for trouble in both halves, so it has begun before the second.
    FirstHalf,
}

/// One comparison method.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Its name in commands and reports.
    pub name: &'static str,
    /// What it compares.
    pub subject: Subject,
    /// How a trouble is dated.
    pub onset: Onset,
    /// The paper's parameters.
    pub params: Params,
    /// The grid in seconds for recordings of hours and days, where it differs from that of `params`.
    pub day_interval_s: u32,
    /// The moving average in seconds, where the paper defines it so.
    pub smoothing_s: Option<usize>,
    /// How its thresholds are trained.
    pub cushion: Cushion,
    /// What the method does without training.
    pub untrained: Untrained,
    /// The scores of all components: NaN where there is none.
    pub scores: fn(&Window) -> Vec<f64>,
    /// The plain definition, for tests.
    pub plain: fn(&Window) -> Vec<f64>,
    /// Which components exceed the threshold, found faster than all scores.
    pub judge: fn(&Window, Threshold) -> Judgement,
}

impl PartialEq for Method {
    fn eq(&self, other: &Method) -> bool {
        self.name == other.name
    }
}

/// All methods, in the order of the papers; ours last.
pub const METHODS: &[&Method] =
    &[&kl::KL, &cwnd::CWND, &cdf::CDF, &median::MEDIAN, &thresh::THRESH, &perseus::PERSEUS, &limp::LIMP];

impl Method {
    /// The published parameters on another grid. Counts of samples stay (LISA'13, section 4.2), except for a moving average that
    /// is defined in seconds.
    pub fn published_on(&self, interval_s: u32) -> Params {
        let smoothing = match self.smoothing_s {
            Some(seconds) => (seconds / interval_s.max(1) as usize).max(1),
            None => self.params.smoothing,
        };
        Params { interval_s, smoothing, ..self.params }
    }

    /// The parameters on a grid, trained or untrained.
    pub fn params_on(&self, interval_s: u32, is_trained: bool) -> Params {
        let params = self.published_on(interval_s);
        if is_trained {
            params
        } else {
            let Untrained { shift, k, longest_s, .. } = self.untrained;
            let longest =
                longest_s.map_or(usize::MAX, |longest_s| (longest_s / interval_s.max(1)).max(1) as usize);
            match params.size <= longest {
                true => Params { shift, k, ..params },
                false => Params { size: longest, shift: (longest / 4).max(1), k, ..params },
            }
        }
    }

    /// Slots into the first window that exceeds at which the trouble has begun.
    pub fn onset_slots(&self, params: Params) -> u64 {
        let until = match self.onset {
            Onset::NewSlots => params.size,
            Onset::FirstHalf => params.size / 2,
        };
        until.saturating_sub(params.shift) as u64
    }

    /// Whether this method compares metrics of a kind that others do not.
    pub fn is_companion(&self) -> bool {
        match self.subject {
            Subject::AnyMetric | Subject::Slowdown => false,
            Subject::CongestionWindow | Subject::Books => true,
        }
    }

    /// Whether it compares one metric at a time: then it can be trained.
    pub fn is_of_one_metric(&self) -> bool {
        match self.subject {
            Subject::AnyMetric | Subject::CongestionWindow => true,
            Subject::Books | Subject::Slowdown => false,
        }
    }

    /// Finds a method by name.
    pub fn parse(name: &str) -> Option<&'static Method> {
        METHODS.iter().find(|method| method.name == name).copied()
    }
}

/// Position of the score among the `n-1` pairwise distances of one component in ascending order: the
/// `(floor((n-1)/2)+1)`-th largest, so that "more than half exceed t" is exactly "score > t".
fn rank(n: usize) -> usize {
    n - 2 - (n - 1) / 2
}

/// Scores straight from the definition: all pairwise distances, sorted.
fn plain_pairwise(n: usize, distance: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let score = |p: usize| {
        let mut distances: Vec<f64> = (0..n).filter(|&q| q != p).map(|q| distance(p, q)).collect();
        distances.sort_by(f64::total_cmp);
        distances[rank(n)]
    };
    (0..n).map(score).collect()
}

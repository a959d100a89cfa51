//! Training on fault-free data: for each component, the smallest threshold at which the filter never fires (the largest,
//! over time, of the k-th largest score in any 2k-1 consecutive windows), times a cushion.
//!
//! [`ScoreStream`] is the one driver that turns rows into scores for comparison and training; [`GroupTraining`] learns from it.

use crate::compare::{Cushion, Method};
use crate::grid::{Params, Schedule, Windower, note_joined};
use crate::ids::{Slot, WindowIndex};
use crate::model::Metric;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// The schema of a thresholds file.
pub const SCHEMA: &str = "laggard/thresholds/1";

/// The scores of one window.
pub struct WindowScores<'a> {
    /// Which window.
    pub window: WindowIndex,
    /// Slot after its last.
    pub end: Slot,
    /// Of each row; NaN is no score.
    pub scores: Vec<f64>,
    schedule: Schedule,
    joined: &'a [Option<Slot>],
}

impl WindowScores<'_> {
    /// The scores that count, as in diagnosis: none before the moving average is full, and none of a row before it joined.
    pub fn counted(&self) -> Option<Vec<f64>> {
        let counts =
            |joined: &Option<Slot>| joined.is_some_and(|joined| self.schedule.includes(self.window, joined));
        let known = self.scores.iter().zip(self.joined);
        let scores = known.map(|(score, joined)| if counts(joined) { *score } else { f64::NAN });
        self.schedule.is_settled(self.window).then(|| scores.collect())
    }
}

/// Rows of one group in one metric in, scores out.
#[derive(Debug)]
pub struct ScoreStream {
    method: &'static Method,
    schedule: Schedule,
    windower: Windower,
    /// First slot with a sample of each row.
    joined: Vec<Option<Slot>>,
}

impl ScoreStream {
    /// For rows of so many values.
    pub fn new(method: &'static Method, params: Params, width: usize) -> ScoreStream {
        ScoreStream {
            method,
            schedule: Schedule::new(params),
            windower: Windower::new(params, width),
            joined: vec![None; width],
        }
    }

    /// Takes the row of a slot; windows that it completes go to `each`.
    pub fn push(&mut self, slot: Slot, row: &[f64], mut each: impl FnMut(WindowScores)) {
        note_joined(self.joined.iter_mut(), slot, row);
        let (method, schedule, joined) = (self.method, self.schedule, &self.joined);
        self.windower.push(slot, row, &mut |window, values| {
            let (end, scores) = (schedule.to(window), (method.scores)(&values));
            each(WindowScores { window, end, scores, schedule, joined });
        });
    }
}

/// Follows the scores of one peer group in one metric.
#[derive(Debug)]
pub struct Trainer {
    cushion: Cushion,
    k: usize,
    recent: Vec<VecDeque<f64>>,
    largest: Vec<f64>,
}

impl Trainer {
    /// For a group of `components`, with the filter's `k`.
    pub fn new(method: &Method, k: usize, components: usize) -> Trainer {
        Trainer {
            cushion: method.cushion,
            k,
            recent: vec![VecDeque::new(); components],
            largest: vec![f64::NEG_INFINITY; components],
        }
    }

    /// Takes the scores of the next window; NaN is no score.
    pub fn push(&mut self, scores: &[f64]) {
        let k = self.k;
        for ((recent, largest), &score) in self.recent.iter_mut().zip(&mut self.largest).zip(scores) {
            if score.is_nan() {
                continue;
            }
            if recent.len() == 2 * k - 1 {
                recent.pop_front();
            }
            recent.push_back(score);
            if recent.len() >= k {
                let mut sorted: Vec<f64> = recent.iter().copied().collect();
                sorted.sort_by(|a, b| b.total_cmp(a));
                *largest = largest.max(sorted[k - 1]);
            }
        }
    }

    /// A run ends: the filter remembers nothing of it in the next.
    pub fn end_run(&mut self) {
        self.recent.iter_mut().for_each(VecDeque::clear);
    }

    /// The thresholds, in the order of the group's members; `None` where there were too few windows.
    pub fn thresholds(&self) -> Vec<Option<f64>> {
        let known = |largest: f64| (largest > f64::NEG_INFINITY).then_some(largest);
        match self.cushion {
            Cushion::None => {
                let group = self.largest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                self.largest.iter().map(|_| known(group)).collect()
            }
            cushion => {
                self.largest.iter().map(|&largest| known(largest).map(|l| cushion.threshold(l))).collect()
            }
        }
    }
}

/// Learns thresholds of one group in one metric from its rows.
#[derive(Debug)]
pub struct GroupTraining {
    stream: ScoreStream,
    trainer: Trainer,
}

impl GroupTraining {
    /// For rows of so many values.
    pub fn new(method: &'static Method, params: Params, width: usize) -> GroupTraining {
        GroupTraining {
            stream: ScoreStream::new(method, params, width),
            trainer: Trainer::new(method, params.k, width),
        }
    }

    /// Takes the row of a slot.
    pub fn push(&mut self, slot: Slot, row: &[f64]) {
        let trainer = &mut self.trainer;
        self.stream.push(slot, row, |scored| {
            if let Some(scores) = scored.counted() {
                trainer.push(&scores);
            }
        });
    }

    /// As [`Trainer::thresholds`].
    pub fn thresholds(&self) -> Vec<Option<f64>> {
        self.trainer.thresholds()
    }
}

/// Thresholds of one method in one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trained {
    /// The method.
    #[serde(with = "method_name")]
    pub method: &'static Method,
    /// The metric.
    #[serde(with = "metric_name")]
    pub metric: Metric,
    /// The grid of the training data; diagnosis uses the same.
    pub interval_s: u32,
    /// For congestion windows: the fraction of the median below which a server is indicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
    /// Threshold of each component.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub components: BTreeMap<String, f64>,
}

impl Trained {
    /// From what was learnt of each component; one without training data is left out.
    pub fn new<'a>(
        method: &'static Method,
        metric: Metric,
        interval_s: u32,
        learnt: impl IntoIterator<Item = (&'a str, Option<f64>)>,
    ) -> Trained {
        let mut trained = Trained { method, metric, interval_s, fraction: None, components: BTreeMap::new() };
        for (component, threshold) in learnt {
            let Some(threshold) = threshold else { continue };
            if method.is_companion() {
                // One fraction per direction for all servers, the largest that raises no alarm anywhere.
                trained.fraction = Some(trained.fraction.unwrap_or(1.0).min(1.0 - threshold));
            } else {
                trained.components.insert(component.into(), threshold);
            }
        }
        trained
    }

    /// Whether nothing was learnt.
    pub fn is_empty(&self) -> bool {
        self.fraction.is_none() && self.components.is_empty()
    }

    /// The threshold of a component. One that was not there in training gets its peers' largest.
    pub fn threshold(&self, component: &str) -> f64 {
        if let Some(fraction) = self.fraction {
            return 1.0 - fraction;
        }
        let largest = || self.components.values().copied().fold(f64::NAN, f64::max);
        self.components.get(component).copied().unwrap_or_else(largest)
    }
}

mod method_name {
    use crate::compare::Method;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(method: &&'static Method, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(method.name)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static Method, D::Error> {
        let name = String::deserialize(from)?;
        Method::parse(&name).ok_or_else(|| D::Error::custom(format!("unknown method `{name}`")))
    }
}

mod metric_name {
    use crate::model::Metric;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(metric: &Metric, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(metric.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Metric, D::Error> {
        let name = String::deserialize(from)?;
        let unknown = || format!("unknown metric `{name}`, nearest: {}", Metric::nearest(&name));
        Metric::parse(&name).ok_or_else(|| D::Error::custom(unknown()))
    }
}

/// A thresholds file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// First and last moment of the training data.
    pub trained_on: String,
    /// One entry for each method and metric.
    pub thresholds: Vec<Trained>,
}

/// Why a text is no thresholds file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ThresholdsError {
    /// It is no TOML, or a key is wrong.
    #[error("line {line}: {message}")]
    Syntax {
        /// Where.
        line: usize,
        /// What.
        message: String,
    },
    /// It is of another version.
    #[error("key `schema`: `{0}` is not `{SCHEMA}`; train again")]
    Schema(String),
    /// A number that is no threshold.
    #[error("key `{key}` of {method} {metric}: {value} is no threshold; train again")]
    Value {
        /// The key.
        key: String,
        /// The method.
        method: &'static str,
        /// The metric.
        metric: Metric,
        /// What stands there.
        value: f64,
    },
    /// A grid without length.
    #[error("key `interval_s` of {method} {metric}: must be at least 1")]
    Interval {
        /// The method.
        method: &'static str,
        /// The metric.
        metric: Metric,
    },
}

impl Thresholds {
    /// A file of these entries.
    pub fn new(trained_on: String, thresholds: Vec<Trained>) -> Thresholds {
        Thresholds { schema: SCHEMA.into(), trained_on, thresholds }
    }

    /// Reads a thresholds file. The error names line and key.
    pub fn parse(text: &str) -> Result<Thresholds, ThresholdsError> {
        let thresholds: Thresholds = toml::from_str(text).map_err(|error| {
            let line = text[..error.span().map_or(0, |span| span.start)].matches('\n').count() + 1;
            ThresholdsError::Syntax { line, message: error.message().into() }
        })?;
        if thresholds.schema != SCHEMA {
            return Err(ThresholdsError::Schema(thresholds.schema));
        }
        for entry in &thresholds.thresholds {
            let (method, metric) = (entry.method.name, entry.metric);
            if entry.interval_s == 0 {
                return Err(ThresholdsError::Interval { method, metric });
            }
            let values = entry.components.iter().map(|(name, value)| (name.as_str(), *value));
            let mut values = values.chain(entry.fraction.map(|fraction| ("fraction", fraction)));
            let is_wrong = |value: f64, key: &str| !value.is_finite() || value < 0.0 && key != "fraction";
            if let Some((key, value)) = values.find(|(key, value)| is_wrong(*value, key)) {
                return Err(ThresholdsError::Value { key: key.into(), method, metric, value });
            }
        }
        Ok(thresholds)
    }

    /// The file's text.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// The entry for a method and metric.
    pub fn find(&self, method: &Method, metric: Metric) -> Option<&Trained> {
        self.thresholds.iter().find(|entry| entry.method == method && entry.metric == metric)
    }

    /// The entry that sets method and grid of a diagnosis; a companion goes along with any.
    pub fn main_entry(&self) -> Option<&Trained> {
        self.thresholds.iter().find(|entry| !entry.method.is_companion()).or(self.thresholds.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{cdf::CDF, cwnd::CWND, kl::KL};
    use crate::diagnose::persistence::Filter;
    use proptest::prelude::*;

    #[test]
    fn kl_rounds_up_to_a_tenth_and_doubles() {
        let mut trainer = Trainer::new(&KL, 3, 1);
        [0.31, 0.9, 0.05, 0.34, 0.2].iter().for_each(|score| trainer.push(&[*score]));
        assert!(
            (trainer.thresholds()[0].unwrap() - 0.8).abs() < 1e-12,
            "third largest is 0.31, rounded to 0.4"
        );
    }

    #[test]
    fn cwnd_has_one_threshold_without_cushion() {
        let mut trainer = Trainer::new(&CWND, 1, 2);
        trainer.push(&[0.2, -0.1]);
        trainer.push(&[0.1, 0.3]);
        assert_eq!(trainer.thresholds(), [Some(0.3), Some(0.3)]);
        assert_eq!(Trainer::new(&CWND, 1, 2).thresholds(), [None, None], "without windows there is none");
    }

    #[test]
    fn a_filter_does_not_remember_the_run_before() {
        let mut trainer = Trainer::new(&CDF, 3, 1);
        for run in [[9.0, 9.0, 1.0], [9.0, 1.0, 1.0]] {
            run.iter().for_each(|score| trainer.push(&[*score]));
            trainer.end_run();
        }
        assert_eq!(trainer.thresholds(), [Some(2.0)], "in one run the third 9 would count");
    }

    #[test]
    fn a_row_counts_from_when_it_joined_and_none_before_the_average_is_full() {
        let params = Params { interval_s: 1, smoothing: 12, size: 4, shift: 4, k: 3 };
        let mut stream = ScoreStream::new(&CDF, params, 4);
        let mut counted = Vec::new();
        for slot in 0..24 {
            let row = [1.0, 1.0, 1.0, if slot < 14 { f64::NAN } else { 1.0 }];
            stream.push(Slot(slot), &row, |scored| counted.push(scored.counted()));
        }
        let known = |scores: &Option<Vec<f64>>| scores.as_ref().map(|scores| !scores[3].is_nan());
        let known: Vec<Option<bool>> = counted.iter().map(known).collect();
        assert_eq!(known, [None, None, Some(false), Some(false), Some(true), Some(true)]);
    }

    #[test]
    fn a_component_without_training_data_is_left_out() {
        let trained =
            Trained::new(&CDF, Metric::Await, 15, [("a", Some(2.0)), ("b", None), ("c", Some(3.0))]);
        assert_eq!(trained.components.len(), 2);
        assert_eq!(trained.threshold("b"), 3.0, "its peers' largest");
    }

    #[test]
    fn a_thresholds_file_reads_back() {
        let entry = Trained::new(&CDF, Metric::Await, 15, [("oss1", Some(2.5))]);
        let file = Thresholds::new("a/b".into(), vec![entry]);
        assert_eq!(Thresholds::parse(&file.to_toml()).unwrap(), file);
        assert!(Thresholds::parse("schema = 3").unwrap_err().to_string().contains("line 1"));
        for (from, to) in [
            ("interval_s = 15", "interval_s = 0"),
            ("oss1 = 2.5", "oss1 = nan"),
            ("oss1 = 2.5", "oss1 = -1.0"),
        ] {
            assert!(Thresholds::parse(&file.to_toml().replace(from, to)).is_err(), "{to}");
        }
        assert!(Thresholds::parse(&file.to_toml().replace("oss1 = 2.5", "oss1 = 0.0")).is_ok());
        let wrong = file.to_toml().replace("await", "awaitt");
        assert!(Thresholds::parse(&wrong).unwrap_err().to_string().contains("awaitt"));
    }

    proptest! {
        #[test]
        fn a_damaged_thresholds_file_is_refused_without_panic(cut in 0usize..200, junk in "[\\[\\]\"=a-z0-9.\n ]{0,6}") {
            let text = "schema = \"laggard/thresholds/1\"\ntrained_on = \"x\"\n\n[[thresholds]]\nmethod = \"cdf\"\nmetric = \"await\"\n\
                        interval_s = 15\n[thresholds.components]\noss1 = 2.5\n";
            let cut = cut.min(text.len());
            let _ = Thresholds::parse(&format!("{}{junk}{}", &text[..cut], &text[(cut + 2).min(text.len())..]));
        }

        /// The definition: at the trained threshold (before the cushion) the filter never fires; just below, it does.
        #[test]
        fn the_threshold_is_the_smallest_that_never_fires(scores in proptest::collection::vec(0.0..10.0f64, 3..60)) {
            let mut trainer = Trainer::new(&CDF, 3, 1);
            scores.iter().for_each(|score| trainer.push(&[*score]));
            let threshold = trainer.thresholds()[0].unwrap() / 2.0;
            let fires = |threshold: f64| {
                let mut filter = Filter::default();
                scores.iter().any(|score| filter.push(3, *score > threshold))
            };
            prop_assert!(!fires(threshold));
            prop_assert!(fires(threshold - 1e-9));
        }
    }
}

//! Training on fault-free data: for each component, the smallest threshold at which the filter never fires (the largest,
//! over time, of the k-th largest score in any 2k-1 consecutive windows), times a cushion.

use crate::compare::{Cushion, Method};
use crate::model::Metric;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// The schema of a thresholds file.
pub const SCHEMA: &str = "laggard/thresholds/1";

/// Follows the scores of one peer group in one metric.
#[derive(Debug)]
pub struct Trainer {
    method: &'static Method,
    recent: Vec<VecDeque<f64>>,
    largest: Vec<f64>,
}

impl Trainer {
    /// For a group of `components`.
    pub fn new(method: &'static Method, components: usize) -> Trainer {
        Trainer {
            method,
            recent: vec![VecDeque::new(); components],
            largest: vec![f64::NEG_INFINITY; components],
        }
    }

    /// Takes the scores of the next window; NaN is no score.
    pub fn push(&mut self, scores: &[f64]) {
        let k = self.method.params.k;
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

    /// The thresholds, in the order of the group's members; `None` where there were too few windows.
    pub fn thresholds(&self) -> Vec<Option<f64>> {
        let known = |largest: f64| (largest > f64::NEG_INFINITY).then_some(largest);
        match self.method.cushion {
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

/// Thresholds of one method in one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trained {
    /// Name of the method.
    pub method: String,
    /// Name of the metric.
    pub metric: String,
    /// The grid of the training data; diagnosis uses the same.
    pub interval_s: u32,
    /// For `cwnd`: the fraction of the median below which a server is indicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
    /// Threshold per component.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub components: BTreeMap<String, f64>,
}

/// A thresholds file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// First and last moment of the training data.
    pub trained_on: String,
    /// One entry per method and metric.
    pub thresholds: Vec<Trained>,
}

impl Thresholds {
    /// Reads a thresholds file. The error names line and key.
    pub fn parse(text: &str) -> Result<Thresholds, String> {
        let thresholds: Thresholds = toml::from_str(text).map_err(|error| {
            let line = text[..error.span().map_or(0, |span| span.start)].matches('\n').count() + 1;
            format!("line {line}: {}", error.message())
        })?;
        if thresholds.schema != SCHEMA {
            return Err(format!("key `schema`: `{}` is not `{SCHEMA}`; train again", thresholds.schema));
        }
        for entry in &thresholds.thresholds {
            if entry.interval_s == 0 {
                return Err(format!(
                    "key `interval_s` of {} {}: must be at least 1",
                    entry.method, entry.metric
                ));
            }
            let values = entry.components.iter().map(|(name, value)| (name.as_str(), *value));
            let mut values = values.chain(entry.fraction.map(|fraction| ("fraction", fraction)));
            if let Some((name, value)) =
                values.find(|(name, value)| !value.is_finite() || *value < 0.0 && *name != "fraction")
            {
                return Err(format!(
                    "key `{name}` of {} {}: {value} is no threshold",
                    entry.method, entry.metric
                ));
            }
            if Method::parse(&entry.method).is_none() {
                return Err(format!("key `method`: unknown method `{}`", entry.method));
            }
            if Metric::parse(&entry.metric).is_none() {
                return Err(format!("key `metric`: unknown metric `{}`", entry.metric));
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
        self.thresholds
            .iter()
            .find(|entry| entry.method == method.name && Metric::parse(&entry.metric) == Some(metric))
    }
}

impl Trained {
    /// The threshold of a component. One that was not there in training gets its peers' largest.
    pub fn threshold(&self, component: &str) -> f64 {
        if let Some(fraction) = self.fraction {
            return 1.0 - fraction;
        }
        let largest = || self.components.values().copied().fold(f64::NAN, f64::max);
        self.components.get(component).copied().unwrap_or_else(largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{cdf::CDF, cwnd::CWND, kl::KL};
    use crate::diagnose::filter::Filter;
    use proptest::prelude::*;

    #[test]
    fn kl_rounds_up_to_a_tenth_and_doubles() {
        let mut trainer = Trainer::new(&KL, 1);
        [0.31, 0.9, 0.05, 0.34, 0.2].iter().for_each(|score| trainer.push(&[*score]));
        assert!(
            (trainer.thresholds()[0].unwrap() - 0.8).abs() < 1e-12,
            "third largest is 0.31, rounded to 0.4"
        );
    }

    #[test]
    fn cwnd_has_one_threshold_without_cushion() {
        let mut trainer = Trainer::new(&CWND, 2);
        trainer.push(&[0.2, -0.1]);
        trainer.push(&[0.1, 0.3]);
        assert_eq!(trainer.thresholds(), [Some(0.3), Some(0.3)]);
    }

    #[test]
    fn a_thresholds_file_reads_back() {
        let entry = Trained {
            method: "cdf".into(),
            metric: "await".into(),
            interval_s: 15,
            fraction: None,
            components: [("oss1".to_string(), 2.5)].into(),
        };
        let file = Thresholds { schema: SCHEMA.into(), trained_on: "a/b".into(), thresholds: vec![entry] };
        assert_eq!(Thresholds::parse(&file.to_toml()).unwrap(), file);
        assert!(Thresholds::parse("schema = 3").unwrap_err().contains("line 1"));
        for (from, to) in [
            ("interval_s = 15", "interval_s = 0"),
            ("oss1 = 2.5", "oss1 = nan"),
            ("oss1 = 2.5", "oss1 = -1.0"),
        ] {
            assert!(Thresholds::parse(&file.to_toml().replace(from, to)).is_err(), "{to}");
        }
        let wrong = file.to_toml().replace("await", "awaitt");
        assert!(Thresholds::parse(&wrong).unwrap_err().contains("awaitt"));
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
            let mut trainer = Trainer::new(&CDF, 1);
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

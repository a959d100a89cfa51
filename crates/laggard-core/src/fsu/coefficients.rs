//! The coefficients file: `[write]` and `[read]`, and where targets differ, classes with their own.

use super::calibrate::Fit;
use super::metadata::Costs;
use super::{Direction, Line, Model};
use crate::model::hosts;
use serde::{Deserialize, Serialize};

/// A line, and what its calibration says of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// Seconds of each transaction, whatever its size.
    pub latency_s: f64,
    /// Seconds of each byte.
    pub per_byte_s: f64,
    /// Standard error of the latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_error_s: Option<f64>,
    /// Standard error of the seconds per byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_byte_error_s: Option<f64>,
    /// Root mean square of the relative residuals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual: Option<f64>,
    /// How many tests it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<usize>,
}

impl Fitted {
    fn line(&self) -> Line {
        Line { latency_s: self.latency_s, per_byte_s: self.per_byte_s }
    }
}

impl From<&Fit> for Fitted {
    fn from(fit: &Fit) -> Fitted {
        Fitted {
            latency_s: fit.line.latency_s,
            per_byte_s: fit.line.per_byte_s,
            latency_error_s: fit.errors.map(|errors| errors[0]).filter(|error| error.is_finite()),
            per_byte_error_s: fit.errors.map(|errors| errors[1]).filter(|error| error.is_finite()),
            residual: Some(fit.residual),
            tests: Some(fit.predictions.len()),
        }
    }
}

/// Targets with coefficients of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetClass {
    /// Its targets, as names, or as `scratch-OST*`.
    pub targets: Vec<String>,
    /// How full they were when they were tested, 0 to 1: a target takes the class nearest to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fullness: Option<f64>,
    /// For writes; those of the file where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Fitted>,
    /// For reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Fitted>,
}

impl TargetClass {
    /// Whether a target is one of these.
    pub fn takes(&self, target: &str) -> bool {
        self.targets.iter().any(|pattern| matches(pattern, target))
    }
}

/// A coefficients file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coefficients {
    /// For writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Fitted>,
    /// For reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Fitted>,
    /// Where targets differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class: Vec<TargetClass>,
    /// Experimental: seconds of metadata operations.
    #[serde(default, skip_serializing_if = "Costs::is_empty")]
    pub metadata: Costs,
}

/// Why there are no coefficients.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CoefficientsError {
    /// It is no TOML, or a key is wrong.
    #[error("line {line}: {message}")]
    Syntax {
        /// Where.
        line: usize,
        /// What.
        message: String,
    },
    /// A number that is no time.
    #[error("key `{key}` of [{table}]: {value} is no time")]
    Value {
        /// The key ...
        key: String,
        /// ... of this table.
        table: &'static str,
        /// What stands there.
        value: f64,
    },
    /// Numbers of OSTs are hexadecimal, ranges are not.
    #[error(
        "key `targets` of [[class]]: {0}: numbers of OSTs are hexadecimal; name them one by one, or with a *"
    )]
    Hexadecimal(String),
    /// Names that cannot be understood.
    #[error("key `targets` of [[class]]: {0}")]
    Targets(#[from] hosts::HostsError),
    /// A share that is none.
    #[error("key `fullness` of [[class]]: from 0 (empty) to 1 (full)")]
    Fullness,
    /// A target whose transactions would count as nothing.
    #[error("no [{direction}] for {target}: its {direction}s would count as nothing; calibrate them too")]
    Missing {
        /// Read or write.
        direction: &'static str,
        /// The target.
        target: String,
    },
}

impl Coefficients {
    /// Reads a coefficients file. The error names line and key.
    pub fn parse(text: &str) -> Result<Coefficients, CoefficientsError> {
        let mut read: Coefficients = toml::from_str(text).map_err(|error| {
            let line = text[..error.span().map_or(0, |span| span.start)].matches('\n').count() + 1;
            CoefficientsError::Syntax { line, message: error.message().into() }
        })?;
        let classes =
            read.class.iter().flat_map(|class| [("class.write", &class.write), ("class.read", &class.read)]);
        let tables = [("write", &read.write), ("read", &read.read)].into_iter().chain(classes);
        for (table, fitted) in tables.filter_map(|(table, fitted)| Some((table, fitted.as_ref()?))) {
            for (key, value) in [("latency_s", fitted.latency_s), ("per_byte_s", fitted.per_byte_s)] {
                if !(value.is_finite() && value >= 0.0) {
                    return Err(CoefficientsError::Value { key: key.into(), table, value });
                }
            }
        }
        if let Some((name, cost)) =
            read.metadata.iter().find(|(_, cost)| !(cost.is_finite() && **cost >= 0.0))
        {
            return Err(CoefficientsError::Value { key: name.clone(), table: "metadata", value: *cost });
        }
        for class in &mut read.class {
            let expand = |range: &String| match range.contains("OST[") {
                true => Err(CoefficientsError::Hexadecimal(range.clone())),
                false => hosts::expand(range).map_err(CoefficientsError::from),
            };
            let expanded: Result<Vec<Vec<String>>, CoefficientsError> =
                class.targets.iter().map(expand).collect();
            class.targets = expanded?.concat();
            if class.fullness.is_some_and(|full| !(0.0..=1.0).contains(&full)) {
                return Err(CoefficientsError::Fullness);
            }
        }
        Ok(read)
    }

    /// The file's text.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// The line of a target, which is so full if that is known.
    pub fn fitted(&self, direction: Direction, target: &str, fullness: Option<f64>) -> Option<Fitted> {
        let of = |class: &'_ TargetClass| match direction {
            Direction::Read => class.read.clone(),
            Direction::Write => class.write.clone(),
        };
        let far = |class: &TargetClass| match (class.fullness, fullness) {
            (Some(tested), Some(now)) => (tested - now).abs(),
            _ => 1.0,
        };
        let classes = self.class.iter().filter(|class| class.takes(target));
        let nearest =
            classes.filter(|class| of(class).is_some()).min_by(|a, b| far(a).total_cmp(&far(b))).and_then(of);
        let usual = match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        };
        nearest.or_else(|| usual.clone())
    }

    /// Both lines of a target; the error says what is missing.
    pub fn model(&self, target: &str, fullness: Option<f64>) -> Result<Model, CoefficientsError> {
        let line = |direction: Direction| {
            let fitted = self.fitted(direction, target, fullness).map(|fitted| fitted.line());
            fitted.ok_or_else(|| CoefficientsError::Missing {
                direction: direction.name(),
                target: target.into(),
            })
        };
        Ok(Model { write: line(Direction::Write)?, read: line(Direction::Read)? })
    }

    /// The largest residual of all lines: beyond [`OFF`](super::calibrate::OFF) a utilization is a rank.
    pub fn worst_residual(&self) -> f64 {
        let of_classes = self.class.iter().flat_map(|class| [&class.read, &class.write]);
        let all = of_classes.chain([&self.read, &self.write]).flatten();
        all.filter_map(|fitted| fitted.residual).fold(0.0, f64::max)
    }
}

/// Whether a target has a name, or one that a pattern with `*` and `?` takes.
pub fn matches(pattern: &str, target: &str) -> bool {
    wildmatch::WildMatch::new(pattern).matches(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: &str = "[write]\nlatency_s = 1.04e-3\nper_byte_s = 1.73e-9\n\n[read]\nlatency_s = 8.02e-4\nper_byte_s = 1.23e-9\n";

    #[test]
    fn the_papers_table_is_a_file() {
        let read = Coefficients::parse(PAPER).unwrap();
        let model = read.model("scratch-OST0000", None).unwrap();
        assert_eq!(model.write, Line { latency_s: 1.04e-3, per_byte_s: 1.73e-9 });
        assert_eq!(Coefficients::parse(&read.to_toml()), Ok(read));
    }

    #[test]
    fn a_target_takes_the_class_that_is_as_full() {
        let classes = "[[class]]\ntargets = [\"ost[1-2]\"]\nfullness = 0.1\nwrite = { latency_s = 1.0, per_byte_s = 0.0 }\n\
             [[class]]\ntargets = [\"ost1\"]\nfullness = 0.9\nwrite = { latency_s = 2.0, per_byte_s = 0.0 }\n";
        let read = Coefficients::parse(&format!("{PAPER}{classes}")).unwrap();
        let latency = |target: &str, fullness| read.model(target, fullness).unwrap().write.latency_s;
        assert_eq!((latency("ost1", Some(0.2)), latency("ost1", Some(0.8))), (1.0, 2.0));
        assert_eq!((latency("ost2", Some(0.8)), latency("ost3", Some(0.8))), (1.0, 1.04e-3));
        assert_eq!(read.model("ost1", None).unwrap().read.latency_s, 8.02e-4, "the file's own");
        assert!(matches("scratch-OST*", "scratch-OST000a") && matches("*:sdb", "oss1:sdb"));
        assert!(!matches("scratch-OST*", "home-OST000a") && !matches("ab*ba", "aba"));
        assert!(matches("*-OST*a", "home-OST000a") && matches("ost?", "ost1") && !matches("ost?", "ost12"));
    }

    #[test]
    fn bad_files_are_named_by_line_and_key() {
        let error = |text: &str| Coefficients::parse(text).unwrap_err().to_string();
        assert!(
            error("[write]\nlatency_s = 1\nper_byte = 2\n").starts_with("line 3: unknown field `per_byte`")
        );
        assert!(error("[write]\nlatency_s = nan\nper_byte_s = 0.0\n").contains("key `latency_s` of [write]"));
        assert!(error("[metadata]\nopen = -1.0\n").contains("open"));
        assert!(
            error("[write]\nlatency_s = 1.0\nper_byte_s = -1e-12\n").contains("key `per_byte_s` of [write]")
        );
        assert!(error("[[class]]\ntargets = [\"fs-OST[0000-0012]\"]\n").contains("hexadecimal"));
        assert!(error("[[class]]\ntargets = [\"a\"]\nfullness = 75.0\n").contains("fullness"));
        let only_writes = Coefficients::parse("[write]\nlatency_s = 1.0\nper_byte_s = 0.0\n").unwrap();
        assert!(only_writes.model("ost1", None).unwrap_err().to_string().contains("no [read] for ost1"));
    }
}

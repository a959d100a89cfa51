//! Calibration: `X w = 1` by least squares (Equation 4).
//!
//! A test keeps a disk as busy as it gets for some seconds. Its row of X is the transactions and the bytes per second that were
//! OBSERVED between server and disk: what was asked for has been split and merged on the way. Because each row is scaled to one, a
//! residual is a relative error, and tests of 4 KiB weigh as much as those of 4 MiB.

use super::{Direction, Line};

/// Tests of about one size cannot tell latency from transfer: the squared sine of the angle between the two columns, at least. Sizes that
/// differ by a thousandth have this one.
const LEAST_SPREAD: f64 = 1e-6;
/// A fit that is off by more than this in the root mean square, or by more than [`FAR`] in one test, is no straight line.
pub const OFF: f64 = 0.10;
const FAR: f64 = 0.25;
/// A coefficient within so many standard errors of zero is not known.
const SURE: f64 = 2.0;

/// One test of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Its name.
    pub name: String,
    /// Which way.
    pub direction: Direction,
    /// How long it ran.
    pub seconds: f64,
    /// Transactions between server and disk: size in bytes, and how many.
    pub transactions: Vec<(f64, f64)>,
}

impl Test {
    fn count(&self) -> f64 {
        self.transactions.iter().map(|(_, count)| count).sum()
    }

    /// Bytes moved.
    pub fn bytes(&self) -> f64 {
        self.transactions.iter().map(|(size, count)| size * count).sum()
    }

    /// Bytes of its mean transaction.
    pub fn mean_size(&self) -> f64 {
        self.bytes() / self.count()
    }

    /// Bytes per second.
    pub fn bandwidth(&self) -> f64 {
        self.bytes() / self.seconds
    }
}

/// How well one test is predicted: a point of the paper's figure 7.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The test.
    pub test: String,
    /// Bytes of its mean transaction.
    pub mean_size: f64,
    /// Bytes per second measured.
    pub measured: f64,
    /// Bytes per second by the line: Equation 6.
    pub predicted: f64,
}

impl Prediction {
    /// By how much the predicted time is too short (positive) or too long, relative to the measured.
    pub fn residual(&self) -> f64 {
        1.0 - self.measured / self.predicted
    }
}

/// The line through the tests of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The coefficients.
    pub line: Line,
    /// Their standard errors, latency first; two tests have none.
    pub errors: Option<[f64; 2]>,
    /// Root mean square of the residuals.
    pub residual: f64,
    /// Test by test, the smallest transactions first.
    pub predictions: Vec<Prediction>,
    /// What to know before using it.
    pub doubts: Vec<Doubt>,
}

/// Why a fit may mislead.
#[derive(Debug, Clone, PartialEq)]
pub enum Doubt {
    /// Two tests: any line fits.
    TwoTests,
    /// A coefficient came out below zero, and was taken as zero.
    Negative(&'static str),
    /// A coefficient is lost in the noise.
    Unsure(&'static str),
    /// The points are no straight line; the worst test, and by how much it is off.
    Bent(String, f64),
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Doubt::TwoTests => write!(f, "two tests fit any line: no errors are known; run more sizes"),
            Doubt::Negative(which) => write!(
                f,
                "{which} came out below zero and is taken as zero: larger transactions were faster than a line allows, as from a cache; \
                 repeat with direct I/O and more data than any cache holds"
            ),
            Doubt::Unsure(which) => {
                write!(f, "{which} is not told from zero by these tests; run more, or longer ones")
            }
            Doubt::Bent(test, off) => write!(
                f,
                "no straight line: test {test} is off by {:.0} %, as with caches, read-ahead or the parallel chips of an SSD; \
                 take the utilization as a rank, not as a percentage",
                100.0 * off
            ),
        }
    }
}

/// Why there is no fit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// Fewer than two usable tests.
    #[error("{0} test(s) of this direction: a line needs at least two, of different sizes")]
    TooFew(usize),
    /// All tests have about one size.
    #[error(
        "all tests have transactions of about {0:.0} bytes: latency and transfer cannot be told apart; run other sizes"
    )]
    OneSize(f64),
}

/// Fits the tests, which all go one way.
pub fn fit(tests: &[Test]) -> Result<Fit, Unfit> {
    if tests.len() < 2 {
        return Err(Unfit::TooFew(tests.len()));
    }
    let rows: Vec<[f64; 2]> =
        tests.iter().map(|test| [test.count() / test.seconds, test.bytes() / test.seconds]).collect();
    // Transactions and bytes per second are six orders apart: scaled, the equations stay well behaved.
    let scale = [0, 1].map(|column| (rows.iter().map(|row| row[column].powi(2)).sum::<f64>()).sqrt());
    let x = |row: &[f64; 2], column: usize| row[column] / scale[column];
    let cross: f64 = rows.iter().map(|row| x(row, 0) * x(row, 1)).sum();
    let right = [0, 1].map(|column| rows.iter().map(|row| x(row, column)).sum::<f64>());
    // Of the matrix [[1, cross], [cross, 1]].
    let determinant = 1.0 - cross * cross;
    if determinant < LEAST_SPREAD {
        let sizes = tests.iter().map(Test::mean_size).sum::<f64>();
        return Err(Unfit::OneSize(sizes / tests.len() as f64));
    }
    let mut found =
        [right[0] - cross * right[1], right[1] - cross * right[0]].map(|value| value / determinant);
    // Nothing takes less than no time: without the one that is negative, the other alone fits best.
    let negative = found.iter().position(|value| *value < 0.0);
    if let Some(negative) = negative {
        found[negative] = 0.0;
        found[1 - negative] = right[1 - negative];
    }
    let line = Line { latency_s: found[0] / scale[0], per_byte_s: found[1] / scale[1] };
    let off = |row: &[f64; 2]| 1.0 - line.seconds(row[0], row[1]);
    let squares: f64 = rows.iter().map(|row| off(row).powi(2)).sum();
    let errors = (tests.len() > 2).then(|| {
        let variance = squares / (tests.len() - 2) as f64;
        let mut errors = scale.map(|scale| (variance / determinant).sqrt() / scale);
        // What was taken as zero was not measured; the other was fitted alone.
        if let Some(negative) = negative {
            errors[negative] = f64::NAN;
            errors[1 - negative] = variance.sqrt() / scale[1 - negative];
        }
        errors
    });
    let predict = |test: &Test| Prediction {
        test: test.name.clone(),
        mean_size: test.mean_size(),
        measured: test.bandwidth(),
        predicted: test.bytes() / line.seconds(test.count(), test.bytes()),
    };
    let mut predictions: Vec<Prediction> = tests.iter().map(predict).collect();
    predictions.sort_by(|a, b| a.mean_size.total_cmp(&b.mean_size));
    let mut fit = Fit {
        line,
        errors,
        residual: (squares / tests.len() as f64).sqrt(),
        predictions,
        doubts: Vec::new(),
    };
    fit.doubts = doubts(&fit, negative);
    Ok(fit)
}

fn doubts(fit: &Fit, negative: Option<usize>) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let values = [("the latency", fit.line.latency_s), ("the time per byte", fit.line.per_byte_s)];
    if fit.errors.is_none() && negative.is_none() {
        doubts.push(Doubt::TwoTests);
    }
    for (index, (name, value)) in values.into_iter().enumerate() {
        if negative == Some(index) {
            doubts.push(Doubt::Negative(name));
        } else if fit.errors.is_some_and(|errors| value < SURE * errors[index]) {
            doubts.push(Doubt::Unsure(name));
        }
    }
    let worst = fit.predictions.iter().max_by(|a, b| a.residual().abs().total_cmp(&b.residual().abs()));
    if let Some(worst) = worst
        && (fit.residual > OFF || worst.residual().abs() > FAR)
    {
        doubts.push(Doubt::Bent(worst.test.clone(), worst.residual().abs()));
    }
    doubts
}

#[cfg(test)]
mod tests;

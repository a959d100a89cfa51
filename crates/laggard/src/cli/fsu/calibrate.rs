//! `laggard fsu calibrate`: from recorded tests to coefficients.

use crate::cli::{Failure, deliver, write_whole};
use crate::report::utilization::words;
use clap::Args as ClapArgs;
use laggard_core::diagnose::Conclusion;
use laggard_core::fsu::Coefficients;
use laggard_core::fsu::Direction;
use laggard_core::fsu::calibrate::{Fit, Test, fit};
use laggard_core::fsu::coefficients::{Fitted, TargetClass};
use laggard_store::ReadError;
use laggard_store::calibration::{self, Series};
use std::fmt::Write;
use std::path::PathBuf;

/// Learn what a transaction costs, from tests that kept the disks busy
///
/// TESTS.csv has the columns test, direction, seconds, size_bytes, count: a row for each size of transactions between server and disk
/// that was observed during a test, and if targets were tested apart, target and fullness (0 to 1). `laggard-lab fsu-sweep` makes it.
#[derive(ClapArgs)]
pub struct Args {
    /// The tests; those of several targets each in a file, or together in one
    #[arg(value_name = "TESTS.csv", required = true)]
    tests: Vec<PathBuf>,

    /// Where to write the coefficients; without it they are printed, below how well they fit
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    let mut all: Vec<Series> = Vec::new();
    for path in &args.tests {
        let file = std::fs::File::open(path).map_err(|error| Failure::io(path, &error))?;
        let wrong = |source| ReadError::Format { path: path.clone(), source };
        for series in calibration::read(file).map_err(wrong)? {
            let is_same =
                |known: &&mut Series| (&known.target, known.fullness) == (&series.target, series.fullness);
            match all.iter_mut().find(is_same) {
                Some(known) => known.tests.extend(series.tests),
                None => all.push(series),
            }
        }
    }
    let mut out = String::new();
    let coefficients = learn(&all, &mut out).map_err(Failure::Usage)?;
    match &args.output {
        Some(path) => {
            write_whole(path, &coefficients.to_toml())?;
            let _ = writeln!(out, "coefficients written to {}", path.display());
        }
        None => out += &format!("\n{}", coefficients.to_toml()),
    }
    deliver(&out, None)?;
    Ok(Conclusion::Quiet)
}

/// Coefficients of everything together, which targets that were not tested get, and of each target that was tested apart.
fn learn(all: &[Series], out: &mut String) -> Result<Coefficients, String> {
    let every: Vec<Test> = all.iter().flat_map(|series| series.tests.clone()).collect();
    let overall = Series { tests: every, ..Series::default() };
    let [read, write] = fits(&overall, out)?;
    let mut coefficients = Coefficients { read, write, ..Coefficients::default() };
    let is_apart = |series: &&Series| all.len() > 1 && (series.target.is_some() || series.fullness.is_some());
    for series in all.iter().filter(is_apart) {
        // One that cannot be fitted has the line of all of them.
        let [read, write] = match fits(series, out) {
            Ok(found) => found,
            Err(error) => {
                eprintln!("laggard: {error}; it gets the line of all tests");
                continue;
            }
        };
        let targets = vec![series.target.clone().unwrap_or_else(|| "*".into())];
        coefficients.class.push(TargetClass { targets, fullness: series.fullness, write, read });
    }
    variation(&coefficients, out);
    Ok(coefficients)
}

/// How much targets differ, and whether they get slower as they fill.
fn variation(coefficients: &Coefficients, out: &mut String) {
    for direction in Direction::ALL {
        let of = |class: &TargetClass| match direction {
            Direction::Read => class.read.clone(),
            Direction::Write => class.write.clone(),
        };
        let known: Vec<(Option<f64>, Fitted)> =
            coefficients.class.iter().filter_map(|class| Some((class.fullness, of(class)?))).collect();
        for (what, value) in [
            ("latency", (|fitted: &Fitted| fitted.latency_s) as fn(&Fitted) -> f64),
            ("time per byte", |fitted: &Fitted| fitted.per_byte_s),
        ] {
            let values: Vec<f64> = known.iter().map(|(_, fitted)| value(fitted)).collect();
            let (least, most) = (
                values.iter().copied().fold(f64::INFINITY, f64::min),
                values.iter().copied().fold(0.0, f64::max),
            );
            if values.len() < 2 || least <= 0.0 {
                continue;
            }
            let _ = write!(
                out,
                "{} {what}: {:.2} times from the best to the worst of {}",
                direction.name(),
                most / least,
                values.len()
            );
            let by_fullness: Vec<(f64, f64)> =
                known.iter().filter_map(|(full, fitted)| Some(((*full)?, value(fitted)))).collect();
            if let Some(rise) = rise(&by_fullness) {
                let _ = write!(out, ", {:+.0} % from empty to full", 100.0 * rise);
            }
            out.push('\n');
        }
    }
}

/// By how much a line through points is higher at one than at zero, relative to zero; nothing where they are at one place.
fn rise(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let (x, y) =
        points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
    let at_zero = y - slope * x;
    (spread > 1e-4 && at_zero > 0.0).then(|| slope / at_zero)
}

/// Fits both directions of a series, as far as it has them, and says how well.
pub fn fits(series: &Series, out: &mut String) -> Result<[Option<Fitted>; 2], String> {
    let target = series.target.as_deref().unwrap_or("all targets");
    let full = series.fullness.map_or_else(String::new, |full| format!(", {:.0} % full", 100.0 * full));
    let _ = writeln!(out, "{target}{full}");
    let mut found = [None, None];
    for (place, direction) in found.iter_mut().zip(Direction::ALL) {
        let tests: Vec<Test> =
            series.tests.iter().filter(|test| test.direction == direction).cloned().collect();
        if tests.is_empty() {
            let _ = writeln!(out, "  {:<6} not tested", direction.name());
            continue;
        }
        let fit = fit(&tests).map_err(|error| format!("{target}, {}: {error}", direction.name()))?;
        tell(&format!("{target}{full}, {}", direction.name()), direction, &fit, out);
        *place = Some(Fitted::from(&fit));
    }
    Ok(found)
}

/// The rate that a cost allows; one of nothing allows any.
fn at_most(cost_s: f64, rate: &dyn Fn(f64) -> String) -> String {
    if cost_s > 0.0 { format!("{} at most", rate(1.0 / cost_s)) } else { "no limit seen".into() }
}

fn tell(what: &str, direction: Direction, fit: &Fit, out: &mut String) {
    let [latency, per_byte] = fit.errors.unwrap_or([f64::NAN; 2]);
    let within = |error: f64, scale: f64| {
        if error.is_nan() { String::new() } else { format!(" ± {:.3}", error * scale) }
    };
    let _ = writeln!(
        out,
        "  {:<6} latency {:.3}{} ms, {:.3}{} ns a byte ({}, {}); {} tests, off by {:.1} %",
        direction.name(),
        fit.line.latency_s * 1e3,
        within(latency, 1e3),
        fit.line.per_byte_s * 1e9,
        within(per_byte, 1e9),
        at_most(fit.line.per_byte_s, &words::rate),
        at_most(fit.line.latency_s, &|rate| format!("{rate:.0} transactions/s")),
        fit.predictions.len(),
        100.0 * fit.residual,
    );
    let width = fit.predictions.iter().map(|point| point.test.len()).max().unwrap_or(0).max(4);
    let _ = writeln!(
        out,
        "         {:<width$}{:>12}{:>14}{:>14}{:>8}",
        "test", "mean bytes", "measured", "predicted", "off"
    );
    for point in &fit.predictions {
        let _ = writeln!(
            out,
            "         {:<width$}{:>12.0}{:>14}{:>14}{:>6.0} %",
            point.test,
            point.mean_size,
            words::rate(point.measured),
            words::rate(point.predicted),
            // Without a minus before a zero.
            (100.0 * point.residual()).round() + 0.0,
        );
    }
    for doubt in &fit.doubts {
        eprintln!("laggard: {what}: {doubt}");
    }
}

//! A utilization report as text: a paragraph for each file system, then what to know of its parts.

use super::words;
use laggard_core::fsu::Survey;
use laggard_core::fsu::survey::{BIN, Class};
use laggard_core::model::hosts;
use laggard_engine::utilization::{FileSystem, Utilization};
use laggard_store::time;
use laggard_store::transfer::{SIZES, bytes};
use std::fmt::Write;

/// Targets named as the busiest.
const SHOWN: usize = 5;

/// The report.
pub fn render(found: &Utilization) -> String {
    let mut out = String::new();
    for file_system in &found.file_systems {
        paragraph(&mut out, found, file_system);
    }
    comparison(&mut out, found);
    contention(&mut out, found);
    metadata(&mut out, found);
    losses(&mut out, found);
    out
}

fn paragraph(out: &mut String, found: &Utilization, file_system: &FileSystem) {
    let of = &file_system.of;
    let _ = writeln!(
        out,
        "{}: {} targets, {} to {}, every {} s, {} observations",
        file_system.name,
        file_system.targets.len(),
        time::format(found.from_s),
        time::format(found.to_s),
        found.grid_s,
        words::count(of.survey.observations()),
    );
    let Some(mean) = of.survey.mean() else {
        let _ = writeln!(out, "  nothing is known: see below why");
        return;
    };
    let quantile = |share| words::percent(of.survey.quantile(share).unwrap_or(0.0));
    let _ = writeln!(
        out,
        "  utilization  mean {}, median below {}, 99 of 100 below {}, highest {}",
        words::percent(mean),
        quantile(0.5),
        quantile(0.99),
        words::percent(of.survey.highest()),
    );
    let by_bandwidth = of.total().by_bandwidth();
    let times =
        if by_bandwidth > 0.0 { format!(", {:.1} times less", mean / by_bandwidth) } else { String::new() };
    let _ = writeln!(out, "               bandwidth alone would say {}{times}", words::percent(by_bandwidth));
    let [read, written] = file_system.of.total().rates();
    let _ = write!(
        out,
        "  bandwidth    read {}, written {} in the mean",
        words::rate(read),
        words::rate(written)
    );
    if let Some(achievable) = file_system.of.total().achievable() {
        let _ = write!(out, "; {} can be had with these sizes", words::rate(achievable));
    }
    let _ = writeln!(out);
    table(out, &of.survey, file_system.optimal);
    distribution(out, &of.survey);
    sizes(out, file_system);
    variation(out, found, file_system);
    busiest(out, found, file_system);
    if file_system.incomplete > 0 {
        let _ = writeln!(
            out,
            "  {} observations are without some of the targets: the mean is over the others",
            words::count(file_system.incomplete)
        );
    }
}

/// Tables II and III of the paper.
fn table(out: &mut String, survey: &Survey, optimal: Option<u64>) {
    let _ = writeln!(
        out,
        "  {:<10}{:>10}{:>15}{:>10}{:>14}{}",
        "class",
        "FSU %",
        "observations",
        "optimal",
        "sub-optimal",
        optimal.map_or_else(String::new, |size| format!("   optimal: {} and more", words::size(size)))
    );
    for class in Class::ALL {
        let best = survey.share(class).optimal_share();
        let _ = writeln!(
            out,
            "  {:<10}{:>10}{:>15}{:>10}{:>14}",
            class.name(),
            class.bounds(),
            words::share(survey.part(class)),
            words::share(best),
            words::share(best.map(|best| 1.0 - best)),
        );
    }
}

/// Figure 11 in a line: how many of a hundred observations are in each tenth.
fn distribution(out: &mut String, survey: &Survey) {
    let all = survey.observations().max(1);
    let tenths = survey.distribution().chunks((10.0 / BIN) as usize).map(|bins| bins.iter().sum::<u64>());
    let shown: Vec<String> = tenths
        .enumerate()
        .filter(|(_, count)| *count > 0)
        .map(|(tenth, count)| {
            let range =
                if tenth < 20 { format!("{}-{}", 10 * tenth, 10 * tenth + 10) } else { "200-".into() };
            format!("{range} {}", words::percent(100.0 * count as f64 / all as f64))
        })
        .collect();
    let _ = writeln!(out, "  FSU %        {}", shown.join(", "));
}

/// How much the targets differ, and how full they are.
fn variation(out: &mut String, found: &Utilization, file_system: &FileSystem) {
    let targets = || file_system.targets.iter().map(|index| &found.targets[*index]);
    let means: Vec<f64> = targets().filter_map(|target| target.of.survey.mean()).collect();
    if means.len() < 2 {
        return;
    }
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let spread =
        (means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (means.len() - 1) as f64).sqrt();
    let _ = write!(out, "  targets      means differ by {spread:.1} points (standard deviation)");
    let full: Vec<f64> = targets().map(|target| target.fullness).filter(|full| !full.is_nan()).collect();
    let (least, most) =
        full.iter().fold((1.0, 0.0), |(least, most): (f64, f64), full| (least.min(*full), most.max(*full)));
    if !full.is_empty() {
        let _ = write!(out, "; {:.0} to {:.0} % full", 100.0 * least, 100.0 * most);
    }
    out.push('\n');
}

/// Figure 12 in a line.
fn sizes(out: &mut String, file_system: &FileSystem) {
    let [reads, writes] = &file_system.composition;
    let all: u64 = reads.iter().chain(writes).sum();
    let part = |size: usize| (reads[size] + writes[size]) as f64 / all.max(1) as f64;
    let shown: Vec<String> = (0..SIZES)
        .filter(|size| part(*size) >= 0.005)
        .map(|size| format!("{} {:.0} %", words::size(bytes(size)), 100.0 * part(size)))
        .collect();
    if !shown.is_empty() {
        let _ = writeln!(out, "  sizes        {}", shown.join(", "));
    }
}

fn busiest(out: &mut String, found: &Utilization, file_system: &FileSystem) {
    let mut means: Vec<(f64, &str)> = file_system
        .targets
        .iter()
        .filter_map(|index| {
            let target = &found.targets[*index];
            Some((target.of.survey.mean()?, target.target.name.as_str()))
        })
        .collect();
    means.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let silent = file_system.targets.iter().map(|index| &found.targets[*index]);
    let silent =
        silent.filter(|target| target.of.survey.observations() == 0).map(|target| &target.target.name);
    let names = hosts::fold(silent);
    if !names.is_empty() {
        let _ = writeln!(out, "  nothing is known of {names}");
    }
    if means.len() < 2 {
        return;
    }
    let shown: Vec<String> =
        means.iter().take(SHOWN).map(|(mean, name)| format!("{name} {}", words::percent(*mean))).collect();
    let idlest =
        means.last().map_or(String::new(), |(mean, name)| format!("{name} {}", words::percent(*mean)));
    let _ = writeln!(out, "  busiest      {}; idlest {idlest}", shown.join(", "));
}

/// Two or more file systems side by side, against the first.
fn comparison(out: &mut String, found: &Utilization) {
    let [first, others @ ..] = found.file_systems.as_slice() else { return };
    for other in others {
        let ratio = |a: f64, b: f64| if b > 0.0 { format!("{:.2}", a / b) } else { "-".into() };
        let [read, written] = other.of.total().rates();
        let [first_read, first_written] = first.of.total().rates();
        let part = |file_system: &FileSystem, class| file_system.of.survey.part(class).unwrap_or(0.0);
        let _ = writeln!(
            out,
            "{} against {}: reads {}, writes {}, mean utilization {}, busy {}, idle {} times as often",
            other.name,
            first.name,
            ratio(read, first_read),
            ratio(written, first_written),
            ratio(other.of.survey.mean().unwrap_or(0.0), first.of.survey.mean().unwrap_or(0.0)),
            ratio(part(other, Class::Busy), part(first, Class::Busy)),
            ratio(part(other, Class::Idle), part(first, Class::Idle)),
        );
    }
}

fn contention(out: &mut String, found: &Utilization) {
    for shared in &found.shared {
        if let Some(loss) = shared.contention.loss().filter(|loss| *loss > 0.05) {
            let _ = writeln!(
                out,
                "Targets of one {} slow each other: a busy one reaches at least {} less beside busy ones than it does alone",
                shared.what,
                words::percent(100.0 * loss)
            );
        }
    }
}

fn metadata(out: &mut String, found: &Utilization) {
    for known in &found.metadata {
        let _ = write!(
            out,
            "{} (experimental): {:.0} operations/s, {} of the time in them",
            known.target,
            known.rate(),
            words::percent(known.load)
        );
        let unknown = match known.unknown.as_slice() {
            [] => String::new(),
            names => format!("; without a time or a cost, and so not counted: {}", names.join(", ")),
        };
        let _ = writeln!(out, "{unknown}");
    }
}

fn losses(out: &mut String, found: &Utilization) {
    let account = &found.account;
    if account.intervals + account.holes + account.resets + account.uncounted == 0 {
        let _ = writeln!(out, "one sample only: what grew is known from two on");
    }
    let lost = [
        (account.holes, "missing samples"),
        (account.resets, "counters that fell: a restart, or a wrap"),
        (
            account.uncounted,
            "the samples lack transactions: brw_stats is for root, sysstat does not tell reads from writes, and an agent of another version counts otherwise",
        ),
    ];
    for (count, why) in lost.into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(
            out,
            "{} of {} intervals are not known: {why}",
            words::count(count),
            words::count(count + account.intervals)
        );
    }
}

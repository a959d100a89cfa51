//! Text: Markdown tables, for a terminal and for docs/accuracy.md alike.

use super::{Bench, ClusterScore, Report, Summary, aggregate};
use crate::production::{Outcome, Score};
use crate::real;
use crate::simulated::paper::Rates;
use std::fmt::Write;

/// Renders the score.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    let seeds = if report.held_out { "held-out" } else { "development" };
    let _ = writeln!(out, "Seeds: {seeds}. Severity of faults: {}.", report.severity);
    if let Some(bench) = &report.bench {
        bench_tables(&mut out, bench);
    }
    if let Some(production) = &report.production {
        production_tables(&mut out, production);
    }
    if let Some(real) = &report.real {
        real_tables(&mut out, real);
    }
    let bounds = &report.bounds;
    if !bounds.is_empty() {
        let _ = writeln!(out, "\n## Bounds\n\n| bound | seen | |\n|---|---|---|");
        for bound in bounds {
            let holds = if bound.holds { "holds" } else { "BROKEN" };
            let _ = writeln!(out, "| {} | {} | {holds} |", bound.what, bound.seen);
        }
    }
    out
}

fn rates(rates: &Rates) -> String {
    rates.map(|rate| format!("{rate:.0}")).join(" / ")
}

fn latency(summary: &Summary) -> String {
    summary.latency_s.map_or_else(|| "-".into(), |seconds| format!("{seconds:.0} s"))
}

fn bench_tables(out: &mut String, bench: &Bench) {
    let _ = writeln!(out, "\n## Test bench: ITP / IFP / DTP / DFP in percent, and median time to indict");
    for (number, cluster) in bench.clusters.iter().enumerate() {
        let _ = writeln!(out, "\n### {} (FAST'10, table {})\n", cluster.name, number + 2);
        cluster_table(out, cluster);
    }
    let _ = writeln!(
        out,
        "\n### All four clusters\n\n| fault | paper | published pipeline, here | ours |\n|---|---|---|---|"
    );
    for (fault, columns) in bench.all_clusters() {
        let _ = writeln!(out, "| {fault} | {} |", columns.map(|column| rates(&column)).join(" | "));
    }
    let _ = writeln!(out, "\n### By workload\n");
    workload_table(out, bench);
    let worse = bench.worse_than_paper();
    if worse.is_empty() {
        let _ = writeln!(out, "\nIn no cell of the paper's tables is ours worse than the paper.");
    } else {
        let _ = writeln!(out, "\nCells of the paper's tables in which ours is worse: {}.", worse.join("; "));
    }
}

fn cluster_table(out: &mut String, cluster: &ClusterScore) {
    let _ =
        writeln!(out, "| fault | paper | published pipeline, here | | ours | |\n|---|---|---|---|---|---|");
    for row in &cluster.rows {
        let (published, ours) = (&row.published, &row.ours);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            row.fault,
            rates(&row.paper),
            rates(&published.rates),
            latency(published),
            rates(&ours.rates),
            latency(ours)
        );
    }
    let of = |pick: fn(&super::Row) -> Rates| {
        rates(&aggregate(&cluster.rows.iter().map(pick).collect::<Vec<_>>()))
    };
    let _ = writeln!(
        out,
        "| aggregate | {} | {} | | {} | |",
        of(|row| row.paper),
        of(|row| row.published.rates),
        of(|row| row.ours.rates)
    );
}

fn workload_table(out: &mut String, bench: &Bench) {
    let _ = writeln!(out, "| cluster | fault | workload | slowdown | published pipeline, here | | ours | |");
    let _ = writeln!(out, "|---|---|---|---|---|---|---|---|");
    for cluster in &bench.clusters {
        for row in &cluster.rows {
            for workload in &row.workloads {
                let (published, ours) = (&workload.published, &workload.ours);
                let _ = writeln!(
                    out,
                    "| {} | {} | {} | {:.2} | {} | {} | {} | {} |",
                    cluster.name,
                    row.fault,
                    workload.name,
                    workload.slowdown,
                    rates(&published.rates),
                    latency(published),
                    rates(&ours.rates),
                    latency(ours)
                );
            }
        }
    }
}

/// A share, if it is known.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "unknown".into(), |share| format!("{:.0} %", 100.0 * share))
}

fn real_tables(out: &mut String, score: &real::Score) {
    let _ = writeln!(out, "\n## Real runs: ITP / IFP / DTP / DFP in percent, and median time to indict\n");
    let _ = writeln!(
        out,
        "| fault | runs | visible | published pipeline | | ours | | ours where visible | live | |"
    );
    let _ = writeln!(out, "|---|---|---|---|---|---|---|---|---|---|");
    for row in &score.rows {
        let (published, ours, live) = (&row.published, &row.ours, &row.live);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.fault,
            ours.runs,
            row.visible,
            rates(&published.rates),
            latency(published),
            rates(&ours.rates),
            latency(ours),
            rates(&row.ours_visible.rates),
            rates(&live.rates),
            latency(live)
        );
    }
    let [published, _, visible] = &score.all;
    if score.trained_on == 0 {
        let _ = writeln!(
            out,
            "\nNo run without a fault: the published pipeline was not trained, and says nothing."
        );
    }
    let _ = writeln!(
        out,
        "\nAll runs with a fault: published pipeline {} ({}), live {} ({}). Ours where the fault is visible: {} ({}).",
        rates(&published.rates),
        latency(published),
        rates(&score.live.rates),
        latency(&score.live),
        rates(&visible.rates),
        latency(visible)
    );
    let wrong: Vec<&real::Judged> = score.runs.iter().filter(|run| !run.is_right).collect();
    let _ = writeln!(out, "\nRuns in which ours is not right: {}.\n", wrong.len());
    if !wrong.is_empty() {
        let _ =
            writeln!(out, "| run | slower | the fault's metric | visible | said |\n|---|---|---|---|---|");
    }
    for run in wrong {
        let said = if run.said.is_empty() { "nothing".into() } else { run.said.join(", ") };
        let (slowed, visible) = (percent(run.slowed), if run.is_visible { "yes" } else { "no" });
        let _ = writeln!(out, "| {} | {slowed} | {} | {visible} | {said} |", run.name, run.shows);
    }
}

fn hours(latency: Option<f64>) -> String {
    latency.map_or_else(|| "not seen".into(), |hours| format!("{hours:.1}"))
}

fn production_tables(out: &mut String, score: &Score) {
    let _ = writeln!(out, "\n## Production events: hours until seen (LISA'13, tables 4 to 9)\n");
    let _ = writeln!(out, "| table | event | device | paper | cdf | median | thresh | ours | ours says |");
    let _ = writeln!(out, "|---|---|---|---|---|---|---|---|---|");
    for outcome in &score.outcomes {
        let [cdf, median, thresh] = outcome.published_h.map(hours);
        let Outcome { table, kind, device, paper_h, named, .. } = outcome;
        let ours = hours(outcome.ours_h);
        let _ = writeln!(
            out,
            "| {table} | {kind} | {device} | {paper_h:.1} | {cdf} | {median} | {thresh} | {ours} | {named} |"
        );
    }
    let _ = writeln!(out, "\nSeen by each (LISA'13, table 8; the paper's count in brackets):\n");
    let _ = writeln!(out, "| event | events | cdf | median | thresh | ours |\n|---|---|---|---|---|---|");
    for (kind, paper) in PAPER_SEEN {
        let of_kind: Vec<&Outcome> = score.outcomes.iter().filter(|outcome| outcome.kind == kind).collect();
        let count = |seen: &dyn Fn(&Outcome) -> bool| of_kind.iter().filter(|outcome| seen(outcome)).count();
        let published: Vec<String> = (0..3)
            .map(|method| {
                format!("{} ({})", count(&|outcome| outcome.published_h[method].is_some()), paper[method])
            })
            .collect();
        let ours = count(&|outcome| outcome.ours_h.is_some());
        let _ = writeln!(out, "| {kind} | {} | {} | {ours} |", of_kind.len(), published.join(" | "));
    }
    let _ = writeln!(
        out,
        "\nHours later than cdf, negative is earlier (LISA'13, table 9; the paper's in brackets):\n"
    );
    let _ = writeln!(out, "| event | median | thresh | ours |\n|---|---|---|---|");
    for (kind, [median, thresh]) in PAPER_LATER {
        let later = |of: &dyn Fn(&Outcome) -> Option<f64>| {
            let of_kind = score.outcomes.iter().filter(|outcome| outcome.kind == kind);
            let mut hours: Vec<f64> =
                of_kind.filter_map(|outcome| Some(of(outcome)? - outcome.published_h[0]?)).collect();
            hours.sort_by(f64::total_cmp);
            hours.iter().map(|hours| format!("{hours:.0}")).collect::<Vec<_>>().join(", ")
        };
        let (of_median, of_thresh) =
            (later(&|outcome| outcome.published_h[1]), later(&|outcome| outcome.published_h[2]));
        let ours = later(&|outcome| outcome.ours_h);
        let _ = writeln!(out, "| {kind} | {of_median} ({median}) | {of_thresh} ({thresh}) | {ours} |");
    }
    let per_day = score.false_incidents as f64 / score.quiet_days.max(1) as f64;
    let _ = writeln!(
        out,
        "\nFalse incidents of ours: {} in {} days without an event, {per_day:.1} a day.",
        score.false_incidents, score.quiet_days
    );
}

/// LISA'13, table 8: events observed with cdf, median, thresh.
const PAPER_SEEN: [(&str, [&str; 3]); 5] = [
    ("Controller failure", ["5", "5", "5"]),
    ("File server down", ["3", "2", "3"]),
    ("Misconfiguration / bad state", ["6", "6", "5"]),
    ("Drawer error", ["4", "3", "4"]),
    ("Single LUN", ["5+", "2", "1"]),
];

/// LISA'13, table 9: differences in latency of median and thresh.
const PAPER_LATER: [(&str, [&str; 2]); 5] = [
    ("Controller failure", ["-7, 0, 5, 9, 12", "-10, 0, 4, 5, 9"]),
    ("File server down", ["0, 1", "-8, 0, 6"]),
    ("Misconfiguration / bad state", ["-8, -3, 0, 4, 6, 7", "-3, -1, 0, 3, 7"]),
    ("Drawer error", ["-2, -1, 5", "-2, -2, -1, 0"]),
    ("Single LUN", ["-5, 6", "-4"]),
];

//! HTML: the same tables on one self-contained page.

use super::{Bench, Bound, ClusterScore, Report, Row, Summary, aggregate};
use crate::production::Score;
use crate::real;
use crate::simulated::paper::Rates;
use maud::{Markup, html};

/// A page around some content.
pub fn page(title: &str, content: &Markup) -> String {
    let body = html! { h1 { (title) } (content) };
    laggard_engine::page::page(title, include_str!("style.css"), &body)
}

/// Renders the score.
pub fn render(report: &Report) -> String {
    let seeds = if report.held_out { "held-out" } else { "development" };
    let content = html! {
        p { "Simulated experiments with known truth, " (seeds) " seeds, faults at " (report.severity) " of the published severity." }
        (bounds(&report.bounds))
        @if let Some(bench) = &report.bench { (bench_tables(bench)) }
        @if let Some(production) = &report.production { (production_table(production)) }
        @if let Some(real) = &report.real { (real_tables(real)) }
    };
    page("Laggard: how good are the verdicts?", &content)
}

fn bounds(bounds: &[Bound]) -> Markup {
    html! {
        @if !bounds.is_empty() {
            h2 { "Bounds" }
            table {
                @for bound in bounds {
                    tr {
                        td.word { (bound.what) }
                        td { (bound.seen) }
                        @if bound.holds { td.holds { "holds" } } @else { td.broken { "broken" } }
                    }
                }
            }
        }
    }
}

fn rate_cells(rates: &Rates, class: &str) -> Markup {
    html! { @for rate in rates { td class=(class) { (format!("{rate:.0}")) } } }
}

fn latency(summary: &Summary) -> String {
    summary.latency_s.map_or_else(|| "–".into(), |seconds| format!("{seconds:.0}"))
}

fn bench_tables(bench: &Bench) -> Markup {
    html! {
        h2 { "Test bench (FAST'10, tables 2 to 5)" }
        p { "Percent of experiments. ITP: the faulty server was indicted. IFP: another one was. DTP: the fault was named. "
            "DFP: something was named that was not there. s: median seconds from injection to indictment." }
        @for cluster in &bench.clusters { (cluster_table(cluster)) }
        h3 { "By workload" }
        p { "Slowdown: how many times as long the workload took with the fault." }
        div.scroll { (workload_table(bench)) }
    }
}

fn cluster_table(cluster: &ClusterScore) -> Markup {
    let of = |pick: fn(&Row) -> Rates| aggregate(&cluster.rows.iter().map(pick).collect::<Vec<_>>());
    html! {
        h3 { (cluster.name) }
        div.scroll { table {
            thead {
                tr { th {} th colspan="4" { "paper" } th colspan="5" { "published pipeline, here" } th colspan="5" { "ours" } }
                tr { th { "fault" } @for with_latency in [false, true, true] {
                    th { "ITP" } th { "IFP" } th { "DTP" } th { "DFP" } @if with_latency { th { "s" } }
                } }
            }
            @for row in &cluster.rows {
                tr {
                    td { (row.fault) }
                    (rate_cells(&row.paper, ""))
                    (rate_cells(&row.published.rates, "")) td { (latency(&row.published)) }
                    (rate_cells(&row.ours.rates, "ours")) td.ours { (latency(&row.ours)) }
                }
            }
            tr.sum {
                td { "aggregate" }
                (rate_cells(&of(|row| row.paper), ""))
                (rate_cells(&of(|row| row.published.rates), "")) td {}
                (rate_cells(&of(|row| row.ours.rates), "ours")) td.ours {}
            }
        } }
    }
}

fn workload_table(bench: &Bench) -> Markup {
    html! {
        table {
            thead {
                tr { th colspan="4" {} th colspan="5" { "published pipeline, here" } th colspan="5" { "ours" } }
                tr {
                    th { "cluster" } th.word { "fault" } th.word { "workload" } th { "slowdown" }
                    @for _ in 0..2 { th { "ITP" } th { "IFP" } th { "DTP" } th { "DFP" } th { "s" } }
                }
            }
            @for cluster in &bench.clusters { @for row in &cluster.rows { @for workload in &row.workloads {
                tr {
                    td { (cluster.name) } td.word { (row.fault) } td.word { (workload.name) }
                    td { (format!("×{:.2}", workload.slowdown)) }
                    (rate_cells(&workload.published.rates, "")) td { (latency(&workload.published)) }
                    (rate_cells(&workload.ours.rates, "ours")) td.ours { (latency(&workload.ours)) }
                }
            } } }
        }
    }
}

fn production_table(score: &Score) -> Markup {
    let hours =
        |latency: Option<f64>| latency.map_or_else(|| "not seen".into(), |hours| format!("{hours:.1}"));
    html! {
        h2 { "Production events (LISA'13, tables 4 to 9)" }
        p { "Hours from the event until each method shows it." }
        div.scroll { table {
            thead { tr {
                th { "event" } th { "device" } th { "paper" } th { "cdf" } th { "median" } th { "thresh" } th { "ours" } th { "ours says" }
            } }
            @for outcome in &score.outcomes {
                tr {
                    td { (outcome.kind) } td.word { (outcome.device) }
                    td { (format!("{:.1}", outcome.paper_h)) }
                    @for latency in outcome.published_h { td { (hours(latency)) } }
                    td.ours { (hours(outcome.ours_h)) } td.word { (outcome.named) }
                }
            }
        } }
        p { (score.false_incidents) " false incidents of ours in " (score.quiet_days) " days without an event." }
    }
}

fn real_tables(score: &real::Score) -> Markup {
    html! {
        h2 { "Real runs" }
        p { "A real file system, real faults, recorded by laggard-agent. Visible: runs in which the fault slows the workload or moves its "
            "own metric. Live: what was said while the run went on." }
        div.scroll { table {
            thead {
                tr { th colspan="3" {} th colspan="5" { "published pipeline" } th colspan="5" { "ours" } th colspan="5" { "live" } }
                tr { th { "fault" } th { "runs" } th { "visible" } @for _ in 0..3 {
                    th { "ITP" } th { "IFP" } th { "DTP" } th { "DFP" } th { "s" }
                } }
            }
            @for row in &score.rows {
                tr {
                    td { (row.fault) } td { (row.ours.runs) } td { (row.visible) }
                    (rate_cells(&row.published.rates, "")) td { (latency(&row.published)) }
                    (rate_cells(&row.ours.rates, "ours")) td.ours { (latency(&row.ours)) }
                    (rate_cells(&row.live.rates, "")) td { (latency(&row.live)) }
                }
            }
        } }
        h3 { "Every run" }
        div.scroll { table {
            thead { tr { th.word { "run" } th { "slower" } th.word { "the fault's metric" } th.word { "ours says" } th {} } }
            @for run in &score.runs {
                tr {
                    td.word { (run.name) } td { (super::text::percent(run.slowed)) } td.word { (run.shows) }
                    td.word { (run.said.join(", ")) }
                    @if run.is_right { td.holds { "right" } } @else if run.is_visible || run.fault.is_none() { td.broken { "wrong" } } @else { td {} }
                }
            }
        } }
    }
}

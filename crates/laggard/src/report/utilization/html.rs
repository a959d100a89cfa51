//! A utilization report as one self-contained page, with plots like the paper's figures 8 to 12.

use super::words;
use crate::report::chart::{self, Cell, Line, Scale, TimeAxis};
use crate::report::page::page;
use laggard_core::fsu::Survey;
use laggard_core::fsu::survey::{BIN, Class};
use laggard_engine::utilization::{FileSystem, Point, Utilization};
use laggard_store::time;
use laggard_store::transfer::{SIZES, bytes};
use maud::{Markup, html};

/// Targets with a distribution of their own.
const MOST_TARGETS: usize = 6;
/// Columns of the map of targets over time, and rows.
const MOST_COLUMNS: i64 = 160;
const MOST_ROWS: usize = 64;

const PERCENT: Scale = [
    (2.0, "idle, below 2 %"),
    (10.0, "up to 10 %"),
    (30.0, "up to 30 %"),
    (60.0, "busy, up to 60 %"),
    (100.0, "up to 100 %"),
    (f64::INFINITY, "above 100 %"),
    (f64::NAN, "not known"),
];

/// Renders the page.
pub fn render(found: &Utilization) -> String {
    let names: Vec<&str> = found.file_systems.iter().map(|known| known.name.as_str()).collect();
    let headline = format!(
        "utilization of {}, {} to {}",
        names.join(", "),
        time::format(found.from_s),
        time::format(found.to_s)
    );
    let main = html! {
        @for file_system in &found.file_systems { (section(found, file_system)) }
        @if found.file_systems.len() > 1 { (comparison(found)) }
        (targets(found))
        (contention(found))
        @if !found.metadata.is_empty() { (metadata(found)) }
        (known(found))
    };
    page(&headline, &main)
}

fn known(found: &Utilization) -> Markup {
    let account = &found.account;
    html! {
        section id="known" {
            h2 { "What is known" }
            p { (words::count(account.intervals)) " intervals of " (found.grid_s) " s or so; "
                (words::count(account.holes)) " lost to missing samples, "
                (words::count(account.resets)) " to counters that fell, "
                (words::count(account.uncounted)) " to samples that lack transactions (brw_stats is for root; sysstat does not tell reads from writes)." }
            @if account.intervals == 0 { p { "What grew is known from two samples on." } }
            @for said in &found.warnings { p { (said) } }
            @if !account.damaged.is_empty() { ul { @for said in &account.damaged { li { (said) } } } }
        }
    }
}

fn section(found: &Utilization, file_system: &FileSystem) -> Markup {
    let of = &file_system.of;
    let [read, written] = file_system.of.total().rates();
    html! {
        section id=(format!("fs-{}", file_system.name.replace(' ', "-"))) {
            h2 { (file_system.name) }
            @if let Some(mean) = of.survey.mean() {
                p { (file_system.targets.len()) " targets, mean utilization " b { (words::percent(mean)) }
                    "; bandwidth alone would say " (words::percent(of.total().by_bandwidth())) ". Read " (words::rate(read))
                    ", written " (words::rate(written)) " in the mean"
                    @if let Some(achievable) = file_system.of.total().achievable() { "; " (words::rate(achievable)) " can be had with these sizes" }
                    "." }
                (over_time(found, file_system))
                h3 { "Targets over time" }
                (targets_over_time(found, file_system))
                h3 { "How often how busy" }
                figure { (distribution(&of.survey)) figcaption { "observations of " (found.grid_s) " s by utilization; the last bar is all above 200 %" } }
                (classes(&of.survey, file_system.optimal))
                h3 { "Sizes of transactions" }
                (composition(file_system))
            } @else {
                p { "Nothing is known: see the end of the page." }
            }
        }
    }
}

/// Figure 9: bandwidth. Figure 10: what it cost, and on top of that what bandwidth alone would say, in the same unit.
fn over_time(found: &Utilization, file_system: &FileSystem) -> Markup {
    let series = &file_system.of.series;
    let moments: Vec<i64> = series.iter().map(|(time_s, _)| *time_s).collect();
    let axis = TimeAxis::new(&moments, 20 * found.step_s);
    let line = |name: &str, class, value: &dyn Fn(&Point) -> f64| Line {
        name: name.into(),
        points: series.iter().map(|(time_s, point)| (*time_s, value(point))).collect(),
        class,
    };
    let achievable = [line("achievable", "use", &|point| point.achievable().unwrap_or(f64::NAN))];
    let rates = [
        line("read", "read", &|point| point.rates()[0]),
        line("written", "write", &|point| point.rates()[1]),
    ];
    let busy = [
        line("highest", "highest", &|point| point.highest),
        line("by bandwidth alone", "read", &Point::by_bandwidth),
        line("mean", "use", &Point::utilization),
    ];
    html! {
        h3 { "Bandwidth" }
        figure { (chart::lines(&rates, &axis, None, "bytes/s", false))
            figcaption { span.key.read {} "read" span.key.write {} "written" } }
        h3 { "Utilization" }
        figure { (chart::lines(&busy, &axis, None, "%", false))
            figcaption { span.key.use {} "mean of " (found.step_s) " s" span.key.highest {} "highest observation in them" span.key.read {} "what bandwidth alone would say" } }
        h3 { "Achievable bandwidth" }
        figure { (chart::lines(&achievable, &axis, None, "bytes/s", false)) figcaption { "of the targets that were observed, with the sizes of that time" } }
    }
}

/// Utilization of every target, in columns of some points.
fn targets_over_time(found: &Utilization, file_system: &FileSystem) -> Markup {
    let points = (found.to_s - found.from_s) / found.step_s + 1;
    let width_s = found.step_s * (points / MOST_COLUMNS + 1);
    let first = found.from_s.div_euclid(width_s);
    let count = (found.to_s.div_euclid(width_s) - first + 1).max(1) as usize;
    let columns: Vec<(i64, i64)> = (0..count as i64)
        .map(|column| ((first + column) * width_s, (first + column + 1) * width_s))
        .collect();
    let row = |index: &usize| {
        let known = &found.targets[*index];
        let mut sums = vec![(0.0, 0.0); count];
        for (time_s, point) in &known.of.series {
            if let Some(sum) = sums.get_mut((time_s.div_euclid(width_s) - first) as usize) {
                let seen = point.observations as f64;
                *sum = (sum.0 + seen * point.utilization(), sum.1 + seen);
            }
        }
        // Nothing observed is not known: zero over zero.
        let cells = sums.iter().map(|(sum, seen)| Cell { value: sum / seen, marked: false });
        (known.target.name.clone(), cells.collect())
    };
    let mut order = file_system.targets.clone();
    let mean = |index: &usize| found.targets[*index].of.survey.mean().unwrap_or(-1.0);
    order.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
    let rows: Vec<(String, Vec<Cell>)> = order.iter().take(MOST_ROWS).map(row).collect();
    html! {
        figure { (chart::heat_map(&rows, &columns, &PERCENT)) (chart::heat_legend(&PERCENT, None)) }
        @if file_system.targets.len() > MOST_ROWS { p { "The busiest " (MOST_ROWS) " of " (file_system.targets.len()) " targets; JSON has all." } }
    }
}

/// Figures 8 and 11.
fn distribution(survey: &Survey) -> Markup {
    let labels: Vec<String> =
        (0..survey.distribution().len()).map(|bin| format!("{:.0}", bin as f64 * BIN)).collect();
    let all = survey.observations().max(1) as f64;
    let shares = survey.distribution().iter().map(|count| 100.0 * *count as f64 / all).collect();
    chart::bars(&labels, &[("use", "observations", shares)], "% of observations")
}

/// Tables II and III.
fn classes(survey: &Survey, optimal: Option<u64>) -> Markup {
    html! {
        table {
            thead { tr { th { "class" } th { "FSU %" } th { "observations" } th { "optimal" @if let Some(optimal) = optimal { " (" (words::size(optimal)) " and more)" } } th { "sub-optimal" } } }
            tbody {
                @for class in Class::ALL {
                    @let best = survey.share(class).optimal_share();
                    tr {
                        td { (class.name()) } td { (class.bounds()) }
                        td.number { (words::share(survey.part(class))) }
                        td.number { (words::share(best)) }
                        td.number { (words::share(best.map(|best| 1.0 - best))) }
                    }
                }
            }
        }
    }
}

/// Figure 12.
fn composition(file_system: &FileSystem) -> Markup {
    let [reads, writes] = &file_system.composition;
    let used: Vec<usize> = (0..SIZES).filter(|size| reads[*size] + writes[*size] > 0).collect();
    let labels: Vec<String> = used.iter().map(|size| words::size(bytes(*size))).collect();
    let counts = |all: &[u64; SIZES]| used.iter().map(|size| all[*size] as f64).collect();
    html! {
        figure {
            (chart::bars(&labels, &[("read", "read", counts(reads)), ("write", "written", counts(writes))], "transactions"))
            figcaption { span.key.read {} "read" span.key.write {} "written" }
        }
    }
}

fn comparison(found: &Utilization) -> Markup {
    html! {
        section id="comparison" {
            h2 { "Side by side" }
            table {
                thead { tr { th { "file system" } th { "targets" } th { "read" } th { "written" } th { "mean FSU" } th { "by bandwidth" }
                    @for class in Class::ALL { th { (class.name()) } } th { "optimal when busy" } } }
                tbody {
                    @for known in &found.file_systems {
                        @let [read, written] = known.of.total().rates();
                        @let survey = &known.of.survey;
                        tr {
                            td { (known.name) } td.number { (known.targets.len()) }
                            td.number { (words::rate(read)) } td.number { (words::rate(written)) }
                            td.number { (survey.mean().map_or("-".into(), words::percent)) }
                            td.number { (words::percent(known.of.total().by_bandwidth())) }
                            @for class in Class::ALL { td.number { (words::share(survey.part(class))) } }
                            td.number { (words::share(survey.share(Class::Busy).optimal_share())) }
                        }
                    }
                }
            }
        }
    }
}

/// Variation between targets: all in a table, the busiest with their distribution (figure 8).
fn targets(found: &Utilization) -> Markup {
    let mut order: Vec<usize> = (0..found.targets.len()).collect();
    let mean = |index: usize| found.targets[index].of.survey.mean().unwrap_or(-1.0);
    order.sort_by(|a, b| mean(*b).total_cmp(&mean(*a)));
    html! {
        section id="targets" {
            h2 { "Targets, busiest first" }
            table {
                thead { tr { th { "target" } th { "server" } th { "mean FSU" } th { "99 of 100 below" } th { "busy" } th { "read" } th { "written" } th { "full" } } }
                tbody {
                    @for known in order.iter().map(|index| &found.targets[*index]) {
                        @let rates = known.of.total().rates();
                        tr {
                            td { (known.target.name) } td { (known.target.host) }
                            @if let (Some(mean), Some(p99)) = (known.of.survey.mean(), known.of.survey.quantile(0.99)) {
                                td.number { (words::percent(mean)) } td.number { (words::percent(p99)) }
                                td.number { (words::share(known.of.survey.part(Class::Busy))) }
                                td.number { (words::rate(rates[0])) } td.number { (words::rate(rates[1])) }
                            } @else { td colspan="5" { "nothing is known" } }
                            td.number { (words::share(Some(known.fullness).filter(|full| !full.is_nan()))) }
                        }
                    }
                }
            }
            @for known in order.iter().take(MOST_TARGETS).map(|index| &found.targets[*index]) {
                @if known.of.survey.observations() > 0 {
                    h3 { (known.target.name) }
                    figure { (distribution(&known.of.survey)) }
                }
            }
        }
    }
}

fn contention(found: &Utilization) -> Markup {
    html! {
        section id="contention" {
            h2 { "Contention" }
            p { "How busy a busy target (above 30 %) is, by how many others on the same part are busy too. Less in company than alone: they wait for what they share. One that is pushed below 30 % is not in the table, so the loss is at least this large." }
            @for shared in &found.shared {
                @let company = shared.contention.by_busy_siblings();
                @if company.is_empty() {
                    p { "No target of any " (shared.what) " was busy." }
                } @else {
                    table {
                        thead { tr { th { "others busy on the " (shared.what) } th { "observations" } th { "mean FSU" } } }
                        tbody {
                            @for (siblings, company) in company.iter().enumerate() {
                                tr { td.number { (siblings) } td.number { (words::count(company.observations)) }
                                    td.number { (company.mean().map_or("-".into(), words::percent)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn metadata(found: &Utilization) -> Markup {
    html! {
        section id="metadata" {
            h2 { "Metadata targets (experimental)" }
            p { "The time that operations took together, in percent: above 100 they overlap." }
            table {
                thead { tr { th { "target" } th { "operations/s" } th { "load" } th { "not counted" } } }
                tbody {
                    @for known in &found.metadata {
                        tr { td { (known.target) } td.number { (format!("{:.0}", known.rate())) }
                            td.number { (words::percent(known.load)) } td { (known.unknown.join(", ")) } }
                    }
                }
            }
        }
    }
}

//! A utilization report as JSON, schema `laggard/fsu/1`.

use super::words;
use laggard_core::fsu::survey::{BIN, Class};
use laggard_engine::utilization::metadata::MetadataUse;
use laggard_engine::utilization::{FileSystem, Point, Series, Shared, TargetUse, Use, Utilization};
use laggard_store::time;
use laggard_store::transfer::{Composition, SIZES, bytes};
use serde_json::{Value, json};

/// The schema.
pub const SCHEMA: &str = "laggard/fsu/1";

/// The report.
pub fn render(found: &Utilization) -> String {
    let report = json!({
        "schema": SCHEMA,
        "from": time::format(found.from_s),
        "to": time::format(found.to_s),
        "interval_s": found.grid_s,
        "series_step_s": found.step_s,
        "file_systems": found.file_systems.iter().map(|known| file_system(found, known)).collect::<Vec<_>>(),
        "targets": found.targets.iter().map(target).collect::<Vec<_>>(),
        "contention": found.shared.iter().map(contention).collect::<Vec<_>>(),
        "metadata_experimental": found.metadata.iter().map(metadata).collect::<Vec<_>>(),
        "intervals": {
            "known": found.account.intervals,
            "holes": found.account.holes,
            "resets": found.account.resets,
            "uncounted": found.account.uncounted,
        },
        "warnings": found.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "damaged": found.account.damaged,
    });
    let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
    text.push('\n');
    text
}

fn file_system(found: &Utilization, known: &FileSystem) -> Value {
    let names: Vec<&str> =
        known.targets.iter().map(|index| found.targets[*index].target.name.as_str()).collect();
    let mut value = common(&known.of, &known.composition);
    value["name"] = json!(known.name);
    value["targets"] = json!(names);
    value["incomplete_observations"] = json!(known.incomplete);
    value["optimal_bytes"] = json!(known.optimal);
    value["achievable_bytes_s"] = json!(known.of.total().achievable());
    let [read, written] = known.of.total().rates();
    value["read_bytes_s"] = json!(finite(read));
    value["written_bytes_s"] = json!(finite(written));
    value
}

fn target(known: &TargetUse) -> Value {
    let line =
        |line: laggard_core::fsu::Line| json!({ "latency_s": line.latency_s, "per_byte_s": line.per_byte_s });
    let mut value = common(&known.of, &known.composition);
    value["name"] = json!(known.target.name);
    value["host"] = json!(known.target.host);
    value["file_system"] = json!(known.target.file_system);
    value["fullness"] = json!(finite(known.fullness));
    value["coefficients"] = json!({ "write": line(known.model.write), "read": line(known.model.read) });
    value["achievable_bytes_s"] = json!(known.of.total().achievable());
    let rates = known.of.total().rates().map(finite);
    value["read_bytes_s"] = json!(rates[0]);
    value["written_bytes_s"] = json!(rates[1]);
    value
}

fn common(of: &Use, composition: &Composition) -> Value {
    let survey = &of.survey;
    let classes = Class::ALL.into_iter().map(|class| {
        let share = survey.share(class);
        json!({
            "class": class.name(),
            "observations": share.observations,
            "part": survey.part(class),
            "optimal": share.optimal_share(),
        })
    });
    json!({
        "observations": survey.observations(),
        "utilization": {
            "mean": survey.mean(),
            "median_below": survey.quantile(0.5),
            "p99_below": survey.quantile(0.99),
            "highest": survey.mean().map(|_| survey.highest()),
            "by_bandwidth": finite(of.total().by_bandwidth()),
        },
        "classes": classes.collect::<Vec<_>>(),
        "distribution": { "bin_percent": BIN, "observations": survey.distribution() },
        "sizes": sizes(composition),
        "series": series(&of.series),
    })
}

fn sizes(composition: &Composition) -> Value {
    let [reads, writes] = composition;
    let used = (0..SIZES).filter(|size| reads[*size] + writes[*size] > 0);
    let size = |size: usize| json!({ "size": words::size(bytes(size)), "bytes": bytes(size), "reads": reads[size], "writes": writes[size] });
    used.map(size).collect()
}

fn series(series: &Series) -> Value {
    let point = |(time_s, point): &(i64, Point)| {
        let [read, written] = point.rates();
        json!({
            "time": time::format(*time_s),
            "utilization": point.utilization(),
            "highest": point.highest,
            "read_bytes_s": read,
            "written_bytes_s": written,
            "achievable_bytes_s": point.achievable(),
            "by_bandwidth": point.by_bandwidth(),
        })
    };
    series.iter().map(point).collect()
}

fn contention(shared: &Shared) -> Value {
    let company = shared.contention.by_busy_siblings().iter().enumerate().map(|(siblings, company)| {
        json!({ "busy_siblings": siblings, "observations": company.observations, "mean_utilization": company.mean() })
    });
    json!({ "shared": shared.what, "company": company.collect::<Vec<_>>(), "loss": shared.contention.loss() })
}

fn metadata(known: &MetadataUse) -> Value {
    let operations = known.operations.iter().map(
        |(name, (_, calls))| json!({ "operation": name, "calls": calls.calls, "seconds": calls.seconds }),
    );
    json!({
        "target": known.target,
        "operations_s": finite(known.rate()),
        "load": finite(known.load),
        "operations": operations.collect::<Vec<_>>(),
        "not_counted": known.unknown,
    })
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

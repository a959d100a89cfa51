//! The table of rules, for people, programs and the documentation.

use laggard_core::diagnose::Cause;
use laggard_core::diagnose::rules::{self, Rule};
use serde_json::json;
use std::fmt::Write;

/// For people: a paragraph each.
pub fn text() -> String {
    let mut out = String::new();
    for rule in rules::all() {
        let _ = writeln!(out, "{} ({}, {})", rule.id, rule.scope.name(), ruling(rule));
        let _ = writeln!(out, "  {}", rule.sentence);
        for bound in rule.bounds {
            let _ = writeln!(out, "  {bound}");
        }
        let _ = writeln!(out, "  from: {}\n", rule.origin);
    }
    out
}

/// For programs: schema `laggard/rules/1`.
pub fn json() -> String {
    let rule = |rule: &Rule| {
        let bounds = rule.bounds.iter();
        let bounds = bounds
            .map(|bound| json!({ "name": bound.name, "value": bound.value, "unit": bound.unit }))
            .collect::<Vec<_>>();
        json!({
            "id": rule.id,
            "scope": rule.scope.name(),
            "ruling": rule.ruling.name(),
            "cause": cause(rule),
            "sentence": rule.sentence,
            "bounds": bounds,
            "origin": rule.origin,
        })
    };
    let all: Vec<_> = rules::all().map(rule).collect();
    let document = json!({ "schema": "laggard/rules/1", "rules": all });
    format!("{document:#}\n")
}

/// The table of docs/methods.md.
pub fn markdown() -> String {
    let mut out = String::from(
        "| rule | scope | rules | what it says | bounds | origin |\n|---|---|---|---|---|---|\n",
    );
    for rule in rules::all() {
        let bounds: Vec<String> = rule.bounds.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} | {} |",
            rule.id,
            rule.scope.name(),
            ruling(rule),
            rule.sentence,
            bounds.join("; "),
            rule.origin
        );
    }
    out
}

fn cause(rule: &Rule) -> Option<&'static str> {
    rule.ruling.cause().map(Cause::name)
}

/// What it rules, with the cause.
fn ruling(rule: &Rule) -> String {
    match rule.ruling.cause() {
        Some(cause) if rules::is_observation(cause) => format!("observes {}, no fault", cause.name()),
        Some(cause) => format!("{} for {}", rule.ruling.name(), cause.name()),
        None => rule.ruling.name().into(),
    }
}

//! `laggard diagnose --follow`: the same diagnosis over files that are still written; a line for each change.

use super::Failure;
use super::console::{self, Console};
use super::diagnose::Args;
use crate::report::{Format, advice, sentences};
use laggard_core::diagnose::Conclusion;
use laggard_engine::Session;
use laggard_engine::live::{self, Change, Next};
use laggard_store::time;
use serde::Serialize;

/// One change, as a line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    /// When it is reported, in seconds since 1970: now.
    said_s: f64,
    said: String,
    component: &'a str,
    cause: &'a str,
    state: &'a str,
    first_seen: String,
    last_seen: String,
    severity: f64,
    persistence: u32,
}

/// Follows until it is killed, or the reader has gone.
pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    if args.output.is_some() || args.format == Format::Html || args.evidence || !args.explain.is_empty() {
        let message =
            "--follow prints lines as they come: text or json, to stdout; no -o, no --explain, no --evidence";
        return Err(Failure::Usage(message.into()));
    }
    let console = Console::default();
    let mut failure = None;
    let mut each = |session: &Session, changes: &[Change]| {
        console.clear();
        let lines: Vec<String> = changes.iter().map(|change| line(session, args.format, change)).collect();
        let goes_on = console::lines(&lines).unwrap_or_else(|error| {
            failure = Some(error);
            false
        });
        if goes_on { Next::GoOn } else { Next::Stop }
    };
    let session = live::follow(&args.input.source(), &args.wishes(), &console, &mut each)?;
    failure.map_or(Ok(session.diagnosis.conclusion()), Err)
}

fn line(session: &Session, format: Format, change: &Change) -> String {
    let (state, incident) = (change.state.name(), &change.incident);
    let now = jiff::Timestamp::now();
    let said = time::format(now.as_second());
    if format == Format::Json {
        let line = Line {
            said_s: now.as_millisecond() as f64 / 1e3,
            said,
            component: &incident.component,
            cause: incident.cause.name(),
            state,
            first_seen: time::format(incident.first),
            last_seen: time::format(incident.last),
            severity: incident.severity,
            persistence: incident.persistence,
        };
        return serde_json::to_string(&line).unwrap_or_default();
    }
    format!(
        "{said} {state:<7} {}  {}  since {}  severity {}  {}  next: {}",
        incident.component,
        incident.cause.name(),
        time::format(incident.first),
        sentences::number(incident.severity),
        sentences::summary(session, incident),
        advice::next(session, incident),
    )
}

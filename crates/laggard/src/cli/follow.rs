//! `laggard diagnose --follow`: the same diagnosis over files that are still written; says what is new when it is new.

use super::diagnose::Args;
use super::input::Loaded;
use super::{Failure, Outcome};
use crate::report::{Format, words};
use crate::session::{self, Session};
use laggard_core::diagnose::{Diagnoser, Incident};
use laggard_store::activity::following;
use laggard_store::activity::live::{Found, Live};
use laggard_store::align::Aligned;
use laggard_store::time;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// How often the files are looked at. Collectors write every five seconds.
const EVERY: Duration = Duration::from_secs(2);
/// So much of the past is looked at first.
const LOOK_BACK_S: i64 = 2 * 3600;
/// An incident that has not been seen for so many slots is over.
const OVER_SLOTS: i64 = 60;

/// One change, as told.
#[derive(Serialize)]
struct Told<'a> {
    /// When it is told, in seconds since 1970: now.
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

/// Follows until it is killed.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    if args.output.is_some() || args.format == Format::Html || args.explain.is_some() {
        let message = "--follow prints lines as they come: text or json, to stdout; no -o, no --explain";
        return Err(Failure::Said(message.into()));
    }
    let mut told = BTreeMap::new();
    await_first(&args.input.paths)?;
    loop {
        let Loaded { mut recording, roster } = args.input.load()?;
        if recording.hosts().iter().next().is_none() {
            return Err(Failure::Said(
                "--follow follows activity files of laggard-agent; there are none".into(),
            ));
        }
        if !args.input.is_limited()
            && let Some((_, to_s)) = recording.span()
        {
            recording.limit(to_s - LOOK_BACK_S, i64::MAX);
        }
        let config = args.config(&recording, &roster)?;
        let paths = &args.input.paths;
        let mut live = Live::new(&recording, &roster, paths, config.interval_s, session::is_compared);
        let aligned = Aligned::nothing(config.interval_s);
        drop(recording);
        let mut diagnoser = Diagnoser::new(config, roster.clone());
        let diagnosis = diagnoser.diagnosis();
        let mut session = Session { aligned, roster, diagnosis, history: Vec::new() };
        loop {
            let found = live.look(|sample| {
                diagnoser.push(sample);
            });
            diagnoser.drain();
            session.diagnosis = diagnoser.diagnosis();
            if !tell(&session, args.format, &mut told)? {
                return Ok(session.outcome());
            }
            if let Found::Stranger(name) = found {
                eprintln!("laggard: {name} is new: peer groups are formed anew");
                break;
            }
            std::thread::sleep(EVERY);
        }
    }
}

/// Collectors may have been started just now.
pub fn await_first(paths: &[PathBuf]) -> Result<(), Failure> {
    if let Some(path) = paths.iter().find(|path| !path.exists()) {
        return Err(Failure::Said(format!("{}: not there", path.display())));
    }
    let mut has_said = false;
    while !following::has_begun(paths) {
        if !has_said {
            eprintln!("laggard: nothing is recorded there yet; waiting");
        }
        has_said = true;
        std::thread::sleep(EVERY);
    }
    Ok(())
}

/// Says what has changed since it was last told; false when nobody listens any more.
fn tell(session: &Session, format: Format, told: &mut BTreeMap<String, Incident>) -> Result<bool, Failure> {
    let diagnosis = &session.diagnosis;
    let patience_s = OVER_SLOTS * i64::from(diagnosis.interval_s);
    let is_current = |incident: &&Incident| incident.last_s + patience_s >= diagnosis.to_s;
    let current: Vec<&Incident> = diagnosis.incidents.iter().filter(is_current).collect();
    let mut lines = Vec::new();
    for incident in &current {
        let state = match told.insert(incident.component.clone(), (*incident).clone()) {
            None => "new",
            Some(known) if known.cause != incident.cause => "changed",
            Some(_) => continue,
        };
        lines.push(line(session, format, incident, state)?);
    }
    // Over is what has not been seen for a while, and what a longer look no longer calls trouble.
    let goes_on = |component: &String| current.iter().any(|incident| incident.component == *component);
    for incident in told.iter().filter(|(component, _)| !goes_on(component)).map(|(_, incident)| incident) {
        lines.push(line(session, format, incident, "over")?);
    }
    told.retain(|component, _| goes_on(component));
    let mut out = std::io::stdout().lock();
    let written = lines.iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::Said(format!("stdout: {error}"))),
        Ok(()) => Ok(true),
    }
}

fn line(session: &Session, format: Format, incident: &Incident, state: &str) -> Result<String, Failure> {
    let now = jiff::Timestamp::now();
    let said = time::format(now.as_second());
    if format == Format::Json {
        let told = Told {
            said_s: now.as_millisecond() as f64 / 1e3,
            said,
            component: &incident.component,
            cause: incident.cause.name(),
            state,
            first_seen: time::format(incident.first_s),
            last_seen: time::format(incident.last_s),
            severity: incident.severity,
            persistence: incident.persistence,
        };
        return serde_json::to_string(&told).map_err(|error| Failure::Said(error.to_string()));
    }
    Ok(format!(
        "{said} {state:<7} {}  {}  since {}  severity {}  {}  next: {}",
        incident.component,
        incident.cause.name(),
        time::format(incident.first_s),
        words::number(incident.severity),
        words::sentence(session, incident),
        words::next(session, incident),
    ))
}

//! The same diagnosis over files that are still written: what is new, when it is new.

use crate::noted::Noted;
use crate::plan::is_short_for_s;
use crate::{EngineError, Listener, Loaded, Session, Source, Warning, Wishes};
use laggard_core::diagnose::{Diagnoser, Incident};
use laggard_core::model::metric::Domain;
use laggard_store::activity::following;
use laggard_store::activity::live::Live;
use laggard_store::align::Aligned;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How often the files are looked at. Collectors write every five seconds.
const EVERY: Duration = Duration::from_secs(2);
/// So much of the past is looked at first, to learn from it what chance is.
const LOOK_BACK_S: i64 = 24 * 3600;
/// The grid is not looked at anew before so much has been recorded since, whatever was lost.
const MIN_REGRID_S: i64 = 60;

/// How an incident has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It was not there before.
    New,
    /// It has another cause.
    Changed,
    /// It has not been seen for a while, or a longer look no longer calls it trouble.
    Over,
}

impl State {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            State::New => "new",
            State::Changed => "changed",
            State::Over => "over",
        }
    }
}

/// One change since the last look.
pub struct Change {
    /// How.
    pub state: State,
    /// The incident, as it was last seen.
    pub incident: Incident,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Look again.
    GoOn,
    /// Enough: the reader has closed its end.
    Stop,
}

/// Follows files until `each`, which is given what has changed, has enough. Returns the last state.
pub fn follow(
    source: &Source,
    wishes: &Wishes,
    listener: &dyn Listener,
    each: &mut dyn FnMut(&Session, &[Change]) -> Next,
) -> Result<Session, EngineError> {
    let mut reported = BTreeMap::new();
    await_first(&source.paths, listener)?;
    loop {
        let noted = Noted::new(listener);
        let Loaded { mut recording, roster } = source.load(&noted)?;
        if recording.hosts().iter().next().is_none() {
            return Err(EngineError::NothingToFollow("--follow"));
        }
        if !source.is_limited()
            && let Some((_, to_s)) = recording.span()
        {
            recording.limit(to_s - LOOK_BACK_S, i64::MAX);
        }
        let mut config = wishes.plan(&recording, &roster, &noted)?;
        config.incomplete = noted.incomplete(&roster);
        let interval_s = config.interval_s;
        // A recording that is no longer a short one has another grid, as it has when it is replayed.
        let is_free = wishes.interval_s.is_none() && wishes.thresholds.is_none();
        let short_for_s = is_short_for_s(&recording);
        let regrid_at_s = recording
            .span()
            .filter(|_| is_free && short_for_s > 0)
            .map(|(_, to_s)| to_s.saturating_add(short_for_s.max(MIN_REGRID_S)));
        let mut live =
            Live::new(&recording, &roster, &source.paths, interval_s, |metric| config.uses(metric));
        drop(recording);
        let mut diagnoser = Diagnoser::new(config, roster);
        let mut is_first = true;
        loop {
            let look = live.look(|sample| {
                diagnoser.push(sample);
                diagnoser.drain();
            });
            for what in look.unread {
                listener.warn(&Warning::Unread(what));
                diagnoser.note_lost();
            }
            let diagnosis = diagnoser.diagnosis();
            let session = Session::new(Aligned::nothing(interval_s), &diagnoser, diagnosis, Vec::new());
            let changes = changes(&session, &mut reported);
            if each(&session, &changes) == Next::Stop {
                return Ok(session);
            }
            if std::mem::take(&mut is_first) {
                listener.warn(&Warning::Following { components: session.roster.components.len() });
            }
            if let Some(name) = look.newcomer {
                listener.warn(&Warning::Newcomer { name, regroups: true });
                break;
            }
            if regrid_at_s.is_some_and(|at_s| session.diagnosis.to.0 >= at_s) {
                break;
            }
            std::thread::sleep(EVERY);
        }
    }
}

/// Waits for the first samples: collectors may have been started just now.
pub fn await_first(paths: &[PathBuf], listener: &dyn Listener) -> Result<(), EngineError> {
    if let Some(path) = paths.iter().find(|path| !path.exists()) {
        return Err(EngineError::NotThere(path.clone()));
    }
    let mut has_warned = false;
    while !following::has_begun(paths) {
        if !has_warned {
            listener.warn(&Warning::Waiting);
        }
        has_warned = true;
        std::thread::sleep(EVERY);
    }
    Ok(())
}

/// What makes two looks at a trouble the same trouble: the part, whether its disks or its network are in it, and which of several
/// that go on at once, in the order in which they began.
pub(crate) type Key = (String, Domain, usize);

/// Incidents that go on, by key.
fn keyed(incidents: &[Incident]) -> Vec<(Key, &Incident)> {
    let mut open: Vec<&Incident> = incidents.iter().filter(|incident| incident.is_open).collect();
    open.sort_by_key(|incident| incident.first);
    let mut counts: BTreeMap<(String, Domain), usize> = BTreeMap::new();
    let mut keyed: Vec<(Key, &Incident)> = Vec::with_capacity(open.len());
    for incident in open {
        let place = (incident.component.clone(), incident.episode.domain);
        let count = counts.entry(place.clone()).or_default();
        keyed.push(((place.0, place.1, *count), incident));
        *count += 1;
    }
    keyed
}

/// What has changed since it was last reported.
pub(crate) fn changes(session: &Session, reported: &mut BTreeMap<Key, Incident>) -> Vec<Change> {
    let diagnosis = &session.diagnosis;
    let current = keyed(&diagnosis.incidents);
    let mut changes = Vec::new();
    for (key, incident) in &current {
        let state = match reported.insert(key.clone(), (*incident).clone()) {
            None => State::New,
            Some(known) if known.cause != incident.cause => State::Changed,
            Some(_) => continue,
        };
        changes.push(Change { state, incident: (*incident).clone() });
    }
    let goes_on = |known: &Key| current.iter().any(|(key, _)| key == known);
    for (_, incident) in reported.iter().filter(|(known, _)| !goes_on(known)) {
        changes.push(Change { state: State::Over, incident: incident.clone() });
    }
    reported.retain(|known, _| goes_on(known));
    changes
}

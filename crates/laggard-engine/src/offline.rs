//! A recording, replayed through the diagnosis.

use crate::noted::Noted;
use crate::{EngineError, Listener, Loaded, Source, Stage, Warning, Wishes};
use laggard_core::diagnose::trace::Tally;
use laggard_core::diagnose::{Config, Diagnoser, Diagnosis, Event};
use laggard_core::ids::ComponentId;
use laggard_core::model::{Metric, Roster};
use laggard_store::align::Aligned;
use std::collections::{BTreeMap, BTreeSet};

/// Samples between two reports of progress.
const PROGRESS_EVERY: u64 = 100_000;

/// A diagnosed recording, with what a report needs.
pub struct Session {
    /// Samples on the grid.
    pub aligned: Aligned,
    /// Components and groups.
    pub roster: Roster,
    /// The verdicts.
    pub diagnosis: Diagnosis,
    /// All windows, where a report draws them.
    pub history: Vec<Event>,
    /// What the window rules said of the components that were asked for, and of those in trouble.
    rulings: BTreeMap<ComponentId, Vec<Tally>>,
    /// Components of which everything was to be explained.
    pub asked: Vec<ComponentId>,
    /// What an administrator should know before believing the verdicts.
    pub warnings: Vec<Warning>,
}

impl Session {
    /// Reads what a site has and diagnoses it. With `keep_history` all windows and what a report draws are kept.
    pub fn of(
        source: &Source,
        wishes: &Wishes,
        keep_history: bool,
        listener: &dyn Listener,
    ) -> Result<Session, EngineError> {
        let noted = Noted::new(listener);
        let loaded = source.load(&noted)?;
        let mut config = wishes.plan(&loaded.recording, &loaded.roster, &noted)?;
        config.incomplete = noted.incomplete(&loaded.roster);
        let session = Session::diagnose(loaded, config, keep_history, &noted);
        Ok(Session { warnings: noted.into_warnings(), ..session })
    }

    /// Replays a recording through the operator. With `keep_history` all windows and what a report draws are kept.
    pub fn diagnose(loaded: Loaded, config: Config, keep_history: bool, listener: &dyn Listener) -> Session {
        let Loaded { recording, roster } = loaded;
        let asked = config.asked.clone();
        let mut aligned = Aligned::new(&recording, &roster, config.interval_s, |metric| config.uses(metric));
        drop(recording);
        let mut diagnoser = Diagnoser::new(config, roster);
        let mut history = Vec::new();
        let total = aligned.len() as u64;
        let mut count: u64 = 0;
        aligned.replay(|sample| {
            diagnoser.push(sample);
            count += 1;
            if count.is_multiple_of(PROGRESS_EVERY) {
                listener.progress(Stage::Comparing, count, total);
            }
            let events = diagnoser.drain();
            if keep_history {
                history.extend(events);
            }
        });
        for what in aligned.unread() {
            listener.warn(&Warning::Unread(what));
            diagnoser.note_lost();
        }
        diagnoser.finish();
        history.extend(diagnoser.drain().into_iter().filter(|_| keep_history));
        let diagnosis = diagnoser.diagnosis();
        if keep_history {
            aligned.fetch(&drawn(&diagnosis, diagnoser.roster()));
        }
        let mut session = Session::new(aligned, &diagnoser, diagnosis, asked);
        session.history = history;
        session
    }

    /// What an operator says now.
    pub fn new(
        aligned: Aligned,
        diagnoser: &Diagnoser,
        diagnosis: Diagnosis,
        asked: Vec<ComponentId>,
    ) -> Session {
        let roster = diagnoser.roster().clone();
        let suspects = diagnosis.incidents.iter().flat_map(|incident| incident.explains.iter().copied());
        let wanted = asked.iter().copied().chain(suspects);
        let rulings = wanted.map(|id| (id, diagnoser.rulings(id).to_vec())).collect();
        Session { aligned, roster, diagnosis, history: Vec::new(), rulings, asked, warnings: Vec::new() }
    }

    /// What the window rules said of a component that was asked for or is in trouble; nothing of others.
    pub fn rulings_of(&self, component: ComponentId) -> &[Tally] {
        self.rulings.get(&component).map_or(&[], Vec::as_slice)
    }
}

/// What a report draws: the worst evidence of each incident, of the accused and all its peers.
fn drawn(diagnosis: &Diagnosis, roster: &Roster) -> BTreeSet<(ComponentId, Metric)> {
    let of_incident = |incident: &laggard_core::diagnose::Incident| {
        let peers = roster.peers(incident.worst).iter().copied();
        let metrics = incident.drawn();
        peers.flat_map(move |member| metrics.clone().into_iter().map(move |metric| (member, metric)))
    };
    diagnosis.incidents.iter().flat_map(of_incident).collect()
}

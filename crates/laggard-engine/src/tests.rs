//! The path from a recording to a verdict, without a program around it.

use crate::live::{self, State};
use crate::{EngineError, Explanation, Listener, Loaded, Session, Silent, Source, Stage, Warning, Wishes};
use laggard_core::diagnose::Conclusion;
use laggard_core::model::{Metric, Roster};
use laggard_store::Recording;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Eight disks every 15 s; the fourth takes three times as long from slot 200 on.
fn loaded() -> Loaded {
    let mut recording = Recording::default();
    for disk in 0..8i64 {
        let component = recording.component(&format!("disk{disk}"));
        for slot in 0..600i64 {
            let noise = 0.9 + 0.2 * (((disk * 7919 + slot * 104_729) % 1009) as f64 / 1009.0);
            let level = if disk == 3 && slot >= 200 { 15.0 } else { 5.0 };
            recording.push(component, Metric::Await, slot * 15, level * noise);
        }
    }
    recording.settle();
    let roster = Roster::new(recording.observed(), None);
    Loaded { recording, roster }
}

fn diagnose(wishes: &Wishes) -> Result<Session, EngineError> {
    let loaded = loaded();
    let config = wishes.plan(&loaded.recording, &loaded.roster, &Silent)?;
    Ok(Session::diagnose(loaded, config, false, &Silent))
}

/// Remembers what it hears.
#[derive(Default)]
struct Heard(RefCell<Vec<Warning>>);

impl Listener for Heard {
    fn warn(&self, warning: &Warning) {
        self.0.borrow_mut().push(warning.clone());
    }

    fn progress(&self, _: Stage, _: u64, _: u64) {}
}

#[test]
fn the_longer_a_recording_the_coarser_its_grid() {
    let grid_of = |hours: i64, interval_s: i64| {
        let mut recording = Recording::default();
        let component = recording.component("disk");
        for slot in 0..hours * 3600 / interval_s {
            recording.push(component, Metric::Await, slot * interval_s, 5.0);
        }
        recording.settle();
        let config = Wishes::default().plan(&recording, &Roster::new(recording.observed(), None), &Silent);
        config.unwrap().interval_s
    };
    assert_eq!([(1, 1), (3, 1), (49, 1)].map(|(hours, every_s)| grid_of(hours, every_s)), [1, 3, 15]);
    assert_eq!([(1, 60), (49, 60)].map(|(hours, every_s)| grid_of(hours, every_s)), [60, 60], "the data's");
}

#[test]
fn a_recording_becomes_a_verdict_that_can_be_explained() {
    let wishes = Wishes { asked: vec!["disk0".into(), "disk3".into(), "disk0".into()], ..Wishes::default() };
    let session = diagnose(&wishes).unwrap();
    assert_eq!(session.diagnosis.conclusion(), Conclusion::Suspect);
    assert_eq!(session.asked.len(), 2, "each part once");
    let [healthy, slow] = [0, 3].map(|disk| {
        let id = session.roster.find(&format!("disk{disk}")).unwrap();
        Explanation::new(&session, id)
    });
    assert!(healthy.found.is_empty() && healthy.never_compared.is_empty());
    assert!(healthy.ruled_out.iter().any(|tally| tally.rule.id == "threshold"));
    let found: Vec<&str> = slow.found.iter().map(|tally| tally.rule.id).collect();
    assert_eq!(
        found,
        ["differs", "filter", "rare", "slow-disk", "alone"],
        "the first windows had not lasted"
    );
}

#[test]
fn wishes_that_cannot_be_met_name_the_remedy() {
    let wrong = |wishes: Wishes| diagnose(&wishes).err().expect("refused").to_string();
    let part = wrong(Wishes { asked: vec!["disc3".into()], ..Wishes::default() });
    assert!(part.contains("nearest: disk3"), "{part}");
    let repair = wrong(Wishes { resolved: vec!["disk3".into()], ..Wishes::default() });
    assert!(repair.contains("PART") || repair.contains("COMPONENT@TIME"), "{repair}");
    let file = wrong(Wishes { thresholds: Some("/nowhere".into()), ..Wishes::default() });
    assert!(file.starts_with("/nowhere: "), "{file}");
    let source = Source { from: Some(9.into()), to: Some(3.into()), ..Source::default() };
    assert!(matches!(source.recording(&Silent), Err(EngineError::TimeOrder)));
}

#[test]
fn a_grid_finer_than_the_data_is_warned_of() {
    let loaded = loaded();
    let heard = Heard::default();
    let wishes = Wishes { interval_s: Some(5), ..Wishes::default() };
    wishes.plan(&loaded.recording, &loaded.roster, &heard).unwrap();
    let warned = heard.0.into_inner();
    assert_eq!(warned, [Warning::FinerThanData { wanted_s: 5, data_s: 15 }]);
}

#[test]
fn a_change_is_reported_once_and_its_end_too() {
    let mut session = diagnose(&Wishes::default()).unwrap();
    let mut reported = BTreeMap::new();
    let states = |session: &Session, reported: &mut _| -> Vec<State> {
        live::changes(session, reported).iter().map(|change| change.state).collect()
    };
    assert_eq!(states(&session, &mut reported), [State::New]);
    assert_eq!(states(&session, &mut reported), []);
    session.diagnosis.incidents[0].cause = laggard_core::diagnose::Cause::DiskHog;
    assert_eq!(states(&session, &mut reported), [State::Changed]);
    session.diagnosis.incidents[0].is_open = false;
    assert_eq!(states(&session, &mut reported), [State::Over]);
    assert_eq!(states(&session, &mut reported), []);
}

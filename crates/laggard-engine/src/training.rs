//! Scores of one method in one metric, and thresholds from them: the one driver for comparison and training.

use crate::{EngineError, Listener, Loaded, Warning, plan};
use laggard_core::compare::{Method, cwnd::CWND};
use laggard_core::diagnose::Thresholds;
use laggard_core::diagnose::training::{GroupTraining, ScoreStream, Trained};
use laggard_core::ids::{ComponentId, Slot, WindowIndex};
use laggard_core::model::metric::Role;
use laggard_core::model::{Metric, Roster};
use laggard_store::align::Aligned;
use laggard_store::{Recording, time};

/// The scores of one window of one group.
pub struct Scored<'a> {
    /// Which window.
    pub window: WindowIndex,
    /// The components.
    pub components: &'a [ComponentId],
    /// Their scores; NaN is none.
    pub scores: &'a [f64],
}

/// Members of a group that have a metric, and the row that is being filled.
struct Rows {
    members: Vec<ComponentId>,
    row: Vec<f64>,
    slot: Option<Slot>,
}

/// Yields the rows of one metric of each group, slot by slot: index of the group, slot, row. First come the members of each.
fn rows(
    recording: &Recording,
    roster: &Roster,
    metric: Metric,
    interval_s: u32,
    begin: &mut dyn FnMut(Vec<ComponentId>),
    each: &mut dyn FnMut(usize, Slot, &[f64]),
) {
    let aligned = Aligned::new(recording, roster, interval_s, |known| known == metric);
    let Some((origin, _)) = aligned.slots() else { return };
    let mut place = vec![(usize::MAX, 0); roster.components.len()];
    let mut groups: Vec<Rows> = Vec::new();
    for (index, group) in roster.groups.iter().enumerate() {
        let has_metric = |member: &ComponentId| aligned.first_slot(*member, metric).is_some();
        let members: Vec<ComponentId> = group.members.iter().copied().filter(has_metric).collect();
        members.iter().enumerate().for_each(|(row, member)| place[member.index()] = (index, row));
        begin(members.clone());
        groups.push(Rows { row: vec![f64::NAN; members.len()], members, slot: None });
    }
    let mut close = |index: usize, group: &mut Rows| {
        if let Some(slot) = group.slot.take() {
            each(index, slot, &group.row);
            group.row.fill(f64::NAN);
        }
    };
    aligned.replay(|sample| {
        let (index, row) = place[sample.component.index()];
        let slot = Slot((sample.time.0.div_euclid(i64::from(interval_s)) - origin) as u64);
        let group = &mut groups[index];
        if group.slot != Some(slot) {
            close(index, group);
            group.slot = Some(slot);
        }
        group.row[row] = sample.value;
    });
    for (index, group) in groups.iter_mut().enumerate().filter(|(_, group)| !group.members.is_empty()) {
        close(index, group);
    }
}

/// Runs one method over one metric, all groups in one pass.
pub fn compare(
    loaded: &Loaded,
    method: &'static Method,
    metric: Metric,
    interval_s: u32,
    mut each: impl FnMut(Scored),
) {
    let params = method.published_on(interval_s);
    let streams = std::cell::RefCell::new(Vec::new());
    let mut begin = |members: Vec<ComponentId>| {
        let stream = ScoreStream::new(method, params, members.len());
        streams.borrow_mut().push((members, stream));
    };
    rows(&loaded.recording, &loaded.roster, metric, interval_s, &mut begin, &mut |group, slot, row| {
        let (members, stream) = &mut streams.borrow_mut()[group];
        stream.push(slot, row, |scored| {
            each(Scored { window: scored.window, components: members, scores: &scored.scores });
        });
    });
}

/// Learns thresholds for every metric that diagnosis compares; warns of those of which nothing was learnt.
pub fn train(
    loaded: &Loaded,
    method: &'static Method,
    interval_s: u32,
    listener: &dyn Listener,
) -> Result<Thresholds, EngineError> {
    let mut entries = Vec::new();
    let needed_s = method.published_on(interval_s).least_s();
    let mut not_learnt = Vec::new();
    for metric in loaded.recording.metrics().into_iter().filter(|metric| metric.role().is_published()) {
        let own = if metric.role() == Role::Congestion { &CWND } else { method };
        let entry = train_metric(loaded, own, metric, interval_s);
        if entry.is_empty() { not_learnt.push(metric) } else { entries.push(entry) }
    }
    if entries.is_empty() {
        return Err(EngineError::NothingToLearn { method, needed_s });
    }
    not_learnt.iter().for_each(|&metric| listener.warn(&Warning::NothingLearnt { metric, needed_s }));
    let span = loaded.recording.span();
    let trained_on =
        span.map_or_else(String::new, |(from, to)| format!("{}/{}", time::format(from), time::format(to)));
    Ok(Thresholds::new(trained_on, entries))
}

fn train_metric(loaded: &Loaded, method: &'static Method, metric: Metric, interval_s: u32) -> Trained {
    let params = method.published_on(interval_s);
    let groups = std::cell::RefCell::new(Vec::new());
    let mut begin = |members: Vec<ComponentId>| {
        let training = GroupTraining::new(method, params, members.len());
        groups.borrow_mut().push((members, training));
    };
    rows(&loaded.recording, &loaded.roster, metric, interval_s, &mut begin, &mut |group, slot, row| {
        groups.borrow_mut()[group].1.push(slot, row);
    });
    let groups = groups.into_inner();
    let learnt = groups.iter().flat_map(|(members, training)| {
        let names = members.iter().map(|&member| loaded.roster.name(member));
        names.zip(training.thresholds()).collect::<Vec<_>>()
    });
    Trained::new(method, metric, interval_s, learnt)
}

/// The method and grid to train with.
pub fn plan(
    loaded: &Loaded,
    method: Option<&'static Method>,
    asked_s: Option<u32>,
    listener: &dyn Listener,
) -> (&'static Method, u32) {
    let method = method.unwrap_or_else(|| plan::published_method(&loaded.recording));
    let usual_s = plan::grid_s(method, &loaded.recording);
    (method, plan::interval(asked_s, usual_s, &loaded.recording, Metric::is_used, listener))
}

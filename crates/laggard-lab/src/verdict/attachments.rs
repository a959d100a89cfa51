//! Verdicts on the production site: the persistence list of LISA'13 with `cdf`, `median` and `thresh`, and ours.

use laggard_core::compare::{Method, Windower};
use laggard_core::diagnose::train::{SCHEMA, Trained};
use laggard_core::diagnose::{Config, Diagnoser, Event, Incident, Sample, Thresholds, Trainer};
use laggard_core::model::groups::Observed;
use laggard_core::model::{Metric, Roster, Topology};
use laggard_sim::production::{Production, Site, Slot};

/// The grid.
pub const INTERVAL_S: u32 = 15;

/// Persistence from which the paper's operators looked at a LUN, half a day (section 5.1) ...
const LOOKED_AT: u32 = 100;
/// ... and, where several of one part are among the ten most persistent, earlier.
const SEVERAL: (usize, u32) = (3, 20);

/// Components and groups of the site, and the component of each reading of a slot: a roster is in the order of names.
pub fn roster(site: Site) -> Result<(Roster, Vec<usize>), String> {
    let topology = Topology::parse(&site.topology()).map_err(|error| error.to_string())?;
    let observed: Vec<Observed> = site
        .attachments()
        .map(|attachment| Observed { name: attachment.name(), ..Observed::default() })
        .collect();
    let roster = Roster::new(&observed, Some(&topology));
    let found: Option<Vec<usize>> = observed.iter().map(|known| roster.find(&known.name)).collect();
    let order = found.ok_or("the roster has lost an attachment")?;
    Ok((roster, order))
}

/// Thresholds of published methods in `await`, from a day without incidents.
pub fn train(
    roster: &Roster,
    order: &[usize],
    site: Site,
    methods: &[&'static Method],
    seed: u64,
) -> Vec<Thresholds> {
    struct Group {
        method: &'static Method,
        windower: Windower,
        trainer: Trainer,
    }
    let mut groups: Vec<Vec<Group>> = roster
        .groups
        .iter()
        .map(|group| {
            let of = |&method: &&'static Method| Group {
                method,
                windower: Windower::new(method.params, group.members.len()),
                trainer: Trainer::new(method, group.members.len()),
            };
            methods.iter().map(of).collect()
        })
        .collect();
    let mut production = Production::new(site, INTERVAL_S, seed, Vec::new());
    let day = 86_400 / INTERVAL_S;
    for number in 0..u64::from(day) {
        let slot = production.next_slot();
        let mut values = vec![f64::NAN; order.len()];
        for (&component, reading) in order.iter().zip(&slot.readings) {
            values[component] = reading.map_or(f64::NAN, |reading| reading.await_ms);
        }
        for (known, group) in roster.groups.iter().zip(&mut groups) {
            let row: Vec<f64> = known.members.iter().map(|&member| values[member]).collect();
            for Group { method, windower, trainer } in group {
                windower.push(number, &row, &mut |_, window| trainer.push(&(method.scores)(&window)));
            }
        }
    }
    let of_method = |position: usize| {
        let mut entry = Trained {
            method: methods[position].name.into(),
            metric: Metric::Await.name().into(),
            interval_s: INTERVAL_S,
            fraction: None,
            components: Default::default(),
        };
        for (known, group) in roster.groups.iter().zip(&groups) {
            for (&member, threshold) in known.members.iter().zip(group[position].trainer.thresholds()) {
                entry.components.insert(roster.components[member].name.clone(), threshold.unwrap_or(0.0));
            }
        }
        Thresholds { schema: SCHEMA.into(), trained_on: "one day".into(), thresholds: vec![entry] }
    };
    (0..methods.len()).map(of_method).collect()
}

/// One pipeline that follows the site.
pub struct Watch {
    diagnoser: Diagnoser,
    metrics: Vec<Metric>,
    /// The last persistence list of each group.
    lists: Vec<Vec<(usize, u32)>>,
}

impl Watch {
    /// The published pipeline: `await`, trained.
    pub fn published(roster: &Roster, method: &'static Method, thresholds: Thresholds) -> Watch {
        Watch::new(roster, method, Some(thresholds), vec![Metric::Await])
    }

    /// Ours: untrained, with the metrics that explain a latency.
    pub fn ours(roster: &Roster, method: &'static Method) -> Watch {
        let metrics = vec![Metric::Tps, Metric::Svctm, Metric::Await, Metric::RdSec, Metric::WrSec];
        Watch::new(roster, method, None, metrics)
    }

    fn new(
        roster: &Roster,
        method: &'static Method,
        thresholds: Option<Thresholds>,
        metrics: Vec<Metric>,
    ) -> Watch {
        let config =
            Config { interval_s: INTERVAL_S, method, thresholds, lateness_slots: 0, resolved: Vec::new() };
        let lists = vec![Vec::new(); roster.groups.len()];
        Watch { diagnoser: Diagnoser::new(config, roster.clone()), metrics, lists }
    }

    /// Takes a slot.
    pub fn push(&mut self, slot: &Slot, order: &[usize]) {
        for &metric in &self.metrics {
            for (&component, reading) in order.iter().zip(&slot.readings) {
                let Some(reading) = reading else { continue };
                let value = reading.value(metric);
                self.diagnoser.push(Sample { time_s: slot.time_s as i64, component, metric, value });
            }
        }
        for event in self.diagnoser.drain() {
            if let Event::Persistence { group, ranking, .. } = event {
                self.lists[group] = ranking;
            }
        }
    }

    /// Whether an operator who reads the list of most persistent anomalies would look at one of `affected`: the first of the list,
    /// once it has lasted half a day, or several at once.
    pub fn list_shows(&self, affected: impl Fn(usize) -> bool) -> bool {
        let mut list: Vec<(usize, u32)> = self.lists.iter().flatten().copied().collect();
        list.sort_by_key(|&(component, persistence)| (std::cmp::Reverse(persistence), component));
        let first = list
            .first()
            .is_some_and(|&(component, persistence)| persistence >= LOOKED_AT && affected(component));
        let (several, least) = SEVERAL;
        let among = list
            .iter()
            .take(10)
            .filter(|(component, persistence)| *persistence >= least && affected(*component));
        first || among.count() >= several
    }

    /// The worst incident that explains one of `affected` and was still seen after the event; one component alone must not have
    /// been in trouble of its own before.
    pub fn find(&self, event_s: f64, affected: impl Fn(usize) -> bool) -> Option<Incident> {
        const WINDOWS_S: f64 = 3600.0;
        let explains = |incident: &Incident| {
            let several = incident.explains.iter().filter(|&&component| affected(component)).count() >= 3;
            let of_event = several || incident.first_s as f64 > event_s - WINDOWS_S;
            incident.last_s as f64 > event_s
                && of_event
                && incident.explains.iter().any(|&component| affected(component))
        };
        self.incidents().into_iter().find(explains)
    }

    /// The incidents as of now.
    pub fn incidents(&self) -> Vec<Incident> {
        self.diagnoser.diagnosis().incidents
    }
}

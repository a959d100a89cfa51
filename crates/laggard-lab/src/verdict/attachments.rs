//! Verdicts on the production site: the persistence list of LISA'13 with `cdf`, `median` and `thresh`, and ours.

use super::ours::Ours;
use laggard_core::compare::Method;
use laggard_core::diagnose::pipeline::Persistent;
use laggard_core::diagnose::training::{GroupTraining, Trained};
use laggard_core::diagnose::{Config, Diagnoser, Event, Incident, Sample, Thresholds};
use laggard_core::ids::{ComponentId, GroupId, Slot, Table, UnixSeconds};
use laggard_core::model::groups::Observed;
use laggard_core::model::{Metric, Roster, Topology};
use laggard_sim::production::{Production, Site, Slot as SiteSlot};

/// The grid.
pub const INTERVAL_S: u32 = 15;

/// Persistence from which the paper's operators looked at a LUN, half a day (section 5.1) ...
const LOOKED_AT: u32 = 100;
/// ... and, where several of one part are among the ten most persistent, earlier.
const SEVERAL: (usize, u32) = (3, 20);

/// Components and groups of the site, and the component of each reading of a slot: a roster is in the order of names.
pub fn roster(site: Site) -> Result<(Roster, Vec<ComponentId>), String> {
    roster_of_first(site.len(), site)
}

/// The same, of a site that records only its first attachments.
pub fn roster_of_first(recorded: usize, site: Site) -> Result<(Roster, Vec<ComponentId>), String> {
    let topology = Topology::parse(&site.topology()).map_err(|error| error.to_string())?;
    let observed: Vec<Observed> = site
        .attachments()
        .take(recorded)
        .map(|attachment| Observed { name: attachment.name(), ..Observed::default() })
        .collect();
    let roster = Roster::new(&observed, Some(&topology));
    let found: Option<Vec<ComponentId>> = observed.iter().map(|known| roster.find(&known.name)).collect();
    let order = found.ok_or("the roster has lost an attachment")?;
    Ok((roster, order))
}

/// Thresholds of published methods in `await`, from a day without incidents.
pub fn train(
    roster: &Roster,
    order: &[ComponentId],
    site: Site,
    methods: &[&'static Method],
    seed: u64,
) -> Vec<Thresholds> {
    let training = |width: usize| -> Vec<GroupTraining> {
        methods.iter().map(|&method| GroupTraining::new(method, method.params, width)).collect()
    };
    let mut groups: Vec<Vec<GroupTraining>> =
        roster.groups.iter().map(|group| training(group.members.len())).collect();
    let mut production = Production::new(site, INTERVAL_S, seed, Vec::new());
    let day = 86_400 / INTERVAL_S;
    for number in 0..u64::from(day) {
        let slot = production.next_slot();
        let mut values: Table<ComponentId, f64> = Table::filled(f64::NAN, order.len());
        for (&component, reading) in order.iter().zip(&slot.readings) {
            values[component] = reading.map_or(f64::NAN, |reading| reading.await_ms);
        }
        for (known, group) in roster.groups.iter().zip(&mut groups) {
            let row: Vec<f64> = known.members.iter().map(|&member| values[member]).collect();
            group.iter_mut().for_each(|training| training.push(Slot(number), &row));
        }
    }
    let of_method = |position: usize| {
        let learnt = roster.groups.iter().zip(&groups).flat_map(|(known, group)| {
            let names = known.members.iter().map(|&member| roster.name(member));
            names.zip(group[position].thresholds()).collect::<Vec<_>>()
        });
        let entry = Trained::new(methods[position], Metric::Await, INTERVAL_S, learnt);
        Thresholds::new("one day".into(), vec![entry])
    };
    (0..methods.len()).map(of_method).collect()
}

/// One pipeline that follows the site.
pub struct Watch {
    diagnoser: Diagnoser,
    metrics: Vec<Metric>,
    /// The last persistence list of each group.
    lists: Table<GroupId, Vec<Persistent>>,
}

impl Watch {
    /// The published pipeline: `await`, trained.
    pub fn published(roster: &Roster, method: &'static Method, thresholds: Thresholds) -> Watch {
        let config = Config { thresholds: Some(thresholds), ..Config::untrained(method, INTERVAL_S) };
        Watch::new(roster, config, vec![Metric::Await])
    }

    /// Ours: untrained, with the metrics that explain a latency.
    pub fn ours(roster: &Roster, ours: &Ours) -> Watch {
        Watch::ours_every(INTERVAL_S, roster, ours)
    }

    /// The same, on another grid.
    pub fn ours_every(interval_s: u32, roster: &Roster, ours: &Ours) -> Watch {
        let mut metrics = vec![Metric::Tps, Metric::Svctm, Metric::Await, Metric::RdSec, Metric::WrSec];
        metrics.retain(|metric| ours.sees(*metric));
        Watch::new(roster, ours.config(interval_s), metrics)
    }

    fn new(roster: &Roster, config: Config, metrics: Vec<Metric>) -> Watch {
        let lists = Table::filled(Vec::new(), roster.groups.len());
        Watch { diagnoser: Diagnoser::new(config, roster.clone()), metrics, lists }
    }

    /// Takes a slot.
    pub fn push(&mut self, slot: &SiteSlot, order: &[ComponentId]) {
        for &metric in &self.metrics {
            for (&component, reading) in order.iter().zip(&slot.readings) {
                let Some(reading) = reading else { continue };
                let (time, value) = (UnixSeconds(slot.time_s as i64), reading.value(metric));
                self.diagnoser.push(Sample { time, component, metric, value });
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
    pub fn list_shows(&self, affected: impl Fn(ComponentId) -> bool) -> bool {
        let mut list: Vec<Persistent> = self.lists.iter().flatten().copied().collect();
        list.sort_by_key(|place| (std::cmp::Reverse(place.accumulator), place.component));
        let first =
            list.first().is_some_and(|place| place.accumulator >= LOOKED_AT && affected(place.component));
        let (several, least) = SEVERAL;
        let among =
            list.iter().take(10).filter(|place| place.accumulator >= least && affected(place.component));
        first || among.count() >= several
    }

    /// The worst incident, or else observation, that explains one of `affected` and was still seen after the event; one component alone
    /// must not have been in trouble of its own before. A LUN with a load of its own is observed, as it should be.
    pub fn find(&self, event_s: f64, affected: impl Fn(ComponentId) -> bool) -> Option<Incident> {
        const WINDOWS_S: f64 = 3600.0;
        let explains = |incident: &Incident| {
            let several = incident.explains.iter().filter(|&&component| affected(component)).count() >= 3;
            let of_event = several || incident.first.0 as f64 > event_s - WINDOWS_S;
            incident.last.0 as f64 > event_s
                && of_event
                && incident.explains.iter().any(|&component| affected(component))
        };
        let (incidents, observations) = self.found();
        incidents.into_iter().chain(observations).find(explains)
    }

    /// Incidents and loads as of now.
    pub fn found(&self) -> (Vec<Incident>, Vec<Incident>) {
        let diagnosis = self.diagnoser.diagnosis();
        (diagnosis.incidents, diagnosis.observations)
    }

    /// The incidents as of now.
    pub fn incidents(&self) -> Vec<Incident> {
        self.diagnoser.diagnosis().incidents
    }
}

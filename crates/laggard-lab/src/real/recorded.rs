//! One run as it was recorded: the collectors' files, and the truth.

use super::{Ours, name, ours};
use crate::campaign::truth::{ELEVATOR, Injected, Truth};
use crate::fault;
use crate::simulated::tally::Expected;
use crate::verdict::Indictment;
use laggard_core::diagnose::{Cause, Sample};
use laggard_core::ids::{ComponentId, UnixSeconds};
use laggard_core::model::groups::CLIENTS;
use laggard_core::model::metric::{Harm, Role};
use laggard_core::model::{Metric, Roster};
use laggard_engine::{Listener, Loaded, Source, Stage, Warning};
use laggard_sim::bench::{METRICS, Trace};
use laggard_store::align::Aligned;
use std::ops::Range;
use std::path::Path;

/// A metric that differs from the peers' median by this factor more than before can be seen with the eye.
const MOVED: f64 = 1.5;

/// A run.
pub struct Recorded {
    /// Its folder.
    pub name: String,
    /// What was done.
    pub truth: Truth,
    /// What the servers did, by the second.
    pub trace: Trace,
    roster: Roster,
    samples: Vec<Sample>,
    first_s: i64,
    /// Which component each server of the trace is.
    servers: Vec<ComponentId>,
}

impl Recorded {
    /// Reads a run.
    pub fn load(folder: &Path) -> Result<Recorded, String> {
        let truth = Truth::load(folder)?;
        let source = Source { paths: vec![folder.join("activity")], ..Source::default() };
        let loaded = source.load(&Warnings).map_err(|error| error.to_string())?;
        let Loaded { recording, roster } = loaded;
        let aligned = Aligned::new(&recording, &roster, 1, Metric::is_used);
        let mut samples = Vec::new();
        aligned.replay(|sample| samples.push(sample));
        let first_s = samples.first().map_or(0, |sample| sample.time.0);
        let last_s = samples.last().map_or(0, |sample| sample.time.0);
        // Servers are those with sockets to clients; clients have a group of their own.
        let is_server = |id: &ComponentId| roster.groups[roster.components[*id].group].name != CLIENTS;
        let servers: Vec<ComponentId> = roster.components.ids().filter(is_server).collect();
        let seconds = (last_s - first_s + 1).max(0) as usize;
        let mut values = vec![vec![f64::NAN; servers.len() * seconds]; METRICS.len()];
        for sample in &samples {
            let metric = METRICS.iter().position(|metric| *metric == sample.metric);
            let server = servers.iter().position(|server| *server == sample.component);
            if let (Some(metric), Some(server)) = (metric, server) {
                values[metric][(sample.time.0 - first_s) as usize * servers.len() + server] = sample.value;
            }
        }
        let trace = Trace::recorded(servers.len(), seconds, values);
        let is_recorded = |name: &String| servers.iter().any(|server| roster.name(*server) == *name);
        if let Some(name) = truth.server.as_ref().filter(|name| !is_recorded(name)) {
            return Err(format!(
                "{}: the faulty server, {name}, is not among what was recorded",
                folder.display()
            ));
        }
        Ok(Recorded { name: name(folder), truth, trace, roster, samples, first_s, servers })
    }

    /// When the fault was injected, in seconds of the recording; never, if there is none.
    pub fn injected_s(&self) -> f64 {
        if self.truth.fault.is_none() { f64::INFINITY } else { self.truth.fault_from_s - self.first_s as f64 }
    }

    fn server(&self, name: &str) -> Option<usize> {
        self.servers.iter().position(|server| self.roster.name(*server) == name)
    }

    fn faulty(&self) -> Option<usize> {
        self.truth.server.as_deref().and_then(|name| self.server(name))
    }

    /// What is to be found. A fault without a cause of its own may be called anything.
    pub fn expected(&self) -> Vec<Expected> {
        let expected = |injected: Injected| {
            let server = self.server(&injected.server)?;
            Some(Expected { server, from_s: self.injected_s(), causes: self.causes(&injected) })
        };
        self.truth.injected().into_iter().filter_map(expected).collect()
    }

    /// What a fault may be called: as today's table of faults has it, whatever was written down when it was recorded.
    fn causes(&self, injected: &Injected) -> Vec<Cause> {
        let mut causes: Vec<Cause> = match fault::find(&injected.fault) {
            Ok(known) => known.cause.into_iter().collect(),
            Err(_) => injected.cause.as_deref().and_then(cause).into_iter().collect(),
        };
        // What shows the cause itself was not recorded: its consequences may be called anything.
        causes.retain(|cause| !is_of_health(*cause) || self.is_recorded(*cause));
        // Before requests aged, a neighbour starved a disk that has a queue.
        let has_queue = self.truth.bench.as_ref().is_some_and(|bench| bench.disk.queue > 1);
        if causes.contains(&Cause::DiskBusy) && self.truth.elevator < ELEVATOR && has_queue {
            causes.push(Cause::DiskStall);
        }
        causes
    }

    /// Whether a metric that shows a cause was recorded.
    fn is_recorded(&self, cause: Cause) -> bool {
        self.samples.iter().any(|sample| cause.is_shown_by(sample.metric))
    }

    /// The name of a server.
    pub fn name_of(&self, server: usize) -> &str {
        self.servers.get(server).map_or("a client", |server| self.roster.name(*server))
    }

    /// What ours says, as it would live.
    pub fn listen(&self, ours: &Ours) -> Vec<Indictment> {
        let mut listener = ours::Listener::new(ours, self.roster.clone(), self.injected_s());
        for sample in &self.samples {
            let time = UnixSeconds(sample.time.0 - self.first_s);
            listener.push(Sample { time, ..*sample });
        }
        // Who is no server has no place among them.
        let place = |component: usize| self.servers.iter().position(|server| server.index() == component);
        let placed =
            |said: Indictment| Indictment { server: place(said.server).unwrap_or(usize::MAX), ..said };
        listener.finish().into_iter().map(placed).collect()
    }

    /// What was said while it was recorded.
    pub fn live(&self) -> Vec<Indictment> {
        let said = self.truth.live.iter().map(|said| {
            let find = |server: &ComponentId| self.roster.name(*server) == said.component;
            Indictment {
                server: self.servers.iter().position(find).unwrap_or(usize::MAX),
                cause: cause(&said.cause).unwrap_or(Cause::Unknown),
                said_s: said.said_s - self.first_s as f64,
            }
        });
        said.collect()
    }

    /// The fault's own metric on the faulty server beside its peers, in words; and whether it was moved, against them and against
    /// what it was before.
    pub fn shows(&self) -> (String, bool) {
        let first = self.truth.injected().into_iter().next();
        let causes = first.map(|injected| self.causes(&injected)).unwrap_or_default();
        let (Some(server), Some(&cause)) = (self.faulty(), causes.first()) else {
            return (String::new(), false);
        };
        let metrics: Vec<Metric> = match cause {
            Cause::DiskHog => vec![Metric::RdSec, Metric::WrSec],
            Cause::DiskBusy | Cause::DiskStall | Cause::FailSlow => vec![Metric::Await],
            other => Metric::all().filter(|metric| other.is_shown_by(*metric)).collect(),
        };
        let injected = self.injected_s() as usize;
        let undone = (self.truth.fault_to_s - self.first_s as f64) as usize;
        let begun = (self.truth.from_s - self.first_s as f64) as usize;
        let strength = |metric: Metric, ratio: f64| match metric.properties().harm {
            Harm::Low => 1.0 / ratio,
            Harm::High => ratio,
        };
        let seen = metrics.iter().map(|metric| {
            let with = self.ratio(*metric, server, injected + 2..undone);
            let before = self.ratio(*metric, server, begun + 5..injected);
            (*metric, with, strength(*metric, with), strength(*metric, before).max(1.0))
        });
        let strongest = seen.filter(|(_, with, ..)| with.is_finite()).max_by(|a, b| a.2.total_cmp(&b.2));
        strongest.map_or_else(Default::default, |(metric, with, strength, before)| {
            (format!("{metric} {with:.2} times its peers'"), strength > MOVED * before)
        })
    }

    /// A server's mean over the median of its peers' means.
    fn ratio(&self, metric: Metric, server: usize, seconds: Range<usize>) -> f64 {
        let floor = metric.properties().negligible.max(f64::MIN_POSITIVE);
        let peers = (0..self.servers.len()).filter(|peer| *peer != server);
        let mut peers: Vec<f64> =
            peers.map(|peer| self.mean(metric, peer, &seconds)).filter(|mean| mean.is_finite()).collect();
        let middle = laggard_core::stats::median(&mut peers);
        self.mean(metric, server, &seconds).max(floor) / middle.max(floor)
    }

    /// The mean of a server's metric, of the seconds that have it.
    fn mean(&self, metric: Metric, server: usize, seconds: &Range<usize>) -> f64 {
        let is_wanted = |sample: &&Sample| {
            let second = (sample.time.0 - self.first_s) as usize;
            sample.metric == metric && sample.component == self.servers[server] && seconds.contains(&second)
        };
        let values: Vec<f64> = self.samples.iter().filter(is_wanted).map(|sample| sample.value).collect();
        values.iter().sum::<f64>() / values.len() as f64
    }
}

/// Whether a cause is told by metrics of its own, of the host or its links.
fn is_of_health(cause: Cause) -> bool {
    Metric::all().any(|metric| {
        matches!(metric.role(), Role::HostHealth | Role::LinkHealth) && cause.is_shown_by(metric)
    })
}

/// What could not be used of a recording is printed.
struct Warnings;

impl Listener for Warnings {
    fn warn(&self, warning: &Warning) {
        eprintln!("laggard-lab: {warning}");
    }

    fn progress(&self, _: Stage, _: u64, _: u64) {}
}

fn cause(name: &str) -> Option<Cause> {
    Cause::ALL.iter().copied().find(|cause| cause.name() == name)
}

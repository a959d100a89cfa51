//! The published pipeline, FAST'10 section 10, with its parameters as values: histograms and congestion windows, trained
//! thresholds, filter, and the checklist, which halts at the first step that any server diverges in.
//!
//! The operator of `laggard-core` does the same for any recording; here thresholds come from thirty runs and every
//! parameter can be varied. A test holds the two equal.

use super::Indictment;
use laggard_core::compare::{Method, cwnd::CWND, kl::KL};
use laggard_core::diagnose::persistence::Filter;
use laggard_core::diagnose::training::ScoreStream;
use laggard_core::diagnose::{Cause, Trainer};
use laggard_core::grid::Params;
use laggard_core::ids::Slot;
use laggard_core::model::Metric;
use laggard_sim::bench::Trace;
use std::ops::Range;

/// Compared by histogram.
const HISTOGRAMS: [Metric; 5] = [Metric::RdSec, Metric::WrSec, Metric::Await, Metric::Rxbyt, Metric::Txbyt];
/// Compared second by second.
const WINDOWS: [Metric; 2] = [Metric::CwndToClients, Metric::CwndFromClients];
const METRICS: usize = HISTOGRAMS.len() + WINDOWS.len();

/// A metric, how it is compared, and with which parameters.
struct Compared {
    metric: Metric,
    method: &'static Method,
    params: Params,
}

/// The pipeline with one choice of parameters.
#[derive(Debug)]
pub struct Pipeline {
    histogram: Params,
    congestion: Params,
    /// Times the trained threshold, for histograms.
    scale: f64,
}

/// Scores of one experiment, by metric: when each window ended, and the score of each server.
pub struct Scores(Vec<Vec<(usize, Vec<f64>)>>);

/// Thresholds by metric and server.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained(Vec<Vec<f64>>);

impl Default for Pipeline {
    fn default() -> Pipeline {
        Pipeline { histogram: KL.params, congestion: CWND.params, scale: 2.0 }
    }
}

impl Pipeline {
    /// With other parameters than the paper's.
    pub fn with(histogram: Params, congestion_span: usize, scale: f64) -> Pipeline {
        Pipeline { histogram, congestion: Params { smoothing: congestion_span, ..CWND.params }, scale }
    }

    /// Scores every window of an experiment.
    pub fn scores(&self, trace: &Trace) -> Scores {
        let of_metric = |compared: Compared| {
            let mut stream = ScoreStream::new(compared.method, compared.params, trace.servers);
            let mut found = Vec::new();
            for second in 0..trace.seconds {
                stream.push(Slot(second as u64), trace.row(compared.metric, second), |scored| {
                    if let Some(scores) = scored.counted() {
                        found.push((scored.end.0 as usize, scores));
                    }
                });
            }
            found
        };
        Scores(self.compared().map(of_metric).collect())
    }

    fn compared(&self) -> impl Iterator<Item = Compared> {
        let (histogram, congestion) = (self.histogram, self.congestion);
        let histograms =
            HISTOGRAMS.into_iter().map(move |metric| Compared { metric, method: &KL, params: histogram });
        let windows =
            WINDOWS.into_iter().map(move |metric| Compared { metric, method: &CWND, params: congestion });
        histograms.chain(windows)
    }

    /// The smallest thresholds at which no training run raises an alarm, with the cushion. A server without training data gets the
    /// largest of its peers.
    pub fn train(&self, runs: &[&Scores], servers: usize) -> Trained {
        let thresholds = self.compared().enumerate().map(|(index, compared)| {
            let mut trainer = Trainer::new(compared.method, compared.params.k, servers);
            for Scores(scores) in runs {
                scores[index].iter().for_each(|(_, scores)| trainer.push(scores));
                trainer.end_run();
            }
            let learnt = trainer.thresholds();
            // NaN, which no score exceeds, where nothing was learnt.
            let largest = learnt.iter().flatten().copied().fold(f64::NAN, f64::max);
            // Training doubles; congestion windows have one threshold for all servers and no cushion.
            let rescale = if index < HISTOGRAMS.len() { self.scale / 2.0 } else { 1.0 };
            learnt.into_iter().map(|threshold| threshold.unwrap_or(largest) * rescale).collect()
        });
        Trained(thresholds.collect())
    }

    /// Who is indicted, and why: what was said before the injection, and what after it.
    pub fn judge(&self, scores: &Scores, trained: &Trained, injected_s: f64) -> Vec<Indictment> {
        let said = |seconds| checklist(&self.diverged(scores, trained, seconds));
        [said(0.0..injected_s), said(injected_s..f64::INFINITY)].concat()
    }

    /// By metric and server: the second, among those, at which it first diverged, if it did.
    fn diverged(
        &self,
        Scores(scores): &Scores,
        Trained(thresholds): &Trained,
        seconds: Range<f64>,
    ) -> [Vec<Option<f64>>; METRICS] {
        let mut diverged = [const { Vec::new() }; METRICS];
        for (index, compared) in self.compared().enumerate() {
            let servers = thresholds[index].len();
            let mut filters = vec![Filter::default(); servers];
            diverged[index] = vec![None; servers];
            for (end, scores) in &scores[index] {
                for server in 0..servers {
                    let exceeds = scores[server] > thresholds[index][server];
                    if filters[server].push(compared.params.k, exceeds) && seconds.contains(&(*end as f64)) {
                        diverged[index][server].get_or_insert(*end as f64);
                    }
                }
            }
        }
        diverged
    }
}

/// When a server diverged in one step of the checklist, if it did.
type Says<'a> = &'a dyn Fn(usize) -> Option<f64>;

/// The checklist over all servers: it halts at the first step that somebody diverges in.
fn checklist(diverged: &[Vec<Option<f64>>; METRICS]) -> Vec<Indictment> {
    let servers = diverged[0].len();
    let [read, written, waited, received, sent, to_clients, from_clients] = diverged;
    let earliest = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let hog = |server: usize| earliest(read[server], written[server]);
    let busy = |server: usize| waited[server];
    let loss = |server: usize| earliest(to_clients[server], from_clients[server]);
    let network = |server: usize| match (received[server], sent[server]) {
        (one, other) if loss(server).is_none() => earliest(one, other),
        (Some(a), Some(b)) => Some(a.max(b)),
        _ => None,
    };
    let steps: [(Cause, Says); 4] = [
        (Cause::DiskHog, &hog),
        (Cause::DiskBusy, &busy),
        (Cause::NetworkHog, &network),
        (Cause::PacketLoss, &loss),
    ];
    for (cause, says) in steps {
        let indict = |server: usize| Some(Indictment { server, cause, said_s: says(server)? });
        let found: Vec<Indictment> = (0..servers).filter_map(indict).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::ours::roster;
    use laggard_core::diagnose::training::Trained as Entry;
    use laggard_core::diagnose::{Config, Diagnoser, Event, Sample, Thresholds};
    use laggard_core::ids::{ComponentId, UnixSeconds};
    use laggard_sim::bench::{Cluster, Experiment, Fault, FaultKind, Workload, run};

    fn record(workload: Workload, faults: Vec<Fault>, seed: u64) -> Trace {
        let [.., cluster] = Cluster::all(3);
        run(&Experiment { cluster, workload, faults, seed, scale: 0.5 })
    }

    /// The thresholds as the operator reads them.
    fn for_operator(Trained(thresholds): &Trained) -> Thresholds {
        let names: Vec<String> = (1..=thresholds[0].len()).map(|server| format!("oss{server:02}")).collect();
        let entry = |(index, compared): (usize, Compared)| {
            let learnt = names.iter().zip(&thresholds[index]);
            let learnt = learnt.map(|(name, threshold)| (name.as_str(), Some(*threshold)));
            Entry::new(compared.method, compared.metric, 1, learnt)
        };
        let entries = Pipeline::default().compared().enumerate().map(entry).collect();
        Thresholds::new(String::new(), entries)
    }

    #[test]
    fn the_pipeline_decides_as_the_operator_does() {
        let pipeline = Pipeline::default();
        let training: Vec<Scores> = [Workload::Ddr, Workload::Ddw]
            .map(|workload| pipeline.scores(&record(workload, Vec::new(), 1)))
            .into();
        let trained = pipeline.train(&training.iter().collect::<Vec<_>>(), 12);
        let mut divergences = 0;
        for kind in [FaultKind::DiskHog, FaultKind::ReceivePktloss, FaultKind::ReadNetworkHog] {
            let fault = Fault { from_s: 60.0, to_s: 250.0, ..Fault::published(kind, 5) };
            let trace = record(Workload::Ddw, vec![fault], 2);
            let expected = pipeline.diverged(&pipeline.scores(&trace), &trained, 0.0..f64::INFINITY);
            let config = Config { thresholds: Some(for_operator(&trained)), ..Config::untrained(&KL, 1) };
            let mut diagnoser = Diagnoser::new(config, roster(trace.servers));
            let metrics: Vec<Metric> = HISTOGRAMS.into_iter().chain(WINDOWS).collect();
            for second in 0..trace.seconds {
                for &metric in &metrics {
                    for (component, &value) in trace.row(metric, second).iter().enumerate() {
                        let (time, component) = (UnixSeconds(second as i64), ComponentId::new(component));
                        diagnoser.push(Sample { time, component, metric, value });
                    }
                }
            }
            diagnoser.finish();
            let mut found: Vec<Vec<Option<f64>>> = vec![vec![None; trace.servers]; METRICS];
            for event in diagnoser.drain() {
                let Event::Window(window) = event else { continue };
                let index = metrics.iter().position(|metric| *metric == window.metric).unwrap();
                for (&component, _) in window.components.iter().zip(&window.anomalous).filter(|(_, is)| **is)
                {
                    found[index][component.index()].get_or_insert(window.to.0 as f64);
                }
            }
            assert_eq!(found, expected, "{}", kind.name());
            divergences += expected.iter().flatten().flatten().count();
        }
        assert!(divergences > 3, "there was something to agree on");
    }

    #[test]
    fn the_checklist_halts_at_its_first_step() {
        let none = || vec![None; 3];
        let mut diverged = [none(), none(), none(), none(), none(), none(), none()];
        diverged[2][1] = Some(200.0);
        diverged[5][2] = Some(150.0);
        let said = |diverged: &[Vec<Option<f64>>; METRICS]| -> Vec<(usize, Cause)> {
            checklist(diverged).iter().map(|indictment| (indictment.server, indictment.cause)).collect()
        };
        assert_eq!(said(&diverged), [(1, Cause::DiskBusy)]);
        diverged[2][1] = None;
        assert_eq!(said(&diverged), [(2, Cause::PacketLoss)]);
        diverged[3][2] = Some(160.0);
        assert_eq!(said(&diverged), [(2, Cause::PacketLoss)], "one direction, and cwnd: loss");
        diverged[4][2] = Some(160.0);
        assert_eq!(said(&diverged), [(2, Cause::NetworkHog)], "both directions: a hog, whatever cwnd says");
    }
}

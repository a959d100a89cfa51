//! ITP, IFP, DTP, DFP: FAST'10, footnote 5.

use crate::verdict::Indictment;
use laggard_core::diagnose::Cause;
use laggard_sim::bench::{Fault, FaultKind};
use serde::Serialize;

/// Experiments, and what was right and wrong in them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Experiments.
    pub runs: usize,
    /// The faulty server was indicted.
    pub indicted: usize,
    /// A server without a fault was.
    pub misindicted: usize,
    /// The fault was named.
    pub diagnosed: usize,
    /// Something was named that was not there: a wrong cause, or a server without a fault.
    pub misdiagnosed: usize,
    /// Seconds from injection to the first indictment of the faulty server.
    pub latencies_s: Vec<f64>,
}

/// What is to be found in an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The faulty server.
    pub server: usize,
    /// From when it is, in seconds of the experiment.
    pub from_s: f64,
    /// What the fault may be called; anything is right where no cause is its own.
    pub causes: Vec<Cause>,
}

impl Expected {
    /// Whether the fault may be called so.
    fn is_called(&self, cause: Cause) -> bool {
        self.causes.is_empty() || self.causes.contains(&cause)
    }
}

impl From<&Fault> for Expected {
    fn from(fault: &Fault) -> Expected {
        let mut causes = vec![fault.kind.cause()];
        // The simulated neighbour reads once between any two requests: no counter tells that from a disk that answers each late.
        match fault.kind {
            FaultKind::DiskBusy => causes.push(Cause::FailSlow),
            FaultKind::FailSlow => causes.push(Cause::DiskBusy),
            FaultKind::DiskHog
            | FaultKind::WriteNetworkHog
            | FaultKind::ReadNetworkHog
            | FaultKind::ReceivePktloss
            | FaultKind::SendPktloss
            | FaultKind::DiskStall => {}
        }
        Expected { server: fault.server, from_s: fault.from_s, causes }
    }
}

impl Tally {
    /// Adds the verdict on one experiment. Of several faults at once all must be found.
    pub fn add(&mut self, faults: &[Expected], verdict: &[Indictment]) {
        // Before the injection nobody is faulty.
        let is_of =
            |fault: &Expected, said: &Indictment| fault.server == said.server && said.said_s >= fault.from_s;
        let is_faulty = |said: &Indictment| faults.iter().any(|fault| is_of(fault, said));
        let is_named =
            |said: &Indictment| faults.iter().any(|fault| is_of(fault, said) && fault.is_called(said.cause));
        let all = |found: &dyn Fn(&Expected, &Indictment) -> bool| {
            let is_found = |fault: &Expected| verdict.iter().any(|said| found(fault, said));
            !faults.is_empty() && faults.iter().all(is_found)
        };
        self.runs += 1;
        self.indicted += usize::from(all(&|fault, said| is_of(fault, said)));
        self.misindicted += usize::from(!verdict.iter().all(is_faulty));
        self.diagnosed += usize::from(all(&|fault, said| is_of(fault, said) && fault.is_called(said.cause)));
        self.misdiagnosed += usize::from(!verdict.iter().all(is_named));
        let first = |fault: &Expected| {
            let said =
                verdict.iter().filter(|said| is_of(fault, said)).map(|said| said.said_s - fault.from_s);
            said.fold(f64::INFINITY, f64::min)
        };
        // Of several, until the last was told.
        let latency_s = faults.iter().map(first).fold(0.0, f64::max);
        if !faults.is_empty() && latency_s.is_finite() {
            self.latencies_s.push(latency_s);
        }
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: &Tally) {
        self.runs += other.runs;
        self.indicted += other.indicted;
        self.misindicted += other.misindicted;
        self.diagnosed += other.diagnosed;
        self.misdiagnosed += other.misdiagnosed;
        self.latencies_s.extend(&other.latencies_s);
    }

    /// Sums over experiments, of each variant that judged them.
    pub fn sums(experiments: &[Vec<Tally>]) -> Vec<Tally> {
        let mut sums = vec![Tally::default(); experiments.first().map_or(0, Vec::len)];
        for tallies in experiments {
            sums.iter_mut().zip(tallies).for_each(|(sum, tally)| sum.merge(tally));
        }
        sums
    }

    /// The verdict on one experiment.
    pub fn of(faults: &[Expected], verdict: &[Indictment]) -> Tally {
        let mut tally = Tally::default();
        tally.add(faults, verdict);
        tally
    }

    /// ITP, IFP, DTP, DFP in percent.
    pub fn rates(&self) -> [f64; 4] {
        let percent = |count: usize| 100.0 * count as f64 / self.runs.max(1) as f64;
        [self.indicted, self.misindicted, self.diagnosed, self.misdiagnosed].map(percent)
    }

    /// Median latency in seconds, if anything was found.
    pub fn latency_s(&self) -> Option<f64> {
        let mut sorted = self.latencies_s.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(verdict: &[(usize, Cause)]) -> [f64; 4] {
        let fault = Fault::published(FaultKind::DiskBusy, 3);
        let said = |&(server, cause): &(usize, Cause)| Indictment { server, cause, said_s: 200.0 };
        let mut tally = Tally::default();
        tally.add(&[Expected::from(&fault)], &verdict.iter().map(said).collect::<Vec<_>>());
        tally.rates()
    }

    #[test]
    fn rates_are_those_of_the_footnote() {
        assert_eq!(tally(&[(3, Cause::DiskBusy)]), [100.0, 0.0, 100.0, 0.0]);
        assert_eq!(tally(&[(3, Cause::DiskHog)]), [100.0, 0.0, 0.0, 100.0]);
        assert_eq!(tally(&[(3, Cause::DiskBusy), (4, Cause::DiskBusy)]), [100.0, 100.0, 100.0, 100.0]);
        assert_eq!(tally(&[(4, Cause::DiskBusy)]), [0.0, 100.0, 0.0, 100.0]);
        assert_eq!(tally(&[]), [0.0; 4]);
        let early = Indictment { server: 3, cause: Cause::DiskBusy, said_s: 100.0 };
        let mut tally = Tally::default();
        tally.add(&[Expected::from(&Fault::published(FaultKind::DiskBusy, 3))], &[early]);
        assert_eq!(tally.rates(), [0.0, 100.0, 0.0, 100.0], "right by accident is wrong");
    }

    #[test]
    fn of_two_faults_at_once_both_must_be_found() {
        let fault = |server, cause| Expected { server, from_s: 100.0, causes: vec![cause] };
        let faults = [fault(1, Cause::DiskBusy), fault(1, Cause::PacketLoss)];
        let said = |cause, said_s| Indictment { server: 1, cause, said_s };
        let mut one = Tally::default();
        one.add(&faults, &[said(Cause::DiskBusy, 150.0)]);
        assert_eq!(one.rates(), [100.0, 0.0, 0.0, 0.0], "the server is right, one fault is missing");
        let mut both = Tally::default();
        both.add(&faults, &[said(Cause::DiskBusy, 150.0), said(Cause::PacketLoss, 160.0)]);
        assert_eq!((both.rates(), both.latency_s()), ([100.0, 0.0, 100.0, 0.0], Some(50.0)));
    }
}

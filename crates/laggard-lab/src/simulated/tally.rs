//! ITP, IFP, DTP, DFP: FAST'10, footnote 5.

use crate::verdict::Indictment;
use laggard_core::diagnose::Cause;
use laggard_sim::bench::Fault;
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// The faulty server.
    pub server: usize,
    /// From when it is, in seconds of the experiment.
    pub from_s: f64,
    /// What the fault should be called; anything is right where no cause is its own.
    pub cause: Option<Cause>,
}

impl From<&Fault> for Expected {
    fn from(fault: &Fault) -> Expected {
        Expected { server: fault.server, from_s: fault.from_s, cause: Some(fault.kind.cause()) }
    }
}

impl Tally {
    /// Adds the verdict on one experiment.
    pub fn add(&mut self, fault: Option<&Expected>, verdict: &[Indictment]) {
        // Before the injection nobody is faulty.
        let is_faulty = |indictment: &&Indictment| {
            fault.is_some_and(|fault| fault.server == indictment.server && indictment.said_s >= fault.from_s)
        };
        let of_faulty = verdict.iter().find(is_faulty);
        let others = verdict.iter().any(|indictment| !is_faulty(&indictment));
        let cause = fault.and_then(|fault| fault.cause);
        let right = of_faulty.is_some_and(|indictment| cause.is_none_or(|cause| indictment.cause == cause));
        self.runs += 1;
        self.indicted += usize::from(of_faulty.is_some());
        self.misindicted += usize::from(others);
        self.diagnosed += usize::from(right);
        self.misdiagnosed += usize::from(others || of_faulty.is_some() && !right);
        if let (Some(fault), Some(indictment)) = (fault, of_faulty) {
            self.latencies_s.push(indictment.said_s - fault.from_s);
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
    use laggard_sim::bench::FaultKind;

    fn tally(verdict: &[(usize, Cause)]) -> [f64; 4] {
        let fault = Fault::published(FaultKind::DiskBusy, 3);
        let said = |&(server, cause): &(usize, Cause)| Indictment { server, cause, said_s: 200.0 };
        let mut tally = Tally::default();
        tally.add(Some(&Expected::from(&fault)), &verdict.iter().map(said).collect::<Vec<_>>());
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
        tally.add(Some(&Expected::from(&Fault::published(FaultKind::DiskBusy, 3))), &[early]);
        assert_eq!(tally.rates(), [0.0, 100.0, 0.0, 100.0], "right by accident is wrong");
    }
}

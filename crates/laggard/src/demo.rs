//! The cluster of `laggard demo`: twelve simulated servers of a Lustre-like file system under a write and rewrite benchmark,
//! with one limping disk, one lossy link, and a change of workload that is not a fault.

use laggard_core::diagnose::Cause;
use laggard_sim::bench::{Cluster, Experiment, Fault, FaultKind, METRICS, Workload, run};
use laggard_store::Recording;

/// 2026-01-15T02:00:00Z.
const START_S: i64 = 1_768_442_400;

/// What was injected.
pub struct Injected {
    /// Name of the server.
    pub server: String,
    /// What limps.
    pub cause: Cause,
}

/// Records the cluster.
pub fn record() -> (Recording, Vec<Injected>) {
    let [.., cluster] = Cluster::all(2026);
    let fault = |kind, server, from_s, to_s| Fault { kind, server, from_s, to_s, severity: 1.0 };
    let faults =
        vec![fault(FaultKind::DiskBusy, 4, 240.0, 600.0), fault(FaultKind::ReceivePktloss, 8, 900.0, 1200.0)];
    let injected = faults
        .iter()
        .map(|fault| Injected { server: cluster.server_name(fault.server), cause: fault.kind.cause() })
        .collect();
    let trace = run(&Experiment { cluster, workload: Workload::Iozonew, faults, seed: 15, scale: 1.5 });
    let mut recording = Recording::default();
    for server in 0..trace.servers {
        let component = recording.component(&cluster.server_name(server));
        for metric in METRICS {
            for second in 0..trace.seconds {
                recording.push(component, metric, START_S + second as i64, trace.row(metric, second)[server]);
            }
        }
    }
    (recording, injected)
}

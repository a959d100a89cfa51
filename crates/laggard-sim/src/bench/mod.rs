//! FAST'10's test bench: x clients and y servers of a PVFS-like or Lustre-like file system, five workloads, six faults.
//!
//! An event simulation. A client sends stripes over TCP connections ([`net`]) to servers with one disk each ([`disk`]) and
//! waits for the slowest ([`client`]); [`meter`] is the sysstat of every server. Nothing paints a fault's
//! symptoms: a fault changes a disk, a link or adds a load, and the metrics follow.

mod agenda;
mod client;
mod disk;
mod engine;
mod fault;
mod meter;
pub mod net;
mod setup;

#[cfg(test)]
mod observations;

pub use engine::run;
pub use fault::{Fault, FaultKind};
pub use meter::{METRICS, Socket, Trace};
pub use setup::{Cluster, FileSystem, Metadata, Workload};

/// One experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// The machines and their file system.
    pub cluster: Cluster,
    /// What all clients run.
    pub workload: Workload,
    /// What is injected; nothing is the control. At most one network hog at a time.
    pub faults: Vec<Fault>,
    /// Chance of this run; the cluster's hardware has its own seed.
    pub seed: u64,
    /// Scales the work: 1 runs about 600 s without a fault.
    pub scale: f64,
}

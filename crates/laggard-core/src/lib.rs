//! Peer comparison and diagnosis of storage components.
//!
//! Pure: no clock, no files, no network, no logging. Samples in time order go in, verdicts come out.
//!
//! - [`model`]: metrics, host ranges, topology, peer groups.
//! - [`compare`]: one file per method; each turns a window of smoothed samples into one score per component.
//! - [`grid`]: slots, windows, and the samples of a group in one window.
//! - [`diagnose`]: thresholds, rules, persistence, root cause and localisation, as one incremental operator.
//! - [`cost`]: what work costs a disk, and the time that a device spends in service.
//! - [`fsu`]: how busy the disks really are, from the sizes of their transactions.

pub mod compare;
pub mod cost;
pub mod diagnose;
pub mod fsu;
pub mod grid;
pub mod ids;
pub mod model;
pub mod stats;

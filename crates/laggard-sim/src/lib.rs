//! Synthetic parallel file systems whose faults are known.
//!
//! [`mod@bench`] is FAST'10's test bench: an event simulation of clients, TCP connections and disks in which a request waits
//! for its slowest stripe. [`production`] is LISA'13's machine room: a flow simulation of LUNs behind controllers and
//! servers over days. Both are pure and seeded: the same seed gives the same bytes. Where each number comes from is in
//! `docs/simulator.md`.

pub mod bench;
pub mod chance;
pub mod production;

//! What is observed: metrics of components, the topology that joins them, the groups that should behave alike.

pub mod groups;
pub mod hosts;
pub mod metric;
pub mod topology;

pub use groups::{Attachment, Component, Kind, Part, PeerGroup, Roster};
pub use metric::Metric;
pub use topology::{Topology, TopologyError};

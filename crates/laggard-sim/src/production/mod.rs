//! LISA'13's machine room: 128 file servers, 16 storage arrays with two controllers each, 1152 LUNs, each attached to eight
//! servers in an order of priority, in an old and a new generation.
//!
//! A flow simulation in slots. Jobs come and go ([`load`]) and stripe their bursts over all LUNs; a burst goes as fast as the
//! busiest LUN lets it. A LUN is a queue whose service time its hardware, its history of small mishaps and the
//! injected [`Incident`]s set ([`incident`]); requests go through the first server that can reach it. What the
//! servers record, with the samples that are lost on the way, is a [`Slot`] ([`engine`]).

mod catalogue;
mod engine;
mod incident;
mod load;
mod site;

pub use catalogue::{CATALOGUE, Entry};
pub use engine::{METRICS, Mishap, Production, Reading, Slot};
pub use incident::{Happening, Incident};
pub use load::Level;
pub use site::{Attachment, LUNS, LUNS_PER_ARRAY, PRIORITIES, SERVERS, Site};

#[cfg(test)]
mod tests;

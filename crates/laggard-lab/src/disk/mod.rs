//! An emulated disk: a file with a speed, under a loop device.
//!
//! `model` says how long a request takes, `serve` is the FUSE file that makes requests take that long, `control` is the socket
//! through which a running disk is asked to limp. One process and one FUSE mount per disk: what is slow must not hold up the
//! requests of another.

pub mod control;
pub mod model;
pub mod serve;

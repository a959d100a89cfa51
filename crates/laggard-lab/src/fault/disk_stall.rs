//! A neighbour on shared storage that is always served first: the server's requests wait, and next to none is answered.

use super::{Fault, Role, Server};
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;

/// See above.
pub const FAULT: Fault = Fault {
    name: "disk-stall",
    summary: "a neighbour starves the server's disk: nothing is answered",
    cause: Some(Cause::DiskStall),
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    Ok(vec![server.disk(r#"{"hidden_kib":512,"starve":true}"#)?])
}

//! Processes of the server that compute without end: eight threads.

use super::{Fault, Role, Server, work};
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;

/// See above.
pub const FAULT: Fault = Fault {
    name: "cpu-hog",
    summary: "processes of the server compute without end",
    cause: Some(Cause::CpuStarved),
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, _: &Server) -> Result<Vec<Step>, String> {
    Ok(vec![work("spin --threads 8")])
}

//! A disk that fails slowly: every request takes 40 ms longer.

use super::{Fault, Role, Server};
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;

/// See above.
pub const FAULT: Fault = Fault {
    name: "fail-slow",
    summary: "every request of the disk takes 40 ms longer",
    cause: Some(Cause::FailSlow),
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    Ok(vec![server.disk(r#"{"slow_ms":40}"#)?])
}

//! The server's process is killed.

use super::{Fault, Role, Server};
use crate::host::journal::Step;

/// See above.
pub const FAULT: Fault = Fault {
    name: "crash",
    summary: "the server's process is killed",
    cause: None,
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    let restart = server.afterwards(&server.start)?;
    Ok(vec![restart, Step::Command { run: server.stop.clone(), undo: Vec::new() }])
}

//! The server's process is there, and does nothing.

use super::{Fault, Role, Server};
use crate::host::journal::Step;

/// See above.
pub const FAULT: Fault = Fault {
    name: "hang",
    summary: "the server's process is there, and does nothing",
    cause: None,
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    let pid = server.pid()?;
    Ok(vec![Step::command(&format!("kill -STOP {pid}"), &format!("kill -CONT {pid}"))])
}

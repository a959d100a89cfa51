//! A process of the server holds nine tenths of its memory: its page cache has nowhere to be.

use super::{Fault, Role, Server, work};
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;

/// See above.
pub const FAULT: Fault = Fault {
    name: "memory-pressure",
    summary: "a process of the server holds most of its memory",
    cause: Some(Cause::MemoryPressure),
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    let groups = server.groups.iter().map(|folder| format!(" --group {}", folder.display()));
    Ok(vec![work(&format!("hold-memory --share 0.9{}", groups.collect::<String>()))])
}

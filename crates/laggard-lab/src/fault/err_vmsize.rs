//! HotDep'09: the server's process may have 300,000 kB of address space, and dies of the next allocation.

use super::{Fault, Role, Server};
use crate::host::journal::Step;

/// See above.
pub const FAULT: Fault = Fault {
    name: "err-vmsize",
    summary: "the server may have 300,000 kB of address space",
    cause: None,
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    server.limit("as", 300_000 << 10)
}

//! HotDep'09: the server's process may open fifty files; the client's read or write fails with EMFILE.

use super::{Fault, Role, Server};
use crate::host::journal::Step;

/// See above.
pub const FAULT: Fault = Fault {
    name: "err-files",
    summary: "the server may open 50 files",
    cause: None,
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    server.limit("nofile", 50)
}

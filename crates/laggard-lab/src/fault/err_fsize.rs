//! HotDep'09: no file of the server may grow beyond 8 MiB (the paper: 128 MB; files here are cut into smaller pieces); its process dies of SIGXFSZ, or its writes fail.

use super::{Fault, Role, Server};
use crate::host::journal::Step;

/// See above.
pub const FAULT: Fault = Fault {
    name: "err-fsize",
    summary: "no file of the server may grow beyond 8 MiB",
    cause: None,
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    server.limit("fsize", 8 << 20)
}

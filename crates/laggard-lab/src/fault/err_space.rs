//! HotDep'09: the server's disk is full but for a megabyte.

use super::{Fault, Role, Server};
use crate::host::journal::Step;

/// See above.
pub const FAULT: Fault = Fault {
    name: "err-space",
    summary: "the server's disk is full",
    cause: None,
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    server.needs("folder", &server.folder.display().to_string())?;
    let space = rustix::fs::statvfs(&server.folder)
        .map_err(|error| format!("{}: {error}", server.folder.display()))?;
    let free = (space.f_bavail * space.f_frsize).saturating_sub(1 << 20);
    let file = server.folder.join(".laggard-space").display().to_string();
    Ok(vec![Step::command(&format!("fallocate -l {free} {file}"), &format!("rm -f {file}"))])
}

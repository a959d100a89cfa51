//! HotDep'09: the server's disk has no inode left; whoever creates a file is told that there is no space.

use super::{Fault, Role, Server, myself};
use crate::host::journal::Step;

/// See above.
pub const FAULT: Fault = Fault {
    name: "err-inodes",
    summary: "the server has no inodes left",
    cause: None,
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    let folder = server.folder.join(".laggard-inodes").display().to_string();
    server.needs("folder", &server.folder.display().to_string())?;
    let fill = [&myself(), "work", "fill-inodes", &folder].map(String::from).to_vec();
    Ok(vec![Step::Command { run: fill, undo: ["rm", "-rf", &folder].map(String::from).to_vec() }])
}

//! FAST'10: a process of the server reads its disk, around the page cache and without end. Blocks are smaller than the paper's
//! 256 MB: an emulated disk serves in the order of arrival, and everybody would wait for a whole block.

use super::{Fault, Role, Server, work};
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;

/// See above.
pub const FAULT: Fault = Fault {
    name: "disk-hog",
    summary: "a process of the server reads its disk without end",
    cause: Some(Cause::DiskHog),
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    let device = server.needs("device", &server.device)?;
    Ok(vec![work(&format!("read-device --block-mib 1 {device}"))])
}

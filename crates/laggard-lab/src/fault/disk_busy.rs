//! FAST'10: somebody else reads from the same disk, in blocks of 512 KiB (the paper's disks were faster, and its blocks 1 MB),
//! through a door that the server's block layer does not count.

use super::{Fault, Role, Server};
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;

/// See above.
pub const FAULT: Fault = Fault {
    name: "disk-busy",
    summary: "somebody else reads from the same disk, unseen by the server, for half of its time",
    cause: Some(Cause::DiskBusy),
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    Ok(vec![server.disk(r#"{"hidden_kib":512}"#)?])
}

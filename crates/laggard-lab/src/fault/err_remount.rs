//! HotDep'09: after an error the kernel has made the server's file system read-only.

use super::{Fault, Role, Server};
use crate::host::journal::Step;

/// See above.
pub const FAULT: Fault = Fault {
    name: "err-remount",
    summary: "the server's file system is read-only after an error",
    cause: None,
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    let device = server.needs("device", &server.device)?.trim_start_matches("/dev/");
    let trigger = std::path::Path::new("/sys/fs/ext4").join(device).join("trigger_fs_error");
    if !trigger.exists() {
        return Err(format!("{}: {}: not an ext4 that can be made to fail", server.name, trigger.display()));
    }
    let fail = Step::File { path: trigger, content: "laggard-lab".into(), undo: String::new() };
    Ok(vec![server.afterwards(&server.remount)?, fail])
}

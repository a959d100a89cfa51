//! A link that goes down for a second, again and again.

use super::{Fault, Role, Server, work};
use crate::host::journal::Step;

/// See above.
pub const FAULT: Fault = Fault {
    name: "flapping-link",
    summary: "the link is down one second of five",
    cause: None,
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    let interface = server.needs("interface", &server.interface)?;
    let up = Step::command("true", &format!("ip link set {interface} up"));
    Ok(vec![up, work(&format!("flap --down-s 1 --up-s 4 {interface}"))])
}

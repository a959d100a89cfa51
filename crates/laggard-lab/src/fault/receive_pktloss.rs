//! FAST'10: the server loses five of a hundred packets that it receives.

use super::{Fault, Role, Server, lose};
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;

/// See above.
pub const FAULT: Fault = Fault {
    name: "receive-pktloss",
    summary: "the server loses 5 % of what it receives",
    cause: Some(Cause::PacketLoss),
    roles: &[Role::Server],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    let interface = server.needs("interface", &server.interface)?;
    Ok(vec![lose(&format!("INPUT -i {interface}"))])
}

//! FAST'10: every client loses five of a hundred packets that it receives from the server.

use super::{Fault, Role, Server, lose};
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;

/// See above.
pub const FAULT: Fault = Fault {
    name: "send-pktloss",
    summary: "every client loses 5 % of what the server sends",
    cause: Some(Cause::PacketLoss),
    roles: &[Role::Client],
    steps,
};

fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    let address = server.needs("address", &server.address)?;
    Ok(vec![lose(&format!("INPUT -s {address}"))])
}

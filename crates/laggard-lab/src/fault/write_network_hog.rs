//! FAST'10: a third party sends zeros to the server, as fast as it can.

use super::{Fault, HOG_PORT, Role, Server, work};
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;

/// See above.
pub const FAULT: Fault = Fault {
    name: "write-network-hog",
    summary: "a third party sends zeros to the server",
    cause: Some(Cause::NetworkHog),
    roles: &[Role::Server, Role::ThirdParty],
    steps,
};

fn steps(role: Role, server: &Server) -> Result<Vec<Step>, String> {
    Ok(vec![match role {
        Role::ThirdParty => work(&format!("pour {}:{HOG_PORT}", server.address)),
        _ => work(&format!("drain {}:{HOG_PORT}", server.address)),
    }])
}

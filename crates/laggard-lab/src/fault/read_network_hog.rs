//! FAST'10: the server sends zeros to a third party, as fast as it can.

use super::{Fault, HOG_PORT, Role, Server, work};
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;

/// See above.
pub const FAULT: Fault = Fault {
    name: "read-network-hog",
    summary: "the server sends zeros to a third party",
    cause: Some(Cause::NetworkHog),
    roles: &[Role::ThirdParty, Role::Server],
    steps,
};

fn steps(role: Role, server: &Server) -> Result<Vec<Step>, String> {
    let third_party = server.needs("third_party", server.third_party.as_deref().unwrap_or_default())?;
    Ok(vec![match role {
        Role::ThirdParty => work(&format!("drain {third_party}:{HOG_PORT}")),
        _ => work(&format!("pour {third_party}:{HOG_PORT}")),
    }])
}

//! An interface that loses large packets for a short while, again and again, and counts them: an overrun ring, a bad driver.

use super::{Fault, Role, Server, work};
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;

/// See above.
pub const FAULT: Fault = Fault {
    name: "nic-drops",
    summary: "the interface drops what it receives, 60 ms of each second",
    cause: Some(Cause::LinkErrors),
    roles: &[Role::Server],
    steps,
};

/// An interface drops what is larger than it may be, and counts it: its size is lowered for a moment.
fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    let interface = server.needs("interface", &server.interface)?;
    let path = format!("/sys/class/net/{interface}/mtu");
    let mtu = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let mtu: u32 = mtu.trim().parse().map_err(|_| format!("{path}: `{}` is no number", mtu.trim()))?;
    Ok(vec![
        Step::command("true", &format!("ip link set {interface} mtu {mtu}")),
        work(&format!("drop --for-ms 60 --every-ms 1000 --mtu {mtu} {interface}")),
    ])
}

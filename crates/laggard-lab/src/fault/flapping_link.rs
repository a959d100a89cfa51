//! A link that goes down for a second, again and again.

use super::{Fault, Role, Server, work};
use crate::host::journal::Step;

/// The netfilter chain that drops everything while the link is down.
const CHAIN: &str = "laggard-flap";

/// See above.
pub const FAULT: Fault = Fault {
    name: "flapping-link",
    summary: "the link is down one second of five",
    cause: None,
    roles: &[Role::Server],
    steps,
};

/// Packets are dropped both ways while it is down. An interface that is really taken down loses its routes and IPv6 addresses, and a
/// machine that is reached through it would not come back.
fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    let interface = server.needs("interface", &server.interface)?;
    let hook =
        |rule: String| Step::command(&format!("iptables -w -I {rule}"), &format!("iptables -w -D {rule}"));
    Ok(vec![
        Step::command(&format!("iptables -w -N {CHAIN}"), &format!("iptables -w -X {CHAIN}")),
        Step::command("true", &format!("iptables -w -F {CHAIN}")),
        hook(format!("INPUT -i {interface} -j {CHAIN}")),
        hook(format!("OUTPUT -o {interface} -j {CHAIN}")),
        work(&format!("flap --down-s 1 --up-s 4 {CHAIN}")),
    ])
}

//! A link that goes down for a second, again and again.

use super::{Fault, Role, Server, work};
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;

/// The netfilter chain that drops everything while the link is down.
const CHAIN: &str = "laggard-flap";

/// See above.
pub const FAULT: Fault = Fault {
    name: "flapping-link",
    summary: "the link is down one second of five",
    cause: Some(Cause::FlappingLink),
    roles: &[Role::Server],
    steps,
};

/// An interface that is really taken down loses its routes and IPv6 addresses, and a machine that is reached through it would not come
/// back: there, packets are dropped both ways in its place, and the link itself stays up.
fn steps(_: Role, server: &Server) -> Result<Vec<Step>, String> {
    let interface = server.needs("interface", &server.interface)?;
    if server.may_lose_link {
        return Ok(vec![
            Step::command("true", &format!("ip link set {interface} up")),
            work(&format!("flap-link --down-s 1 --up-s 4 {interface}")),
        ]);
    }
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

//! The network: a bridge in the keeper's namespace, and a namespace with a shaped link for each host.

use super::config::Link;
use super::layout::Layout;
use crate::host::command::{run, words};
use std::fs;
use std::path::Path;

/// The interface of every host.
pub const INTERFACE: &str = "eth0";

/// Makes the bridge.
pub fn bridge() -> Result<(), String> {
    words("ip link set lo up")?;
    words("ip link add switch type bridge")?;
    words("ip link set switch up").map(drop)
}

/// Makes one host's namespace and its link. The number keeps interface names short enough for the kernel.
pub fn host(layout: &Layout, name: &str, number: usize, address: &str, link: Link) -> Result<(), String> {
    let path = layout.namespace(name);
    fs::write(&path, "").map_err(|error| format!("{}: {error}", path.display()))?;
    words(&format!("unshare --net={} true", path.display()))?;
    let port = format!("port{number}");
    words(&format!("ip link add {port} type veth peer name {INTERFACE} netns {}", path.display()))?;
    words(&format!("ip link set {port} master switch up"))?;
    let inside = |line: &str| within(&path, line);
    inside("ip link set lo up")?;
    inside(&format!("ip address add {address}/24 dev {INTERFACE}"))?;
    inside(&format!("ip link set {INTERFACE} up"))?;
    // The usual default here, BBR, hides five lost packets of a hundred; what most sites run does not.
    inside("sysctl -q -w net.ipv4.tcp_congestion_control=reno")?;
    // Offloads pass super-packets: one lost would be forty lost.
    words(&format!("ethtool -K {port} tso off gso off gro off"))?;
    inside(&format!("ethtool -K {INTERFACE} tso off gso off gro off"))?;
    for line in shape(&port, link) {
        words(&line)?;
    }
    for line in shape(INTERFACE, link) {
        inside(&line)?;
    }
    Ok(())
}

fn shape(interface: &str, link: Link) -> [String; 3] {
    let rate = link.mbit_s;
    [
        format!("tc qdisc add dev {interface} root handle 1: htb default 1"),
        format!("tc class add dev {interface} parent 1: classid 1:1 htb rate {rate}mbit ceil {rate}mbit"),
        format!("tc qdisc add dev {interface} parent 1:1 pfifo limit {}", link.queue_packets),
    ]
}

/// Runs a command in a network namespace. Not `ip netns exec`, which makes a mount namespace that hides FUSE mounts.
pub fn within(namespace: &Path, line: &str) -> Result<String, String> {
    let mut argv = vec!["nsenter".to_string(), format!("--net={}", namespace.display()), "--".into()];
    argv.extend(line.split_whitespace().map(String::from));
    run(&argv)
}

//! Network interfaces: /proc/net/dev; how often each link went up or down: netlink; how fast it is: /sys/class/net.
//!
//! Cost: one read of /proc/net/dev and one question to the kernel. The speed is asked of the driver, which some answer slowly: once
//! a minute.

use super::netlink::{Netlink, attribute, u32_at};
use super::{ProcFile, Source, matches, number};
use crate::config::NetConfig;
use laggard_activity::kind::{Kind, NET};
use laggard_activity::{ABSENT, Table};
use std::path::{Path, PathBuf};

/// The interfaces of a host.
pub struct Interfaces {
    dev: ProcFile,
    class: PathBuf,
    config: NetConfig,
    /// The interfaces seen last, and those of them that are recorded.
    seen: Vec<String>,
    links: Vec<Option<Link>>,
    /// Samples until the speeds are asked for again.
    until_speeds: u32,
    /// Asks for links; a fake machine has none but its files.
    netlink: Option<Netlink>,
}

/// Samples between two questions for the speed.
const SPEED_EVERY: u32 = 60;

/// The link of an interface that is recorded.
struct Link {
    address: ProcFile,
    speed: ProcFile,
    speed_mbit: i64,
}

impl Link {
    fn new(class: &Path, name: &str) -> Link {
        let file = |field: &str| ProcFile::new(class, &format!("{name}/{field}"));
        Link { address: file("address"), speed: file("speed"), speed_mbit: ABSENT }
    }

    /// A link that is down has no speed: the kernel says -1, or refuses. In a network namespace of its own, a process may see the
    /// files of another one's interface of the same name: their address tells.
    fn ask_speed(&mut self, hardware_address: Option<&str>) {
        let is_same = |seen: &str| hardware_address.is_some_and(|known| known == seen.trim());
        let is_ours = self.address.read().is_ok_and(is_same);
        self.speed_mbit = ABSENT;
        if is_ours {
            self.ask_speed_of_any();
        }
    }

    fn ask_speed_of_any(&mut self) {
        let known = self.speed.read().ok().and_then(|text| number(text.trim()));
        self.speed_mbit = known.filter(|speed| *speed > 0).unwrap_or(ABSENT);
    }
}

/// What the kernel says of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    name: String,
    hardware_address: Option<String>,
    carrier_changes: i64,
}

// Numbers of linux/rtnetlink.h and linux/if_link.h.
const GET_LINK: u16 = 18;
const LINK_MESSAGE: usize = 16;
const HARDWARE_ADDRESS: u16 = 1;
const NAME: u16 = 3;
const CARRIER_CHANGES: u16 = 35;

fn told(body: &[u8]) -> Option<Told> {
    let attributes = body.get(LINK_MESSAGE..)?;
    let name = attribute(attributes, NAME)?;
    let name = std::str::from_utf8(name.strip_suffix(&[0]).unwrap_or(name)).ok()?;
    let changes = attribute(attributes, CARRIER_CHANGES).filter(|value| value.len() == 4);
    let hexadecimal = |bytes: &[u8]| {
        let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        pairs.join(":")
    };
    Some(Told {
        name: name.to_string(),
        hardware_address: attribute(attributes, HARDWARE_ADDRESS).map(hexadecimal),
        carrier_changes: changes.map_or(ABSENT, |value| i64::from(u32_at(value, 0))),
    })
}

impl Interfaces {
    /// The interfaces below a root.
    pub fn new(root: &Path, config: &NetConfig) -> Interfaces {
        // Of this process's own network namespace: /proc/net is a link to it.
        let (dev, class) = (ProcFile::new(root, "proc/net/dev"), root.join("sys/class/net"));
        Interfaces {
            dev,
            class,
            config: config.clone(),
            seen: Vec::new(),
            links: Vec::new(),
            until_speeds: 0,
            netlink: (root == Path::new("/")).then(|| Netlink::new(None)),
        }
    }

    /// By default those with hardware behind them: a bond or a VLAN would count their bytes again. Where there are none, as in
    /// a network namespace, all but the loopback.
    fn is_recorded(&self, name: &str, any_hardware: bool) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        let usual = name != "lo" && (!any_hardware || self.has_hardware(name));
        !any(&self.config.exclude) && (any(&self.config.include) || self.config.include.is_empty() && usual)
    }

    fn has_hardware(&self, name: &str) -> bool {
        self.class.join(name).join("device").exists()
    }
}

impl Interfaces {
    /// What the kernel says of all links; nothing where it is not asked, or does not answer.
    fn told(&mut self) -> Vec<Told> {
        let mut all = Vec::new();
        if let Some(netlink) = &mut self.netlink {
            let _ = netlink.dump(GET_LINK, &[0; LINK_MESSAGE], &mut |body| all.extend(told(body)));
        }
        all
    }
}

impl Source for Interfaces {
    fn name(&self) -> &'static str {
        "net"
    }

    fn kinds(&self) -> Vec<&'static Kind> {
        vec![&NET]
    }

    fn read(&mut self) -> Result<Vec<Table>, String> {
        let text = self.dev.read()?.to_string();
        // Two lines of headings; a name may touch its first number: `eth0:123`.
        let lines = || text.lines().skip(2).filter_map(|line| line.split_once(':'));
        let all: Vec<&str> = lines().map(|(name, _)| name.trim()).collect();
        if all != self.seen {
            let any_hardware = all.iter().any(|name| self.has_hardware(name));
            let link =
                |name: &&str| self.is_recorded(name, any_hardware).then(|| Link::new(&self.class, name));
            self.links = all.iter().map(link).collect();
            self.seen = all.iter().map(ToString::to_string).collect();
            self.until_speeds = 0;
        }
        let is_fake = self.netlink.is_none();
        let told = self.told();
        let of = |name: &str| told.iter().find(|told| told.name == name);
        if self.until_speeds == 0 {
            for (name, link) in all.iter().zip(&mut self.links) {
                let hardware_address = of(name).and_then(|told| told.hardware_address.as_deref());
                // A fake machine has only its files.
                link.iter_mut().for_each(|link| match is_fake {
                    true => link.ask_speed_of_any(),
                    false => link.ask_speed(hardware_address),
                });
            }
            self.until_speeds = SPEED_EVERY;
        }
        self.until_speeds -= 1;
        let mut table = Table::new(&NET);
        for ((name, numbers), link) in lines().zip(&mut self.links) {
            let Some(link) = link else { continue };
            let values: Vec<i64> = numbers.split_ascii_whitespace().filter_map(number).collect();
            let &[
                rx_bytes,
                rx_packets,
                rx_errors,
                rx_dropped,
                _,
                _,
                _,
                _,
                tx_bytes,
                tx_packets,
                tx_errors,
                tx_dropped,
                ..,
            ] = values.as_slice()
            else {
                continue;
            };
            let row = [
                rx_bytes,
                rx_packets,
                rx_errors,
                rx_dropped,
                tx_bytes,
                tx_packets,
                tx_errors,
                tx_dropped,
                of(name.trim()).map_or(ABSENT, |told| told.carrier_changes),
                link.speed_mbit,
            ];
            table.push(name.trim(), &row);
        }
        Ok(vec![table])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0
  eth0:123456 70 1 2 0 0 0 0 654321 60 3 4 0 0 0 0
   ib0: 1 2 3
";

    #[test]
    fn interfaces_but_not_the_loopback() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/net")).unwrap();
        std::fs::write(root.path().join("proc/net/dev"), DEV).unwrap();
        let table = Interfaces::new(root.path(), &NetConfig::default()).read().unwrap().remove(0);
        assert_eq!(table.names.len(), 1);
        let a = ABSENT;
        let row = [123_456, 70, 1, 2, 654_321, 60, 3, 4, a, a];
        assert_eq!((&*table.names[0], table.row(0)), ("eth0", &row[..]));
        let all = NetConfig { include: vec!["*".into()], ..NetConfig::default() };
        assert_eq!(Interfaces::new(root.path(), &all).read().unwrap().remove(0).names.len(), 2);
        let link = |file: &str, text: &str| {
            let folder = root.path().join("sys/class/net/eth0");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(file), text).unwrap();
        };
        link("address", "02:00:00:00:00:01\n");
        link("speed", "10000\n");
        let mut linked = Interfaces::new(root.path(), &NetConfig::default());
        assert_eq!(linked.read().unwrap().remove(0).row(0)[8..], [ABSENT, 10_000]);
        link("speed", "-1\n");
        assert_eq!(linked.read().unwrap().remove(0).row(0)[9], 10_000, "speeds once a minute");
        let down = (1..SPEED_EVERY).map(|_| linked.read().unwrap().remove(0).row(0)[9]).last();
        assert_eq!(down, Some(ABSENT), "a link that is down has none");
        link("speed", "10000\n");
        let mut link = Link::new(&root.path().join("sys/class/net"), "eth0");
        let speed = |link: &mut Link, address: &str| {
            link.ask_speed(Some(address));
            link.speed_mbit
        };
        assert_eq!(speed(&mut link, "02:00:00:00:00:01"), 10_000);
        assert_eq!(speed(&mut link, "02:00:00:00:00:02"), ABSENT, "the interface of another namespace");
        std::fs::create_dir_all(root.path().join("sys/class/net/ib0/device")).unwrap();
        let mut hardware = Interfaces::new(root.path(), &NetConfig::default());
        assert_eq!(
            hardware.read().unwrap().remove(0).names.len(),
            0,
            "eth0 is a bond over ib0, whose line is short"
        );
    }

    #[test]
    fn the_kernel_tells_of_the_loopback() {
        let mut here = Interfaces::new(Path::new("/"), &NetConfig::default());
        let told = here.told();
        let loopback = told.iter().find(|told| told.name == "lo").expect("every machine has it");
        assert_eq!(loopback.hardware_address.as_deref(), Some("00:00:00:00:00:00"));
        assert!(loopback.carrier_changes >= 0);
    }
}

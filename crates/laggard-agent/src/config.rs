//! The configuration: TOML, every key optional, unknown keys refused with the nearest known one.

use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// The configuration that comes with the agent: every key with its default and what it means.
pub const EXAMPLE: &str = include_str!("../agent.toml");

/// Everything that can be configured; `agent.toml` explains each key.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "agent.toml documents each key")]
pub struct Config {
    pub directory: PathBuf,
    pub name: String,
    pub interval_s: u32,
    pub root: PathBuf,
    pub retention: Retention,
    pub disk: DiskConfig,
    pub block: BlockConfig,
    pub net: NetConfig,
    pub tcp: Switch,
    pub peer: PeerConfig,
    pub lustre: LustreConfig,
    pub host: HostConfig,
    pub expose: Expose,
}

/// What is kept, and how much room is left to others.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "agent.toml documents each key")]
pub struct Retention {
    pub days: u32,
    pub size_mib: u64,
    pub keep_free_mib: u64,
}

/// A source without other settings.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "agent.toml documents each key")]
pub struct Switch {
    pub enabled: bool,
}

/// Requests by size; off unless it is asked for: it puts a program into the kernel.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "agent.toml documents each key")]
pub struct BlockConfig {
    pub enabled: bool,
}

/// Which names devices have.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "agent.toml documents each value")]
pub enum Naming {
    Stable,
    Kernel,
}

/// Block devices.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "agent.toml documents each key")]
pub struct DiskConfig {
    pub enabled: bool,
    pub names: Naming,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
}

/// Network interfaces.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "agent.toml documents each key")]
pub struct NetConfig {
    pub enabled: bool,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
}

/// Sockets by remote host.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "agent.toml documents each key")]
pub struct PeerConfig {
    pub enabled: bool,
    pub ports: Vec<String>,
    pub addresses: Vec<String>,
}

/// Lustre servers.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "agent.toml documents each key")]
pub struct LustreConfig {
    pub enabled: Option<bool>,
}

/// CPU, memory and pressure.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "agent.toml documents each key")]
pub struct HostConfig {
    pub enabled: bool,
    pub cgroup: Vec<PathBuf>,
}

/// Prometheus exposition.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "agent.toml documents each key")]
pub struct Expose {
    pub listen: Option<SocketAddr>,
    pub token_file: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            directory: "/var/lib/laggard".into(),
            name: String::new(),
            interval_s: 1,
            root: "/".into(),
            retention: Retention::default(),
            disk: DiskConfig::default(),
            block: BlockConfig::default(),
            net: NetConfig::default(),
            tcp: Switch::default(),
            peer: PeerConfig::default(),
            lustre: LustreConfig::default(),
            host: HostConfig::default(),
            expose: Expose::default(),
        }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Retention { days: 31, size_mib: 4096, keep_free_mib: 512 }
    }
}

impl Default for HostConfig {
    fn default() -> Self {
        HostConfig { enabled: true, cgroup: Vec::new() }
    }
}

impl Default for Switch {
    fn default() -> Self {
        Switch { enabled: true }
    }
}

impl Default for DiskConfig {
    fn default() -> Self {
        DiskConfig { enabled: true, names: Naming::Stable, include: Vec::new(), exclude: Vec::new() }
    }
}

impl Default for NetConfig {
    fn default() -> Self {
        NetConfig { enabled: true, include: Vec::new(), exclude: Vec::new() }
    }
}

impl Default for PeerConfig {
    fn default() -> Self {
        // Lustre, GPFS, PVFS, Ceph, BeeGFS, MooseFS, Gluster.
        let ports = ["988", "1191", "3334", "6789", "6800-7300", "8003-8008", "9419-9422", "24007-24008"];
        PeerConfig { enabled: true, ports: ports.map(String::from).to_vec(), addresses: Vec::new() }
    }
}

impl PeerConfig {
    /// Whether any socket can be selected.
    pub fn enabled(&self) -> bool {
        self.enabled && !(self.ports.is_empty() && self.addresses.is_empty())
    }

    /// Ready for asking.
    pub fn selection(&self) -> Selection {
        Selection {
            ports: self.ports.iter().filter_map(|text| parse_ports(text)).collect(),
            networks: self.addresses.iter().filter_map(|text| parse_network(text)).collect(),
        }
    }
}

/// Which sockets count.
#[derive(Debug, Clone)]
pub struct Selection {
    ports: Vec<(u16, u16)>,
    networks: Vec<(IpAddr, u8)>,
}

impl Selection {
    /// For a selected socket: whether this host is the one that serves. The file system's port tells; of sockets selected by
    /// address alone, the lower port is the server's.
    pub fn we_serve(&self, local_port: u16, remote_port: u16, remote: IpAddr) -> Option<bool> {
        let by_port = |port: u16| self.ports.iter().any(|(from, to)| (*from..=*to).contains(&port));
        if !self.networks.is_empty() && !self.networks.iter().any(|network| contains(*network, remote)) {
            return None;
        }
        match (by_port(local_port), by_port(remote_port)) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => self.ports.is_empty().then_some(local_port < remote_port),
        }
    }
}

impl LustreConfig {
    /// Unless it is said otherwise: a server may be mounted long after the agent has started.
    pub fn enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }
}

/// `988` or `6800-7300`.
fn parse_ports(text: &str) -> Option<(u16, u16)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    Some((from.trim().parse().ok()?, to.trim().parse().ok()?)).filter(|(from, to)| from <= to)
}

/// `10.0.0.7` or `10.0.0.0/8`.
fn parse_network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = address.trim().parse().ok()?;
    let all = if address.is_ipv4() { 32 } else { 128 };
    Some((address, bits.unwrap_or(all))).filter(|(_, bits)| *bits <= all)
}

fn contains(network: (IpAddr, u8), address: IpAddr) -> bool {
    let same = |a: u128, b: u128, width: u32, bits: u8| {
        let shift = width - u32::from(bits);
        shift >= width || a >> shift == b >> shift
    };
    match (network, address) {
        ((IpAddr::V4(known), bits), IpAddr::V4(address)) => {
            same(u128::from(u32::from(known)), u128::from(u32::from(address)), 32, bits)
        }
        ((IpAddr::V6(known), bits), IpAddr::V6(address)) => same(known.into(), address.into(), 128, bits),
        _ => false,
    }
}

impl Config {
    /// Reads a file; says file, line and key of what is wrong.
    pub fn load(path: &Path) -> Result<Config, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Config::parse(&text).map_err(|message| format!("{}: {message}", path.display()))
    }

    /// Reads a text.
    pub fn parse(text: &str) -> Result<Config, String> {
        let mut config: Config = toml::from_str(text).map_err(|error| explain(text, &error))?;
        if config.name.is_empty() {
            let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
            config.name = name.split('.').next().unwrap_or("host").to_string();
        }
        config.validate()?;
        Ok(config)
    }

    fn validate(&self) -> Result<(), String> {
        let wrong = |key: &str, value: &str, right: &str| Err(format!("{key}: `{value}` is not {right}"));
        if !(1..=3600).contains(&self.interval_s) {
            return wrong("interval_s", &self.interval_s.to_string(), "1 to 3600 seconds");
        }
        if !self.directory.is_absolute() {
            return wrong("directory", &self.directory.to_string_lossy(), "an absolute path");
        }
        if let Some(bad) = self.peer.ports.iter().find(|text| parse_ports(text).is_none()) {
            return wrong("peer.ports", bad, "a port or a range such as 6800-7300");
        }
        if let Some(bad) = self.peer.addresses.iter().find(|text| parse_network(text).is_none()) {
            return wrong("peer.addresses", bad, "an address or a network such as 10.0.0.0/8");
        }
        if self.retention.days == 0 || self.retention.size_mib == 0 {
            return Err("retention: days and size_mib must be at least 1".into());
        }
        match (&self.expose.listen, &self.expose.token_file) {
            (Some(listen), None) if !listen.ip().is_loopback() => Err(format!(
                "expose.listen: {listen} can be reached from other hosts: set expose.token_file too, or listen on 127.0.0.1"
            )),
            _ => Ok(()),
        }
    }

    /// The kinds that its files hold.
    pub fn kinds(&self) -> Vec<&'static laggard_activity::kind::Kind> {
        let sources = crate::source::sources(self);
        let yields = |kind: &&'static laggard_activity::kind::Kind| {
            kind.id == laggard_activity::kind::KindId::Gap
                || sources.iter().flat_map(|source| source.kinds()).any(|known| known.id == kind.id)
        };
        laggard_activity::kind::KINDS.iter().copied().filter(yields).collect()
    }
}

/// serde's message with the line, and for an unknown key the nearest known one.
fn explain(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let message = error.message();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.as_slice() {
        [unknown, known @ ..] if message.starts_with("unknown field") => {
            let nearest = known.iter().min_by_key(|key| strsim::damerau_levenshtein(key, unknown));
            let hint = nearest.map_or(String::new(), |nearest| format!(", did you mean `{nearest}`?"));
            format!("line {line}: unknown key `{unknown}`{hint}")
        }
        _ => format!("line {line}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_the_default() {
        let default = Config { name: Config::parse("").unwrap().name, ..Config::default() };
        assert_eq!(Config::parse(EXAMPLE).unwrap(), default);
        let all_on: String = EXAMPLE
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).unwrap_or(line))
            .map(|line| format!("{line}\n"))
            .collect();
        assert!(
            Config::parse(&all_on).is_ok(),
            "also with what is commented out: {:?}",
            Config::parse(&all_on)
        );
    }

    #[test]
    fn wrong_settings_are_refused_with_place_and_remedy() {
        let said = |text: &str| Config::parse(text).unwrap_err();
        assert_eq!(
            said("interval_s = 1\n[disk]\nexlude = []\n"),
            "line 3: unknown key `exlude`, did you mean `exclude`?"
        );
        assert!(said("interval_s = 0").contains("1 to 3600"));
        assert!(said("directory = \"here\"").contains("absolute"));
        assert!(said("[peer]\nports = [\"9-1\"]").contains("a range such as"));
        assert!(said("[peer]\naddresses = [\"10.0.0.0/64\"]").contains("a network such as"));
        assert!(said("[expose]\nlisten = \"0.0.0.0:9709\"").contains("token_file"));
        assert!(said("interval_s = \"x\"").contains("line 1"));
        assert!(Config::parse("[expose]\nlisten = \"[::1]:9709\"").is_ok());
    }

    #[test]
    fn sockets_are_selected_by_port_and_address() {
        let here: IpAddr = "10.1.2.3".parse().unwrap();
        let lustre = PeerConfig::default().selection();
        assert_eq!(lustre.we_serve(988, 1021, here), Some(true));
        assert_eq!(lustre.we_serve(1021, 988, here), Some(false));
        assert_eq!(lustre.we_serve(22, 50_000, here), None);
        let net = PeerConfig {
            ports: Vec::new(),
            addresses: vec!["10.1.0.0/16".into(), "fd00::/8".into()],
            enabled: true,
        };
        let net = net.selection();
        assert_eq!(net.we_serve(24_007, 50_000, here), Some(true));
        assert_eq!(net.we_serve(50_000, 24_007, "fd12::1".parse().unwrap()), Some(false));
        assert_eq!(net.we_serve(50_000, 24_007, "10.2.0.1".parse().unwrap()), None);
    }
}

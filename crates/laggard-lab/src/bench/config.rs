//! What the bench is made of: a TOML file, every value with a default.

use super::{FILE_SYSTEMS, FileSystem};
use crate::disk::model::Shape;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The bench's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Which file system: gluster or moosefs.
    pub file_system: String,
    /// Storage servers.
    pub servers: usize,
    /// Clients.
    pub clients: usize,
    /// The disk of each server.
    pub disk: Shape,
    /// The link of each machine.
    pub link: Link,
    /// The rest of each server.
    pub server: Machine,
}

/// A shaped link, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Link {
    /// Megabits per second.
    pub mbit_s: u32,
    /// Packets that wait before more are dropped.
    pub queue_packets: u32,
}

/// What a server has beside disk and link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// Memory of all its processes and of its page cache.
    pub memory_mib: u64,
    /// Processor time, in hundredths of a core.
    pub cpu_percent: u32,
    /// Written pages that may wait for the disk; else writes of a whole run would.
    pub dirty_kib: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            file_system: "gluster".into(),
            servers: 9,
            clients: 2,
            disk: Shape::default(),
            link: Link::default(),
            server: Machine::default(),
        }
    }
}

impl Default for Link {
    fn default() -> Link {
        Link { mbit_s: 100, queue_packets: 200 }
    }
}

impl Default for Machine {
    fn default() -> Machine {
        Machine { memory_mib: 112, cpu_percent: 100, dirty_kib: 1024 }
    }
}

impl Config {
    /// From a file, or the defaults.
    pub fn load(path: Option<&Path>) -> Result<Config, String> {
        let Some(path) = path else { return Ok(Config::default()) };
        let said = |message: String| format!("{}: {message}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| said(error.to_string()))?;
        let config: Config = toml::from_str(&text).map_err(|error| said(error.to_string()))?;
        config.check().map_err(said)?;
        Ok(config)
    }

    /// The file system that is asked for.
    pub fn system(&self) -> Result<&'static dyn FileSystem, String> {
        let names = || FILE_SYSTEMS.map(FileSystem::name).join(", ");
        let found = FILE_SYSTEMS.into_iter().find(|system| system.name() == self.file_system);
        found.ok_or_else(|| format!("file_system = \"{}\": there are {}", self.file_system, names()))
    }

    /// What all disks hold when they are full: their contents are in memory.
    pub fn disks_mib(&self) -> u64 {
        self.disk.size_mib * self.servers as u64
    }

    /// Says what cannot be.
    pub fn check(&self) -> Result<(), String> {
        let positive = |name: &str, value: f64| match value {
            value if value > 0.0 && value.is_finite() => Ok(()),
            _ => Err(format!("{name} = {value}: must be above 0")),
        };
        if !(3..=40).contains(&self.servers) {
            return Err(format!("servers = {}: 3 to 40; fewer are no peers", self.servers));
        }
        if !(1..=40).contains(&self.clients) {
            return Err(format!("clients = {}: 1 to 40", self.clients));
        }
        positive("disk.speed_mb_s", self.disk.speed_mb_s)?;
        positive("link.mbit_s", self.link.mbit_s.into())?;
        positive("server.cpu_percent", self.server.cpu_percent.into())?;
        if self.disk.size_mib < 64 || self.server.memory_mib < 64 {
            return Err("disk.size_mib and server.memory_mib: at least 64".into());
        }
        if !(self.disk.seek_ms >= 0.0 && self.disk.overhead_ms >= 0.0) {
            return Err("disk.seek_ms and disk.overhead_ms: not below 0".into());
        }
        self.system()?.check(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_can_be_built_and_nonsense_is_refused_with_its_name() {
        assert_eq!(Config::default().check(), Ok(()));
        let refusal = |text: &str| {
            toml::from_str::<Config>(text)
                .map_err(|error| error.to_string())
                .and_then(|config| config.check())
        };
        assert!(refusal("servers = 8").unwrap_err().contains("power of two"));
        assert!(refusal("servers = 2").unwrap_err().contains("peers"));
        assert!(refusal("file_system = \"lustre\"").unwrap_err().contains("gluster, moosefs"));
        assert!(refusal("[disk]\nspeed_mb_s = 0").unwrap_err().contains("disk.speed_mb_s"));
        assert!(refusal("[disk]\nspeed = 3").unwrap_err().contains("speed_mb_s"), "what it may be called");
        assert_eq!(refusal("file_system = \"moosefs\"\nservers = 4\n[server]\nmemory_mib = 1024"), Ok(()));
    }
}

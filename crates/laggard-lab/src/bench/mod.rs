//! The bench: a real parallel file system on one machine.
//!
//! Storage servers, clients and a third party are network namespaces; a server also has an emulated disk, a shaped link, and its
//! own memory and processor (cgroups). All of it lives in one tree of processes under a *keeper*, the first process of a PID,
//! mount and network namespace of its own: when it ends, whatever ended it, the kernel ends the rest and takes mounts, loop
//! devices, interfaces and disk contents away. Only cgroups and an empty folder stay, which `clean` removes.

pub mod cgroup;
pub mod config;
pub mod disks;
pub mod gluster;
pub mod keeper;
pub mod layout;
pub mod moosefs;
pub mod network;
pub mod state;

use std::path::Path;

pub use config::Config;
pub use layout::Layout;
pub use state::Bench;

/// A parallel file system under test: what has to run where.
pub trait FileSystem: Sync {
    /// Its name in the configuration.
    fn name(&self) -> &'static str;
    /// Debian packages.
    fn packages(&self) -> &'static [&'static str];
    /// The port of its storage servers, for the collector.
    fn port(&self) -> u16;
    /// Whether it can be made of so many servers; why not.
    fn check(&self, config: &Config) -> Result<(), String>;
    /// Writes the configuration files.
    fn prepare(&self, config: &Config, layout: &Layout) -> Result<(), String>;
    /// Servers that hold no data; they start before the others.
    fn services(&self, layout: &Layout) -> Vec<Service>;
    /// The process of the storage server of this index; in the foreground.
    fn server(&self, index: usize, layout: &Layout) -> Vec<String>;
    /// Whether a client that has mounted it sees all servers.
    fn is_whole(&self, config: &Config, mountpoint: &Path) -> bool;
    /// The process that mounts the file system for a client; in the foreground.
    fn client(&self, index: usize, layout: &Layout) -> Vec<String>;
}

/// A server that holds no data.
pub struct Service {
    /// Its host.
    pub host: String,
    /// Its process, in the foreground.
    pub argv: Vec<String>,
    /// The port that clients use; they come when it is listened to.
    pub port: u16,
}

/// Every file system under test.
pub const FILE_SYSTEMS: [&dyn FileSystem; 2] = [&gluster::Gluster, &moosefs::MooseFs];

//! Where everything of a bench is: names, addresses, paths.

use std::path::{Path, PathBuf};

/// Where the folders of benches are.
pub const RUN: &str = "/run/laggard-lab";

/// Paths of one bench. Inside its mount namespace, `root` is a file system in memory; outside, it is an empty folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The bench's name.
    pub name: String,
    /// Its folder.
    pub root: PathBuf,
}

/// The third party: a machine of the network that has no part in the file system.
pub const THIRD_PARTY: &str = "other";
/// A server without data, for file systems that have one.
pub const MASTER: &str = "mds1";

impl Layout {
    /// Of a bench of this name.
    pub fn new(name: &str) -> Layout {
        Layout { name: name.into(), root: Path::new(RUN).join(name) }
    }

    /// What its processes say.
    pub fn log(&self, what: &str) -> PathBuf {
        self.root.join("log").join(format!("{what}.log"))
    }

    /// A host's network namespace.
    pub fn namespace(&self, host: &str) -> PathBuf {
        self.root.join("net").join(host)
    }

    /// Where a server's disk is mounted.
    pub fn brick(&self, server: &str) -> PathBuf {
        self.root.join("brick").join(server)
    }

    /// Where a client sees the file system.
    pub fn mountpoint(&self, client: &str) -> PathBuf {
        self.root.join("client").join(client)
    }

    /// The number of a server's process.
    pub fn pid_file(&self, server: &str) -> PathBuf {
        self.root.join("pid").join(server)
    }

    /// A file of the disk emulator: `img`, `socket`; or its mountpoint, without extension.
    pub fn disk(&self, server: &str, extension: &str) -> PathBuf {
        self.root.join("disk").join(server).with_extension(extension)
    }

    /// Name of the file under a server's loop device: all that can be seen of it from outside of the bench.
    pub fn disk_file(&self, server: &str) -> String {
        format!("laggard-lab_{}_{server}", self.name)
    }

    /// Configuration of the file system.
    pub fn conf(&self, file: &str) -> PathBuf {
        self.root.join("conf").join(file)
    }

    /// The socket of the keeper.
    pub fn keeper(&self) -> PathBuf {
        self.root.join("keeper.socket")
    }

    /// Journals of the hands.
    pub fn journals(&self) -> PathBuf {
        self.root.join("undo")
    }
}

/// Name of a storage server.
pub fn server(index: usize) -> String {
    format!("oss{}", index + 1)
}

/// Name of a client.
pub fn client(index: usize) -> String {
    format!("client{}", index + 1)
}

/// Addresses; every bench has its own network.
pub fn server_address(index: usize) -> String {
    format!("10.77.0.{}", 11 + index)
}

/// Of a client.
pub fn client_address(index: usize) -> String {
    format!("10.77.0.{}", 101 + index)
}

/// Of the third party.
pub const THIRD_PARTY_ADDRESS: &str = "10.77.0.201";
/// Of the server without data.
pub const MASTER_ADDRESS: &str = "10.77.0.202";

/// Every host and its address.
pub fn hosts(servers: usize, clients: usize) -> Vec<(String, String)> {
    let mut hosts: Vec<_> = (0..servers).map(|index| (server(index), server_address(index))).collect();
    hosts.extend((0..clients).map(|index| (client(index), client_address(index))));
    hosts.push((THIRD_PARTY.into(), THIRD_PARTY_ADDRESS.into()));
    hosts.push((MASTER.into(), MASTER_ADDRESS.into()));
    hosts
}

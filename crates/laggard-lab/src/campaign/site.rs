//! The machines of an experiment: those of a bench, or of somebody's test cluster.

use crate::bench::Bench;
use crate::bench::layout;
use crate::fault::Server;
use crate::host::reach::Host;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Machines, and how to reach them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// The storage servers.
    pub servers: Vec<Reached<Server>>,
    /// The clients.
    pub clients: Vec<Reached<Client>>,
    /// A machine without a part in the file system.
    pub third_party: Option<Reached<Client>>,
    /// Ports of the file service, for the collector.
    #[serde(default)]
    pub ports: Vec<u16>,
    /// Whether the machines see the folder of the campaign; else the collectors' files are fetched when a run is over.
    #[serde(default)]
    pub shares_folder: bool,
    /// Whether it is a bench of this machine, with this program on it.
    #[serde(skip)]
    pub is_bench: bool,
}

/// A machine and the command that starts a hand there: `["ssh", "root@oss1", "laggard-lab", "hand"]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reached<T> {
    /// The command.
    pub reach: Vec<String>,
    /// The machine.
    #[serde(flatten)]
    pub machine: T,
}

/// A client, or a third party.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Client {
    /// Its name in recordings.
    pub name: String,
    /// A folder of its own in the file system.
    #[serde(default)]
    pub folder: PathBuf,
}

impl<T> Reached<T> {
    /// Starts a hand there.
    pub fn hand(&self, name: &str) -> Result<Host, String> {
        Host::reach(name, &self.reach)
    }
}

impl Site {
    /// From a file.
    pub fn load(path: &Path) -> Result<Site, String> {
        let said = |message: String| format!("{}: {message}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| said(error.to_string()))?;
        let site: Site = toml::from_str(&text).map_err(|error| said(error.to_string()))?;
        if site.servers.len() < 3 || site.clients.is_empty() {
            return Err(said("at least three [[servers]], which are peers, and one of [[clients]]".into()));
        }
        // Commands of root are made of these words.
        for server in site.servers.iter().map(|server| &server.machine) {
            let paths = [&server.folder, &server.pid_file].map(|path| path.display().to_string());
            let mut words =
                [&server.name, &server.address, &server.interface, &server.device].into_iter().chain(&paths);
            if let Some(word) = words.find(|word| word.contains(char::is_whitespace)) {
                return Err(said(format!("server {}: `{word}`: no blanks, please", server.name)));
            }
        }
        Ok(site)
    }

    /// The machines of a bench that is up.
    pub fn of_bench(bench: &Bench) -> Result<Site, String> {
        let ready = bench.ready()?;
        let port = ready.config.system()?.port();
        let servers = ready.servers.into_iter().map(|machine| {
            let reach = bench.hand_command(&machine.name, &machine.groups);
            Reached { reach, machine }
        });
        let client = |name: String| {
            let folder = bench.layout.mountpoint(&name).join(&name);
            Reached { reach: bench.hand_command(&name, &[]), machine: Client { name, folder } }
        };
        Ok(Site {
            servers: servers.collect(),
            clients: (0..ready.config.clients).map(|index| client(layout::client(index))).collect(),
            third_party: Some(client(layout::THIRD_PARTY.into())),
            ports: vec![port],
            shares_folder: true,
            is_bench: true,
        })
    }
}

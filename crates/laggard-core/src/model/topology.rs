//! The topology file: which servers, controllers, drawers and LUNs there are, and which server reaches which LUN
//! with which priority. Names are host ranges; `docs/topology.md` shows a whole file.
//!
//! Errors name the line and the key; the caller adds the file.

use super::hosts;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use toml::Spanned;

/// What is wrong with a topology, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, key `{key}`: {message}")]
pub struct TopologyError {
    /// Line in the file, from 1.
    pub line: usize,
    /// The key on that line.
    pub key: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// A server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Server {
    /// What it does; peers share a role.
    pub role: String,
    /// The file system it serves.
    pub filesystem: Option<String>,
    /// The upgrade set it belongs to.
    pub generation: Option<String>,
}

/// A logical unit behind a controller.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lun {
    /// The controller (or coupled pair) that exports it.
    pub controller: Option<String>,
    /// The upgrade set it belongs to.
    pub generation: Option<String>,
    /// Drawers that hold its disks.
    pub drawers: BTreeSet<String>,
}

/// A LUN as one server sees it, `controller.lun.server`.
#[derive(Debug, Clone, PartialEq)]
pub struct Attachment {
    /// Key into [`Topology::luns`].
    pub lun: String,
    /// Key into [`Topology::servers`].
    pub server: String,
    /// 1 is the primary.
    pub priority: u32,
}

/// All parts of the storage system, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Topology {
    /// File systems and their types.
    pub filesystems: BTreeMap<String, Option<String>>,
    /// Servers by name.
    pub servers: BTreeMap<String, Server>,
    /// Controller names.
    pub controllers: BTreeSet<String>,
    /// LUNs by `controller.lun`, or by their own name where no controller is given.
    pub luns: BTreeMap<String, Lun>,
    /// Attachments by `controller.lun.server`.
    pub attachments: BTreeMap<String, Attachment>,
    /// LUNs by the name of their block device, where it has another.
    pub devices: BTreeMap<String, String>,
    /// Peer groups given by hand: component name to group name.
    pub given_groups: BTreeMap<String, String>,
}

impl Topology {
    /// Reads a topology from the text of its TOML file.
    pub fn parse(text: &str) -> Result<Topology, TopologyError> {
        let file: File = toml::from_str(text).map_err(|error| from_toml(text, &error))?;
        let mut builder = Builder { text, topology: Topology::default(), short_luns: BTreeMap::new() };
        builder.build(file)?;
        Ok(builder.topology)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    filesystems: Vec<FilesystemEntry>,
    #[serde(default)]
    servers: Vec<ServerEntry>,
    #[serde(default)]
    controllers: Vec<ControllerEntry>,
    #[serde(default)]
    luns: Vec<LunEntry>,
    #[serde(default)]
    drawers: Vec<DrawerEntry>,
    #[serde(default)]
    attachments: Vec<AttachmentEntry>,
    #[serde(default)]
    peer_groups: Vec<PeerGroupEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilesystemEntry {
    name: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerEntry {
    names: Spanned<String>,
    role: Option<String>,
    filesystem: Option<Spanned<String>>,
    generation: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ControllerEntry {
    names: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LunEntry {
    names: Spanned<String>,
    controller: Option<Spanned<String>>,
    generation: Option<String>,
    servers: Option<Spanned<String>>,
    #[serde(default)]
    rotate: bool,
    devices: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DrawerEntry {
    names: Spanned<String>,
    controller: Spanned<String>,
    luns: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AttachmentEntry {
    names: Spanned<String>,
    priority: Spanned<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PeerGroupEntry {
    name: String,
    members: Spanned<String>,
}

/// Turns the file's entries into a topology; later sections may refer to earlier ones wherever they stand.
struct Builder<'a> {
    text: &'a str,
    topology: Topology,
    short_luns: BTreeMap<String, String>,
}

impl Builder<'_> {
    fn build(&mut self, file: File) -> Result<(), TopologyError> {
        for entry in file.filesystems {
            self.topology.filesystems.insert(entry.name, entry.kind);
        }
        for entry in file.servers {
            self.servers(&entry)?;
        }
        for entry in file.controllers {
            let names = self.expand(&entry.names)?;
            self.topology.controllers.extend(names);
        }
        for entry in file.luns {
            self.luns(&entry)?;
        }
        self.short_luns = self.topology.luns.keys().map(|name| (short(name), name.clone())).collect();
        for entry in file.drawers {
            self.drawers(&entry)?;
        }
        for entry in file.attachments {
            self.attachments(&entry)?;
        }
        for entry in file.peer_groups {
            for member in self.expand(&entry.members)? {
                if let Some(other) = self.topology.given_groups.insert(member.clone(), entry.name.clone()) {
                    return Err(
                        self.error(&entry.members, format!("`{member}` is already in group `{other}`"))
                    );
                }
            }
        }
        Ok(())
    }

    fn servers(&mut self, entry: &ServerEntry) -> Result<(), TopologyError> {
        if let Some(filesystem) = &entry.filesystem {
            let (name, known) = (filesystem.get_ref(), &self.topology.filesystems);
            self.known("file system", filesystem, name, known.contains_key(name), known.keys())?;
        }
        for name in self.expand(&entry.names)? {
            let server = Server {
                role: entry.role.clone().unwrap_or_else(|| "server".into()),
                filesystem: entry.filesystem.as_ref().map(|name| name.get_ref().clone()),
                generation: entry.generation.clone(),
            };
            if self.topology.servers.insert(name.clone(), server).is_some() {
                return Err(self.error(&entry.names, format!("server `{name}` is defined twice")));
            }
        }
        Ok(())
    }

    fn luns(&mut self, entry: &LunEntry) -> Result<(), TopologyError> {
        // A range of controllers repeats the LUNs behind each of them.
        let controllers = match &entry.controller {
            None => vec![None],
            Some(range) => {
                let names = self.expand(range)?;
                for name in &names {
                    self.known_controller(range, name)?;
                }
                names.into_iter().map(Some).collect()
            }
        };
        let servers = match &entry.servers {
            None => Vec::new(),
            Some(range) => self.expand(range)?,
        };
        for server in &servers {
            let range = entry.servers.as_ref().expect("servers come from this range");
            let known = &self.topology.servers;
            self.known("server", range, server, known.contains_key(server), known.keys())?;
        }
        let mut devices = match &entry.devices {
            None => Vec::new(),
            Some(range) => self.devices(range, controllers.len() * self.expand(&entry.names)?.len())?,
        }
        .into_iter();
        for controller in controllers {
            for (index, name) in self.expand(&entry.names)?.into_iter().enumerate() {
                let full =
                    controller.as_ref().map_or(name.clone(), |controller| format!("{controller}.{name}"));
                let lun = Lun {
                    controller: controller.clone(),
                    generation: entry.generation.clone(),
                    drawers: BTreeSet::new(),
                };
                if self.topology.luns.insert(full.clone(), lun).is_some() {
                    return Err(self.error(&entry.names, format!("LUN `{full}` is defined twice")));
                }
                self.topology.devices.extend(devices.next().map(|device| (device, full.clone())));
                for priority in 0..servers.len() {
                    let turn = if entry.rotate { index } else { 0 };
                    let server = &servers[(priority + turn) % servers.len()];
                    let attachment = Attachment {
                        lun: full.clone(),
                        server: server.clone(),
                        priority: priority as u32 + 1,
                    };
                    self.topology.attachments.insert(format!("{full}.{server}"), attachment);
                }
            }
        }
        Ok(())
    }

    /// Block devices, one for each LUN.
    fn devices(&self, range: &Spanned<String>, luns: usize) -> Result<Vec<String>, TopologyError> {
        let devices = self.expand(range)?;
        if devices.len() != luns {
            return Err(self
                .error(range, format!("{} devices for {luns} LUNs: one for each, in order", devices.len())));
        }
        match devices.iter().find(|device| self.topology.devices.contains_key(*device)) {
            Some(twice) => Err(self.error(range, format!("device `{twice}` is another LUN's already"))),
            None => Ok(devices),
        }
    }

    fn drawers(&mut self, entry: &DrawerEntry) -> Result<(), TopologyError> {
        let controller = entry.controller.get_ref();
        self.known_controller(&entry.controller, controller)?;
        let luns = match &entry.luns {
            Some(range) => {
                let names = self.expand(range)?;
                names.into_iter().map(|name| format!("{controller}.{name}")).collect::<Vec<_>>()
            }
            None => {
                let behind = |lun: &Lun| lun.controller.as_ref() == Some(controller);
                self.topology
                    .luns
                    .iter()
                    .filter(|(_, lun)| behind(lun))
                    .map(|(name, _)| name.clone())
                    .collect()
            }
        };
        for drawer in self.expand(&entry.names)? {
            for name in &luns {
                let Some(lun) = self.topology.luns.get_mut(name) else {
                    let range = entry.luns.as_ref().unwrap_or(&entry.names);
                    return Err(self.error(range, format!("there is no LUN `{name}`")));
                };
                lun.drawers.insert(format!("{controller} drawer {drawer}"));
            }
        }
        Ok(())
    }

    fn attachments(&mut self, entry: &AttachmentEntry) -> Result<(), TopologyError> {
        if *entry.priority.get_ref() == 0 {
            return Err(self.error(&entry.priority, "priorities start at 1, the primary".into()));
        }
        for name in self.expand(&entry.names)? {
            let parts: Vec<&str> = name.rsplitn(2, '.').collect();
            let [server, lun] = parts[..] else {
                return Err(self.error(&entry.names, format!("`{name}` is not controller.lun.server")));
            };
            let Some(lun) = self.find_lun(lun) else {
                return Err(self.error(&entry.names, format!("`{name}`: there is no LUN `{lun}`")));
            };
            let Some(server) = self.find_server(server) else {
                return Err(self.error(&entry.names, format!("`{name}`: there is no server `{server}`")));
            };
            let attachment =
                Attachment { lun: lun.clone(), server: server.clone(), priority: *entry.priority.get_ref() };
            self.topology.attachments.insert(format!("{lun}.{server}"), attachment);
        }
        Ok(())
    }

    fn find_lun(&self, name: &str) -> Option<String> {
        if self.topology.luns.contains_key(name) {
            return Some(name.into());
        }
        self.short_luns.get(&short(name)).cloned()
    }

    fn find_server(&self, name: &str) -> Option<String> {
        let names = self.topology.servers.keys();
        names
            .clone()
            .find(|server| *server == name)
            .or_else(|| names.clone().find(|server| short(server) == name))
            .cloned()
    }

    fn expand(&self, range: &Spanned<String>) -> Result<Vec<String>, TopologyError> {
        hosts::expand(range.get_ref()).map_err(|error| self.error(range, error.to_string()))
    }

    /// An error with the nearest of the known names, unless the name is one of them.
    fn known<'n, T>(
        &self,
        what: &str,
        place: &Spanned<T>,
        name: &str,
        is_known: bool,
        names: impl Iterator<Item = &'n String>,
    ) -> Result<(), TopologyError> {
        if is_known {
            return Ok(());
        }
        let nearest = names.min_by_key(|known| strsim::levenshtein(known, name));
        let hint = nearest.map_or(format!("no {what} is defined"), |known| format!("nearest: `{known}`"));
        Err(self.error(place, format!("unknown {what} `{name}` ({hint})")))
    }

    fn known_controller(&self, place: &Spanned<String>, name: &str) -> Result<(), TopologyError> {
        let controllers = &self.topology.controllers;
        self.known("controller", place, name, controllers.contains(name), controllers.iter())
    }

    fn error<T>(&self, place: &Spanned<T>, message: String) -> TopologyError {
        at(self.text, place.span(), message)
    }
}

/// The digits at the end of each dotted part: `ddn12.lun48.fs49` is `12.48.49`, as LISA'13 writes attachments.
pub fn short(name: &str) -> String {
    let digits = |part: &str| {
        let start = part
            .rfind(|character: char| !character.is_ascii_digit())
            .map_or(0, |index| index + part[index..].chars().next().map_or(1, char::len_utf8));
        if start == part.len() { part.to_string() } else { part[start..].to_string() }
    };
    name.split('.').map(digits).collect::<Vec<_>>().join(".")
}

fn from_toml(text: &str, error: &toml::de::Error) -> TopologyError {
    let message = error.message().to_string();
    let message = match message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`')) {
        Some((field, rest)) => {
            let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
            let nearest = known.iter().min_by_key(|key| strsim::levenshtein(key, field));
            format!("unknown key, did you mean `{}`?", nearest.unwrap_or(&"names"))
        }
        None => message,
    };
    at(text, error.span().unwrap_or(0..0), message)
}

fn at(text: &str, span: Range<usize>, message: String) -> TopologyError {
    let before = &text[..span.start.min(text.len())];
    let line = before.matches('\n').count();
    let content = text.lines().nth(line).unwrap_or("");
    let key = content.split('=').next().unwrap_or("").trim().trim_matches(['[', ']']).to_string();
    TopologyError { line: line + 1, key, message }
}

#[cfg(test)]
mod tests;

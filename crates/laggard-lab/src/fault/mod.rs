//! Faults: what is done to a server so that it limps, errs, hangs or dies, and how it is taken back. A file each.
//!
//! A fault is a function from the part that a machine plays (the faulty server, one of its clients, a third party) to steps with
//! their undoing. It runs on that machine, so it may look around there; it must not do anything itself.

mod cpu_hog;
mod crash;
mod disk_busy;
mod disk_hog;
mod disk_stall;
mod err_files;
mod err_fsize;
mod err_inodes;
mod err_remount;
mod err_space;
mod err_vmsize;
mod fail_slow;
mod flapping_link;
mod hang;
mod memory_pressure;
mod nic_drops;
mod read_network_hog;
mod receive_pktloss;
mod send_pktloss;
mod write_network_hog;

use crate::host::command::myself;
use crate::host::journal::Step;
use laggard_core::diagnose::Cause;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The part that a machine plays in a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The faulty server.
    Server,
    /// Each of its clients.
    Client,
    /// A machine that has no part in the file system.
    ThirdParty,
}

/// What faults have to know of the server. On the bench it is known; on a real cluster the site file says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its name in recordings.
    pub name: String,
    /// Its address in the storage network.
    pub address: String,
    /// Address of a third party.
    #[serde(default)]
    pub third_party: Option<String>,
    /// Its interface in the storage network.
    #[serde(default)]
    pub interface: String,
    /// Whether that interface may be taken down: the machine is not reached through it, and no route hangs on it.
    #[serde(default)]
    pub may_lose_link: bool,
    /// The block device of its data.
    #[serde(default)]
    pub device: String,
    /// Where that is mounted.
    #[serde(default)]
    pub folder: PathBuf,
    /// The file with the number of the server's process.
    #[serde(default)]
    pub pid_file: PathBuf,
    /// Control of its emulated disk.
    #[serde(default)]
    pub disk_socket: Option<PathBuf>,
    /// Its control groups.
    #[serde(default)]
    pub groups: Vec<PathBuf>,
    /// The command that stops the file service at once.
    #[serde(default)]
    pub stop: Vec<String>,
    /// The command that starts it if it does not run.
    #[serde(default)]
    pub start: Vec<String>,
    /// The command that mounts its disk anew.
    #[serde(default)]
    pub remount: Vec<String>,
}

/// A fault.
pub struct Fault {
    /// Its name, the papers' where they have one.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What a diagnosis from metrics should call it; nothing where no pattern is its own.
    pub cause: Option<Cause>,
    /// Who takes part, in this order.
    pub roles: &'static [Role],
    /// What each does.
    pub steps: fn(Role, &Server) -> Result<Vec<Step>, String>,
}

/// All, the papers' performance faults first.
pub const FAULTS: &[&Fault] = &[
    &disk_hog::FAULT,
    &disk_busy::FAULT,
    &write_network_hog::FAULT,
    &read_network_hog::FAULT,
    &receive_pktloss::FAULT,
    &send_pktloss::FAULT,
    &fail_slow::FAULT,
    &disk_stall::FAULT,
    &flapping_link::FAULT,
    &cpu_hog::FAULT,
    &memory_pressure::FAULT,
    &nic_drops::FAULT,
    &err_inodes::FAULT,
    &err_files::FAULT,
    &err_remount::FAULT,
    &err_space::FAULT,
    &err_fsize::FAULT,
    &err_vmsize::FAULT,
    &crash::FAULT,
    &hang::FAULT,
];

/// The fault of a name.
pub fn find(name: &str) -> Result<&'static Fault, String> {
    let known = || FAULTS.iter().map(|fault| fault.name).collect::<Vec<_>>().join(", ");
    let found = FAULTS.iter().copied().find(|fault| fault.name == name);
    found.ok_or_else(|| format!("no fault `{name}`; there are {}", known()))
}

/// Where network hogs meet.
const HOG_PORT: u16 = 5199;

/// A netfilter rule that drops five of a hundred packets.
fn lose(which: &str) -> Step {
    let rule = format!("{which} -m statistic --mode random --probability 0.05 -j DROP");
    Step::command(&format!("iptables -w -I {rule}"), &format!("iptables -w -D {rule}"))
}

/// A process of this program's own.
fn work(words: &str) -> Step {
    let argv = std::iter::once(myself()).chain(["work".into()]);
    Step::Process { run: argv.chain(words.split_whitespace().map(String::from)).collect() }
}

impl Server {
    /// The server's process.
    fn pid(&self) -> Result<u32, String> {
        let path = self.pid_file.display();
        let text =
            std::fs::read_to_string(&self.pid_file).map_err(|error| format!("pid_file {path}: {error}"))?;
        text.trim().parse().map_err(|_| format!("pid_file {path}: `{}` is no number", text.trim()))
    }

    /// A value that this fault cannot do without.
    fn needs<'a>(&self, what: &str, value: &'a str) -> Result<&'a str, String> {
        match value {
            "" => Err(format!("{}: this fault needs `{what}`", self.name)),
            value => Ok(value),
        }
    }

    /// Puts a condition on the emulated disk.
    fn disk(&self, condition: &str) -> Result<Step, String> {
        let socket = self.disk_socket.as_ref().ok_or_else(|| {
            format!(
                "{}: this fault needs an emulated disk (`disk_socket`): nothing else can be slow unseen",
                self.name
            )
        })?;
        let set = |condition: &str| {
            let words = [&myself(), "disk", "set", &socket.display().to_string(), condition];
            words.map(String::from).to_vec()
        };
        Ok(Step::Command { run: set(condition), undo: set("{}") })
    }

    /// A lower limit for the server's process. Limits end with the process, so it is started anew afterwards.
    fn limit(&self, resource: &str, limit: u64) -> Result<Vec<Step>, String> {
        let set = format!("prlimit --pid {} --{resource}={limit}:", self.pid()?);
        Ok(vec![self.afterwards(&self.start)?, self.afterwards(&self.stop)?, Step::command(&set, "")])
    }

    /// Something to do when the fault is over.
    fn afterwards(&self, command: &[String]) -> Result<Step, String> {
        if command.is_empty() {
            return Err(format!(
                "{}: this fault needs the commands `stop`, `start` and `remount`",
                self.name
            ));
        }
        Ok(Step::Command { run: vec!["true".into()], undo: command.to_vec() })
    }
}

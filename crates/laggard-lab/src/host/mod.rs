//! A machine under test, real or a namespace of the bench: everything that the laboratory does there goes through a *hand*.
//!
//! A hand is a process on that machine that starts what it is told to, and takes everything back when it is told to, when its
//! time is over, and when whoever led it is gone: the pipe closes, whatever killed the leader. What it would have to take back
//! is on disk before it is done (`journal`), so that even a killed hand leaves nothing that `laggard-lab clean` does not find.

pub mod command;
pub mod files;
pub mod hand;
pub mod journal;
pub mod reach;

use crate::fault::{Role, Server};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a hand is asked to do. One line of JSON each.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Starts a process; its output goes to a file.
    Start {
        /// Program and arguments.
        argv: Vec<String>,
        /// Where its stdout and stderr go.
        log: PathBuf,
    },
    /// Makes a folder for a run, with some files in it.
    Prepare {
        /// The folder.
        folder: PathBuf,
        /// Names and contents.
        files: BTreeMap<String, String>,
        /// Whether it is removed, with all that is in it by then, when this is undone.
        is_scratch: bool,
    },
    /// Asks for all files below a folder.
    Fetch {
        /// The folder.
        folder: PathBuf,
    },
    /// Injects this machine's part of a fault.
    Inject {
        /// Name of the fault.
        fault: String,
        /// Which part this machine plays.
        role: Role,
        /// The faulty server.
        server: Box<Server>,
        /// After this time it is undone, whatever happens to whoever asked for it.
        limit_s: f64,
    },
    /// Ends a process, gently; or undoes a fault.
    Undo {
        /// As answered when it was begun.
        id: usize,
    },
    /// Whether a process still runs.
    Status {
        /// As answered when it was begun.
        id: usize,
    },
}

/// What a hand answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Begun, under this number.
    Begun(usize),
    /// Undone.
    Done,
    /// Files, by path below the folder, their bytes in hexadecimal.
    Files(BTreeMap<PathBuf, String>),
    /// Still running.
    Running,
    /// Ended with this status.
    Ended(i32),
    /// Why not.
    Refused(String),
}

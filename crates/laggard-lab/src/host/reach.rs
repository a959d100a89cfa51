//! How a hand on another machine is led: its stdin and stdout, through whatever starts it there.

use super::{Answer, Request, command, files};
use crate::fault::{Role, Server};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest that a machine may take for an answer: it may have to check a disk, or to send all files of a run.
const PATIENCE: Duration = Duration::from_secs(600);
/// The longest that a hand may take to undo everything.
const GRACE: Duration = Duration::from_secs(120);

/// A led hand.
pub struct Host {
    /// The machine's name.
    pub name: String,
    pipe: Mutex<Pipe>,
    process: Child,
}

struct Pipe {
    requests: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Host {
    /// Starts a hand with this command: `nsenter … laggard-lab hand`, `ssh oss3 laggard-lab hand`.
    pub fn reach(name: &str, argv: &[String]) -> Result<Host, String> {
        let mut starting = command::command(argv)?;
        let spawned = starting.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = spawned.map_err(|error| format!("{name}: {}: {error}", command::shown(argv)))?;
        let requests = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().ok_or("no pipe")?);
        let (sender, answers) = channel();
        // A machine that hangs must not hang the campaign.
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Ok(Host { name: name.into(), pipe: Mutex::new(Pipe { requests, answers }), process })
    }

    fn ask(&self, request: &Request) -> Result<Answer, String> {
        let gone = || format!("{}: the hand is gone", self.name);
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let line = serde_json::to_string(request).map_err(|error| error.to_string())?;
        let requests = pipe.requests.as_mut().ok_or_else(gone)?;
        writeln!(requests, "{line}").map_err(|_| gone())?;
        let text = pipe.answers.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => format!("{}: no answer for {} s", self.name, PATIENCE.as_secs()),
            RecvTimeoutError::Disconnected => gone(),
        })?;
        match serde_json::from_str(&text) {
            Ok(Answer::Refused(message)) => Err(format!("{}: {message}", self.name)),
            Ok(answer) => Ok(answer),
            Err(_) => Err(format!("{}: not an answer: {}", self.name, text.trim())),
        }
    }

    fn begin(&self, request: &Request) -> Result<usize, String> {
        match self.ask(request)? {
            Answer::Begun(id) => Ok(id),
            other => Err(format!("{}: {other:?}", self.name)),
        }
    }

    /// Starts a process there.
    pub fn start<S: AsRef<str>>(&self, argv: &[S], log: &Path) -> Result<usize, String> {
        let argv = argv.iter().map(|word| word.as_ref().to_string()).collect();
        self.begin(&Request::Start { argv, log: log.into() })
    }

    /// Makes a folder there, to be removed when that is undone.
    pub fn make_scratch(&self, folder: &Path) -> Result<usize, String> {
        self.begin(&Request::Prepare { folder: folder.into(), files: BTreeMap::new(), is_scratch: true })
    }

    /// Makes a folder there, with a file, to stay.
    pub fn write(&self, folder: &Path, name: &str, content: String) -> Result<(), String> {
        let files = BTreeMap::from([(name.to_string(), content)]);
        self.begin(&Request::Prepare { folder: folder.into(), files, is_scratch: false }).map(drop)
    }

    /// Brings all files of a folder there into one here.
    pub fn fetch(&self, there: &Path, here: &Path) -> Result<(), String> {
        match self.ask(&Request::Fetch { folder: there.into() })? {
            Answer::Files(found) => files::write(&found, here),
            other => Err(format!("{}: {other:?}", self.name)),
        }
    }

    /// Injects this machine's part of a fault.
    pub fn inject(&self, fault: &str, role: Role, server: &Server, limit_s: f64) -> Result<usize, String> {
        self.begin(&Request::Inject { fault: fault.into(), role, server: Box::new(server.clone()), limit_s })
    }

    /// Ends a process, or undoes a fault.
    pub fn undo(&self, id: usize) -> Result<(), String> {
        self.ask(&Request::Undo { id }).map(drop)
    }

    /// The exit status of a process that has ended.
    pub fn ended(&self, id: usize) -> Result<Option<i32>, String> {
        Ok(match self.ask(&Request::Status { id })? {
            Answer::Ended(status) => Some(status),
            _ => None,
        })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The end of its stdin is what the hand waits for; it is given the time to undo.
        self.pipe.lock().unwrap_or_else(PoisonError::into_inner).requests = None;
        let patience = Instant::now() + GRACE;
        while matches!(self.process.try_wait(), Ok(None)) {
            if Instant::now() > patience {
                eprintln!(
                    "laggard-lab: {}: the hand does not end; what it began is undone when its time is over",
                    self.name
                );
                let _ = self.process.kill();
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

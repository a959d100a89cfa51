//! `laggard-lab hand`: does on this machine what the lines of its stdin ask for, and takes it back when they end.

use super::journal::{self, Journal, Step};
use super::{Answer, Request, files};
use crate::fault::{self, Role, Server};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Where journals are; on the bench it is inside, and vanishes with it.
pub const JOURNALS: &str = "/run/laggard-lab/undo";

/// A machine may be harmed only if its owner has said so, by this file.
pub const MARKER: &str = "/etc/laggard-lab-may-break-this-host";

/// Refuses to harm a machine that nobody has given for it.
pub fn check_marker(marker: &Path) -> Result<(), String> {
    if marker.exists() {
        return Ok(());
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Err(format!(
        "{} has no {1}; whoever owns this machine lets faults be injected into it with: touch {1}",
        host.trim(),
        marker.display()
    ))
}

/// Whether this is a host of a bench: the first process of its namespace is a keeper.
pub fn is_on_bench() -> bool {
    let first = std::fs::read_to_string("/proc/1/cmdline").unwrap_or_default();
    let mut words = first.split('\0');
    let program = words.next().and_then(|path| Path::new(path).file_name()).unwrap_or_default();
    program == "laggard-lab" && words.next() == Some("bench") && words.next() == Some("keep")
}

struct Begun {
    journal: Journal,
    until: Option<Instant>,
}

/// Everything begun and not yet undone.
struct Hand {
    folder: PathBuf,
    begun: BTreeMap<usize, Begun>,
    count: usize,
}

impl Hand {
    fn answer(&mut self, request: Request) -> Result<Answer, String> {
        match request {
            Request::Start { argv, log } => self.start(&argv, &log),
            Request::Prepare { folder, files, is_scratch } => self.prepare(&folder, &files, is_scratch),
            Request::Fetch { folder } => files::below(&folder).map(Answer::Files),
            Request::Inject { fault, role, server, limit_s } => self.inject(&fault, role, &server, limit_s),
            Request::Undo { id } => match self.begun.remove(&id) {
                Some(mut begun) => begun.journal.revert().map(|()| Answer::Done),
                None => Err("it was taken back before: its time was over".into()),
            },
            Request::Status { id } => {
                let begun = self.begun.get_mut(&id).ok_or("nothing was begun under this number")?;
                Ok(begun.journal.ended().map_or(Answer::Running, Answer::Ended))
            }
        }
    }

    fn keep(&mut self, journal: Journal, until: Option<Instant>) -> Answer {
        self.count += 1;
        self.begun.insert(self.count, Begun { journal, until });
        Answer::Begun(self.count)
    }

    fn start(&mut self, argv: &[String], log: &Path) -> Result<Answer, String> {
        let said = |error: std::io::Error| format!("{}: {error}", log.display());
        let file: File = OpenOptions::new().create(true).append(true).open(log).map_err(said)?;
        let copy = file.try_clone().map_err(said)?;
        let mut journal = Journal::new(&self.folder, "process")?;
        journal.adopt(journal::start(argv, file.into(), copy.into())?)?;
        Ok(self.keep(journal, None))
    }

    fn prepare(
        &mut self,
        folder: &Path,
        files: &BTreeMap<String, String>,
        is_scratch: bool,
    ) -> Result<Answer, String> {
        let mut journal = Journal::new(&self.folder, "folder")?;
        let path = folder.display().to_string();
        let undo = if is_scratch { &["rm", "-rf", "--", &path][..] } else { &[] };
        let undo = undo.iter().map(ToString::to_string).collect();
        journal
            .perform(&Step::Command { run: ["mkdir", "-p", "--", &path].map(String::from).to_vec(), undo })?;
        for (name, content) in files {
            let file = folder.join(name);
            std::fs::write(&file, content).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(self.keep(journal, None))
    }

    fn inject(&mut self, name: &str, role: Role, server: &Server, limit_s: f64) -> Result<Answer, String> {
        let fault = fault::find(name)?;
        let mut journal = Journal::new(&self.folder, fault.name)?;
        for step in (fault.steps)(role, server)? {
            if let Err(message) = journal.perform(&step) {
                let undone = journal.revert();
                return Err(undone
                    .err()
                    .map_or(message.clone(), |more| format!("{message}; undoing: {more}")));
            }
        }
        Ok(self.keep(journal, Some(Instant::now() + Duration::from_secs_f64(limit_s))))
    }

    /// Undoes what has lasted long enough.
    fn expire(&mut self) {
        let now = Instant::now();
        let over = |begun: &Begun| begun.until.is_some_and(|until| until <= now);
        let expired: Vec<usize> =
            self.begun.iter().filter(|(_, begun)| over(begun)).map(|(id, _)| *id).collect();
        for id in expired {
            self.undo(id);
        }
    }

    fn undo(&mut self, id: usize) {
        if let Some(Err(message)) = self.begun.remove(&id).map(|mut begun| begun.journal.revert()) {
            eprintln!("laggard-lab: undoing: {message}");
        }
    }
}

/// Serves stdin until it ends.
pub fn serve(folder: &Path) -> Result<(), String> {
    // A hand that was killed here before may have left something. What cannot be undone is told, and is no reason to do nothing.
    if let Err(message) = journal::revert_all(folder) {
        eprintln!("laggard-lab: {message}");
    }
    // Whoever interrupts the leader from a terminal interrupts the hands too: that is a reason to undo, not to die.
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, stop.clone()).map_err(|error| error.to_string())?;
    }
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut hand = Hand { folder: folder.into(), begun: BTreeMap::new(), count: 0 };
    loop {
        match lines.recv_timeout(Duration::from_millis(200)) {
            Ok(line) => {
                let parsed = serde_json::from_str::<Request>(&line).map_err(|error| error.to_string());
                let answer = parsed.and_then(|request| hand.answer(request)).unwrap_or_else(Answer::Refused);
                let text = serde_json::to_string(&answer).map_err(|error| error.to_string())?;
                // Nobody listens any more: the pipe says so too, and everything is undone.
                if writeln!(std::io::stdout(), "{text}").is_err() {
                    break;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        hand.expire();
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    for id in hand.begun.keys().copied().collect::<Vec<_>>().into_iter().rev() {
        hand.undo(id);
    }
    Ok(())
}

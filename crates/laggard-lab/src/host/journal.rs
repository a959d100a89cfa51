//! What has to be taken back: steps with their undoing, on disk before they are done.

use super::command;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// One thing done to a machine, and how it is undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// A command that ends, and the one that takes it back.
    Command {
        /// Program and arguments.
        run: Vec<String>,
        /// Its opposite; nothing, if it needs none.
        undo: Vec<String>,
    },
    /// A process that runs until it is undone.
    Process {
        /// Program and arguments.
        run: Vec<String>,
    },
    /// The content of a control file, and what it was before.
    File {
        /// The file.
        path: PathBuf,
        /// While the fault lasts.
        content: String,
        /// Afterwards.
        undo: String,
    },
}

impl Step {
    /// A command and its opposite, as words.
    pub fn command(run: &str, undo: &str) -> Step {
        let words = |line: &str| line.split_whitespace().map(String::from).collect();
        Step::Command { run: words(run), undo: words(undo) }
    }
}

/// How a step is undone: what the journal holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Undo {
    Command(Vec<String>),
    /// A process group, and when its leader was started: numbers are used again.
    Process {
        pid: i32,
        started: u64,
    },
    File {
        path: PathBuf,
        content: String,
    },
}

/// Steps that were done, in order, and the file that knows how to undo them.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    undo: Vec<Undo>,
    children: Vec<Child>,
    /// Whether a process that ends by itself is a failure: those that faults are made of do not end.
    must_last: bool,
}

impl Journal {
    /// An empty journal in this folder.
    pub fn new(folder: &Path, name: &str) -> Result<Journal, String> {
        let said = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(said)?;
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{name}-{count}-{}.undo", std::process::id()));
        Ok(Journal { path, undo: Vec::new(), children: Vec::new(), must_last: false })
    }

    /// Does a step. The journal knows before.
    pub fn perform(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Command { run, undo } => {
                if !undo.is_empty() {
                    self.note(Undo::Command(undo.clone()))?;
                }
                command::run(run).map(drop)
            }
            Step::File { path, content, undo } => {
                self.note(Undo::File { path: path.clone(), content: undo.clone() })?;
                fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
            }
            Step::Process { run } => {
                // It ends with the hand: between its start and its note there is a moment.
                let leash = ["setpriv", "--pdeathsig", "KILL"].map(String::from);
                let child = start(&[&leash[..], run].concat(), Stdio::null(), Stdio::inherit())?;
                self.must_last = true;
                self.adopt(child)
            }
        }
    }

    /// Notes a process that was started, so that it is ended.
    pub fn adopt(&mut self, child: Child) -> Result<(), String> {
        let pid = child.id() as i32;
        self.children.push(child);
        self.note(Undo::Process { pid, started: started(pid).unwrap_or(0) })
    }

    /// The exit status of the last process, if it has ended.
    pub fn ended(&mut self) -> Option<i32> {
        let status = self.children.last_mut()?.try_wait().ok()??;
        Some(status.code().unwrap_or(-1))
    }

    /// The status of a process that ended although it must last: then the fault was not what it should have been.
    fn dead(&mut self) -> Option<i32> {
        let must_last = self.must_last;
        let mut ended = self.children.iter_mut().filter_map(|child| child.try_wait().ok().flatten());
        ended.next().filter(|_| must_last).map(|status| status.code().unwrap_or(-1))
    }

    fn note(&mut self, undo: Undo) -> Result<(), String> {
        self.undo.push(undo);
        let text = serde_json::to_string(&self.undo).map_err(|error| error.to_string())?;
        let said = |error: std::io::Error| format!("{}: {error}", self.path.display());
        // All or nothing: a torn journal undoes nothing.
        let new = self.path.with_extension("new");
        fs::write(&new, text).map_err(said)?;
        fs::rename(&new, &self.path).map_err(said)
    }

    /// Takes everything back, the last first. What fails does not keep the rest from being undone.
    pub fn revert(&mut self) -> Result<(), String> {
        let dead = self.dead();
        let undone = revert(&self.undo);
        // One that hangs in a dead file system cannot even be killed; nobody waits for it.
        let patience = Instant::now() + Duration::from_secs(5);
        for child in &mut self.children {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < patience {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        self.children.clear();
        self.undo.clear();
        if undone.is_ok() {
            let _ = fs::remove_file(&self.path);
        }
        match (dead, undone) {
            (Some(status), Ok(())) => Err(format!("a process of it had already ended, with status {status}")),
            (_, undone) => undone,
        }
    }
}

/// Undoes what the journals in a folder say, and removes them. For after a hand was killed. A journal that cannot be undone is kept
/// under another name for people to read, told, and does not keep the others from being undone.
pub fn revert_all(folder: &Path) -> Result<usize, String> {
    let mut reverted = 0;
    let mut failures = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "undo") || is_led(&path) {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|error| error.to_string());
        let undo =
            text.and_then(|text| serde_json::from_str::<Vec<Undo>>(&text).map_err(|error| error.to_string()));
        match undo.and_then(|undo| revert(&undo)) {
            Ok(()) => {
                reverted += 1;
                let _ = fs::remove_file(&path);
            }
            Err(message) => {
                let kept = path.with_extension("failed");
                let _ = fs::rename(&path, &kept);
                failures.push(format!("{}: could not be undone: {message}", kept.display()));
            }
        }
    }
    if failures.is_empty() { Ok(reverted) } else { Err(failures.join("; ")) }
}

/// Whether the hand that wrote a journal still lives: its number is in the name.
fn is_led(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let pid = stem.rsplit_once('-').and_then(|(_, pid)| pid.parse::<u32>().ok());
    let command = pid.and_then(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).ok());
    command.is_some_and(|command| command.contains("laggard-lab"))
}

fn revert(undo: &[Undo]) -> Result<(), String> {
    let mut failures = Vec::new();
    for undo in undo.iter().rev() {
        let outcome = match undo {
            Undo::Command(argv) => command::run(argv).map(drop),
            Undo::File { path, content } => {
                fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
            }
            Undo::Process { pid, started } => {
                end(*pid, *started);
                Ok(())
            }
        };
        failures.extend(outcome.err());
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

/// Starts a process in a group of its own, so that its children end with it.
pub fn start<S: AsRef<str>>(argv: &[S], stdout: Stdio, stderr: Stdio) -> Result<Child, String> {
    use std::os::unix::process::CommandExt;
    let mut command = command::command(argv)?;
    command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0);
    command.spawn().map_err(|error| format!("{}: {error}", command::shown(argv)))
}

/// Ends a process group: asked first, then made to. A number that now belongs to another process is left alone.
fn end(pid: i32, was_started: u64) {
    let Some(group) = Pid::from_raw(pid) else { return };
    if started(pid).is_some_and(|now| now != was_started) {
        return;
    }
    let _ = kill_process_group(group, Signal::TERM);
    // A stopped process would only hear of it when it goes on.
    let _ = kill_process_group(group, Signal::CONT);
    let patience = Instant::now() + Duration::from_secs(3);
    while is_running(pid) && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = kill_process_group(group, Signal::KILL);
}

fn is_running(pid: i32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let is_zombie = |stat: &String| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" Z"));
    state.is_some_and(|stat| !is_zombie(&stat))
}

/// When a process was started, in clock ticks since boot.
pub fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Kills one process, if it is still the one that was started then.
pub fn kill(pid: i32, was_started: u64, signal: Signal) -> bool {
    match Pid::from_raw(pid) {
        Some(process) if started(pid) == Some(was_started) => kill_process(process, signal).is_ok(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_taken_back_in_reverse_and_the_journal_goes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("limit");
        fs::write(&file, "100").unwrap();
        let mut journal = Journal::new(folder.path(), "test").unwrap();
        let step = Step::File { path: file.clone(), content: "1".into(), undo: "100".into() };
        journal.perform(&step).unwrap();
        journal.perform(&Step::Process { run: vec!["sleep".into(), "1000".into()] }).unwrap();
        let pid = journal.children[0].id() as i32;
        assert!(is_running(pid) && fs::read_to_string(&file).unwrap() == "1");
        journal.revert().unwrap();
        assert!(!is_running(pid) && fs::read_to_string(&file).unwrap() == "100");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the journal is gone");
    }

    #[test]
    fn a_killed_hand_s_journal_is_enough() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("limit");
        fs::write(&file, "1").unwrap();
        let undo = vec![Undo::File { path: file.clone(), content: "100".into() }];
        let journal = folder.path().join("disk-hog-999999999.undo");
        fs::write(&journal, serde_json::to_string(&undo).unwrap()).unwrap();
        assert_eq!(revert_all(folder.path()), Ok(1));
        assert_eq!(fs::read_to_string(&file).unwrap(), "100");
        assert!(!journal.exists());
    }

    #[test]
    fn a_step_that_fails_is_undone_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("undone");
        let mut journal = Journal::new(folder.path(), "test").unwrap();
        let step = Step::command("false", &format!("touch {}", trace.display()));
        assert!(journal.perform(&step).is_err());
        journal.revert().unwrap();
        assert!(trace.exists(), "half of a command may have been done");
    }
}

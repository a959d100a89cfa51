//! The terminal: progress bars and warnings on stderr, results on stdout. Nothing else in this program prints.

use super::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use laggard_engine::{Listener, Stage, Warning};
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Hears the engine, shows a bar for the stage that goes on, and prints warnings.
#[derive(Default)]
pub struct Console {
    bar: RefCell<Option<(Stage, ProgressBar)>>,
}

impl Console {
    /// Prints a warning that is not the engine's.
    pub fn say(&self, message: &str) {
        self.clear();
        eprintln!("laggard: {message}");
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        if let Some((_, bar)) = self.bar.borrow_mut().take() {
            bar.finish_and_clear();
        }
    }
}

impl Listener for Console {
    fn warn(&self, warning: &Warning) {
        self.say(&warning.to_string());
    }

    fn progress(&self, stage: Stage, done: u64, total: u64) {
        let mut shown = self.bar.borrow_mut();
        if shown.as_ref().is_none_or(|(known, _)| *known != stage) {
            if let Some((_, bar)) = shown.take() {
                bar.finish_and_clear();
            }
            *shown = Some((stage, new_bar(stage)));
        }
        if let Some((_, bar)) = shown.as_ref() {
            bar.set_length(total);
            bar.set_position(done);
        }
    }
}

/// A progress bar on stderr; invisible if that is not a terminal.
fn new_bar(stage: Stage) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg:>10} [{bar:40}] {percent}% {eta} left") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(match stage {
        Stage::Fetching => "fetching",
        Stage::Reading => "reading",
        Stage::Comparing => "comparing",
        Stage::AddingUp => "adding up",
    });
    bar
}

/// Writes a result to a file or to stdout. A reader that has seen enough is no error.
pub fn deliver(text: &str, output: Option<&PathBuf>) -> Result<(), Failure> {
    match output {
        Some(path) => write_whole(path, text),
        None => to_stdout(|out| out.write_all(text.as_bytes())).map(|_| ()),
    }
}

/// Writes lines to stdout at once; false when the reader has gone.
pub fn lines(lines: &[String]) -> Result<bool, Failure> {
    to_stdout(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))
}

fn to_stdout(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::io(Path::new("stdout"), &error)),
        Ok(()) => Ok(true),
    }
}

/// Writes beside the place and renames: a full disk leaves the old file, never half a new one.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    if std::fs::symlink_metadata(path).is_ok_and(|known| !known.is_file()) {
        // A device or a pipe, such as /dev/stdout: there is nothing to rename.
        return std::fs::write(path, text).map_err(|error| Failure::io(path, &error));
    }
    let partial = path.with_extension(format!("partial-{}", std::process::id()));
    let outcome = std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, path));
    outcome.map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        Failure::io(path, &error)
    })
}

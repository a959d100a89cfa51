//! The commands as a user runs them: files in, exit status and text out.

mod all_clear;
mod bad_input;
mod browser;
mod commands;
mod documents;
mod fsu;
mod recordings;
mod synthetic;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Whether a program of a package is there. `cargo xtask test` gets it and demands the test; a plain `cargo test` without it says
/// that the test skips itself.
fn is_there(program: &Path, test: &str) -> bool {
    let there = program.exists();
    let demanded = std::env::var_os("LAGGARD_REQUIRE_PACKAGES").is_some() || std::env::var_os("CI").is_some();
    assert!(there || !demanded, "{} is missing; `cargo xtask test` gets it", program.display());
    if !there {
        eprintln!("skipped: {test} ({} is missing; run `cargo xtask test`)", program.display());
    }
    there
}

/// A folder of its own for each test, removed afterwards.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("the temporary folder is writable");
        path
    }

    /// Runs laggard in the folder.
    fn laggard(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_laggard"));
        let output = command.args(arguments).current_dir(self.folder.path()).output().expect("laggard runs");
        Ran::new(&output)
    }
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    fn new(output: &Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }

    /// Accused parts and causes, in order.
    fn incidents(&self) -> Vec<(String, String)> {
        let json = self.json();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
        let list = json["incidents"].as_array().expect("incidents").iter();
        list.map(|incident| (text(&incident["component"]), text(&incident["cause"]))).collect()
    }
}

/// Says when a process prints a line on stderr that holds some words, each time.
fn lines_with(stderr: std::process::ChildStderr, wanted: &'static str) -> std::sync::mpsc::Receiver<()> {
    use std::io::BufRead;
    let (sender, found) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::BufReader::new(stderr).lines().map_while(Result::ok) {
            eprintln!("{line}");
            if line.contains(wanted) {
                let _ = sender.send(());
            }
        }
    });
    found
}

/// Waits until a process prints such a line.
fn wait_for_line(stderr: std::process::ChildStderr, wanted: &'static str) {
    let found = lines_with(stderr, wanted);
    found.recv_timeout(std::time::Duration::from_secs(60)).unwrap_or_else(|_| panic!("never said: {wanted}"));
}

/// The project's root.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

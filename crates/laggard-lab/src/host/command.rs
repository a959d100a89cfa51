//! Commands with arguments as a list; no shell reads them.

use std::process::{Command, Stdio};

/// Runs a command to its end; what it said on stderr is the error.
pub fn run<S: AsRef<str>>(argv: &[S]) -> Result<String, String> {
    let mut command = command(argv)?;
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", shown(argv)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}: {}: {}", shown(argv), output.status, said.trim()))
}

/// The same for a command written as words.
pub fn words(line: &str) -> Result<String, String> {
    run(&line.split_whitespace().collect::<Vec<_>>())
}

/// A command to spawn.
pub fn command<S: AsRef<str>>(argv: &[S]) -> Result<Command, String> {
    let (program, arguments) = argv.split_first().ok_or("an empty command")?;
    let mut command = Command::new(program.as_ref());
    command.args(arguments.iter().map(AsRef::as_ref));
    Ok(command)
}

/// A command as a person would type it.
pub fn shown<S: AsRef<str>>(argv: &[S]) -> String {
    argv.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" ")
}

/// This program, for the processes that it starts of itself.
pub fn myself() -> String {
    // After an upgrade the link reads "… (deleted)": the new program is where the old one was.
    let path = std::env::current_exe().unwrap_or_else(|_| "laggard-lab".into());
    path.to_string_lossy().trim_end_matches(" (deleted)").to_string()
}

//! A running disk is asked to limp through a socket beside its mount: one line of JSON, a [`Condition`], answered by `ok`.

use super::model::Condition;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Tells a disk what is wrong with it from now on.
pub fn set(socket: &Path, condition: &Condition) -> Result<(), String> {
    let said = |error: std::io::Error| format!("{}: {error}", socket.display());
    let mut stream = UnixStream::connect(socket).map_err(said)?;
    let line = serde_json::to_string(condition).map_err(|error| error.to_string())?;
    writeln!(stream, "{line}").map_err(said)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).map_err(said)?;
    match answer.trim() {
        "ok" => Ok(()),
        refusal => Err(format!("{}: {refusal}", socket.display())),
    }
}

/// Answers until the process ends.
pub fn listen(listener: &UnixListener, mut apply: impl FnMut(Condition)) {
    for stream in listener.incoming().flatten() {
        let mut line = String::new();
        let read = BufReader::new(&stream).read_line(&mut line);
        let answer = match read.map(|_| serde_json::from_str::<Condition>(&line)) {
            Ok(Ok(condition)) => {
                apply(condition);
                "ok".to_string()
            }
            Ok(Err(error)) => format!("not a condition: {error}"),
            Err(error) => error.to_string(),
        };
        // Who asked and went away has no use for an answer.
        let _ = writeln!(&stream, "{answer}");
    }
}

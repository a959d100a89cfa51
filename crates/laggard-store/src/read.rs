//! Recognises an input by its content and reads it.

use crate::csv::{self, Mapping};
use crate::problem::Problems;
use crate::recording::Recording;
use crate::store;
use crate::time;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Why an input could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// Not a format that is known.
    #[error("{}: {message}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What was found and what would be right.
        message: String,
    },
}

impl ReadError {
    /// What is wrong, without the path.
    fn reason(&self) -> String {
        match self {
            ReadError::Io { source, .. } => source.to_string(),
            ReadError::Format { message, .. } => message.clone(),
        }
    }
}

/// Told how many bytes of how many have been read.
pub type Progress<'a> = &'a dyn Fn(u64, u64);

/// Reads all inputs into one recording. Fails only if nothing can be read of an input.
pub fn read(
    paths: &[PathBuf],
    mapping: Option<&Mapping>,
    problems: &mut Problems,
    progress: Progress,
) -> Result<Recording, ReadError> {
    let mut recording = Recording::default();
    let mut files = Vec::new();
    for path in paths {
        // As other tools do: a dash is what comes through the pipe.
        let path = if path.as_os_str() == "-" { &PathBuf::from("/dev/stdin") } else { path };
        match path.is_dir().then(|| store::files(path)) {
            Some(Ok(found)) => files.extend(found),
            Some(Err(error)) if paths.len() > 1 => problems.add(path, None, "refused", || error.reason()),
            Some(Err(error)) => return Err(error),
            None => files.push(path.clone()),
        }
    }
    let size = |path: &PathBuf| path.metadata().map_or(0, |known| known.len());
    let total: u64 = files.iter().map(size).sum();
    let mut done = 0;
    let mut refused = None;
    for path in &files {
        let outcome =
            read_file(path, mapping, &mut recording, problems, &|bytes| progress(done + bytes, total));
        if let Err(error) = outcome {
            // One bad file among many is a problem; only a bad one, a failure.
            if files.len() > 1 || paths.len() > 1 {
                problems.add(path, None, "refused", || error.reason());
            }
            refused = Some(error);
        }
        recording.next_file();
        done += size(path);
    }
    if let Some(error) = refused.filter(|_| recording.samples == 0) {
        return Err(error);
    }
    if let (Some((count, example)), Some(path)) = (recording.drop_strays(), files.first()) {
        let near = time::format(example);
        problems.add(path, None, "strays", || {
            format!("timestamps more than a year from all others ({count}, such as {near}); dropped")
        });
    }
    recording.settle();
    Ok(recording)
}

fn read_file(
    path: &Path,
    mapping: Option<&Mapping>,
    recording: &mut Recording,
    problems: &mut Problems,
    progress: &dyn Fn(u64),
) -> Result<(), ReadError> {
    let io = |source| ReadError::Io { path: path.into(), source };
    let format = |message: String| ReadError::Format { path: path.into(), message };
    let mut input = BufReader::with_capacity(1 << 18, File::open(path).map_err(io)?);
    let start = input.fill_buf().map_err(io)?;
    if start.is_empty() {
        return Err(format("the file is empty".into()));
    }
    if let Some(what) = known_but_unreadable(start) {
        return Err(format(what));
    }
    let before = recording.samples;
    csv::read(input.by_ref(), path, mapping, recording, problems, progress)
        .map_err(|message| format(format!("line 1: {message}")))?;
    if recording.samples == before {
        problems.add(path, None, "nothing", || "no sample could be used".into());
    }
    Ok(())
}

/// Formats that people will hand over and that are not read yet: say so, and what to do.
fn known_but_unreadable(start: &[u8]) -> Option<String> {
    let compressed = [
        ("gzip", &b"\x1f\x8b"[..], "zcat"),
        ("xz", b"\xfd7zXZ", "xzcat"),
        ("zstd", b"\x28\xb5\x2f\xfd", "zstdcat"),
    ];
    if let Some((name, _, command)) = compressed.iter().find(|(_, magic, _)| start.starts_with(magic)) {
        return Some(format!("{name}-compressed; unpack it first ({command})"));
    }
    if start.starts_with(&[0x96, 0xd5]) || start.starts_with(&[0xd5, 0x96]) {
        return Some("a sysstat activity file; not read yet, convert it to CSV first".into());
    }
    start.iter().take(512).any(|byte| *byte == 0).then(|| "binary data, not a CSV".into())
}

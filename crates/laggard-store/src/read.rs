//! Recognises an input by its content and reads it.

use crate::activity::Hosts;
use crate::csv::{self, Mapping};
use crate::problem::FormatError;
use crate::problem::{Lost, Problems};
use crate::recording::Recording;
use crate::{lctl, sadf, sar, store, sysstat, time};
use laggard_activity::Counters;
use laggard_activity::Damage;
use laggard_core::model::hosts;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    #[error("{}: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What was found and what would be right.
        source: FormatError,
    },
}

impl ReadError {
    /// What is wrong, without the path.
    fn reason(&self) -> String {
        match self {
            ReadError::Io { source, .. } => source.to_string(),
            ReadError::Format { source, .. } => source.to_string(),
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
    read_with(paths, Vec::new(), mapping, problems, progress)
}

/// Reads all inputs, and those in temporary folders, which the recording keeps as long as it needs them.
pub fn read_with(
    paths: &[PathBuf],
    temporary: Vec<tempfile::TempDir>,
    mapping: Option<&Mapping>,
    problems: &mut Problems,
    progress: Progress,
) -> Result<Recording, ReadError> {
    let fetched = temporary.iter().map(|folder| folder.path().to_path_buf());
    let paths: Vec<PathBuf> = paths.iter().cloned().chain(fetched).collect();
    let paths = paths.as_slice();
    let mut files = Vec::new();
    for path in paths {
        // As other tools do: a dash is what comes through the pipe.
        let path = if path.as_os_str() == "-" { &PathBuf::from("/dev/stdin") } else { path };
        match path.is_dir().then(|| store::files(path)) {
            Some(Ok(found)) => files.extend(found),
            Some(Err(error)) if paths.len() > 1 => problems.add_loss(path, Lost::Unknown, error.reason()),
            Some(Err(error)) => return Err(error),
            None => files.push(path.clone()),
        }
    }
    let size = |path: &PathBuf| path.metadata().map_or(0, |known| known.len());
    let total: u64 = files.iter().map(size).sum();
    let mut done = 0;
    let mut refused = None;
    let mut reading = Reading { recording: Recording::default(), hosts: Hosts::default(), mapping, problems };
    for path in &files {
        let outcome = reading.file(path, &|bytes| progress(done + bytes, total));
        if let Err(error) = outcome {
            // One bad file among many is a problem; only a bad one, a failure.
            if files.len() > 1 || paths.len() > 1 {
                reading.problems.add_loss(path, Lost::Unknown, error.reason());
            }
            refused = Some(error);
        }
        reading.recording.next_file();
        done += size(path);
    }
    let Reading { mut recording, mut hosts, problems, .. } = reading;
    if let Some(error) = refused.filter(|_| recording.samples == 0) {
        return Err(error);
    }
    if let (Some((count, example)), Some(path)) = (recording.drop_strays(), files.first()) {
        let near = time::format(example);
        problems.add(path, None, "strays", || {
            format!("timestamps more than a year from all others ({count}, such as {near}); dropped")
        });
    }
    let merged = recording.settle();
    if let (Some(path), false) = (files.first(), merged.is_empty()) {
        let message = format!(
            "{}: many values have the component, metric and time of another, or come from several files of one time: several parts \
             under one name? Name the column that tells them apart, --csv host=COLUMN,…; where only the files' names do, add one",
            hosts::fold(&merged)
        );
        problems.add_loss(path, Lost::Of(merged), message);
    }
    temporary.into_iter().for_each(|folder| hosts.keep(folder));
    recording.set_hosts(hosts);
    Ok(recording)
}

/// A hundredth of the samples of an input: more than that are not single bad rows.
const MANY: u64 = 100;

/// Fewer than this are single ones in any input.
const FEW: u64 = 10;

/// Whether so many of all are more than single ones.
pub(crate) fn is_many(count: u64, all: u64) -> bool {
    count >= FEW && count * MANY > all
}

/// What an input is, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Activity,
    Sysstat,
    SadfJson,
    SysstatText,
    Lctl,
    Packed(Packing),
    Csv,
}

/// How an input is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Gzip,
    Xz,
    Zstd,
}

impl Format {
    fn of(start: &[u8]) -> Result<Format, FormatError> {
        let text = String::from_utf8_lossy(&start[..start.len().min(512)]);
        let trimmed = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        Ok(match start {
            [0x1f, 0x8b, ..] => Format::Packed(Packing::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', ..] => Format::Packed(Packing::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Format::Packed(Packing::Zstd),
            [b'P', b'A', b'R', b'1', ..] => Format::Activity,
            start if laggard_activity::tail::is_tail(start) => Format::Activity,
            start if sysstat::layout::is_sysstat(start) => Format::Sysstat,
            start if start.iter().take(512).any(|byte| *byte == 0) => {
                return Err("binary data: no activity file, no file of sysstat, not a CSV".into());
            }
            _ if trimmed.starts_with('{') => Format::SadfJson,
            _ if trimmed.starts_with("Linux ") => Format::SysstatText,
            start if lctl::is_lctl(&String::from_utf8_lossy(start)) => Format::Lctl,
            _ => Format::Csv,
        })
    }
}

/// Inputs under reading.
struct Reading<'a> {
    recording: Recording,
    hosts: Hosts,
    mapping: Option<&'a Mapping>,
    problems: &'a mut Problems,
}

impl Reading<'_> {
    fn file(&mut self, path: &Path, progress: &dyn Fn(u64)) -> Result<(), ReadError> {
        let io = |source| ReadError::Io { path: path.into(), source };
        let mut file = File::open(path).map_err(io)?;
        // A pipe cannot be read twice: what is recognised by its start must then be found there again.
        if !file.metadata().map_err(io)?.is_file() {
            let mut spool = tempfile::tempfile().map_err(io)?;
            std::io::copy(&mut file, &mut spool).map_err(io)?;
            spool.rewind().map_err(io)?;
            file = spool;
        }
        let before = self.recording.samples;
        self.content(path, file, progress)?;
        if self.recording.samples == before {
            self.problems.add_loss(path, Lost::Unknown, "no sample could be used".into());
        }
        Ok(())
    }

    fn content(&mut self, path: &Path, mut file: File, progress: &dyn Fn(u64)) -> Result<(), ReadError> {
        let io = |source| ReadError::Io { path: path.into(), source };
        let wrong = |source: FormatError| ReadError::Format { path: path.into(), source };
        let mut start = Vec::new();
        (&mut file).take(4096).read_to_end(&mut start).map_err(io)?;
        file.rewind().map_err(io)?;
        if start.is_empty() {
            return Err(wrong("the file is empty".into()));
        }
        let (recording, problems) = (&mut self.recording, &mut *self.problems);
        match Format::of(&start).map_err(wrong)? {
            Format::Packed(packing) => {
                if let Some(name) = packed_activity(path) {
                    return self.packed_activity(path, name, file, packing);
                }
                let (unpacked, damage) = unpack(file, packing)
                    .map_err(|error| wrong(format!("cannot be unpacked: {error}").into()))?;
                self.content(path, unpacked, progress)?;
                self.note_cut(path, damage);
            }
            Format::Activity => {
                let rows = self.hosts.add_file(path, problems).map_err(|damage| match damage {
                    Damage::Io(source) => io(source),
                    Damage::Content(what) => wrong(what.into()),
                })?;
                recording.samples += rows;
            }
            Format::Sysstat => {
                let held: Arc<dyn Counters> = Arc::new(sysstat::Sysstat::open(file).map_err(wrong)?);
                recording.samples += self.hosts.add_held(path, &held, problems);
            }
            Format::SadfJson => sadf::read(BufReader::new(file), path, recording, problems).map_err(wrong)?,
            Format::SysstatText => {
                sar::read(BufReader::new(file), path, recording, problems).map_err(wrong)?;
            }
            Format::Lctl => {
                let mut text = Vec::new();
                file.read_to_end(&mut text).map_err(io)?;
                let read = lctl::Lctl::read(&String::from_utf8_lossy(&text), path).map_err(wrong)?;
                let held: Arc<dyn Counters> = Arc::new(read);
                recording.samples += self.hosts.add_held(path, &held, problems);
            }
            Format::Csv => {
                let mut input = BufReader::with_capacity(1 << 18, file);
                csv::read(input.by_ref(), path, self.mapping, recording, problems, progress)
                    .map_err(|message| wrong(format!("line 1: {message}").into()))?;
            }
        }
        Ok(())
    }
}

/// The name that a packed activity file has when it is unpacked.
fn packed_activity(path: &Path) -> Option<&str> {
    let name = path.file_stem()?.to_str()?;
    laggard_activity::name::parse(Path::new(name)).map(|_| name)
}

impl Reading<'_> {
    /// What was read of a packed file is all that came before its damage.
    fn note_cut(&mut self, path: &Path, damage: Option<std::io::Error>) {
        let Some(damage) = damage else { return };
        let touched = self.recording.of_this_file();
        let lost = if touched.is_empty() { Lost::Unknown } else { Lost::Of(touched) };
        let message = format!("cut or damaged: {damage}; what comes before that is used. Copy it again");
        self.problems.add_loss(path, lost, message);
    }

    /// An activity file is read again and again: it is unpacked into a folder that stays as long as the recording.
    fn packed_activity(
        &mut self,
        path: &Path,
        name: &str,
        file: File,
        packing: Packing,
    ) -> Result<(), ReadError> {
        let io = |source| ReadError::Io { path: path.into(), source };
        let wrong = |source: FormatError| ReadError::Format { path: path.into(), source };
        let (mut unpacked, damage) =
            unpack(file, packing).map_err(|error| wrong(format!("cannot be unpacked: {error}").into()))?;
        let folder = tempfile::tempdir().map_err(io)?;
        let place = folder.path().join(name);
        std::io::copy(&mut unpacked, &mut File::create(&place).map_err(io)?).map_err(io)?;
        let rows =
            self.hosts.add_file(&place, self.problems).map_err(|damage| wrong(damage.to_string().into()))?;
        self.recording.samples += rows;
        self.hosts.keep(folder);
        self.note_cut(path, damage);
        Ok(())
    }
}

/// Unpacks into a file without a name, which is gone when it is closed. Returns also what ended it too early.
fn unpack(file: File, packing: Packing) -> std::io::Result<(File, Option<std::io::Error>)> {
    let mut unpacked = tempfile::tempfile()?;
    let mut reader = unpacker(file, packing)?;
    // What could be unpacked before the damage is worth reading; without anything it is a failure.
    let damage = match std::io::copy(&mut reader, &mut unpacked) {
        Err(error) if unpacked.stream_position()? == 0 => return Err(error),
        outcome => outcome.err(),
    };
    unpacked.rewind()?;
    Ok((unpacked, damage))
}

fn unpacker(file: File, packing: Packing) -> std::io::Result<Box<dyn Read>> {
    let input = BufReader::new(file);
    Ok(match packing {
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        Packing::Xz => Box::new(lzma_rust2::XzReader::new(input, true)),
        Packing::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
    })
}

/// Whether a file of a directory is an input: activity files and CSV by their names, sysstat's by their first bytes, also packed.
pub fn is_input(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plain = ["gz", "xz", "zst"].iter().find_map(|ending| name.strip_suffix(&format!(".{ending}")));
    if plain.unwrap_or(&name).ends_with(".csv") || plain.is_some_and(|_| packed_activity(path).is_some()) {
        return true;
    }
    let start = laggard_activity::tail::start_of(path).unwrap_or_default();
    match (Format::of(&start), plain) {
        (Ok(Format::Activity), None) => laggard_activity::name::parse(path).is_some(),
        (Ok(Format::Sysstat), None) => true,
        // Its text, which sysstat leaves beside it, says the same again, in local time.
        (Ok(Format::Packed(packing)), Some(_)) => {
            let unpacked = File::open(path).and_then(|file| first_bytes(file, packing));
            unpacked.is_ok_and(|start| sysstat::layout::is_sysstat(&start))
        }
        _ => false,
    }
}

fn first_bytes(file: File, packing: Packing) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    unpacker(file, packing)?.take(64).read_to_end(&mut start)?;
    Ok(start)
}

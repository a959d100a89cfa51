//! A store: a directory with a marker; per host its activity files, a day each, with 15 s summaries beside them; and what has no
//! raw counters, such as CSV, as long CSV per UTC day.
//!
//! Files are written beside their place, synced and linked, so that a killed import leaves whole files or none. Later
//! imports come after earlier ones, and the last sample of a moment counts.

use crate::activity::summary::{self, FOLDER};
use crate::activity::{FileInfo, HostFiles};
use crate::convert::{self, Placed};
use crate::problem::Problems;
use crate::read::{ReadError, is_input};
use crate::recording::Recording;
use crate::time;
use laggard_activity::{Damage, name};
use laggard_core::model::Metric;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The marker's name.
pub const MARKER: &str = "laggard-store.toml";
const SCHEMA: &str = "schema = \"laggard/store/1\"\n";
const HEADER: &str = "timestamp,component,metric,value,server,group\n";

/// The files of a store, in the order they count. Any directory of recordings is accepted, with or without marker.
pub fn files(directory: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let io = |source| ReadError::Io { path: directory.into(), source };
    let mut found = Vec::new();
    let mut pending = vec![directory.to_path_buf()];
    while let Some(next) = pending.pop() {
        let entries = match fs::read_dir(&next) {
            Ok(entries) => entries,
            // Such as lost+found: what may not be seen below is not what was asked for.
            Err(_) if next != directory => continue,
            Err(error) => return Err(io(error)),
        };
        for entry in entries {
            let entry = entry.map_err(io)?;
            let path = entry.path();
            // A link to a folder may lead back here.
            if entry.file_type().is_ok_and(|known| known.is_dir()) {
                // Summaries are made from the files beside them, and stand for those when they are read.
                pending.extend(Some(path).filter(|path| path.file_name().is_some_and(|name| name != FOLDER)));
            } else if path.is_file() && is_input(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    // A tail and what is sealed of it are one file.
    found.dedup_by(|later, earlier| {
        let both = [later, earlier]
            .map(|path| name::parse(path).is_some().then(|| name::beside(path, name::SEALED)));
        both[0].is_some() && both[0] == both[1]
    });
    if found.is_empty() {
        let message =
            "a directory without recordings is not a store; fill one with `laggard import PATH --into STORE`";
        return Err(ReadError::Format { path: directory.into(), source: message.into() });
    }
    Ok(found)
}

/// Adds a recording to a store, made if new. Returns the files; what could not be taken over is a problem.
pub fn import(
    recording: &Recording,
    directory: &Path,
    problems: &mut Problems,
) -> Result<Vec<PathBuf>, ReadError> {
    let io = |path: &Path| {
        let path = path.to_path_buf();
        move |source| ReadError::Io { path, source }
    };
    let marker = directory.join(MARKER);
    if directory.is_dir()
        && !marker.exists()
        && fs::read_dir(directory).map_err(io(directory))?.next().is_some()
    {
        let message = format!("not a store: there are files but no {MARKER}; choose a new directory");
        return Err(ReadError::Format { path: directory.into(), source: message.into() });
    }
    fs::create_dir_all(directory).map_err(io(directory))?;
    if !marker.exists() {
        fs::write(&marker, SCHEMA).map_err(io(&marker))?;
    }
    let mut written = Vec::new();
    for host in recording.hosts().iter() {
        for file in &host.files {
            match import_counters(host, file, recording.hosts().bounds_s, directory) {
                Ok(placed) => take(placed, &file.path, &mut written, problems),
                // No room, most likely: that is not one file's problem.
                Err(Damage::Io(source)) => return Err(ReadError::Io { path: file.path.clone(), source }),
                Err(Damage::Content(what)) => {
                    problems.add(&file.path, None, "import", || format!("{what}; not imported"));
                }
            }
        }
    }
    for (day, samples) in by_day(recording) {
        let folder = directory.join(&day);
        fs::create_dir_all(&folder).map_err(io(&folder))?;
        let path = write_day(recording, &samples, &folder).map_err(io(&folder))?;
        written.push(path);
    }
    Ok(written)
}

/// Notes what became of a recording's days.
fn take(placed: Vec<Placed>, source: &Path, written: &mut Vec<PathBuf>, problems: &mut Problems) {
    for one in placed {
        match one {
            Placed::There(path) => written.push(path),
            Placed::Taken(path) => problems.add(source, None, "taken", || {
                format!("not imported: {} is another recording of that host and time; are there two hosts of one name?", path.display())
            }),
        }
    }
}

/// Takes a recording of counters over, a file a day, with their summaries.
fn import_counters(
    host: &HostFiles,
    file: &FileInfo,
    bounds_s: Option<(i64, i64)>,
    directory: &Path,
) -> Result<Vec<Placed>, Damage> {
    let folder = directory.join(name::safe(&host.name));
    fs::create_dir_all(&folder)?;
    let placed = convert::to_activity(host, file, bounds_s, &folder)?;
    for one in &placed {
        if let Placed::There(path) = one
            && let Some(place) = summary::place(path)
        {
            // A file of which nothing can be read has none; that it cannot was told when it was read.
            match summary::make(path, &place) {
                Err(Damage::Content(_)) => {}
                other => drop(other?),
            }
        }
    }
    Ok(placed)
}

type DaySample = (i64, usize, Metric, f64);

fn by_day(recording: &Recording) -> BTreeMap<String, Vec<DaySample>> {
    let mut days: BTreeMap<String, Vec<DaySample>> = BTreeMap::new();
    let mut names: BTreeMap<i64, String> = BTreeMap::new();
    for component in 0..recording.observed().len() {
        for metric in Metric::all() {
            for &(time_s, value) in recording.series(component, metric).into_iter().flatten() {
                let day = names.entry(time_s.div_euclid(86_400)).or_insert_with(|| time::day(time_s));
                match days.get_mut(day) {
                    Some(samples) => samples.push((time_s, component, metric, value)),
                    None => drop(days.insert(day.clone(), vec![(time_s, component, metric, value)])),
                }
            }
        }
    }
    for samples in days.values_mut() {
        samples.sort_by_key(|(time_s, component, metric, _)| (*time_s, *component, *metric));
    }
    days
}

/// Writes a day beside its place, then gives it the next free name.
fn write_day(recording: &Recording, samples: &[DaySample], folder: &Path) -> std::io::Result<PathBuf> {
    let partial = folder.join(format!("{}.partial", std::process::id()));
    let outcome = write_samples(recording, samples, &partial).and_then(|()| publish(&partial, folder));
    // Published by a second link; and a full disk must not leave half a file behind.
    let _ = fs::remove_file(&partial);
    outcome
}

fn write_samples(recording: &Recording, samples: &[DaySample], path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(HEADER.as_bytes())?;
    for (time_s, component, metric, value) in samples {
        let known = &recording.observed()[*component];
        let (server, group) = (known.server.as_deref().unwrap_or(""), known.group.as_deref().unwrap_or(""));
        let [name, server, group] = [&known.name, server, group].map(one_field);
        writeln!(out, "{time_s},{name},{metric},{value},{server},{group}")?;
    }
    out.into_inner()?.sync_all()
}

/// A link never replaces a file, so that two imports at once cannot overwrite each other.
fn publish(partial: &Path, folder: &Path) -> std::io::Result<PathBuf> {
    for number in 1.. {
        let path = folder.join(format!("{number:06}.csv"));
        match fs::hard_link(partial, &path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("no free name"))
}

/// Names come from other people's files; a separator in one must not move the columns.
fn one_field(name: &str) -> std::borrow::Cow<'_, str> {
    let breaks = [',', '"', '\n', '\r'];
    if name.contains(breaks) { name.replace(breaks, "_").into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::read;

    fn recording(value: f64) -> Recording {
        let mut recording = Recording::default();
        let disk = recording.component("sda");
        recording.describe(disk, Some("fs1"), None);
        recording.push(disk, Metric::Await, 86_399, value);
        recording.push(disk, Metric::Await, 86_400, value);
        recording
    }

    #[test]
    fn imports_read_back_and_the_later_one_counts() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        assert_eq!(import(&recording(1.5), &store, &mut Problems::default()).unwrap().len(), 2);
        import(&recording(2.5), &store, &mut Problems::default()).unwrap();
        let back = read(&[store], None, &mut Problems::default(), &|_, _| {}).unwrap();
        assert_eq!(back.series(0, Metric::Await).unwrap(), &vec![(86_399, 2.5), (86_400, 2.5)]);
        assert_eq!(back.observed()[0].server.as_deref(), Some("fs1"));
    }

    #[test]
    fn a_directory_of_other_things_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("precious.txt"), "x").unwrap();
        let error = import(&recording(1.0), folder.path(), &mut Problems::default()).unwrap_err().to_string();
        assert!(error.contains("not a store"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

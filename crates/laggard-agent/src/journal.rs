//! The daily cycle: from snapshots to files, one per day, and never more of the disk than allowed.
//!
//! A file is named by its first sample; a new one begins at 00:00:05 UTC, so that a clock set back by up to five seconds at
//! midnight does not make two (LISA'13, section 4.1.1). Snapshots are on the disk within five seconds. Each hour the tail is
//! sealed. A full disk costs the oldest files first, then samples, with a count; never a file's integrity.

use crate::config::{Config, Retention};
use laggard_activity::kind::GAP;
use laggard_activity::{Damage, Origin, Snapshot, Table, TailReader, TailWriter, name, seal};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Seconds after midnight at which a new file begins.
const CYCLE_AT_S: i64 = 5;
const DAY_S: i64 = 86_400;
/// Seconds that may be lost with the power.
const FLUSH_S: usize = 5;
/// The tail is sealed after so long, or so many rows: sealing needs memory for one column of them.
const SEAL_AFTER_S: i64 = 3600;
const SEAL_AFTER_ROWS: usize = 200_000;
/// A sealed tail's last seconds stay for whoever follows it.
const KEPT_FOR_FOLLOWERS_S: i64 = 60;
/// After a failed sealing, the next try; until then the tail holds everything.
const SEAL_AGAIN_S: i64 = 600;

/// What went wrong lately; each thing is said once, then counted.
#[derive(Default)]
struct Complaints {
    last: String,
    count: u64,
}

impl Complaints {
    fn say(&mut self, message: String) {
        if message == self.last {
            self.count += 1;
            return;
        }
        self.settle();
        eprintln!("laggard-agent: {message}");
        self.last = message;
    }

    fn settle(&mut self) {
        if self.count > 0 {
            eprintln!("laggard-agent: {} ({} times more)", self.last, self.count);
        }
        *self = Complaints::default();
    }
}

/// Why something could not be written.
enum Trouble {
    NoRoom(String),
    Other(String),
}

/// The file under way.
struct Current {
    stem: PathBuf,
    tail: TailWriter,
    first_s: i64,
    cycle: i64,
    rows: usize,
    seal_at_s: i64,
}

/// Writes snapshots to the files of a directory.
pub struct Journal {
    directory: PathBuf,
    origin: Origin,
    retention: Retention,
    current: Option<Current>,
    pending: Vec<Snapshot>,
    /// Seconds after which the tail is sealed.
    seal_after_s: i64,
    /// Samples that could not be written since the last that could.
    lost: u64,
    complaints: Complaints,
}

impl Journal {
    /// Takes over a directory: seals what an earlier run left, and keeps others out of it.
    pub fn open(config: &Config) -> Result<Journal, String> {
        let directory = config.directory.clone();
        let origin =
            Origin { host: config.name.clone(), interval_s: config.interval_s, kinds: config.kinds() };
        let mut journal = Journal {
            directory,
            origin,
            retention: config.retention.clone(),
            current: None,
            pending: Vec::new(),
            seal_after_s: SEAL_AFTER_S,
            lost: 0,
            complaints: Complaints::default(),
        };
        journal.recover()?;
        Ok(journal)
    }

    /// Seals after so long; for tests, which have no hour.
    pub fn seal_after(&mut self, seconds: i64) {
        self.seal_after_s = seconds;
    }

    /// Takes a snapshot; it is on the disk a few seconds later.
    pub fn take(&mut self, snapshot: Snapshot) {
        let time_s = snapshot.time_s;
        if self.current.as_ref().is_some_and(|current| is_another_file(current, time_s)) {
            self.finish();
        }
        self.pending.push(snapshot);
        if self.pending.len() * self.origin.interval_s as usize >= FLUSH_S {
            self.flush();
        }
    }

    /// Ends the file under way: everything is sealed.
    pub fn finish(&mut self) {
        self.flush();
        let Some(current) = self.current.take() else { return };
        match seal_tail(&current.stem) {
            Ok(_) => drop(fs::remove_file(name::beside(&current.stem, name::TAIL))),
            Err(error) => self.complaints.say(format!("{}: not sealed yet: {error}", current.stem.display())),
        }
        self.retain();
    }

    /// Brings what is pending to the disk.
    fn flush(&mut self) {
        let Some(last_s) = self.pending.last().map(|snapshot| snapshot.time_s) else { return };
        if self.lost > 0 {
            let lost = format!("journal: {} samples lost, they could not be written", self.lost);
            self.pending[0] = with_gap(&self.pending[0], &lost);
        }
        let mut outcome = self.write();
        // Only where room is what lacks, and one at a time: whoever else fills the disk must not cost all of the past.
        if matches!(outcome, Err(Trouble::NoRoom(_))) && self.drop_oldest() {
            outcome = self.write();
        }
        match outcome {
            Ok(()) => {
                if self.lost > 0 {
                    eprintln!("laggard-agent: writing again after {} samples were lost", self.lost);
                }
                self.lost = 0;
                self.complaints.settle();
            }
            Err(Trouble::NoRoom(message)) => {
                self.lost += self.pending.len() as u64;
                self.complaints.say(format!("{message}; samples are not kept until there is room"));
            }
            Err(Trouble::Other(message)) => {
                self.lost += self.pending.len() as u64;
                self.complaints.say(format!("{message}; samples are not kept until that is mended"));
            }
        }
        self.pending.clear();
        self.seal_if_due(last_s);
    }

    fn write(&mut self) -> Result<(), Trouble> {
        let said = |path: &Path, error: &std::io::Error| {
            let message = format!("{}: {error}", path.display());
            let full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
            if full { Trouble::NoRoom(message) } else { Trouble::Other(message) }
        };
        let keep_free = self.retention.keep_free_mib << 20;
        let free =
            rustix::fs::statvfs(&self.directory).map_or(u64::MAX, |known| known.f_bavail * known.f_frsize);
        if free < keep_free {
            let (directory, least) = (self.directory.display(), self.retention.keep_free_mib);
            return Err(Trouble::NoRoom(format!("{directory}: less than {least} MiB free")));
        }
        if self.current.is_none() {
            let first_s = self.pending[0].time_s;
            self.current = Some(self.begin(first_s).map_err(|error| said(&self.directory, &error))?);
        }
        let Some(current) = &mut self.current else { return Ok(()) };
        current.tail.append(&self.pending).map_err(|error| said(&current.stem, &error))?;
        let rows = |snapshot: &Snapshot| snapshot.tables.iter().map(|table| table.names.len()).sum::<usize>();
        current.rows += self.pending.iter().map(rows).sum::<usize>();
        // What could not be synced is written all the same; that it may not survive the power is worth a word.
        if let Err(error) = current.tail.sync() {
            self.complaints.say(format!("{}: not synced: {error}", current.stem.display()));
        }
        Ok(())
    }

    fn begin(&self, first_s: i64) -> std::io::Result<Current> {
        let stem = self.directory.join(name::stem(&self.origin.host, first_s) + ".tail");
        let sealed = fs::File::open(name::beside(&stem, name::SEALED)).map_err(Damage::from);
        // The same second again, after a clock was set back: the file goes on.
        let sequence =
            sealed.and_then(laggard_activity::parquet::Reader::open).map_or(0, |old| seal::sealed_to(&old));
        let tail = TailWriter::create(&stem, self.origin.clone(), sequence)?;
        Ok(Current {
            stem,
            tail,
            first_s,
            cycle: cycle(first_s),
            rows: 0,
            seal_at_s: first_s + self.seal_after_s,
        })
    }

    fn seal_if_due(&mut self, now_s: i64) {
        let Some(current) = &mut self.current else { return };
        // A clock that was set back must not put sealing off.
        current.seal_at_s = current.seal_at_s.min(now_s + self.seal_after_s);
        if now_s < current.seal_at_s && current.rows < SEAL_AFTER_ROWS {
            return;
        }
        let tail_path = name::beside(&current.stem, name::TAIL);
        let outcome = seal_tail(&current.stem).and_then(|tail| {
            Ok(seal::renew(&tail_path, &tail, current.tail.sequence, KEPT_FOR_FOLLOWERS_S)?)
        });
        match outcome {
            Ok(tail) => {
                (current.tail, current.rows, current.seal_at_s) = (tail, 0, now_s + self.seal_after_s);
                self.retain();
            }
            Err(error) => {
                (current.rows, current.seal_at_s) = (0, now_s + SEAL_AGAIN_S);
                let message = format!("{}: not sealed yet: {error}", current.stem.display());
                self.complaints.say(message);
            }
        }
    }

    /// Seals the tails that an earlier run left, and clears away what it was writing.
    fn recover(&mut self) -> Result<(), String> {
        let said = |error: std::io::Error| format!("{}: {error}", self.directory.display());
        for entry in fs::read_dir(&self.directory).map_err(said)?.flatten() {
            let path = entry.path();
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
            if name::parse(&path.with_extension(name::TAIL)).is_none() {
                continue;
            }
            match ending {
                "partial" | "renewed" => drop(fs::remove_file(&path)),
                name::TAIL => recover_tail(&path),
                _ => {}
            }
        }
        self.retain();
        Ok(())
    }

    /// Files that may go, oldest first, with their sizes.
    fn old_files(&self) -> Vec<(PathBuf, u64)> {
        let current = self.current.as_ref().map(|current| name::beside(&current.stem, name::SEALED));
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_ours = |path: &PathBuf| {
            path.extension().is_some_and(|ending| ending == name::SEALED) && name::parse(path).is_some()
        };
        let mut files: Vec<(String, PathBuf)> = entries
            .filter(is_ours)
            .filter(|path| Some(path) != current.as_ref())
            .filter_map(|path| Some((name::parse(&path)?.1.to_string(), path)))
            .collect();
        files.sort();
        files
            .into_iter()
            .map(|(_, path)| (path.clone(), path.metadata().map_or(0, |known| known.len())))
            .collect()
    }

    fn drop_oldest(&self) -> bool {
        let oldest = self.old_files().into_iter().next();
        oldest.is_some_and(|(path, _)| {
            eprintln!("laggard-agent: no room: the oldest file goes: {}", path.display());
            fs::remove_file(path).is_ok()
        })
    }

    /// Deletes what is too old or too much. Days are counted as recorded, not by the clock: one that jumps must not delete.
    fn retain(&self) {
        let files = self.old_files();
        let date = |path: &Path| name::parse(path).map(|(_, stamp)| stamp[..8].to_string());
        let own = self.current.as_ref().map(|current| name::beside(&current.stem, name::SEALED));
        let mut dates: Vec<String> =
            files.iter().map(|(path, _)| path).chain(&own).filter_map(|path| date(path)).collect();
        dates.sort_unstable_by(|a, b| b.cmp(a));
        dates.dedup();
        dates.truncate(self.retention.days as usize);
        let oldest = dates.pop();
        let own = own.and_then(|path| path.metadata().ok()).map_or(0, |known| known.len());
        let mut total: u64 = own + files.iter().map(|(_, size)| size).sum::<u64>();
        for (path, size) in files {
            let is_old = date(&path) < oldest;
            if (is_old || total > self.retention.size_mib << 20) && fs::remove_file(&path).is_ok() {
                total -= size;
            }
        }
    }
}

fn cycle(time_s: i64) -> i64 {
    (time_s - CYCLE_AT_S).div_euclid(DAY_S)
}

/// The next day's, or one from before this file began.
fn is_another_file(current: &Current, time_s: i64) -> bool {
    cycle(time_s) > current.cycle || time_s < current.first_s - CYCLE_AT_S
}

/// A snapshot that also says why others are missing.
pub fn with_gap(snapshot: &Snapshot, reason: &str) -> Snapshot {
    let mut snapshot = snapshot.clone();
    match snapshot.tables.last_mut().filter(|table| table.kind.id == laggard_activity::kind::KindId::Gap) {
        Some(gaps) => gaps.push(reason, &[1]),
        None => {
            let mut gaps = Table::new(&GAP);
            gaps.push(reason, &[1]);
            snapshot.tables.push(gaps);
        }
    }
    snapshot
}

/// Seals a tail into the file beside it. A damaged file is put aside, not overwritten and not in the way; one with other columns, of
/// another version or configuration, is left alone, and the tail becomes a file of its own.
fn seal_tail(stem: &Path) -> Result<TailReader, Damage> {
    let tail = TailReader::open(&name::beside(stem, name::TAIL))?;
    let mut sealed = name::beside(stem, name::SEALED);
    match seal::state(&sealed, &tail) {
        seal::State::Fits => {}
        seal::State::Damaged(what) => {
            let aside = put_aside(&sealed)?;
            eprintln!("laggard-agent: {}: {what}; put aside as {}", sealed.display(), aside.display());
        }
        seal::State::OtherColumns => {
            let first_s = tail.frames.iter().flat_map(|frame| &frame.times_s).min().copied().unwrap_or(0);
            let free = (first_s..).map(|first_s| name::stem(&tail.origin.host, first_s) + ".parquet");
            let mut free = free.map(|name| sealed.with_file_name(name)).filter(|path| !path.exists());
            sealed = free.next().unwrap_or(sealed);
        }
    }
    seal::seal(&sealed, &tail)?;
    Ok(tail)
}

/// Gives a damaged file a name that nobody reads, and that no other has.
fn put_aside(path: &Path) -> std::io::Result<PathBuf> {
    let names = (1..).map(|number| path.with_extension(format!("damaged-{number}")));
    let aside =
        names.into_iter().find(|aside| !aside.exists()).unwrap_or_else(|| path.with_extension("damaged"));
    fs::rename(path, &aside)?;
    Ok(aside)
}

fn recover_tail(path: &Path) {
    match seal_tail(path) {
        Ok(tail) => {
            for (offset, what) in &tail.damaged {
                eprintln!("laggard-agent: {}: at byte {offset}: {what}; the rest is sealed", path.display());
            }
            let _ = fs::remove_file(path);
        }
        Err(Damage::Content(what)) => {
            let aside =
                put_aside(path).map_or_else(|error| error.to_string(), |aside| aside.display().to_string());
            eprintln!("laggard-agent: {}: {what}; put aside as {aside}", path.display());
        }
        // No room, most likely: it stays as it is, readable, for the next start.
        Err(Damage::Io(error)) => eprintln!("laggard-agent: {}: not sealed: {error}", path.display()),
    }
}

#[cfg(test)]
mod tests;

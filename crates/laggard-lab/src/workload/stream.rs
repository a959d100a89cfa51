//! Large files, in records, by several streams: ddw, ddr, and iozone's write/rewrite and read/reread.

use super::{Meter, Workload};
use laggard_sim::chance::Chance;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How much, how many, how long.
#[derive(Debug, Clone)]
pub struct Streams {
    /// The client's folder.
    pub folder: PathBuf,
    /// Files at a time.
    pub streams: usize,
    /// Size of each file.
    pub file_mib: u64,
    /// Bytes of one call.
    pub record_kib: usize,
    /// How long.
    pub seconds: f64,
}

/// Bytes that are not all the same: some file systems do not store zeros.
fn pattern(length: usize) -> Vec<u8> {
    let mut chance = Chance::new(0);
    (0..length).map(|_| (chance.uniform() * 256.0) as u8).collect()
}

/// The file that a stream reads; made by `prepare`.
fn source(folder: &Path, stream: usize) -> PathBuf {
    folder.join(format!("read-{stream}"))
}

impl Streams {
    /// Makes the files that are read later, unless they are there.
    pub fn prepare(&self) -> Result<(), String> {
        super::run(self.streams, 0.0, &|stream, _| {
            let path = source(&self.folder, stream);
            self.make(&path).map_err(|error| format!("{}: {error}", path.display()))
        })
    }

    fn make(&self, path: &Path) -> std::io::Result<()> {
        let size = self.file_mib << 20;
        if fs::metadata(path).is_ok_and(|found| found.len() == size) {
            return Ok(());
        }
        let record = pattern(self.record_kib << 10);
        let mut file = File::create(path)?;
        for _ in 0..size / record.len() as u64 {
            file.write_all(&record)?;
        }
        file.sync_all()
    }

    /// Works until the time is over.
    pub fn run(&self, workload: Workload) -> Result<(), String> {
        super::run(self.streams, self.seconds, &|stream, meter| {
            let outcome = match workload {
                Workload::Ddr => self.read(stream, 1, meter.end, meter),
                Workload::Iozoner => self.read(stream, 2, meter.end, meter),
                Workload::Ddw => self.write(stream, 1, meter.end, meter),
                Workload::Change => self
                    .write(stream, 1, meter.half(), meter)
                    .and_then(|()| self.read(stream, 1, meter.end, meter)),
                _ => self.write(stream, 2, meter.end, meter),
            };
            outcome.map_err(|error| format!("{}: {error}", self.folder.display()))
        })
    }

    /// Files are written `passes` times, then removed: the disk is never full.
    fn write(&self, stream: usize, passes: usize, end: Instant, meter: &Meter) -> std::io::Result<()> {
        let record = pattern(self.record_kib << 10);
        let path = self.folder.join(format!("write-{stream}"));
        while Instant::now() < end {
            let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(&path)?;
            for _ in 0..passes {
                file.seek(SeekFrom::Start(0))?;
                for _ in 0..(self.file_mib << 20) / record.len() as u64 {
                    if Instant::now() >= end {
                        break;
                    }
                    file.write_all(&record)?;
                    meter.add(record.len() as u64);
                }
                if passes > 1 {
                    file.sync_all()?;
                }
            }
            drop(file);
            fs::remove_file(&path)?;
        }
        Ok(())
    }

    /// Reads the file from end to end, `passes` times before it is opened again.
    fn read(&self, stream: usize, passes: usize, end: Instant, meter: &Meter) -> std::io::Result<()> {
        let mut record = vec![0; self.record_kib << 10];
        while Instant::now() < end {
            let mut file = File::open(source(&self.folder, stream))?;
            for _ in 0..passes {
                file.seek(SeekFrom::Start(0))?;
                while Instant::now() < end {
                    let length = file.read(&mut record)?;
                    if length == 0 {
                        break;
                    }
                    meter.add(length as u64);
                }
            }
        }
        Ok(())
    }
}

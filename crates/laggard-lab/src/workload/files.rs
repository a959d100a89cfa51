//! Small files in no order: created, read, changed, removed. What home directories and builds do.

use super::Meter;
use laggard_sim::chance::Chance;
use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Most files at a time, per stream.
const MOST: usize = 200;
/// Largest file.
const LARGEST: usize = 64 << 10;

/// Works until the time is over.
pub fn run(folder: &Path, streams: usize, seconds: f64) -> Result<(), String> {
    super::run(streams, seconds, &|stream, meter| {
        let folder = folder.join(format!("small-{stream}"));
        one(&folder, stream, meter).map_err(|error| format!("{}: {error}", folder.display()))
    })
}

fn one(folder: &Path, stream: usize, meter: &Meter) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut chance = Chance::new(stream as u64);
    let mut buffer = vec![7u8; LARGEST];
    while meter.goes_on() {
        let path = folder.join(chance.below(MOST).to_string());
        let length = 512 + chance.below(LARGEST - 512);
        let bytes = match (chance.below(4), path.exists()) {
            (0, true) => fs::remove_file(&path).map(|()| 0)?,
            (1, true) => {
                let mut file = OpenOptions::new().write(true).open(&path)?;
                file.seek(SeekFrom::Start(chance.below(4096) as u64))?;
                file.write_all(&buffer[..length / 4])?;
                length / 4
            }
            (_, true) => fs::File::open(&path)?.read(&mut buffer)?,
            (_, false) => fs::write(&path, &buffer[..length]).map(|()| length)?,
        };
        meter.add(bytes as u64);
    }
    fs::remove_dir_all(folder)
}

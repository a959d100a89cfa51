//! Reads and writes past all caches of this machine.

use laggard_core::fsu::Direction;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;

/// Addresses, places and lengths of direct I/O are multiples of this.
const ALIGNED: usize = 4096;
/// The area is filled in pieces of this.
const PIECE: u64 = 1 << 20;
/// The file's size, where nothing else is asked for.
const IN_A_FILE: u64 = 1 << 30;

/// Where the transfers go: a file without a name, which is gone with this process whatever ends it, or a block device.
pub struct Area {
    file: File,
    bytes: u64,
}

impl Area {
    /// Makes a file of so many bytes in a directory and fills it, or opens a device, all of it or its first bytes, that has nothing on it and that
    /// nobody on this machine uses.
    pub fn open(place: &Path, bytes: Option<u64>, largest: u64) -> io::Result<Area> {
        let metadata = place.metadata()?;
        let whole = |bytes: u64| bytes / PIECE * PIECE;
        let has_room = |bytes: u64| match bytes >= 2 * largest {
            true => Ok(bytes),
            false => {
                Err(io::Error::other(format!("{bytes} bytes have no room for random transfers of {largest}")))
            }
        };
        if metadata.is_dir() {
            let bytes = has_room(whole(bytes.unwrap_or(IN_A_FILE)))?;
            let known = rustix::fs::statvfs(place)?;
            if bytes > known.f_bavail * known.f_frsize / 10 * 9 {
                let free = (known.f_bavail * known.f_frsize) >> 20;
                return Err(io::Error::other(format!(
                    "{free} MiB are free, and {} would be used",
                    bytes >> 20
                )));
            }
            let file = tempfile::tempfile_in(place)?;
            let area = Area { file, bytes };
            rustix::fs::fcntl_setfl(&area.file, OFlags::DIRECT)?;
            // Blocks that were never written need not be read from the disk.
            let mut piece = area.transfers(PIECE)?;
            (0..bytes / PIECE).try_for_each(|index| piece.at(index * PIECE, Direction::Write))?;
            area.file.sync_all()?;
            return Ok(area);
        }
        if !metadata.file_type().is_block_device() {
            return Err(io::Error::other("neither a directory nor a block device"));
        }
        refuse_if_used(place)?;
        // Exclusive: a device that is mounted here, or part of a volume here, is refused by the kernel.
        let flags = (OFlags::DIRECT | OFlags::EXCL).bits() as i32;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(place)?;
        let size = io::Seek::seek(&mut &file, io::SeekFrom::End(0))?;
        Ok(Area { file, bytes: has_room(whole(bytes.unwrap_or(size).min(size)))? })
    }

    /// How much there is.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Transfers of one size, with a buffer of their own.
    pub fn transfers(&self, size: u64) -> io::Result<Transfers<'_>> {
        let size = usize::try_from(size).map_err(io::Error::other)?;
        // Not all the same: some devices store no zeros.
        let buffer: Vec<u8> = (0..size + ALIGNED).map(|index| (index * 31 % 251) as u8).collect();
        let start = buffer.as_ptr().align_offset(ALIGNED);
        Ok(Transfers { file: &self.file, buffer, start, size })
    }
}

/// Another server may have mounted what is on a shared device, and the kernel here does not know: a device with anything on it is refused.
fn refuse_if_used(device: &Path) -> io::Result<()> {
    let found = Command::new("wipefs").args(["--noheadings", "--output", "TYPE"]).arg(device).output();
    let found = found.map_err(|error| io::Error::other(format!("wipefs: {error}")))?;
    if !found.status.success() {
        return Err(io::Error::other(format!("wipefs: {}", String::from_utf8_lossy(&found.stderr).trim())));
    }
    let types = String::from_utf8_lossy(&found.stdout);
    let types: Vec<&str> = types.split_ascii_whitespace().collect();
    if types.is_empty() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "it has {} on it; if no server needs that any more, remove it first: wipefs -a {}",
        types.join(", "),
        device.display()
    )))
}

/// One transfer after the other.
pub struct Transfers<'a> {
    file: &'a File,
    buffer: Vec<u8>,
    start: usize,
    size: usize,
}

impl Transfers<'_> {
    /// One transfer at a place.
    pub fn at(&mut self, offset: u64, direction: Direction) -> io::Result<()> {
        let buffer = &mut self.buffer[self.start..self.start + self.size];
        match direction {
            Direction::Read => self.file.read_exact_at(buffer, offset),
            Direction::Write => self.file.write_all_at(buffer, offset),
        }
    }
}

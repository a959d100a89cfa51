//! The processes that faults are made of. They run until they are killed.

use crate::host::command;
use std::convert::Infallible;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What direct I/O wants its buffers aligned to, whatever the device.
const ALIGNMENT: usize = 4096;

/// Reads a device from end to end, around the page cache, again and again.
pub fn read_device(device: &Path, block_mib: usize) -> Result<Infallible, String> {
    let said = |error: std::io::Error| format!("{}: {error}", device.display());
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(direct).open(device).map_err(said)?;
    let block = block_mib.max(1) << 20;
    let mut buffer = vec![0u8; block + ALIGNMENT];
    let start = buffer.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut buffer[start..start + block];
    let mut offset = 0;
    loop {
        match file.read_at(buffer, offset).map_err(said)? {
            0 => offset = 0,
            length => offset += length as u64,
        }
    }
}

/// Takes whatever is sent to this address.
pub fn drain(address: &str) -> Result<Infallible, String> {
    let listener = TcpListener::bind(address).map_err(|error| format!("{address}: {error}"))?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        if let Ok((mut stream, _)) = listener.accept() {
            while stream.read(&mut buffer).is_ok_and(|length| length > 0) {}
        }
    }
}

/// Sends zeros to this address.
pub fn pour(address: &str) -> Result<Infallible, String> {
    let zeros = vec![0; 1 << 16];
    loop {
        if let Ok(mut stream) = TcpStream::connect(address) {
            while stream.write_all(&zeros).is_ok() {}
        }
        // The other side may not be there yet.
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Lets a netfilter chain drop everything, and then nothing, again and again.
pub fn flap(chain: &str, down_s: f64, up_s: f64) -> Result<Infallible, String> {
    loop {
        command::words(&format!("iptables -w -A {chain} -j DROP"))?;
        std::thread::sleep(Duration::from_secs_f64(down_s));
        command::words(&format!("iptables -w -F {chain}"))?;
        std::thread::sleep(Duration::from_secs_f64(up_s));
    }
}

/// Takes an interface down and up, again and again.
pub fn flap_link(interface: &str, down_s: f64, up_s: f64) -> Result<Infallible, String> {
    loop {
        command::words(&format!("ip link set {interface} down"))?;
        std::thread::sleep(Duration::from_secs_f64(down_s));
        command::words(&format!("ip link set {interface} up"))?;
        std::thread::sleep(Duration::from_secs_f64(up_s));
    }
}

/// The least that IPv4 allows an interface.
const SMALLEST_MTU: u32 = 576;

/// Lets an interface drop, and count, what is large, for a moment, again and again.
pub fn drop_large(interface: &str, mtu: u32, for_ms: u64, every_ms: u64) -> Result<Infallible, String> {
    loop {
        command::words(&format!("ip link set {interface} mtu {SMALLEST_MTU}"))?;
        std::thread::sleep(Duration::from_millis(for_ms));
        command::words(&format!("ip link set {interface} mtu {mtu}"))?;
        std::thread::sleep(Duration::from_millis(every_ms.saturating_sub(for_ms)));
    }
}

/// Computes.
pub fn spin(threads: usize) -> Result<Infallible, String> {
    for _ in 1..threads {
        std::thread::spawn(|| {
            loop {
                std::hint::spin_loop();
            }
        });
    }
    loop {
        std::hint::spin_loop();
    }
}

/// Holds a share of the memory of its control group, or of the machine.
pub fn hold_memory(share: f64, groups: &[PathBuf]) -> Result<Infallible, String> {
    // If memory runs out, this one is to be killed, not the server.
    fs::write("/proc/self/oom_score_adj", "1000").map_err(|error| format!("oom_score_adj: {error}"))?;
    let files = ["memory.limit_in_bytes", "memory.max"];
    let limits = groups.iter().flat_map(|group| files.map(|file| group.join(file)));
    let limit = limits.filter_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()).next();
    let available = match limit {
        Some(bytes) => bytes.saturating_sub(anonymous(groups)),
        None => available()?,
    };
    let mut held = vec![0u8; (available as f64 * share) as usize];
    loop {
        // Pages that are never touched are not held.
        held.iter_mut().step_by(4096).for_each(|byte| *byte = byte.wrapping_add(1));
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Memory of the group that cannot be given back: that of its processes.
fn anonymous(groups: &[PathBuf]) -> u64 {
    let stat = groups.iter().find_map(|group| fs::read_to_string(group.join("memory.stat")).ok());
    let stat = stat.unwrap_or_default();
    let field = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    field("rss ").or_else(|| field("anon ")).unwrap_or(0)
}

fn available() -> Result<u64, String> {
    let text = fs::read_to_string("/proc/meminfo").map_err(|error| format!("/proc/meminfo: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| "/proc/meminfo: no MemAvailable".into())
}

/// Makes files until no inode is left. Ends.
pub fn fill_inodes(folder: &Path) -> Result<(), String> {
    const MOST: u64 = 2_000_000;
    let said = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(said)?;
    let free = rustix::fs::statvfs(folder).map_err(|error| said(error.into()))?.f_favail;
    if free > MOST {
        return Err(format!("{}: {free} free inodes; more than {MOST} are not filled", folder.display()));
    }
    for number in 0.. {
        match fs::File::create(folder.join(number.to_string())) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::StorageFull => break,
            Err(error) => return Err(said(error)),
        }
    }
    Ok(())
}

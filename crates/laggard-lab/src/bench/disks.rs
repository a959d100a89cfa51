//! The disk of a server: an image with ext4, behind the emulator, behind a loop device, mounted.

use super::layout::Layout;
use crate::disk::model::Shape;
use crate::host::command::{command, myself, run, words};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Starts the emulator of a server's disk, with a new file system on it.
pub fn start(layout: &Layout, server: &str, shape: &Shape) -> Result<(), String> {
    let [image, socket, mountpoint] = ["img", "socket", ""].map(|extension| layout.disk(server, extension));
    let said = |error: std::io::Error| format!("{}: {error}", image.display());
    fs::File::create(&image).and_then(|file| file.set_len(shape.size_mib << 20)).map_err(said)?;
    // Everything is laid out now, at the speed of memory: nothing is left for the kernel to do during a run.
    words(&format!(
        "mkfs.ext4 -q -F -J size=8 -N 32768 -I 512 -m 0 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 {}",
        image.display()
    ))?;
    fs::create_dir_all(&mountpoint).map_err(said)?;
    let argv = [
        myself(),
        "disk".into(),
        "serve".into(),
        "--shape".into(),
        serde_json::to_string(shape).map_err(|error| error.to_string())?,
        "--socket".into(),
        socket.display().to_string(),
        "--file".into(),
        layout.disk_file(server),
        image.display().to_string(),
        mountpoint.display().to_string(),
    ];
    let log = fs::File::create(layout.log(&format!("disk-{server}"))).map_err(said)?;
    let mut emulator = command(&argv)?;
    emulator.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    emulator.spawn().map(drop).map_err(said)
}

/// Puts a loop device over the disk and mounts it; yields the device. It goes when it is unmounted.
pub fn mount(layout: &Layout, server: &str, dirty_kib: u64) -> Result<String, String> {
    let file = layout.disk(server, "").join(layout.disk_file(server));
    let patience = Instant::now() + Duration::from_secs(10);
    while !file.exists() {
        if Instant::now() > patience {
            let said = fs::read_to_string(layout.log(&format!("disk-{server}"))).unwrap_or_default();
            return Err(format!("{server}: the emulated disk does not start: {}", said.trim()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let device = attach(&file)?;
    let brick = layout.brick(server);
    fs::create_dir_all(&brick).map_err(|error| format!("{}: {error}", brick.display()))?;
    words(&format!("mount -t ext4 -o noatime,errors=remount-ro {device} {}", brick.display()))?;
    // From here on the kernel detaches the device when its last user is gone.
    words(&format!("losetup -d {device}"))?;
    limit_dirty(&device, dirty_kib)?;
    Ok(device)
}

/// Two benches may want the same free device.
fn attach(file: &Path) -> Result<String, String> {
    let mut attempts = 0;
    loop {
        let argv = ["losetup", "--find", "--show", "--direct-io=on", &file.display().to_string()];
        match run(&argv) {
            Ok(device) => return Ok(device.trim().into()),
            Err(message) if attempts == 20 => return Err(message),
            Err(_) => attempts += 1,
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn limit_dirty(device: &str, dirty_kib: u64) -> Result<(), String> {
    let number = words(&format!("lsblk -ndo MAJ:MIN {device}"))?;
    let folder = Path::new("/sys/class/bdi").join(number.trim());
    for (file, content) in [("strict_limit", "1".into()), ("max_bytes", (dirty_kib << 10).to_string())] {
        let path = folder.join(file);
        // Older kernels have no such limits; writes then reach the disk in bursts.
        if path.exists() {
            fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

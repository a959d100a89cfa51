//! The agent beside sadc: one second, a hundred loop devices under load, a thousand sockets.

use super::{SADC, Usage, binary, build, folder, size, size_under_xz};
use crate::Outcome;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const DEVICES: usize = 100;
const CONNECTIONS: usize = 500;
const DEVICE_BYTES: u64 = 64 << 20;

/// Loop devices, taken away again whatever happens.
struct Loops {
    devices: Vec<PathBuf>,
}

impl Loops {
    fn make(folder: &Path) -> Result<Loops, String> {
        let mut loops = Loops { devices: Vec::new() };
        for number in 0..DEVICES {
            let path = folder.join(format!("disk{number:03}"));
            let sized = File::create(&path).and_then(|file| file.set_len(DEVICE_BYTES));
            sized.map_err(|error| format!("{}: {error}", path.display()))?;
            let made = Command::new("losetup").args(["--find", "--show"]).arg(&path).output();
            let made = made.map_err(|error| format!("losetup: {error}"))?;
            if !made.status.success() {
                return Err(format!("losetup: {}", String::from_utf8_lossy(&made.stderr)));
            }
            loops.devices.push(String::from_utf8_lossy(&made.stdout).trim().into());
        }
        Ok(loops)
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        for device in &self.devices {
            let _ = Command::new("losetup").arg("--detach").arg(device).status();
        }
    }
}

pub fn run(seconds: u64) -> Outcome {
    build()?;
    crate::packages::install()?;
    let folder = folder("collect")?;
    let loops = Loops::make(&folder)?;
    let _sockets = sockets().map_err(|error| format!("sockets: {error}"))?;
    let (all, same) = (folder.join("all"), folder.join("same"));
    let names: Vec<String> =
        loops.devices.iter().filter_map(|path| Some(format!("{:?}", path.file_name()?.to_str()?))).collect();
    let port = "ports = [\"1-65535\"]";
    for (files, peers) in [(&all, true), (&same, false)] {
        let _ = fs::remove_dir_all(files);
        let text = format!(
            "directory = {files:?}\nname = \"bench\"\n[retention]\nkeep_free_mib = 0\n[disk]\ninclude = [{}]\n[net]\ninclude = [\"*\"]\n[peer]\nenabled = {peers}\n{port}\n",
            names.join(", ")
        );
        fs::write(files.with_extension("toml"), text).map_err(|error| error.to_string())?;
    }
    let sa = folder.join("bench.sa");
    let _ = fs::remove_file(&sa);
    let stop = Arc::new(AtomicBool::new(false));
    let load = load(&loops.devices, &stop);
    let agent = |config: &Path| {
        let spawned = Command::new(binary("laggard-agent"))
            .args(["run", "--config"])
            .arg(config.with_extension("toml"))
            .spawn();
        spawned.map_err(|error| format!("laggard-agent: {error}"))
    };
    let mut same_agent = agent(&same)?;
    let mut all_agent = agent(&all)?;
    // -S DISK: as Debian runs it.
    let sadc = Command::new(SADC).args(["-S", "DISK", "1", &(seconds + 60).to_string()]).arg(&sa).spawn();
    let mut sadc = sadc.map_err(|error| format!("{SADC}: {error}"))?;
    thread::sleep(Duration::from_secs(seconds));
    let usage = [Usage::of(&same_agent), Usage::of(&all_agent), Usage::of(&sadc)];
    for process in [&mut same_agent, &mut all_agent, &mut sadc] {
        end(process);
    }
    stop.store(true, Ordering::Relaxed);
    load.into_iter().for_each(|thread| drop(thread.join()));
    let sealed = |files: &Path| {
        fs::read_dir(files).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum::<u64>()
    };
    let packed = size_under_xz(&sa)?;
    let bytes = [sealed(&same), sealed(&all), packed];
    let days = 86_400.0 / seconds as f64;
    println!(
        "{DEVICES} loop devices under load, {} sockets, {seconds} s at 1 s; scaled to a day",
        2 * CONNECTIONS
    );
    println!("{:<34}{:>12}{:>12}{:>14}", "", "CPU-s/day", "peak MiB", "MB/day");
    for ((name, usage), bytes) in
        ["agent, what sadc records", "agent, with sockets by host", "sadc -S DISK, file under xz -1"]
            .iter()
            .zip(usage)
            .zip(bytes)
    {
        println!(
            "{name:<34}{:>12.1}{:>12.1}{:>14.2}",
            usage.cpu.as_secs_f64() * days,
            usage.peak_kib as f64 / 1024.0,
            bytes as f64 * days / 1e6
        );
    }
    println!("{:<34}{:>38.2}", "sadc's file as it is", size(&sa) as f64 * days / 1e6);
    println!(
        "agent to sadc: CPU {:.2}, bytes {:.2}; peak memory of the agent {:.1} MiB",
        usage[0].cpu.as_secs_f64() / usage[2].cpu.as_secs_f64(),
        bytes[0] as f64 / packed as f64,
        usage[1].peak_kib as f64 / 1024.0
    );
    Ok(())
}

fn end(process: &mut Child) {
    let _ = Command::new("kill").args(["-TERM", &process.id().to_string()]).status();
    let _ = process.wait();
}

fn sockets() -> std::io::Result<Vec<TcpStream>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS {
        held.push(TcpStream::connect(address)?);
        held.push(listener.accept()?.0);
    }
    Ok(held)
}

/// Writes to all devices, each at its own varying pace, and now and then reads.
fn load(devices: &[PathBuf], stop: &Arc<AtomicBool>) -> Vec<thread::JoinHandle<()>> {
    let halves = devices.chunks(devices.len().div_ceil(2));
    halves
        .enumerate()
        .map(|(half, devices)| {
            let (devices, stop) = (devices.to_vec(), stop.clone());
            thread::spawn(move || {
                let opened = devices
                    .iter()
                    .filter_map(|path| OpenOptions::new().read(true).write(true).open(path).ok());
                let mut files: Vec<File> = opened.collect();
                let mut seed = 88_172_645_463_325_252u64 + half as u64;
                let block = vec![7; 64 << 10];
                while !stop.load(Ordering::Relaxed) {
                    for file in &mut files {
                        seed ^= seed << 13;
                        seed ^= seed >> 7;
                        seed ^= seed << 17;
                        let length = 4096 << (seed % 5);
                        let place = seed % (DEVICE_BYTES - (1 << 20)) / 4096 * 4096;
                        let _ = file
                            .seek(SeekFrom::Start(place))
                            .and_then(|_| file.write_all(&block[..length as usize]))
                            .and_then(|()| file.sync_data());
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                    thread::sleep(Duration::from_millis(200));
                }
            })
        })
        .collect()
}

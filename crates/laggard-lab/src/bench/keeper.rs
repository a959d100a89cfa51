//! The keeper: the first process of the bench's namespaces. It builds everything, minds the servers, and takes all away.

use super::cgroup::{self, Groups};
use super::layout::{self, Layout};
use super::{Config, FileSystem, disks, network};
use crate::fault::Server;
use crate::host::command::{self, myself, words};
use rustix::process::{Pid, WaitOptions};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a bench that is up consists of. Inside the bench, in `ready.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// As asked for.
    pub config: Config,
    /// The storage servers, as faults need to know them.
    pub servers: Vec<Server>,
    /// How long it took to come up.
    pub seconds: f64,
    /// Whether servers have memory of their own.
    pub has_memory_limits: bool,
}

/// What the keeper can be asked to do with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Verb {
    /// Kill its process
    Stop,
    /// Start it, if it does not run
    Start,
    /// Stop it, check and mount its disk anew, and start it
    Remount,
}

struct Keeper<'a> {
    config: &'a Config,
    layout: &'a Layout,
    system: &'static dyn FileSystem,
    groups: Vec<Groups>,
    servers: Vec<Option<Child>>,
    others: Vec<Child>,
}

/// Builds the bench, then minds it until told to end.
pub fn keep(config: &Config, layout: &Layout) -> Result<(), String> {
    let begun = Instant::now();
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, stop.clone()).map_err(|error| error.to_string())?;
    }
    let mut keeper = Keeper {
        config,
        layout,
        system: config.system()?,
        groups: Vec::new(),
        servers: Vec::new(),
        others: Vec::new(),
    };
    let built = keeper.build(begun);
    let outcome = match built {
        Ok(listener) => keeper.mind(&listener, &stop),
        Err(message) => Err(message),
    };
    keeper.take_away();
    outcome
}

/// Writes something as far as the disks: some file systems say that they cannot only then.
fn is_written(probe: &Path) -> std::io::Result<()> {
    let mut file = fs::File::create(probe)?;
    file.write_all(b"here")?;
    file.sync_all()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

impl Keeper<'_> {
    fn build(&mut self, begun: Instant) -> Result<UnixListener, String> {
        let (config, layout) = (self.config, self.layout);
        let root = layout.root.display();
        // The disks' contents are here; the usual limit is half of the memory.
        let size_mib = config.disks_mib() + 256;
        words(&format!("mount -t tmpfs -o mode=0700,size={size_mib}m laggard-bench {root}"))?;
        for folder in ["log", "net", "brick", "client", "pid", "disk", "conf", "undo"] {
            fs::create_dir(layout.root.join(folder)).map_err(|error| format!("{root}/{folder}: {error}"))?;
        }
        let names: Vec<String> = (0..config.servers).map(layout::server).collect();
        network::bridge()?;
        let hosts = layout::hosts(config.servers, config.clients);
        // Disks are made beside the network: each waits for other things.
        let devices = std::thread::scope(|scope| -> Result<Vec<String>, String> {
            let disk = |name: &String| {
                disks::start(layout, name, &config.disk)?;
                disks::mount(layout, name, config.server.dirty_kib)
            };
            let disks = scope.spawn(move || names.iter().map(disk).collect::<Result<Vec<_>, _>>());
            for (number, (name, address)) in hosts.iter().enumerate() {
                network::host(layout, name, number, address, config.link)?;
            }
            disks.join().unwrap_or_else(|_| Err("the disks' thread died".into()))
        })?;
        self.system.prepare(config, layout)?;
        for service in self.system.services(layout) {
            let child = self.spawn(&service.host, &service.argv)?;
            let process = child.id();
            self.others.push(child);
            await_port(&service.host, process, service.port)?;
        }
        for index in 0..config.servers {
            self.groups.push(Groups::make(&layout.name, &layout::server(index), &config.server)?);
            self.servers.push(None);
            self.start(index)?;
        }
        self.await_servers()?;
        let listener = UnixListener::bind(layout.keeper()).map_err(|error| error.to_string())?;
        listener.set_nonblocking(true).map_err(|error| error.to_string())?;
        self.mount_clients()?;
        let servers = (0..config.servers).map(|index| self.describe(index, &devices[index])).collect();
        let ready = Ready {
            config: config.clone(),
            servers,
            seconds: begun.elapsed().as_secs_f64(),
            has_memory_limits: self.groups.iter().all(Groups::limits_memory),
        };
        let text = serde_json::to_string_pretty(&ready).map_err(|error| error.to_string())?;
        write(&layout.root.join("ready.new"), &text)?;
        fs::rename(layout.root.join("ready.new"), layout.root.join("ready.json"))
            .map_err(|error| error.to_string())?;
        Ok(listener)
    }

    fn describe(&self, index: usize, device: &str) -> Server {
        let name = layout::server(index);
        let ask = |verb: &str| {
            let words = ["bench", "server", verb, "--name", &self.layout.name, &name];
            std::iter::once(myself()).chain(words.map(String::from)).collect::<Vec<String>>()
        };
        Server {
            address: layout::server_address(index),
            third_party: Some(layout::THIRD_PARTY_ADDRESS.into()),
            interface: network::INTERFACE.into(),
            may_lose_link: true,
            device: device.into(),
            folder: self.layout.brick(&name),
            pid_file: self.layout.pid_file(&name),
            disk_socket: Some(self.layout.disk(&name, "socket")),
            groups: self.groups[index].folders(),
            stop: ask("stop"),
            start: ask("start"),
            remount: ask("remount"),
            name,
        }
    }

    fn spawn(&self, host: &str, argv: &[String]) -> Result<Child, String> {
        let mut words =
            vec!["nsenter".to_string(), format!("--net={}", self.layout.namespace(host).display())];
        words.push("--".into());
        words.extend_from_slice(argv);
        let log = fs::File::create(self.layout.log(&format!("{host}-process")));
        let log = log.map_err(|error| format!("{host}: {error}"))?;
        let copy = log.try_clone().map_err(|error| error.to_string())?;
        let mut process = command::command(&words)?;
        process.stdin(Stdio::null()).stdout(log).stderr(copy);
        process.spawn().map_err(|error| format!("{}: {error}", command::shown(argv)))
    }

    fn start(&mut self, index: usize) -> Result<(), String> {
        if self.servers[index].is_some() {
            return Ok(());
        }
        let name = layout::server(index);
        let child = self.spawn(&name, &self.system.server(index, self.layout))?;
        cgroup::enter(&self.groups[index].folders(), child.id())?;
        write(&self.layout.pid_file(&name), &child.id().to_string())?;
        self.servers[index] = Some(child);
        Ok(())
    }

    fn stop(&mut self, index: usize) {
        if let Some(mut child) = self.servers[index].take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn remount(&mut self, index: usize) -> Result<(), String> {
        self.stop(index);
        let name = layout::server(index);
        let brick = self.layout.brick(&name);
        let mounts = fs::read_to_string("/proc/mounts").map_err(|error| error.to_string())?;
        let is_brick = |line: &&str| line.split(' ').nth(1).is_some_and(|path| Path::new(path) == brick);
        let device = mounts.lines().find(is_brick).and_then(|line| line.split(' ').next());
        let device = device.ok_or_else(|| format!("{name}: its disk is not mounted"))?;
        // A second user keeps the loop device alive while nothing is mounted.
        let held = fs::File::open(device).map_err(|error| format!("{device}: {error}"))?;
        words(&format!("umount {}", brick.display()))?;
        // It exits with 1 if it has mended something, which is what it is for.
        let _ = words(&format!("e2fsck -fy {device}"));
        words(&format!("mount -t ext4 -o noatime,errors=remount-ro {device} {}", brick.display()))?;
        drop(held);
        self.start(index)
    }

    /// Until all of them listen: a client that comes before would do without those that do not, and heal them later, which looks
    /// like a fault.
    fn await_servers(&self) -> Result<(), String> {
        for (index, child) in self.servers.iter().enumerate() {
            let process = child.as_ref().map_or(0, Child::id);
            await_port(&layout::server(index), process, self.system.port())?;
        }
        Ok(())
    }

    fn mount_clients(&mut self) -> Result<(), String> {
        for index in 0..self.config.clients {
            let name = layout::client(index);
            let mountpoint = self.layout.mountpoint(&name);
            fs::create_dir(&mountpoint).map_err(|error| format!("{}: {error}", mountpoint.display()))?;
            let child = self.spawn(&name, &self.system.client(index, self.layout))?;
            self.others.push(child);
        }
        let patience = Instant::now() + Duration::from_secs(40);
        for index in 0..self.config.clients {
            let name = layout::client(index);
            let probe = self.layout.mountpoint(&name).join(format!(".{name}"));
            let mountpoint = self.layout.mountpoint(&name);
            let is_usable = || {
                let whole = is_mount(&mountpoint) && self.system.is_whole(self.config, &mountpoint);
                whole && is_written(&probe).is_ok()
            };
            while !is_usable() {
                if Instant::now() > patience {
                    let logs = [name.clone(), format!("{name}-process")].map(|name| self.layout.log(&name));
                    let log = logs.map(|path| fs::read_to_string(path).unwrap_or_default()).concat();
                    let last: Vec<&str> = log.lines().rev().take(5).collect();
                    return Err(format!("{name}: the file system does not come up: {}", last.join(" | ")));
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }

    /// Answers requests, buries the dead, until told to end.
    fn mind(&mut self, listener: &UnixListener, stop: &AtomicBool) -> Result<(), String> {
        let mut buried = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            if let Ok((stream, _)) = listener.accept() {
                let answer = self.serve(&stream).err().unwrap_or_else(|| "ok".into());
                let _ = writeln!(&stream, "{answer}");
            }
            for child in &mut self.servers {
                if let Some(Ok(Some(_))) = child.as_mut().map(Child::try_wait) {
                    *child = None;
                }
            }
            // Orphans of the whole namespace end up here.
            if buried.elapsed() > Duration::from_secs(2) {
                bury(&self.servers.iter().flatten().map(Child::id).collect::<Vec<u32>>());
                buried = Instant::now();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn serve(&mut self, stream: &UnixStream) -> Result<(), String> {
        stream.set_nonblocking(false).map_err(|error| error.to_string())?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).map_err(|error| error.to_string())?;
        let (verb, server) = line.trim().split_once(' ').ok_or("not a request")?;
        let index = (0..self.config.servers).find(|index| layout::server(*index) == server);
        let index = index.ok_or_else(|| format!("no server {server}"))?;
        match verb {
            "stop" => {
                self.stop(index);
                Ok(())
            }
            "start" => self.start(index),
            "remount" => self.remount(index),
            _ => Err(format!("no verb {verb}")),
        }
    }

    /// In the order in which nothing has to wait for something that is gone already.
    fn take_away(&mut self) {
        for child in &mut self.others {
            let _ = child.kill();
        }
        for index in 0..self.servers.len() {
            self.stop(index);
        }
        for index in 0..self.config.clients {
            let _ = words(&format!("umount -l {}", self.layout.mountpoint(&layout::client(index)).display()));
        }
        for index in 0..self.config.servers {
            let _ = words(&format!("umount {}", self.layout.brick(&layout::server(index)).display()));
        }
    }
}

/// Reaps orphans that have ended. A child that is still known is waited for by number elsewhere.
fn bury(known: &[u32]) {
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let mut fields = rest.split_whitespace();
        let is_ours =
            fields.next() == Some("Z") && fields.next() == Some("1") && !known.contains(&(pid as u32));
        if let (true, Some(pid)) = (is_ours, Pid::from_raw(pid)) {
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

/// Waits until a process listens to its port.
fn await_port(host: &str, process: u32, port: u16) -> Result<(), String> {
    let patience = Instant::now() + Duration::from_secs(20);
    while !listens(process, port) {
        if Instant::now() > patience {
            return Err(format!("{host}: nobody listens to port {port}"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Whether a port is listened to in the network namespace of a process.
fn listens(process: u32, port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    let is_listening = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        fields.next().is_some_and(|local| local.ends_with(&wanted)) && fields.nth(1) == Some("0A")
    };
    let tables = ["tcp", "tcp6"].map(|table| format!("/proc/{process}/net/{table}"));
    tables.iter().any(|path| fs::read_to_string(path).is_ok_and(|text| text.lines().any(is_listening)))
}

fn is_mount(path: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    mounts.lines().any(|line| line.split(' ').nth(1).is_some_and(|mounted| Path::new(mounted) == path))
}

/// Asks the keeper to do something with a server. From inside the bench.
pub fn ask(layout: &Layout, verb: Verb, server: &str) -> Result<(), String> {
    let socket: PathBuf = layout.keeper();
    let said = |error: std::io::Error| format!("{}: {error}", socket.display());
    let mut stream = UnixStream::connect(&socket).map_err(said)?;
    let word = match verb {
        Verb::Stop => "stop",
        Verb::Start => "start",
        Verb::Remount => "remount",
    };
    writeln!(stream, "{word} {server}").map_err(said)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).map_err(said)?;
    if answer.trim() == "ok" { Ok(()) } else { Err(format!("{server}: {}", answer.trim())) }
}

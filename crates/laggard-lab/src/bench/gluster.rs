//! GlusterFS, dispersed: every request touches all servers but one, so all of them are peers in everything.
//!
//! Volume files are written by hand and no glusterd runs: one process per server, nothing that changes them behind our back.

use super::config::Config;
use super::layout::{self, Layout};
use super::{FileSystem, Service};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The file system.
pub struct Gluster;

const PORT: u16 = 49152;

/// A layer of a volume file.
fn volume(text: &mut String, name: &str, kind: &str, options: &[(&str, &str)], below: &[String]) {
    let _ = writeln!(text, "volume {name}\n    type {kind}");
    for (option, value) in options {
        let _ = writeln!(text, "    option {option} {value}");
    }
    if !below.is_empty() {
        let _ = writeln!(text, "    subvolumes {}", below.join(" "));
    }
    let _ = writeln!(text, "end-volume\n");
}

fn brick_file(data: &Path) -> String {
    let data = data.display().to_string();
    let indices = format!("{data}/.glusterfs/indices");
    let mut text = String::new();
    let on = |name: &str| [name.to_string()];
    volume(&mut text, "posix", "storage/posix", &[("directory", &data)], &[]);
    volume(&mut text, "locks", "features/locks", &[], &on("posix"));
    volume(&mut text, "threads", "performance/io-threads", &[("thread-count", "16")], &on("locks"));
    volume(&mut text, "brick", "features/index", &[("index-base", &indices)], &on("threads"));
    let server: [(&str, &str); 3] = [
        ("transport-type", "tcp"),
        ("transport.socket.listen-port", &PORT.to_string()),
        ("auth.addr.brick.allow", "*"),
    ];
    volume(&mut text, "server", "protocol/server", &server, &on("brick"));
    text
}

fn client_file(servers: usize) -> String {
    let mut text = String::new();
    let names: Vec<String> = (0..servers).map(layout::server).collect();
    for (index, name) in names.iter().enumerate() {
        let options: [(&str, &str); 5] = [
            ("transport-type", "tcp"),
            ("remote-host", &layout::server_address(index)),
            ("remote-port", &PORT.to_string()),
            ("remote-subvolume", "brick"),
            ("ping-timeout", "20"),
        ];
        volume(&mut text, name, "protocol/client", &options, &[]);
    }
    let disperse = [("redundancy", "1"), ("read-policy", "round-robin")];
    volume(&mut text, "disperse", "cluster/disperse", &disperse, &names);
    volume(&mut text, "write-behind", "performance/write-behind", &[], &["disperse".into()]);
    volume(&mut text, "read-ahead", "performance/read-ahead", &[], &["write-behind".into()]);
    text
}

impl FileSystem for Gluster {
    fn name(&self) -> &'static str {
        "gluster"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["glusterfs-server", "glusterfs-client", "attr"]
    }

    fn port(&self) -> u16 {
        PORT
    }

    fn check(&self, config: &Config) -> Result<(), String> {
        let data = config.servers - 1;
        match data.is_power_of_two() {
            true => Ok(()),
            false => {
                Err(format!("servers = {}: one more than a power of two (3, 5, 9, 17, …)", config.servers))
            }
        }
    }

    fn prepare(&self, config: &Config, layout: &Layout) -> Result<(), String> {
        let write = |path: &Path, text: &str| {
            fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
        };
        for index in 0..config.servers {
            let name = layout::server(index);
            let data = layout.brick(&name).join("data");
            let indices = data.join(".glusterfs/indices");
            fs::create_dir_all(&indices).map_err(|error| format!("{}: {error}", indices.display()))?;
            write(&layout.conf(&format!("{name}.vol")), &brick_file(&data))?;
        }
        write(&layout.conf("client.vol"), &client_file(config.servers))
    }

    fn services(&self, _: &Layout) -> Vec<Service> {
        Vec::new()
    }

    fn server(&self, index: usize, layout: &Layout) -> Vec<String> {
        let name = layout::server(index);
        let volume = layout.conf(&format!("{name}.vol")).display().to_string();
        let log = layout.log(&name).display().to_string();
        ["glusterfsd", "-N", "-f", &volume, "-l", &log].map(String::from).into()
    }

    fn is_whole(&self, config: &Config, mountpoint: &Path) -> bool {
        let graph = mountpoint.join(".meta/graphs/active");
        let is_connected = |index: usize| {
            let state = fs::read_to_string(graph.join(layout::server(index)).join("private"));
            state.is_ok_and(|state| state.lines().any(|line| line.trim() == "connected = 1"))
        };
        (0..config.servers).all(is_connected)
    }

    fn client(&self, index: usize, layout: &Layout) -> Vec<String> {
        let name = layout::client(index);
        let volume = layout.conf("client.vol").display().to_string();
        let log = layout.log(&name).display().to_string();
        let mountpoint = layout.mountpoint(&name).display().to_string();
        ["glusterfs", "-N", "-f", &volume, "-l", &log, "--direct-io-mode=enable", &mountpoint]
            .map(String::from)
            .into()
    }
}

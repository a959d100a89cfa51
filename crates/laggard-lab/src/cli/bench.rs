//! `laggard-lab bench`: a real parallel file system on this machine, up and down.

use super::{Outcome, deliver};
use crate::bench::keeper::{self, Verb as ServerVerb};
use crate::bench::{Bench, Config, Layout, state};
use crate::campaign::experiment::Stage;
use crate::campaign::site::Site;
use crate::host::{hand, journal};
use crate::packages;
use clap::{Args as ClapArgs, Subcommand};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A real parallel file system on this machine, with emulated disks and shaped links
#[derive(ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Bring it up; needs root
    Up {
        #[command(flatten)]
        which: Which,
        /// Size, disks, links [default: nine GlusterFS servers; `bench example` prints them]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Take it down; nothing is left
    Down(Which),
    /// What is up
    Status,
    /// Print a configuration with every value
    Example,
    /// Print its machines as a site file, as `run` and `inject` take them with --site
    Site(Which),
    /// Stop or start the process of one server; inside the bench
    #[command(hide = true)]
    Server {
        verb: ServerVerb,
        #[command(flatten)]
        which: Which,
        server: String,
    },
    /// The first process of the bench's namespaces
    #[command(hide = true)]
    Keep {
        #[command(flatten)]
        which: Which,
        config: String,
    },
}

#[derive(ClapArgs)]
struct Which {
    /// Several may be up, under different names
    #[arg(long, value_name = "NAME", default_value = "bench")]
    name: String,
}

pub fn run(args: &Args) -> Result<Outcome, String> {
    match &args.verb {
        Verb::Up { which, config } => {
            let config = Config::load(config.as_deref())?;
            check_root()?;
            packages::install(&packages::BENCH)?;
            packages::install(config.system()?.packages())?;
            let bench = Bench::up(&which.name, &config, state::Life::UntilDown)?;
            deliver(&describe(&bench)?, None)?;
        }
        Verb::Down(which) => {
            check_root()?;
            match Bench::find(&which.name) {
                Some(bench) => bench.down()?,
                None => {
                    state::clean(&which.name)?;
                    return Err(format!("no bench {} is up", which.name));
                }
            }
        }
        Verb::Status => {
            let found = Bench::all();
            let lines = found.iter().map(|bench| describe(bench).unwrap_or_else(|message| message + "\n"));
            let text: String = lines.collect();
            deliver(if found.is_empty() { "no bench is up\n" } else { &text }, None)?;
        }
        Verb::Example => {
            let text = toml::to_string(&Config::default()).map_err(|error| error.to_string())?;
            deliver(&text, None)?;
        }
        Verb::Site(which) => {
            let bench = Bench::find(&which.name).ok_or_else(|| format!("no bench {} is up", which.name))?;
            let site = Site { shares_folder: false, is_bench: false, ..Site::of_bench(&bench)? };
            deliver(&toml::to_string(&site).map_err(|error| error.to_string())?, None)?;
        }
        Verb::Server { verb, which, server } => keeper::ask(&Layout::new(&which.name), *verb, server)?,
        Verb::Keep { which, config } => {
            let config = serde_json::from_str(config).map_err(|error| error.to_string())?;
            keeper::keep(&config, &Layout::new(&which.name))?;
        }
    }
    Ok(Outcome::Good)
}

/// Everything here is root's business; better said before than half-way.
pub fn check_root() -> Result<(), String> {
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err("namespaces, mounts and loop devices need root: run it with sudo".into()),
    }
}

fn describe(bench: &Bench) -> Result<String, String> {
    let (ready, layout) = (bench.ready()?, &bench.layout);
    let config = &ready.config;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "bench {}: {} on {} servers, {} clients; disks {} MB/s, links {} Mbit/s; up in {:.1} s; keeper {}",
        layout.name,
        config.file_system,
        config.servers,
        config.clients,
        config.disk.speed_mb_s,
        config.link.mbit_s,
        ready.seconds,
        bench.keeper
    );
    if !ready.has_memory_limits {
        let _ = writeln!(
            text,
            "  servers share all memory: this machine has no control group for it; files may be read from there"
        );
    }
    for server in &ready.servers {
        let pid = std::fs::read_to_string(bench.outside(&server.pid_file)).unwrap_or_default();
        let runs = bench.outside(Path::new("/proc")).join(pid.trim()).join("stat").exists();
        let state = if runs { "runs" } else { "does not run" };
        let _ = writeln!(text, "  {:<7} {:<12} {:<12} {state}", server.name, server.address, server.device);
    }
    let _ = writeln!(
        text,
        "  clients see it at {}; enter with: nsenter --target {} --mount --pid --net=…",
        layout.mountpoint("client*").display(),
        bench.keeper
    );
    Ok(text)
}

/// Undo whatever killed processes have left on this machine: faults, and dead benches
#[derive(ClapArgs)]
pub struct CleanArgs {
    /// Also take down the benches that are up
    #[arg(long)]
    all: bool,
}

pub fn clean(args: &CleanArgs) -> Result<Outcome, String> {
    check_root()?;
    let mut failures = Vec::new();
    let mut undone = journal::revert_all(Path::new(hand::JOURNALS)).unwrap_or_else(|message| {
        failures.push(message);
        0
    });
    let _ = std::fs::remove_dir(hand::JOURNALS);
    let benches = Bench::all();
    for bench in benches.iter().filter(|_| !args.all) {
        match undo_in(bench) {
            Ok(count) => undone += count,
            Err(message) => failures.push(format!("bench {}: {message}", bench.layout.name)),
        }
    }
    let taken_down = if args.all { benches.as_slice() } else { &[] };
    failures.extend(taken_down.iter().filter_map(|bench| bench.down().err()));
    let dead = state::dead();
    failures.extend(dead.iter().filter_map(|name| state::clean(name).err()));
    println!(
        "{undone} faults undone, {} benches taken down, {} dead ones removed",
        taken_down.len(),
        dead.len()
    );
    if failures.is_empty() { Ok(Outcome::Good) } else { Err(failures.join("; ")) }
}

/// Undoes what killed hands have left in a bench that is up: a new hand does that first. Says how many journals there were.
fn undo_in(bench: &Bench) -> Result<usize, String> {
    let journals = || {
        let hosts =
            std::fs::read_dir(bench.outside(&bench.layout.root.join("undo"))).into_iter().flatten().flatten();
        let entries = hosts.flat_map(|host| std::fs::read_dir(host.path()).into_iter().flatten().flatten());
        entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "undo")).count()
    };
    let before = journals();
    if before > 0 {
        drop(Stage::new(&Site::of_bench(bench)?)?);
    }
    Ok(before.saturating_sub(journals()))
}

//! `laggard-lab sim`: a recording of a simulated cluster, with its truth beside it, to try the tool on.

use super::{Outcome, bar, said};
use clap::{Args as ClapArgs, Subcommand};
use laggard_sim::bench::{self, Cluster, Experiment, Fault, FaultKind, Workload};
use laggard_sim::production::{self, CATALOGUE, Incident, Level, Production, Reading, Site};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// 2026-01-15T02:00:00Z, the first moment of every recording.
const START_S: i64 = 1_768_442_400;

/// Simulate a cluster: a recording as CSV, and what was wrong in it
#[derive(ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    Bench(BenchArgs),
    Production(ProductionArgs),
}

/// FAST'10's test bench, by the second
#[derive(ClapArgs)]
struct BenchArgs {
    /// pvfs-10-10, pvfs-6-12, lustre-10-10, lustre-6-12, or one of the harder bench, such as gluster-4-5
    #[arg(long, default_value = "lustre-10-10")]
    cluster: String,

    /// ddw, ddr, iozonew, iozoner or postmark
    #[arg(long, default_value = "ddw")]
    workload: String,

    /// disk-hog, disk-busy, write-network-hog, read-network-hog, receive-pktloss, send-pktloss or none
    #[arg(long, default_value = "none")]
    fault: String,

    /// The faulty server, from 1
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    server: u64,

    /// Share of the published fault
    #[arg(long, default_value_t = 1.0)]
    severity: f64,

    /// Chance of the run, and of the machines
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// A new directory for recording.csv, sockets.csv and truth.toml
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// LISA'13's machine room
#[derive(ClapArgs)]
struct ProductionArgs {
    /// Length of the recording
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=24 * 400))]
    hours: u32,

    /// Seconds between samples: 15, or 1 for shorter spans
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=3600))]
    interval: u32,

    /// Priorities of attachments that are recorded: 2 are 2304 attachments, 8 are 9216
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=8))]
    priorities: u8,

    /// Event of the paper's tables 4 to 7, by its place there (1 to 23), from a quarter of the recording on
    #[arg(long, value_name = "N")]
    event: Option<usize>,

    /// How unevenly the site is used: even, mild, uneven, harsh
    #[arg(long, default_value = "even", value_parser = level)]
    level: Level,

    /// Chance of the run, and of the machines
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// A new directory for recording.csv, topology.toml and truth.toml
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// A level by its name.
pub fn level(name: &str) -> Result<Level, String> {
    let known = || Level::ALL.map(Level::name).join(", ");
    Level::ALL.into_iter().find(|level| level.name() == name).ok_or_else(|| format!("one of {}", known()))
}

pub fn run(args: &Args) -> Result<Outcome, String> {
    match &args.kind {
        Kind::Bench(args) => run_bench(args)?,
        Kind::Production(args) => run_production(args)?,
    }
    Ok(Outcome::Good)
}

fn create(directory: &Path) -> Result<(), String> {
    fs::create_dir(directory).map_err(|error| said(directory, &error))
}

fn open(directory: &Path, name: &str) -> Result<(PathBuf, BufWriter<File>), String> {
    let path = directory.join(name);
    let file = File::create(&path).map_err(|error| said(&path, &error))?;
    Ok((path, BufWriter::new(file)))
}

fn write(directory: &Path, name: &str, text: &str) -> Result<(), String> {
    let path = directory.join(name);
    fs::write(&path, text).map_err(|error| said(&path, &error))
}

fn run_bench(args: &BenchArgs) -> Result<(), String> {
    let cluster = Cluster::parse(&args.cluster, args.seed).ok_or_else(|| {
        let known = Cluster::all(0).into_iter().chain(Cluster::harder(0));
        let plain = |cluster: Cluster| cluster.name().to_lowercase().replace(['/', ' '], "-");
        format!(
            "--cluster {}: the clusters are {}",
            args.cluster,
            known.map(plain).collect::<Vec<_>>().join(", ")
        )
    })?;
    let names = |names: Vec<&str>| names.join(", ");
    let workload = Workload::parse(&args.workload).ok_or_else(|| {
        format!(
            "--workload {}: the workloads are {}",
            args.workload,
            names(Workload::ALL.map(Workload::name).into())
        )
    })?;
    if !(args.severity > 0.0 && args.severity <= 1.0) {
        return Err(format!("--severity {}: a number above 0, up to 1", args.severity));
    }
    let server = args.server as usize - 1;
    if server >= cluster.servers {
        return Err(format!("--server {}: {} has {} servers", args.server, cluster.name(), cluster.servers));
    }
    let fault = match args.fault.as_str() {
        "none" => None,
        name => {
            let kind = FaultKind::parse(name).ok_or_else(|| {
                format!(
                    "--fault {name}: the faults are none, {}",
                    names(FaultKind::ALL.map(FaultKind::name).into())
                )
            })?;
            Some(Fault { severity: args.severity, ..Fault::published(kind, server) })
        }
    };
    create(&args.output)?;
    let faults: Vec<Fault> = fault.into_iter().collect();
    let trace =
        bench::run(&Experiment { cluster, workload, faults: faults.clone(), seed: args.seed, scale: 1.0 });

    let (path, mut file) = open(&args.output, "recording.csv")?;
    let columns: Vec<&str> = bench::METRICS.iter().map(|metric| metric.name()).collect();
    let mut text = format!("timestamp,component,{}\n", columns.join(","));
    for second in 0..trace.seconds {
        for server in 0..trace.servers {
            let _ = write!(text, "{},{}", START_S + second as i64, cluster.server_name(server));
            for metric in bench::METRICS {
                let _ = write!(text, ",{}", trace.row(metric, second)[server]);
            }
            text.push('\n');
        }
    }
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(|error| said(&path, &error))?;

    let (path, mut file) = open(&args.output, "sockets.csv")?;
    let mut text = String::from("timestamp,client,server,socket_of,cwnd\n");
    for socket in &trace.sockets {
        let (server, of) =
            (cluster.server_name(socket.server), if socket.on_server { "server" } else { "client" });
        for (second, cwnd) in socket.cwnd.iter().enumerate() {
            let _ = writeln!(
                text,
                "{},client{:02},{server},{of},{cwnd}",
                START_S + second as i64,
                socket.client + 1
            );
        }
    }
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(|error| said(&path, &error))?;

    let mut truth = format!(
        "cluster = \"{}\"\nworkload = \"{}\"\nseed = {}\nruntime_s = {:.0}\n",
        cluster.name(),
        workload.name(),
        args.seed,
        trace.runtime_s
    );
    for fault in &faults {
        let _ = write!(
            truth,
            "\n[[faults]]\nfault = \"{}\"\ncause = \"{}\"\ncomponent = \"{}\"\nfrom_s = {}\nto_s = {}\nseverity = {}\n",
            fault.kind.name(),
            fault.kind.cause().name(),
            cluster.server_name(fault.server),
            START_S + fault.from_s as i64,
            START_S + fault.to_s as i64,
            fault.severity
        );
    }
    write(&args.output, "truth.toml", &truth)?;
    let folder = args.output.display();
    println!("{} s of {} under {} in {folder}", trace.seconds, cluster.name(), workload.name());
    println!("next: laggard diagnose {folder}/recording.csv");
    Ok(())
}

fn run_production(args: &ProductionArgs) -> Result<(), String> {
    let site = Site { hardware: args.seed, priorities: usize::from(args.priorities), level: args.level };
    let length_s = f64::from(args.hours) * 3600.0;
    let mut truth = format!("seed = {}\nhours = {}\n", args.seed, args.hours);
    let mut incidents = Vec::new();
    if let Some(number) = args.event {
        let entry = number
            .checked_sub(1)
            .and_then(|index| CATALOGUE.get(index))
            .ok_or_else(|| format!("--event {number}: the catalogue has events 1 to {}", CATALOGUE.len()))?;
        let from_s = length_s / 4.0;
        let to_s = (from_s + entry.duration_h * 3600.0).min(length_s);
        incidents.extend((entry.happenings)().into_iter().map(|happening| Incident {
            happening,
            from_s,
            to_s,
        }));
        let _ = write!(
            truth,
            "\n[[events]]\nkind = \"{}\"\ndevice = \"{}\"\ntable = {}\nfrom_s = {}\nto_s = {}\n",
            entry.kind,
            entry.device,
            entry.table,
            START_S + from_s as i64,
            START_S + to_s as i64
        );
    }
    create(&args.output)?;
    write(&args.output, "topology.toml", &site.topology())?;
    write(&args.output, "truth.toml", &truth)?;
    let (path, mut file) = open(&args.output, "recording.csv")?;
    let columns: Vec<&str> = production::METRICS.iter().map(|metric| metric.name()).collect();
    writeln!(file, "timestamp,component,{}", columns.join(",")).map_err(|error| said(&path, &error))?;
    let names: Vec<String> = site.attachments().map(production::Attachment::name).collect();
    let slots = u64::from(args.hours) * 3600 / u64::from(args.interval);
    let bar = bar("slots", slots);
    let mut production = Production::new(site, args.interval, args.seed, incidents);
    let idle = ",0".repeat(production::METRICS.len());
    let mut line = String::new();
    for _ in 0..slots {
        let slot = production.next_slot();
        for (name, reading) in names.iter().zip(&slot.readings) {
            let Some(reading) = reading else { continue };
            line.clear();
            let _ = write!(line, "{},{name}", START_S + slot.time_s as i64);
            if *reading == Reading::default() {
                // Most attachments are second choices and idle.
                line.push_str(&idle);
            } else {
                for metric in production::METRICS {
                    let _ = write!(line, ",{:.2}", reading.value(metric));
                }
            }
            line.push('\n');
            file.write_all(line.as_bytes()).map_err(|error| said(&path, &error))?;
        }
        bar.inc(1);
    }
    file.flush().map_err(|error| said(&path, &error))?;
    bar.finish_and_clear();
    let folder = args.output.display();
    println!("{} hours of {} attachments in {folder}", args.hours, site.len());
    println!("next: laggard diagnose {folder}/recording.csv --topology {folder}/topology.toml");
    Ok(())
}

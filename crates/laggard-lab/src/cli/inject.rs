//! `laggard-lab inject`: one fault, for a while, into one server of a bench or of a test cluster.

use super::Outcome;
use super::bench::check_root;
use crate::bench::Bench;
use crate::campaign::experiment::Stage;
use crate::campaign::site::Site;
use crate::fault;
use crate::host::hand::MARKER;
use clap::Args as ClapArgs;
use std::path::PathBuf;
use std::time::Duration;

/// Inject a fault into a server, and take it back after a while
///
/// It is taken back when the time is over, when this command is interrupted or killed, and by the machines themselves if they lose it.
/// Machines of a cluster must have been given for it, by the file /etc/laggard-lab-may-break-this-host.
#[derive(ClapArgs)]
pub struct Args {
    /// Its name; `laggard-lab run --faults` prints them
    fault: String,

    /// The server
    #[arg(long, value_name = "SERVER")]
    on: String,

    /// For how long
    #[arg(long = "for", value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,

    /// A bench that is up
    #[arg(long, value_name = "NAME", default_value = "bench", conflicts_with = "site")]
    bench: String,

    /// Machines of a test cluster, in place of a bench
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<Outcome, String> {
    let fault = fault::find(&args.fault)?;
    let site = match &args.site {
        Some(path) => Site::load(path)?,
        None => {
            check_root()?;
            let bench = Bench::find(&args.bench);
            let missing =
                || format!("no bench {} is up; `laggard-lab bench up` first, or --site", args.bench);
            Site::of_bench(&bench.ok_or_else(missing)?)?
        }
    };
    let names: Vec<&str> = site.servers.iter().map(|server| server.machine.name.as_str()).collect();
    let index = names.iter().position(|name| *name == args.on);
    let index = index.ok_or_else(|| format!("--on {}: the servers are {}", args.on, names.join(", ")))?;
    let stage = Stage::new(&site)?;
    let injected =
        stage.inject(fault, index, f64::from(args.seconds) + 5.0).map_err(|message| match args.site {
            Some(_) if message.contains("the hand is gone") => format!("{message} (has it {MARKER}?)"),
            _ => message,
        })?;
    println!("{} on {} for {} s: {}", fault.name, args.on, args.seconds, fault.summary);
    std::thread::sleep(Duration::from_secs(args.seconds.into()));
    for (host, id) in injected.into_iter().rev() {
        host.undo(id)?;
    }
    println!("undone");
    Ok(Outcome::Good)
}

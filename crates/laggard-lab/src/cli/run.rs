//! `laggard-lab run`: a campaign of real runs.

use super::bench::check_root;
use super::{Outcome, deliver};
use crate::campaign::plan::Plan;
use crate::campaign::site::Site;
use crate::campaign::{self, Place};
use crate::fault::FAULTS;
use crate::packages;
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};

/// Run a campaign: faults in a real file system, recorded, with the truth beside
///
/// Clean, fault, clean, for every combination of the plan. What is there already is not run again: an interrupted campaign goes on
/// where it was. `laggard-lab score --real FOLDER` judges what was recorded.
#[derive(ClapArgs)]
pub struct Args {
    /// The plan [default values: `laggard-lab run --example`]
    #[arg(value_name = "PLAN", required_unless_present_any = ["example", "faults"])]
    plan: Option<PathBuf>,

    /// Where recordings go [default: the plan's name without its ending]
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Machines of a test cluster, in place of a bench; each must have the marker file
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,

    /// Benches at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=8))]
    parallel: u64,

    /// Print a plan with every value
    #[arg(long)]
    example: bool,

    /// Print the faults
    #[arg(long)]
    faults: bool,
}

pub fn run(args: &Args) -> Result<Outcome, String> {
    if args.example {
        let text = toml::to_string(&Plan::default()).map_err(|error| error.to_string())?;
        return deliver(&text, None).map(|()| Outcome::Good);
    }
    if args.faults {
        let line = |fault: &&crate::fault::Fault| format!("{:<18} {}\n", fault.name, fault.summary);
        return deliver(&FAULTS.iter().map(line).collect::<String>(), None).map(|()| Outcome::Good);
    }
    let path = args.plan.as_deref().unwrap_or(Path::new(""));
    let plan = Plan::load(path)?;
    let campaign = args.output.clone().unwrap_or_else(|| path.with_extension(""));
    let site = args.site.as_deref().map(Site::load).transpose()?;
    if site.is_none() {
        check_root()?;
        plan.check_memory().map_err(|message| format!("{}: {message}", path.display()))?;
    }
    check_same(&campaign, path)?;
    let place = match site {
        Some(site) => Place::Cluster(site),
        None => {
            packages::install(&packages::BENCH)?;
            for bench in plan.all_benches() {
                packages::install(bench.system()?.packages())?;
            }
            Place::Benches { parallel: args.parallel as usize, name: bench_name(&campaign) }
        }
    };
    let done = campaign::run(&plan, &place, &campaign)?;
    println!("{} runs recorded in {}", done.recorded, campaign.display());
    if done.failed.is_empty() {
        return Ok(Outcome::Good);
    }
    Err(format!("{} runs failed; run it again for them: {}", done.failed.len(), done.failed.join("; ")))
}

/// Benches are called after their campaign: two campaigns may run side by side. A long name keeps its end, where names differ.
fn bench_name(campaign: &Path) -> String {
    let name = campaign.file_name().unwrap_or_default().to_string_lossy();
    let letters: Vec<char> = name.chars().filter(char::is_ascii_alphanumeric).collect();
    letters[letters.len().saturating_sub(20)..].iter().collect()
}

/// A campaign that goes on must go on with its plan.
fn check_same(campaign: &Path, plan: &Path) -> Result<(), String> {
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let (text, copy) = (read(plan)?, campaign.join("plan.toml"));
    if copy.exists() {
        return match read(&copy)? == text {
            true => Ok(()),
            false => Err(format!("{} was made with another plan; take another --output", campaign.display())),
        };
    }
    std::fs::create_dir_all(campaign).map_err(|error| format!("{}: {error}", campaign.display()))?;
    std::fs::write(&copy, text).map_err(|error| format!("{}: {error}", copy.display()))
}

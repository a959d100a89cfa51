//! `laggard fsu watch`: utilization while it is recorded.

use crate::cli::Failure;
use crate::cli::console::{self, Console};
use crate::cli::input::Input;
use crate::report::utilization::words;
use clap::{Args as ClapArgs, ValueEnum};
use laggard_core::diagnose::Conclusion;
use laggard_core::fsu::Class;
use laggard_engine::live::await_first;
use laggard_engine::utilization::{FileSystem, Point, coefficients, file_systems, grid_s, models, warnings};
use laggard_engine::{EngineError, Listener, Warning};
use laggard_store::activity::following;
use laggard_store::time;
use laggard_store::transfer::live::LiveLoads;
use laggard_store::transfer::{self, Target};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Say how busy file systems are while they are recorded: a line each interval
#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// What a transaction costs, from `laggard fsu calibrate`
    #[arg(long, value_name = "FILE")]
    coefficients: PathBuf,

    /// Each target too
    #[arg(long)]
    targets: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Lines::Text)]
    format: Lines,
}

/// Output formats of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Lines {
    /// A line for people.
    Text,
    /// A line of JSON.
    Json,
}

/// Collectors write every five seconds.
const EVERY: Duration = Duration::from_secs(1);

pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    let console = Console::default();
    let coefficients = coefficients(&args.coefficients)?;
    let source = args.input.source();
    let topology = source.topology()?;
    await_first(&source.paths, &console)?;
    if !following::has_files(&source.paths) {
        return Err(EngineError::NothingToFollow("watch").into());
    }
    let mut told_s = None;
    loop {
        let recording = source.recording(&console)?;
        console.clear();
        let hosts = recording.hosts();
        let targets = transfer::targets(hosts);
        if targets.is_empty() {
            let missing = "neither targets nor disks in what is recorded";
            return Err(EngineError::Utilization(missing.into()).into());
        }
        warnings(&targets, &coefficients).iter().for_each(|warning| console.warn(warning));
        let fullness = transfer::fullness(hosts, &targets);
        let models = models(&targets, &fullness, &coefficients)?;
        let systems = file_systems(&targets, topology.as_ref());
        let grid_s = grid_s(args.input.interval, &recording);
        let mut live = LiveLoads::new(hosts, &targets, &args.input.paths, grid_s);
        // What was recorded before is for `report`.
        let mut from_s = *told_s.get_or_insert_with(|| hosts.span_s().map_or(0, |(_, last_s)| last_s));
        drop(recording);
        console.warn(&Warning::Following { components: targets.len() });
        loop {
            let mut lines = Vec::new();
            let look = live.look(&mut |block| {
                let mut seen: BTreeMap<(i64, usize), Vec<(usize, Point)>> = BTreeMap::new();
                for (of, system) in systems.iter().enumerate() {
                    for index in system.targets.iter().copied() {
                        for (slot, load) in block.of(index).filter(|(slot, _)| block.time_s(*slot) >= from_s)
                        {
                            let one = Point::of_one(load, &models[index]);
                            seen.entry((block.time_s(slot), of)).or_default().push((index, one));
                        }
                    }
                }
                for ((time_s, of), each) in seen {
                    from_s = time_s + 1;
                    let (all, system) = (Point::at_once(each.iter().map(|(_, one)| one)), &systems[of]);
                    lines.push(Told { time_s, system, all, each, targets: &targets }.line(args));
                }
            });
            look.unread.into_iter().for_each(|what| console.warn(&Warning::Unread(what)));
            if !console::lines(&lines)? {
                return Ok(Conclusion::Quiet);
            }
            if let Some(name) = look.newcomer {
                console.warn(&Warning::Newcomer { name, regroups: false });
                told_s = Some(from_s);
                break;
            }
            std::thread::sleep(EVERY);
        }
    }
}

/// One file system in one slot.
struct Told<'a> {
    time_s: i64,
    system: &'a FileSystem,
    all: Point,
    /// Targets with what each did: those of which something is known.
    each: Vec<(usize, Point)>,
    targets: &'a [Target],
}

impl Told<'_> {
    /// Each target with its utilization, where it is known.
    fn each(&self) -> impl DoubleEndedIterator<Item = (&str, f64)> {
        self.each.iter().map(|(index, seen)| (self.targets[*index].name.as_str(), seen.utilization()))
    }

    fn line(&self, args: &Args) -> String {
        let (seen, missing) = (&self.all, self.system.targets.len() - self.each.len());
        let utilization = seen.utilization();
        let (busiest, highest) =
            self.each().rev().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("none", utilization));
        let achievable = seen.achievable();
        let [read, written] = seen.rates();
        if args.format == Lines::Json {
            let mut line = json!({
                "time": time::format(self.time_s),
                "file_system": self.system.name,
                "utilization": utilization,
                "class": Class::of(utilization).name(),
                "read_bytes_s": read,
                "written_bytes_s": written,
                "achievable_bytes_s": achievable,
                "busiest": { "target": busiest, "utilization": highest },
                "missing_targets": missing,
            });
            if args.targets {
                line["targets"] = self.each().map(|(name, value)| (name.to_string(), json!(value))).collect();
            }
            return line.to_string();
        }
        let missing = if missing > 0 { format!("  {missing} targets missing") } else { String::new() };
        let mut line = format!(
            "{}  {}  {:>7} {:<8}  read {:>9}  written {:>9}  achievable {:>9}  busiest {busiest} {}{missing}",
            time::format(self.time_s),
            self.system.name,
            words::percent(utilization),
            Class::of(utilization).name(),
            words::rate(read),
            words::rate(written),
            achievable.map_or_else(|| "-".into(), words::rate),
            words::percent(highest),
        );
        if args.targets {
            self.each().for_each(|(name, value)| line += &format!("\n    {name}  {}", words::percent(value)));
        }
        line
    }
}

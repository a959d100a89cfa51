//! `laggard fsu tests`: calibration tests out of a recording, as the paper made them: a load that keeps the disks busy, and the transactions
//! that were counted meanwhile.

use crate::cli::console::Console;
use crate::cli::input::{self, Input};
use crate::cli::{Failure, deliver};
use clap::Args as ClapArgs;
use laggard_core::diagnose::Conclusion;
use laggard_core::fsu::Direction;
use laggard_core::fsu::coefficients::matches;
use laggard_store::transfer::{self, Composition, Target};
use std::fmt::Write;
use std::path::PathBuf;

/// More of the transactions than this go the other way: then it is a test of neither.
const STRAY: f64 = 0.01;

/// Take calibration tests out of a recording, by when they ran
///
/// For tests with a load of your own (IOR, obdfilter-survey, dd) on disks that nobody else uses: one size of transfers at a time, reads and
/// writes apart. What counts is what was counted between server and disk, whatever was asked for.
#[derive(ClapArgs)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// A test: NAME,FROM,TO, such as 4k-write,2026-11-16T12:00:00Z,2026-11-16T12:01:00Z (repeatable)
    #[arg(long = "test", value_name = "NAME,FROM,TO", required = true, value_parser = test)]
    tests: Vec<Test>,

    /// Only targets of this name, or pattern with a `*`; else those that were busy with it
    #[arg(long, value_name = "NAME")]
    target: Option<String>,

    /// Where to write the tests [default: stdout]
    #[arg(short, long, value_name = "TESTS.csv")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone)]
struct Test {
    name: String,
    from_s: i64,
    to_s: i64,
}

fn test(text: &str) -> Result<Test, String> {
    let words: Vec<&str> = text.split(',').map(str::trim).collect();
    let [name, from, to] = words[..] else { return Err("NAME,FROM,TO".into()) };
    let (from_s, to_s) = (input::moment(from)?, input::moment(to)?);
    if from_s >= to_s {
        return Err(format!("{name} ends before it begins"));
    }
    Ok(Test { name: name.into(), from_s, to_s })
}

pub fn run(args: &Args) -> Result<Conclusion, Failure> {
    let console = Console::default();
    let recording = args.input.source().recording(&console)?;
    let is_wanted = |target: &Target| {
        target.has_sizes && args.target.as_ref().is_none_or(|pattern| matches(pattern, &target.name))
    };
    let targets: Vec<Target> = transfer::targets(recording.hosts()).into_iter().filter(is_wanted).collect();
    if targets.is_empty() {
        return Err(Failure::Usage(
            "no such targets with transactions by size in the data: brw_stats, or the agent's source block"
                .into(),
        ));
    }
    let files = recording.hosts().iter().flat_map(|host| &host.files);
    let interval_s = files.map(|file| i64::from(file.interval_s)).max().unwrap_or(1);
    let mut out = String::from("test,direction,seconds,size_bytes,count,target,fullness\n");
    for test in &args.tests {
        let mut hosts = recording.hosts().clone();
        // Only what grew within the test, from its first sample on.
        hosts.bounds_s = Some((test.from_s + interval_s, test.to_s));
        let best = vec![transfer::SIZES; targets.len()];
        let account = transfer::replay(&hosts, &targets, interval_s, &best, &|_, _| {}, &mut |_| {});
        account.damaged.iter().for_each(|what| console.say(what));
        let fullness = transfer::fullness(&hosts, &targets);
        let counts: Vec<u64> = account.compositions.iter().map(|of| of.iter().flatten().sum()).collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return Err(Failure::Usage(format!("{}: no transactions are known in that time", test.name)));
        }
        for (index, target) in targets.iter().enumerate() {
            if counts[index] < most / 10 {
                if counts[index] > 0 {
                    console.say(&format!("{}: {} was hardly used, and is left out", test.name, target.name));
                }
                continue;
            }
            if account.incomplete[index] {
                console
                    .say(&format!("{}: sizes of {} are damaged, and it is left out", test.name, target.name));
                continue;
            }
            let what = format!("{}, {}", test.name, target.name);
            let Some((direction, counts)) = way(&account.compositions[index], &what)? else { continue };
            let full = Some(fullness[index]).filter(|full| !full.is_nan());
            let full = full.map_or_else(String::new, |full| format!("{full:.3}"));
            for (size, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let (name, way, seconds) = (&test.name, direction.name(), account.seconds[index]);
                let bytes = transfer::bytes(size);
                let _ = writeln!(out, "{name},{way},{seconds:.3},{bytes},{count},{},{full}", target.name);
            }
        }
    }
    deliver(&out, args.output.as_ref())?;
    Ok(Conclusion::Quiet)
}

/// Which way a test went, and its transactions by size; nothing where there were none.
fn way<'a>(composition: &'a Composition, name: &str) -> Result<Option<(Direction, &'a [u64])>, Failure> {
    let [reads, writes] = composition.each_ref().map(|counts| counts.iter().sum::<u64>() as f64);
    let all = reads + writes;
    match (reads > STRAY * all, writes > STRAY * all) {
        (true, true) => Err(Failure::Usage(format!(
            "{name}: reads and writes at once; a test of one direction is needed"
        ))),
        (true, false) => Ok(Some((Direction::Read, &composition[0]))),
        (false, true) => Ok(Some((Direction::Write, &composition[1]))),
        (false, false) => Ok(None),
    }
}

//! `laggard-lab fsu-sweep`: the graduated test, from which `laggard fsu calibrate` learns what a transaction costs.

use super::{Outcome, bar, deliver};
use crate::host::hand;
use crate::sweep::{self, Plan, Tested};
use clap::Args as ClapArgs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Measure what transactions of each size cost on a disk
///
/// Writes and reads 4 KiB to 4 MiB at random places with direct I/O, as fast as the disk takes them, and records the transactions that
/// the kernel counted. The disk is fully busy for the whole time: not for a file system that others use.
#[derive(ClapArgs)]
pub struct Args {
    /// A directory, in which a file without a name is used, or a block device
    place: PathBuf,

    /// Where to write the tests [default: stdout]
    #[arg(short, long, value_name = "TESTS.csv")]
    output: Option<PathBuf>,

    /// Seconds of each test: 22 of them, unless `--largest` is another
    #[arg(long, default_value_t = 10.0, value_parser = positive)]
    seconds: f64,

    /// MiB that the transfers are spread over: more than any cache behind the kernel holds [default: all of a device, 1024 in a directory]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(8..1 << 40))]
    working_set: Option<u64>,

    /// Name of the target, as `laggard fsu report` has it, if it is to have coefficients of its own: scratch-OST0000, oss1:sdb
    #[arg(long, value_name = "NAME", value_parser = plain)]
    target: Option<String>,

    /// Transfers under way at once
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    streams: u16,

    /// Largest transfer, in KiB
    #[arg(long, default_value_t = 4096, value_name = "KIB", value_parser = clap::value_parser!(u64).range(4..=65536))]
    largest: u64,

    /// Of the random places
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Yes, overwrite the block device
    #[arg(long)]
    overwrite: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| *value > 0.0 && *value <= 86_400.0);
    value.ok_or_else(|| "a number of seconds, up to a day".into())
}

fn plain(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    let message = "letters, digits and . _ : -";
    if !text.is_empty() && text.chars().all(is_plain) { Ok(text.into()) } else { Err(message.into()) }
}

/// Whether a device is a loop device over a plain file.
fn is_file(device: &Path) -> bool {
    const LOOP: u32 = 7;
    let Ok(known) = device.metadata() else { return false };
    let (major, minor) = (rustix::fs::major(known.rdev()), rustix::fs::minor(known.rdev()));
    let backing = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/loop/backing_file"));
    major == LOOP && backing.is_ok_and(|path| Path::new(path.trim_end()).is_file())
}

pub fn run(args: &Args) -> Result<Outcome, String> {
    let is_device = args.place.metadata().is_ok_and(|known| known.file_type().is_block_device());
    if is_device && !args.overwrite {
        return Err(format!(
            "{}: a block device; the test destroys what is on it. If that is what you want, add --overwrite",
            args.place.display()
        ));
    }
    // A loop device over a file is a file; any other may be everything to somebody.
    if is_device && !is_file(&args.place) {
        hand::check_marker(hand::MARKER.as_ref())?;
    }
    let sizes: Vec<u64> =
        (0..).map(|power| 4096 << power).take_while(|size| *size <= args.largest << 10).collect();
    let plan = Plan {
        place: args.place.clone(),
        sizes,
        seconds: args.seconds,
        working_set: args.working_set.map(|mib| mib << 20),
        streams: usize::from(args.streams),
        seed: args.seed,
    };
    if args.place.is_dir() {
        eprintln!("laggard-lab: filling a file first");
    }
    let bar = bar("sweeping", 2 * plan.sizes.len() as u64);
    let sweep = sweep::run(&plan, &|index, all, left_s| {
        bar.set_position(index as u64);
        if bar.is_hidden() {
            eprintln!("laggard-lab: test {} of {all}, {left_s:.0} s left", index + 1);
        }
    });
    bar.finish_and_clear();
    let sweep = sweep?;
    say(&sweep.tests, &sweep.target);
    deliver(&sweep::to_csv(&sweep, args.target.as_deref()), args.output.as_ref())?;
    Ok(Outcome::Good)
}

fn say(tests: &[Tested], target: &str) {
    if tests.iter().any(|test| test.observed.is_none()) {
        eprintln!(
            "laggard-lab: {target}: no block device can be seen there; the tests hold what was asked for, not what reached the disks. \
             Where those are Lustre's, take the counts from brw_stats instead"
        );
    }
    for test in tests {
        let counted = test.counted();
        let mean = counted.bytes as f64 / counted.transactions.max(1) as f64;
        eprintln!(
            "laggard-lab: {:>8} {:<5} {:>9.2} MB/s, {:>9.0} transactions/s of {mean:.0} bytes",
            test.size,
            test.direction.name(),
            counted.bytes as f64 / test.seconds / 1e6,
            counted.transactions as f64 / test.seconds,
        );
    }
}

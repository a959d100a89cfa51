//! The graduated test of CUG'13: transfers of one size after the other, each followed by a random seek, written and then read back, as
//! fast as the disk takes them. Direct I/O: no cache of this machine takes part.
//!
//! What counts is not what was asked for but what the disk did ([`observed`]): transfers are split and merged on the way.

mod direct;
mod observed;

use direct::Area;
use laggard_core::fsu::Direction;
use laggard_sim::chance::Chance;
use observed::{Counted, Observer};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What to test, and how long.
#[derive(Debug, Clone)]
pub struct Plan {
    /// A directory, in which a file is made, or a block device, which is overwritten.
    pub place: PathBuf,
    /// Sizes of transfers, in bytes.
    pub sizes: Vec<u64>,
    /// Seconds of each test.
    pub seconds: f64,
    /// Bytes that the transfers are spread over; all of a device, or 1 GiB in a directory, where nothing is said.
    pub working_set: Option<u64>,
    /// Transfers under way at once.
    pub streams: usize,
    /// Of the random places.
    pub seed: u64,
}

/// One test of one size and direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested {
    /// Bytes asked for at once.
    pub size: u64,
    /// Which way.
    pub direction: Direction,
    /// How long it took.
    pub seconds: f64,
    /// What was asked for.
    pub asked: Counted,
    /// What the disk did, where that can be seen.
    pub observed: Option<Counted>,
}

impl Tested {
    /// What counts.
    pub fn counted(&self) -> Counted {
        self.observed.unwrap_or(self.asked)
    }
}

/// What a sweep found.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// What was tested: the device, or the directory where no device is known.
    pub target: String,
    /// How full the file system is, 0 to 1; nothing is known of a device.
    pub fullness: Option<f64>,
    /// All tests.
    pub tests: Vec<Tested>,
}

/// Told the test that begins, how many there are, and how many seconds remain.
pub type Progress<'a> = &'a dyn Fn(usize, usize, f64);

/// Runs all tests.
pub fn run(plan: &Plan, progress: Progress) -> Result<Sweep, String> {
    let said = |error: std::io::Error| format!("{}: {error}", plan.place.display());
    let largest = plan.sizes.iter().copied().max().unwrap_or(0);
    let area = Area::open(&plan.place, plan.working_set, largest).map_err(said)?;
    let observer = Observer::of(&plan.place);
    let all = 2 * plan.sizes.len();
    let mut tests = Vec::new();
    for (number, size) in plan.sizes.iter().enumerate() {
        for (half, direction) in [Direction::Write, Direction::Read].into_iter().enumerate() {
            let index = 2 * number + half;
            progress(index, all, (all - index) as f64 * plan.seconds);
            tests.push(test(plan, &area, observer.as_ref(), *size, direction).map_err(said)?);
        }
    }
    let target = observer.map_or_else(|| plan.place.display().to_string(), |observer| observer.device);
    Ok(Sweep { target, fullness: fullness(&plan.place), tests })
}

fn test(
    plan: &Plan,
    area: &Area,
    observer: Option<&Observer>,
    size: u64,
    direction: Direction,
) -> std::io::Result<Tested> {
    let before = observer.map(Observer::counted).transpose()?;
    let started = Instant::now();
    let end = started + Duration::from_secs_f64(plan.seconds);
    let done = AtomicU64::new(0);
    let outcome: std::io::Result<()> = std::thread::scope(|scope| {
        let streams: Vec<_> = (0..plan.streams)
            .map(|stream| {
                let done = &done;
                scope.spawn(move || -> std::io::Result<()> {
                    let mut transfer = area.transfers(size)?;
                    let mut chance =
                        Chance::new(plan.seed ^ size ^ ((stream as u64) << 40) ^ ((direction as u64) << 56));
                    let places = area.bytes() / size;
                    while Instant::now() < end {
                        let place = ((chance.uniform() * places as f64) as u64).min(places - 1);
                        transfer.at(place * size, direction)?;
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        streams.into_iter().try_for_each(|stream| match stream.join() {
            Ok(outcome) => outcome,
            Err(_) => Err(std::io::Error::other("a stream has panicked")),
        })
    });
    outcome?;
    let seconds = started.elapsed().as_secs_f64();
    let after = observer.map(Observer::counted).transpose()?;
    let count = done.into_inner();
    let observed =
        before.zip(after).map(|(before, after)| after[direction as usize].since(before[direction as usize]));
    Ok(Tested {
        size,
        direction,
        seconds,
        asked: Counted { transactions: count, bytes: count * size },
        // A device that moved nothing is not the one behind the directory.
        observed: observed.filter(|observed| observed.transactions > 0),
    })
}

fn fullness(place: &Path) -> Option<f64> {
    let known = rustix::fs::statvfs(place).ok().filter(|_| place.is_dir())?;
    (known.f_blocks > 0).then(|| 1.0 - known.f_bfree as f64 / known.f_blocks as f64)
}

/// The tests as CSV for `laggard fsu calibrate`; of a target, if it is to have coefficients of its own.
pub fn to_csv(sweep: &Sweep, target: Option<&str>) -> String {
    let mut out = String::from("test,direction,seconds,size_bytes,count,target,fullness\n");
    let fullness = sweep.fullness.map_or_else(String::new, |full| format!("{full:.3}"));
    for test in &sweep.tests {
        let counted = test.counted();
        if counted.transactions > 0 {
            let (direction, mean) =
                (test.direction.name(), counted.bytes as f64 / counted.transactions as f64);
            let (target, seconds, count) = (target.unwrap_or_default(), test.seconds, counted.transactions);
            out += &format!(
                "{}-{direction},{direction},{seconds:.3},{mean:.1},{count},{target},{fullness}\n",
                test.size
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_is_a_file_of_tests() {
        let tested = |size, direction, observed| Tested {
            size,
            direction,
            seconds: 2.0,
            asked: Counted { transactions: 10, bytes: 10 * size },
            observed,
        };
        let merged = Counted { transactions: 5, bytes: 40960 };
        let sweep = Sweep {
            target: "loop3".into(),
            fullness: Some(0.25),
            tests: vec![tested(4096, Direction::Write, Some(merged)), tested(4096, Direction::Read, None)],
        };
        let expected = "test,direction,seconds,size_bytes,count,target,fullness\n\
             4096-write,write,2.000,8192.0,5,loop3,0.250\n4096-read,read,2.000,4096.0,10,loop3,0.250\n";
        assert_eq!(to_csv(&sweep, Some("loop3")), expected);
        assert_eq!(to_csv(&sweep, None), expected.replace("loop3", ""));
    }

    #[test]
    fn a_small_sweep_of_a_directory() {
        // Where this program is, and not in memory: a disk takes direct I/O.
        let beside = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(beside.parent().unwrap()).unwrap();
        let plan = Plan {
            place: folder.path().into(),
            sizes: vec![4096, 65536],
            seconds: 0.2,
            working_set: Some(4 << 20),
            streams: 2,
            seed: 1,
        };
        let told = std::cell::Cell::new(0);
        let sweep = run(&plan, &|_, all, _| {
            assert_eq!(all, 4);
            told.set(told.get() + 1);
        });
        let sweep = sweep.unwrap();
        assert_eq!((sweep.tests.len(), told.get()), (4, 4));
        assert!(sweep.tests.iter().all(|test| test.asked.transactions > 0 && test.seconds >= 0.2));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
        let too_small = Plan { working_set: Some(1 << 20), sizes: vec![1 << 20], ..plan.clone() };
        assert!(run(&too_small, &|_, _, _| {}).unwrap_err().contains("no room"));
        let too_large = Plan { working_set: Some(1 << 60), ..plan };
        assert!(run(&too_large, &|_, _, _| {}).unwrap_err().contains("are free"));
    }
}

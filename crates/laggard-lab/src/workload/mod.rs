//! Workloads of clients, and the processes that faults are made of: what `laggard-lab work` runs on a machine.

pub mod files;
pub mod hog;
pub mod postmark;
pub mod stream;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What clients do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Large files are written, one after the other
    Ddw,
    /// Large files are read
    Ddr,
    /// Files are written, and written again
    Iozonew,
    /// Files are read, and read again
    Iozoner,
    /// Debian's postmark: many small files
    Postmark,
    /// Small files are created, read, changed and removed, in no order
    Small,
    /// Writes until half-time, then reads: a change that is no fault
    Change,
}

impl Workload {
    /// Its name.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
    }

    /// Whether files to read have to be there before.
    pub fn reads(self) -> bool {
        matches!(self, Workload::Ddr | Workload::Iozoner | Workload::Change)
    }
}

/// What the streams of a workload share: when they end, and how much they have done.
pub struct Meter {
    begun: Instant,
    /// When to stop.
    pub end: Instant,
    done: AtomicU64,
}

impl Meter {
    /// Whether there is time left.
    pub fn goes_on(&self) -> bool {
        Instant::now() < self.end
    }

    /// When half of the time is over.
    pub fn half(&self) -> Instant {
        self.begun + (self.end - self.begun) / 2
    }

    /// Counts work: bytes, or transactions.
    pub fn add(&self, work: u64) {
        self.done.fetch_add(work, Ordering::Relaxed);
    }

    /// Prints every second how much has been done.
    fn tell(&self) {
        for second in 1.. {
            let next = self.begun + Duration::from_secs(second);
            if next > self.end {
                break;
            }
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            println!("{second} {}", self.done.load(Ordering::Relaxed));
        }
    }
}

/// Runs streams side by side until the time is over.
pub fn run(
    streams: usize,
    seconds: f64,
    one: &(dyn Fn(usize, &Meter) -> Result<(), String> + Sync),
) -> Result<(), String> {
    let begun = Instant::now();
    let meter = Meter { begun, end: begun + Duration::from_secs_f64(seconds), done: AtomicU64::new(0) };
    let meter = &meter;
    std::thread::scope(|scope| {
        scope.spawn(|| meter.tell());
        let threads: Vec<_> = (0..streams).map(|stream| scope.spawn(move || one(stream, meter))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err("a stream died".into()))
        };
        threads.into_iter().try_for_each(join)
    })
}

//! `laggard-agent run`: once a second ask the sources, hand the snapshot to the journal, show it to Prometheus.

use crate::clock::{self, Clock};
use crate::config::Config;
use crate::expose::{self, Shared};
use crate::journal::{self, Journal};
use crate::sampler::Sampler;
use crate::source;
use laggard_activity::Snapshot;
use rustix::fs::{FlockOperation, OFlags, flock};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// Snapshots that wait while the disk is slow; more than a minute of them are lost, with a count.
const WAITING: usize = 60;

/// Options of the command line.
#[derive(Debug, Default)]
pub struct Options {
    /// Say every second what was sampled.
    pub verbose: bool,
    /// Stop after so long.
    pub seconds: Option<u64>,
    /// How much faster than the real clock; 0 and 1: as fast.
    pub speed: u32,
    /// Seconds after which the tail is sealed, where that is not an hour.
    pub seal_after: Option<i64>,
}

/// Why sampling ended.
enum Ended {
    Stopped,
    /// There is another configuration, and the lock of its directory if that is another.
    Reload(Box<Config>, Option<File>),
}

/// Runs until a signal says otherwise.
pub fn run(path: &Path, config: &Config, options: &Options) -> Result<(), String> {
    let mut config = config.clone();
    let (notify, signals) = channel();
    let mut caught = Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(|error| error.to_string())?;
    thread::spawn(move || caught.forever().take_while(|signal| notify.send(*signal).is_ok()).for_each(drop));
    let clock = Clock::new(options.speed);
    let deadline_ms = options.seconds.map(|seconds| clock.now_ms() + seconds as i64 * 1000);
    let shared = Shared::default();
    expose::start(&config.expose, &shared)?;
    let mut held = lock(&config.directory)?;
    loop {
        match sample(path, &config, options, &clock, deadline_ms, &signals, &shared)? {
            Ended::Stopped => return Ok(()),
            Ended::Reload(new, lock) => {
                if new.expose != config.expose {
                    eprintln!("laggard-agent: [expose] has changed: that takes a restart");
                }
                config = *new;
                held = lock.unwrap_or(held);
                eprintln!("laggard-agent: configuration read again");
            }
        }
    }
}

/// The new configuration, and the lock of its directory if that is another.
fn reload(path: &Path, old: &Config) -> Result<(Config, Option<File>), String> {
    let new = Config::load(path)?;
    let lock = if new.directory == old.directory { None } else { Some(lock(&new.directory)?) };
    fs::read_dir(&new.directory).map_err(|error| format!("{}: {error}", new.directory.display()))?;
    Ok((new, lock))
}

/// Two agents in one directory would write over each other's files.
fn lock(directory: &Path) -> Result<File, String> {
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", directory.display());
    fs::DirBuilder::new().recursive(true).mode(0o755).create(directory).map_err(|error| said(&error))?;
    let mut options = File::options();
    options.write(true).create(true).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    let file = options.open(directory.join(".lock")).map_err(|error| said(&error))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| said(&"another laggard-agent writes there"))?;
    Ok(file)
}

fn sample(
    path: &Path,
    config: &Config,
    options: &Options,
    clock: &Clock,
    deadline_ms: Option<i64>,
    signals: &Receiver<i32>,
    shared: &Shared,
) -> Result<Ended, String> {
    let mut sampler = Sampler::start(source::sources(config)).map_err(|error| error.to_string())?;
    let mut journal = Journal::open(config)?;
    if let Some(seconds) = options.seal_after {
        journal.seal_after(seconds);
    }
    let (hand_over, handed) = sync_channel::<Snapshot>(WAITING);
    let thread = thread::Builder::new().name("journal".into());
    let writer = thread
        .spawn(move || {
            handed.iter().for_each(|snapshot| journal.take(snapshot));
            journal.finish();
        })
        .map_err(|error| error.to_string())?;
    let patience = clock.real(i64::from(config.interval_s) * 800);
    let (mut last_s, mut waiting_lost) = (None, 0);
    let ended = loop {
        match signals.recv_timeout(clock.real(clock::wait_ms(clock.now_ms(), config.interval_s, last_s))) {
            // A wrong configuration is told and changes nothing.
            Ok(SIGHUP) => match reload(path, config) {
                Ok((new, lock)) => break Ended::Reload(Box::new(new), lock),
                Err(message) => {
                    eprintln!("laggard-agent: {message}; the old configuration stays");
                    continue;
                }
            },
            Ok(_) | Err(RecvTimeoutError::Disconnected) => break Ended::Stopped,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let (time_s, late_ms) = clock::stamp(clock.now_ms(), config.interval_s);
        last_s = Some(time_s);
        let snapshot = sampler.sample(time_s, late_ms, patience.max(Duration::from_millis(20)));
        if options.verbose {
            let things: Vec<String> = snapshot
                .tables
                .iter()
                .map(|table| format!("{} {}", table.names.len(), table.kind.name))
                .collect();
            eprintln!("laggard-agent: sampled {time_s}, {late_ms} ms late: {}", things.join(", "));
        }
        keep(snapshot, &mut waiting_lost, &hand_over, shared);
        if deadline_ms.is_some_and(|deadline| clock.now_ms() >= deadline) {
            break Ended::Stopped;
        }
    };
    drop(hand_over);
    writer.join().map_err(|_| "the journal has failed".to_string())?;
    Ok(ended)
}

/// Hands a snapshot on without ever waiting: a stuck disk must not stop the sampling. The next one that goes through says how many
/// were lost before it.
fn keep(snapshot: Snapshot, lost: &mut u64, hand_over: &SyncSender<Snapshot>, shared: &Shared) {
    let is_late = snapshot.late_ms > 0;
    let shown = snapshot.clone();
    let snapshot = match *lost {
        0 => snapshot,
        count => {
            journal::with_gap(&snapshot, &format!("journal: {count} samples lost, the disk was too slow"))
        }
    };
    let is_lost =
        matches!(hand_over.try_send(snapshot), Err(TrySendError::Full(_) | TrySendError::Disconnected(_)));
    if is_lost && *lost == 0 {
        eprintln!("laggard-agent: the disk does not keep up: samples are lost");
    }
    *lost = if is_lost { *lost + 1 } else { 0 };
    if let Ok(mut shared) = shared.lock() {
        let news = [1, u64::from(is_late), u64::from(is_lost)];
        shared.counts.iter_mut().zip(news).for_each(|(count, new)| *count += new);
        shared.latest = Some(shown);
    }
}

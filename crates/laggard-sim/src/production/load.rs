//! What clients do to a production file system: jobs that compute, then write or read in bursts over all LUNs; many small
//! requests that follow nobody's plan; and the server's own housekeeping, which uses whatever path the server has.

use super::site::{LUNS, SERVERS, Site};
use crate::chance::Chance;

/// Jobs at a time, and hours that one of them runs.
const JOBS: usize = 24;
const JOB_HOURS: f64 = 6.0;
/// Seconds between the bursts of a job, and gigabytes of one, both with a long tail.
const PAUSE_S: f64 = 900.0;
const BURST_GB: f64 = 150.0;
const TAIL: f64 = 1.0;
/// Bytes per second that a burst offers at most: its share of the I/O nodes.
const OFFERED: f64 = 12e9;
/// Share of bursts that write.
const WRITES: f64 = 0.65;
/// Small requests per second and LUN, busy hours against quiet ones.
const SMALL: f64 = 0.8;
/// Housekeeping: from one server at a time for hours, requests per second and attachment.
const HOUSEKEEPING_HOURS: f64 = 10.0;
const HOUSEKEEPING_EVERY_HOURS: f64 = 14.0;
/// See above; 16 kB each, below 10 kB/s (LISA'13, section 5.3.2).
pub const HOUSEKEEPING: f64 = 0.4;
/// New LUNs were empty: they see more writes and fewer reads (LISA'13, section 3.3.1).
const NEW_WRITES: f64 = 1.5;
const NEW_READS: f64 = 0.5;
/// Files are not spread evenly: standard deviation of the logarithm of a LUN's share.
const UNEVEN: f64 = 0.08;

/// A burst under way.
#[derive(Debug, Clone)]
struct Burst {
    writes: bool,
    left: f64,
}

#[derive(Debug, Clone)]
struct Job {
    ends: f64,
    next_burst: f64,
    burst: Option<Burst>,
    writes: f64,
}

/// All load.
#[derive(Debug, Clone)]
pub struct Load {
    chance: Chance,
    jobs: Vec<Job>,
    /// Each LUN's share of reads and of writes, 1 on average.
    shares: Vec<[f64; 2]>,
    housekeeping: Option<(usize, f64)>,
    next_housekeeping: f64,
}

/// What a slot brings, per second.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offer {
    /// Bytes of bursts, read and written, for a LUN of share 1.
    pub bulk: [f64; 2],
    /// Small requests for a LUN of share 1.
    pub small: f64,
    /// The server that keeps house.
    pub housekeeper: Option<usize>,
}

impl Load {
    /// Jobs somewhere in their lives.
    pub fn new(mut chance: Chance) -> Load {
        let share = |chance: &mut Chance, lun: usize| {
            let (reads, writes) = if Site::is_old(lun) { (1.0, 1.0) } else { (NEW_READS, NEW_WRITES) };
            let uneven = chance.spread(UNEVEN);
            [reads * uneven, writes * uneven]
        };
        let shares = (0..LUNS).map(|lun| share(&mut chance, lun)).collect();
        let jobs = (0..JOBS).map(|_| Job::new(0.0, &mut chance)).collect();
        let next_housekeeping = chance.exponential(HOUSEKEEPING_EVERY_HOURS * 3600.0);
        Load { chance, jobs, shares, housekeeping: None, next_housekeeping }
    }

    /// A LUN's share of reads and writes.
    pub fn share(&self, lun: usize) -> [f64; 2] {
        self.shares[lun]
    }

    /// What is offered in the slot that begins now.
    pub fn offer(&mut self, now: f64) -> Offer {
        for job in &mut self.jobs {
            job.advance(now, &mut self.chance);
        }
        if now >= self.next_housekeeping {
            let server = self.chance.below(SERVERS);
            self.housekeeping = Some((server, now + self.chance.exponential(HOUSEKEEPING_HOURS * 3600.0)));
            self.next_housekeeping = now + self.chance.exponential(HOUSEKEEPING_EVERY_HOURS * 3600.0);
        }
        self.housekeeping = self.housekeeping.filter(|(_, until)| now < *until);
        let mut bulk = [0.0; 2];
        for burst in self.jobs.iter().filter_map(|job| job.burst.as_ref()) {
            bulk[usize::from(burst.writes)] += OFFERED / LUNS as f64;
        }
        let hour = (now / 3600.0) % 24.0;
        let small = SMALL * (1.0 + 0.6 * ((hour - 9.0) / 24.0 * std::f64::consts::TAU).sin());
        Offer { bulk, small, housekeeper: self.housekeeping.map(|(server, _)| server) }
    }

    /// Bursts went at this share of what they offered: the busiest LUN let no more through.
    pub fn progress(&mut self, now: f64, seconds: f64, pace: f64) {
        for job in &mut self.jobs {
            let Some(burst) = &mut job.burst else { continue };
            burst.left -= OFFERED * seconds * pace;
            if burst.left <= 0.0 {
                job.burst = None;
                job.next_burst = now + self.chance.exponential(PAUSE_S) * self.chance.spread(TAIL);
            }
        }
    }
}

impl Job {
    fn new(now: f64, chance: &mut Chance) -> Job {
        Job {
            ends: now + chance.exponential(JOB_HOURS * 3600.0),
            next_burst: now + chance.exponential(PAUSE_S),
            burst: None,
            writes: if chance.happens(0.5) { WRITES } else { chance.uniform() },
        }
    }

    fn advance(&mut self, now: f64, chance: &mut Chance) {
        if self.burst.is_some() {
            return;
        }
        if now >= self.ends {
            *self = Job::new(now, chance);
        } else if now >= self.next_burst {
            let left = BURST_GB * 1e9 * chance.spread(TAIL);
            self.burst = Some(Burst { writes: chance.happens(self.writes), left });
        }
    }
}

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
/// Of small reads, most are in the array's cache.
const CACHED: f64 = 0.6;
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
/// A LUN's share of the load wanders: this much of its deviation is left after an hour.
const WANDERS: f64 = 0.95;
/// Hot files: minutes, bytes and small requests per second, and over how many neighbouring LUNs at most.
const HOT_MINUTES: f64 = 30.0;
const HOT_BYTES: (f64, f64) = (20e6, 120e6);
const HOT_LUNS: usize = 4;
/// The backup begins at one, takes one array after the other for so many minutes, and reads so many bytes per second of each LUN.
const BACKUP_FROM_S: f64 = 3600.0;
const BACKUP_MINUTES: f64 = 20.0;
const BACKUP_BYTES: f64 = 40e6;
/// A cron job of a server looks at all its LUNs: at this minute of an hour, for so many minutes, small requests per second and LUN.
const CRON_MINUTE: f64 = 15.0;
const CRON_MINUTES: f64 = 6.0;
const CRON_SMALL: f64 = 10.0;
/// LUNs with metadata on them, and small requests per second of each.
const METADATA_EVERY: usize = 144;
const METADATA_SMALL: f64 = 30.0;

/// How unevenly a site is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// Everything is striped over everything, as the papers' sites are.
    #[default]
    Even,
    /// Some hot files, a backup, a cron job, metadata.
    Mild,
    /// As at most sites: shares differ by half, and wander.
    Uneven,
    /// Shares differ by more than twice, hot files everywhere.
    Harsh,
}

impl Level {
    /// All levels.
    pub const ALL: [Level; 4] = [Level::Even, Level::Mild, Level::Uneven, Level::Harsh];

    /// The word in commands.
    pub fn name(self) -> &'static str {
        match self {
            Level::Even => "even",
            Level::Mild => "mild",
            Level::Uneven => "uneven",
            Level::Harsh => "harsh",
        }
    }

    fn of(self, values: [f64; 4]) -> f64 {
        values[self as usize]
    }

    /// Standard deviation of the logarithm of a LUN's share.
    fn unevenness(self) -> f64 {
        self.of([0.08, 0.2, 0.5, 0.8])
    }

    /// Hot files that come in a day.
    fn hot_per_day(self) -> f64 {
        self.of([0.0, 20.0, 100.0, 300.0])
    }

    /// Cron jobs that run each hour, each on a server of its own.
    fn cron_jobs(self) -> usize {
        self.of([0.0, 1.0, 3.0, 8.0]) as usize
    }

    /// By how much the share of small requests that are in the array's cache differs from LUN to LUN.
    fn cached_spread(self) -> f64 {
        self.of([0.0, 0.05, 0.1, 0.2])
    }

    /// By how much devices differ for good.
    pub fn hardware_spread(self) -> f64 {
        self.of([0.04, 0.06, 0.1, 0.1])
    }
}

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
    /// Seconds of a slot.
    slot_s: f64,
    jobs: Vec<Job>,
    level: Level,
    /// Each LUN's deviation from its share, in standard deviations.
    deviations: Vec<f64>,
    /// Share of small requests that are in the array's cache.
    cached: Vec<f64>,
    hot: Vec<Hot>,
    /// The hour whose cron jobs were drawn, and their servers.
    cron: (u64, Vec<usize>),
    extra: Vec<Extra>,
    housekeeping: Option<(usize, f64)>,
    next_housekeeping: f64,
}

/// A hot file.
#[derive(Debug, Clone)]
struct Hot {
    luns: std::ops::Range<usize>,
    until: f64,
    bytes: f64,
}

/// What one LUN is asked for beside its share, per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Extra {
    /// Bytes read.
    pub bytes: f64,
    /// Small requests.
    pub small: f64,
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
    pub fn new(mut chance: Chance, level: Level, slot_s: f64) -> Load {
        let deviations = (0..LUNS).map(|_| chance.normal()).collect();
        let spread = level.cached_spread();
        let cached = (0..LUNS).map(|_| (CACHED + spread * chance.normal()).clamp(0.1, 0.95)).collect();
        let jobs = (0..JOBS).map(|_| Job::new(0.0, &mut chance)).collect();
        let next_housekeeping = chance.exponential(HOUSEKEEPING_EVERY_HOURS * 3600.0);
        Load {
            chance,
            slot_s,
            jobs,
            level,
            deviations,
            cached,
            hot: Vec::new(),
            cron: (u64::MAX, Vec::new()),
            extra: vec![Extra::default(); LUNS],
            housekeeping: None,
            next_housekeeping,
        }
    }

    /// A LUN's share of reads and writes, 1 on average.
    pub fn share(&self, lun: usize) -> [f64; 2] {
        let (reads, writes) = if Site::is_old(lun) { (1.0, 1.0) } else { (NEW_READS, NEW_WRITES) };
        let sigma = self.level.unevenness();
        let uneven = (sigma * self.deviations[lun] - sigma * sigma / 2.0).exp();
        [reads * uneven, writes * uneven]
    }

    /// Share of a LUN's small requests that are in the array's cache.
    pub fn cached(&self, lun: usize) -> f64 {
        self.cached[lun]
    }

    /// What a LUN is asked for beside its share.
    pub fn extra(&self, lun: usize) -> Extra {
        self.extra[lun]
    }

    /// Hot files, the backup, cron jobs and metadata of the slot that begins now.
    fn draw_extra(&mut self, now: f64) {
        if self.level == Level::Even {
            return;
        }
        self.hot.retain(|hot| now < hot.until);
        if self.chance.happens(self.level.hot_per_day() * self.slot_s / 86_400.0) {
            let from = self.chance.below(LUNS);
            let luns = from..(from + 1 + self.chance.below(HOT_LUNS)).min(LUNS);
            let until = now + self.chance.exponential(HOT_MINUTES * 60.0);
            self.hot.push(Hot { luns, until, bytes: self.chance.between(HOT_BYTES.0, HOT_BYTES.1) });
        }
        let hour = (now / 3600.0) as u64;
        if self.cron.0 != hour {
            let servers = (0..self.level.cron_jobs()).map(|_| self.chance.below(SERVERS)).collect();
            self.cron = (hour, servers);
            let left = (1.0 - WANDERS * WANDERS).sqrt();
            for deviation in &mut self.deviations {
                *deviation = WANDERS * *deviation + left * self.chance.normal();
            }
        }
        self.extra.fill(Extra::default());
        for hot in &self.hot {
            self.extra[hot.luns.clone()].iter_mut().for_each(|extra| extra.bytes += hot.bytes);
        }
        let of_day = now % 86_400.0;
        let array = ((of_day - BACKUP_FROM_S) / (BACKUP_MINUTES * 60.0)).floor();
        let minute = now % 3600.0 / 60.0;
        let is_cron = (CRON_MINUTE..CRON_MINUTE + CRON_MINUTES).contains(&minute);
        for (lun, extra) in self.extra.iter_mut().enumerate() {
            let primary = super::site::Attachment { lun, priority: 0 };
            if primary.array() as f64 == array {
                extra.bytes += BACKUP_BYTES;
            }
            if is_cron && self.cron.1.contains(&primary.server()) {
                extra.small += CRON_SMALL;
            }
            if lun.is_multiple_of(METADATA_EVERY) {
                extra.small += METADATA_SMALL;
            }
        }
    }

    /// What is offered in the slot that begins now.
    pub fn offer(&mut self, now: f64) -> Offer {
        self.draw_extra(now);
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

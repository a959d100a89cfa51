//! Slot by slot: what is offered, what the LUNs make of it, and what is recorded.

use super::incident::{Happening, Incident, Path};
use super::load::{HOUSEKEEPING, Load, Offer};
use super::site::{Attachment, LUNS, LUNS_PER_ARRAY, PRIORITIES, SERVERS, Site};
use crate::chance::Chance;
use laggard_core::cost::SECTOR;
use laggard_core::model::Metric;

/// DDN S2A9900, eight data disks and two of parity for each LUN: bytes per second, and seconds for each request.
const LUN_RATE: f64 = 180e6;
const OVERHEAD_S: f64 = 4e-3;
/// Bulk requests as the block layer sees them, and small ones.
const BULK: f64 = 1024.0 * 1024.0;
const SMALL: f64 = 16.0 * 1024.0;
/// Seconds of a small read that is in the array's cache.
const CACHED_S: f64 = 0.4e-3;
/// Small mishaps (a retry, a rebuild, a scrub) in the whole site: how many a day, minutes, times the service time.
const MISHAPS_PER_DAY: f64 = 12.0;
const MISHAP_MINUTES: f64 = 15.0;
const MISHAP: (f64, f64) = (1.5, 5.0);
/// A slot of a server is lost now and then, and clocks are stepped: per server and day.
const LOST_PER_DAY: f64 = 2.0;
const STEPS_PER_DAY: f64 = 0.2;
/// Queues of this many seconds are the longest: beyond, clients wait.
const LONGEST_QUEUE_S: f64 = 2.0;

/// What the site records, as sysstat does.
pub const METRICS: [Metric; 8] = [
    Metric::Tps,
    Metric::RdSec,
    Metric::WrSec,
    Metric::AvgrqSz,
    Metric::AvgquSz,
    Metric::Await,
    Metric::Svctm,
    Metric::Util,
];

/// One attachment in one slot.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Reading {
    /// Requests per second.
    pub tps: f64,
    /// Sectors per second.
    pub rd_sec: f64,
    /// Sectors per second.
    pub wr_sec: f64,
    /// Milliseconds.
    pub await_ms: f64,
    /// Share of time, 0 to 1.
    pub util: f64,
}

impl Reading {
    /// The value of a metric.
    pub fn value(&self, metric: Metric) -> f64 {
        let per_request = |sum: f64| if self.tps > 0.0 { sum / self.tps } else { 0.0 };
        match metric {
            Metric::Tps => self.tps,
            Metric::RdSec => self.rd_sec,
            Metric::WrSec => self.wr_sec,
            Metric::AvgrqSz => per_request(self.rd_sec + self.wr_sec),
            Metric::AvgquSz => self.tps * self.await_ms / 1e3,
            Metric::Await => self.await_ms,
            Metric::Svctm => per_request(self.util * 1e3),
            Metric::Util => self.util * 100.0,
            _ => f64::NAN,
        }
    }
}

/// What is recorded in one slot.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Seconds since the start, at the beginning of the slot.
    pub time_s: f64,
    /// By the site's order of attachments; `None` is no sample.
    pub readings: Vec<Option<Reading>>,
}

/// A LUN.
#[derive(Debug, Clone)]
struct Lun {
    hardware: f64,
    /// Seconds of work that have not been done yet.
    backlog_s: f64,
    mishap: Option<(f64, f64)>,
}

/// A LUN that was slow for a while, by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mishap {
    /// `0..LUNS`.
    pub lun: usize,
    /// From ...
    pub from_s: f64,
    /// ... until.
    pub to_s: f64,
    /// Times its service time.
    pub factor: f64,
}

/// The simulation.
#[derive(Debug, Clone)]
pub struct Production {
    site: Site,
    interval_s: f64,
    now: f64,
    load: Load,
    luns: Vec<Lun>,
    chance: Chance,
    incidents: Vec<Incident>,
    mishaps: Vec<Mishap>,
    /// Slots that each server will not record.
    silent: Vec<u32>,
}

impl Production {
    /// The site at its first moment. A site keeps its hardware from run to run.
    pub fn new(site: Site, interval_s: u32, seed: u64, incidents: Vec<Incident>) -> Production {
        let chance = Chance::new(seed);
        let mut hardware = Chance::new(site.hardware);
        let variation = site.level.hardware_spread();
        let lun = |_| Lun { hardware: 1.0 + variation * hardware.normal(), backlog_s: 0.0, mishap: None };
        Production {
            site,
            interval_s: f64::from(interval_s),
            now: 0.0,
            load: Load::new(chance.fork(1), site.level, f64::from(interval_s)),
            luns: (0..LUNS).map(lun).collect(),
            chance: chance.fork(2),
            incidents,
            mishaps: Vec::new(),
            silent: vec![0; SERVERS],
        }
    }

    /// LUNs that were slow for a while so far: real, and over.
    pub fn mishaps(&self) -> &[Mishap] {
        &self.mishaps
    }

    /// By how much a LUN is slower than the mean for good: a factor.
    pub fn hardware(&self, lun: usize) -> f64 {
        self.luns[lun].hardware
    }

    /// Simulates the next slot.
    pub fn next_slot(&mut self) -> Slot {
        let offer = self.load.offer(self.now);
        let active: Vec<Incident> = {
            let happens = |incident: &&Incident| (incident.from_s..incident.to_s).contains(&self.now);
            self.incidents.iter().filter(happens).cloned().collect()
        };
        self.lose_samples();
        self.suffer_mishaps();
        // Everything that is striped goes as fast as the busiest LUN: it is found first.
        let busiest = (0..LUNS).map(|lun| self.demand(lun, &offer, &active)).fold(0.0, f64::max);
        let pace = if busiest > 1.0 { 1.0 / busiest } else { 1.0 };
        let mut readings = vec![Some(Reading::default()); self.site.len()];
        for lun in 0..LUNS {
            let touching = active.iter().filter(|incident| incident.happening.luns().contains(&lun));
            let touching: Vec<&Incident> = touching.collect();
            self.serve(lun, &offer, pace, &touching, &mut readings);
        }
        if let Some(server) = offer.housekeeper {
            self.keep_house(server, &mut readings);
        }
        for (attachment, reading) in self.site.attachments().zip(&mut readings) {
            if self.silent[attachment.server()] > 0 {
                *reading = None;
            }
        }
        self.load.progress(self.now, self.interval_s, pace);
        let slot = Slot { time_s: self.now, readings };
        self.now += self.interval_s;
        slot
    }

    /// Seconds of service that a bulk request takes.
    fn bulk_s(&self, lun: usize) -> f64 {
        let known = &self.luns[lun];
        (BULK / LUN_RATE + OVERHEAD_S) * known.hardware * known.mishap.map_or(1.0, |(_, factor)| factor)
    }

    /// Share of its time that a LUN would need for all that is offered.
    fn demand(&self, lun: usize, offer: &Offer, active: &[Incident]) -> f64 {
        let [reads, writes] = self.load.share(lun);
        let requests = (offer.bulk[0] * reads + offer.bulk[1] * writes + self.load.extra(lun).bytes) / BULK;
        let touching = active.iter().filter(|incident| incident.happening.luns().contains(&lun));
        let slower = touching
            .map(|incident| incident.happening.delay(lun, self.now - incident.from_s, self.interval_s).0);
        requests * self.bulk_s(lun) * slower.product::<f64>()
    }

    fn serve(
        &mut self,
        lun: usize,
        offer: &Offer,
        pace: f64,
        touching: &[&Incident],
        readings: &mut [Option<Reading>],
    ) {
        let seconds = self.interval_s;
        let [read_share, write_share] = self.load.share(lun);
        let mut bulk = [offer.bulk[0] * read_share, offer.bulk[1] * write_share]
            .map(|rate| rate * pace / BULK * seconds);
        let (mut slower, mut extra_s, mut own) = (1.0, 0.0, 0.0);
        for incident in touching {
            let (factor, most_s, share) = incident.happening.delay(lun, self.now - incident.from_s, seconds);
            slower *= factor;
            // A request meets the error or not; in a slot with errors, some are met again and again.
            if share > 0.0 && self.chance.happens(share) {
                extra_s += most_s * self.chance.uniform().powi(2);
            }
            if let Happening::LunWorkload { lun: loaded, bytes } = incident.happening
                && loaded == lun
            {
                own += bytes / BULK * seconds;
            }
        }
        let extra = self.load.extra(lun);
        bulk[0] += own + extra.bytes / BULK * seconds;
        let reads = if bulk[0] > 0.0 { self.chance.poisson(bulk[0]) } else { 0.0 };
        let writes = if bulk[1] > 0.0 { self.chance.poisson(bulk[1]) } else { 0.0 };
        let small = self.chance.poisson((offer.small * read_share + extra.small) * seconds);
        let cached = (small * self.load.cached(lun)).round();
        let requests = reads + writes + small;
        let bulk_s = self.bulk_s(lun) * slower;
        let small_s = OVERHEAD_S * 1.5 * self.luns[lun].hardware * slower;
        let work_s = (reads + writes) * bulk_s + (small - cached) * small_s + cached * CACHED_S;
        // A queue: what is left over from before, and what a random arrival finds (Pollaczek and Khinchine, exponential service).
        let known = &mut self.luns[lun];
        let before_s = known.backlog_s;
        known.backlog_s = (known.backlog_s + work_s - seconds).clamp(0.0, LONGEST_QUEUE_S);
        let busy = (work_s / seconds).min(0.97);
        let mean_s = if requests > 0.0 { work_s / requests } else { 0.0 };
        let queue_s = mean_s * busy / (1.0 - busy) + before_s / 2.0;
        let noise = if requests > 0.0 { 1.0 + 0.7 * self.chance.normal() / requests.sqrt() } else { 1.0 };
        let await_ms = 1e3 * ((mean_s + queue_s) * noise.max(0.3) + extra_s);
        let reading = Reading {
            tps: requests / seconds,
            rd_sec: (reads * BULK + small * SMALL) / SECTOR / seconds,
            wr_sec: writes * BULK / SECTOR / seconds,
            await_ms: if requests > 0.0 { await_ms } else { 0.0 },
            util: ((work_s + extra_s * requests) / seconds).min(1.0),
        };
        self.route(lun, reading, touching, readings);
    }

    /// Requests go through the first server that can reach the LUN.
    fn route(&self, lun: usize, reading: Reading, touching: &[&Incident], readings: &mut [Option<Reading>]) {
        let path = |priority: usize| {
            let attachment = Attachment { lun, priority };
            let of = |incident: &&Incident| incident.happening.path(attachment, self.now - incident.from_s);
            touching.iter().map(of).max().unwrap_or(Path::Usable)
        };
        let mut routed = false;
        for priority in 0..PRIORITIES {
            let path = if touching.is_empty() { Path::Usable } else { path(priority) };
            let carries = path == Path::Usable && !routed;
            routed |= carries;
            if priority < self.site.priorities {
                readings[self.site.index(Attachment { lun, priority })] = match path {
                    Path::Missing => None,
                    _ if carries => Some(reading),
                    _ => Some(Reading::default()),
                };
            } else if routed {
                break;
            }
        }
        for incident in touching {
            if let Happening::SlowWithoutLoad { attachment, await_ms } = incident.happening
                && attachment.lun == lun
                && attachment.priority < self.site.priorities
            {
                let reading = Reading {
                    tps: 0.2,
                    rd_sec: 6.4,
                    await_ms,
                    util: 0.2 * await_ms / 1e3,
                    ..Reading::default()
                };
                readings[self.site.index(attachment)] = Some(reading);
            }
        }
    }

    /// A server's own small requests go through its own paths, whatever their priority.
    fn keep_house(&mut self, server: usize, readings: &mut [Option<Reading>]) {
        for lun in Self::luns_of(server) {
            for priority in 0..self.site.priorities {
                let attachment = Attachment { lun, priority };
                if attachment.server() != server {
                    continue;
                }
                let requests = self.chance.poisson(HOUSEKEEPING * self.interval_s);
                if let Some(reading) = &mut readings[self.site.index(attachment)]
                    && requests > 0.0
                    && reading.tps == 0.0
                {
                    let tps = requests / self.interval_s;
                    let await_ms = self.chance.between(0.2, 0.9);
                    let sectors = tps * SMALL / SECTOR;
                    *reading =
                        Reading { tps, rd_sec: sectors, await_ms, util: tps * await_ms / 1e3, wr_sec: 0.0 };
                }
            }
        }
    }

    fn luns_of(server: usize) -> std::ops::Range<usize> {
        let array = server / super::site::SERVERS_PER_ARRAY;
        array * LUNS_PER_ARRAY..(array + 1) * LUNS_PER_ARRAY
    }

    fn lose_samples(&mut self) {
        let day = self.interval_s / 86_400.0;
        for server in 0..SERVERS {
            self.silent[server] = self.silent[server].saturating_sub(1);
            if self.chance.happens(LOST_PER_DAY * day) {
                self.silent[server] = 1;
            }
            // Stepped forward, a clock passes over a slot or two. Stepped back, a slot is written twice, and the last wins: that
            // does not show.
            if self.chance.happens(STEPS_PER_DAY / 2.0 * day) {
                self.silent[server] = 1 + self.chance.below(2) as u32;
            }
        }
    }

    fn suffer_mishaps(&mut self) {
        let now = self.now;
        for lun in &mut self.luns {
            lun.mishap = lun.mishap.filter(|(until, _)| now < *until);
        }
        if self.chance.happens(MISHAPS_PER_DAY * self.interval_s / 86_400.0) {
            let lun = self.chance.below(LUNS);
            let until = now + self.chance.exponential(MISHAP_MINUTES * 60.0);
            let factor = self.chance.between(MISHAP.0, MISHAP.1);
            self.luns[lun].mishap = Some((until, factor));
            self.mishaps.push(Mishap { lun, from_s: now, to_s: until, factor });
        }
    }
}

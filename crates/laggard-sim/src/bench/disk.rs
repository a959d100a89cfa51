//! One disk, or an array of several: requests wait in a queue, the arm seeks, the platter turns, data passes.
//!
//! Two intruders can share it. A *hog* is a process that the block layer counts: the scheduler (CFQ) gives it slices of
//! time between those of the file system. A *hidden* load goes around the scheduler: one of its reads comes between any two
//! requests of the file system, and nobody counts it. And the disk itself can fail slowly: each request takes longer, or next to
//! none is completed.

use super::meter::Meter;
use super::setup::{DiskModel, MB};
use crate::chance::Chance;
use laggard_core::cost::SECTOR;
use std::collections::VecDeque;

/// Seagate Barracuda 7200.10, 320 GB: one turn, shortest and average seek.
const TURN_S: f64 = 60.0 / 7200.0;
const TRACK_S: f64 = 0.8e-3;
const AVERAGE_SEEK_S: f64 = 8.5e-3;
/// Between files of the file system the arm crosses at most this share of the disk; to the unused partition, about half.
const NEAR: f64 = 0.2;
const FAR: (f64, f64) = (0.3, 0.7);
/// No two disks are alike: standard deviation of transfer (spindles turn at 7200 rpm +- 0.2 %) and seek within one model.
const VARIATION: (f64, f64) = (0.001, 0.02);
/// Linux 2.6.18: largest request, requests that one direction may queue, CFQ's slices for synchronous and asynchronous I/O.
const REQUEST: f64 = 512.0 * 1024.0;
const QUEUE: usize = 128;
const SLICE_S: f64 = 0.1;
const ASYNC_SLICE_S: f64 = 0.04;
/// Reads of the hidden load.
const HIDDEN: f64 = MB;
/// A disk that fails slowly adds so many times what a request of 64 kB takes; one that stalls completes a request in so many seconds and works on one at a time.
const FAIL_SLOW: f64 = 3.0;
const STALLED_S: f64 = 15.0;
/// Sectors of a journal transaction.
const JOURNAL: f64 = 16.0;

/// What a request asks of a disk.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// Bytes.
    pub bytes: f64,
    /// Written, or read.
    pub is_write: bool,
    /// Consecutive work on one file needs no seek; `None` is a small access anywhere.
    pub file: Option<usize>,
    /// Blocks must be allocated first.
    pub extends: bool,
}

/// Work in the queue.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// What to do.
    pub work: Work,
    /// When it was asked for.
    pub submitted: f64,
    /// Who waits for it.
    pub operation: Option<u32>,
    /// Whether it comes from the server's cache.
    pub is_cached: bool,
}

/// A disk and its queue.
#[derive(Debug)]
pub struct Disk {
    model: DiskModel,
    allocation_s: f64,
    batch: usize,
    /// By file, and last what belongs to none; with the order of arrival.
    queues: Vec<VecDeque<(u64, Job)>>,
    waiting: usize,
    waiting_reads: usize,
    arrived: u64,
    /// What is being served, and when it will be done; a hog's slice has no job.
    serving: Vec<(f64, Option<Job>)>,
    /// Until then the meter knows that it is busy.
    busy_until: f64,
    last_file: Option<usize>,
    in_a_row: usize,
    /// Share of the hog's time, and of requests that a hidden read precedes.
    pub hog: f64,
    /// See `hog`.
    pub hidden: f64,
    /// Share of what a disk of these failures does: every request takes longer, or none is completed.
    pub fails_slow: f64,
    /// See `fails_slow`.
    pub stalls: f64,
    hog_submitted: VecDeque<f64>,
    reads_due: usize,
    writes_due_s: f64,
}

impl Disk {
    /// One of the disks of a model.
    pub fn new(model: DiskModel, allocation_s: f64, batch: usize, hardware: &mut Chance) -> Disk {
        let rate = model.rate * (1.0 + VARIATION.0 * hardware.normal());
        let seek = model.seek * (1.0 + VARIATION.1 * hardware.normal());
        Disk {
            model: DiskModel { rate, seek, ..model },
            allocation_s,
            batch,
            queues: Vec::new(),
            waiting: 0,
            waiting_reads: 0,
            arrived: 0,
            serving: Vec::new(),
            busy_until: 0.0,
            last_file: None,
            in_a_row: 0,
            hog: 0.0,
            hidden: 0.0,
            fails_slow: 0.0,
            stalls: 0.0,
            hog_submitted: VecDeque::new(),
            reads_due: 0,
            writes_due_s: 0.0,
        }
    }

    /// Adds work; true if a channel is idle and must be started.
    pub fn submit(&mut self, job: Job) -> bool {
        // Place 0 is for small accesses anywhere.
        let place = job.work.file.map_or(0, |file| file + 1);
        if self.queues.len() <= place {
            self.queues.resize(place + 1, VecDeque::new());
        }
        self.queues[place].push_back((self.arrived, job));
        self.arrived += 1;
        self.waiting += 1;
        self.waiting_reads += usize::from(!job.work.is_write);
        !self.is_busy()
    }

    /// The work that has just been done.
    pub fn finish(&mut self) -> Option<Job> {
        let first = |(index, (done, _)): (usize, &(f64, Option<Job>))| (*done, index);
        let (_, index) = self.serving.iter().enumerate().map(first).min_by(|a, b| a.0.total_cmp(&b.0))?;
        self.serving.swap_remove(index).1
    }

    /// Whether all channels serve something.
    pub fn is_busy(&self) -> bool {
        self.serving.len() >= if self.stalls > 0.0 { 1 } else { self.model.channels }
    }

    /// Takes up the next work; returns when it will be done.
    pub fn serve(&mut self, now: f64, meter: &mut Meter, chance: &mut Chance) -> Option<f64> {
        // A hog of half severity runs in the first half of every second.
        if self.hog > 0.0 && now.fract() < self.hog {
            if self.hog_is_due() {
                return Some(self.serve_hog(now, meter, chance));
            }
        } else if self.hog == 0.0 {
            self.hog_submitted.clear();
        }
        let job = self.next_job()?;
        let done = self.serve_job(&job, now, meter, chance);
        match job.work.is_write {
            true => self.writes_due_s = (self.writes_due_s - (done - now)).max(-SLICE_S),
            false => self.reads_due = self.reads_due.saturating_sub(1),
        }
        self.serving.push((done, Some(job)));
        Some(done)
    }

    /// The elevator goes on with the same file for a while, then with whatever waits longest.
    fn next_job(&mut self) -> Option<Job> {
        let same = self.last_file.map(|file| file + 1).filter(|&place| {
            self.in_a_row < self.batch && self.queues.get(place).is_some_and(|queue| !queue.is_empty())
        });
        let place = same.or_else(|| self.longest_waiting())?;
        let (_, job) = self.queues[place].pop_front()?;
        self.waiting -= 1;
        self.waiting_reads -= usize::from(!job.work.is_write);
        Some(job)
    }

    /// The queue with the job that waits longest.
    fn longest_waiting(&self) -> Option<usize> {
        let first = |place: usize| self.queues[place].front().map(|(arrived, _)| *arrived);
        (0..self.queues.len()).filter(|&place| first(place).is_some()).min_by_key(|&place| first(place))
    }

    fn hog_is_due(&self) -> bool {
        match self.longest_waiting().and_then(|place| self.queues[place].front()) {
            None => true,
            // Plain writes are asynchronous to CFQ: all share one short slice, every reader has one of its own.
            Some((_, job)) if job.work.is_write => self.writes_due_s <= 0.0,
            Some(_) => self.reads_due == 0,
        }
    }

    fn serve_hog(&mut self, now: f64, meter: &mut Meter, chance: &mut Chance) -> f64 {
        while self.hog_submitted.len() < QUEUE {
            self.hog_submitted.push_back(now);
        }
        let mut done = now + if self.last_file.is_some() { self.seek_s(FAR, chance) } else { 0.0 };
        self.last_file = None;
        while done < now + SLICE_S {
            done += REQUEST / self.model.rate;
            let submitted = self.hog_submitted.pop_front().unwrap_or(now);
            meter.request(submitted, done, REQUEST / SECTOR, false);
            self.hog_submitted.push_back(done);
        }
        self.meter_busy(now, done, meter);
        self.reads_due = self.waiting_reads;
        self.writes_due_s = self.writes_due_s.min(0.0) + ASYNC_SLICE_S;
        self.serving.push((done, None));
        done
    }

    fn serve_job(&mut self, job: &Job, now: f64, meter: &mut Meter, chance: &mut Chance) -> f64 {
        let Work { bytes, is_write, file, extends } = job.work;
        let mut done = now;
        let requests = (bytes / REQUEST).ceil().max(1.0);
        let continues = file.is_some() && file == self.last_file;
        self.in_a_row = if continues { self.in_a_row + 1 } else { 1 };
        let mut seeks = !continues;
        for _ in 0..requests as usize {
            if self.hidden > 0.0 && chance.happens(self.hidden) {
                done += self.seek_s(FAR, chance) + HIDDEN / self.model.rate;
                seeks = true;
            }
            if seeks {
                done += match (file, is_write) {
                    // A small write ends in the drive's cache, which sorts what it destages: half a turn, no seek.
                    (None, true) => self.turn_s() * chance.uniform(),
                    _ if self.hidden > 0.0 => self.seek_s(FAR, chance),
                    // The more requests wait, the nearer is the next.
                    _ => self.seek_s((0.0, NEAR / (1.0 + self.waiting as f64 / 2.0)), chance),
                };
                seeks = false;
            }
            done += bytes / requests / self.model.rate + self.model.overhead_s + self.failure_s(chance);
            meter.request(job.submitted, done, (bytes / requests / SECTOR).ceil(), is_write);
        }
        if extends && self.allocation_s > 0.0 {
            done += self.allocation_s * chance.between(0.6, 1.4);
            meter.request(job.submitted, done, JOURNAL, true);
        }
        self.last_file = file;
        self.meter_busy(now, done, meter);
        done
    }

    /// Seconds that a request takes longer on a disk that fails.
    fn failure_s(&self, chance: &mut Chance) -> f64 {
        let usual_s = self.model.seek * AVERAGE_SEEK_S + self.model.overhead_s + 65536.0 / self.model.rate;
        let slow_s = self.fails_slow * FAIL_SLOW * usual_s;
        if self.stalls > 0.0 { slow_s + self.stalls * STALLED_S * (0.5 + chance.uniform()) } else { slow_s }
    }

    /// Several channels that are busy at once are one busy disk.
    fn meter_busy(&mut self, from: f64, to: f64, meter: &mut Meter) {
        meter.spread(from.max(self.busy_until), to, |second, seconds| second.busy_s += seconds);
        self.busy_until = self.busy_until.max(to);
    }

    /// Seek over a share of the disk, and the turn until the sector comes.
    fn seek_s(&self, (least, most): (f64, f64), chance: &mut Chance) -> f64 {
        let distance = chance.between(least, most);
        let slope = (AVERAGE_SEEK_S - TRACK_S) / (1.0f64 / 3.0).sqrt();
        self.model.seek * (TRACK_S + slope * distance.sqrt()) + self.turn_s() * chance.uniform()
    }

    /// Flash has neither arm nor platter.
    fn turn_s(&self) -> f64 {
        if self.model.seek > 0.0 { TURN_S } else { 0.0 }
    }
}

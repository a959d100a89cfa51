//! What a client does: the benchmark of FAST'10, section 8.1, through the client of its file system.

use super::disk::Work;
use super::engine::{ANSWER_BYTES, Operation, REQUEST_BYTES, World};
use super::setup::{MB, Metadata, Phase, Transfer};
use super::{Experiment, Workload};
use crate::chance::Chance;
use std::collections::VecDeque;

/// Postmark's defaults: file sizes in bytes.
const FILE_SIZES: (f64, f64) = (500.0, 10_000.0);
/// Directory entries and attributes, as bytes of a request.
const ENTRY_BYTES: f64 = 200.0;
/// Disk bytes of a synchronous metadata update.
const UPDATE_BYTES: f64 = 8192.0;
/// A Lustre client finds this share of postmark's reads in its own cache.
const CACHED_READS: f64 = 0.7;
/// Lustre: seconds of the metadata server for one operation of postmark.
const METADATA_S: f64 = 0.4e-3;
/// Marks of postmark's requests.
const AWAITED: u32 = 1;
const NOT_AWAITED: u32 = 0;

/// One client.
pub struct Client {
    index: usize,
    phases: VecDeque<Phase>,
    activity: Activity,
    finished: bool,
}

enum Activity {
    Idle,
    Records { phase: Phase, left: f64, waiting: usize },
    Writing { phase: Phase, stripes: u32, made: u32, done: u32, dirty: Vec<u16>, sent: Vec<u16> },
    Reading { stripes: u32, asked: u32, arrived: VecDeque<bool> },
    Postmark(Postmark),
}

struct Postmark {
    transactions: usize,
    directory: usize,
    steps: VecDeque<Step>,
    /// Answers to come before the next step.
    waiting: usize,
}

/// Requests that a client makes one after another.
#[derive(Clone, Copy)]
enum Step {
    /// A question to one server, which answers from memory.
    Ask { server: usize },
    /// One request to one server and its disk.
    One { server: usize, bytes: f64, answer: f64, work: Work },
    /// One to each I/O server, waiting for all: a file has a part everywhere, even if all but one are empty.
    All,
    /// One to a server that nobody waits for.
    Behind { server: usize, bytes: f64, work: Work },
}

impl Client {
    /// A client that is about to run the experiment's workload.
    pub fn new(index: usize, experiment: &Experiment, chance: &mut Chance) -> Client {
        let Experiment { cluster, workload, scale, .. } = experiment;
        let activity = match workload {
            Workload::Postmark => Activity::Postmark(Postmark {
                transactions: Workload::transactions(cluster, *scale),
                directory: chance.below(cluster.servers),
                steps: VecDeque::new(),
                waiting: 0,
            }),
            _ => Activity::Idle,
        };
        let phases = workload.phases(cluster, *scale).unwrap_or_default().into();
        Client { index, phases, activity, finished: false }
    }

    /// True once, when all work is done.
    pub fn has_just_finished(&mut self) -> bool {
        std::mem::take(&mut self.finished)
    }

    /// Goes on, after a pause or at the start.
    pub fn advance(&mut self, world: &mut World) {
        match &mut self.activity {
            Activity::Idle => self.next_phase(world),
            Activity::Records { left, .. } if *left <= 0.0 => self.next_phase(world),
            Activity::Records { .. } => self.next_record(world),
            Activity::Writing { .. } => self.write_behind(world),
            Activity::Reading { .. } => self.read_ahead(world),
            Activity::Postmark(postmark) => {
                postmark.waiting = postmark.waiting.saturating_sub(1);
                if postmark.waiting == 0 {
                    self.next_step(world);
                }
            }
        }
    }

    /// An answer has come.
    pub fn answered(&mut self, operation: &Operation, world: &mut World) {
        match &mut self.activity {
            Activity::Idle => {}
            Activity::Records { phase, waiting, .. } => {
                *waiting -= 1;
                if *waiting == 0 {
                    let copying = phase.part * world.servers as f64 / world.file_system.copy;
                    world.wake(self.index, copying);
                }
            }
            Activity::Writing { stripes, done, dirty, sent, .. } => {
                dirty[operation.server] -= 1;
                sent[operation.server] -= 1;
                *done += 1;
                if done == stripes { self.next_phase(world) } else { self.write_behind(world) }
            }
            Activity::Reading { stripes, asked, arrived } => {
                let first = *asked - arrived.len() as u32;
                arrived[(operation.stripe - first) as usize] = true;
                while arrived.front() == Some(&true) {
                    arrived.pop_front();
                }
                if arrived.is_empty() && asked == stripes {
                    self.next_phase(world);
                } else {
                    self.read_ahead(world);
                }
            }
            Activity::Postmark(_) => {
                if operation.stripe == AWAITED {
                    self.advance(world);
                }
            }
        }
    }

    fn next_phase(&mut self, world: &mut World) {
        let Some(phase) = self.phases.pop_front() else {
            self.activity = Activity::Idle;
            self.finished = true;
            return;
        };
        let stripes = (phase.bytes / MB) as u32;
        let none = vec![0; world.servers];
        self.activity = match world.file_system.transfer {
            Transfer::Records => Activity::Records { phase, left: phase.bytes, waiting: 0 },
            Transfer::Cached { .. } if phase.writes => {
                Activity::Writing { phase, stripes, made: 0, done: 0, dirty: none.clone(), sent: none }
            }
            Transfer::Cached { .. } => Activity::Reading { stripes, asked: 0, arrived: VecDeque::new() },
        };
        self.advance(world);
    }

    fn next_record(&mut self, world: &mut World) {
        let Activity::Records { phase, left, waiting } = &mut self.activity else { return };
        *left -= phase.part * world.servers as f64;
        *waiting = world.servers;
        let Phase { writes, extends, part, .. } = *phase;
        // The request to server 0 does not always leave first.
        let first = world.chance.below(world.servers);
        for offset in 0..world.servers {
            let server = (first + offset) % world.servers;
            self.transfer(server, part, writes, extends, 0, world);
        }
    }

    /// A stretch of the client's file on one server.
    fn transfer(
        &self,
        server: usize,
        bytes: f64,
        is_write: bool,
        extends: bool,
        stripe: u32,
        world: &mut World,
    ) {
        let work = Some(Work { bytes, is_write, file: Some(self.index), extends });
        let (request, answer) = if is_write {
            (REQUEST_BYTES + bytes, ANSWER_BYTES)
        } else {
            (REQUEST_BYTES, ANSWER_BYTES + bytes)
        };
        world.request(Operation { client: self.index, server, answer, work, stripe }, request);
    }

    /// Fills the cache as far as it goes, and keeps requests in flight to every server that has something to get.
    fn write_behind(&mut self, world: &mut World) {
        let Transfer::Cached { in_flight, dirty: most, .. } = world.file_system.transfer else { return };
        let Activity::Writing { phase, stripes, made, dirty, .. } = &mut self.activity else { return };
        let servers = world.servers;
        let home = |stripe: u32| (stripe as usize + self.index) % servers;
        while made < stripes && usize::from(dirty[home(*made)]) < most {
            dirty[home(*made)] += 1;
            *made += 1;
        }
        let extends = phase.extends;
        for server in 0..servers {
            let Activity::Writing { dirty, sent, .. } = &mut self.activity else { return };
            let due = dirty[server].min(in_flight as u16).saturating_sub(sent[server]);
            sent[server] += due;
            for _ in 0..due {
                self.transfer(server, MB, true, extends, 0, world);
            }
        }
    }

    /// Asks for stripes up to the read-ahead beyond the first that has not come.
    fn read_ahead(&mut self, world: &mut World) {
        let Transfer::Cached { ahead, .. } = world.file_system.transfer else { return };
        let Activity::Reading { stripes, asked, arrived } = &mut self.activity else { return };
        let from = *asked;
        while asked < stripes && arrived.len() < ahead {
            arrived.push_back(false);
            *asked += 1;
        }
        for stripe in from..*asked {
            let server = (stripe as usize + self.index) % world.servers;
            self.transfer(server, MB, false, false, stripe, world);
        }
    }

    fn next_step(&mut self, world: &mut World) {
        let Activity::Postmark(postmark) = &mut self.activity else { return };
        loop {
            if postmark.steps.is_empty() {
                if postmark.transactions == 0 {
                    self.activity = Activity::Idle;
                    self.finished = true;
                    return;
                }
                postmark.transactions -= 1;
                match world.file_system.metadata {
                    Metadata::Spread => spread_transaction(postmark, world),
                    Metadata::Dedicated => dedicated_transaction(postmark, world),
                }
            }
            let Some(step) = postmark.steps.pop_front() else { return };
            let client = self.index;
            match step {
                Step::Ask { server } => return postmark.ask(client, server..server + 1, world),
                Step::All => return postmark.ask(client, 0..world.servers, world),
                Step::One { server, bytes, answer, work } => {
                    postmark.waiting = 1;
                    let work = Some(work);
                    return world.request(Operation { client, server, answer, work, stripe: AWAITED }, bytes);
                }
                Step::Behind { server, bytes, work } => {
                    let (answer, work) = (ANSWER_BYTES, Some(work));
                    world.request(Operation { client, server, answer, work, stripe: NOT_AWAITED }, bytes);
                }
            }
        }
    }
}

impl Postmark {
    /// Asks some servers, and waits for all of them.
    fn ask(&mut self, client: usize, servers: std::ops::Range<usize>, world: &mut World) {
        let mut last = world.now;
        self.waiting = 1;
        for server in servers {
            if world.is_lossy(client, server) {
                self.waiting += 1;
                let operation =
                    Operation { client, server, answer: ANSWER_BYTES, work: None, stripe: AWAITED };
                world.request(operation, ENTRY_BYTES);
            } else {
                last = last.max(world.ask(client, server, ENTRY_BYTES, ANSWER_BYTES));
            }
        }
        world.wake(client, last - world.now);
    }
}

fn small(bytes: f64, is_write: bool) -> Work {
    Work { bytes, is_write, file: None, extends: false }
}

/// PVFS: every look-up begins at the server of the root directory, entries live with the directory's server, attributes and
/// data with servers that differ from file to file. Updates of metadata are synchronous.
fn spread_transaction(postmark: &mut Postmark, world: &mut World) {
    const ROOT: usize = 0;
    let look_up = |server| Step::Ask { server };
    let update = |server| Step::One {
        server,
        bytes: ENTRY_BYTES,
        answer: ANSWER_BYTES,
        work: small(UPDATE_BYTES, true),
    };
    let directory = postmark.directory;
    let chance = &mut world.chance;
    let size = chance.between(FILE_SIZES.0, FILE_SIZES.1);
    let (attributes, data) = (chance.below(world.servers), chance.below(world.servers));
    postmark.steps.extend([look_up(ROOT), look_up(directory)]);
    if chance.happens(0.5) {
        let write = Step::One { server: data, bytes: size, answer: ANSWER_BYTES, work: small(size, true) };
        postmark.steps.extend([update(attributes), update(directory), write]);
    } else {
        postmark.steps.extend([update(directory), update(attributes), Step::All, update(data)]);
    }
    let (attributes, data) = (chance.below(world.servers), chance.below(world.servers));
    // The names of a moment ago are still in the client's cache.
    postmark.steps.push_back(look_up(attributes));
    postmark.steps.push_back(if chance.happens(0.5) {
        Step::One { server: data, bytes: REQUEST_BYTES, answer: size, work: small(size, false) }
    } else {
        Step::One { server: data, bytes: size, answer: ANSWER_BYTES, work: small(size, true) }
    });
}

/// Lustre: names and attributes are the metadata server's, which has them in memory; data is written behind, and most of what is
/// read was written by the same client a moment ago.
fn dedicated_transaction(postmark: &mut Postmark, world: &mut World) {
    let metadata = world.servers;
    let ask = Step::Ask { server: metadata };
    let chance = &mut world.chance;
    let size = chance.between(FILE_SIZES.0, FILE_SIZES.1);
    postmark.steps.push_back(ask);
    if chance.happens(0.5) {
        let server = chance.below(world.servers);
        postmark.steps.push_back(Step::Behind { server, bytes: size, work: small(size, true) });
    } else {
        postmark.steps.push_back(Step::All); // the objects of a removed file
    }
    postmark.steps.push_back(ask);
    let server = chance.below(world.servers);
    if chance.happens(0.5) {
        postmark.steps.push_back(Step::Behind { server, bytes: size, work: small(size, true) });
    } else if !chance.happens(CACHED_READS) {
        let work = small(size, false);
        postmark.steps.push_back(Step::One { server, bytes: REQUEST_BYTES, answer: size, work });
    }
    world.occupy(metadata, 2.0 * METADATA_S);
}

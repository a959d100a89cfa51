//! The event loop: who sends, who answers, what happens next.

use super::Experiment;
use super::agenda::{Agenda, Event};
use super::client::Client;
use super::disk::{Disk, Job, Work};
use super::fault::{Fault, FaultKind};
use super::meter::{Meter, Socket, Trace};
use super::net::{BULK_WINDOW, FILE_SYSTEM_WINDOW, Flow, Message, Net};
use super::setup::{Cluster, FileSystem, Metadata};
use crate::chance::Chance;
use std::collections::VecDeque;

/// Packets dropped by the published loss faults.
const LOSS: f64 = 0.05;
/// Bytes per second that a network hog of full severity may send.
const LINK: f64 = 125e6;
/// ext3 commits its journal every five seconds.
const COMMIT_S: f64 = 5.0;
/// Writes of a server's page cache that wait for its disk at most, and the largest that it merges.
const MOST_WRITES: usize = 64;
const MERGED: f64 = 512.0 * 1024.0;
/// Requests and answers without data.
pub const REQUEST_BYTES: f64 = 350.0;
/// See [`REQUEST_BYTES`].
pub const ANSWER_BYTES: f64 = 150.0;
/// No experiment runs longer.
const LONGEST_S: f64 = 3600.0;

/// One request of a client to a server.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// Who asked.
    pub client: usize,
    /// Whom.
    pub server: usize,
    /// Bytes of the answer.
    pub answer: f64,
    /// What the disk has to do for it, if anything.
    pub work: Option<Work>,
    /// The client's own mark.
    pub stripe: u32,
}

/// Everything in an experiment.
pub struct World {
    /// Now, in seconds.
    pub now: f64,
    /// The experiment's chance.
    pub chance: Chance,
    /// The file system.
    pub file_system: FileSystem,
    /// I/O servers; a metadata server of its own comes after them.
    pub servers: usize,
    hosts: usize,
    agenda: Agenda,
    net: Net,
    disks: Vec<Disk>,
    meters: Vec<Meter>,
    caches: Vec<Cache>,
    /// When each server's processor will be free.
    processors: Vec<f64>,
    operations: Vec<Operation>,
    free: Vec<u32>,
    hog: usize,
}

/// A server's write-back cache.
#[derive(Debug, Default)]
struct Cache {
    dirty: f64,
    unwritten: VecDeque<Work>,
    /// Written data that found no room.
    parked: VecDeque<u32>,
    writing: usize,
    /// Above the bound at which writing begins.
    is_flushing: bool,
}

/// Runs an experiment to the end of its workload.
pub fn run(experiment: &Experiment) -> Trace {
    let mut world = World::new(&experiment.cluster, experiment.seed);
    let mut clients: Vec<Client> = (0..experiment.cluster.clients)
        .map(|client| Client::new(client, experiment, &mut world.chance))
        .collect();
    for client in 0..clients.len() {
        // Started by hand or by a script: not all in the same instant.
        let at = world.chance.between(0.0, 0.5);
        world.schedule(at, Event::Wake(client as u32));
    }
    for server in 0..world.servers {
        let at = world.chance.between(0.0, COMMIT_S);
        world.schedule(at, Event::Commit(server as u32));
    }
    world.schedule(1.0, Event::Second);
    for (index, fault) in experiment.faults.iter().enumerate() {
        world.schedule(fault.from_s, Event::FaultBegins(index as u32));
        world.schedule(fault.to_s, Event::FaultEnds(index as u32));
    }
    let mut samples: Vec<f32> = Vec::new();
    let mut running = clients.len();
    while let Some((time, event)) = world.agenda.next() {
        world.now = time;
        if running == 0 || world.now > LONGEST_S {
            break;
        }
        match event {
            Event::Transmitted(flow) => {
                if let Some(answered) = world.transmitted(flow as usize) {
                    let operation = world.operations[answered as usize];
                    world.free.push(answered);
                    let client = &mut clients[operation.client];
                    client.answered(&operation, &mut world);
                    running -= usize::from(client.has_just_finished());
                }
            }
            Event::Wake(client) => {
                let client = &mut clients[client as usize];
                client.advance(&mut world);
                running -= usize::from(client.has_just_finished());
            }
            Event::DiskDone(server) => world.disk_done(server as usize),
            Event::Commit(server) => {
                let work = Work { bytes: 8192.0, is_write: true, file: None, extends: false };
                world.submit(server as usize, work, None);
                world.commit(server as usize);
                world.schedule(COMMIT_S, Event::Commit(server));
            }
            Event::Second => {
                samples.extend(world.net.flows[..world.hog].iter().map(|flow| flow.tcp.cwnd as f32));
                world.schedule(1.0, Event::Second);
            }
            Event::FaultBegins(index) => {
                let fault = &experiment.faults[index as usize];
                world.set_fault(fault, fault.severity);
            }
            Event::HogResumes(server) => world.hog_resumes(server as usize),
            Event::FaultEnds(index) => world.set_fault(&experiment.faults[index as usize], 0.0),
        }
    }
    let sockets = world.sockets(&samples, experiment.cluster.clients);
    let seconds = samples.len() / world.hog;
    world.meters.truncate(world.servers);
    Trace::new(&world.meters, sockets, world.now.min(seconds as f64))
}

impl World {
    fn new(cluster: &Cluster, seed: u64) -> World {
        let file_system = cluster.file_system;
        let hosts = cluster.servers + usize::from(file_system.metadata == Metadata::Dedicated);
        let third_party = hosts + cluster.clients;
        let mut net = Net::new(third_party + 1);
        for client in 0..cluster.clients {
            for server in 0..hosts {
                net.flows.push(Flow::new(hosts + client, server, FILE_SYSTEM_WINDOW));
                net.flows.push(Flow::new(server, hosts + client, FILE_SYSTEM_WINDOW));
            }
        }
        let hog = net.flows.len();
        net.flows.push(Flow::new(third_party, 0, BULK_WINDOW));
        let mut hardware = Chance::new(cluster.hardware);
        let disk = |_| Disk::new(cluster.disk, file_system.allocation_s, file_system.batch, &mut hardware);
        World {
            now: 0.0,
            chance: Chance::new(seed),
            file_system,
            servers: cluster.servers,
            hosts,
            agenda: Agenda::default(),
            net,
            disks: (0..hosts).map(disk).collect(),
            meters: vec![Meter::default(); hosts],
            caches: (0..hosts).map(|_| Cache::default()).collect(),
            processors: vec![0.0; hosts],
            operations: Vec::new(),
            free: Vec::new(),
            hog,
        }
    }

    fn schedule(&mut self, after_s: f64, event: Event) {
        self.agenda.add(self.now + after_s, event);
    }

    fn schedule_at(&mut self, time: f64, event: Event) {
        self.schedule((time - self.now).max(0.0), event);
    }

    /// Wakes a client later.
    pub fn wake(&mut self, client: usize, after_s: f64) {
        self.schedule(after_s, Event::Wake(client as u32));
    }

    /// Takes a server's processor for some time.
    pub fn occupy(&mut self, server: usize, seconds: f64) {
        self.processors[server] = self.processors[server].max(self.now) + seconds;
    }

    /// Sends a request of `bytes`.
    pub fn request(&mut self, operation: Operation, bytes: f64) {
        let id = self.free.pop().unwrap_or_else(|| {
            self.operations.push(operation);
            self.operations.len() as u32 - 1
        });
        self.operations[id as usize] = operation;
        let flow = (operation.client * self.hosts + operation.server) * 2;
        self.send(flow, Message { left: bytes, operation: id, is_answer: false }, self.now);
    }

    /// Whether a message between the two may be lost, and so take long.
    pub fn is_lossy(&self, client: usize, server: usize) -> bool {
        let flow = (client * self.hosts + server) * 2;
        self.net.flows[flow].loss > 0.0 || self.net.flows[flow + 1].loss > 0.0
    }

    /// A question that needs no disk, where nothing is lost: returns when its answer has come. It is looked up at once, for it
    /// meets nobody on its way but what is already there; the agenda would only be longer.
    pub fn ask(&mut self, client: usize, server: usize, bytes: f64, answer: f64) -> f64 {
        let flow = (client * self.hosts + server) * 2;
        let asked = self.pass(flow, bytes, self.now);
        let ready = self.process(server, asked);
        self.pass(flow + 1, answer, ready)
    }

    /// A message of few segments that overtakes nobody: returns when it is there.
    fn pass(&mut self, flow: usize, bytes: f64, ready: f64) -> f64 {
        let message = Message { left: bytes, operation: 0, is_answer: false };
        self.net.pass(flow, message, ready, &mut self.meters, &mut self.chance)
    }

    /// A server's processor takes up a request; returns when it has.
    fn process(&mut self, server: usize, arrived: f64) -> f64 {
        self.processors[server] = self.processors[server].max(arrived) + self.file_system.request_s;
        self.processors[server]
    }

    fn answer(&mut self, id: u32) {
        let Operation { client, server, answer, .. } = self.operations[id as usize];
        let ready = self.process(server, self.now);
        let flow = (client * self.hosts + server) * 2 + 1;
        self.send(flow, Message { left: answer, operation: id, is_answer: true }, ready);
    }

    fn send(&mut self, flow: usize, message: Message, ready: f64) {
        self.net.flows[flow].queue.push_back(message);
        if self.net.flows[flow].queue.len() == 1 {
            self.transmit(flow, ready);
        }
    }

    fn transmit(&mut self, flow: usize, ready: f64) {
        let done = self.net.transmit(flow, ready, &mut self.meters, &mut self.chance);
        self.schedule_at(done, Event::Transmitted(flow as u32));
    }

    /// A window is through. Returns the operation whose answer is complete, if that is what it was.
    fn transmitted(&mut self, index: usize) -> Option<u32> {
        let flow = &mut self.net.flows[index];
        let message = flow.queue.front_mut()?;
        message.left -= flow.in_flight;
        if message.left > 0.5 {
            self.transmit(index, self.now);
            return None;
        }
        let message = flow.queue.pop_front()?;
        if flow.queue.is_empty() {
            self.net.rest(index);
        } else {
            self.transmit(index, self.now);
        }
        if message.is_answer {
            return Some(message.operation);
        }
        self.requested(message.operation);
        None
    }

    /// A request has reached its server.
    fn requested(&mut self, id: u32) {
        let Operation { server, work, .. } = self.operations[id as usize];
        match work {
            None => self.answer(id),
            Some(work) if work.is_write && self.file_system.server_cache > 0.0 => {
                self.write_behind(server, id, work);
            }
            Some(work) => self.submit(server, work, Some(id)),
        }
    }

    /// Cached server I/O: the answer comes at once while there is room, and the disk follows.
    fn write_behind(&mut self, server: usize, id: u32, work: Work) {
        let cache = &mut self.caches[server];
        if cache.dirty > 0.0 && cache.dirty + work.bytes > self.file_system.server_cache {
            cache.parked.push_back(id);
            return;
        }
        cache.dirty += work.bytes;
        cache.unwritten.push_back(work);
        self.answer(id);
        self.write_back(server);
    }

    /// What is old is written, however little it is.
    fn commit(&mut self, server: usize) {
        if self.file_system.write_back_from > 0.0 && !self.caches[server].unwritten.is_empty() {
            self.caches[server].is_flushing = true;
            self.flush(server);
        }
    }

    /// There is room again for what was parked.
    fn admit(&mut self, server: usize) {
        for _ in 0..self.caches[server].parked.len() {
            let Some(id) = self.caches[server].parked.pop_front() else { return };
            if let Some(work) = self.operations[id as usize].work {
                self.write_behind(server, id, work);
            }
            // It found no room again: neither will the others.
            if self.caches[server].parked.back() == Some(&id) {
                self.caches[server].parked.rotate_right(1);
                return;
            }
        }
    }

    fn write_back(&mut self, server: usize) {
        const AT_ONCE: usize = 4;
        if self.file_system.write_back_from > 0.0 {
            return self.flush(server);
        }
        while self.caches[server].writing < AT_ONCE {
            let Some(work) = self.caches[server].unwritten.pop_front() else { return };
            self.caches[server].writing += 1;
            self.submit_cached(server, work);
        }
    }

    /// The page cache: writing begins where much is dirty, goes on until little is, and merges what is there by then. A disk that
    /// does not keep up is always written to, so that every piece goes as it comes.
    fn flush(&mut self, server: usize) {
        let from = self.file_system.write_back_from;
        let cache = &mut self.caches[server];
        cache.is_flushing = cache.dirty >= from || cache.is_flushing && cache.dirty > from / 4.0;
        while self.caches[server].is_flushing && self.caches[server].writing < MOST_WRITES {
            let cache = &mut self.caches[server];
            let Some(mut work) = cache.unwritten.pop_front() else { return };
            if work.file.is_some() {
                cache.unwritten.retain(|other| {
                    let merges = other.file == work.file && work.bytes + other.bytes <= MERGED;
                    work.bytes += if merges { other.bytes } else { 0.0 };
                    !merges
                });
            }
            cache.writing += 1;
            self.submit_cached(server, work);
        }
    }

    fn submit_cached(&mut self, server: usize, work: Work) {
        let job = Job { work, submitted: self.now, operation: None, is_cached: true };
        if self.disks[server].submit(job) {
            self.serve(server);
        }
    }

    fn submit(&mut self, server: usize, work: Work, operation: Option<u32>) {
        if self.disks[server].submit(Job { work, submitted: self.now, operation, is_cached: false }) {
            self.serve(server);
        }
    }

    /// Starts what waits on every channel that is free.
    fn serve(&mut self, server: usize) {
        while !self.disks[server].is_busy() {
            let disk = &mut self.disks[server];
            let Some(done) = disk.serve(self.now, &mut self.meters[server], &mut self.chance) else { return };
            self.schedule_at(done, Event::DiskDone(server as u32));
        }
    }

    fn disk_done(&mut self, server: usize) {
        if let Some(job) = self.disks[server].finish() {
            match job.operation {
                Some(id) => self.answer(id),
                None if job.is_cached => {
                    let cache = &mut self.caches[server];
                    cache.dirty -= job.work.bytes;
                    cache.writing -= 1;
                    self.admit(server);
                    self.write_back(server);
                }
                None => {}
            }
        }
        self.serve(server);
    }

    fn set_fault(&mut self, fault: &Fault, severity: f64) {
        let server = fault.server;
        match fault.kind {
            FaultKind::DiskHog => {
                self.disks[server].hog = severity;
                if severity > 0.0 {
                    self.hog_resumes(server);
                }
            }
            FaultKind::DiskBusy => self.disks[server].hidden = severity,
            FaultKind::DiskStall => self.disks[server].stalls = severity,
            FaultKind::FailSlow => self.disks[server].fails_slow = severity,
            FaultKind::WriteNetworkHog => self.set_network_hog(self.net_third_party(), server, severity),
            FaultKind::ReadNetworkHog => self.set_network_hog(server, self.net_third_party(), severity),
            FaultKind::ReceivePktloss => self.set_loss(server, 0, severity),
            FaultKind::SendPktloss => self.set_loss(server, 1, severity),
        }
    }

    /// At the start, and with every second until the fault ends.
    fn hog_resumes(&mut self, server: usize) {
        if self.disks[server].hog == 0.0 {
            return;
        }
        self.schedule_at(self.now.floor() + 1.0, Event::HogResumes(server as u32));
        self.serve(server);
    }

    fn net_third_party(&self) -> usize {
        self.hosts + self.hog / 2 / self.hosts
    }

    fn set_network_hog(&mut self, from: usize, to: usize, severity: f64) {
        let mut flow = Flow::new(from, to, BULK_WINDOW);
        flow.pace = severity * LINK;
        if severity > 0.0 {
            // Endless; no operation ever looks at it.
            flow.queue.push_back(Message { left: 1e15, operation: 0, is_answer: false });
            self.net.flows[self.hog] = flow;
            self.transmit(self.hog, self.now);
        } else {
            self.net.rest(self.hog);
            self.net.flows[self.hog] = flow;
        }
    }

    fn set_loss(&mut self, server: usize, direction: usize, severity: f64) {
        let hosts = self.hosts;
        let of_server = |index: &usize| (index / 2) % hosts == server && index % 2 == direction;
        for index in (0..self.hog).filter(of_server) {
            self.net.flows[index].loss = LOSS * severity;
        }
    }

    fn sockets(&self, samples: &[f32], clients: usize) -> Vec<Socket> {
        let pairs = (0..clients).flat_map(|client| (0..self.servers).map(move |server| (client, server)));
        let socket = |(client, server): (usize, usize), on_server: bool| {
            let flow = (client * self.hosts + server) * 2 + usize::from(on_server);
            let cwnd = samples.chunks_exact(self.hog).map(|second| second[flow].floor()).collect();
            Socket { client, server, on_server, cwnd }
        };
        pairs.flat_map(|pair| [socket(pair, false), socket(pair, true)]).collect()
    }
}

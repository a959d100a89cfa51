//! Gigabit links through one switch, and TCP connections over them, a window of segments at a time.
//!
//! A node's outgoing link and the switch's port towards it are queues, kept as the moment at which they will be empty. The
//! port drops what does not fit: where the windows of all flows towards a node are more than its buffer holds. Loss, from a full port or a fault, is answered by fast
//! retransmission where enough segments follow, else by a timeout: congestion control as Linux 2.6.18 has it (BIC).

use super::meter::Meter;
use crate::chance::Chance;
use std::collections::VecDeque;

/// Payload of a segment: 1500 bytes less 40 of headers and 12 of timestamps.
pub const SEGMENT: f64 = 1448.0;
/// A full frame and an acknowledgement, as the interface counts them.
const FRAME: f64 = 1514.0;
const ACKNOWLEDGEMENT: f64 = 66.0;
/// Payload bytes per second of gigabit Ethernet, with preamble, gap and checksum.
const RATE: f64 = 125e6 * SEGMENT / 1538.0;
/// One way, and there and back, through one switch and two interrupt-coalescing cards.
const LATENCY_S: f64 = 50e-6;
const ROUND_TRIP_S: f64 = 120e-6;
/// Bytes that the switch holds for one port.
const PORT_BUFFER: f64 = 256.0 * 1024.0;
/// Linux: least retransmission timeout.
const TIMEOUT_S: f64 = 0.2;
/// Linux 2.6.18: first window of a connection.
const FIRST_WINDOW: f64 = 3.0;
/// The file system's connections settle at about a hundred segments (FAST'10, section 6.1).
pub const FILE_SYSTEM_WINDOW: f64 = 100.0;
/// A bulk sender fills the queue of its own interface: txqueuelen.
pub const BULK_WINDOW: f64 = 1000.0;
/// Duplicate acknowledgements that start a fast retransmission.
const DUPLICATES: f64 = 3.0;
/// Bytes that a flow sends before another may pass: the grain of the simulation ...
const PIECE: f64 = 1024.0 * 1024.0;
/// ... and segments before it may meet a full port again.
const CALM: f64 = 362.0;
/// BIC: below this window it is Reno; above, what it keeps after a loss and its largest step.
const LOW_WINDOW: f64 = 14.0;
const KEPT: f64 = 0.8;
const LARGEST_STEP: f64 = 16.0;

/// Congestion control of one direction of a connection.
#[derive(Debug, Clone)]
pub struct Tcp {
    /// Segments.
    pub cwnd: f64,
    threshold: f64,
    /// The window at the last loss.
    peak: f64,
    last_sent: f64,
    largest: f64,
}

/// A request, data or an answer on its way.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// Bytes still to deliver.
    pub left: f64,
    /// What it belongs to.
    pub operation: u32,
    /// On the way back to the client.
    pub is_answer: bool,
}

/// One direction of a connection.
#[derive(Debug, Clone)]
pub struct Flow {
    from: usize,
    to: usize,
    /// Its congestion control.
    pub tcp: Tcp,
    /// Messages in order; the first is being sent.
    pub queue: VecDeque<Message>,
    /// Bytes in flight.
    pub in_flight: f64,
    /// Bytes of window that it contributes to the port of its receiver.
    window: f64,
    /// Probability that a segment is dropped at the receiver, after its interface has counted it.
    pub loss: f64,
    /// Bytes per second that the sender offers at most.
    pub pace: f64,
}

/// All links and flows.
#[derive(Debug)]
pub struct Net {
    /// When each node's outgoing link and the port towards it will be empty.
    outgoing: Vec<f64>,
    incoming: Vec<f64>,
    /// Bytes of window that all flows towards a node may have in flight.
    windows: Vec<f64>,
    /// All flows.
    pub flows: Vec<Flow>,
}

impl Flow {
    /// A new connection's direction.
    pub fn new(from: usize, to: usize, largest: f64) -> Flow {
        let tcp = Tcp { cwnd: FIRST_WINDOW, threshold: largest, peak: largest, last_sent: 0.0, largest };
        Flow {
            from,
            to,
            tcp,
            queue: VecDeque::new(),
            in_flight: 0.0,
            window: 0.0,
            loss: 0.0,
            pace: f64::INFINITY,
        }
    }
}

impl Tcp {
    /// A window that has long not been used is no longer believed in.
    fn restart_after_idle(&mut self, now: f64) {
        let mut idle = now - self.last_sent;
        while idle > TIMEOUT_S && self.cwnd > FIRST_WINDOW {
            self.threshold = self.threshold.max(0.75 * self.cwnd);
            self.cwnd = (self.cwnd / 2.0).max(FIRST_WINDOW);
            idle -= TIMEOUT_S;
        }
    }

    /// A window was acknowledged; it grows only where it was the limit.
    fn grow(&mut self, sent: f64) {
        if sent < whole(self.cwnd) {
            return;
        }
        self.cwnd += match self.cwnd {
            cwnd if cwnd < self.threshold => (0.5 * cwnd).max(1.0),
            cwnd if cwnd < LOW_WINDOW => 1.0,
            cwnd if cwnd < self.peak => ((self.peak - cwnd) / 2.0).clamp(0.25, LARGEST_STEP),
            _ => 1.0,
        };
        self.cwnd = self.cwnd.min(self.largest);
    }

    /// Sends segments that nothing happens to; returns how many windows they take.
    fn sail(&mut self, mut segments: f64) -> f64 {
        let mut windows = 0.0;
        while segments > 0.0 {
            if self.cwnd >= self.largest {
                return windows + whole(segments / self.largest + 0.999);
            }
            let sent = segments.min(whole(self.cwnd)).max(1.0);
            self.grow(sent);
            segments -= sent;
            windows += 1.0;
        }
        windows
    }

    fn shrink(&mut self) {
        self.peak = self.cwnd;
        let kept = if self.cwnd > LOW_WINDOW { KEPT } else { 0.5 };
        self.threshold = (self.cwnd * kept).max(2.0);
        self.cwnd = self.threshold;
    }

    /// Answers the loss of some of the sent segments; returns how long the recovery takes.
    fn recover(
        &mut self,
        sent: f64,
        lost: f64,
        follows: bool,
        loss: f64,
        round_trip: f64,
        chance: &mut Chance,
    ) -> f64 {
        // What follows a lost segment tells the sender; after the last of a message, nothing does.
        let tail_lost = !follows && chance.happens(1.0 - (1.0 - lost / sent).powf(DUPLICATES));
        let repeat_lost = loss > 0.0 && chance.happens(1.0 - (1.0 - loss).powf(lost));
        let enough = if follows { self.cwnd } else { sent } - lost.min(sent - 1.0) >= DUPLICATES;
        self.shrink();
        if enough && !tail_lost && !repeat_lost {
            return round_trip;
        }
        self.threshold = self.threshold.max(2.0);
        self.cwnd = 1.0;
        let mut waited = TIMEOUT_S;
        let mut timeout = TIMEOUT_S;
        while loss > 0.0 && timeout < 10.0 && chance.happens(loss) {
            timeout *= 2.0;
            waited += timeout;
        }
        waited + round_trip
    }
}

impl Net {
    /// Links for this many nodes.
    pub fn new(nodes: usize) -> Net {
        Net {
            outgoing: vec![0.0; nodes],
            incoming: vec![0.0; nodes],
            windows: vec![0.0; nodes],
            flows: Vec::new(),
        }
    }

    /// Sends the next piece of a flow's first message, `start` at the earliest; returns when it is through.
    /// Meters are those of the first nodes, the servers.
    pub fn transmit(&mut self, flow: usize, start: f64, meters: &mut [Meter], chance: &mut Chance) -> f64 {
        let Some(&message) = self.flows[flow].queue.front() else { return start };
        if let Some(done) = self.single(flow, message.left, start, meters) {
            self.rest(flow);
            self.flows[flow].in_flight = message.left;
            return done;
        }
        self.send(flow, message, start, meters, chance)
    }

    /// A message of one piece, beside whatever the flow has queued.
    pub fn pass(
        &mut self,
        flow: usize,
        message: Message,
        start: f64,
        meters: &mut [Meter],
        chance: &mut Chance,
    ) -> f64 {
        if let Some(done) = self.single(flow, message.left, start, meters) {
            return done;
        }
        let in_flight = self.flows[flow].in_flight;
        let done = self.send(flow, message, start, meters, chance);
        self.flows[flow].in_flight = in_flight;
        if self.flows[flow].queue.is_empty() {
            self.rest(flow);
        }
        done
    }

    /// Most of all messages: one segment that nothing happens to. Returns when it is there, or nothing if something might.
    fn single(&mut self, flow: usize, bytes: f64, start: f64, meters: &mut [Meter]) -> Option<f64> {
        let flow = &mut self.flows[flow];
        let (from, to) = (flow.from, flow.to);
        if bytes > SEGMENT || flow.loss > 0.0 || self.windows[to] + SEGMENT > PORT_BUFFER {
            return None;
        }
        flow.tcp.restart_after_idle(start);
        flow.tcp.last_sent = start;
        let leaves = self.outgoing[from].max(start);
        let takes = bytes * (1.0 / RATE);
        self.outgoing[from] = leaves + takes;
        let delivered = self.incoming[to].max(leaves + LATENCY_S) + takes;
        self.incoming[to] = delivered;
        let count = Count { segments: 1.0, acknowledgements: 1.0, ..Count::default() };
        count.meter(flow, bytes, leaves, delivered, meters);
        Some(delivered.max(start + ROUND_TRIP_S + (self.outgoing[to] - start).max(0.0)))
    }

    fn send(
        &mut self,
        flow: usize,
        message: Message,
        start: f64,
        meters: &mut [Meter],
        chance: &mut Chance,
    ) -> f64 {
        let flow = &mut self.flows[flow];
        let largest = PIECE.max(flow.tcp.cwnd * SEGMENT);
        let pieces = if message.left <= largest { 1.0 } else { whole(message.left / largest + 0.5).max(1.0) };
        let bytes = message.left / pieces;
        let more_follows = pieces > 1.0;
        flow.in_flight = bytes;
        self.windows[flow.to] -= flow.window;
        flow.tcp.restart_after_idle(start);

        let leaves = self.outgoing[flow.from].max(start);
        self.outgoing[flow.from] = leaves + bytes / RATE;
        let port = &mut self.incoming[flow.to];
        *port = port.max(leaves + LATENCY_S) + bytes / RATE;
        let delivered = *port;
        // The acknowledgement waits behind whatever the receiver sends.
        let round_trip = ROUND_TRIP_S + (self.outgoing[flow.to] - start).max(0.0);

        // Window by window. Who is alone queues before his own link; where several meet at a port, what does not fit into the port beside the others' windows is dropped there.
        let others = self.windows[flow.to];
        let (mut left, mut waited) = (whole(bytes * (1.0 / SEGMENT) + 0.999), 0.0);
        let mut count = Count::default();
        // Segments until the port is looked at again: all who share it have answered by then.
        let mut calm = 0.0;
        while left > 0.0 {
            let segments = left.min(whole(flow.tcp.cwnd)).max(1.0);
            let crowd = if others > 0.0 && calm <= 0.0 { others + flow.tcp.cwnd * SEGMENT } else { 0.0 };
            let dropped = some_of(segments, 1.0 - PORT_BUFFER / crowd, chance);
            calm = if calm <= 0.0 { CALM } else { calm } - segments;
            let lost = some_of(segments - dropped, flow.loss, chance);
            let failed = dropped + lost;
            waited += round_trip;
            if failed > 0.0 {
                let follows = more_follows || left > segments;
                waited += flow.tcp.recover(segments, failed, follows, flow.loss, round_trip, chance);
            } else {
                flow.tcp.grow(segments);
            }
            left -= segments;
            count.add(segments, dropped, lost);
            if flow.loss == 0.0 {
                // Nothing can happen to what follows.
                let clean = left.min(calm.max(0.0));
                waited += flow.tcp.sail(clean) * round_trip;
                count.add(clean, 0.0, 0.0);
                left -= clean;
                calm = 0.0;
            }
        }
        // What the port has no room for waits before the sender's own link.
        flow.window = (flow.tcp.cwnd * SEGMENT).min(bytes).min(PORT_BUFFER);
        self.windows[flow.to] += flow.window;
        flow.tcp.last_sent = start + waited;
        let repeated = (count.dropped + count.lost) * SEGMENT;
        // Links are never idle in a long transfer; a timeout is.
        let done = delivered.max(start + waited) + repeated / RATE;
        let done = done.max(start + bytes / flow.pace);
        count.meter(flow, bytes, leaves, delivered, meters);
        done
    }

    /// A flow has nothing more to send.
    pub fn rest(&mut self, flow: usize) {
        let flow = &mut self.flows[flow];
        self.windows[flow.to] -= flow.window;
        flow.window = 0.0;
    }
}

/// Segments of one piece.
#[derive(Default)]
struct Count {
    segments: f64,
    /// At the switch: the receiver's interface never saw them.
    dropped: f64,
    /// By the fault, behind the receiver's interface.
    lost: f64,
    acknowledgements: f64,
}

impl Count {
    fn add(&mut self, segments: f64, dropped: f64, lost: f64) {
        self.segments += segments;
        self.dropped += dropped;
        self.lost += lost;
        // In order, every second segment is acknowledged; out of order, each.
        let failed = dropped + lost;
        self.acknowledgements += if failed > 0.0 { segments + failed } else { whole(segments * 0.5 + 0.5) };
    }

    fn meter(&self, flow: &Flow, bytes: f64, leaves: f64, delivered: f64, meters: &mut [Meter]) {
        let header = FRAME - SEGMENT;
        let repeated = self.dropped + self.lost;
        if let Some(meter) = meters.get_mut(flow.from) {
            let second = meter.at(leaves);
            second.tx_packets += self.segments + repeated;
            second.tx_bytes += bytes + repeated * SEGMENT + (self.segments + repeated) * header;
            second.rx_packets += self.acknowledgements;
            second.rx_bytes += self.acknowledgements * ACKNOWLEDGEMENT;
        }
        if let Some(meter) = meters.get_mut(flow.to) {
            let second = meter.at(delivered);
            second.rx_packets += self.segments + self.lost;
            second.rx_bytes += bytes + self.lost * SEGMENT + (self.segments + self.lost) * header;
            second.tx_packets += self.acknowledgements;
            second.tx_bytes += self.acknowledgements * ACKNOWLEDGEMENT;
        }
    }
}

/// The whole part of a small positive number; `floor` is a call into the C library on plain x86-64.
fn whole(number: f64) -> f64 {
    f64::from(number as u32)
}

/// How many of some segments meet a fate of this probability.
fn some_of(segments: f64, probability: f64, chance: &mut Chance) -> f64 {
    if probability <= 0.0 {
        return 0.0;
    }
    if segments <= 16.0 {
        return (0..segments as usize).filter(|_| chance.happens(probability)).count() as f64;
    }
    chance.poisson(segments * probability).min(segments)
}

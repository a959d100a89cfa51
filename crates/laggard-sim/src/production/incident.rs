//! What goes wrong: the events of LISA'13, tables 4 to 7, as changes to paths and service times.

use super::site::{ARRAYS, Attachment, LUNS_PER_ARRAY, SERVERS_PER_ARRAY};

/// One kind of trouble.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// The server is down: nothing of it is recorded, its LUNs are reached through the next servers.
    ServerDown {
        /// `0..SERVERS`.
        server: usize,
    },
    /// The server records, and serves nobody.
    ServerUnused {
        /// `0..SERVERS`.
        server: usize,
    },
    /// One controller of an array failed: its four servers have lost their block devices.
    ControllerFailed {
        /// `0..ARRAYS`.
        array: usize,
        /// The other one than `a`.
        is_b: bool,
    },
    /// Some servers cannot reach some LUNs of an array.
    PathsLost {
        /// `0..ARRAYS`.
        array: usize,
        /// Servers of the array, as a set of bits.
        servers: u8,
        /// Every so many of its LUNs.
        every: usize,
        /// The block devices are gone, or only unused.
        missing: bool,
    },
    /// An array resets its LUNs: requests wait for up to 103 s; afterwards some servers have given up on them.
    LunResets {
        /// `0..ARRAYS`.
        array: usize,
        /// Servers that give up, as a set of bits.
        servers: u8,
    },
    /// Errors in one drawer delay requests again and again.
    DrawerErrors {
        /// `0..ARRAYS`.
        array: usize,
        /// LUNs with disks in the drawer.
        luns: usize,
    },
    /// One LUN takes longer for every request.
    SlowLun {
        /// `0..LUNS`.
        lun: usize,
        /// Times its service time.
        factor: f64,
    },
    /// One LUN takes longer for every request, for 10 s of every 2 minutes.
    IntermittentLun {
        /// `0..LUNS`.
        lun: usize,
        /// Times its service time, while it is slow.
        factor: f64,
    },
    /// One LUN has a load of its own, read bytes per second.
    LunWorkload {
        /// `0..LUNS`.
        lun: usize,
        /// Bytes per second.
        bytes: f64,
    },
    /// Requests through one attachment are slow although next to none are made: something inside the array.
    SlowWithoutLoad {
        /// The attachment.
        attachment: Attachment,
        /// Milliseconds.
        await_ms: f64,
    },
}

/// Trouble from a time to a time, in seconds of the simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Incident {
    /// What.
    pub happening: Happening,
    /// From.
    pub from_s: f64,
    /// Until.
    pub to_s: f64,
}

/// What an incident does to one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Path {
    /// Nothing.
    Usable,
    /// Present, and nothing goes through it.
    Unused,
    /// Nothing is recorded of it.
    Missing,
}

/// LUN resets last this long, with the longest wait of the paper.
const RESET_S: f64 = 1200.0;
const LONGEST_WAIT_S: f64 = 103.0;

/// Servers of an array on its `a` controller; the paper's events (fs49, 50, 53, 54 of ddn12; fs84, 88 on ddn16b) say which.
/// Seconds for which an intermittent LUN is slow, and from the beginning of one such time to the next.
const SLOW_S: f64 = 10.0;
const SLOW_EVERY_S: f64 = 120.0;

const ON_A: [usize; 4] = [0, 1, 4, 5];

impl Happening {
    fn array(&self) -> usize {
        match *self {
            Happening::ServerDown { server } | Happening::ServerUnused { server } => {
                server / SERVERS_PER_ARRAY
            }
            Happening::ControllerFailed { array, .. }
            | Happening::PathsLost { array, .. }
            | Happening::LunResets { array, .. }
            | Happening::DrawerErrors { array, .. } => array,
            Happening::SlowLun { lun, .. }
            | Happening::IntermittentLun { lun, .. }
            | Happening::LunWorkload { lun, .. } => lun / LUNS_PER_ARRAY,
            Happening::SlowWithoutLoad { attachment, .. } => attachment.array(),
        }
    }

    /// The LUNs that it may touch.
    pub fn luns(&self) -> std::ops::Range<usize> {
        let array = self.array().min(ARRAYS - 1);
        array * LUNS_PER_ARRAY..(array + 1) * LUNS_PER_ARRAY
    }

    /// What becomes of a path, this long after it happened.
    pub fn path(&self, attachment: Attachment, after_s: f64) -> Path {
        let offset = attachment.server() % SERVERS_PER_ARRAY;
        let among = |servers: u8| servers >> offset & 1 == 1;
        let lun = attachment.lun % LUNS_PER_ARRAY;
        match *self {
            Happening::ServerDown { server } if attachment.server() == server => Path::Missing,
            Happening::ServerUnused { server } if attachment.server() == server => Path::Unused,
            Happening::ControllerFailed { is_b, .. } if ON_A.contains(&offset) != is_b => Path::Missing,
            Happening::PathsLost { servers, every, missing, .. }
                if among(servers) && lun.is_multiple_of(every) =>
            {
                if missing {
                    Path::Missing
                } else {
                    Path::Unused
                }
            }
            Happening::LunResets { servers, .. }
                if after_s > RESET_S && among(servers) && lun.is_multiple_of(2) =>
            {
                Path::Unused
            }
            _ => Path::Usable,
        }
    }

    /// Times the service time of a LUN in a slot, and seconds that a request waits beside, at most, and the share that does.
    pub fn delay(&self, lun: usize, after_s: f64, slot_s: f64) -> (f64, f64, f64) {
        match *self {
            Happening::IntermittentLun { lun: slow, factor } if slow == lun => {
                let since_s = after_s.rem_euclid(SLOW_EVERY_S);
                let slow_s = (SLOW_S - since_s).clamp(0.0, slot_s)
                    + (since_s + slot_s - SLOW_EVERY_S).clamp(0.0, SLOW_S);
                (1.0 + (factor - 1.0) * (slow_s / slot_s).min(1.0), 0.0, 0.0)
            }
            Happening::SlowLun { lun: slow, factor } if slow == lun => (factor, 0.0, 0.0),
            Happening::LunResets { .. } if after_s < RESET_S => (1.0, LONGEST_WAIT_S, 0.5),
            Happening::DrawerErrors { luns, .. } if lun % LUNS_PER_ARRAY < luns => (1.0, 0.6, 0.25),
            _ => (1.0, 0.0, 0.0),
        }
    }

    /// Whether an attachment shows the trouble, with the server that took over what another lost.
    pub fn shows_in(&self, attachment: Attachment, after_s: f64) -> bool {
        if !self.luns().contains(&attachment.lun) {
            return false;
        }
        match *self {
            Happening::SlowLun { lun, .. }
            | Happening::IntermittentLun { lun, .. }
            | Happening::LunWorkload { lun, .. } => lun == attachment.lun && attachment.priority == 0,
            Happening::SlowWithoutLoad { attachment: slow, .. } => slow == attachment,
            Happening::DrawerErrors { luns, .. } => {
                attachment.lun % LUNS_PER_ARRAY < luns && attachment.priority == 0
            }
            _ => {
                let lost = |priority: usize| {
                    self.path(Attachment { priority, ..attachment }, after_s) != Path::Usable
                };
                let takes_over = attachment.priority > 0 && (0..attachment.priority).all(lost);
                let resets = matches!(self, Happening::LunResets { .. }) && attachment.priority == 0;
                lost(attachment.priority) || takes_over || resets
            }
        }
    }
}

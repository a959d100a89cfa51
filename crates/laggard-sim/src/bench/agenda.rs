//! What happens next: a heap of events, each packed into one number, so that a comparison is one instruction or two.
//! (A calendar queue was tried, and was no faster: postmark's events are too far apart, those of streams too close.)

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A piece of a flow's message is through.
    Transmitted(u32),
    /// A server's disk has done its work.
    DiskDone(u32),
    /// A client goes on.
    Wake(u32),
    /// A server's journal is due.
    Commit(u32),
    /// The congestion windows are sampled.
    Second,
    /// A fault begins.
    FaultBegins(u32),
    /// A fault ends.
    FaultEnds(u32),
    /// A hog that runs for a part of every second runs again.
    HogResumes(u32),
}

impl Event {
    fn packed(self) -> u32 {
        match self {
            Event::Transmitted(flow) => flow << 3,
            Event::DiskDone(server) => server << 3 | 1,
            Event::Wake(client) => client << 3 | 2,
            Event::Commit(server) => server << 3 | 3,
            Event::Second => 4,
            Event::FaultBegins(fault) => fault << 3 | 5,
            Event::FaultEnds(fault) => fault << 3 | 6,
            Event::HogResumes(server) => server << 3 | 7,
        }
    }

    fn unpacked(number: u32) -> Event {
        match number & 7 {
            0 => Event::Transmitted(number >> 3),
            1 => Event::DiskDone(number >> 3),
            2 => Event::Wake(number >> 3),
            3 => Event::Commit(number >> 3),
            4 => Event::Second,
            5 => Event::FaultBegins(number >> 3),
            6 => Event::FaultEnds(number >> 3),
            _ => Event::HogResumes(number >> 3),
        }
    }
}

/// Events in order of time, and of scheduling where times are equal.
#[derive(Debug, Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<u128>>,
    sequence: u32,
}

impl Agenda {
    /// Adds an event. Times are positive, and positive numbers sort like their bits.
    pub fn add(&mut self, time: f64, event: Event) {
        self.sequence = self.sequence.wrapping_add(1);
        let low = u64::from(self.sequence) << 32 | u64::from(event.packed());
        self.heap.push(Reverse(u128::from(time.to_bits()) << 64 | u128::from(low)));
    }

    /// Takes the next event, and its time.
    pub fn next(&mut self) -> Option<(f64, Event)> {
        let Reverse(entry) = self.heap.pop()?;
        Some((f64::from_bits((entry >> 64) as u64), Event::unpacked(entry as u32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_and_of_scheduling() {
        let mut agenda = Agenda::default();
        agenda.add(2.0, Event::Second);
        agenda.add(1.0, Event::Wake(7));
        agenda.add(1.0, Event::Transmitted(199));
        agenda.add(0.5, Event::DiskDone(11));
        let taken: Vec<_> = std::iter::from_fn(|| agenda.next()).collect();
        let expected = [
            (0.5, Event::DiskDone(11)),
            (1.0, Event::Wake(7)),
            (1.0, Event::Transmitted(199)),
            (2.0, Event::Second),
        ];
        assert_eq!(taken, expected);
    }
}

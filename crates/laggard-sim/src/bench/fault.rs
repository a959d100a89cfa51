//! What is injected: FAST'10, section 9.

use laggard_core::diagnose::Cause;

/// The six faults of the paper, and two of real disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// A process of the server reads from an unused partition of its disk, visibly.
    DiskHog,
    /// The same through a door that the block layer does not count.
    DiskBusy,
    /// A third party sends zeros to the server.
    WriteNetworkHog,
    /// The server sends zeros to a third party.
    ReadNetworkHog,
    /// The server drops received packets.
    ReceivePktloss,
    /// The clients drop packets from the server.
    SendPktloss,
    /// The disk completes next to nothing.
    DiskStall,
    /// The disk takes longer for each request, by the same.
    FailSlow,
}

impl FaultKind {
    /// Those of the paper and the others.
    pub const ALL: [FaultKind; 8] = {
        let [a, b, c, d, e, f] = FaultKind::PUBLISHED;
        [a, b, c, d, e, f, FaultKind::DiskStall, FaultKind::FailSlow]
    };

    /// In the order of the paper's tables.
    pub const PUBLISHED: [FaultKind; 6] = [
        FaultKind::DiskHog,
        FaultKind::DiskBusy,
        FaultKind::WriteNetworkHog,
        FaultKind::ReadNetworkHog,
        FaultKind::ReceivePktloss,
        FaultKind::SendPktloss,
    ];

    /// The paper's name.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::DiskHog => "disk-hog",
            FaultKind::DiskBusy => "disk-busy",
            FaultKind::WriteNetworkHog => "write-network-hog",
            FaultKind::ReadNetworkHog => "read-network-hog",
            FaultKind::ReceivePktloss => "receive-pktloss",
            FaultKind::SendPktloss => "send-pktloss",
            FaultKind::DiskStall => "disk-stall",
            FaultKind::FailSlow => "fail-slow",
        }
    }

    /// Finds a fault by name.
    pub fn parse(name: &str) -> Option<FaultKind> {
        FaultKind::ALL.into_iter().find(|fault| fault.name() == name)
    }

    /// The root cause that a diagnosis should name.
    pub fn cause(self) -> Cause {
        match self {
            FaultKind::DiskHog => Cause::DiskHog,
            FaultKind::DiskBusy => Cause::DiskBusy,
            FaultKind::WriteNetworkHog | FaultKind::ReadNetworkHog => Cause::NetworkHog,
            FaultKind::ReceivePktloss | FaultKind::SendPktloss => Cause::PacketLoss,
            FaultKind::DiskStall => Cause::DiskStall,
            FaultKind::FailSlow => Cause::FailSlow,
        }
    }
}

/// A fault of one server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// With which server.
    pub server: usize,
    /// From, in seconds of the experiment.
    pub from_s: f64,
    /// Until.
    pub to_s: f64,
    /// 1 is the paper's; less is a part of it: share of time (disks), of the link (hogs), of 5 % (loss).
    pub severity: f64,
}

impl Fault {
    /// As the paper injects it: 120 s clean, 300 s of the fault.
    pub fn published(kind: FaultKind, server: usize) -> Fault {
        Fault { kind, server, from_s: 120.0, to_s: 420.0, severity: 1.0 }
    }
}

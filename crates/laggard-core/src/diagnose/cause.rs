//! Why a part limps: the causes, their names and meanings. Which of them it is, [rules](super::rules) decide.

use crate::model::Metric;
use crate::model::metric::Role;

macro_rules! causes {
    ($($variant:ident $name:literal $meaning:literal;)*) => {
        /// Why a part limps.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "see Cause::meaning")]
        pub enum Cause {
            $($variant,)*
        }

        impl Cause {
            /// All causes.
            pub const ALL: &[Cause] = &[$(Cause::$variant,)*];

            /// The word in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Cause::$variant => $name,)*
                }
            }

            /// What it means, in an administrator's words.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Cause::$variant => $meaning,)*
                }
            }
        }
    };
}

causes! {
    DiskHog "disk-hog" "the disk does work that its peers do not: a process on the server reads or writes beside the file system";
    DiskBusy "disk-busy" "the disk takes longer for its work than its peers: a scrub, a failing disk, or a neighbour on shared storage takes its time";
    DiskStall "disk-stall" "requests wait at the disk and next to none is completed: it hangs, or a neighbour starves it";
    FailSlow "fail-slow" "every request of the disk takes longer by about the same: a failing disk, retries, or a path with a delay";
    NetworkHog "network-hog" "the server sends or receives more than its peers: traffic beside the file system's";
    PacketLoss "packet-loss" "TCP backs off towards this server only: a bad cable, port, NIC or an overrun switch";
    FlappingLink "flapping-link" "a link of the server goes down and up again: a bad cable, transceiver or port";
    SlowLink "slow-link" "a link of the server has negotiated a lower speed than its peers': a bad cable or transceiver, or a wrong port";
    LinkErrors "link-errors" "the interfaces of the server report errors or drop packets: a bad cable, port or NIC, or too few buffers";
    CpuStarved "cpu-starved" "processes of the server wait for a CPU: something else computes there";
    MemoryPressure "memory-pressure" "the server is short of memory: something holds it, and files are read again and again";
    LostAttachment "lost-attachment" "a LUN is no longer reached through its preferred server: misconfiguration or a bad state";
    ServerDown "server-down" "all LUNs of the server have moved to their next servers: it is down or out of the file system";
    ControllerFailed "controller-failed" "all LUNs of the controller have moved to other paths: it failed or was failed";
    DrawerError "drawer-error" "many LUNs behind one controller jitter together: errors in a disk drawer";
    ComponentFault "component-fault" "slow without a load that explains it: a fault of the part itself";
    SingleLunWorkload "single-lun-workload" "slow because it has a load that its peers do not have";
    Load "load" "it has more to do than its peers, and nothing tells that from the file system's own work: no fault";
    EverybodySlow "everybody-slow" "the same work costs the whole group more than it did: something that all share, or work of another kind; no part differs";
    SlowTogether "slow-together" "several parts became slow at one moment, and were well again within the hour: a job that touches them all, or something that they share";
    Silent "silent" "no samples while its peers have some: removed, hung, or not recorded";
    Unknown "unknown" "it differs from its peers; the metrics at hand do not say why";
}

impl Cause {
    /// Whether a metric is one of those that show it best.
    pub fn is_shown_by(self, metric: Metric) -> bool {
        let role = metric.role();
        match self {
            Cause::DiskHog | Cause::SingleLunWorkload | Cause::Load => role == Role::Work,
            Cause::DiskBusy
            | Cause::DiskStall
            | Cause::FailSlow
            | Cause::EverybodySlow
            | Cause::SlowTogether => role == Role::Cost,
            Cause::ComponentFault | Cause::DrawerError => role == Role::StorageLatency,
            Cause::NetworkHog => role == Role::NetworkVolume,
            Cause::PacketLoss => role == Role::Congestion,
            Cause::FlappingLink => metric == Metric::CarrierChanges,
            Cause::SlowLink => metric == Metric::LinkSpeed,
            Cause::LinkErrors => metric == Metric::NetErrors,
            Cause::CpuStarved => matches!(metric, Metric::CpuWait | Metric::CpuBusy),
            Cause::MemoryPressure => matches!(metric, Metric::MemoryWait | Metric::MemoryAvailable),
            Cause::LostAttachment
            | Cause::ServerDown
            | Cause::ControllerFailed
            | Cause::Silent
            | Cause::Unknown => false,
        }
    }

    /// Whether it says that one disk takes long for its work.
    pub fn is_slow_disk(self) -> bool {
        match self {
            Cause::DiskBusy | Cause::DiskStall | Cause::FailSlow => true,
            Cause::DiskHog
            | Cause::NetworkHog
            | Cause::PacketLoss
            | Cause::FlappingLink
            | Cause::SlowLink
            | Cause::LinkErrors
            | Cause::CpuStarved
            | Cause::MemoryPressure
            | Cause::LostAttachment
            | Cause::ServerDown
            | Cause::ControllerFailed
            | Cause::DrawerError
            | Cause::ComponentFault
            | Cause::SingleLunWorkload
            | Cause::Load
            | Cause::EverybodySlow
            | Cause::SlowTogether
            | Cause::Silent
            | Cause::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_shown_by_metrics_of_its_own() {
        let shown = |cause: Cause| -> Vec<&str> {
            Metric::all().filter(|metric| cause.is_shown_by(*metric)).map(Metric::name).collect()
        };
        assert_eq!(shown(Cause::DiskHog), ["work"]);
        assert_eq!(shown(Cause::DiskStall), ["cost"]);
        assert_eq!(shown(Cause::ComponentFault), ["await"]);
        assert_eq!(shown(Cause::NetworkHog), ["rxbyt", "txbyt"]);
        assert_eq!(shown(Cause::PacketLoss), ["cwnd_to_clients", "cwnd_from_clients"]);
        assert_eq!(shown(Cause::FlappingLink), ["carrier_changes"]);
        assert_eq!(shown(Cause::SlowLink), ["link_speed"]);
        assert_eq!(shown(Cause::LinkErrors), ["net_errors"]);
        assert_eq!(shown(Cause::CpuStarved), ["cpu_wait", "cpu_busy"]);
        assert_eq!(shown(Cause::MemoryPressure), ["memory_wait", "memory_available"]);
        assert!(shown(Cause::Silent).is_empty());
    }
}

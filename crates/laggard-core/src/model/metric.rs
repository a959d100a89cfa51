//! The metrics of FAST'10 table 1 and LISA'13 table 1, under sysstat's names, and what diagnosis needs to know of each.
//!
//! A new metric is one line in [`TABLE`] and one variant.

/// One metric, named as sysstat and the papers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "TABLE documents each variant, and docs/metrics.md is made from it")]
pub enum Metric {
    Tps,
    RdSec,
    WrSec,
    AvgrqSz,
    AvgquSz,
    Await,
    Svctm,
    Util,
    Rxpck,
    Txpck,
    Rxbyt,
    Txbyt,
    CwndToClients,
    CwndFromClients,
    Throughput,
    InFlight,
    RetransToClients,
    RetransFromClients,
    Retrans,
    CpuWait,
    CpuBusy,
    MemoryWait,
    MemoryAvailable,
    NetErrors,
    CarrierChanges,
    LinkSpeed,
    Cost,
    Work,
}

/// What a metric says about its component; root-cause analysis asks for roles, not for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Bytes or sectors moved by the storage.
    StorageVolume,
    /// How long a storage request takes.
    StorageLatency,
    /// Bytes moved over the network.
    NetworkVolume,
    /// TCP congestion window; only a low one is evidence.
    Congestion,
    /// Segments sent again: only more of them is evidence.
    Retransmission,
    /// CPU and memory of the host.
    HostHealth,
    /// State of its links.
    LinkHealth,
    /// How much a component has to do: it explains a latency, and never indicts by itself.
    Load,
    /// Says how long a device was in service: it goes into the books, and is not compared by itself.
    Account,
    /// Time in service against what the same work costs the peers; comes from the books, is not recorded.
    Cost,
    /// What the work of a component would cost a healthy peer; comes from the books, is not recorded.
    Work,
    /// Recorded for context, never compared by default.
    Context,
}

impl Role {
    /// Whether it is of disks or of traffic. Where nothing of that is compared, a component or a group is not judged, whatever else
    /// was.
    pub fn is_main(self) -> bool {
        match self {
            StorageVolume | StorageLatency | NetworkVolume | Cost | Work => true,
            Congestion | Retransmission | HostHealth | LinkHealth | Load | Account | Context => false,
        }
    }

    /// Whether a metric of this role can speak against a component; FAST'10, section 7 says why tps and svctm cannot.
    pub fn can_indict(self) -> bool {
        match self {
            StorageVolume | StorageLatency | NetworkVolume | Congestion | Retransmission | HostHealth
            | LinkHealth | Cost | Work => true,
            Load | Account | Context => false,
        }
    }

    /// Of what a metric of this role speaks.
    pub fn domain(self) -> Domain {
        match self {
            NetworkVolume | Congestion | Retransmission | LinkHealth => Domain::Network,
            HostHealth => Domain::Host,
            StorageVolume | StorageLatency | Load | Account | Cost | Work | Context => Domain::Storage,
        }
    }

    /// Whether a metric of this role is made by the books, from others.
    pub fn is_derived(self) -> bool {
        match self {
            Cost | Work => true,
            StorageVolume | StorageLatency | NetworkVolume | Congestion | Retransmission | HostHealth
            | LinkHealth | Load | Account | Context => false,
        }
    }

    /// Whether the papers compare metrics of this role: trained thresholds are for these alone.
    pub fn is_published(self) -> bool {
        match self {
            StorageVolume | StorageLatency | NetworkVolume | Congestion => true,
            Retransmission | HostHealth | LinkHealth | Load | Account | Cost | Work | Context => false,
        }
    }
}

/// On which side of its peers a component is in trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// More is worse.
    High,
    /// Less is worse.
    Low,
}

/// Troubles of different domains are different troubles, also of one component at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Domain {
    /// Of the disks.
    #[default]
    Storage,
    /// Of the network.
    Network,
    /// Of the host: its CPU and memory.
    Host,
}

impl Domain {
    /// All domains.
    pub const ALL: [Domain; 3] = [Domain::Storage, Domain::Network, Domain::Host];
}

/// What several samples of one slot are averaged over, so that no work is lost in downsampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Averaging {
    /// A rate or a level: mean over time.
    Time,
    /// A mean per request: weighted by the requests completed (`tps`).
    Requests,
}

/// Everything that is known about one metric.
#[derive(Debug)]
pub struct Properties {
    /// The metric.
    pub metric: Metric,
    /// Its name in files and output.
    pub name: &'static str,
    /// Its unit, for people.
    pub unit: &'static str,
    /// What it says about its component.
    pub role: Role,
    /// Which side is worse.
    pub harm: Harm,
    /// How it is downsampled.
    pub averaging: Averaging,
    /// Untrained diagnosis ignores differences smaller than this, whatever the relative distance.
    pub negligible: f64,
    /// One sentence for the documentation.
    pub help: &'static str,
}

use Averaging::{Requests, Time};
use Harm::{High, Low};
use Role::{
    Account, Congestion, Context, Cost, HostHealth, LinkHealth, Load, NetworkVolume, Retransmission,
    StorageLatency, StorageVolume, Work,
};

macro_rules! table {
    ($($metric:ident $name:literal $unit:literal $role:ident $harm:ident $averaging:ident $negligible:literal $help:literal;)*) => {
        /// All metrics, in the order of the papers' tables.
        pub const TABLE: &[Properties] = &[$(Properties {
            metric: Metric::$metric, name: $name, unit: $unit, role: $role, harm: $harm,
            averaging: $averaging, negligible: $negligible, help: $help,
        }),*];
    };
}

table! {
    Tps "tps" "requests/s" Load High Time 1.0 "I/O requests per second";
    RdSec "rd_sec" "sectors/s" StorageVolume High Time 400.0 "sectors (512 bytes) read per second";
    WrSec "wr_sec" "sectors/s" StorageVolume High Time 400.0 "sectors (512 bytes) written per second";
    AvgrqSz "avgrq_sz" "sectors" Context High Requests 1.0 "mean request size";
    AvgquSz "avgqu_sz" "requests" Context High Time 0.1 "mean number of queued requests";
    Await "await" "ms" StorageLatency High Requests 0.1 "mean time a request waits to complete, queue and service";
    Svctm "svctm" "ms" Account High Requests 0.1 "mean service time of a request";
    Util "util" "%" Account High Time 1.0 "share of time with I/O in flight";
    Rxpck "rxpck" "packets/s" Context High Time 100.0 "packets received per second";
    Txpck "txpck" "packets/s" Context High Time 100.0 "packets sent per second";
    Rxbyt "rxbyt" "bytes/s" NetworkVolume High Time 1000000.0 "bytes received per second";
    Txbyt "txbyt" "bytes/s" NetworkVolume High Time 1000000.0 "bytes sent per second";
    CwndToClients "cwnd_to_clients" "segments" Congestion Low Time 0.0 "mean congestion window of the server's sockets to its clients";
    CwndFromClients "cwnd_from_clients" "segments" Congestion Low Time 0.0 "mean congestion window of the clients' sockets to the server";
    Throughput "throughput" "any unit/s" Load High Time 0.0 "work done per second, in whatever unit the site recorded";
    InFlight "in_flight" "requests" Account High Time 0.0 "requests under way when the sample was taken";
    RetransToClients "retrans_to_clients" "segments/s" Retransmission High Time 1.0 "segments that the server sent again to its clients";
    RetransFromClients "retrans_from_clients" "segments/s" Retransmission High Time 1.0 "segments that clients sent again to the server";
    Retrans "retrans" "segments/s" Retransmission High Time 1.0 "segments that the host sent again, to anybody";
    CpuWait "cpu_wait" "%" HostHealth High Time 25.0 "share of time in which something waited for a CPU (pressure stall information)";
    CpuBusy "cpu_busy" "%" HostHealth High Time 30.0 "share of CPU time that was not idle";
    MemoryWait "memory_wait" "%" HostHealth High Time 10.0 "share of time in which something waited for memory (pressure stall information)";
    MemoryAvailable "memory_available" "%" HostHealth Low Time 5.0 "share of memory that could be had";
    NetErrors "net_errors" "packets/s" LinkHealth High Time 1.0 "packets with errors or dropped by the interfaces, both ways";
    CarrierChanges "carrier_changes" "changes/s" LinkHealth High Time 0.01 "times that a link went up or down";
    LinkSpeed "link_speed" "Mbit/s" LinkHealth Low Time 1.0 "speed that the links have negotiated";
    Cost "cost" "times" Cost High Time 0.0 "time in service over what the same work costs its peers; made from the others";
    Work "work" "of the time" Work High Time 0.0 "what its work would cost a healthy peer; made from the others";
}

impl Metric {
    /// How many metrics there are.
    pub const COUNT: usize = TABLE.len();

    /// The metric's row in [`TABLE`].
    pub fn properties(self) -> &'static Properties {
        &TABLE[self as usize]
    }

    /// The metric's name in files and output.
    pub fn name(self) -> &'static str {
        self.properties().name
    }

    /// What the metric says about its component.
    pub fn role(self) -> Role {
        self.properties().role
    }

    /// Whether diagnosis takes part of the metric: to compare it, or to explain another.
    pub fn is_used(self) -> bool {
        self.role() != Context && !self.role().is_derived()
    }

    /// Whether the metric can speak against a component.
    pub fn can_indict(self) -> bool {
        self.role().can_indict()
    }

    /// All metrics, in table order.
    pub fn all() -> impl Iterator<Item = Metric> {
        TABLE.iter().map(|row| row.metric)
    }

    /// Finds a metric by name. Accepts sysstat's own spellings (`%util`, `avgrq-sz`, `rd_sec/s`) and `latency`.
    pub fn parse(name: &str) -> Option<Metric> {
        let plain = name.trim().to_ascii_lowercase().replace('-', "_");
        let plain = plain.trim_start_matches('%');
        let plain = plain.strip_suffix("/s").unwrap_or(plain);
        if plain == "latency" {
            return Some(Metric::Await);
        }
        let mut recorded = TABLE.iter().filter(|row| !row.role.is_derived());
        recorded.find(|row| row.name == plain).map(|row| row.metric)
    }

    /// The known name nearest to `name`, for error messages.
    pub fn nearest(name: &str) -> &'static str {
        let distance = |row: &&Properties| strsim::damerau_levenshtein(row.name, &name.to_ascii_lowercase());
        TABLE.iter().min_by_key(distance).map_or("await", |row| row.name)
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_in_the_order_of_the_variants() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.metric as usize, index, "{}", row.name);
            let recorded = (!row.role.is_derived()).then_some(row.metric);
            assert_eq!(Metric::parse(row.name), recorded, "what is made from others is not read");
        }
    }

    #[test]
    fn sysstat_spellings_are_understood() {
        assert_eq!(Metric::parse("%util"), Some(Metric::Util));
        assert_eq!(Metric::parse("avgrq-sz"), Some(Metric::AvgrqSz));
        assert_eq!(Metric::parse("rd_sec/s"), Some(Metric::RdSec));
        assert_eq!(Metric::parse("nonsense"), None);
        assert_eq!(Metric::nearest("awiat"), "await");
    }
}

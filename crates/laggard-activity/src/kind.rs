//! What is recorded: kinds of things and the fields of each. A new field is one line here; a new kind is one entry.

/// How a field behaves over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Only grows, until it wraps or its owner restarts: differences count.
    Counter,
    /// A level: it is what it is at the moment.
    Gauge,
}

/// One field, a column in the file.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, unique among all kinds.
    pub name: &'static str,
    /// Counter or gauge.
    pub nature: Nature,
    /// What it is, with its unit.
    pub help: &'static str,
}

/// Which kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each kind has its help")]
pub enum KindId {
    Disk,
    Net,
    Tcp,
    Peer,
    Lustre,
    Transfer,
    Host,
    Address,
    Gap,
    Medium,
}

/// One kind of thing. Two are the same if their ids are.
#[derive(Debug)]
pub struct Kind {
    /// Which.
    pub id: KindId,
    /// Its name in the `kind` column.
    pub name: &'static str,
    /// What a row of it is about.
    pub help: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
}

impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        self.id == other.id
    }
}

impl Eq for Kind {}

impl KindId {
    /// Whether counters of this kind are told in 32 bits by some kernels.
    pub fn wraps(self) -> bool {
        match self {
            KindId::Disk | KindId::Net => true,
            KindId::Tcp
            | KindId::Peer
            | KindId::Lustre
            | KindId::Transfer
            | KindId::Host
            | KindId::Address
            | KindId::Gap
            | KindId::Medium => false,
        }
    }
}

impl Kind {
    /// The kind of this name.
    pub fn parse(name: &str) -> Option<&'static Kind> {
        KINDS.iter().copied().find(|kind| kind.name == name)
    }

    /// The index of a field.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

use Nature::{Counter, Gauge};

macro_rules! kind {
    (
        $constant:ident $id:ident $fields:ident $name:literal $help:literal
        { $($variant:ident $field:literal $nature:ident $field_help:literal;)* }
    ) => {
        #[doc = concat!("The fields of `", $name, "`.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $fields {
            $(#[doc = $field_help] $variant,)*
        }

        impl $fields {
            /// The field's place among those of its kind.
            pub const fn index(self) -> usize {
                self as usize
            }
        }

        #[doc = $help]
        pub static $constant: Kind = Kind {
            id: KindId::$id,
            name: $name,
            help: $help,
            fields: &[$(Field { name: $field, nature: $nature, help: $field_help }),*],
        };
    };
}

kind! { DISK Disk DiskField "disk" "A block device, as /proc/diskstats has it" {
    Reads "reads" Counter "reads completed";
    ReadsMerged "reads_merged" Counter "reads merged into others";
    SectorsRead "sectors_read" Counter "sectors of 512 bytes read";
    ReadMs "read_ms" Counter "milliseconds spent by all reads";
    Writes "writes" Counter "writes completed";
    WritesMerged "writes_merged" Counter "writes merged into others";
    SectorsWritten "sectors_written" Counter "sectors of 512 bytes written";
    WriteMs "write_ms" Counter "milliseconds spent by all writes";
    InFlight "in_flight" Gauge "requests under way";
    IoMs "io_ms" Counter "milliseconds with any request under way";
    Discards "discards" Counter "discards completed (Linux 4.18 and later)";
    DiscardsMerged "discards_merged" Counter "discards merged into others";
    SectorsDiscarded "sectors_discarded" Counter "sectors of 512 bytes discarded";
    DiscardMs "discard_ms" Counter "milliseconds spent by all discards";
    Flushes "flushes" Counter "flushes completed (Linux 5.5 and later)";
    FlushMs "flush_ms" Counter "milliseconds spent by all flushes";
    QueueExtraMs "queue_extra_ms" Counter "weighted milliseconds of all requests, less read_ms, write_ms, discard_ms and flush_ms: on recent kernels nearly nothing";
    Requests "requests" Counter "requests completed, where a recording did not count reads and writes apart";
    Major "major" Gauge "major number, today";
    Minor "minor" Gauge "minor number, today";
} }

kind! { NET Net NetField "net" "A network interface, as /proc/net/dev has it" {
    RxBytes "rx_bytes" Counter "bytes received";
    RxPackets "rx_packets" Counter "packets received";
    RxErrors "rx_errors" Counter "receive errors";
    RxDropped "rx_dropped" Counter "packets dropped on receipt";
    TxBytes "tx_bytes" Counter "bytes sent";
    TxPackets "tx_packets" Counter "packets sent";
    TxErrors "tx_errors" Counter "transmit errors";
    TxDropped "tx_dropped" Counter "packets dropped before sending";
    CarrierChanges "carrier_changes" Counter "times that the link went up or down";
    SpeedMbit "speed_mbit" Gauge "negotiated speed of the link, in Mbit/s";
} }

kind! { TCP Tcp TcpField "tcp" "TCP of the whole host, as /proc/net/snmp has it" {
    Established "established" Gauge "connections now established";
    InSegments "in_segments" Counter "segments received";
    OutSegments "out_segments" Counter "segments sent";
    Retransmitted "retransmitted" Counter "segments sent again";
    InErrors "in_errors" Counter "bad segments received";
} }

kind! { PEER Peer PeerField "peer" "Established TCP sockets with one remote host: `client:ADDRESS` where this host serves, `server:ADDRESS` where it asks" {
    Sockets "sockets" Gauge "sockets counted";
    Cwnd "cwnd" Gauge "sum of their congestion windows, in segments";
    RttUs "rtt_us" Gauge "sum of their smoothed round-trip times, in microseconds";
    Retransmits "retransmits" Gauge "sum of the segments that they ever sent again";
} }

kind! { LUSTRE Lustre LustreField "lustre" "A statistic of a Lustre target: `TARGET:OPERATION`, or `TARGET:io_latency_read:BYTES` and `TARGET:io_latency_write:BYTES` for transactions with the disk of one size" {
    Calls "calls" Counter "how often";
    Total "total" Counter "sum, in the statistic's unit (bytes, microseconds), where it has one";
} }

kind! { TRANSFER Transfer TransferField "transfer" "Transactions between a server and its disk, by size: of a Lustre target, or of a block device" {
    BytesRead "bytes_read" Counter "bytes read: for clients of a target, from a block device";
    BytesWritten "bytes_written" Counter "bytes written";
    SpaceTotalKb "space_total_kb" Gauge "size of the target, in KiB";
    SpaceFreeKb "space_free_kb" Gauge "what is free of it, in KiB";
    R512 "r512" Counter "transactions read of up to 512 bytes";
    R1k "r1k" Counter "transactions read of more than 512 bytes, up to 1 KiB";
    R2k "r2k" Counter "transactions read of more than 1 KiB, up to 2 KiB";
    R4k "r4k" Counter "transactions read of more than 2 KiB, up to 4 KiB";
    R8k "r8k" Counter "transactions read of more than 4 KiB, up to 8 KiB";
    R16k "r16k" Counter "transactions read of more than 8 KiB, up to 16 KiB";
    R32k "r32k" Counter "transactions read of more than 16 KiB, up to 32 KiB";
    R64k "r64k" Counter "transactions read of more than 32 KiB, up to 64 KiB";
    R128k "r128k" Counter "transactions read of more than 64 KiB, up to 128 KiB";
    R256k "r256k" Counter "transactions read of more than 128 KiB, up to 256 KiB";
    R512k "r512k" Counter "transactions read of more than 256 KiB, up to 512 KiB";
    R1m "r1m" Counter "transactions read of more than 512 KiB, up to 1 MiB";
    R2m "r2m" Counter "transactions read of more than 1 MiB, up to 2 MiB";
    R4m "r4m" Counter "transactions read of more than 2 MiB, up to 4 MiB";
    R8m "r8m" Counter "transactions read of more than 4 MiB, up to 8 MiB";
    R16m "r16m" Counter "transactions read of more than 8 MiB, up to 16 MiB";
    R32m "r32m" Counter "transactions read of more than 16 MiB, up to 32 MiB";
    R64m "r64m" Counter "transactions read of more than 32 MiB";
    W512 "w512" Counter "transactions written of up to 512 bytes";
    W1k "w1k" Counter "transactions written of more than 512 bytes, up to 1 KiB";
    W2k "w2k" Counter "transactions written of more than 1 KiB, up to 2 KiB";
    W4k "w4k" Counter "transactions written of more than 2 KiB, up to 4 KiB";
    W8k "w8k" Counter "transactions written of more than 4 KiB, up to 8 KiB";
    W16k "w16k" Counter "transactions written of more than 8 KiB, up to 16 KiB";
    W32k "w32k" Counter "transactions written of more than 16 KiB, up to 32 KiB";
    W64k "w64k" Counter "transactions written of more than 32 KiB, up to 64 KiB";
    W128k "w128k" Counter "transactions written of more than 64 KiB, up to 128 KiB";
    W256k "w256k" Counter "transactions written of more than 128 KiB, up to 256 KiB";
    W512k "w512k" Counter "transactions written of more than 256 KiB, up to 512 KiB";
    W1m "w1m" Counter "transactions written of more than 512 KiB, up to 1 MiB";
    W2m "w2m" Counter "transactions written of more than 1 MiB, up to 2 MiB";
    W4m "w4m" Counter "transactions written of more than 2 MiB, up to 4 MiB";
    W8m "w8m" Counter "transactions written of more than 4 MiB, up to 8 MiB";
    W16m "w16m" Counter "transactions written of more than 8 MiB, up to 16 MiB";
    W32m "w32m" Counter "transactions written of more than 16 MiB, up to 32 MiB";
    W64m "w64m" Counter "transactions written of more than 32 MiB";
    RAll "r_all" Counter "transactions read, of all sizes";
    WAll "w_all" Counter "transactions written, of all sizes";
    RSectors "r_sectors" Counter "sectors of 512 bytes that they read: exactly, of a block device; else with each as large as its size";
    WSectors "w_sectors" Counter "sectors of 512 bytes that they wrote";
} }

kind! { HOST Host HostField "host" "CPU, memory and pressure of the whole host" {
    CpuUser "cpu_user" Counter "ticks (1/100 s) in user space";
    CpuNice "cpu_nice" Counter "ticks in user space at low priority";
    CpuSystem "cpu_system" Counter "ticks in the kernel";
    CpuIdle "cpu_idle" Counter "ticks idle";
    CpuIowait "cpu_iowait" Counter "ticks idle while I/O is outstanding";
    CpuIrq "cpu_irq" Counter "ticks in interrupts";
    CpuSoftirq "cpu_softirq" Counter "ticks in soft interrupts";
    CpuSteal "cpu_steal" Counter "ticks taken by the hypervisor";
    MemoryTotalKb "memory_total_kb" Gauge "memory, in KiB";
    MemoryAvailableKb "memory_available_kb" Gauge "memory that could be had, in KiB";
    MemoryCachedKb "memory_cached_kb" Gauge "page cache, in KiB";
    MemoryDirtyKb "memory_dirty_kb" Gauge "waiting to be written, in KiB";
    MemoryWritebackKb "memory_writeback_kb" Gauge "being written, in KiB";
    PressureCpuUs "pressure_cpu_us" Counter "microseconds in which something waited for CPU";
    PressureIoSomeUs "pressure_io_some_us" Counter "microseconds in which something waited for I/O";
    PressureIoFullUs "pressure_io_full_us" Counter "microseconds in which everything waited for I/O";
    PressureMemorySomeUs "pressure_memory_some_us" Counter "microseconds in which something waited for memory";
    PressureMemoryFullUs "pressure_memory_full_us" Counter "microseconds in which everything waited for memory";
} }

kind! { ADDRESS Address AddressField "address" "An address of this host: it tells whose socket another host sees" {
    HasAddress "has_address" Gauge "always 1";
} }

kind! { GAP Gap GapField "gap" "A source that gave nothing: `SOURCE: REASON`" {
    Lost "lost" Gauge "always 1";
} }

kind! { MEDIUM Medium MediumField "medium" "What a block device is, from /sys/block: `DISK=MEDIUM, SIZE, MODEL`" {
    Rotational "rotational" Gauge "1 if it turns, 0 if it is flash";
    SizeSectors "size_sectors" Gauge "its size in sectors of 512 bytes";
} }

/// All kinds, in the order of a file's rows.
pub static KINDS: [&Kind; 10] =
    [&DISK, &NET, &TCP, &PEER, &LUSTRE, &TRANSFER, &HOST, &ADDRESS, &GAP, &MEDIUM];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_in_the_order_of_their_ids() {
        assert!(KINDS.iter().enumerate().all(|(place, kind)| kind.id as usize == place));
        assert_eq!(DISK.field("queue_extra_ms"), Some(DiskField::QueueExtraMs.index()));
        assert_eq!(TRANSFER.field("w_sectors"), Some(TransferField::WSectors.index()));
    }

    #[test]
    fn no_two_columns_have_one_name() {
        let mut names: Vec<&str> =
            KINDS.iter().flat_map(|kind| kind.fields).map(|field| field.name).collect();
        names.extend(["time", "kind", "name", "base", "late_ms", "samples"]);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}

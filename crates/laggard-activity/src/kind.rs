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

/// One kind of thing.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name in the `kind` column.
    pub name: &'static str,
    /// What a row of it is about.
    pub help: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
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
    ($constant:ident $name:literal $help:literal { $($field:literal $nature:ident $field_help:literal;)* }) => {
        #[doc = $help]
        pub static $constant: Kind = Kind {
            name: $name,
            help: $help,
            fields: &[$(Field { name: $field, nature: $nature, help: $field_help }),*],
        };
    };
}

kind! { DISK "disk" "A block device, as /proc/diskstats has it" {
    "reads" Counter "reads completed";
    "reads_merged" Counter "reads merged into others";
    "sectors_read" Counter "sectors of 512 bytes read";
    "read_ms" Counter "milliseconds spent by all reads";
    "writes" Counter "writes completed";
    "writes_merged" Counter "writes merged into others";
    "sectors_written" Counter "sectors of 512 bytes written";
    "write_ms" Counter "milliseconds spent by all writes";
    "in_flight" Gauge "requests under way";
    "io_ms" Counter "milliseconds with any request under way";
    "discards" Counter "discards completed (Linux 4.18 and later)";
    "discards_merged" Counter "discards merged into others";
    "sectors_discarded" Counter "sectors of 512 bytes discarded";
    "discard_ms" Counter "milliseconds spent by all discards";
    "flushes" Counter "flushes completed (Linux 5.5 and later)";
    "flush_ms" Counter "milliseconds spent by all flushes";
    "queue_extra_ms" Counter "weighted milliseconds of all requests, less read_ms, write_ms, discard_ms and flush_ms: on recent kernels nearly nothing";
    "requests" Counter "requests completed, where a recording did not count reads and writes apart";
    "major" Gauge "major number, today";
    "minor" Gauge "minor number, today";
} }

kind! { NET "net" "A network interface, as /proc/net/dev has it" {
    "rx_bytes" Counter "bytes received";
    "rx_packets" Counter "packets received";
    "rx_errors" Counter "receive errors";
    "rx_dropped" Counter "packets dropped on receipt";
    "tx_bytes" Counter "bytes sent";
    "tx_packets" Counter "packets sent";
    "tx_errors" Counter "transmit errors";
    "tx_dropped" Counter "packets dropped before sending";
} }

kind! { TCP "tcp" "TCP of the whole host, as /proc/net/snmp has it" {
    "established" Gauge "connections now established";
    "in_segments" Counter "segments received";
    "out_segments" Counter "segments sent";
    "retransmitted" Counter "segments sent again";
    "in_errors" Counter "bad segments received";
} }

kind! { PEER "peer" "Established TCP sockets with one remote host: `client:ADDRESS` where this host serves, `server:ADDRESS` where it asks" {
    "sockets" Gauge "sockets counted";
    "cwnd" Gauge "sum of their congestion windows, in segments";
    "rtt_us" Gauge "sum of their smoothed round-trip times, in microseconds";
    "retransmits" Gauge "sum of the segments that they ever sent again";
} }

kind! { LUSTRE "lustre" "A statistic of a Lustre target: `TARGET:OPERATION`, or `TARGET:io_latency_read:BYTES` and `TARGET:io_latency_write:BYTES` for transactions with the disk of one size" {
    "calls" Counter "how often";
    "total" Counter "sum, in the statistic's unit (bytes, microseconds), where it has one";
} }

kind! { TRANSFER "transfer" "Transactions between a server and its disk, by size: of a Lustre target, or of a block device" {
    "bytes_read" Counter "bytes read: for clients of a target, from a block device";
    "bytes_written" Counter "bytes written";
    "space_total_kb" Gauge "size of the target, in KiB";
    "space_free_kb" Gauge "what is free of it, in KiB";
    "r512" Counter "transactions read of up to 512 bytes";
    "r1k" Counter "transactions read of more than 512 bytes, up to 1 KiB";
    "r2k" Counter "transactions read of more than 1 KiB, up to 2 KiB";
    "r4k" Counter "transactions read of more than 2 KiB, up to 4 KiB";
    "r8k" Counter "transactions read of more than 4 KiB, up to 8 KiB";
    "r16k" Counter "transactions read of more than 8 KiB, up to 16 KiB";
    "r32k" Counter "transactions read of more than 16 KiB, up to 32 KiB";
    "r64k" Counter "transactions read of more than 32 KiB, up to 64 KiB";
    "r128k" Counter "transactions read of more than 64 KiB, up to 128 KiB";
    "r256k" Counter "transactions read of more than 128 KiB, up to 256 KiB";
    "r512k" Counter "transactions read of more than 256 KiB, up to 512 KiB";
    "r1m" Counter "transactions read of more than 512 KiB, up to 1 MiB";
    "r2m" Counter "transactions read of more than 1 MiB, up to 2 MiB";
    "r4m" Counter "transactions read of more than 2 MiB, up to 4 MiB";
    "r8m" Counter "transactions read of more than 4 MiB, up to 8 MiB";
    "r16m" Counter "transactions read of more than 8 MiB, up to 16 MiB";
    "r32m" Counter "transactions read of more than 16 MiB, up to 32 MiB";
    "r64m" Counter "transactions read of more than 32 MiB";
    "w512" Counter "transactions written of up to 512 bytes";
    "w1k" Counter "transactions written of more than 512 bytes, up to 1 KiB";
    "w2k" Counter "transactions written of more than 1 KiB, up to 2 KiB";
    "w4k" Counter "transactions written of more than 2 KiB, up to 4 KiB";
    "w8k" Counter "transactions written of more than 4 KiB, up to 8 KiB";
    "w16k" Counter "transactions written of more than 8 KiB, up to 16 KiB";
    "w32k" Counter "transactions written of more than 16 KiB, up to 32 KiB";
    "w64k" Counter "transactions written of more than 32 KiB, up to 64 KiB";
    "w128k" Counter "transactions written of more than 64 KiB, up to 128 KiB";
    "w256k" Counter "transactions written of more than 128 KiB, up to 256 KiB";
    "w512k" Counter "transactions written of more than 256 KiB, up to 512 KiB";
    "w1m" Counter "transactions written of more than 512 KiB, up to 1 MiB";
    "w2m" Counter "transactions written of more than 1 MiB, up to 2 MiB";
    "w4m" Counter "transactions written of more than 2 MiB, up to 4 MiB";
    "w8m" Counter "transactions written of more than 4 MiB, up to 8 MiB";
    "w16m" Counter "transactions written of more than 8 MiB, up to 16 MiB";
    "w32m" Counter "transactions written of more than 16 MiB, up to 32 MiB";
    "w64m" Counter "transactions written of more than 32 MiB";
    "r_all" Counter "transactions read, of all sizes";
    "w_all" Counter "transactions written, of all sizes";
    "r_sectors" Counter "sectors of 512 bytes that they read: exactly, of a block device; else with each as large as its size";
    "w_sectors" Counter "sectors of 512 bytes that they wrote";
} }

kind! { HOST "host" "CPU, memory and pressure of the whole host" {
    "cpu_user" Counter "ticks (1/100 s) in user space";
    "cpu_nice" Counter "ticks in user space at low priority";
    "cpu_system" Counter "ticks in the kernel";
    "cpu_idle" Counter "ticks idle";
    "cpu_iowait" Counter "ticks idle while I/O is outstanding";
    "cpu_irq" Counter "ticks in interrupts";
    "cpu_softirq" Counter "ticks in soft interrupts";
    "cpu_steal" Counter "ticks taken by the hypervisor";
    "memory_total_kb" Gauge "memory, in KiB";
    "memory_available_kb" Gauge "memory that could be had, in KiB";
    "memory_cached_kb" Gauge "page cache, in KiB";
    "memory_dirty_kb" Gauge "waiting to be written, in KiB";
    "memory_writeback_kb" Gauge "being written, in KiB";
    "pressure_cpu_us" Counter "microseconds in which something waited for CPU";
    "pressure_io_some_us" Counter "microseconds in which something waited for I/O";
    "pressure_io_full_us" Counter "microseconds in which everything waited for I/O";
    "pressure_memory_some_us" Counter "microseconds in which something waited for memory";
    "pressure_memory_full_us" Counter "microseconds in which everything waited for memory";
} }

kind! { ADDRESS "address" "An address of this host: it tells whose socket another host sees" {
    "has_address" Gauge "always 1";
} }

kind! { GAP "gap" "A source that gave nothing: `SOURCE: REASON`" {
    "lost" Gauge "always 1";
} }

/// All kinds, in the order of a file's rows.
pub static KINDS: [&Kind; 9] = [&DISK, &NET, &TCP, &PEER, &LUSTRE, &TRANSFER, &HOST, &ADDRESS, &GAP];

#[cfg(test)]
mod tests {
    use super::*;

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

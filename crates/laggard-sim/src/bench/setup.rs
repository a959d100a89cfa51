//! The clusters and workloads of FAST'10, sections 3 and 8.

/// How clients and servers of a file system behave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileSystem {
    /// Name in tables.
    pub name: &'static str,
    /// How a client moves a large file.
    pub transfer: Transfer,
    /// Where metadata lives.
    pub metadata: Metadata,
    /// Bytes of written data a server may hold in memory before its disk has them; 0 is direct I/O.
    pub server_cache: f64,
    /// Bytes of written data at which a server begins to write them to its disk: 0 at once, one write for each request of a client;
    /// else what is there by then is merged, as the page cache does.
    pub write_back_from: f64,
    /// Share of the papers' records that one request of a client has.
    pub record: f64,
    /// Disk time that a write which extends a file costs beside the data, in seconds: block allocation and its journal.
    pub allocation_s: f64,
    /// Transfers of one file that the elevator may serve in a row.
    pub batch: usize,
    /// Bytes per second that a client copies between its application and the network.
    pub copy: f64,
    /// Processor time of a server for a request, in seconds.
    pub request_s: f64,
}

/// How a client moves a large file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Transfer {
    /// One record at a time, a part of it to each server; the next when all have answered (PVFS).
    Records,
    /// Stripes of 1 MB, several in flight for each server, written behind and read ahead (Lustre).
    Cached {
        /// Stripes in flight for each server.
        in_flight: usize,
        /// Stripes written but not yet sent, for each server.
        dirty: usize,
        /// Stripes read ahead, for all servers together.
        ahead: usize,
    },
}

/// Where metadata lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metadata {
    /// On all servers; the one with the root directory is asked on every look-up.
    Spread,
    /// On a server of its own, which is no peer of the others.
    Dedicated,
}

/// Megabyte, as the papers use it.
pub const MB: f64 = 1024.0 * 1024.0;

/// PVFS 2.8.0 with direct I/O and 4 MB flow buffers.
pub const PVFS: FileSystem = FileSystem {
    name: "PVFS",
    transfer: Transfer::Records,
    metadata: Metadata::Spread,
    server_cache: 0.0,
    write_back_from: 0.0,
    record: 1.0,
    allocation_s: 0.040,
    batch: 1,
    copy: 180e6,
    request_s: 0.3e-3,
};

/// Lustre 1.6.6, files striped over all targets.
pub const LUSTRE: FileSystem = FileSystem {
    name: "Lustre",
    transfer: Transfer::Cached { in_flight: 8, dirty: 32, ahead: 40 },
    metadata: Metadata::Dedicated,
    server_cache: 0.0,
    write_back_from: 0.0,
    record: 1.0,
    allocation_s: 0.002,
    batch: 16,
    copy: 1e9,
    request_s: 0.15e-3,
};

/// A Gluster-like one: small records, written to the page cache of the servers.
pub const GLUSTER: FileSystem = FileSystem {
    name: "Gluster",
    transfer: Transfer::Records,
    metadata: Metadata::Spread,
    server_cache: 8.0 * MB,
    write_back_from: 4.0 * MB,
    record: 1.0 / 16.0,
    allocation_s: 0.0,
    batch: 8,
    copy: 400e6,
    request_s: 0.1e-3,
};

/// What a server's disk is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiskModel {
    /// Bytes per second of one channel.
    pub rate: f64,
    /// Times the seek of a Barracuda; 0 has neither arm nor platter.
    pub seek: f64,
    /// Seconds that each request takes beside seek and transfer.
    pub overhead_s: f64,
    /// Requests that it works on at once.
    pub channels: usize,
}

/// Seagate Barracuda 7200.10, 320 GB: the average over the disk.
pub const BARRACUDA: DiskModel = DiskModel { rate: 62e6, seek: 1.0, overhead_s: 0.0, channels: 1 };
/// Eight of them behind a controller.
pub const ARRAY: DiskModel = DiskModel { channels: 8, overhead_s: 0.2e-3, ..BARRACUDA };
/// Flash.
pub const FLASH: DiskModel = DiskModel { rate: 40e6, seek: 0.0, overhead_s: 0.15e-3, channels: 16 };

/// A cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cluster {
    /// Its file system.
    pub file_system: FileSystem,
    /// Number of clients.
    pub clients: usize,
    /// Number of I/O servers.
    pub servers: usize,
    /// The disks of its servers.
    pub disk: DiskModel,
    /// Which machines exactly: no two disks are alike, and a cluster keeps its disks from run to run.
    pub hardware: u64,
}

impl Cluster {
    /// The paper's four clusters, made of the machines of one seed.
    pub fn all(hardware: u64) -> [Cluster; 4] {
        let cluster = |file_system, clients, servers| Cluster {
            file_system,
            clients,
            servers,
            disk: BARRACUDA,
            hardware: hardware.wrapping_mul(4).wrapping_add(servers as u64),
        };
        [cluster(PVFS, 10, 10), cluster(PVFS, 6, 12), cluster(LUSTRE, 10, 10), cluster(LUSTRE, 6, 12)]
    }

    /// Four that are no kinder than reality: servers write from their page cache, and disks work on several requests at once.
    pub fn harder(hardware: u64) -> [Cluster; 4] {
        let cluster = |file_system, clients, servers, disk| Cluster {
            file_system,
            clients,
            servers,
            disk,
            hardware: hardware.wrapping_mul(8).wrapping_add(servers as u64),
        };
        let cached = |name, server_cache: f64, of| FileSystem {
            name,
            server_cache,
            write_back_from: server_cache / 2.0,
            ..of
        };
        [
            cluster(GLUSTER, 4, 5, BARRACUDA),
            cluster(cached("Gluster-small-cache", MB, GLUSTER), 6, 9, BARRACUDA),
            cluster(cached("Lustre-arrays", 32.0 * MB, LUSTRE), 10, 10, ARRAY),
            cluster(cached("Gluster-flash", 4.0 * MB, GLUSTER), 8, 12, FLASH),
        ]
    }

    /// `PVFS 10/10`.
    pub fn name(&self) -> String {
        format!("{} {}/{}", self.file_system.name, self.clients, self.servers)
    }

    /// Finds one by a name such as `pvfs-10-10` or `PVFS 10/10`.
    pub fn parse(name: &str, hardware: u64) -> Option<Cluster> {
        let plain = |text: &str| text.to_lowercase().replace(['/', ' ', '-'], "");
        let mut known = Cluster::all(hardware).into_iter().chain(Cluster::harder(hardware));
        known.find(|cluster| plain(&cluster.name()) == plain(name))
    }

    /// `oss01`, `oss02`, ...
    pub fn server_name(&self, server: usize) -> String {
        format!("oss{:02}", server + 1)
    }
}

/// The five workloads, which all clients run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names of FAST'10, section 8.1")]
pub enum Workload {
    Ddw,
    Ddr,
    Iozonew,
    Iozoner,
    Postmark,
}

/// A stretch of sequential I/O of one file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// Writing, or reading.
    pub writes: bool,
    /// The file grows; a rewrite finds its blocks allocated.
    pub extends: bool,
    /// Bytes per client.
    pub bytes: f64,
    /// Bytes of one record that one server holds (PVFS).
    pub part: f64,
}

/// How many times the paper's some of IOzone's files are, so that the fault ends before the benchmark does.
const LONGER: f64 = 1.6;

impl Workload {
    /// All, in the paper's order.
    pub const ALL: [Workload; 5] =
        [Workload::Ddw, Workload::Ddr, Workload::Iozonew, Workload::Iozoner, Workload::Postmark];

    /// What the thresholds are trained on (FAST'10, section 10.1).
    pub const TRAINING: [Workload; 3] = [Workload::Ddr, Workload::Ddw, Workload::Postmark];

    /// The paper's name.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Ddw => "ddw",
            Workload::Ddr => "ddr",
            Workload::Iozonew => "iozonew",
            Workload::Iozoner => "iozoner",
            Workload::Postmark => "postmark",
        }
    }

    /// Finds a workload by name.
    pub fn parse(name: &str) -> Option<Workload> {
        Workload::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// The phases of a large-file workload; `None` for postmark. File sizes are the paper's for 10/10; in 6/12 there are
    /// twice as many servers for a client, and files are longer, for the same 600 s. Two of IOzone's would end early.
    pub fn phases(self, cluster: &Cluster, scale: f64) -> Option<Vec<Phase>> {
        let gigabytes = match (self, cluster.file_system.transfer) {
            (Workload::Ddw, Transfer::Records) => 17.0,
            (Workload::Ddr, Transfer::Records) => 27.0,
            (Workload::Iozonew, Transfer::Records) => 8.0,
            (Workload::Iozoner, Transfer::Records) => 8.0 * LONGER,
            (Workload::Ddw | Workload::Ddr, Transfer::Cached { .. }) => 30.0,
            (Workload::Iozonew, Transfer::Cached { .. }) => 9.0 * LONGER,
            (Workload::Iozoner, Transfer::Cached { .. }) => 16.0,
            (Workload::Postmark, _) => return None,
        };
        let servers_per_client = cluster.servers as f64 / cluster.clients as f64;
        let longer = match cluster.file_system.transfer {
            // A client that copies while no server works gains less from more servers.
            Transfer::Records => servers_per_client.sqrt(),
            Transfer::Cached { .. } => servers_per_client,
        };
        let bytes = gigabytes * 1024.0 * MB * scale * longer;
        // Records of 40 MB (dd) and 16 MB (IOzone) over ten servers.
        let part = if matches!(self, Workload::Ddw | Workload::Ddr) { 4.0 * MB } else { 1.6 * MB };
        let part = part * cluster.file_system.record;
        let phase = |writes, extends| Phase { writes, extends, bytes, part };
        Some(match self {
            Workload::Ddw => vec![phase(true, true)],
            Workload::Ddr => vec![phase(false, false)],
            Workload::Iozonew => vec![phase(true, true), phase(true, false)],
            _ => vec![phase(false, false), phase(false, false)],
        })
    }

    /// Postmark's transactions for each client.
    pub fn transactions(cluster: &Cluster, scale: f64) -> usize {
        let transactions = match cluster.file_system.metadata {
            Metadata::Spread => 16_000.0,
            Metadata::Dedicated => 53_000.0,
        };
        (transactions * scale) as usize
    }
}

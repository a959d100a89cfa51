//! A small synthetic cluster for `laggard demo`: twelve servers, twenty minutes, one limping disk, one lossy link, and a
//! change of workload that is not a fault.
//!
//! A toy with one honest property: files are striped over all servers and a client waits for the slowest stripe, so that
//! a fault slows every server's throughput alike and only latency and congestion tell them apart.

use laggard_core::diagnose::Cause;
use laggard_core::model::Metric;
use laggard_store::Recording;

const SERVERS: usize = 12;
const SECONDS: i64 = 20 * 60;
/// 2026-01-15T02:00:00Z.
const START_S: i64 = 1_768_442_400;
/// The workload turns from writing to reading half-way.
const READS_FROM: i64 = 10 * 60;

/// What was injected: server, cause, from, to (seconds from the start).
pub struct Fault {
    /// Name of the server.
    pub server: &'static str,
    /// What limps.
    pub cause: Cause,
    from: i64,
    to: i64,
}

/// The truth of the demo.
pub const FAULTS: [Fault; 2] = [
    Fault { server: "oss05", cause: Cause::DiskBusy, from: 4 * 60, to: 14 * 60 },
    Fault { server: "oss09", cause: Cause::PacketLoss, from: 13 * 60, to: 20 * 60 },
];

/// Requests of 128 KiB, as the block layer sees them.
const REQUEST_SECTORS: f64 = 256.0;
/// Bytes per second that a healthy disk moves.
const DISK_BYTES: f64 = 80e6;
const SECTOR_BYTES: f64 = 512.0;
/// Share of the stripes' bytes that comes back as acknowledgements and headers.
const OVERHEAD: f64 = 0.03;

/// Records the cluster.
pub fn record() -> Recording {
    let mut chance = Chance(0x1a66_a4d0);
    let names: Vec<String> = (1..=SERVERS).map(|number| format!("oss{number:02}")).collect();
    // No two disks are alike, by a percent or two.
    let hardware: Vec<f64> = (0..SERVERS).map(|_| 1.0 + 0.015 * chance.normal()).collect();
    let mut recording = Recording::default();
    for second in 0..SECONDS {
        let reads = second >= READS_FROM;
        let limping = |server: &str, cause: Cause| {
            FAULTS.iter().any(|fault| {
                fault.server == server && fault.cause == cause && (fault.from..fault.to).contains(&second)
            })
        };
        // Milliseconds per request, each server's own.
        let service: Vec<f64> = names
            .iter()
            .zip(&hardware)
            .map(|(name, hardware)| {
                let busy = if limping(name, Cause::DiskBusy) { 3.0 } else { 1.0 };
                let seek = if reads { 1.3 } else { 1.0 };
                hardware * busy * seek * (1.0 + 0.04 * chance.normal()).max(0.5)
            })
            .collect();
        let healthy_ms = REQUEST_SECTORS * SECTOR_BYTES / DISK_BYTES * 1e3;
        // The slowest stripe sets the pace of all; a lossy link more than any disk.
        let slowest = service.iter().copied().fold(0.0, f64::max);
        let lossy = names.iter().any(|name| limping(name, Cause::PacketLoss));
        let pace = DISK_BYTES / slowest * if lossy { 0.4 } else { 1.0 };
        let burst = 1.0 + 0.15 * ((second as f64) / 37.0).sin();
        for (name, service) in names.iter().zip(&service) {
            let component = recording.component(name);
            let bytes = pace * burst * (1.0 + 0.02 * chance.normal());
            let (read, written) = if reads { (bytes, 0.0) } else { (0.0, bytes) };
            let loses = limping(name, Cause::PacketLoss);
            let window = |usual: f64, chance: &mut Chance| match loses {
                true => 1.0 + chance.uniform(),
                false => usual * (0.35 * chance.normal()).exp(),
            };
            let journal = if chance.uniform() < 0.05 { 40.0 * chance.uniform() } else { 0.0 };
            let mut push = |metric, value: f64| {
                recording.push(component, metric, START_S + second, (value * 1000.0).round() / 1000.0);
            };
            push(Metric::Tps, bytes / (REQUEST_SECTORS * SECTOR_BYTES));
            push(Metric::RdSec, read / SECTOR_BYTES + journal);
            push(Metric::WrSec, written / SECTOR_BYTES);
            push(Metric::Await, healthy_ms * service * 4.0);
            push(Metric::Rxbyt, written * (1.0 + OVERHEAD) + read * OVERHEAD);
            push(Metric::Txbyt, read * (1.0 + OVERHEAD) + written * OVERHEAD);
            push(Metric::CwndToClients, window(80.0, &mut chance));
            push(Metric::CwndFromClients, window(120.0, &mut chance));
        }
    }
    recording
}

/// Small seeded randomness (xorshift64*): the demo is the same everywhere.
struct Chance(u64);

impl Chance {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Sum of uniforms: near enough to a normal, and bounded.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

//! Completed block requests by size, counted in the kernel by a small eBPF program: the histogram that Lustre has in brw_stats, for any
//! device. Needs Linux 5.15 with BTF, and to be started by root or with CAP_BPF and CAP_PERFMON.
//!
//! Cost: about a third of a microsecond for each request, in the kernel; and one look-up a device and sample.

use super::Source;
use super::disk::Disks;
use crate::config::DiskConfig;
use aya::maps::{MapData, MapError, PerCpuHashMap};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, include_bytes_aligned};
use laggard_activity::kind::{Kind, TRANSFER};
use laggard_activity::transfer::{ALL, BYTES, COUNTS, FIELDS, Row, SECTORS, SIZES, sum_up};
use laggard_activity::{ABSENT, Table};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

static OBJECT: &[u8] = include_bytes_aligned!("../../bpf/block.bpf.o");

/// What the program keeps of a device: bytes read and written, then requests by size.
type Transfers = [u64; 2 + 2 * SIZES];

const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The program, and what it counts.
struct Counting {
    /// It counts as long as this is held.
    _program: Ebpf,
    devices: PerCpuHashMap<MapData, u32, Transfers>,
}

/// All block devices that the source `disk` would record.
pub struct Block {
    disks: Disks,
    counting: Option<Counting>,
    names: HashMap<u32, Arc<str>>,
    looked: Option<Instant>,
}

impl Block {
    /// Begins to count. Why it cannot is said when it is asked, and then it tries again.
    pub fn new(root: &Path, config: &DiskConfig) -> Block {
        let counting = Counting::start().ok();
        Block { disks: Disks::new(root, config), counting, names: HashMap::new(), looked: None }
    }
}

impl Counting {
    fn start() -> Result<Counting, String> {
        let refused = |error: &dyn std::fmt::Display| {
            format!(
                "the kernel refuses the eBPF program: {error}; it needs root or CAP_BPF and CAP_PERFMON, and BTF"
            )
        };
        let btf = Btf::from_sys_fs().map_err(|error| refused(&error))?;
        let mut loaded = Ebpf::load(OBJECT).map_err(|error| refused(&error))?;
        let program = loaded.program_mut("complete").ok_or("no program in the object")?;
        let program = <&mut BtfTracePoint>::try_from(program).map_err(|error| refused(&error))?;
        program.load("block_rq_complete", &btf).map_err(|error| refused(&error))?;
        program.attach().map_err(|error| refused(&error))?;
        let map = loaded.take_map("devices").ok_or("no map in the object")?;
        let devices =
            PerCpuHashMap::<MapData, u32, Transfers>::try_from(map).map_err(|error| refused(&error))?;
        Ok(Counting { _program: loaded, devices })
    }
}

impl Source for Block {
    fn name(&self) -> &'static str {
        "block"
    }

    fn kinds(&self) -> Vec<&'static Kind> {
        vec![&TRANSFER]
    }

    fn read(&mut self) -> Result<Vec<Table>, String> {
        let counting = match &mut self.counting {
            Some(counting) => counting,
            none => none.insert(Counting::start()?),
        };
        if self.looked.is_none_or(|looked| looked.elapsed() > LOOK_AGAIN) {
            self.names = self.disks.by_number()?;
            self.looked = Some(Instant::now());
        }
        let mut table = Table::new(&TRANSFER);
        let mut devices: Vec<(&u32, &Arc<str>)> = self.names.iter().collect();
        devices.sort_by_key(|(_, name)| (*name).clone());
        for (number, name) in devices {
            let mut row: Row = [ABSENT; FIELDS];
            let mut sums: Transfers = [0; 2 + 2 * SIZES];
            match counting.devices.get(number, 0) {
                Ok(of_processors) => {
                    for counts in of_processors.iter() {
                        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                    }
                }
                // Nothing yet, or a device that completes no requests of its own, such as a volume over others: what /proc/diskstats says of
                // it counts instead.
                Err(MapError::KeyNotFound) => continue,
                Err(error) => return Err(error.to_string()),
            }
            let sums = sums.map(|sum| i64::try_from(sum).unwrap_or(i64::MAX));
            row[BYTES..BYTES + 2].copy_from_slice(&sums[..2]);
            row[COUNTS..ALL].copy_from_slice(&sums[2..]);
            sum_up(&mut row);
            // Better known than from sizes, which are upper bounds.
            (row[SECTORS], row[SECTORS + 1]) = (sums[0] / 512, sums[1] / 512);
            table.push(name.clone(), &row);
        }
        Ok(vec![table])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_is_of_this_text() {
        let text = include_bytes!("../../bpf/block.bpf.c");
        let expected = format!("laggard-bpf-{:08x}", crc32fast::hash(text));
        let found = OBJECT.windows(expected.len()).any(|bytes| bytes == expected.as_bytes());
        assert!(found, "bpf/block.bpf.o is not of bpf/block.bpf.c: run `cargo xtask bpf`");
    }
}

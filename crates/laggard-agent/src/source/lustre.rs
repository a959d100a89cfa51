//! Lustre servers: `stats`, `brw_stats`, `io_latency_stats` and space of object targets, operations of metadata targets, 1.8 to 2.15.
//!
//! Where they are has moved with the versions: /proc/fs/lustre, then /sys/fs/lustre and, for root only, /sys/kernel/debug/lustre; under
//! obdfilter, osd-ldiskfs, osd-zfs, mds, mdt. All of these places are looked at; a target's statistic counts once.
//!
//! Cost: two or three small files a target; the folders are listed, and space is read, again each minute.

use super::{ProcFile, Source, number};
use laggard_activity::kind::{Kind, LUSTRE, TRANSFER};
use laggard_activity::lustre::{self, Statistic};
use laggard_activity::transfer::{ALL, BYTES, COUNTS, FIELDS, Row, SPACE, sum_up};
use laggard_activity::{ABSENT, Table};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const BASES: [&str; 3] = ["proc/fs/lustre", "sys/fs/lustre", "sys/kernel/debug/lustre"];
/// Devices with statistics, and their files; the newer place of `brw_stats` first.
const PLACES: [(&str, &[&str]); 5] = [
    ("osd-ldiskfs", &["brw_stats", "io_latency_stats"]),
    ("osd-zfs", &["brw_stats", "io_latency_stats"]),
    ("obdfilter", &["stats", "brw_stats", "kbytestotal", "kbytesfree"]),
    ("mdt", &["md_stats"]),
    ("mds", &["stats"]),
];
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// A file of a target.
struct TargetFile {
    target: String,
    name: &'static str,
    file: ProcFile,
}

/// The targets of a Lustre server.
pub struct Lustre {
    root: PathBuf,
    files: Vec<TargetFile>,
    /// Size of a target and what is free of it, in KiB.
    space: BTreeMap<String, [i64; 2]>,
    looked: Option<Instant>,
}

impl Lustre {
    /// The targets below a root.
    pub fn new(root: &Path) -> Lustre {
        Lustre { root: root.into(), files: Vec::new(), space: BTreeMap::new(), looked: None }
    }

    fn look(&mut self) {
        self.files.clear();
        self.space.clear();
        let mut seen = HashSet::new();
        for base in BASES {
            for (device, files) in PLACES {
                let folder = format!("{base}/{device}");
                let targets = fs::read_dir(self.root.join(&folder)).into_iter().flatten().flatten();
                let mut targets: Vec<String> =
                    targets.filter_map(|target| target.file_name().into_string().ok()).collect();
                targets.sort();
                for target in targets.into_iter().filter(|target| target.contains('-')) {
                    for name in files.iter().copied() {
                        let path = format!("{folder}/{target}/{name}");
                        if self.root.join(&path).is_file() && seen.insert((target.clone(), name)) {
                            self.add(&target, name, ProcFile::new(&self.root, &path));
                        }
                    }
                }
            }
        }
        self.looked = Some(Instant::now());
    }

    fn add(&mut self, target: &str, name: &'static str, mut file: ProcFile) {
        let place = match name {
            "kbytestotal" => 0,
            "kbytesfree" => 1,
            _ => return self.files.push(TargetFile { target: target.into(), name, file }),
        };
        let kib = file.read().ok().and_then(|text| number(text.trim()));
        self.space.entry(target.into()).or_insert([ABSENT; 2])[place] = kib.unwrap_or(ABSENT);
    }
}

impl Source for Lustre {
    fn describe(&mut self) -> Vec<String> {
        self.look();
        let targets: BTreeSet<&String> = self.files.iter().map(|file| &file.target).collect();
        let is_here = ["proc/fs/lustre", "sys/fs/lustre"].iter().any(|path| self.root.join(path).exists());
        if targets.is_empty() && is_here {
            let said = "Lustre is here, but no statistics can be read: no server, or they are in debugfs, for root only";
            return vec![said.into()];
        }
        targets.into_iter().cloned().collect()
    }

    fn name(&self) -> &'static str {
        "lustre"
    }

    fn kinds(&self) -> Vec<&'static Kind> {
        vec![&LUSTRE, &TRANSFER]
    }

    fn read(&mut self) -> Result<Vec<Table>, String> {
        if self.looked.is_none_or(|looked| looked.elapsed() > LOOK_AGAIN) {
            self.look();
        }
        let mut statistics = Table::new(&LUSTRE);
        let mut transfers: BTreeMap<&str, Row> = BTreeMap::new();
        let mut failure = None;
        for TargetFile { target, name, file } in &mut self.files {
            let text = match file.read() {
                Ok(text) => text,
                Err(error) => {
                    // A target that has moved to its failover partner is no failure of the others.
                    self.looked = None;
                    failure = Some(error);
                    continue;
                }
            };
            match *name {
                "brw_stats" => {
                    if let Some(counts) = lustre::disk_io_sizes(text) {
                        let row = transfers.entry(target).or_insert([ABSENT; FIELDS]);
                        row[COUNTS..ALL].copy_from_slice(&counts.concat());
                        sum_up(row);
                    }
                }
                "io_latency_stats" => latencies(target, text, &mut statistics),
                _ => {
                    let moved = operations(target, text, &mut statistics);
                    if moved != [ABSENT; 2] {
                        let row = transfers.entry(target).or_insert([ABSENT; FIELDS]);
                        row[BYTES..BYTES + 2].copy_from_slice(&moved);
                    }
                }
            }
        }
        let mut table = Table::new(&TRANSFER);
        for (target, mut row) in transfers {
            if let Some(space) = self.space.get(target) {
                row[SPACE..SPACE + 2].copy_from_slice(space);
            }
            table.push(target, &row);
        }
        match failure {
            Some(error) if statistics.names.is_empty() && table.names.is_empty() => Err(error),
            _ => Ok(vec![statistics, table]),
        }
    }
}

/// Adds the operations of a target; returns the bytes that it has read and written.
fn operations(target: &str, text: &str, table: &mut Table) -> [i64; 2] {
    let mut moved = [ABSENT; 2];
    for Statistic { name, calls, total } in lustre::statistics(text) {
        let total = total.unwrap_or(ABSENT);
        table.push(format!("{target}:{name}"), &[calls, total]);
        match name {
            "read_bytes" => moved[0] = total,
            "write_bytes" => moved[1] = total,
            _ => {}
        }
    }
    moved
}

fn latencies(target: &str, text: &str, table: &mut Table) {
    for latency in lustre::latencies(text) {
        let direction = if latency.is_write { "write" } else { "read" };
        let name = format!("{target}:io_latency_{direction}:{}", latency.size);
        table.push(name, &[latency.calls, latency.total_us]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_activity::transfer::{SECTORS, SIZES, size_of};

    const STATS: &str = "snapshot_time             1705616007.024163818 secs.nsecs
start_time                1684865295.727058577 secs.nsecs
read_bytes                3 samples [bytes] 4096 1048576 2101248 1099528404992
destroy                   20 samples [reqs]
";
    const BRW: &str = "snapshot_time:         1284151749.963667 (secs.usecs)

                           read      |     write
disk I/O size          ios   % cum % |  ios   % cum %
4K:                     7  24  24   |   9   0   0
1M:\t\t         2  64 100   | 5  98 100
16M:                    0   0 100   | 1   0 100
";
    const LATENCY: &str = "io_latency_by_size:\nrd_4K: { 256us: 100, }\n";

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn rows(tables: &[Table]) -> BTreeMap<String, Vec<i64>> {
        let all = tables.iter().flat_map(|table| {
            (0..table.names.len()).map(|row| (table.names[row].to_string(), table.row(row).to_vec()))
        });
        all.collect()
    }

    #[test]
    fn targets_of_all_versions() {
        let mut transfer = [0; FIELDS];
        transfer[..COUNTS].copy_from_slice(&[2_101_248, ABSENT, 4_831_716, 1000]);
        for (size, reads, writes) in [(4096, 7, 9), (1 << 20, 2, 5), (1 << 24, 0, 1)] {
            transfer[COUNTS + size_of(size)] = reads;
            transfer[COUNTS + SIZES + size_of(size)] = writes;
        }
        transfer[ALL..].copy_from_slice(&[9, 15, 7 * 8 + 2 * 2048, 9 * 8 + 5 * 2048 + 32_768]);
        let target = "scratch-OST0000";
        let expected = BTreeMap::from([
            (target.to_string(), transfer.to_vec()),
            (format!("{target}:read_bytes"), vec![3, 2_101_248]),
            (format!("{target}:destroy"), vec![20, ABSENT]),
            (format!("{target}:io_latency_read:4096"), vec![100, 19_200]),
        ]);
        for (stats, brw, space) in [
            ("proc/fs/lustre/obdfilter", "proc/fs/lustre/obdfilter", "proc/fs/lustre/obdfilter"),
            ("proc/fs/lustre/obdfilter", "proc/fs/lustre/osd-ldiskfs", "sys/fs/lustre/obdfilter"),
            ("sys/kernel/debug/lustre/obdfilter", "proc/fs/lustre/osd-zfs", "sys/fs/lustre/obdfilter"),
            // 2.15
            (
                "sys/kernel/debug/lustre/obdfilter",
                "sys/kernel/debug/lustre/osd-ldiskfs",
                "sys/fs/lustre/obdfilter",
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            put(root.path(), &format!("{stats}/{target}/stats"), STATS);
            put(root.path(), &format!("{brw}/{target}/brw_stats"), BRW);
            put(root.path(), &format!("proc/fs/lustre/osd-ldiskfs/{target}/io_latency_stats"), LATENCY);
            put(root.path(), &format!("{space}/{target}/kbytestotal"), "4831716\n");
            put(root.path(), &format!("{space}/{target}/kbytesfree"), "1000\n");
            put(root.path(), "proc/fs/lustre/obdfilter/num_refs", "1");
            assert_eq!(rows(&Lustre::new(root.path()).read().unwrap()), expected, "{stats}, {brw}, {space}");
        }
    }

    #[test]
    fn a_target_that_goes_is_gone_and_one_that_comes_is_found() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "proc/fs/lustre/obdfilter/scratch-OST0000/stats", STATS);
        put(root.path(), "proc/fs/lustre/obdfilter/scratch-OST0001/stats", STATS);
        let mut source = Lustre::new(root.path());
        assert_eq!(rows(&source.read().unwrap()).len(), 6);
        fs::remove_dir_all(root.path().join("proc/fs/lustre/obdfilter/scratch-OST0001")).unwrap();
        source.files.iter_mut().for_each(|known| {
            known.file = ProcFile::new(root.path(), "proc/fs/lustre/obdfilter/scratch-OST0001/stats");
        });
        assert!(source.read().is_err());
        assert_eq!(rows(&source.read().unwrap()).len(), 3);
    }

    #[test]
    fn shared_data_of_lmt_in_all_versions() {
        let Some(base) = crate::source::shared_data("lustre-proc") else { return };
        let read = |version: &str| rows(&Lustre::new(&base.join(version)).read().unwrap());
        let (old, zfs, newer) = (read("1.8.3"), read("2.10.8"), read("2.12.9_12"));
        assert_eq!(old["lc1-OST0000:read_bytes"], [1_023_683, 471_987_441_490]);
        assert_eq!(old["lc1-MDT0000:mknod"], [13_417_505, ABSENT]);
        assert_eq!(old["lc1-OST0000"][COUNTS + SIZES + size_of(1 << 20)], 8_168_407);
        assert_eq!(old["lc1-OST0000"][..2], [471_987_441_490, 744_266_735_272]);
        assert_eq!(zfs["lquake-OST0000"][COUNTS + size_of(512)], 19 + 1 + 1 + 440 + 1 + 1);
        assert_eq!(zfs["lquake-OST0000"][COUNTS + SIZES + size_of(8192)], 2_062_606);
        assert_eq!(newer["lquake-OST0000"][COUNTS + size_of(8192)], 32);
        assert_eq!(newer["lquake-OST0000:write_bytes"], [2400, 2_516_582_400]);
        // All transactions of each target, counted by another program, in another language.
        let transactions = |rows: &BTreeMap<String, Vec<i64>>| -> Vec<i64> {
            rows.iter()
                .filter(|(name, _)| !name.contains(':'))
                .map(|(_, row)| row[ALL..SECTORS].iter().sum())
                .collect()
        };
        assert_eq!(transactions(&old), [11_092_384, 11_092_384]);
        assert_eq!(transactions(&zfs), [13_060_328]);
        assert_eq!(transactions(&newer), [2903, 1431, 503, 2175]);
        let targets =
            |rows: &BTreeMap<String, Vec<i64>>| rows.keys().filter(|name| !name.contains(':')).count();
        assert_eq!([targets(&old), targets(&zfs), targets(&newer)], [2, 1, 4]);
    }
}

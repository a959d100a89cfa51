//! Lustre servers: `stats` and `brw_stats` of object and metadata targets, Lustre 1.8 to 2.15.
//!
//! Where they are has moved with the versions: /proc/fs/lustre, then /sys/kernel/debug/lustre (root only); under obdfilter,
//! osd-ldiskfs, osd-zfs, mds, mdt. All of these places are looked at; a target's statistic counts once.
//!
//! Cost: two or three small files a target; the folders are listed again each minute.

use super::{ProcFile, Source, number};
use laggard_activity::kind::{Kind, LUSTRE};
use laggard_activity::{ABSENT, Table};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const BASES: [&str; 2] = ["proc/fs/lustre", "sys/kernel/debug/lustre"];
/// Devices with statistics, and their files; the newer place of `brw_stats` first.
const PLACES: [(&str, &[&str]); 5] = [
    ("osd-ldiskfs", &["brw_stats"]),
    ("osd-zfs", &["brw_stats"]),
    ("obdfilter", &["stats", "brw_stats"]),
    ("mdt", &["md_stats"]),
    ("mds", &["stats"]),
];
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The targets of a Lustre server.
pub struct Lustre {
    root: PathBuf,
    files: Vec<(String, bool, ProcFile)>,
    looked: Option<Instant>,
}

impl Lustre {
    /// The targets below a root.
    pub fn new(root: &Path) -> Lustre {
        Lustre { root: root.into(), files: Vec::new(), looked: None }
    }

    fn look(&mut self) {
        self.files.clear();
        let mut seen = HashSet::new();
        for base in BASES {
            for (device, files) in PLACES {
                let folder = format!("{base}/{device}");
                let targets = fs::read_dir(self.root.join(&folder)).into_iter().flatten().flatten();
                let mut targets: Vec<String> =
                    targets.filter_map(|target| target.file_name().into_string().ok()).collect();
                targets.sort();
                for target in targets.into_iter().filter(|target| target.contains('-')) {
                    for file in files {
                        let path = format!("{folder}/{target}/{file}");
                        if self.root.join(&path).is_file() && seen.insert((target.clone(), *file)) {
                            let proc = ProcFile::new(&self.root, &path);
                            self.files.push((target.clone(), *file == "brw_stats", proc));
                        }
                    }
                }
            }
        }
        self.looked = Some(Instant::now());
    }
}

impl Source for Lustre {
    fn describe(&mut self) -> Vec<String> {
        self.look();
        let targets: BTreeSet<&String> = self.files.iter().map(|(target, _, _)| target).collect();
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

    fn kind(&self) -> &'static Kind {
        &LUSTRE
    }

    fn read(&mut self) -> Result<Table, String> {
        if self.looked.is_none_or(|looked| looked.elapsed() > LOOK_AGAIN) {
            self.look();
        }
        let mut table = Table::new(&LUSTRE);
        let mut failure = None;
        for (target, is_histogram, file) in &mut self.files {
            match file.read() {
                Ok(text) if *is_histogram => histogram(target, text, &mut table),
                Ok(text) => statistics(target, text, &mut table),
                Err(error) => {
                    // A target that has moved to its failover partner is no failure of the others.
                    self.looked = None;
                    failure = Some(error);
                }
            }
        }
        match failure {
            Some(error) if table.names.is_empty() => Err(error),
            _ => Ok(table),
        }
    }
}

/// `read_bytes  1023683 samples [bytes] 0 1048576 471987441490`: name, calls, unit, and where it has one: least, greatest, sum.
fn statistics(target: &str, text: &str, table: &mut Table) {
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [name, calls, "samples", _unit, rest @ ..] = words.as_slice() else { continue };
        let Some(calls) = number(calls) else { continue };
        let total = rest.get(2).and_then(|sum| number(sum)).unwrap_or(ABSENT);
        table.push(format!("{target}:{name}"), &[calls, total]);
    }
}

/// The section `disk I/O size` of brw_stats: `1M:  1786747  64 100   | 8168407  98 100`.
fn histogram(target: &str, text: &str, table: &mut Table) {
    let lines = text.lines().skip_while(|line| !line.starts_with("disk I/O size")).skip(1);
    let mut sums: BTreeMap<(bool, i64), i64> = BTreeMap::new();
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        let Some((size, counts)) = line.split_once(':') else { continue };
        let Some((reads, writes)) = counts.split_once('|') else { continue };
        let count = |side: &str| side.split_ascii_whitespace().next().and_then(number);
        if let (Some(size), Some(reads), Some(writes)) = (bytes(size.trim()), count(reads), count(writes)) {
            sums.insert((false, size), reads);
            sums.insert((true, size), writes);
        }
    }
    for ((is_write, size), count) in sums {
        let direction = if is_write { "write" } else { "read" };
        table.push(format!("{target}:disk_io_{direction}:{size}"), &[count]);
    }
}

/// `4K`, `1M`, `512`: a size in bytes.
fn bytes(text: &str) -> Option<i64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    number(digits)?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STATS: &str = "snapshot_time             1705616007.024163818 secs.nsecs
start_time                1684865295.727058577 secs.nsecs
read_bytes                3 samples [bytes] 4096 1048576 2101248 1099528404992
destroy                   20 samples [reqs]
";
    const BRW: &str = "snapshot_time:         1284151749.963667 (secs.usecs)

                           read      |     write
pages per bulk r/w     rpcs  % cum % |  rpcs  % cum %
1:                  683431  24  24   | 63521   0   0

                           read      |     write
disk I/O size          ios   % cum % |  ios   % cum %
4K:                     7  24  24   |   9   0   0
1M:\t\t         2  64 100   | 5  98 100
16M:                    0   0 100   | 1   0 100

                           read      |     write
block maps msec        maps  % cum % |  maps        % cum %
1:                  1 1 1 | 1 1 1
";

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn rows(root: &Path) -> Vec<(String, Vec<i64>)> {
        let table = Lustre::new(root).read().unwrap();
        (0..table.names.len()).map(|row| (table.names[row].to_string(), table.row(row).to_vec())).collect()
    }

    #[test]
    fn targets_of_all_versions() {
        let expected = |target: &str| {
            let name = |rest: &str| format!("{target}:{rest}");
            let mut rows =
                vec![(name("read_bytes"), vec![3, 2_101_248]), (name("destroy"), vec![20, ABSENT])];
            for (direction, counts) in [("read", [7, 2, 0]), ("write", [9, 5, 1])] {
                for (size, count) in [4096, 1 << 20, 1 << 24].iter().zip(counts) {
                    rows.push((name(&format!("disk_io_{direction}:{size}")), vec![count, ABSENT]));
                }
            }
            rows.sort();
            rows
        };
        for (stats, brw) in [
            ("proc/fs/lustre/obdfilter", "proc/fs/lustre/obdfilter"),
            ("proc/fs/lustre/obdfilter", "proc/fs/lustre/osd-ldiskfs"),
            ("sys/kernel/debug/lustre/obdfilter", "proc/fs/lustre/osd-zfs"),
        ] {
            let root = tempfile::tempdir().unwrap();
            put(root.path(), &format!("{stats}/scratch-OST0000/stats"), STATS);
            put(root.path(), &format!("{brw}/scratch-OST0000/brw_stats"), BRW);
            put(root.path(), "proc/fs/lustre/obdfilter/num_refs", "1");
            let mut found = rows(root.path());
            found.sort();
            assert_eq!(found, expected("scratch-OST0000"), "{stats} and {brw}");
        }
    }

    #[test]
    fn a_target_that_goes_is_gone_and_one_that_comes_is_found() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "proc/fs/lustre/obdfilter/scratch-OST0000/stats", STATS);
        put(root.path(), "proc/fs/lustre/obdfilter/scratch-OST0001/stats", STATS);
        let mut source = Lustre::new(root.path());
        assert_eq!(source.read().unwrap().names.len(), 4);
        fs::remove_dir_all(root.path().join("proc/fs/lustre/obdfilter/scratch-OST0001")).unwrap();
        source.files.iter_mut().for_each(|(_, _, file)| {
            *file = ProcFile::new(root.path(), "proc/fs/lustre/obdfilter/scratch-OST0001/stats");
        });
        assert!(source.read().is_err());
        assert_eq!(source.read().unwrap().names.len(), 2);
    }

    #[test]
    fn shared_data_of_lmt_in_all_versions() {
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/lustre-proc");
        if !base.exists() {
            eprintln!("skipped: ../shared/data is not here");
            return;
        }
        let find = |version: &str, name: &str| {
            rows(&base.join(version)).into_iter().find(|(known, _)| known == name).map(|(_, row)| row)
        };
        assert_eq!(find("1.8.3", "lc1-OST0000:read_bytes"), Some(vec![1_023_683, 471_987_441_490]));
        assert_eq!(find("1.8.3", "lc1-OST0000:disk_io_write:1048576"), Some(vec![8_168_407, ABSENT]));
        assert_eq!(find("1.8.3", "lc1-MDT0000:mknod"), Some(vec![13_417_505, ABSENT]));
        assert_eq!(find("2.10.8", "lquake-OST0000:disk_io_read:128"), Some(vec![440, ABSENT]));
        assert_eq!(find("2.12.9_12", "lquake-OST0000:disk_io_read:8192"), Some(vec![32, ABSENT]));
        assert_eq!(find("2.12.9_12", "lquake-OST0000:write_bytes"), Some(vec![2400, 2_516_582_400]));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,200}") {
            let mut table = Table::new(&LUSTRE);
            statistics("x", &text, &mut table);
            histogram("x", &format!("disk I/O size\n{text}"), &mut table);
        }
    }
}

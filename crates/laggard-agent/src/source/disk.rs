//! Block devices: /proc/diskstats, under names that survive a reboot; and what each is: medium, size and model.
//!
//! Cost: one read of /proc/diskstats; names are looked up in /sys and /dev when a device appears, and again each minute.

use super::{ProcFile, Source, matches, number};
use crate::config::{DiskConfig, Naming};
use laggard_activity::kind::{DISK, Kind, MEDIUM};
use laggard_activity::{ABSENT, Table};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Names change when an administrator renames a multipath device: look again so often.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Never the disks of a file system, unless asked for by name.
const USUALLY_LEFT_OUT: [&str; 7] = ["loop*", "ram*", "zram*", "sr*", "fd*", "nbd*", "md*"];

/// All block devices of a host.
pub struct Disks {
    root: PathBuf,
    diskstats: ProcFile,
    config: DiskConfig,
    /// The name of each device by the kernel's name and numbers; `None` if it is left out.
    known: HashMap<(String, i64, i64), Option<Arc<str>>>,
    /// The best of /dev/disk/by-id for each kernel name, read when `known` is empty.
    by_id: HashMap<String, String>,
    /// What each is, as of the last look.
    media: Table,
    looked: Option<Instant>,
}

impl Disks {
    /// The devices below a root.
    pub fn new(root: &Path, config: &DiskConfig) -> Disks {
        let diskstats = ProcFile::new(root, "proc/diskstats");
        Disks {
            root: root.into(),
            diskstats,
            config: config.clone(),
            known: HashMap::new(),
            by_id: HashMap::new(),
            media: Table::new(&MEDIUM),
            looked: None,
        }
    }
}

impl Disks {
    /// The name of each device that is recorded, by its number: major, then 20 bits of minor.
    pub fn by_number(&mut self) -> Result<HashMap<u32, Arc<str>>, String> {
        self.read()?;
        let number = |(_, major, minor): &(String, i64, i64)| (*major as u32) << 20 | *minor as u32;
        Ok(self.known.iter().filter_map(|(key, name)| Some((number(key), name.clone()?))).collect())
    }
}

impl Source for Disks {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn kinds(&self) -> Vec<&'static Kind> {
        vec![&DISK, &MEDIUM]
    }

    fn read(&mut self) -> Result<Vec<Table>, String> {
        if self.looked.is_none_or(|looked| looked.elapsed() > LOOK_AGAIN) {
            self.known.clear();
            self.media = Table::new(&MEDIUM);
            self.by_id = by_id(&self.root);
            self.looked = Some(Instant::now());
        }
        let mut table = Table::new(&DISK);
        let naming = Names { root: &self.root, config: &self.config, by_id: &self.by_id };
        for line in self.diskstats.read()?.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(major), Some(minor), Some(name)) =
                (words.next().and_then(number), words.next().and_then(number), words.next())
            else {
                continue;
            };
            let key = (name.to_string(), major, minor);
            let stable = match self.known.get(&key) {
                Some(known) => known.clone(),
                None => {
                    // Two devices with one name, such as two paths without multipath: the second keeps the kernel's.
                    let is_taken =
                        |stable: &Arc<str>| self.known.values().flatten().any(|known| known == stable);
                    let found =
                        naming.of(name).map(|stable| if is_taken(&stable) { name.into() } else { stable });
                    if let Some((medium, values)) = found.as_ref().and_then(|_| naming.medium(name)) {
                        self.media.push(format!("{}={medium}", found.as_deref().unwrap_or(name)), &values);
                    }
                    self.known.insert(key, found.clone());
                    found
                }
            };
            if let Some(stable) = stable
                && let Some(mut values) = fields(words)
            {
                let end = values.len();
                values[end - 2..].copy_from_slice(&[major, minor]);
                table.push(stable, &values);
            }
        }
        Ok(vec![table, self.media.clone()])
    }

    fn describe(&mut self) -> Vec<String> {
        let _ = self.read();
        let shown = self.known.iter().filter_map(|((kernel, _, _), stable)| {
            let stable = stable.as_ref()?;
            Some(if **stable == **kernel { kernel.clone() } else { format!("{stable} ({kernel})") })
        });
        let mut shown: Vec<String> = shown.collect();
        shown.sort();
        shown
    }
}

/// The fields behind the name, in the order of [`DISK`]. Linux 2.6 has 11, 4.18 added four for discards, 5.5 two for flushes;
/// the 4 of partitions in old kernels are not enough.
fn fields<'a>(words: impl Iterator<Item = &'a str>) -> Option<[i64; 20]> {
    let mut given = [ABSENT; 17];
    let mut count = 0;
    for (place, word) in given.iter_mut().zip(words) {
        *place = number(word)?;
        count += 1;
    }
    if count < 11 {
        return None;
    }
    let [
        reads,
        reads_merged,
        sectors_read,
        read_ms,
        writes,
        writes_merged,
        sectors_written,
        write_ms,
        rest @ ..,
    ] = given;
    let [
        in_flight,
        io_ms,
        queue_ms,
        discards,
        discards_merged,
        sectors_discarded,
        discard_ms,
        flushes,
        flush_ms,
    ] = rest;
    let spent = [read_ms, write_ms, discard_ms, flush_ms].into_iter().filter(|ms| *ms != ABSENT).sum::<i64>();
    Some([
        reads,
        reads_merged,
        sectors_read,
        read_ms,
        writes,
        writes_merged,
        sectors_written,
        write_ms,
        in_flight,
        io_ms,
        discards,
        discards_merged,
        sectors_discarded,
        discard_ms,
        flushes,
        flush_ms,
        queue_ms - spent,
        ABSENT,
        ABSENT,
        ABSENT,
    ])
}

/// Decides which devices are recorded, and under which name.
struct Names<'a> {
    root: &'a Path,
    config: &'a DiskConfig,
    by_id: &'a HashMap<String, String>,
}

impl Names<'_> {
    fn of(&self, kernel: &str) -> Option<Arc<str>> {
        // The kernel writes `!` in /sys where a name has a slash.
        let folder = self.root.join("sys/block").join(kernel.replace('/', "!"));
        // Partitions and other things that nobody asked for by name need no look-up.
        if self.config.include.is_empty() && !self.is_usual(kernel, &folder) {
            return None;
        }
        let stable = self.stable(kernel, &folder);
        let any = |patterns: &[String]| {
            patterns.iter().any(|pattern| matches(pattern, kernel) || matches(pattern, &stable))
        };
        let recorded = !any(&self.config.exclude)
            && (any(&self.config.include)
                || self.config.include.is_empty() && self.is_usual(kernel, &folder));
        recorded.then(|| match self.config.names {
            Naming::Stable => stable.into(),
            Naming::Kernel => kernel.into(),
        })
    }

    /// Whole disks and multipath devices; not partitions, not the paths of a multipath device, not volumes made of disks.
    fn is_usual(&self, kernel: &str, folder: &Path) -> bool {
        if USUALLY_LEFT_OUT.iter().any(|pattern| matches(pattern, kernel)) {
            return false;
        }
        let whole = folder.exists() || !self.root.join("sys/block").exists();
        let volume = kernel.starts_with("dm-") && !is_multipath(folder);
        let holders = fs::read_dir(folder.join("holders")).into_iter().flatten().flatten();
        let path_of_another = holders
            .into_iter()
            .any(|holder| is_multipath(&self.root.join("sys/block").join(holder.file_name())));
        whole && !volume && !path_of_another
    }

    /// `flash, 1.6 TB, MODEL`, and whether it turns, and its sectors; nothing where the kernel does not tell the medium.
    fn medium(&self, kernel: &str) -> Option<(String, [i64; 2])> {
        let folder = self.root.join("sys/block").join(kernel.replace('/', "!"));
        let line =
            |path: &str| fs::read_to_string(folder.join(path)).ok().map(|text| text.trim().to_string());
        let rotational = line("queue/rotational").and_then(|text| number(&text))?;
        let sectors = line("size").and_then(|text| number(&text)).unwrap_or(ABSENT);
        let mut words = vec![if rotational == 0 { "flash" } else { "disk" }.to_string()];
        words.extend((sectors > 0).then(|| size(512.0 * sectors as f64)));
        words.extend(line("device/model").filter(|model| !model.is_empty()));
        Some((words.join(", "), [rotational, sectors]))
    }

    /// The multipath or volume name, else the World Wide Name, else the first of /dev/disk/by-id, else the kernel's.
    fn stable(&self, kernel: &str, folder: &Path) -> String {
        let line = |path: PathBuf| {
            let text = fs::read_to_string(path).unwrap_or_default();
            Some(text.trim().to_string()).filter(|text| !text.is_empty())
        };
        line(folder.join("dm/name"))
            .or_else(|| self.by_id.get(kernel).cloned())
            .or_else(|| line(folder.join("wwid")))
            .or_else(|| line(folder.join("device/wwid")))
            .map_or_else(|| kernel.to_string(), |name| name.replace(char::is_whitespace, "_"))
    }
}

/// Bytes with two digits and their unit, as vendors tell it.
fn size(bytes: f64) -> String {
    let (unit, name) = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB")]
        .into_iter()
        .find(|(unit, _)| bytes >= *unit)
        .unwrap_or((1.0, "B"));
    let count = bytes / unit;
    if count < 10.0 { format!("{count:.1} {name}") } else { format!("{count:.0} {name}") }
}

/// For each kernel name the best of /dev/disk/by-id: the World Wide Name, which other hosts see too, else the first.
fn by_id(root: &Path) -> HashMap<String, String> {
    let mut best: HashMap<String, String> = HashMap::new();
    for link in fs::read_dir(root.join("dev/disk/by-id")).into_iter().flatten().flatten() {
        let Ok(target) = fs::read_link(link.path()) else { continue };
        let kernel = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = link.file_name().to_string_lossy().into_owned();
        let rank = |name: &str| (!name.starts_with("wwn-"), name.to_string());
        match best.get(&kernel) {
            Some(known) if rank(known) <= rank(&name) => {}
            _ => drop(best.insert(kernel, name)),
        }
    }
    best
}

fn is_multipath(folder: &Path) -> bool {
    fs::read_to_string(folder.join("dm/uuid")).is_ok_and(|uuid| uuid.starts_with("mpath-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn machine(diskstats: &str, blocks: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc")).unwrap();
        fs::write(root.path().join("proc/diskstats"), diskstats).unwrap();
        blocks.iter().for_each(|name| fs::create_dir_all(root.path().join("sys/block").join(name)).unwrap());
        root
    }

    fn names(root: &Path, config: &DiskConfig) -> Vec<String> {
        let table = Disks::new(root, config).read().unwrap().remove(0);
        table.names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn fields_of_all_kernels() {
        let old = "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n   8 1 sda1 1 2 3 4\n";
        let discards = "   8      16 sdb 1 2 3 4 5 6 7 8 9 10 31 12 13 14 15\n";
        let flushes = "   8      32 sdc 1 2 3 4 5 6 7 8 9 10 31 12 13 14 15 16 17\n";
        let root = machine(
            &format!("{old}{discards}{flushes}garbage\n8 48 sdd 1 2 x\n"),
            &["sda", "sdb", "sdc", "sdd"],
        );
        let table = Disks::new(root.path(), &DiskConfig::default()).read().unwrap().remove(0);
        assert_eq!(table.names.len(), 3);
        let a = ABSENT;
        assert_eq!(table.row(0), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, a, a, a, a, a, a, -1, a, 8, 0]);
        assert_eq!(table.row(1), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, a, a, 4, a, 8, 16]);
        assert_eq!(table.row(2), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, -13, a, 8, 32]);
    }

    #[test]
    fn names_survive_a_reboot() {
        let line = |number: u32, name: &str| format!("8 {number} {name} 1 2 3 4 5 6 7 8 9 10 11\n");
        let all = ["sda", "sdb", "sdc", "dm-0", "dm-1", "loop0", "nvme0n1"];
        let text: String = all.iter().enumerate().map(|(index, name)| line(index as u32, name)).collect();
        let root = machine(&(text + &line(9, "sda1")), &all);
        let block = |path: &str, content: &str| {
            let path = root.path().join("sys/block").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        block("dm-0/dm/name", "ddn6_lun00\n");
        block("dm-0/dm/uuid", "mpath-3600\n");
        block("dm-1/dm/uuid", "LVM-x\n");
        block("sdb/holders/dm-0/x", "");
        block("nvme0n1/wwid", "eui.0025\n");
        let by_id = root.path().join("dev/disk/by-id");
        fs::create_dir_all(&by_id).unwrap();
        symlink("../../sda", by_id.join("ata-Hitachi")).unwrap();
        symlink("../../sda", by_id.join("wwn-0x5000")).unwrap();
        let found = names(root.path(), &DiskConfig::default());
        assert_eq!(
            found,
            ["wwn-0x5000", "sdc", "ddn6_lun00", "eui.0025"],
            "no path, volume, loop or partition"
        );
        let kernel = DiskConfig { names: Naming::Kernel, ..DiskConfig::default() };
        assert_eq!(names(root.path(), &kernel), ["sda", "sdc", "dm-0", "nvme0n1"]);
        let only = DiskConfig { include: vec!["loop*".into(), "ddn*".into()], ..DiskConfig::default() };
        assert_eq!(names(root.path(), &only), ["ddn6_lun00", "loop0"]);
        let without = DiskConfig { exclude: vec!["sd*".into()], ..DiskConfig::default() };
        assert_eq!(names(root.path(), &without), ["ddn6_lun00", "eui.0025"], "also by the kernel's name");
    }

    #[test]
    fn medium_size_and_model_are_told_where_the_kernel_knows_them() {
        let line = |number: u32, name: &str| format!("8 {number} {name} 1 2 3 4 5 6 7 8 9 10 11\n");
        let root =
            machine(&(line(0, "sda") + &line(16, "nvme0n1") + &line(32, "sdc")), &["sda", "nvme0n1", "sdc"]);
        let block = |path: &str, content: &str| {
            let path = root.path().join("sys/block").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        block("sda/queue/rotational", "1\n");
        block("sda/size", "7814037168\n");
        block("sda/device/model", "ST4000NM0035    \n");
        block("nvme0n1/queue/rotational", "0\n");
        let mut tables = Disks::new(root.path(), &DiskConfig::default()).read().unwrap();
        let media = tables.remove(1);
        let found: Vec<&str> = media.names.iter().map(AsRef::as_ref).collect();
        assert_eq!(found, ["sda=disk, 4.0 TB, ST4000NM0035", "nvme0n1=flash"]);
        assert_eq!((media.row(0), media.row(1)), (&[1, 7_814_037_168][..], &[0, ABSENT][..]));
        assert_eq!([size(1.6e12), size(480e9), size(512.0)], ["1.6 TB", "480 GB", "512 B"]);
    }

    #[test]
    fn two_devices_of_one_name_are_told_apart() {
        let line = |number: u32, name: &str| format!("8 {number} {name} {number} 2 3 4 5 6 7 8 9 10 11\n");
        let root = machine(&(line(0, "sda") + &line(16, "sdb")), &["sda/device", "sdb/device"]);
        for name in ["sda", "sdb"] {
            fs::write(root.path().join("sys/block").join(name).join("device/wwid"), "naa.5000\n").unwrap();
        }
        assert_eq!(names(root.path(), &DiskConfig::default()), ["naa.5000", "sdb"]);
    }

    #[test]
    fn shared_data_fake_machine_of_sysstat() {
        let Some(root) = crate::source::shared_data("sysstat/fake-root1") else { return };
        let table = Disks::new(&root, &DiskConfig::default()).read().unwrap().remove(0);
        assert!(table.names.iter().any(|name| &**name == "sda"), "{:?}", table.names);
        assert_eq!(table.values.len(), table.names.len() * 20);
    }
}

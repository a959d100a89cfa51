//! What the disk did during a test, by the kernel's own count. A line over the size needs only the number of transactions and their
//! bytes, and /proc/diskstats has both.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Transactions, and the bytes they moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// How many.
    pub transactions: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Counted {
    /// What came since an earlier count.
    pub fn since(self, before: Counted) -> Counted {
        Counted {
            transactions: self.transactions.saturating_sub(before.transactions),
            bytes: self.bytes.saturating_sub(before.bytes),
        }
    }
}

/// Watches one device.
pub struct Observer {
    /// The kernel's name of it.
    pub device: String,
    numbers: (u32, u32),
}

impl Observer {
    /// Of the device at a path, or of that under a directory's file system; nothing where there is none, as over the network.
    pub fn of(place: &Path) -> Option<Observer> {
        let metadata = place.metadata().ok()?;
        let number = if metadata.is_dir() { metadata.dev() } else { metadata.rdev() };
        let numbers = (rustix::fs::major(number), rustix::fs::minor(number));
        let text = fs::read_to_string("/proc/diskstats").ok()?;
        let (device, _) = find(&text, numbers)?;
        Some(Observer { device, numbers })
    }

    /// Reads, then writes, so far.
    pub fn counted(&self) -> io::Result<[Counted; 2]> {
        let text = fs::read_to_string("/proc/diskstats")?;
        find(&text, self.numbers)
            .map(|(_, counted)| counted)
            .ok_or_else(|| io::Error::other("the device is gone"))
    }
}

/// `8 0 sda READS merged SECTORS ms WRITES merged SECTORS ms ...`
fn find(text: &str, numbers: (u32, u32)) -> Option<(String, [Counted; 2])> {
    text.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
        let is_it = number(0)? == u64::from(numbers.0) && number(1)? == u64::from(numbers.1);
        let counted = |count: usize, sectors: usize| {
            Some(Counted { transactions: number(count)?, bytes: number(sectors)?.checked_mul(512)? })
        };
        is_it.then(|| Some((words.get(2)?.to_string(), [counted(3, 5)?, counted(7, 9)?])))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_its_numbers() {
        let text = "   7 0 loop0 1 0 8 0 2 0 16 0 0 0 0\n   8 16 sdb 10 1 80 5 20 2 320 7 0 9 9 0 0 0 0\n";
        let (name, [reads, writes]) = find(text, (8, 16)).unwrap();
        assert_eq!(
            (name.as_str(), reads, writes),
            ("sdb", Counted { transactions: 10, bytes: 40960 }, Counted { transactions: 20, bytes: 163_840 },)
        );
        assert_eq!(find(text, (8, 0)), None);
        assert_eq!(writes.since(reads), Counted { transactions: 10, bytes: 122_880 });
    }
}

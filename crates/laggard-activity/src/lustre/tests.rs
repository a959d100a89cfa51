use super::*;
use proptest::prelude::*;

/// As Lustre 1.8 and 2.10 print it, with blanks or tabs.
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

fn of(counts: &[[i64; SIZES]; 2]) -> Vec<(u64, i64, i64)> {
    let all = (0..SIZES).map(|size| (transfer::bytes(size), counts[0][size], counts[1][size]));
    all.filter(|(_, reads, writes)| reads + writes > 0).collect()
}

#[test]
fn sizes_of_transactions_with_the_disk() {
    let counts = disk_io_sizes(BRW).unwrap();
    assert_eq!(of(&counts), [(4096, 7, 9), (1 << 20, 2, 5), (1 << 24, 0, 1)]);
    assert_eq!(snapshot_ms(BRW), Some(1_284_151_749_963));
}

#[test]
fn zfs_counts_less_than_a_sector() {
    let text = "disk I/O size          ios   % cum % |  ios         % cum %\n1:\t0 0 0 | 3 0 0\n128:\t440 0 0 | 2 0 0\n512: 1 0 0 | 4 0 0\n1K: 2 0 0 | 8 0 0\n";
    assert_eq!(of(&disk_io_sizes(text).unwrap()), [(512, 441, 9), (1024, 2, 8)]);
}

#[test]
fn an_empty_histogram_is_zero_and_none_at_all_is_unknown() {
    let empty = "snapshot_time:            1684867636.682465202 secs.nsecs
start_time:               1684865295.727058577 secs.nsecs
elapsed_time:             2340.955406625 secs.nsecs

                           read      |     write
disk I/O size          ios   % cum % |  ios         % cum %

";
    assert_eq!(disk_io_sizes(empty), Some([[0; SIZES]; 2]));
    assert_eq!(snapshot_ms(empty), Some(1_684_867_636_682));
    assert_eq!(disk_io_sizes("snapshot_time: 1.0\n"), None);
}

#[test]
fn statistics_with_and_without_a_sum() {
    let text = "snapshot_time             1705616007.024163818 secs.nsecs
read_bytes                3 samples [bytes] 4096 1048576 2101248 1099528404992
destroy                   20 samples [reqs]
open                      9 samples [usecs] 1 20 90 300
rename                    7 samples [reqs] 1 1 7 7
nonsense
";
    let found: Vec<Statistic> = statistics(text).collect();
    let statistic = |name, calls, total| Statistic { name, calls, total };
    let expected = [
        statistic("read_bytes", 3, Some(2_101_248)),
        statistic("destroy", 20, None),
        statistic("open", 9, Some(90)),
        statistic("rename", 7, None),
    ];
    assert_eq!(found, expected);
    assert_eq!(snapshot_ms(text), Some(1_705_616_007_024));
}

#[test]
fn latencies_by_size() {
    let text = "
io_latency_by_size:
snapshot_time:  1775128281.261562279
rd_4K: { 256us: 100, 512us: 10, }
wr_1024K: { 1024us: 4, }
wr_8K: { }
odd_4K: { 1us: 1, }
";
    let latency = |is_write, size, calls, total_us| Latency { is_write, size, calls, total_us };
    let expected = [
        latency(false, 4096, 110, 100 * 192 + 10 * 384),
        latency(true, 8192, 0, 0),
        latency(true, 1 << 20, 4, 4 * 768),
    ];
    assert_eq!(latencies(text), expected);
}

#[test]
fn parameters_of_lctl() {
    let text = format!(
        "health_check=healthy\nobdfilter.fs-OST0000.stats=\nread_bytes 1 samples [bytes] 1 1 1\nosd-ldiskfs.fs-OST0000.brw_stats=\n{BRW}\
         obdfilter.fs-OST0000.exports.fe80::1@tcp.stats=\nread_bytes 9 samples [bytes] 1 1 1\nobdfilter.fs-OST0000.kbytestotal=4831716\nmemused=7\n"
    );
    let found = params(&text);
    let names: Vec<(&str, &str, &str)> =
        found.iter().map(|param| (param.device, param.target, param.name)).collect();
    let target = "fs-OST0000";
    let expected = [
        ("obdfilter", target, "stats"),
        ("osd-ldiskfs", target, "brw_stats"),
        ("obdfilter", target, "kbytestotal"),
    ];
    assert_eq!(names, expected);
    assert_eq!(statistics(found[0].text).count(), 1, "not that of an export");
    assert_eq!(of(&disk_io_sizes(found[1].text).unwrap()).len(), 3);
    assert_eq!(found[2].text.trim(), "4831716");
    assert!(is_lctl(&text) && is_lctl("mdt.fs-MDT0000.exports.10.0.0.1@o2ib.uuid=x"));
    assert!(!is_lctl("memused=1\ntime,component\n") && !is_lctl("llite.fs-0.stats=\n"));
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,200}", lines in "([a-z0-9:|{}.=K ]{0,30}\n){0,8}") {
        for text in [&text, &lines] {
            let _ = statistics(text).count();
            let _ = disk_io_sizes(&format!("disk I/O size\n{text}"));
            let _ = (latencies(text), snapshot_ms(&format!("snapshot_time{text}")), params(text));
        }
    }
}

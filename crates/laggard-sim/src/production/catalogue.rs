//! The events of LISA'13, tables 4 to 7.

use super::incident::Happening::{
    self, ControllerFailed, DrawerErrors, LunResets, LunWorkload, PathsLost, ServerDown, ServerUnused,
    SlowLun, SlowWithoutLoad,
};
use super::site::{Attachment, LUNS, LUNS_PER_ARRAY};

/// One event of the paper.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Table of LISA'13.
    pub table: u8,
    /// Its row in table 8.
    pub kind: &'static str,
    /// The device, as the paper names it.
    pub device: &'static str,
    /// When it happened.
    pub time: &'static str,
    /// Hours until the paper's authors saw it.
    pub latency_h: f64,
    /// Hours until it was over.
    pub duration_h: f64,
    /// What it was: several things at once, where several arrays were hit.
    pub happenings: fn() -> Vec<Happening>,
}

fn slow(name: &str, factor: f64) -> Happening {
    SlowLun { lun: Attachment::parse(name).map_or(LUNS, |attachment| attachment.lun), factor }
}

const FAILED: &str = "Controller failure";
const DOWN: &str = "File server down";
const STATE: &str = "Misconfiguration / bad state";
const DRAWER: &str = "Drawer error";
const SINGLE: &str = "Single LUN";

macro_rules! entries {
    ($($table:literal $kind:ident $device:literal $time:literal $latency:literal $duration:literal $($happening:expr),+;)*) => {
        /// Tables 4 to 7, in their order.
        pub const CATALOGUE: &[Entry] = &[$(Entry {
            table: $table, kind: $kind, device: $device, time: $time, latency_h: $latency, duration_h: $duration,
            happenings: || vec![$($happening),+],
        }),*];
    };
}

entries! {
    4 FAILED "ddn19a" "2011-07-14T00:00Z" 1.0 619.2 ControllerFailed { array: 13, is_b: false };
    4 DOWN "fs16" "2011-08-01T19:00Z" 17.0 213.6 ServerDown { server: 15 };
    4 DOWN "fs24" "2011-08-15T07:31Z" 0.48 396.0 ServerDown { server: 23 };
    4 FAILED "ddn20b" "2011-09-05T03:23Z" 8.6 444.0 ControllerFailed { array: 14, is_b: true };
    4 DOWN "fs25" "2011-09-11T03:22Z" 11.6 35.6 ServerDown { server: 24 };
    4 FAILED "ddn11a" "2011-10-03T03:09Z" 12.9 1020.0 ControllerFailed { array: 5, is_b: false };
    4 FAILED "ddn12a, 20a, 21a" "2011-10-17T16:57Z" 22.1 672.0
        ControllerFailed { array: 6, is_b: false },
        ControllerFailed { array: 14, is_b: false },
        ControllerFailed { array: 15, is_b: false };
    4 FAILED "ddn8a" "2012-06-14T22:26Z" 7.6 93.6 ControllerFailed { array: 2, is_b: false };
    5 STATE "fs49, 50, 53, 54" "2011-05-18T00:21Z" 0.65 1197.6 LunResets { array: 6, servers: 0b0011_0011 };
    5 STATE "ddn19a" "2011-08-08T19:36Z" 8.4 21.9 PathsLost { array: 13, servers: 0b1100_1100, every: 2, missing: false };
    5 STATE "ddn14, 18" "2011-11-14T19:41Z" 7.6 93.6
        PathsLost { array: 8, servers: 0b0000_0110, every: 1, missing: true },
        PathsLost { array: 12, servers: 0b0110_0000, every: 1, missing: true };
    5 STATE "fs56" "2012-03-05T17:50Z" 3.2 100.8 ServerUnused { server: 55 };
    5 STATE "ddn16b" "2012-05-10T03:00Z" 9.0 112.8 PathsLost { array: 10, servers: 0b1000_1000, every: 1, missing: true };
    5 STATE "ddn11a" "2012-06-13T03:00Z" 3.0 208.8 PathsLost { array: 5, servers: 0b0011_0010, every: 1, missing: true };
    6 DRAWER "ddn12" "2011-05-17T20:30Z" 3.5 3.9 DrawerErrors { array: 6, luns: 60 };
    6 DRAWER "ddn12" "2011-06-20T18:30Z" 1.5 48.8 DrawerErrors { array: 6, luns: 37 };
    6 DRAWER "ddn19" "2011-09-08T02:00Z" 12.0 27.0 DrawerErrors { array: 13, luns: 54 };
    6 DRAWER "ddn16" "2012-01-16T19:30Z" 3.5 24.0 DrawerErrors { array: 10, luns: 11 };
    7 SINGLE "15.37.78" "2011-06-18T08:00Z" 18.0 252.0 slow("15.37.78", 2.5);
    7 SINGLE "19.12.109" "2011-08-18T20:00Z" 26.0 79.0
        LunWorkload { lun: Attachment { lun: 13 * LUNS_PER_ARRAY + 12, priority: 0 }.lun, bytes: 60e6 };
    7 SINGLE "11.12.45" "2011-09-25T04:00Z" 20.0 103.2 slow("11.12.45", 2.0);
    7 SINGLE "9.04.29" "2012-04-19T12:00Z" 38.0 172.8 slow("9.04.29", 1.8);
    7 SINGLE "21.34.124" "2012-06-25T16:00Z" 8.0 158.4
        SlowWithoutLoad { attachment: Attachment { lun: 15 * LUNS_PER_ARRAY + 34, priority: 1 }, await_ms: 40.0 };
}

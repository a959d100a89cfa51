//! What Laggard reads and keeps.
//!
//! [`read()`] recognises an input by its content and yields a [`Recording`]; [`align`] brings it onto a regular grid and
//! replays it in time order; [`store`] keeps recordings in a directory. Raw counters ([`Counters`](laggard_activity::Counters): activity files, [`sysstat`],
//! `prometheus`) stay in their files and are streamed ([`activity`]); rates ([`mod@csv`], [`sadf`], [`sar`]) are held in memory.
//! Nothing here aborts on a bad row: what cannot be used is a [`Problem`] with file and line, and the rest is used.

pub mod activity;
pub mod align;
pub mod calibration;
pub mod convert;
pub mod csv;
pub mod lctl;
pub mod problem;
#[cfg(feature = "prometheus")]
pub mod prometheus;
pub mod rates;
pub mod read;
pub mod recording;
pub mod sadf;
pub mod sar;
pub mod statistics;
pub mod store;
pub mod sysstat;
pub mod time;
pub mod transfer;

pub use problem::{FormatError, Lost, Problem, Problems};
pub use read::{ReadError, read, read_with};
pub use recording::Recording;

#[cfg(test)]
/// A folder of `../shared/data`. Where it is missing the test is skipped, aloud; in CI, where it must be, the test fails.
pub(crate) fn shared_data(name: &str) -> Option<std::path::PathBuf> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if folder.exists() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing", folder.display());
    eprintln!("skipped: {} is missing", folder.display());
    None
}

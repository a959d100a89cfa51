//! Time: the grid of slots, the windows on it, and the samples of a group in one window.

pub mod schedule;
pub mod window;

use crate::ids::Slot;
pub use schedule::{Grid, Params, Schedule};
pub use window::{FEWEST_PEERS, Window, Windower};

/// Keeps the first slot with a sample of each column of a row.
pub fn note_joined<'a>(joined: impl Iterator<Item = &'a mut Option<Slot>>, slot: Slot, row: &[f64]) {
    for (joined, value) in joined.zip(row) {
        if joined.is_none() && !value.is_nan() {
            *joined = Some(slot);
        }
    }
}

/// Whether a number is a measurement. Infinities and absurd magnitudes are missing, never zero, and never overflow.
pub fn is_measurement(value: f64) -> bool {
    value.abs() <= 1e150
}

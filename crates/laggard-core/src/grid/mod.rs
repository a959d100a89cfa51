//! Time: the grid of slots, the windows on it, and the samples of a group in one window.

pub mod schedule;
pub mod window;

pub use schedule::{Grid, Params, Schedule};
pub use window::{FEWEST_PEERS, Window, Windower};

/// Whether a number is a measurement. Infinities and absurd magnitudes are missing, never zero, and never overflow.
pub fn is_measurement(value: f64) -> bool {
    value.abs() <= 1e150
}

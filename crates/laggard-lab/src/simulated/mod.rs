//! The test bench of FAST'10: the matrix of experiments, and the score beside the paper's tables.

pub mod harder;
pub mod matrix;
pub mod paper;
pub mod tally;

/// The chance of one experiment: held-out ones have another than those that methods are developed on.
fn seed(held_out: bool, parts: &[usize]) -> u64 {
    let base: u64 = if held_out { 0x6865_6c64 } else { 0x0064_6576 };
    parts.iter().fold(base, |seed, &part| seed.wrapping_mul(1_000_003).wrapping_add(part as u64))
}

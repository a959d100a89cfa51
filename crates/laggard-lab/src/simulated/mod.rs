//! The test bench of FAST'10: the matrix of experiments, and the score beside the paper's tables.

pub mod harder;
pub mod matrix;
pub mod paper;
pub mod tally;

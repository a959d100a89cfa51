//! What scores are held against: trained thresholds, as published, or a threshold from the peers themselves.
//!
//! Untrained, the score must exceed a multiple of the median score of the peers, so that one bad peer cannot raise its own
//! bar, not even by being slow for the whole recording.

use super::rules::window::MIN_PRESENT;
use crate::compare::{Judgement, Method, Threshold};
use crate::grid::Window;
use crate::ids::{MemberIndex, Table};
use crate::stats::median;

/// Peers whose scores make the threshold; more would cost time and change nothing.
const SAMPLED_PEERS: usize = 64;

/// Where the thresholds of one group in one metric come from.
#[derive(Debug)]
pub enum Policy {
    /// From training: one for each member.
    Trained(Table<MemberIndex, f64>),
    /// From the peers, in each window.
    FromPeers,
}

impl Policy {
    /// Scores and thresholds of a window's rows, which are these members.
    pub fn judge(&self, method: &Method, window: &Window, members: &[MemberIndex]) -> Judgement {
        match self {
            Policy::Trained(trained) => {
                let thresholds: Vec<f64> = members.iter().map(|&member| trained[member]).collect();
                (method.judge)(window, Threshold::Trained(&thresholds))
            }
            Policy::FromPeers => from_peers(method, window),
        }
    }

    /// Whether thresholds come from training.
    pub fn is_trained(&self) -> bool {
        matches!(self, Policy::Trained(_))
    }
}

/// Untrained, silence is judged as silence: a row without any sample must not spread the scores of the others.
fn from_peers(method: &Method, window: &Window) -> Judgement {
    let is_present = |row: &usize| window.has_samples(*row);
    let present: Vec<usize> = (0..window.components()).filter(is_present).collect();
    if (present.len() as f64) < MIN_PRESENT.value * window.components() as f64 {
        // Most have nothing to say in this metric, such as the latency of idle attachments: no peers, no comparison.
        return Judgement::missing(window.components());
    }
    let only = if present.len() == window.components() { None } else { Some(window.only(&present)) };
    let compared = only.as_ref().unwrap_or(window);
    let sample = sample(compared.components());
    let rule = |scores: &[f64]| threshold(method, scores);
    let judgement = (method.judge)(compared, Threshold::FromPeers { sample: &sample, rule: &rule });
    if only.is_none() {
        return judgement;
    }
    let mut all = Judgement::missing(window.components());
    all.thresholds.fill(judgement.thresholds.first().copied().unwrap_or(f64::NAN));
    for (&row, score) in present.iter().zip(judgement.scores) {
        all.scores[row] = score;
    }
    all
}

/// The threshold for one window, from the scores of (a sample of) the group.
fn threshold(method: &Method, scores: &[f64]) -> f64 {
    // Distances are positive; where a score has a sign, chance goes both ways.
    let mut known: Vec<f64> =
        scores.iter().filter(|score| !score.is_nan()).map(|score| score.abs()).collect();
    let middle = median(&mut known);
    if middle.is_nan() {
        f64::INFINITY
    } else {
        (middle * method.untrained.factor).max(method.untrained.least)
    }
}

/// A sample of a group's rows, always the same. Not every k-th: members are in name order, and names follow the wiring, so that
/// a stride would see one server's LUNs only.
pub fn sample(rows: usize) -> Vec<usize> {
    if rows <= SAMPLED_PEERS {
        return (0..rows).collect();
    }
    let mut pool: Vec<usize> = (0..rows).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for chosen in 0..SAMPLED_PEERS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pool.swap(chosen, chosen + (state % (rows - chosen) as u64) as usize);
    }
    pool.truncate(SAMPLED_PEERS);
    pool
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Score;
    use crate::compare::cdf::CDF;
    use crate::compare::limp::LIMP;

    #[test]
    fn the_worst_peer_cannot_raise_the_threshold() {
        let healthy = threshold(&CDF, &[1.0, 1.2, 0.9, 1.1, 1.0]);
        assert!(threshold(&CDF, &[1.0, 1.2, 0.9, 1.1, 500.0]) < healthy * 1.2);
        assert_eq!(threshold(&CDF, &[f64::NAN]), f64::INFINITY);
    }

    #[test]
    fn a_sample_is_without_repetition_and_always_the_same() {
        let mut found = sample(1000);
        assert_eq!(found, sample(1000));
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), SAMPLED_PEERS);
        assert_eq!(sample(3), [0, 1, 2]);
    }

    #[test]
    fn a_silent_row_has_no_score_and_where_most_are_silent_none_has() {
        let window = |silent: usize| {
            let rows = (0..8).map(|row| if row < silent { [f64::NAN; 4] } else { [5.0 + row as f64; 4] });
            Window::new(rows.flatten().collect(), 4)
        };
        let members: Vec<MemberIndex> = (0..8).map(MemberIndex::new).collect();
        let judged = |silent: usize| Policy::FromPeers.judge(&LIMP, &window(silent), &members).scores;
        let missing = |silent| judged(silent).iter().filter(|score| **score == Score::Missing).count();
        assert_eq!([missing(0), missing(1), missing(4), missing(5)], [0, 1, 4, 8]);
    }
}

//! `cwnd`: FAST'10, section 10.1, time-series approach. Packet loss halves a TCP congestion window again and again;
//! on a logarithmic scale that is a fall far below the peers.
//!
//! Each slot, a server is indicted where its log-cwnd is below `fraction * median` of all servers' log-cwnd. As a
//! score, so that later steps need no special case: `1 - log(cwnd)/median`, with threshold `1 - fraction`.
//! A high congestion window never scores: disk faults raise it, and it is not evidence.

use super::{Cushion, Judgement, Method, Onset, Subject, Untrained};
use crate::grid::{Params, Window};
use crate::stats::median;

/// The method, with the paper's parameters.
pub static CWND: Method = Method {
    name: "cwnd",
    subject: Subject::CongestionWindow,
    onset: Onset::NewSlots,
    params: Params { interval_s: 1, smoothing: 31, size: 1, shift: 1, k: 1 },
    day_interval_s: 1,
    smoothing_s: Some(31),
    cushion: Cushion::None,
    // A window of one segment against peers at a hundred scores 1. Chaotic but healthy windows reach 0.4, and then so do
    // many; where all are calm, an eighth of the logarithm is much.
    untrained: Untrained { factor: 6.0, least: 0.12, shift: 1, k: 8, longest_s: None },
    scores,
    plain,
    judge: |window, threshold| Judgement::from_scores(&scores(window), threshold),
};

fn scores(window: &Window) -> Vec<f64> {
    let logs: Vec<f64> = window.each().map(|samples| log_cwnd(samples[samples.len() - 1])).collect();
    let mut present: Vec<f64> = logs.iter().copied().filter(|log| !log.is_nan()).collect();
    if present.len() < crate::grid::FEWEST_PEERS {
        return vec![f64::NAN; logs.len()];
    }
    let middle = median(&mut present);
    // All windows at one segment or less: the group says nothing about its members.
    let score = |log: f64| if middle > 0.0 { 1.0 - log / middle } else { 0.0 };
    logs.into_iter().map(|log| if log.is_nan() { f64::NAN } else { score(log) }).collect()
}

fn plain(window: &Window) -> Vec<f64> {
    let logs: Vec<f64> =
        window.each().map(|samples| log_cwnd(*samples.last().unwrap_or(&f64::NAN))).collect();
    let mut sorted: Vec<f64> = logs.iter().copied().filter(|log| !log.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    if n < crate::grid::FEWEST_PEERS {
        return vec![f64::NAN; logs.len()];
    }
    let middle = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    logs.iter().map(|log| if middle > 0.0 || log.is_nan() { 1.0 - log / middle } else { 0.0 }).collect()
}

/// No congestion window is zero: a mean of no sockets at all is missing.
fn log_cwnd(cwnd: f64) -> f64 {
    if cwnd > 0.0 { cwnd.ln() } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_low_window_scores() {
        let scores = scores(&Window::new(vec![100.0, 100.0, 1.0, 10_000.0, 100.0], 1));
        assert_eq!(scores[2], 1.0);
        assert_eq!(scores[0], 0.0);
        assert!(scores[3] < 0.0);
    }

    #[test]
    fn two_servers_are_too_few() {
        assert!(scores(&Window::new(vec![100.0, 1.0, f64::NAN], 1)).iter().all(|score| score.is_nan()));
    }
}

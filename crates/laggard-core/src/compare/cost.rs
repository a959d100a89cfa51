//! `cost`: ours. Time in service against what the same work costs the peers, and the work itself.
//!
//! It goes along with `limp` and is no method of its own: its scores do not come from the window of one metric but from the
//! [books](crate::diagnose::ledger) of a group. Its windows hold service over cost, piece by piece, for reports.

use super::{Cushion, Judgement, Method, Onset, Subject, Untrained, limp};
use crate::grid::Window;

/// See above.
pub static COST: Method = Method {
    name: "cost",
    subject: Subject::Books,
    onset: Onset::NewSlots,
    params: limp::LIMP.params,
    day_interval_s: limp::LIMP.day_interval_s,
    smoothing_s: None,
    cushion: Cushion::None,
    untrained: Untrained { factor: 0.0, least: 0.0, ..limp::LIMP.untrained },
    scores: unknown,
    plain: unknown,
    judge: |window, _| Judgement::missing(window.components()),
};

fn unknown(window: &Window) -> Vec<f64> {
    vec![f64::NAN; window.components()]
}

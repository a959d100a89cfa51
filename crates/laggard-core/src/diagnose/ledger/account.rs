//! What a window says of each member: its time in service beside what the same work costs its peers.

use super::super::case::Levels;
use super::super::rules::site::GroupEffect;
use super::super::rules::window;
use super::super::score::{ScoredWindow, Scorer};
use crate::compare::Score;
use crate::grid::Window;
use crate::ids::{MemberIndex, WindowIndex};
use crate::model::Metric;
use crate::stats::{Spread, median};

/// What a window says of one member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    /// Seconds of the window that are booked.
    pub seconds: f64,
    /// Share of them in service.
    pub service: f64,
    /// Share of them that the same work costs a peer.
    pub cost: f64,
    /// Logarithm of service over cost, less that of the active peers and the member's own usual difference.
    pub effect: f64,
    /// That usual difference: it is taken from the effect.
    pub usual: f64,
    /// The peers' logarithm of service over cost: how well the model fits the present.
    pub peer_effect: f64,
    /// Robust standard deviation of the effects of healthy members of which as much is known.
    pub spread: f64,
    /// How unlike its work is to the work that taught the cost.
    pub unlike: Unlike,
    /// Its last pieces.
    pub brief: Brief,
}

/// What the last pieces of a window say: what is violent shows in them before it has filled a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Brief {
    /// The effect that all of them but one reach; NaN where they are not all booked.
    pub effect: f64,
    /// Share of their time that was lost.
    pub lost: f64,
    /// Their seconds.
    pub seconds: f64,
}

impl Brief {
    /// Nothing is known.
    pub const UNKNOWN: Brief = Brief { effect: f64::NAN, lost: f64::NAN, seconds: f64::NAN };
}

/// Work for which the cost is not known from the peers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unlike {
    /// Times by which its mean request is larger or smaller than all that the peers had; at least 1.
    pub size: f64,
    /// Difference to the peers in the share of the cost that requests have, whatever their bytes.
    pub mix: f64,
}

impl Account {
    /// Times what the same work costs a peer.
    pub fn ratio(&self) -> f64 {
        self.effect.exp()
    }

    /// Share of the time in service beyond the peers' that more work than theirs explains.
    pub fn by_load(&self, peer_cost: f64) -> f64 {
        let usual = self.peer_effect.exp();
        let (extra_service, extra_cost) = (self.service - peer_cost * usual, (self.cost - peer_cost) * usual);
        (extra_cost / extra_service.max(extra_cost)).max(0.0)
    }

    /// The same work in this many times the time; in the last pieces by a factor of their own.
    pub fn slowed(&self, by: f64, in_pieces: f64) -> Account {
        let brief = Brief {
            effect: self.brief.effect + in_pieces.ln(),
            lost: self.brief.lost + self.service * (in_pieces - 1.0),
            ..self.brief
        };
        Account { service: self.service * by, effect: self.effect + by.ln(), brief, ..*self }
    }

    /// Share of the time that was lost: in service beyond what the peers would have been.
    pub fn lost(&self) -> f64 {
        self.service - self.cost * self.peer_effect.exp().max(1.0)
    }
}

/// A piece of time in which a member was slow: what tells a neighbour from a device that answers late.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowPiece {
    /// Seconds busy beyond the cost of the work, for each request.
    pub excess_s: f64,
    /// The same, as a multiple of the cost of the work.
    pub excess_ratio: f64,
    /// Requests under way, on average, while any was.
    pub queue: f64,
    /// Share of the piece in which nothing was completed.
    pub stalled: f64,
}

/// A window of the books.
#[derive(Debug, Clone)]
pub struct Accounts {
    /// Which window.
    pub index: WindowIndex,
    /// Of each member; none where too little is booked.
    pub members: Vec<Option<Account>>,
    /// Service over cost, piece by piece, member by member; NaN where nothing is booked.
    pub ratios: Vec<f64>,
    /// Cost as a share of the time, likewise.
    pub costs: Vec<f64>,
    /// How many pieces a window has.
    pub pieces: usize,
    /// How all members stand against the past of the group, once it has one.
    pub group: Option<GroupEffect>,
}

impl Accounts {
    /// The account of a member.
    pub fn of(&self, member: MemberIndex) -> Option<&Account> {
        self.members[member.index()].as_ref()
    }

    /// The window of a derived metric: levels and scores of all members that have an account.
    pub fn window(&self, track: &Scorer) -> ScoredWindow {
        let of_cost = track.metric == Metric::Cost;
        let members: Vec<MemberIndex> = (0..self.members.len())
            .map(MemberIndex::new)
            .filter(|member| self.of(*member).is_some())
            .collect();
        let accounts: Vec<&Account> = members.iter().filter_map(|member| self.of(*member)).collect();
        let by_piece = if of_cost { &self.ratios } else { &self.costs };
        let piece = |member: &MemberIndex| &by_piece[member.index() * self.pieces..][..self.pieces];
        let window = Window::new(members.iter().flat_map(piece).copied().collect(), self.pieces);
        let (levels, spread, scores, thresholds): (Vec<f64>, Spread, Vec<f64>, Vec<f64>) = match of_cost {
            true => {
                let deviation =
                    median(&mut accounts.iter().map(|account| account.spread).collect::<Vec<f64>>());
                let levels = accounts.iter().map(|account| account.ratio()).collect();
                let scores = accounts.iter().map(|account| account.effect).collect();
                let thresholds = accounts.iter().map(|account| window::cost_threshold(account.spread));
                (levels, Spread { middle: 1.0, deviation }, scores, thresholds.collect())
            }
            false => {
                let levels: Vec<f64> = accounts.iter().map(|account| account.cost).collect();
                let spread = Spread::of(&levels);
                let scores = levels.iter().map(|level| level - spread.middle).collect();
                let thresholds = vec![window::work_threshold(spread.middle); levels.len()];
                (levels, spread, scores, thresholds)
            }
        };
        let scores = scores.into_iter().map(Score::Exact).collect();
        let levels = Levels::booked(track.metric, levels, spread);
        ScoredWindow::booked(track, self.index, members, window, scores, thresholds, levels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_explains_as_much_of_the_extra_time_as_it_costs() {
        let account = |service: f64, cost: f64, peer_effect: f64| Account {
            seconds: 40.0,
            service,
            cost,
            effect: 0.0,
            usual: 0.0,
            peer_effect,
            spread: 0.02,
            unlike: Unlike { size: 1.0, mix: 0.0 },
            brief: Brief::UNKNOWN,
        };
        assert_eq!(account(0.5, 0.5, 0.0).by_load(0.25), 1.0);
        assert_eq!(account(0.75, 0.5, 0.0).by_load(0.25), 0.5, "as much again is slowness");
        assert_eq!(account(0.4, 0.5, 0.0).by_load(0.25), 1.0, "it is faster than its peers");
        assert_eq!(
            account(1.0, 0.5, 2.0_f64.ln()).by_load(0.25),
            1.0,
            "all are twice as slow as the model says"
        );
        assert_eq!(account(0.5, 0.2, 0.0).by_load(0.25), 0.0, "it has less to do");
    }
}

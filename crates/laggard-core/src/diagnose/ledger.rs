//! The books of one peer group: what each member did, how long it was in service for it, and what the same work costs its peers.
//!
//! Slots are added up in [pieces](piece), pieces in windows. From the pieces of (a sample of) all members the cost of work is fitted
//! ([lessons]); a window then says of each member how its time in service compares with that cost ([account]), less what is usual
//! ([difference]). Work comes from volumes and requests; the time from `util`, or `svctm` and requests; where neither is recorded,
//! from `await` and requests. docs/methods.md, "Work and its cost", has the definitions.

mod account;
mod difference;
mod lessons;
mod past_cost;
mod piece;

pub use account::{Account, Accounts, Brief, SlowPiece, Unlike};
pub use difference::{MAX_USUAL, MIN_USUAL, USUAL_QUANTILE};
pub use past_cost::{NEW_DIRECTION, NO_DIRECTION};
pub use piece::{BOOKED, Piece, Recorded, STALLED_BUSY, STALLED_IN_FLIGHT};

use super::rules::site::GroupEffect;
use crate::cost::{Concurrency, Load, Model, Sizes};
use crate::grid::{Params, Schedule};
use crate::ids::{MemberIndex, Slot, WindowIndex};
use crate::stats::median;
use difference::{Differences, Usual};
use lessons::{Fitted, Lessons};
use past_cost::PastCost;
use std::collections::VecDeque;

/// Time in service, as a share, that is not told from none in samples of a second; longer samples tell more, by the square root.
const IDLE_SHARE_OF_SECONDS: f64 = 0.005;
/// Times that share at which a member is active.
const ACTIVE: f64 = 2.0;
/// Windows between two fits that were made because the cost did not fit the present.
const REFIT_WINDOWS: u64 = 4;
/// Effect of the median member, or of any member, that asks for another fit: 1.25 times.
const OFF: f64 = 0.223;
/// With fewer members that do anything, the model alone says what is usual.
const MIN_ACTIVE: usize = 3;
/// With fewer members that do anything, nothing is said of the group as a whole.
const MIN_ACTIVE_SHARE: f64 = 0.5;
/// Pieces that show what is violent.
const BRIEF_PIECES: usize = 4;
/// A window is judged of which this share is booked.
const MIN_BOOKED: f64 = 0.5;

/// The books of one group.
#[derive(Debug)]
pub struct Ledger {
    interval_s: f64,
    /// Time in service, as a share, that is not told from none.
    idle_share: f64,
    schedule: Schedule,
    /// Slots of a piece, and pieces of a window.
    piece_slots: u64,
    window_pieces: u64,
    /// The pieces of the last window, and the one that is being filled, by index.
    pieces: VecDeque<(u64, Vec<Piece>)>,
    in_flight: Vec<f64>,
    /// Next slot.
    taken: u64,
    lessons: Lessons,
    fitted: Option<Fitted>,
    /// Windows that were settled, and when the cost was fitted last.
    windows: u64,
    fitted_at: u64,
    /// What work cost a while ago.
    past: Option<PastCost>,
    /// Differences of healthy members, less what is usual for each, and as they are.
    differences: Differences,
    plain_differences: Differences,
    usual: Vec<Usual>,
}

impl Ledger {
    /// For so many members.
    pub fn new(params: Params, members: usize) -> Ledger {
        let half = (params.shift / 2).max(1);
        let is_whole = |slots: usize| params.shift.is_multiple_of(slots) && params.size.is_multiple_of(slots);
        let piece = if is_whole(half) {
            half
        } else if is_whole(params.shift) {
            params.shift
        } else {
            1
        };
        let idle_share = IDLE_SHARE_OF_SECONDS / f64::from(params.interval_s).sqrt();
        Ledger {
            interval_s: f64::from(params.interval_s),
            idle_share,
            schedule: Schedule::new(params),
            piece_slots: piece as u64,
            window_pieces: (params.size / piece) as u64,
            pieces: VecDeque::new(),
            in_flight: vec![f64::NAN; members],
            taken: 0,
            lessons: Lessons::new(members, idle_share),
            fitted: None,
            windows: 0,
            fitted_at: 0,
            past: None,
            differences: Differences::default(),
            plain_differences: Differences::default(),
            usual: vec![Usual::default(); members],
        }
    }

    /// Takes what a slot recorded; returns the window that it completes, if there is anything to say.
    pub fn push(&mut self, slot: Slot, recorded: Recorded) -> Option<Accounts> {
        if slot.0 < self.taken {
            return None;
        }
        self.taken = slot.0 + 1;
        let index = slot.0 / self.piece_slots;
        let members = self.in_flight.len();
        if self.pieces.back().is_none_or(|(last, _)| *last < index) {
            // The newest piece is complete.
            if let Some((_, complete)) = self.pieces.back() {
                self.lessons.teach(complete);
            }
            self.pieces.push_back((index, vec![Piece::default(); members]));
            while self.pieces.front().is_some_and(|(first, _)| first + self.window_pieces <= index) {
                self.pieces.pop_front();
            }
        }
        if let Some((_, pieces)) = self.pieces.back_mut() {
            for (member, piece) in pieces.iter_mut().enumerate() {
                let values = recorded.values(member);
                if let Some(slot) = Piece::of_slot(values, self.in_flight[member], self.interval_s) {
                    piece.add(&slot);
                }
                let [.., in_flight] = values;
                self.in_flight[member] = in_flight;
            }
        }
        let window = self.schedule.completed_by(slot)?;
        self.settle(window)
    }

    /// The account of every member in a complete window.
    fn settle(&mut self, window: WindowIndex) -> Option<Accounts> {
        self.windows += 1;
        if self.lessons.is_fit_due(self.fitted.as_ref()) {
            self.refit();
        }
        let mut effects = self.effects()?;
        if effects.are_off() && self.windows - self.fitted_at >= REFIT_WINDOWS {
            self.refit();
            effects = self.effects()?;
        }
        let group = self.group_effect(&effects);
        self.look_back(group);
        Some(Accounts { group, ..self.accounts(window, &effects) })
    }

    /// How all members stand against the past of the group; nothing while that is too short, or most do nothing.
    fn group_effect(&self, effects: &Effects) -> Option<GroupEffect> {
        let past = self.past.as_ref()?;
        let active = || {
            let members = effects.members.iter().enumerate();
            members
                .filter_map(|(member, known)| Some((member, known.as_ref().filter(|known| known.is_active)?)))
        };
        if (active().count() as f64) < MIN_ACTIVE_SHARE * self.in_flight.len() as f64 {
            return None;
        }
        let mut work = Load::default();
        active().for_each(|(_, known)| work.add(&known.sum.load));
        // Service by the concurrency of then: it must mean the same as in the cost of then.
        let shares = |(member, known): (usize, &Effect)| {
            let times = self.pieces.iter().map(|(_, pieces)| pieces[member].times);
            let service_s: f64 = times.map(|times| past.fitted.concurrency.in_service(times)).sum();
            (service_s / known.sum.seconds, past.fitted.model.seconds(&known.sum.load) / known.sum.seconds)
        };
        let effect =
            |(service, cost): (f64, f64)| ((service + self.idle_share) / (cost + self.idle_share)).ln();
        Some(GroupEffect {
            effect: median(&mut active().map(shares).map(effect).collect::<Vec<f64>>()),
            lost: median(
                &mut active().map(shares).map(|(service, cost)| service - cost).collect::<Vec<f64>>(),
            ),
            unlike: past.unlike(&work),
        })
    }

    /// What work costs now is the past of later; where the group is slow now, only after a long while.
    fn look_back(&mut self, group: Option<GroupEffect>) {
        let is_slow = group.is_some_and(|group| group.effect >= OFF);
        let is_due = PastCost::is_due(self.past.as_ref(), self.lessons.pieces, is_slow);
        if let Some(fitted) = self.fitted.filter(|_| is_due) {
            let fitted = Fitted { pieces: self.lessons.pieces, ..fitted };
            self.past = Some(PastCost { fitted, work: self.lessons.work() });
        }
    }

    fn refit(&mut self) {
        let newest = self.pieces.back().map(|(_, pieces)| pieces.as_slice());
        if let Some(fitted) = self.lessons.fit(self.fitted.as_ref(), newest) {
            self.fitted = Some(fitted);
            self.fitted_at = self.windows;
        }
    }

    fn effects(&self) -> Option<Effects> {
        let Fitted { model, concurrency, sizes, .. } = self.fitted?;
        let needed_s = MIN_BOOKED * self.window_pieces as f64 * self.piece_slots as f64 * self.interval_s;
        let of_member = |member: usize| {
            let (mut sum, mut service_s) = (Piece::default(), 0.0);
            for (_, pieces) in &self.pieces {
                sum.add(&pieces[member]);
                service_s += concurrency.in_service(pieces[member].times);
            }
            if sum.seconds < needed_s {
                return None;
            }
            let (service, cost) = (service_s / sum.seconds, model.seconds(&sum.load) / sum.seconds);
            let raw = ((service + self.idle_share) / (cost + self.idle_share)).ln();
            let is_active = service.max(cost) >= ACTIVE * self.idle_share;
            let by_request = 1.0 - model.transfer_seconds(&sum.load) / model.seconds(&sum.load);
            Some(Effect { sum, service, cost, by_request, raw, is_active })
        };
        let members: Vec<Option<Effect>> = (0..self.in_flight.len()).map(of_member).collect();
        let active = members.iter().flatten().filter(|known| known.is_active);
        let mut active: Vec<f64> = active.map(|known| known.raw).collect();
        let peer_effect = if active.len() >= MIN_ACTIVE { median(&mut active) } else { 0.0 };
        Some(Effects { members, peer_effect, model, concurrency, sizes })
    }

    fn accounts(&mut self, window: WindowIndex, effects: &Effects) -> Accounts {
        let Effects { members, peer_effect, model, concurrency, sizes } = effects;
        let differences: Vec<Option<f64>> = members
            .iter()
            .zip(&self.usual)
            .map(|(known, usual)| known.as_ref().map(|known| known.raw - peer_effect - usual.level()))
            .collect();
        let plain: Vec<Option<f64>> =
            members.iter().map(|known| known.as_ref().map(|known| known.raw - peer_effect)).collect();
        let spread = self.differences.spread(members, &differences);
        let plain_spread = self.plain_differences.spread(members, &plain).max(spread);
        let active = members.iter().flatten().filter(|known| known.is_active && !known.by_request.is_nan());
        let usual_mix = median(&mut active.map(|known| known.by_request).collect::<Vec<f64>>());
        let account = |((known, effect), usual): ((&Option<Effect>, &Option<f64>), &Usual)| {
            let (known, effect) = (known.as_ref()?, (*effect)?);
            let mix = Some((known.by_request - usual_mix).abs()).filter(|mix| !mix.is_nan());
            Some(Account {
                seconds: known.sum.seconds,
                service: known.service,
                cost: known.cost,
                effect,
                usual: usual.level(),
                peer_effect: *peer_effect,
                spread: if usual.is_known() { spread } else { plain_spread },
                unlike: Unlike { size: sizes.outside(&known.sum.load), mix: mix.unwrap_or(0.0) },
                brief: Brief::UNKNOWN,
            })
        };
        let mut found: Vec<Option<Account>> =
            members.iter().zip(&differences).zip(&self.usual).map(account).collect();
        let size = self.window_pieces as usize;
        let first = self.schedule.from(window).0 / self.piece_slots;
        let (mut ratios, mut costs) =
            (vec![f64::NAN; size * found.len()], vec![f64::NAN; size * found.len()]);
        for (index, pieces) in &self.pieces {
            let place = (index - first) as usize;
            for (member, piece) in pieces.iter().enumerate().filter(|(_, piece)| piece.seconds > 0.0) {
                let cost_s = model.seconds(&piece.load);
                let idle_s = self.idle_share * piece.seconds;
                let service_s = concurrency.in_service(piece.times);
                ratios[member * size + place] = (service_s + idle_s) / (cost_s + idle_s);
                costs[member * size + place] = cost_s / piece.seconds;
            }
        }
        for (member, account) in found.iter_mut().enumerate() {
            let Some(account) = account else { continue };
            let pieces = member * size..(member + 1) * size;
            account.brief =
                self.brief(&ratios[pieces.clone()], &costs[pieces], account, self.usual[member].level());
        }
        self.remember(members, &differences, &plain);
        Accounts { index: window, members: found, ratios, costs, pieces: size, group: None }
    }

    /// The last pieces of a window in which the member did anything, given service over cost and the cost of all of them.
    fn brief(&self, ratios: &[f64], costs: &[f64], account: &Account, usual: f64) -> Brief {
        let peers = account.peer_effect.exp().max(1.0);
        let (mut effects, mut lost, mut count) = ([f64::NAN; BRIEF_PIECES], 0.0, 0);
        for (ratio, cost) in ratios.iter().zip(costs).rev() {
            let service = ratio * (cost + self.idle_share) - self.idle_share;
            let is_active = service.max(*cost) >= ACTIVE * self.idle_share;
            if is_active && count < BRIEF_PIECES {
                effects[count] = ratio.ln() - account.peer_effect - usual;
                lost += service - peers * cost;
                count += 1;
            }
        }
        if count < BRIEF_PIECES {
            return Brief::UNKNOWN;
        }
        effects.sort_unstable_by(f64::total_cmp);
        Brief {
            // All but one of them reach it.
            effect: effects[1],
            lost: lost / BRIEF_PIECES as f64,
            seconds: BRIEF_PIECES as f64 * self.piece_slots as f64 * self.interval_s,
        }
    }

    /// The newest pieces of a member in the window that was settled last in which it was busy for longer than its work costs.
    pub fn slow_pieces(&self, member: MemberIndex, newest: usize) -> Vec<SlowPiece> {
        let Some(Fitted { model, concurrency, .. }) = self.fitted else { return Vec::new() };
        let slow = |(_, pieces): &(u64, Vec<Piece>)| {
            let piece = &pieces[member.index()];
            let cost_s = model.seconds(&piece.load);
            let excess_s = concurrency.in_service(piece.times) - cost_s;
            (excess_s > self.idle_share * piece.seconds).then(|| SlowPiece {
                excess_s: excess_s / piece.load.transactions().max(1.0),
                excess_ratio: excess_s / cost_s.max(self.idle_share * piece.seconds),
                queue: piece.times.waited_s / piece.times.busy_s,
                stalled: piece.stalled_s / piece.seconds,
            })
        };
        self.pieces.iter().rev().take(newest).rev().filter_map(slow).collect()
    }

    /// Pieces that are new from one window to the next.
    pub fn new_pieces(&self) -> usize {
        (self.schedule.shift() / self.piece_slots) as usize
    }

    fn remember(&mut self, members: &[Option<Effect>], differences: &[Option<f64>], plain: &[Option<f64>]) {
        let active = |member: &&usize| members[**member].as_ref().is_some_and(|known| known.is_active);
        let sampled: Vec<usize> = self.lessons.sample.iter().filter(active).copied().collect();
        self.differences.remember(sampled.iter().filter_map(|&member| differences[member]));
        self.plain_differences.remember(sampled.iter().filter_map(|&member| plain[member]));
        for ((usual, known), plain) in self.usual.iter_mut().zip(members).zip(plain) {
            if let Some(plain) = plain.filter(|_| known.as_ref().is_some_and(|known| known.is_active)) {
                usual.push(plain);
            }
        }
    }
}

/// Of one member in one window.
#[derive(Debug)]
struct Effect {
    sum: Piece,
    service: f64,
    cost: f64,
    /// Share of the cost that its requests have, whatever their bytes; NaN without work.
    by_request: f64,
    /// Logarithm of service over cost.
    raw: f64,
    is_active: bool,
}

#[derive(Debug)]
struct Effects {
    members: Vec<Option<Effect>>,
    peer_effect: f64,
    model: Model,
    concurrency: Concurrency,
    sizes: Sizes,
}

impl Effects {
    /// Whether the cost does not fit the present, for all members or for one.
    fn are_off(&self) -> bool {
        let is_off = |known: &Effect| known.raw - self.peer_effect > OFF;
        self.peer_effect.abs() > OFF || self.members.iter().flatten().any(is_off)
    }
}

#[cfg(test)]
mod tests;

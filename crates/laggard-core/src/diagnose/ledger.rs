//! The books of one peer group: what each member did, how long it was in service for it, and what the same work costs its peers.
//!
//! Slots are added up in pieces, pieces in windows. From the pieces of (a sample of) all members the cost of work is fitted; a window
//! then says of each member how its time in service compares with that cost. Work comes from volumes and requests; the time from
//! `util`, or `svctm` and requests; where neither is recorded, from `await` and requests.
//! docs/methods.md, "Work and its cost", has the definitions.

use super::case::Levels;
use super::rules::site::GroupEffect;
use super::rules::window;
use super::score::{ScoredWindow, Scorer};
use super::threshold;
use crate::compare::Score;
use crate::cost::{Concurrency, Load, Model, Row, SECTOR, Sizes, Times, fit};
use crate::grid::{Params, Schedule, Window};
use crate::ids::{MemberIndex, Slot, WindowIndex};
use crate::model::Metric;
use crate::stats::{MAD_TO_DEVIATION, Spread, median, quantile};
use std::collections::VecDeque;

/// Time in service, as a share, that is not told from none in samples of a second; longer samples tell more, by the square root.
const IDLE_SHARE_OF_SECONDS: f64 = 0.005;
/// Times that share at which a member is active.
const ACTIVE: f64 = 2.0;
/// Without requests completed, a device that was busy for this share of a slot is stalled.
const STALLED_BUSY: f64 = 0.5;
/// Pieces that are remembered for the fit; beyond, every second of the older half is dropped.
const MOST_PIECES: usize = 96;
/// Until so many pieces were taught the cost is fitted in every window; afterwards when an eighth more were.
const EARLY_PIECES: u64 = 64;
/// Windows between two fits that were made because the cost did not fit the present.
const REFIT_WINDOWS: u64 = 4;
/// Effect of the median member, or of any member, that asks for another fit: 1.25 times.
const OFF: f64 = 0.223;
/// Concurrency is the most serial within this factor of the best.
const NEARLY_BEST: f64 = 1.15;
/// A member's scatter is known from so many pieces with work.
const MIN_SCATTER_PIECES: usize = 4;
/// Differences of healthy members that are remembered, to know their spread.
const MOST_DIFFERENCES: usize = 512;
/// A spread below this is chance.
const MIN_SPREAD: f64 = 0.02;
/// From so many members on, the spread of the window itself counts too.
const MANY_MEMBERS: usize = 8;
/// The past of a group is known from so many pieces; it is looked at anew when there are twice as many.
const MIN_PAST_PIECES: u64 = 32;
/// Share of the bytes in a direction that had next to none before: that is other work.
const NEW_DIRECTION: f64 = 0.2;
/// A member's own usual difference is known after so many windows, and is at most this.
const MIN_USUAL: usize = 16;
const MOST_USUAL: usize = 32;
const MAX_USUAL: f64 = 0.14;

/// What one slot recorded of all members; a metric that was not recorded is absent.
#[derive(Clone, Copy, Default)]
pub struct Recorded<'a> {
    rows: [Option<&'a [f64]>; 7],
}

/// The metrics that are booked, in the order of [`Recorded`].
pub const BOOKED: [Metric; 7] =
    [Metric::Tps, Metric::RdSec, Metric::WrSec, Metric::Await, Metric::Svctm, Metric::Util, Metric::InFlight];

impl<'a> Recorded<'a> {
    /// From the row of each metric.
    pub fn new(row: impl Fn(Metric) -> Option<&'a [f64]>) -> Recorded<'a> {
        Recorded { rows: BOOKED.map(row) }
    }

    /// Whether nothing is recorded of what a device did, or of how long it took.
    pub fn is_empty(&self) -> bool {
        let [tps, rd_sec, wr_sec, await_ms, svctm_ms, util, _] = self.rows.map(|row| row.is_some());
        let has_bytes = rd_sec || wr_sec;
        // Latency and requests alone do not tell a slow device from one whose requests are larger.
        let has_time = util || tps && (svctm_ms || await_ms && has_bytes);
        !((tps || has_bytes) && has_time)
    }

    fn values(&self, member: usize) -> [f64; 7] {
        self.rows.map(|row| row.map_or(f64::NAN, |row| row[member]))
    }
}

/// What one member did in a piece of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Piece {
    /// The work.
    pub load: Load,
    /// Busy and waiting time.
    pub times: Times,
    /// Seconds in which requests were under way and none was completed.
    pub stalled_s: f64,
    /// Seconds that are booked.
    pub seconds: f64,
}

impl Piece {
    /// One slot of a member; nothing where its work or its time is not known.
    fn of_slot(values: [f64; 7], in_flight_before: f64, seconds: f64) -> Option<Piece> {
        let [tps, rd_sec, wr_sec, await_ms, svctm_ms, util, in_flight] = values;
        let known = |value: f64| (!value.is_nan()).then_some(value.max(0.0));
        let requests = known(tps).map(|tps| tps * seconds);
        let (read_bytes, write_bytes) = (
            known(rd_sec).map(|rate| rate * SECTOR * seconds),
            known(wr_sec).map(|rate| rate * SECTOR * seconds),
        );
        if requests.is_none() && read_bytes.is_none() && write_bytes.is_none() {
            return None;
        }
        let per_request = |milliseconds: f64| Some(requests? * known(milliseconds)? / 1000.0);
        let waited_s = per_request(await_ms);
        let busy_s = known(util).map(|percent| percent.min(100.0) / 100.0 * seconds);
        let busy_s = busy_s.or_else(|| per_request(svctm_ms).map(|busy_s| busy_s.min(seconds)));
        // Neither is recorded: requests that come at random leave the device idle for e^(-Q/T) of the time.
        let busy_s =
            busy_s.or_else(|| waited_s.map(|waited_s| seconds * (1.0 - (-waited_s / seconds).exp())))?;
        let mut times = Times { busy_s, waited_s: waited_s.unwrap_or(busy_s) };
        let mut stalled_s = 0.0;
        let is_waiting = in_flight >= 1.0 && in_flight_before >= 1.0;
        if requests == Some(0.0) && (is_waiting || busy_s >= STALLED_BUSY * seconds) {
            // The kernel books waiting time only at completion, and some kernels freeze the busy time.
            let waiting = if in_flight.is_nan() { 1.0 } else { in_flight.max(1.0) };
            times = Times { busy_s: seconds, waited_s: times.waited_s.max(waiting * seconds) };
            stalled_s = seconds;
        }
        let (read_bytes, write_bytes) = (read_bytes.unwrap_or(0.0), write_bytes.unwrap_or(0.0));
        let requests = requests.unwrap_or(0.0);
        // Where requests are not counted apart, both directions have requests of one size.
        let bytes = read_bytes + write_bytes;
        let reads = if bytes > 0.0 { requests * read_bytes / bytes } else { 0.0 };
        let load = Load { reads, read_bytes, writes: requests - reads, write_bytes };
        Some(Piece { load, times, stalled_s, seconds })
    }

    fn add(&mut self, other: &Piece) {
        self.load.add(&other.load);
        self.times.add(other.times);
        self.stalled_s += other.stalled_s;
        self.seconds += other.seconds;
    }

    fn has_work(&self) -> bool {
        self.load.transactions() > 0.0 || self.load.bytes() > 0.0
    }
}

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
    /// The peers' logarithm of service over cost: how well the model fits the present.
    pub peer_effect: f64,
    /// Robust standard deviation of the effects of healthy members of which as much is known.
    pub spread: f64,
    /// How unlike its work is to the work that taught the cost.
    pub unlike: Unlike,
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
                let thresholds = vec![window::MIN_WORK.value; levels.len()];
                (levels, spread, scores, thresholds)
            }
        };
        let scores = scores.into_iter().map(Score::Exact).collect();
        let levels = Levels::booked(track.metric, levels, spread);
        ScoredWindow::booked(track, self.index, members, window, scores, thresholds, levels)
    }
}

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
    /// Members that teach the cost.
    sample: Vec<usize>,
    /// What they did, oldest first.
    taught: VecDeque<Vec<Piece>>,
    taught_pieces: u64,
    fitted: Option<Fitted>,
    /// What work cost a while ago.
    past: Option<PastCost>,
    windows: u64,
    /// Differences of healthy members, less what is usual for each, and as they are.
    differences: Differences,
    plain_differences: Differences,
    usual: Vec<Usual>,
}

/// What work cost a group a while ago, and which work that was.
#[derive(Debug, Clone, Copy)]
struct PastCost {
    fitted: Fitted,
    work: Load,
}

impl PastCost {
    /// Times by which the work of a group is unlike that of then.
    fn unlike(&self, now: &Load) -> f64 {
        let share = |bytes: f64, of: &Load| bytes / of.bytes().max(1.0);
        let is_new = |then: f64, bytes: f64| {
            share(bytes, now) > NEW_DIRECTION && share(then, &self.work) < NEW_DIRECTION / 4.0
        };
        let is_new_direction =
            is_new(self.work.read_bytes, now.read_bytes) || is_new(self.work.write_bytes, now.write_bytes);
        if is_new_direction { f64::INFINITY } else { self.fitted.sizes.outside(now) }
    }
}

/// What work costs, and when that was found.
#[derive(Debug, Clone, Copy)]
struct Fitted {
    model: Model,
    concurrency: Concurrency,
    /// Sizes of the requests that taught it.
    sizes: Sizes,
    /// Pieces taught by then.
    pieces: u64,
    /// Pieces taught when concurrency was last looked for.
    looked: u64,
    /// Windows by then.
    windows: u64,
}

/// A member's own past differences, thinned.
#[derive(Debug, Clone, Default)]
struct Usual {
    values: Vec<f32>,
    /// Windows between two that are kept, and windows until the next.
    stride: u32,
    until: u32,
}

impl Usual {
    fn push(&mut self, value: f64) {
        if self.until > 0 {
            self.until -= 1;
            return;
        }
        if self.values.len() == MOST_USUAL {
            let mut index = 0;
            self.values.retain(|_| {
                index += 1;
                index % 2 == 0
            });
            self.stride = 2 * self.stride + 1;
        }
        self.values.push(value as f32);
        self.until = self.stride;
    }

    fn is_known(&self) -> bool {
        self.values.len() >= MIN_USUAL
    }

    /// The lower quartile: what is there nearly always is no trouble of today.
    fn level(&self) -> f64 {
        if !self.is_known() {
            return 0.0;
        }
        let mut values: Vec<f64> = self.values.iter().map(|value| f64::from(*value)).collect();
        quantile(&mut values, 0.25).clamp(-MAX_USUAL, MAX_USUAL)
    }
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
        Ledger {
            interval_s: f64::from(params.interval_s),
            idle_share: IDLE_SHARE_OF_SECONDS / f64::from(params.interval_s).sqrt(),
            schedule: Schedule::new(params),
            piece_slots: piece as u64,
            window_pieces: (params.size / piece) as u64,
            pieces: VecDeque::new(),
            in_flight: vec![f64::NAN; members],
            taken: 0,
            sample: threshold::sample(members),
            taught: VecDeque::new(),
            taught_pieces: 0,
            fitted: None,
            past: None,
            windows: 0,
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
            self.teach();
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
                self.in_flight[member] = values[6];
            }
        }
        let window = self.schedule.completed_by(slot)?;
        self.settle(window)
    }

    /// The newest piece is complete: the sampled members' part of it teaches the cost.
    fn teach(&mut self) {
        let Some((_, pieces)) = self.pieces.back() else { return };
        let taught: Vec<Piece> = self.sample.iter().map(|&member| pieces[member]).collect();
        if taught.iter().all(|piece| piece.seconds == 0.0) {
            return;
        }
        self.taught.push_back(taught);
        self.taught_pieces += 1;
        if self.taught.len() > MOST_PIECES {
            let mut index = 0;
            self.taught.retain(|_| {
                index += 1;
                index > MOST_PIECES / 2 || index % 2 == 0
            });
        }
    }

    /// The account of every member in a complete window.
    fn settle(&mut self, window: WindowIndex) -> Option<Accounts> {
        self.windows += 1;
        let is_due = self.fitted.is_none_or(|fitted| {
            self.taught_pieces <= EARLY_PIECES || self.taught_pieces >= fitted.pieces + fitted.pieces / 8
        });
        if is_due {
            self.refit();
        }
        let mut effects = self.effects()?;
        let is_old = |fitted: Fitted| self.windows - fitted.windows >= REFIT_WINDOWS;
        let is_off = effects.peer_effect.abs() > OFF
            || effects.members.iter().flatten().any(|known| known.raw - effects.peer_effect > OFF);
        if is_off && self.fitted.is_some_and(is_old) {
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
        if 2 * active().count() < self.in_flight.len() {
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
        let is_usual = group.is_none_or(|group| group.effect < OFF);
        let is_due = match &self.past {
            // What lasts for three times as long as the past is the new past.
            Some(past) => {
                let factor = if is_usual { 2 } else { 4 };
                self.taught_pieces >= factor * past.fitted.pieces
            }
            None => self.taught_pieces >= MIN_PAST_PIECES,
        };
        if let Some(fitted) = self.fitted.filter(|_| is_due) {
            let mut work = Load::default();
            self.taught.iter().flatten().for_each(|piece| work.add(&piece.load));
            self.past = Some(PastCost { fitted: Fitted { pieces: self.taught_pieces, ..fitted }, work });
        }
    }

    fn refit(&mut self) {
        let known = self.fitted;
        let looked = known.filter(|fitted| self.taught_pieces < 2 * fitted.looked);
        let found = match looked {
            Some(fitted) => fit(&self.rows(fitted.concurrency), self.idle_share)
                .map(|model| (model, fitted.concurrency, fitted.looked)),
            None => self.best().map(|(model, concurrency)| (model, concurrency, self.taught_pieces)),
        };
        if let Some((model, concurrency, looked)) = found {
            let (pieces, windows) = (self.taught_pieces, self.windows);
            let sizes = Sizes::of(&self.rows(concurrency));
            self.fitted = Some(Fitted { model, concurrency, sizes, pieces, looked, windows });
        }
    }

    /// All that was taught, and the piece that is complete now.
    fn lessons(&self) -> impl Iterator<Item = Vec<Piece>> + '_ {
        let newest = self
            .pieces
            .back()
            .map(|(_, pieces)| self.sample.iter().map(|&member| pieces[member]).collect::<Vec<Piece>>());
        self.taught.iter().cloned().chain(newest)
    }

    fn rows(&self, concurrency: Concurrency) -> Vec<Row> {
        let row = |piece: &Piece| Row {
            load: piece.load,
            service_s: concurrency.in_service(piece.times),
            seconds: piece.seconds,
        };
        self.lessons().flatten().filter(|piece| piece.seconds > 0.0).map(|piece| row(&piece)).collect()
    }

    /// The concurrency with which the time in service follows best from the work, of the median member: a slow one has no vote.
    fn best(&self) -> Option<(Model, Concurrency)> {
        let mut tried = Vec::new();
        for concurrency in Concurrency::TRIED {
            let model = fit(&self.rows(concurrency), self.idle_share)?;
            tried.push((self.scatter(&model, concurrency), model, concurrency));
        }
        let least = tried.iter().map(|(scatter, ..)| *scatter).filter(|scatter| scatter.is_finite());
        let least = least.fold(f64::INFINITY, f64::min);
        let found = tried.iter().find(|(scatter, ..)| *scatter <= NEARLY_BEST * least).or(tried.first());
        found.map(|(_, model, concurrency)| (*model, *concurrency))
    }

    /// How much the time in service scatters around the cost of the work, relative to how much it varies at all: of the median member.
    fn scatter(&self, model: &Model, concurrency: Concurrency) -> f64 {
        let mut by_member: Vec<Vec<(f64, f64)>> = vec![Vec::new(); self.sample.len()];
        for lesson in self.lessons() {
            for (known, piece) in by_member.iter_mut().zip(&lesson) {
                if piece.has_work() {
                    let idle_s = self.idle_share * piece.seconds;
                    let service = (concurrency.in_service(piece.times) + idle_s).ln();
                    known.push((service, service - (model.seconds(&piece.load) + idle_s).ln()));
                }
            }
        }
        let deviation = |mut values: Vec<f64>| {
            let middle = median(&mut values);
            values.iter_mut().for_each(|value| *value = (*value - middle).abs());
            median(&mut values)
        };
        let relative = |known: &Vec<(f64, f64)>| {
            let all = deviation(known.iter().map(|(service, _)| *service).collect());
            let left = deviation(known.iter().map(|(_, off)| *off).collect());
            (left + MIN_SPREAD / 2.0) / (all + MIN_SPREAD / 2.0)
        };
        let known = by_member.iter().filter(|known| known.len() >= MIN_SCATTER_PIECES);
        let mut scatters: Vec<f64> = known.map(relative).collect();
        median(&mut scatters)
    }

    fn effects(&self) -> Option<Effects> {
        let Fitted { model, concurrency, sizes, .. } = self.fitted?;
        let needed_s = self.window_pieces as f64 * self.piece_slots as f64 * self.interval_s / 2.0;
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
        // With fewer than three that do anything, the model alone says what is usual.
        let peer_effect = if active.len() >= 3 { median(&mut active) } else { 0.0 };
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
                peer_effect: *peer_effect,
                spread: if usual.is_known() { spread } else { plain_spread },
                unlike: Unlike { size: sizes.outside(&known.sum.load), mix: mix.unwrap_or(0.0) },
            })
        };
        let found: Vec<Option<Account>> =
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
        self.remember(members, &differences, &plain);
        Accounts { index: window, members: found, ratios, costs, pieces: size, group: None }
    }

    /// The newest pieces of a member in the window that was settled last in which it was busy for longer than its work costs.
    pub fn slow_pieces(&self, member: MemberIndex, newest: usize) -> Vec<SlowPiece> {
        let Some(Fitted { model, .. }) = self.fitted else { return Vec::new() };
        let slow = |(_, pieces): &(u64, Vec<Piece>)| {
            let piece = &pieces[member.index()];
            let cost_s = model.seconds(&piece.load);
            let excess_s = piece.times.busy_s - cost_s;
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
        let sampled: Vec<usize> = self.sample.iter().filter(active).copied().collect();
        self.differences.remember(sampled.iter().filter_map(|&member| differences[member]));
        self.plain_differences.remember(sampled.iter().filter_map(|&member| plain[member]));
        for ((usual, known), plain) in self.usual.iter_mut().zip(members).zip(plain) {
            if let Some(plain) = plain.filter(|_| known.as_ref().is_some_and(|known| known.is_active)) {
                usual.push(plain);
            }
        }
    }
}

/// Differences of healthy members: from the side on which no slow member is.
#[derive(Debug, Default)]
struct Differences {
    below: VecDeque<f64>,
}

impl Differences {
    fn remember(&mut self, differences: impl Iterator<Item = f64>) {
        self.below.extend(differences.filter(|value| *value < 0.0).map(f64::abs));
        let surplus = self.below.len().saturating_sub(MOST_DIFFERENCES);
        self.below.drain(..surplus);
    }

    /// Robust standard deviation, with what this window adds.
    fn spread(&self, members: &[Option<Effect>], differences: &[Option<f64>]) -> f64 {
        let now = differences.iter().flatten().filter(|value| **value < 0.0).map(|value| value.abs());
        let mut below: Vec<f64> = self.below.iter().copied().chain(now).collect();
        let pooled = if below.is_empty() { 0.0 } else { MAD_TO_DEVIATION * median(&mut below) };
        let active = members
            .iter()
            .zip(differences)
            .filter(|(known, _)| known.as_ref().is_some_and(|known| known.is_active));
        let mut active: Vec<f64> = active.filter_map(|(_, value)| value.map(f64::abs)).collect();
        let of_window =
            if active.len() >= MANY_MEMBERS { MAD_TO_DEVIATION * median(&mut active) } else { 0.0 };
        pooled.max(of_window).max(MIN_SPREAD)
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

#[cfg(test)]
mod tests;

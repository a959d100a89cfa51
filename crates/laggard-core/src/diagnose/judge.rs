//! One scored window under the rules: which members are anomalous now, and what speaks against them.

use super::budget::elasticity::Elasticity;
use super::budget::power::{Judges, Power, Slowed};
use super::budget::{Calibration, Rarity, Rate, Slowness};
use super::case::{Case, Context, Levels, Reading, Relation, Surroundings};
use super::evidence::Observation;
use super::gaps::Attendance;
use super::ledger::Ledger;
use super::persistence::{Finding, Memory};
use super::rules::window::{self, Decision, REPLACED_WITHIN};
use super::rules::{Numbers, Ruling, Without, site};
use super::score::{ScoredWindow, Scorer};
use super::threshold;
use super::trace::{Tally, Trace};
use crate::compare::{Score, cost::COST, limp::LIMP};
use crate::grid::{Grid, Window};
use crate::ids::{ComponentId, MemberIndex, Slot, Table, UnixSeconds};
use crate::model::Metric;
use crate::model::groups::Component;
use crate::model::metric::Role;
use crate::stats::{self, median};

/// One group in one metric: scores, and what is remembered of them.
#[derive(Debug)]
pub struct Track {
    /// Windows and scores.
    pub scorer: Scorer,
    /// Filters.
    pub memory: Memory,
    /// How rare a slowness is, of the metric that tells it.
    pub calibration: Option<Calibration>,
    /// How that metric grows with load, where work is not recorded.
    elasticity: Elasticity,
    /// What it could have seen.
    power: Power,
}

/// What a track's windows are judged by, beside its own metric.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// All components.
    pub components: &'a Table<ComponentId, Component>,
    /// Which of them the members are.
    pub members: &'a Table<MemberIndex, ComponentId>,
    /// When they were recorded.
    pub attendance: &'a Attendance,
    /// What may explain a difference.
    pub surroundings: Surroundings<'a>,
    /// The books of the group, where they are kept.
    pub ledger: Option<&'a Ledger>,
    /// Slots and seconds.
    pub grid: Grid,
    /// Rules that are not asked.
    pub without: &'a Without,
    /// Components of which every window is explained, also where nothing stands out.
    pub asked: &'a [ComponentId],
    /// Components of which samples were lost on the way, ascending.
    pub incomplete: &'a [ComponentId],
    /// False alarms that the site accepts ...
    pub budget: Rate,
    /// ... and the parts that may raise them.
    pub parts: usize,
}

/// A member that is anomalous now and differs in this very window.
pub struct Found {
    /// Row of the window.
    pub row: usize,
    /// What was seen.
    pub finding: Finding,
}

/// A judged window; rows are those of the scored one.
pub struct Judged {
    /// Anomalous now, after the filter.
    pub anomalous: Vec<bool>,
    /// Anomalous, and by something that indicts.
    pub indicted: Vec<bool>,
    /// Rows that stand out, and of which a rule says that nothing can be said.
    pub unclear: Vec<usize>,
    /// Rows that had too few samples for a score.
    pub unscored: Vec<usize>,
    /// In the order of the rows.
    pub found: Vec<Found>,
}

impl Judged {
    /// Nothing can be said of so many rows.
    pub fn nothing(rows: usize) -> Judged {
        let none = vec![false; rows];
        Judged {
            anomalous: none.clone(),
            indicted: none,
            unclear: Vec::new(),
            unscored: Vec::new(),
            found: Vec::new(),
        }
    }
}

impl Track {
    /// A track that has seen nothing.
    pub fn new(scorer: Scorer, members: usize) -> Track {
        Track {
            scorer,
            memory: Memory::new(members),
            calibration: None,
            elasticity: Elasticity::default(),
            power: Power::default(),
        }
    }

    /// Judges a window that could be decided.
    pub fn judge(&mut self, scored: &ScoredWindow, bench: Bench, trace: &mut Trace) -> Judged {
        self.memory.decide(scored.index);
        let schedule = self.scorer.schedule();
        let (from, to) = (schedule.from(scored.index), schedule.to(scored.index));
        let span = (bench.grid.start(from), bench.grid.start(to));
        let filter = window::filter_rule();
        let k = window::filter_k(self.scorer.params.k, bench.without);
        let mut judged = Judged::nothing(scored.members.len());
        let all_are_candidates = !bench.without.asks(window::threshold_rule());
        let mut usual_variation = None;
        let is_calibrated = self.calibration.as_ref().is_some_and(Calibration::is_known);
        let rarities = self.rarities(scored, &bench);
        for (row, &member) in scored.members.iter().enumerate() {
            let last_seen = bench.attendance.last_seen(member);
            let is_recorded = last_seen.is_some_and(|slot| slot >= from);
            let is_silent = !self.scorer.is_trained() && !is_recorded && !scored.window.has_samples(row);
            let component = bench.members[member];
            let is_asked = bench.asked.contains(&component);
            let rarity = rarities.get(row).copied().flatten();
            let is_rare = rarity.is_some_and(|seen| window::margin(&seen) >= 0.0);
            let is_candidate = scored.exceeds(row) || is_silent || is_rare || all_are_candidates;
            let has_score = scored.scores[row] != Score::Missing;
            // Without a latency it may hang.
            let is_candidate = is_candidate || !has_score && scored.metric.role() == Role::StorageLatency;
            if !is_candidate {
                judged.anomalous[row] = has_score && self.memory.filters[member].push(k, false);
                judged.indicted[row] = judged.anomalous[row] && self.memory.indicted[member];
                if self.memory.filters[member].count() == 0 {
                    self.memory.explained[member] = 0.0;
                }
                if !has_score {
                    judged.unscored.push(row);
                }
                if !is_asked {
                    continue;
                }
            }
            let case = Case {
                component: &bench.components[component],
                reading: Reading { movement: self.scorer.movement(member), ..scored.reading(row) },
                is_recorded,
                is_silent,
                is_incomplete: is_silent && bench.incomplete.binary_search(&component).is_ok(),
                is_replaced: is_silent && last_seen.is_some_and(|slot| self.is_replaced(slot)),
                window: scored.index,
                member,
                explained: self.memory.explained[member],
                rarity,
                surroundings: bench.surroundings,
            };
            let Some(decision) = self.decide(&case, scored.exceeds(row), bench.without) else {
                // No rule speaks, which only happens without the last one: nothing is against it.
                judged.anomalous[row] =
                    is_candidate && has_score && self.memory.filters[member].push(k, false);
                continue;
            };
            let metric = Some(scored.metric);
            let severity = case.reading.severity();
            trace.add(component, Tally::new(decision.rule, metric, span, severity, decision.numbers));
            if !is_candidate {
                // Asked for: explained, and judged like any other.
                continue;
            }
            let is_different = match decision.ruling {
                Ruling::Indicts(_) | Ruling::Observes(_) | Ruling::Explains => true,
                Ruling::Excuses | Ruling::Undecided => false,
            };
            if is_different && self.memory.is_first(scored.index) {
                self.memory.from_the_start[member] = stands_out_early(scored, row, &case, bench.without);
            }
            let is_judged = (has_score || is_silent) && decision.ruling != Ruling::Undecided;
            match (has_score, is_different) {
                _ if decision.is_unclear() => judged.unclear.push(row),
                (true, _) if decision.ruling == Ruling::Undecided => judged.unclear.push(row),
                (false, false) => judged.unscored.push(row),
                (true, _) | (false, true) => {}
            }
            let lasts = is_judged && self.memory.filters[member].push(k, is_different);
            judged.anomalous[row] = lasts || decision.has_lasted();
            if let Some(calibration) = self.calibration.as_mut().filter(|_| decision.has_lasted()) {
                calibration.note_rare(member);
            }
            // What was explained is remembered for as long as it goes on.
            if self.memory.filters[member].count() == 0 {
                self.memory.explained[member] = 0.0;
            }
            if decision.ruling == Ruling::Explains {
                let explained = &mut self.memory.explained[member];
                *explained = explained.max(case.reading.difference());
            }
            if is_different {
                self.memory.indicted[member] = matches!(decision.ruling, Ruling::Indicts(_));
            }
            judged.indicted[row] = judged.anomalous[row] && self.memory.indicted[member];
            if !is_different {
                continue;
            }
            if !judged.anomalous[row] {
                let numbers = self.lasted(member, case.reading.ratio, k);
                trace.add(component, Tally::new(filter, metric, span, severity, numbers));
                continue;
            }
            let usual = *usual_variation.get_or_insert_with(|| peers_variation(&scored.window));
            let seen = Observation {
                jitters: site::jitters(stats::variation(scored.window.of(row)), usual),
                by_load: case.by_load(),
                ..Observation::new(span.0, span.1, &case.reading, decision.relation)
            };
            let onset = self.onset(member, bench.grid);
            let slow = match bench.ledger.filter(|_| scored.metric == Metric::Cost) {
                Some(ledger) => ledger.slow_pieces(member, ledger.new_pieces()),
                None => Vec::new(),
            };
            let is_calibrated = is_calibrated && decision.relation == Relation::High;
            let method = self.scorer.method;
            let is_rare = decision.has_lasted();
            let finding =
                Finding { metric: scored.metric, method, onset, seen, slow, rarity, is_rare, is_calibrated };
            judged.found.push(Found { row, finding });
        }
        judged
    }

    /// Trained thresholds are judged as published: what exceeds them indicts.
    fn decide(&self, case: &Case, exceeds: bool, without: &Without) -> Option<Decision> {
        if self.scorer.is_trained() && exceeds && without.asks(window::published_rule()) {
            return Some(window::published(case, without));
        }
        window::decide(case, without)
    }

    /// How rare the slowness of each row is, at the length of time ending with this window at which it is rarest.
    fn rarities(&mut self, scored: &ScoredWindow, bench: &Bench) -> Vec<Option<Rarity>> {
        let has_books = bench.ledger.is_some();
        let is_told_here = match scored.metric.role() {
            Role::Cost => true,
            Role::StorageLatency => !has_books,
            Role::StorageVolume
            | Role::NetworkVolume
            | Role::Congestion
            | Role::Retransmission
            | Role::HostHealth
            | Role::LinkHealth
            | Role::Load
            | Role::Account
            | Role::Work
            | Role::Context => false,
        };
        if self.scorer.is_trained() || !is_told_here {
            return Vec::new();
        }
        let params = self.scorer.params;
        let shift_s = params.shift as f64 * f64::from(bench.grid.interval_s);
        let members = bench.members.len();
        let halves = scored.halves();
        let by_load: Vec<f64> = scored
            .members
            .iter()
            .enumerate()
            .map(|(row, &member)| {
                let load =
                    bench.surroundings.load_of(scored.index, member).map_or(f64::NAN, |load| load.ratio);
                let by_load = self.elasticity.slower_by(load);
                if scored.metric.role() == Role::StorageLatency {
                    self.elasticity.push(load, scored.reading(row).ratio);
                }
                by_load
            })
            .collect();
        let is_queue: Vec<bool> = scored
            .members
            .iter()
            .map(|&member| bench.surroundings.load_of(scored.index, member))
            .map(|load| load.is_some_and(|load| load.ratio >= window::MAX_KNOWN_LOAD.value))
            .collect();
        let slowed = |row: usize, by: f64, in_pieces: f64| match scored.metric.role() {
            Role::Cost => {
                let accounts = bench.surroundings.accounts?;
                let account = accounts.of(scored.members[row])?.slowed(by, in_pieces);
                let slowness = window::slowness_for_work(&account);
                Some(Slowed { slowness, severity: slowness.window / window::cost_threshold(account.spread) })
            }
            _ => {
                let of_halves = halves.iter().map(|half| half.reading(row).slowed(by));
                let seen = scored.reading(row).slowed(by);
                let late = halves.last().map(|half| half.reading(row));
                let pieces = late.and_then(|late| Some((late, scored.late_pieces(row)?)));
                let pieces = pieces
                    .into_iter()
                    .flat_map(|(late, levels)| levels.map(|level| late.at(level).slowed(in_pieces)));
                let slowness = window::slowness_in_latency(&seen, of_halves, pieces, by_load[row]);
                let slowness = if is_queue[row] { slowness.at_most(0.0) } else { slowness };
                let severity = window::severity_in_latency(&seen, scored.thresholds[row], slowness);
                Some(Slowed { slowness, severity })
            }
        };
        let mut slowness = vec![Slowness::UNKNOWN; members];
        let mut rows = vec![None; members];
        for (row, &member) in scored.members.iter().enumerate() {
            slowness[member.index()] = slowed(row, 1.0, 1.0).map_or(Slowness::UNKNOWN, |seen| seen.slowness);
            rows[member.index()] = Some(row);
        }
        let calibration = self.calibration.get_or_insert_with(|| Calibration::new(shift_s, members));
        calibration.push(&slowness, bench.budget, bench.parts);
        // Scores of other methods have scales of their own.
        if *self.scorer.method == LIMP || *self.scorer.method == COST {
            let judges =
                Judges { calibration, k: params.k, overlap: params.size as f64 / params.shift as f64 };
            self.power.push(&judges, &slowness, |member, by, in_pieces| {
                slowed(rows[member.index()]?, by, in_pieces)
            });
        }
        scored.members.iter().map(|member| calibration.rarity(*member)).collect()
    }

    /// What it could have seen: of the metric that tells how slow devices are.
    pub fn power(&self) -> Option<&Power> {
        self.calibration.as_ref().map(|_| &self.power)
    }

    fn is_replaced(&self, silent_from: Slot) -> bool {
        self.scorer.joined_within(silent_from, REPLACED_WITHIN.value as u64)
    }

    fn lasted(&self, member: MemberIndex, ratio: f64, k: usize) -> Numbers {
        let exceeded = self.memory.filters[member].count();
        Numbers::of(&[
            ("ratio", ratio),
            ("exceeded", exceeded as f64),
            ("windows", (2 * k - 1) as f64),
            ("needed", k as f64),
        ])
    }

    /// When the oldest window in the filter's memory turned bad: the start of what was new in it.
    fn onset(&self, member: MemberIndex, grid: Grid) -> UnixSeconds {
        let oldest = self.memory.oldest(member);
        let start = self.scorer.schedule().from(oldest);
        if self.memory.is_first(oldest) && self.memory.from_the_start[member] {
            return grid.start(start);
        }
        grid.start(Slot(start.0 + self.scorer.method.onset_slots(self.scorer.params)))
    }
}

/// Whether a row stands out in the first quarter of a window already.
fn stands_out_early(scored: &ScoredWindow, row: usize, case: &Case, without: &Without) -> bool {
    let early = scored.window.size().div_ceil(4);
    let values = scored.window.each().flat_map(|samples| &samples[..early]).copied().collect();
    let seen = Levels::new(scored.metric, &Window::new(values, early)).reading(row);
    let reading = Reading {
        score: case.reading.score,
        threshold: case.reading.threshold,
        movement: case.reading.movement,
        ..seen
    };
    let early = Case {
        component: case.component,
        reading,
        is_recorded: case.is_recorded,
        is_silent: case.is_silent,
        is_incomplete: case.is_incomplete,
        is_replaced: false,
        window: case.window,
        member: case.member,
        explained: 0.0,
        rarity: None,
        surroundings: Surroundings {
            group: case.surroundings.group,
            context: &Context::default(),
            windows: &[],
            accounts: None,
        },
    };
    let decision = window::decide(&early, without);
    decision.is_some_and(|decision| decision.relation != Relation::Alike)
}

/// How much the peers vary, from a sample of them.
fn peers_variation(window: &Window) -> f64 {
    let peers = threshold::sample(window.components()).into_iter();
    let mut all: Vec<f64> =
        peers.map(|peer| stats::variation(window.of(peer))).filter(|value| value.is_finite()).collect();
    median(&mut all)
}

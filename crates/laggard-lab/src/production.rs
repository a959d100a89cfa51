//! The production site of LISA'13: every event of its tables, followed by every method, and quiet days.

use crate::verdict::attachments::{INTERVAL_S, Watch, roster, train};
use crate::verdict::ours::{Ours, Variants};
use indicatif::ProgressBar;
use laggard_core::compare::{Method, cdf::CDF, median::MEDIAN, thresh::THRESH};
use laggard_core::diagnose::{Incident as Found, Thresholds};
use laggard_core::ids::{ComponentId, Table};
use laggard_core::model::Roster;
use laggard_sim::production::{
    Attachment, CATALOGUE, Entry, Happening, Incident, Level, Mishap, Production, Site,
};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeSet;

/// The published methods.
pub const PUBLISHED: [&Method; 3] = [&CDF, &MEDIAN, &THRESH];
/// Hours before the event.
const BEFORE_H: f64 = 12.0;
/// Seconds after which a slowness that is over explains a trouble no more.
const LATE_S: f64 = 1800.0;
/// How often the verdicts are looked at.
const LOOK_S: u32 = 900;
/// Hours from the first sight to the name: fail-overs take a while to show what they are.
const NAMED_AFTER_H: f64 = 3.0;

/// Which experiments.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Other chance than development.
    pub held_out: bool,
    /// Places in the catalogue.
    pub events: &'static [usize],
    /// Hours from the event until one stops waiting.
    pub horizon_h: f64,
    /// Days without an event.
    pub quiet_days: usize,
    /// Our method.
    pub ours: Ours,
}

/// What came of one event.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// Table of the paper.
    pub table: u8,
    /// Row of table 8.
    pub kind: &'static str,
    /// The device, in the paper's words.
    pub device: &'static str,
    /// When it happened there.
    pub time: &'static str,
    /// Hours until the paper's authors saw it.
    pub paper_h: f64,
    /// Hours until each published method showed it, where it did.
    pub published_h: [Option<f64>; 3],
    /// Hours until ours did.
    pub ours_h: Option<f64>,
    /// What ours calls it a few hours later: part and cause.
    pub named: String,
}

/// The whole score.
#[derive(Debug, Clone, Serialize)]
pub struct Score {
    /// Every event.
    pub outcomes: Vec<Outcome>,
    /// Days without an event that were followed.
    pub quiet_days: usize,
    /// Parts that ours ever reported in them, whether or not it took them back.
    pub false_incidents: usize,
}

struct Judges {
    roster: Roster,
    order: Vec<ComponentId>,
    thresholds: Vec<Thresholds>,
}

impl Plan {
    /// The chosen events.
    fn entries(&self) -> Vec<(usize, &'static Entry)> {
        self.events.iter().map(|&index| (index, &CATALOGUE[index])).collect()
    }

    /// Steps to come, for the progress bar: hours of simulated time.
    pub fn len(&self) -> u64 {
        let hours = (BEFORE_H + self.horizon_h) as u64;
        self.entries().len() as u64 * hours + 24 * self.quiet_days as u64 + 24
    }

    fn site(&self) -> Site {
        Site { hardware: if self.held_out { 9_001 } else { 1 }, priorities: 2, level: Level::Even }
    }

    fn seed(&self, part: u64) -> u64 {
        (if self.held_out { 0x6865_6c64_0000 } else { 0x0064_6576_0000 }) + part
    }

    /// Follows every event and the quiet days.
    pub fn run(&self, bar: &ProgressBar) -> Result<Score, String> {
        let (roster, order) = roster(self.site())?;
        let thresholds = train(&roster, &order, self.site(), &PUBLISHED, self.seed(999));
        bar.inc(24);
        let judges = Judges { roster, order, thresholds };
        let entries = self.entries();
        let outcomes = entries
            .par_iter()
            .map(|(index, entry)| self.follow(*index as u64, entry, &judges, bar))
            .collect();
        let quiet = |day: usize| self.quiet_day(1000 + day as u64, &judges, bar);
        let false_incidents = (0..self.quiet_days).into_par_iter().map(quiet).sum();
        Ok(Score { outcomes, quiet_days: self.quiet_days, false_incidents })
    }

    fn follow(&self, index: u64, entry: &Entry, judges: &Judges, bar: &ProgressBar) -> Outcome {
        let happenings = (entry.happenings)();
        let from_s = BEFORE_H * 3600.0;
        let to_s = from_s + entry.duration_h * 3600.0;
        let incidents = happenings
            .iter()
            .map(|happening| Incident { happening: happening.clone(), from_s, to_s })
            .collect();
        let mut production = Production::new(self.site(), INTERVAL_S, self.seed(index), incidents);
        let mut published: Vec<Watch> = PUBLISHED
            .iter()
            .zip(&judges.thresholds)
            .map(|(method, thresholds)| Watch::published(&judges.roster, method, thresholds.clone()))
            .collect();
        let mut ours = Watch::ours(&judges.roster, &self.ours);
        let mut sight = Sight::default();
        let affected = affected(self.site(), &happenings, &judges.order);
        let mut outcome = Outcome {
            table: entry.table,
            kind: entry.kind,
            device: entry.device,
            time: entry.time,
            paper_h: entry.latency_h,
            published_h: [None; 3],
            ours_h: None,
            named: String::new(),
        };
        let hours = (BEFORE_H + self.horizon_h) as u32;
        for number in 0..hours * 3600 / INTERVAL_S {
            let slot = production.next_slot();
            let waiting = published.iter_mut().zip(&outcome.published_h).filter(|(_, seen)| seen.is_none());
            waiting.for_each(|(watch, _)| watch.push(&slot, &judges.order));
            if outcome.named.is_empty() {
                ours.push(&slot, &judges.order);
            }
            let now_s = slot.time_s + f64::from(INTERVAL_S);
            if (number * INTERVAL_S).is_multiple_of(3600) {
                bar.inc(1);
            }
            if now_s <= from_s || !(now_s as u32).is_multiple_of(LOOK_S) {
                continue;
            }
            let after_h = (now_s - from_s) / 3600.0;
            for (watch, seen) in published.iter().zip(&mut outcome.published_h) {
                if seen.is_none() && watch.list_shows(|component| affected[component]) {
                    *seen = Some(after_h);
                }
            }
            if sight.named.is_empty() {
                sight.look(&ours, from_s, after_h, |component| affected[component]);
                (outcome.ours_h, outcome.named) = (sight.seen_h, sight.named.clone());
            }
            if !outcome.named.is_empty() && outcome.published_h.iter().all(Option::is_some) {
                bar.inc(u64::from(hours - (now_s / 3600.0) as u32));
                break;
            }
        }
        outcome
    }

    fn quiet_day(&self, part: u64, judges: &Judges, bar: &ProgressBar) -> usize {
        let mut production = Production::new(self.site(), INTERVAL_S, self.seed(part), Vec::new());
        let mut ours = Watch::ours(&judges.roster, &self.ours);
        let mut reported: BTreeSet<String> = BTreeSet::new();
        for number in 0..86_400 / INTERVAL_S {
            ours.push(&production.next_slot(), &judges.order);
            if (number * INTERVAL_S).is_multiple_of(3600) {
                bar.inc(1);
            }
            if ((number + 1) * INTERVAL_S).is_multiple_of(LOOK_S) {
                reported.extend(self.falsely_reported(&ours, &production, judges));
            }
        }
        reported.len()
    }

    /// Parts that are reported and are no LUN that really was slow at that time.
    fn falsely_reported(&self, watch: &Watch, production: &Production, judges: &Judges) -> Vec<String> {
        let site = self.site();
        let is_of = |mishap: &Mishap, found: &Found| {
            let mut attachments =
                (0..site.priorities).map(|priority| Attachment { lun: mishap.lun, priority });
            let is_there = attachments.any(|known| found.explains.contains(&judges.order[site.index(known)]));
            let is_then =
                mishap.from_s <= found.last.0 as f64 && found.first.0 as f64 <= mishap.to_s + LATE_S;
            is_there && is_then && found.explains.len() <= site.priorities
        };
        let is_false = |found: &Found| !production.mishaps().iter().any(|mishap| is_of(mishap, found));
        watch.incidents().into_iter().filter(is_false).map(|incident| incident.component).collect()
    }
}

/// How one variant saw one event.
#[derive(Debug, Clone, Default)]
pub struct Sight {
    /// Hours until it did, if it did.
    pub seen_h: Option<f64>,
    /// What it calls it a few hours later: part and cause.
    pub named: String,
}

/// Slots that are simulated before all variants take them.
const SLOTS_AT_ONCE: u32 = 240;

impl Plan {
    /// Every event as each variant of ours sees it, and how many parts each reports falsely in the quiet days.
    pub fn sights(
        &self,
        variants: &Variants,
        bar: &ProgressBar,
    ) -> Result<(Vec<Vec<Sight>>, Vec<usize>), String> {
        let (roster, order) = roster(self.site())?;
        let judges = Judges { roster, order, thresholds: Vec::new() };
        let entries = self.entries();
        let sights = entries
            .iter()
            .map(|(index, entry)| variants.each(|some| self.sight(*index as u64, entry, &judges, some, bar)));
        let sights = sights.collect();
        let mut false_incidents = vec![0; variants.count()];
        for day in 0..self.quiet_days {
            let reported = variants.each(|some| self.reported(1000 + day as u64, &judges, some, bar));
            false_incidents.iter_mut().zip(reported).for_each(|(sum, count)| *sum += count);
        }
        Ok((sights, false_incidents))
    }

    fn sight(
        &self,
        index: u64,
        entry: &Entry,
        judges: &Judges,
        variants: &[Ours],
        bar: &ProgressBar,
    ) -> Vec<Sight> {
        let happenings = (entry.happenings)();
        let from_s = BEFORE_H * 3600.0;
        let to_s = from_s + entry.duration_h * 3600.0;
        let incidents = happenings
            .iter()
            .map(|happening| Incident { happening: happening.clone(), from_s, to_s })
            .collect();
        let mut production = Production::new(self.site(), INTERVAL_S, self.seed(index), incidents);
        let affected = affected(self.site(), &happenings, &judges.order);
        let hours = (BEFORE_H + self.horizon_h) as u32;
        let watch = |ours: &Ours| (Watch::ours(&judges.roster, ours), Sight::default());
        let mut watches: Vec<(Watch, Sight)> = variants.iter().map(watch).collect();
        for _ in 0..hours * 3600 / INTERVAL_S / SLOTS_AT_ONCE {
            let slots: Vec<_> = (0..SLOTS_AT_ONCE).map(|_| production.next_slot()).collect();
            watches.par_iter_mut().filter(|(_, sight)| sight.named.is_empty()).for_each(|(watch, sight)| {
                for slot in &slots {
                    watch.push(slot, &judges.order);
                    let now_s = slot.time_s + f64::from(INTERVAL_S);
                    if now_s > from_s && (now_s as u32).is_multiple_of(LOOK_S) && sight.named.is_empty() {
                        sight.look(watch, from_s, (now_s - from_s) / 3600.0, |component| affected[component]);
                    }
                }
            });
            bar.inc(1);
        }
        watches.into_iter().map(|(_, sight)| sight).collect()
    }

    fn reported(&self, part: u64, judges: &Judges, variants: &[Ours], bar: &ProgressBar) -> Vec<usize> {
        let mut production = Production::new(self.site(), INTERVAL_S, self.seed(part), Vec::new());
        let watch = |ours: &Ours| (Watch::ours(&judges.roster, ours), BTreeSet::<String>::new());
        let mut watches: Vec<_> = variants.iter().map(watch).collect();
        for _ in 0..86_400 / INTERVAL_S / SLOTS_AT_ONCE {
            let slots: Vec<_> = (0..SLOTS_AT_ONCE).map(|_| production.next_slot()).collect();
            watches.par_iter_mut().for_each(|(watch, reported)| {
                for slot in &slots {
                    watch.push(slot, &judges.order);
                    if ((slot.time_s as u32) + INTERVAL_S).is_multiple_of(LOOK_S) {
                        reported.extend(self.falsely_reported(watch, &production, judges));
                    }
                }
            });
            bar.inc(1);
        }
        watches.into_iter().map(|(_, reported)| reported.len()).collect()
    }
}

impl Sight {
    /// Looks for an event, so many hours after it.
    fn look(&mut self, watch: &Watch, from_s: f64, after_h: f64, affected: impl Fn(ComponentId) -> bool) {
        let found = watch.find(from_s, affected);
        self.seen_h = self.seen_h.or(found.is_some().then_some(after_h));
        if self.seen_h.is_some_and(|seen| after_h >= seen + NAMED_AFTER_H) {
            self.named = found.map_or_else(
                || "no more".into(),
                |found| format!("{} {}", found.component, found.cause.name()),
            );
        }
    }
}

/// Which attachments show an event, an hour on.
fn affected(site: Site, happenings: &[Happening], order: &[ComponentId]) -> Table<ComponentId, bool> {
    let mut affected = Table::filled(false, order.len());
    for (attachment, &component) in site.attachments().zip(order) {
        affected[component] = happenings.iter().any(|happening| happening.shows_in(attachment, 3600.0));
    }
    affected
}

//! Production with uneven load: days with one slow LUN, and days without, at several levels of unevenness.
//!
//! Each day is diagnosed as a whole, as a recording is. A LUN is slow by 2 to 10 times for an hour to half a day. The part must be named, as slow and not as loaded, and dated; and no
//! other part. LUNs that were slow for a quarter of an hour by themselves are real, and no false accusation.

use crate::verdict::attachments::{INTERVAL_S, Watch, roster};
use crate::verdict::ours::Ours;
use indicatif::ProgressBar;
use laggard_core::diagnose::Incident as Found;
use laggard_core::ids::ComponentId;
use laggard_core::model::Roster;
use laggard_sim::chance::Chance;
use laggard_sim::production::{Attachment, Happening, Incident, LUNS, Level, Production, Site};
use rayon::prelude::*;
use serde::Serialize;

/// Hours before the slowness: half of what is known when it comes.
const BEFORE_H: f64 = 6.0;
/// Times slower, and hours of it.
const FACTORS: [f64; 4] = [2.0, 3.0, 5.0, 10.0];
const HOURS: [f64; 3] = [1.0, 4.0, 12.0];
/// Times slower for 10 s of every 2 minutes, and hours after which that must be named.
const INTERMITTENT: [f64; 2] = [5.0, 10.0];
const INTERMITTENT_H: f64 = 4.0;

/// What a day has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Slow,
    Quiet,
    Intermittent,
}

/// Which days.
pub struct Plan {
    /// Other chance than development.
    pub held_out: bool,
    /// Days with a slow LUN, and days without, at each level.
    pub days: usize,
    /// Our method.
    pub ours: Ours,
}

/// What came of one level.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Row {
    /// The level.
    pub level: &'static str,
    /// Days with a slow LUN.
    pub slow: usize,
    /// The LUN was named.
    pub named: usize,
    /// As slow, not as loaded.
    pub right: usize,
    /// Minutes by which it was dated wrong, in the median.
    pub off_min: Option<f64>,
    /// Other parts named on those days.
    pub others: usize,
    /// Days with a LUN that is slow for 10 s of every 2 minutes ...
    pub intermittent: usize,
    /// ... which was named, as slow, within four hours.
    pub intermittent_named: usize,
    /// Days without a slow LUN ...
    pub quiet: usize,
    /// ... parts that were named as faulty on them ...
    pub faults: usize,
    /// ... of these, LUNs that really were slow for a while ...
    pub mishaps: usize,
    /// ... and loads that were told.
    pub loads: usize,
}

/// One day.
#[derive(Debug, Clone, Default)]
struct Day {
    is_named: bool,
    is_right: bool,
    off_min: Option<f64>,
    others: usize,
    faults: usize,
    mishaps: usize,
    loads: usize,
}

impl Plan {
    /// Days in all.
    pub fn len(&self) -> u64 {
        ((2 * self.days + self.days / 2) * Level::ALL.len()) as u64
    }

    /// Judges all levels.
    pub fn run(&self, bar: &ProgressBar) -> Result<Vec<Row>, String> {
        Level::ALL.into_iter().map(|level| self.level(level, bar)).collect()
    }

    fn level(&self, level: Level, bar: &ProgressBar) -> Result<Row, String> {
        let seed = |part: usize| {
            let base = if self.held_out { 0x756e_6500_0000_u64 } else { 0x6465_7600_0000 };
            base + (level as u64) * 1000 + part as u64
        };
        let site = |part: usize| Site { hardware: seed(part), priorities: 1, level };
        let (roster, order) = roster(site(0))?;
        let day = |part: usize| {
            let sort = match part / self.days {
                0 => Sort::Slow,
                1 => Sort::Quiet,
                _ => Sort::Intermittent,
            };
            let day = self.day(site(part), seed(part), sort, part, &roster, &order);
            bar.inc(1);
            day
        };
        let days: Vec<Day> = (0..2 * self.days + self.days / 2).into_par_iter().map(day).collect();
        let (slow, others) = days.split_at(self.days);
        let (quiet, intermittent) = others.split_at(self.days);
        let mut off: Vec<f64> = slow.iter().filter_map(|day| day.off_min).collect();
        Ok(Row {
            level: level.name(),
            slow: slow.len(),
            named: slow.iter().filter(|day| day.is_named).count(),
            right: slow.iter().filter(|day| day.is_right).count(),
            off_min: (!off.is_empty()).then(|| laggard_core::stats::median(&mut off)),
            others: slow.iter().map(|day| day.others).sum(),
            intermittent: intermittent.len(),
            intermittent_named: intermittent.iter().filter(|day| day.is_right).count(),
            quiet: quiet.len(),
            faults: quiet.iter().map(|day| day.faults).sum(),
            mishaps: quiet.iter().map(|day| day.mishaps).sum(),
            loads: quiet.iter().map(|day| day.loads).sum(),
        })
    }

    fn day(
        &self,
        site: Site,
        seed: u64,
        sort: Sort,
        part: usize,
        roster: &Roster,
        order: &[ComponentId],
    ) -> Day {
        let mut chance = Chance::new(seed).fork(7);
        let (lun, factor, hours) =
            (chance.below(LUNS), FACTORS[part % FACTORS.len()], HOURS[part / FACTORS.len() % HOURS.len()]);
        let (from_s, to_s) = (BEFORE_H * 3600.0, (BEFORE_H + hours) * 3600.0);
        let incidents = match sort {
            Sort::Slow => vec![Incident { happening: Happening::SlowLun { lun, factor }, from_s, to_s }],
            Sort::Intermittent => {
                let factor = INTERMITTENT[part % INTERMITTENT.len()];
                let happening = Happening::IntermittentLun { lun, factor };
                vec![Incident { happening, from_s, to_s: f64::INFINITY }]
            }
            Sort::Quiet => Vec::new(),
        };
        let mut production = Production::new(site, INTERVAL_S, seed, incidents);
        let mut ours = Watch::ours(roster, &self.ours);
        let end_s = match sort {
            Sort::Slow => to_s + 1800.0,
            Sort::Intermittent => from_s + INTERMITTENT_H * 3600.0,
            Sort::Quiet => 86_400.0,
        };
        for _ in 0..(end_s / f64::from(INTERVAL_S)) as u32 {
            ours.push(&production.next_slot(), order);
        }
        let (found, told) = ours.found();
        let component = |lun: usize| order[site.index(Attachment { lun, priority: 0 })];
        let was_slow =
            |id: ComponentId| production.mishaps().iter().any(|mishap| component(mishap.lun) == id);
        if sort == Sort::Quiet {
            let mishaps = found.iter().filter(|found| found.explains.iter().any(|id| was_slow(*id))).count();
            return Day { faults: found.len(), mishaps, loads: told.len(), ..Day::default() };
        }
        let own = component(lun);
        let is_own = |found: &&Found| {
            found.explains.len() < 4 && found.explains.contains(&own) && found.last.0 as f64 > from_s
        };
        let fault = found.iter().find(is_own);
        let is_other = |found: &&Found| !is_own(found) && !found.explains.iter().any(|id| was_slow(*id));
        Day {
            is_named: fault.is_some() || told.iter().any(|load| is_own(&load)),
            is_right: fault.is_some(),
            off_min: fault.map(|found| (found.first.0 as f64 - from_s).abs() / 60.0),
            others: found.iter().filter(is_other).count(),
            ..Day::default()
        }
    }
}

/// The table.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| load | slow LUNs | named | as slow | dated within, median | other faults named | intermittent LUNs | named | quiet days | faults named | of them real | loads told |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let off = row.off_min.map_or("-".into(), |off| format!("{off:.0} min"));
        text += &format!(
            "| {} | {} | {} | {} | {off} | {} | {} | {} | {} | {} | {} | {} |\n",
            row.level,
            row.slow,
            row.named,
            row.right,
            row.others,
            row.intermittent,
            row.intermittent_named,
            row.quiet,
            row.faults,
            row.mishaps,
            row.loads
        );
    }
    text
}

//! Production with uneven load: days with one slow LUN, and days without, at several levels of unevenness.
//!
//! Each day is diagnosed as a whole, as a recording is. A LUN is slow by 2 to 10 times for an hour to half a day. The part must be named, as slow and not as loaded, and dated; and no
//! other part. LUNs that were slow for a quarter of an hour by themselves are real, and no false accusation.

use crate::verdict::attachments::{INTERVAL_S, Watch, roster};
use crate::verdict::ours::{Ours, Variants};
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
    pub variants: Variants,
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

    /// Judges all levels, by each variant.
    pub fn run(&self, bar: &ProgressBar) -> Result<Vec<Vec<Row>>, String> {
        Level::ALL.into_iter().map(|level| self.level(level, bar)).collect()
    }

    fn level(&self, level: Level, bar: &ProgressBar) -> Result<Vec<Row>, String> {
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
            let scenario = Scenario::new(site(part), seed(part), sort, part);
            let days = self.variants.each(|some| scenario.judge(some, &roster, &order));
            bar.inc(1);
            days
        };
        let days: Vec<Vec<Day>> = (0..2 * self.days + self.days / 2).into_par_iter().map(day).collect();
        let row = |variant: usize| {
            let days: Vec<&Day> = days.iter().map(|day| &day[variant]).collect();
            self.row(level, &days)
        };
        Ok((0..self.variants.count()).map(row).collect())
    }

    fn row(&self, level: Level, days: &[&Day]) -> Row {
        let (slow, others) = days.split_at(self.days);
        let (quiet, intermittent) = others.split_at(self.days);
        let mut off: Vec<f64> = slow.iter().filter_map(|day| day.off_min).collect();
        Row {
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
        }
    }
}

/// What happens on a day, and when one stops to look.
struct Scenario {
    site: Site,
    seed: u64,
    sort: Sort,
    lun: usize,
    happens: Vec<Incident>,
    end_s: f64,
}

impl Scenario {
    fn new(site: Site, seed: u64, sort: Sort, part: usize) -> Scenario {
        let lun = Chance::new(seed).fork(7).below(LUNS);
        let (factor, hours) = (FACTORS[part % FACTORS.len()], HOURS[part / FACTORS.len() % HOURS.len()]);
        let from_s = BEFORE_H * 3600.0;
        let (happens, end_s) = match sort {
            Sort::Slow => {
                let to_s = from_s + hours * 3600.0;
                (
                    vec![Incident { happening: Happening::SlowLun { lun, factor }, from_s, to_s }],
                    to_s + 1800.0,
                )
            }
            Sort::Intermittent => {
                let factor = INTERMITTENT[part % INTERMITTENT.len()];
                let happening = Happening::IntermittentLun { lun, factor };
                let happens = vec![Incident { happening, from_s, to_s: f64::INFINITY }];
                (happens, from_s + INTERMITTENT_H * 3600.0)
            }
            Sort::Quiet => (Vec::new(), 86_400.0),
        };
        Scenario { site, seed, sort, lun, happens, end_s }
    }

    /// The day as each variant sees it.
    fn judge(&self, variants: &[Ours], roster: &Roster, order: &[ComponentId]) -> Vec<Day> {
        let mut production = Production::new(self.site, INTERVAL_S, self.seed, self.happens.clone());
        let mut watches: Vec<Watch> = variants.iter().map(|ours| Watch::ours(roster, ours)).collect();
        for _ in 0..(self.end_s / f64::from(INTERVAL_S)) as u32 {
            let slot = production.next_slot();
            watches.iter_mut().for_each(|watch| watch.push(&slot, order));
        }
        let component = |lun: usize| order[self.site.index(Attachment { lun, priority: 0 })];
        let mishaps: Vec<ComponentId> =
            production.mishaps().iter().map(|mishap| component(mishap.lun)).collect();
        watches.iter().map(|watch| self.day(watch.found(), component(self.lun), &mishaps)).collect()
    }

    /// What was found, faults and loads, beside the LUN that was slow and those that were by themselves.
    fn day(&self, (found, told): (Vec<Found>, Vec<Found>), own: ComponentId, mishaps: &[ComponentId]) -> Day {
        let was_slow = |found: &Found| found.explains.iter().any(|id| mishaps.contains(id));
        if self.sort == Sort::Quiet {
            let mishaps = found.iter().filter(|found| was_slow(found)).count();
            return Day { faults: found.len(), mishaps, loads: told.len(), ..Day::default() };
        }
        let from_s = BEFORE_H * 3600.0;
        let is_own = |found: &&Found| {
            found.explains.len() < 4 && found.explains.contains(&own) && found.last.0 as f64 > from_s
        };
        let fault = found.iter().find(is_own);
        Day {
            is_named: fault.is_some() || told.iter().any(|load| is_own(&load)),
            is_right: fault.is_some(),
            off_min: fault.map(|found| (found.first.0 as f64 - from_s).abs() / 60.0),
            others: found.iter().filter(|found| !is_own(found) && !was_slow(found)).count(),
            ..Day::default()
        }
    }
}

/// The table, of all rules.
pub fn table(levels: &[Vec<Row>]) -> String {
    let mut text = String::from(
        "| load | slow LUNs | named | as slow | dated within, median | other faults named | intermittent LUNs | named | quiet days | faults named | of them real | loads told |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in levels.iter().filter_map(|level| level.first()) {
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

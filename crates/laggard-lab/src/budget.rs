//! Is the budget of false alarms kept, and how soon is a slow LUN told? Simulated site-days at several levels of unevenness.

use crate::verdict::attachments::{INTERVAL_S, Watch, roster_of_first};
use crate::verdict::ours::Ours;
use indicatif::ProgressBar;
use laggard_core::diagnose::Incident as Found;
use laggard_core::diagnose::budget::Rate;
use laggard_core::diagnose::incident::Basis;
use laggard_core::ids::ComponentId;
use laggard_core::stats::median;
use laggard_sim::chance::Chance;
use laggard_sim::production::{Attachment, Happening, Incident, LUNS_PER_ARRAY, Level, Production, Site};
use rayon::prelude::*;

/// Budgets that are tried, and their days.
const BUDGETS: [(&str, f64); 3] = [("1/day", 1.0), ("1/week", 7.0), ("1/month", 30.44)];
/// Days between two such incidents, as stated by their confidence.
const STATED_DAYS: [f64; 4] = [1.0, 7.0, 30.44, 365.0];
const DAY_S: f64 = 86_400.0;
/// Times the mean of all LUNs from which one is slow for good, and no difference of healthy ones: a LUN in 160 of uneven load.
const SLOW_FOR_GOOD: f64 = 1.25;
/// Samples from one window to the next.
const SHIFT: usize = 10;
/// LUNs that are recorded on quiet days, of the first arrays: sixty days of all, at three budgets, would take hours.
const QUIET_LUNS: usize = 4 * LUNS_PER_ARRAY;

/// Quiet days.
pub struct Quiet {
    /// Other chance than development.
    pub held_out: bool,
    /// Days at each level, ...
    pub days: usize,
    /// ... of which so many are one recording.
    pub together: usize,
}

/// What came of quiet days at one level.
#[derive(Debug, Clone, Default)]
struct Calm {
    days: f64,
    /// False incidents by budget; those by fixed bars apart.
    by_budget: [usize; BUDGETS.len()],
    others: usize,
    /// LUNs that are slow for good, by the largest budget.
    slow_for_good: usize,
    /// False incidents with the largest budget that are stated to come at most once in so many days.
    stated: [usize; STATED_DAYS.len()],
}

impl Calm {
    fn add(mut self, other: &Calm) -> Calm {
        self.days += other.days;
        self.others += other.others;
        self.slow_for_good += other.slow_for_good;
        self.by_budget.iter_mut().zip(other.by_budget).for_each(|(own, other)| *own += other);
        self.stated.iter_mut().zip(other.stated).for_each(|(own, other)| *own += other);
        self
    }
}

fn seed(held_out: bool, level: Level, part: usize) -> u64 {
    let base = if held_out { 0x6275_6400_0000_u64 } else { 0x6465_6200_0000 };
    base + (level as u64) * 1000 + part as u64
}

impl Quiet {
    /// Recordings in all.
    pub fn len(&self) -> u64 {
        (self.days / self.together * Level::ALL.len()) as u64
    }

    /// The tables.
    pub fn run(&self, bar: &ProgressBar) -> Result<String, String> {
        let mut text = format!("{QUIET_LUNS} LUNs.\n\n| load | quiet site-days |");
        for (name, _) in BUDGETS {
            text += &format!(" false at {name} | expected |");
        }
        text += " false by fixed bars | slow for good |\n|---|---|";
        text += &"---|---|".repeat(BUDGETS.len());
        text += "---|---|\n";
        let mut all = Calm::default();
        for level in Level::ALL {
            let calm = self.level(level, bar)?;
            text += &format!("| {} | {} |", level.name(), calm.days);
            for (count, (_, days)) in calm.by_budget.iter().zip(BUDGETS) {
                text += &format!(" {count} | {:.1} |", calm.days / days);
            }
            text += &format!(" {} | {} |\n", calm.others, calm.slow_for_good);
            if level != Level::Harsh {
                all = all.add(&calm);
            }
        }
        text += "\nStated against seen, all levels but harsh, budget 1/day:\n\n| by chance at most once in | expected | seen |\n|---|---|---|\n";
        for (days, seen) in STATED_DAYS.iter().zip(all.stated) {
            text += &format!("| {days:.0} days | {:.1} | {seen} |\n", all.days / days);
        }
        Ok(text)
    }

    fn level(&self, level: Level, bar: &ProgressBar) -> Result<Calm, String> {
        let site = |part: usize| Site { hardware: seed(self.held_out, level, part), priorities: 1, level };
        let (roster, order) = roster_of_first(QUIET_LUNS, site(0))?;
        let recording = |part: usize| {
            let mut production =
                Production::new(site(part), INTERVAL_S, seed(self.held_out, level, part), Vec::new());
            let ours =
                |(_, days): (&str, f64)| Ours { budget: Rate(1.0 / (days * DAY_S)), ..Ours::default() };
            let mut watches = BUDGETS.map(|budget| Watch::ours(&roster, &ours(budget)));
            let days = self.together as f64;
            for _ in 0..(days * DAY_S / f64::from(INTERVAL_S)) as u64 {
                let slot = production.next_slot();
                watches.iter_mut().for_each(|watch| watch.push(&slot, &order));
            }
            let component = |lun: usize| order[site(part).index(Attachment { lun, priority: 0 })];
            let mishaps =
                production.mishaps().iter().map(|mishap| mishap.lun).filter(|lun| *lun < QUIET_LUNS);
            let slow = (0..QUIET_LUNS).filter(|lun| production.hardware(*lun) >= SLOW_FOR_GOOD);
            let real =
                Real { mishaps: mishaps.map(component).collect(), slow: slow.map(component).collect() };
            bar.inc(1);
            calm(days, &watches.map(|watch| watch.incidents()), &real)
        };
        let parts: Vec<Calm> = (0..self.days / self.together).into_par_iter().map(recording).collect();
        Ok(parts.iter().fold(Calm::default(), Calm::add))
    }
}

/// LUNs that really are slow.
struct Real {
    /// For a while.
    mishaps: Vec<ComponentId>,
    /// For good.
    slow: Vec<ComponentId>,
}

/// What was false, given what each budget found.
fn calm(days: f64, found: &[Vec<Found>; BUDGETS.len()], real: &Real) -> Calm {
    let is_of = |found: &Found, luns: &[ComponentId]| found.explains.iter().any(|id| luns.contains(id));
    let is_false = |found: &&Found| !is_of(found, &real.mishaps) && !is_of(found, &real.slow);
    let is_stated = |found: &&Found| is_false(found) && found.confidence.basis == Basis::Peers;
    let mut calm = Calm { days, ..Calm::default() };
    for (count, found) in calm.by_budget.iter_mut().zip(found) {
        *count = found.iter().filter(is_stated).count();
    }
    let is_for_good = |found: &&Found| is_of(found, &real.slow) && !is_of(found, &real.mishaps);
    calm.slow_for_good = found[0].iter().filter(is_for_good).count();
    calm.others = found[0].iter().filter(is_false).filter(|found| !is_stated(found)).count();
    for (count, stated_days) in calm.stated.iter_mut().zip(STATED_DAYS) {
        // Confidence is the probability of none in the recording.
        let apart_days = |found: &Found| days / -found.confidence.value.ln();
        *count = found[0].iter().filter(is_stated).filter(|found| apart_days(found) >= stated_days).count();
    }
    calm
}

/// Slow LUNs by factor, and when they are told: one recording for each level, which begins with a history without any.
pub struct Telling {
    /// Other chance than development.
    pub held_out: bool,
    /// Seconds between samples.
    pub interval_s: u32,
    /// Slow LUNs of each factor and level.
    pub repetitions: usize,
    /// Hours before the first LUN becomes slow.
    pub history_h: f64,
}

/// Times slower, and for so many hours.
const SLOW: [(f64, f64); 6] = [(10.0, 1.0), (5.0, 1.0), (3.0, 1.0), (2.0, 2.0), (1.5, 6.0), (1.2, 24.0)];
/// Levels of which it is asked. On harsh load the budget is not kept.
const TOLD_LEVELS: [Level; 3] = [Level::Even, Level::Mild, Level::Uneven];
/// LUNs that are recorded, of the first arrays: months of all would take hours to simulate.
const TOLD_LUNS: usize = 2 * LUNS_PER_ARRAY;
/// Hours from one slow LUN of a factor to the next, and minutes between those of two factors.
const APART_H: f64 = 30.0;
const FACTORS_APART_M: f64 = 100.0;

/// A LUN that is made slow, and when that was told.
struct SlowLun {
    number: usize,
    component: ComponentId,
    from_s: f64,
    to_s: f64,
    told_s: Option<f64>,
}

impl Telling {
    /// Recordings in all.
    pub fn len(&self) -> u64 {
        TOLD_LEVELS.len() as u64
    }

    /// The table: minutes until half were told, and how many were.
    pub fn run(&self, bar: &ProgressBar) -> Result<String, String> {
        let history = match self.history_h {
            hours if hours < 48.0 => format!("{hours} hours"),
            hours => format!("{:.0} days", hours / 24.0),
        };
        let mut text =
            format!("{TOLD_LUNS} LUNs, samples of {} s, {history} of history.\n\n| load |", self.interval_s);
        for (factor, hours) in SLOW {
            text += &format!(" {factor} times, {hours} h |");
        }
        text += "\n|---|";
        text += &"---|".repeat(SLOW.len());
        text += "\n";
        let rows: Result<Vec<Vec<SlowLun>>, String> =
            TOLD_LEVELS.into_par_iter().map(|level| self.level(level, bar)).collect();
        for (level, told) in TOLD_LEVELS.iter().zip(rows?) {
            text += &format!("| {} |", level.name());
            for number in 0..SLOW.len() {
                let of_factor = || told.iter().filter(|lun| lun.number == number);
                let minutes = |lun: &SlowLun| lun.told_s.map_or(f64::INFINITY, |told_s| told_s / 60.0);
                let half = median(&mut of_factor().map(minutes).collect::<Vec<f64>>());
                let count = of_factor().filter(|lun| lun.told_s.is_some()).count();
                let half = if half.is_finite() { format!("{half:.1} min") } else { "-".into() };
                text += &format!(" {half}, {count} of {} |", self.repetitions);
            }
            text += "\n";
        }
        Ok(text)
    }

    fn level(&self, level: Level, bar: &ProgressBar) -> Result<Vec<SlowLun>, String> {
        let seed = seed(self.held_out, level, 100);
        let site = Site { hardware: seed, priorities: 1, level };
        let (roster, order) = roster_of_first(TOLD_LUNS, site)?;
        let mut chance = Chance::new(seed).fork(7);
        let (mut happens, mut luns) = (Vec::new(), Vec::new());
        for repetition in 0..self.repetitions {
            for (number, (factor, hours)) in SLOW.into_iter().enumerate() {
                let lun = chance.below(TOLD_LUNS);
                let from_s = (self.history_h + APART_H * repetition as f64) * 3600.0
                    + FACTORS_APART_M * 60.0 * number as f64
                    + chance.below(600) as f64;
                let to_s = from_s + hours * 3600.0;
                happens.push(Incident { happening: Happening::SlowLun { lun, factor }, from_s, to_s });
                let component = order[site.index(Attachment { lun, priority: 0 })];
                luns.push(SlowLun { number, component, from_s, to_s, told_s: None });
            }
        }
        let end_s = luns.iter().map(|lun| lun.to_s).fold(0.0, f64::max) + 600.0;
        let mut production = Production::new(site, self.interval_s, seed, happens);
        let mut watch = Watch::ours_every(self.interval_s, &roster, &Ours::default());
        loop {
            let slot = production.next_slot();
            let now_s = slot.time_s;
            watch.push(&slot, &order);
            // A window is complete when the next one begins.
            let is_new = ((now_s / f64::from(self.interval_s)) as usize).is_multiple_of(SHIFT);
            let is_open =
                |lun: &SlowLun| lun.told_s.is_none() && (lun.from_s..lun.to_s + 600.0).contains(&now_s);
            if is_new && luns.iter().any(is_open) {
                let found = watch.incidents();
                for lun in luns.iter_mut().filter(|lun| is_open(lun)) {
                    let is_own = |found: &Found| {
                        found.explains.contains(&lun.component)
                            && found.explains.len() < 4
                            && found.last.0 as f64 > lun.from_s
                    };
                    lun.told_s = found.iter().any(is_own).then_some(now_s - lun.from_s);
                }
            }
            if now_s > end_s {
                bar.inc(1);
                return Ok(luns);
            }
        }
    }
}

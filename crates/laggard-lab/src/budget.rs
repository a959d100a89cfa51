//! Is the budget of false alarms kept, and how soon is a slow LUN told? Simulated site-days at several levels of unevenness.

use crate::verdict::attachments::{INTERVAL_S, Watch, roster};
use crate::verdict::ours::Ours;
use indicatif::ProgressBar;
use laggard_core::diagnose::Incident as Found;
use laggard_core::diagnose::budget::Rate;
use laggard_core::diagnose::incident::Basis;
use laggard_core::ids::ComponentId;
use laggard_core::stats::median;
use laggard_sim::chance::Chance;
use laggard_sim::production::{Attachment, Happening, Incident, LUNS, Level, Production, Site};
use rayon::prelude::*;

/// Budgets that are tried, and their days.
const BUDGETS: [(&str, f64); 3] = [("1/day", 1.0), ("1/week", 7.0), ("1/month", 30.44)];
/// Days between two such incidents, as stated by their confidence.
const STATED_DAYS: [f64; 4] = [1.0, 7.0, 30.44, 365.0];
const DAY_S: f64 = 86_400.0;
/// Samples from one window to the next.
const SHIFT: usize = 10;

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
    /// False incidents with the largest budget that are stated to come at most once in so many days.
    stated: [usize; STATED_DAYS.len()],
}

impl Calm {
    fn add(mut self, other: &Calm) -> Calm {
        self.days += other.days;
        self.others += other.others;
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
        let mut text = String::from("| load | quiet site-days |");
        for (name, _) in BUDGETS {
            text += &format!(" false at {name} | expected |");
        }
        text += " false by fixed bars |\n|---|---|";
        text += &"---|---|".repeat(BUDGETS.len());
        text += "---|\n";
        let mut all = Calm::default();
        for level in Level::ALL {
            let calm = self.level(level, bar)?;
            text += &format!("| {} | {} |", level.name(), calm.days);
            for (count, (_, days)) in calm.by_budget.iter().zip(BUDGETS) {
                text += &format!(" {count} | {:.1} |", calm.days / days);
            }
            text += &format!(" {} |\n", calm.others);
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
        let (roster, order) = roster(site(0))?;
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
            let mishaps: Vec<ComponentId> =
                production.mishaps().iter().map(|mishap| component(mishap.lun)).collect();
            bar.inc(1);
            calm(days, &watches.map(|watch| watch.incidents()), &mishaps)
        };
        let parts: Vec<Calm> = (0..self.days / self.together).into_par_iter().map(recording).collect();
        Ok(parts.iter().fold(Calm::default(), Calm::add))
    }
}

/// What was false, given what each budget found and which LUNs really were slow for a while.
fn calm(days: f64, found: &[Vec<Found>; BUDGETS.len()], mishaps: &[ComponentId]) -> Calm {
    let is_false = |found: &&Found| !found.explains.iter().any(|id| mishaps.contains(id));
    let is_stated = |found: &&Found| is_false(found) && found.confidence.basis == Basis::Peers;
    let mut calm = Calm { days, ..Calm::default() };
    for (count, found) in calm.by_budget.iter_mut().zip(found) {
        *count = found.iter().filter(is_stated).count();
    }
    calm.others = found[0].iter().filter(is_false).filter(|found| !is_stated(found)).count();
    for (count, stated_days) in calm.stated.iter_mut().zip(STATED_DAYS) {
        // Confidence is the probability of none in the recording.
        let apart_days = |found: &Found| days / -found.confidence.value.ln();
        *count = found[0].iter().filter(is_stated).filter(|found| apart_days(found) >= stated_days).count();
    }
    calm
}

/// Slow LUNs by factor, and when they are told.
pub struct Telling {
    /// Other chance than development.
    pub held_out: bool,
    /// Of each factor and level.
    pub repetitions: usize,
    /// Hours before the LUN becomes slow.
    pub history_h: f64,
}

/// Times slower, and for so many hours.
const SLOW: [(f64, f64); 6] = [(10.0, 1.0), (5.0, 1.0), (3.0, 1.0), (2.0, 2.0), (1.5, 6.0), (1.2, 24.0)];

impl Telling {
    /// Recordings in all.
    pub fn len(&self) -> u64 {
        (3 * self.repetitions * SLOW.len()) as u64
    }

    /// The table: minutes until half were told, and how many were.
    pub fn run(&self, bar: &ProgressBar) -> Result<String, String> {
        let mut text = format!("{} hours of history.\n\n| load |", self.history_h);
        for (factor, hours) in SLOW {
            text += &format!(" {factor} times, {hours} h |");
        }
        text += "\n|---|";
        text += &"---|".repeat(SLOW.len());
        text += "\n";
        for level in [Level::Even, Level::Mild, Level::Uneven] {
            text += &format!("| {} |", level.name());
            let site =
                |part: usize| Site { hardware: seed(self.held_out, level, part), priorities: 1, level };
            let (roster, order) = roster(site(0))?;
            for (number, slow) in SLOW.into_iter().enumerate() {
                let told = |repetition: usize| {
                    let part = 100 + number * 100 + repetition;
                    let lun = Chance::new(seed(self.held_out, level, part)).fork(7).below(LUNS);
                    let own = order[site(part).index(Attachment { lun, priority: 0 })];
                    let mut watch = Watch::ours(&roster, &Ours::default());
                    let told = self.told(site(part), part, lun, slow, |slot, from_s| {
                        watch.push(slot, &order);
                        let is_own = |found: &Found| {
                            found.explains.contains(&own)
                                && found.explains.len() < 4
                                && found.last.0 as f64 > from_s
                        };
                        // A window is complete when the next one begins.
                        let is_new = ((slot.time_s / f64::from(INTERVAL_S)) as usize).is_multiple_of(SHIFT);
                        slot.time_s > from_s && is_new && watch.incidents().iter().any(is_own)
                    });
                    bar.inc(1);
                    told
                };
                let mut times: Vec<f64> = (0..self.repetitions)
                    .into_par_iter()
                    .filter_map(told)
                    .map(|seconds| seconds / 60.0)
                    .collect();
                let count = times.len();
                times.resize(self.repetitions, f64::INFINITY);
                text += &format!(" {:.1} min, {count} of {} |", median(&mut times), self.repetitions);
            }
            text += "\n";
        }
        Ok(text)
    }

    /// Seconds until it was told.
    fn told(
        &self,
        site: Site,
        part: usize,
        lun: usize,
        (factor, hours): (f64, f64),
        mut is_told: impl FnMut(&laggard_sim::production::Slot, f64) -> bool,
    ) -> Option<f64> {
        let from_s = self.history_h * 3600.0 + Chance::new(part as u64).fork(3).below(600) as f64;
        let to_s = from_s + hours * 3600.0;
        let happens = vec![Incident { happening: Happening::SlowLun { lun, factor }, from_s, to_s }];
        let mut production =
            Production::new(site, INTERVAL_S, seed(self.held_out, site.level, part), happens);
        loop {
            let slot = production.next_slot();
            let time_s = slot.time_s;
            if is_told(&slot, from_s) {
                return Some(time_s - from_s);
            }
            if time_s > to_s + 600.0 {
                return None;
            }
        }
    }
}

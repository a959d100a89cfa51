//! How busy the file systems of a recording were: loads become utilizations, surveys and series.

pub mod metadata;
pub mod refit;

use crate::{EngineError, Listener, Stage, Warning};
use laggard_core::fsu::contention::Contention;
use laggard_core::fsu::{Coefficients, Model, Survey, calibrate};
use laggard_core::model::Topology;
use laggard_store::Recording;
use laggard_store::transfer::{self, Account, Block, Composition, Target, TargetLoad};
use metadata::MetadataUse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Points of a series, at most: what a plot can show.
const MOST_POINTS: i64 = 1000;
/// Steps between points.
const STEPS_S: [i64; 14] = [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400];
/// The paper's interval; coarser where the data is.
pub const GRID_S: i64 = 5;

/// What is wanted.
pub struct Asked {
    /// The coefficients.
    pub coefficients: Coefficients,
    /// Controllers and file systems, where they are not known from names.
    pub topology: Option<Topology>,
    /// Seconds of an observation.
    pub grid_s: i64,
    /// Bytes of the best transactions; found in the data, for each file system, where not given.
    pub optimal: Option<u64>,
}

/// Some slots together, of one target or of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// Slots with a value.
    pub observations: u64,
    /// Sum of the utilizations.
    sum: f64,
    /// The highest.
    pub highest: f64,
    /// What the targets did; its seconds are target-seconds.
    pub all: TargetLoad,
    /// Seconds in which anything was observed.
    observed_s: f64,
    /// Seconds that disks which do nothing else need for it, and the same without any latency: what bandwidth alone would tell.
    busy_s: f64,
    transfer_s: f64,
}

impl Point {
    /// One target, over so many slots. What a load costs is linear: sums do as well as single ones.
    fn new(model: &Model, all: TargetLoad, observations: u64, sum: f64, highest: f64) -> Point {
        Point {
            observations,
            sum,
            highest,
            all,
            observed_s: all.seconds,
            busy_s: model.seconds(&all.load),
            transfer_s: model.transfer_seconds(&all.load),
        }
    }

    /// One target in one slot.
    pub fn of_one(load: &TargetLoad, model: &Model) -> Point {
        let utilization = model.utilization(&load.load, load.seconds);
        Point::new(model, *load, 1, utilization, utilization)
    }

    /// Several targets in one slot: the utilization is the mean.
    pub fn at_once<'a>(each: impl Iterator<Item = &'a Point>) -> Point {
        let mut all = Point::default();
        each.for_each(|one| all.add(one));
        let (mean, targets) = (all.utilization(), all.observations as f64);
        Point { observations: 1, sum: mean, highest: mean, observed_s: all.observed_s / targets, ..all }
    }

    fn add(&mut self, other: &Point) {
        self.observations += other.observations;
        self.sum += other.sum;
        self.highest = self.highest.max(other.highest);
        self.all.add(&other.all);
        self.observed_s += other.observed_s;
        self.busy_s += other.busy_s;
        self.transfer_s += other.transfer_s;
    }

    /// Mean utilization.
    pub fn utilization(&self) -> f64 {
        self.sum / self.observations as f64
    }

    /// Utilization by bytes alone: how busy one would think it is.
    pub fn by_bandwidth(&self) -> f64 {
        100.0 * self.transfer_s / self.all.seconds
    }

    /// Bytes per second read and written in the mean, by the targets that were observed.
    pub fn rates(&self) -> [f64; 2] {
        self.all.moved.map(|bytes| bytes / self.observed_s)
    }

    /// Bytes per second that they would give together with these sizes, if kept busy; nothing without transactions.
    pub fn achievable(&self) -> Option<f64> {
        let targets = self.all.seconds / self.observed_s;
        (self.busy_s > 0.0).then(|| self.all.load.bytes() / self.busy_s * targets)
    }
}

/// Points in time order, each with its first second.
pub type Series = Vec<(i64, Point)>;

/// Everything that was added up over one target, or one file system.
#[derive(Debug, Clone, Default)]
pub struct Use {
    /// Utilization, observation by observation.
    pub survey: Survey,
    /// Over time.
    pub series: Series,
}

impl Use {
    /// All of it together.
    pub fn total(&self) -> Point {
        let mut total = Point::default();
        self.series.iter().for_each(|(_, point)| total.add(point));
        total
    }

    /// Adds to the point of this time: the last, or one shortly before it.
    fn add(&mut self, time_s: i64, point: &Point) {
        let after =
            self.series.iter().rposition(|(known_s, _)| *known_s <= time_s).map_or(0, |place| place + 1);
        match after.checked_sub(1).map(|place| &mut self.series[place]) {
            Some((known_s, known)) if *known_s == time_s => known.add(point),
            _ => self.series.insert(after, (time_s, *point)),
        }
    }
}

/// One target.
#[derive(Debug, Clone)]
pub struct TargetUse {
    /// Which.
    pub target: Target,
    /// Its coefficients.
    pub model: Model,
    /// How full it is, 0 to 1; NaN is unknown.
    pub fullness: f64,
    /// What it did.
    pub of: Use,
    /// Sizes of its transactions.
    pub composition: Composition,
}

/// One file system.
#[derive(Debug, Clone)]
pub struct FileSystem {
    /// Its name.
    pub name: String,
    /// Indices of its targets.
    pub targets: Vec<usize>,
    /// What it did; the utilization is the mean over its targets.
    pub of: Use,
    /// Sizes of its transactions.
    pub composition: Composition,
    /// Slots in which some target was missing.
    pub incomplete: u64,
    /// Bytes of its best transactions; nothing without any whose size is known.
    pub optimal: Option<u64>,
}

/// Targets that share something.
pub struct Shared {
    /// `server` or `controller`.
    pub what: &'static str,
    /// What they do to each other.
    pub contention: Contention,
}

/// How busy everything was.
pub struct Utilization {
    /// First second.
    pub from_s: i64,
    /// Last second.
    pub to_s: i64,
    /// Seconds of an observation.
    pub grid_s: i64,
    /// Seconds between points of the series.
    pub step_s: i64,
    /// File systems by name.
    pub file_systems: Vec<FileSystem>,
    /// Targets by name.
    pub targets: Vec<TargetUse>,
    /// Servers, and controllers where the topology has them.
    pub shared: Vec<Shared>,
    /// Experimental: metadata targets.
    pub metadata: Vec<MetadataUse>,
    /// What was lost on the way.
    pub account: Account,
    /// What to know before believing any of it.
    pub warnings: Vec<Warning>,
}

impl Utilization {
    /// Adds up a recording. The error says what is missing.
    pub fn new(
        recording: &Recording,
        asked: &Asked,
        listener: &dyn Listener,
    ) -> Result<Utilization, EngineError> {
        let hosts = recording.hosts();
        let targets = transfer::targets(hosts);
        if targets.is_empty() {
            let missing = "neither targets nor disks in the data: brw_stats of Lustre or /proc/diskstats, as laggard-agent records them";
            return Err(EngineError::Utilization(missing.into()));
        }
        let fullness = transfer::fullness(hosts, &targets);
        let models = models(&targets, &fullness, &asked.coefficients)?;
        let nothing = |((target, model), fullness): ((&Target, &Model), &f64)| TargetUse {
            target: target.clone(),
            model: *model,
            fullness: *fullness,
            of: Use::default(),
            composition: Composition::default(),
        };
        let uses = targets.iter().zip(&models).zip(&fullness).map(nothing).collect();
        let (from_s, to_s) = hosts.span_s().unwrap_or_default();
        let best = match asked.optimal {
            Some(bytes) => vec![transfer::size_of(bytes); targets.len()],
            None => transfer::best_sizes(hosts, &targets),
        };
        let mut warnings = warnings(&targets, &asked.coefficients);
        let mut adding = Adding {
            step_s: step(from_s, to_s, asked.grid_s),
            file_systems: file_systems(&targets, asked.topology.as_ref()),
            shared: shared(&targets, asked.topology.as_ref()),
            busy: Vec::new(),
            together: Vec::new(),
            twice: vec![0; targets.len()],
            grid_s: asked.grid_s,
            targets: uses,
        };
        let progress = |done: u64, total: u64| listener.progress(Stage::AddingUp, done, total);
        let mut account = transfer::replay(hosts, &targets, asked.grid_s, &best, &progress, &mut |block| {
            adding.block(block);
        });
        let Adding { step_s, mut file_systems, shared, mut targets, twice, .. } = adding;
        // Now and then two samples fall into one slot.
        let is_often = |(target, twice): &(&TargetUse, u64)| 4 * twice > target.of.survey.observations();
        for (target, _) in targets.iter().zip(twice).filter(is_often) {
            warnings.push(Warning::RecordedTwice { target: target.target.name.clone() });
        }
        let full =
            targets.iter().filter(|target| target.of.survey.mean().is_some_and(|mean| mean > 100.0)).count();
        if full > 0 {
            warnings.push(Warning::BusierThanPossible { targets: full });
        }
        for (target, composition) in targets.iter_mut().zip(&account.compositions) {
            target.composition = *composition;
        }
        for file_system in &mut file_systems {
            for target in &file_system.targets {
                let sums = file_system.composition.iter_mut().flatten();
                sums.zip(targets[*target].composition.iter().flatten()).for_each(|(all, some)| *all += some);
            }
            let is_any = file_system.composition.iter().flatten().any(|count| *count > 0);
            let first = file_system.targets.first().filter(|_| is_any);
            file_system.optimal = first.map(|target| transfer::bytes(best[*target]));
        }
        let (metadata, damaged) = metadata::of(hosts, &asked.coefficients.metadata);
        account.damaged.extend(damaged);
        warnings.iter().for_each(|warning| listener.warn(warning));
        account.damaged.iter().for_each(|what| listener.warn(&Warning::Unread(what.clone())));
        let grid_s = asked.grid_s;
        Ok(Utilization {
            from_s,
            to_s,
            grid_s,
            step_s,
            file_systems,
            targets,
            shared,
            metadata,
            account,
            warnings,
        })
    }
}

/// The coefficients of each target, as full as it is. The error says what is missing.
pub fn models(
    targets: &[Target],
    fullness: &[f64],
    coefficients: &Coefficients,
) -> Result<Vec<Model>, EngineError> {
    let known = |full: &f64| Some(*full).filter(|full| !full.is_nan());
    let models =
        targets.iter().zip(fullness).map(|(target, full)| coefficients.model(&target.name, known(full)));
    Ok(models.collect::<Result<_, _>>()?)
}

/// Seconds of an observation: as asked for, or the paper's, and no finer than the data.
pub fn grid_s(asked_s: Option<u32>, recording: &Recording) -> i64 {
    let files = recording.hosts().iter().flat_map(|host| &host.files);
    let coarsest_s = files.map(|file| i64::from(file.interval_s)).max().unwrap_or(1);
    asked_s.map_or(GRID_S, i64::from).max(coarsest_s)
}

/// Reads a coefficients file.
pub fn coefficients(path: &Path) -> Result<Coefficients, EngineError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| EngineError::File { path: path.to_path_buf(), source })?;
    let wrong = |source| EngineError::Coefficients { path: path.to_path_buf(), source };
    Coefficients::parse(&text).map_err(wrong)
}

/// What is odd about coefficients for these targets.
pub fn warnings(targets: &[Target], coefficients: &Coefficients) -> Vec<Warning> {
    let mut found = Vec::new();
    let off = coefficients.worst_residual();
    if off > calibrate::OFF {
        found.push(Warning::CoefficientsOff { percent: 100.0 * off });
    }
    for class in
        coefficients.class.iter().filter(|class| !targets.iter().any(|target| class.takes(&target.name)))
    {
        found.push(Warning::CoefficientsUnused { targets: class.targets.join(", ") });
    }
    found
}

/// Targets by file system; where nothing says so, all block devices are one.
pub fn file_systems(targets: &[Target], topology: Option<&Topology>) -> Vec<FileSystem> {
    let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, target) in targets.iter().enumerate() {
        let by_server = || topology?.servers.get(&target.host)?.filesystem.clone();
        let name = target.file_system.clone().or_else(by_server).unwrap_or_else(|| "block devices".into());
        found.entry(name).or_default().push(index);
    }
    let file_system = |(name, targets)| FileSystem {
        name,
        targets,
        of: Use::default(),
        composition: Composition::default(),
        incomplete: 0,
        optimal: None,
    };
    found.into_iter().map(file_system).collect()
}

fn shared(targets: &[Target], topology: Option<&Topology>) -> Vec<Shared> {
    let controller = |target: &Target| {
        let topology = topology?;
        let device = target.name.strip_prefix(&format!("{}:", target.host)).unwrap_or(&target.name);
        let lun = topology.devices.get(device).map_or(device, String::as_str);
        topology.luns.get(lun)?.controller.clone()
    };
    let server = |target: &Target| Some(target.host.clone());
    let group = |what, of: &dyn Fn(&Target) -> Option<String>| {
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let groups = targets.iter().map(|target| {
            let next = names.len();
            of(target).map(|name| *names.entry(name).or_insert(next))
        });
        Shared { what, contention: Contention::new(groups.collect()) }
    };
    let mut all = vec![group("server", &server)];
    if targets.iter().any(|target| controller(target).is_some()) {
        all.push(group("controller", &controller));
    }
    all
}

fn step(from_s: i64, to_s: i64, grid_s: i64) -> i64 {
    let fits = |step: &i64| *step >= grid_s && (to_s - from_s) / step <= MOST_POINTS;
    STEPS_S.into_iter().find(fits).unwrap_or(grid_s.max(604_800))
}

/// Slots under addition.
struct Adding {
    step_s: i64,
    file_systems: Vec<FileSystem>,
    targets: Vec<TargetUse>,
    shared: Vec<Shared>,
    /// Slots with the targets that were busy then, and how busy.
    busy: Vec<(usize, (usize, f64))>,
    /// Of one file system: what its targets did in each slot.
    together: Vec<Together>,
    /// Per target: slots in which more seconds were recorded than have passed.
    twice: Vec<u64>,
    grid_s: i64,
}

impl Adding {
    fn block(&mut self, block: &Block<'_>) {
        let point = |slot: usize| block.time_s(slot).div_euclid(self.step_s) * self.step_s;
        let points: Vec<i64> = (0..block.slots).map(point).collect();
        let mut runs: Vec<Range<usize>> = Vec::new();
        for run in points.chunk_by(|a, b| a == b) {
            let start = runs.last().map_or(0, |before| before.end);
            runs.push(start..start + run.len());
        }
        let most_s = 1.75 * self.grid_s as f64;
        self.busy.clear();
        for file_system in &mut self.file_systems {
            self.together.clear();
            self.together.resize(block.slots, Together::default());
            for index in file_system.targets.iter().copied() {
                let target = &mut self.targets[index];
                // Of one point after the other: this is what costs time.
                for run in &runs {
                    let (mut all, mut count, mut sum, mut highest) = (TargetLoad::default(), 0, 0.0, 0.0);
                    for (slot, load) in block.within(index, run.clone()) {
                        let utilization = target.model.utilization(&load.load, load.seconds);
                        all.add(load);
                        (count, sum) = (count + 1, sum + utilization);
                        if utilization > highest {
                            highest = utilization;
                        }
                        target.of.survey.observe(utilization, load.optimal, load.sized);
                        self.together[slot].add(utilization, load);
                        if load.seconds > most_s {
                            self.twice[index] += 1;
                        }
                        if Contention::is_busy(utilization) {
                            self.busy.push((slot, (index, utilization)));
                        }
                    }
                    if count == 0 {
                        continue;
                    }
                    let (time_s, point) =
                        (points[run.start], Point::new(&target.model, all, count, sum, highest));
                    target.of.add(time_s, &point);
                    // The file system was observed in so many slots, not by so many targets.
                    let in_all = Point { observations: 0, sum: 0.0, highest: 0.0, observed_s: 0.0, ..point };
                    file_system.of.add(time_s, &in_all);
                }
            }
            for (slot, seen) in self.together.iter().enumerate().filter(|(_, seen)| seen.targets > 0.0) {
                let utilization = seen.utilizations / seen.targets;
                file_system.incomplete += u64::from((seen.targets as usize) < file_system.targets.len());
                file_system.of.survey.observe(utilization, seen.optimal, seen.sized);
                let observed_s = seen.seconds / seen.targets;
                let (sum, highest) = (utilization, utilization);
                let observed = Point { observations: 1, sum, highest, observed_s, ..Point::default() };
                file_system.of.add(points[slot], &observed);
            }
        }
        self.busy.sort_by_key(|(slot, _)| *slot);
        for at_once in self.busy.chunk_by(|(slot, _), (other, _)| slot == other) {
            let busy: Vec<(usize, f64)> = at_once.iter().map(|(_, busy)| *busy).collect();
            self.shared.iter_mut().for_each(|shared| shared.contention.observe(&busy));
        }
    }
}

/// The targets of a file system in one slot.
#[derive(Debug, Clone, Copy, Default)]
struct Together {
    /// How many are known, and the sum of their utilizations.
    targets: f64,
    utilizations: f64,
    seconds: f64,
    optimal: f64,
    sized: f64,
}

impl Together {
    fn add(&mut self, utilization: f64, load: &TargetLoad) {
        self.targets += 1.0;
        self.utilizations += utilization;
        self.seconds += load.seconds;
        self.optimal += load.optimal;
        self.sized += load.sized;
    }
}

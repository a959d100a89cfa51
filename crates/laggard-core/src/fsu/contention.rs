//! What targets that share a server or a controller take from each other.
//!
//! Each target is calibrated alone, so the file system's utilization "underestimates the actual load, since it does not account for
//! contention for resources between OSTs" (CUG'13, section V). Where a busy target reaches less while its siblings are busy too than
//! while they are not, it waits for what they share. Each target is compared with itself, because targets differ. One that is pushed
//! below the bound of what is busy leaves the comparison, so a loss is at least this large.

use super::survey::BUSY;

/// Fewer observations of either kind say nothing.
const ENOUGH: u64 = 30;

/// Observations of busy targets.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BusyTargets {
    /// How many.
    pub observations: u64,
    /// Sum of their utilizations.
    sum: f64,
}

impl BusyTargets {
    fn add(&mut self, utilization: f64) {
        self.observations += 1;
        self.sum += utilization;
    }

    /// Mean utilization of these busy targets.
    pub fn mean(&self) -> Option<f64> {
        (self.observations > 0).then(|| self.sum / self.observations as f64)
    }
}

/// The targets of all groups of one kind: servers, or controllers.
#[derive(Debug, Clone)]
pub struct Contention {
    /// The group of each target that has siblings.
    groups: Vec<Option<usize>>,
    /// How many of each group are busy; kept to be used again.
    busy: Vec<usize>,
    /// By how many siblings were busy, of all targets.
    by_siblings: Vec<BusyTargets>,
    /// Of each target: alone, and while siblings are busy.
    each: Vec<[BusyTargets; 2]>,
}

impl Contention {
    /// For targets, each with the index of its group.
    pub fn new(mut groups: Vec<Option<usize>>) -> Contention {
        let count = groups.iter().flatten().max().map_or(0, |last| last + 1);
        let mut members = vec![0; count];
        groups.iter().flatten().for_each(|group| members[*group] += 1);
        groups.iter_mut().for_each(|group| *group = group.filter(|group| members[*group] > 1));
        let each = vec![[BusyTargets::default(); 2]; groups.len()];
        Contention { groups, busy: vec![0; count], by_siblings: Vec::new(), each }
    }

    /// Whether a target with this utilization is of interest.
    pub fn is_busy(utilization: f64) -> bool {
        utilization > BUSY
    }

    /// Takes the busy targets of one interval, each with its utilization.
    pub fn observe(&mut self, busy: &[(usize, f64)]) {
        self.busy.fill(0);
        let members =
            || busy.iter().filter_map(|(target, value)| Some((*target, self.groups[*target]?, *value)));
        members().for_each(|(_, group, _)| self.busy[group] += 1);
        for (target, group, value) in members() {
            let siblings = self.busy[group] - 1;
            if self.by_siblings.len() <= siblings {
                self.by_siblings.resize(siblings + 1, BusyTargets::default());
            }
            self.by_siblings[siblings].add(value);
            self.each[target][usize::from(siblings > 0)].add(value);
        }
    }

    /// Busy targets, by how many of their siblings were busy too.
    pub fn by_busy_siblings(&self) -> &[BusyTargets] {
        &self.by_siblings
    }

    /// Which part of its utilization a busy target loses while siblings are busy, against itself alone: the mean over targets of which enough was
    /// seen of both.
    pub fn loss(&self) -> Option<f64> {
        let known = self.each.iter().filter(|both| both.iter().all(|of| of.observations >= ENOUGH));
        let losses: Vec<f64> =
            known.filter_map(|[alone, beside]| Some(1.0 - beside.mean()? / alone.mean()?)).collect();
        (!losses.is_empty()).then(|| losses.iter().sum::<f64>() / losses.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All targets of one interval; NaN is unknown.
    fn see(contention: &mut Contention, utilizations: &[f64]) {
        let all = utilizations.iter().copied().enumerate();
        contention.observe(&all.filter(|(_, value)| Contention::is_busy(*value)).collect::<Vec<_>>());
    }

    #[test]
    fn targets_of_one_server_slow_each_other() {
        let mut contention = Contention::new(vec![Some(0), Some(0), Some(0), Some(1), None]);
        for _ in 0..50 {
            see(&mut contention, &[90.0, 1.0, 1.0, 80.0, 99.0]);
            see(&mut contention, &[45.0, 45.0, 45.0, f64::NAN, 99.0]);
        }
        let means: Vec<Option<f64>> = contention.by_busy_siblings().iter().map(BusyTargets::mean).collect();
        assert_eq!(means, [Some(90.0), None, Some(45.0)], "a target without siblings is not alone");
        assert!((contention.loss().unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_target_is_compared_with_itself() {
        // One is always less busy than the other; busy siblings change neither.
        let mut contention = Contention::new(vec![Some(0), Some(0)]);
        for _ in 0..50 {
            see(&mut contention, &[90.0, 1.0]);
            see(&mut contention, &[1.0, 40.0]);
            (0..3).for_each(|_| see(&mut contention, &[90.0, 40.0]));
        }
        assert_eq!(contention.loss(), Some(0.0));
    }

    #[test]
    fn too_little_company_says_nothing() {
        let mut contention = Contention::new(vec![Some(0), Some(0)]);
        (0..1000).for_each(|_| see(&mut contention, &[90.0, 1.0]));
        (0..5).for_each(|_| see(&mut contention, &[40.0, 40.0]));
        assert_eq!(contention.loss(), None);
        assert_eq!(Contention::new(Vec::new()).loss(), None);
    }
}

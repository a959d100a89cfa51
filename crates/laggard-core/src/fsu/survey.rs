//! What months of observations come to: the distribution of the utilization (figure 11), and how often a file system was idle,
//! moderate or busy, with how much of its transactions of the best size (tables II and III).

/// Below this, in percent, a file system is idle.
pub const IDLE: f64 = 2.0;
/// Above this it is busy: "It is our experience that when the FSU is above around 30 % the file system is busy."
pub const BUSY: f64 = 30.0;
/// Width of a bin of the distribution, in percent.
pub const BIN: f64 = 2.0;
/// Bins of the distribution, up to 200 %; one more holds what is above.
pub const BINS: usize = 100;

/// How busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Below [`IDLE`].
    Idle,
    /// In between.
    Moderate,
    /// Above [`BUSY`].
    Busy,
}

impl Class {
    /// All, the least busy first.
    pub const ALL: [Class; 3] = [Class::Idle, Class::Moderate, Class::Busy];

    /// The class of a utilization in percent.
    pub fn of(utilization: f64) -> Class {
        match utilization {
            low if low < IDLE => Class::Idle,
            high if high > BUSY => Class::Busy,
            _ => Class::Moderate,
        }
    }

    /// The paper's word.
    pub fn name(self) -> &'static str {
        match self {
            Class::Idle => "idle",
            Class::Moderate => "moderate",
            Class::Busy => "busy",
        }
    }

    /// Its bounds, for people.
    pub fn bounds(self) -> &'static str {
        match self {
            Class::Idle => "below 2",
            Class::Moderate => "2 to 30",
            Class::Busy => "above 30",
        }
    }
}

/// What was observed in one class.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Share {
    /// How many intervals.
    pub observations: u64,
    /// Transactions of the best size, or larger.
    pub optimal: f64,
    /// All whose size is known.
    pub sized: f64,
}

impl Share {
    /// Which part of the transactions was of the best size; nothing without any.
    pub fn optimal_share(&self) -> Option<f64> {
        (self.sized > 0.0).then(|| self.optimal / self.sized)
    }
}

/// The observations of one file system, or of one target, added up.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    distribution: [u64; BINS + 1],
    shares: [Share; 3],
    sum: f64,
    highest: f64,
}

impl Default for Survey {
    fn default() -> Survey {
        Survey { distribution: [0; BINS + 1], shares: [Share::default(); 3], sum: 0.0, highest: 0.0 }
    }
}

impl Survey {
    /// Takes the utilization in one interval, and its transactions: those of the best size, and all whose size is known.
    #[inline]
    pub fn observe(&mut self, utilization: f64, optimal: f64, sized: f64) {
        // A cast keeps within bounds: what is above them is in the last bin.
        let bin = usize::from((utilization / BIN) as u8);
        self.distribution[bin.min(BINS)] += 1;
        let share = &mut self.shares[Class::of(utilization) as usize];
        share.observations += 1;
        share.optimal += optimal;
        share.sized += sized;
        self.sum += utilization;
        if utilization > self.highest {
            self.highest = utilization;
        }
    }

    /// How many intervals were observed.
    pub fn observations(&self) -> u64 {
        self.shares.iter().map(|share| share.observations).sum()
    }

    /// Observations in each bin of [`BIN`] percent; the last holds what is above all of them.
    pub fn distribution(&self) -> &[u64] {
        &self.distribution
    }

    /// What was observed in a class.
    pub fn share(&self, class: Class) -> Share {
        self.shares[class as usize]
    }

    /// Which part of the observations is in a class; nothing without any.
    pub fn part(&self, class: Class) -> Option<f64> {
        let all = self.observations();
        (all > 0).then(|| self.share(class).observations as f64 / all as f64)
    }

    /// Mean utilization.
    pub fn mean(&self) -> Option<f64> {
        let all = self.observations();
        (all > 0).then(|| self.sum / all as f64)
    }

    /// The highest that was seen.
    pub fn highest(&self) -> f64 {
        self.highest
    }

    /// The utilization that this share of the observations stays below, to the bin.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = (share * self.observations() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bin = self.distribution.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(if bin == BINS { self.highest } else { self.highest.min((bin + 1) as f64 * BIN) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classes_as_in_table_2() {
        let classes = [0.0, 1.99, 2.0, 30.0, 30.01, 250.0].map(Class::of);
        use Class::{Busy, Idle, Moderate};
        assert_eq!(classes, [Idle, Idle, Moderate, Moderate, Busy, Busy]);
    }

    #[test]
    fn a_day_adds_up() {
        let mut survey = Survey::default();
        (0..26).for_each(|_| survey.observe(1.0, 45.0, 100.0));
        (0..65).for_each(|_| survey.observe(10.0, 70.0, 100.0));
        (0..9).for_each(|_| survey.observe(80.0, 23.0, 100.0));
        let parts = Class::ALL.map(|class| survey.part(class).unwrap());
        assert_eq!(parts, [0.26, 0.65, 0.09]);
        let best = Class::ALL.map(|class| survey.share(class).optimal_share().unwrap());
        assert_eq!(best, [0.45, 0.70, 0.23]);
        assert_eq!(survey.distribution()[0], 26);
        assert_eq!((survey.quantile(0.5), survey.quantile(0.99)), (Some(12.0), Some(80.0)));
        assert!((survey.mean().unwrap() - (26.0 + 650.0 + 720.0) / 100.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_observed_is_nothing_known() {
        let survey = Survey::default();
        assert_eq!((survey.mean(), survey.part(Class::Busy), survey.quantile(0.5)), (None, None, None));
    }

    proptest! {
        #[test]
        fn every_observation_counts_once(values in proptest::collection::vec(0.0..1000.0f64, 0..200)) {
            let mut survey = Survey::default();
            values.iter().for_each(|value| survey.observe(*value, 1.0, 2.0));
            prop_assert_eq!(survey.distribution().iter().sum::<u64>(), values.len() as u64);
            prop_assert_eq!(survey.observations(), values.len() as u64);
        }
    }
}

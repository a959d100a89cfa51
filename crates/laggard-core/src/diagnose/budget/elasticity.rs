//! How latency grows with load in a group: learnt from how its members differ in both, window by window.

/// Until so many members' windows were seen, latency is taken to grow as fast as load.
const MIN_PAIRS: f64 = 256.0;
/// A latency beyond this, as a logarithm, does not teach: one slow member must not.
const MOST: f64 = std::f64::consts::LN_2;
/// Latency grows no faster than the square of the load, as far as this is asked: beyond, a device is saturated.
const MOST_POWER: f64 = 2.0;

/// The power of the load that latency follows, by least squares through the group's middle.
#[derive(Debug, Clone, Copy, Default)]
pub struct Elasticity {
    pairs: f64,
    squares: f64,
    products: f64,
}

impl Elasticity {
    /// Takes a member's load and latency beside its peers': ratios.
    pub fn push(&mut self, load: f64, latency: f64) {
        let [load, latency] = [load, latency].map(f64::ln);
        if load.is_finite() && latency.abs() <= MOST {
            self.pairs += 1.0;
            self.squares += load * load;
            self.products += load * latency;
        }
    }

    /// 0, latency does not follow load, 1, it grows as fast; faster where requests queue.
    fn power(&self) -> f64 {
        if self.pairs < MIN_PAIRS || self.squares <= 0.0 {
            return 1.0;
        }
        (self.products / self.squares).clamp(0.0, MOST_POWER)
    }

    /// How much slower more load than the peers' makes a member: a logarithm. Less load makes nothing faster.
    pub fn slower_by(&self, load: f64) -> f64 {
        self.power() * load.ln().max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_is_learnt_and_one_before_that() {
        let mut known = Elasticity::default();
        assert_eq!(known.slower_by(2.0), 2f64.ln());
        for step in 0..300 {
            let load = 0.5 + f64::from(step % 20) * 0.1;
            known.push(load, load.sqrt());
        }
        known.push(1.2, 1e9);
        assert!((known.slower_by(2.0) - 0.5 * 2f64.ln()).abs() < 0.01, "{}", known.slower_by(2.0));
        assert_eq!([known.slower_by(0.5), known.slower_by(f64::NAN)], [0.0, 0.0]);
        let mut queues = Elasticity::default();
        (0..300)
            .for_each(|step| queues.push(1.0 + f64::from(step % 5) * 0.1, 1.0 + f64::from(step % 5) * 0.17));
        assert!(queues.slower_by(2.0) > 1.4 * 2f64.ln(), "{}", queues.slower_by(2.0));
    }
}

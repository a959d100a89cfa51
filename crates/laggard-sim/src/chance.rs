//! Seeded randomness. By hand, because a recording must be the same bytes for the same seed for years, which no
//! distribution crate promises across its versions. The generator is xoshiro256++ (Blackman and Vigna), seeded by splitmix64.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Chance([u64; 4]);

impl Chance {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Chance {
        let mut state = seed;
        Chance(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        }))
    }

    /// A stream of its own for a part of the model, so that one part's draws do not shift another's.
    pub fn fork(&self, part: u64) -> Chance {
        Chance::new(self.0[0] ^ part.wrapping_mul(0xd134_2543_de82_ef95).rotate_left(17))
    }

    fn next(&mut self) -> u64 {
        let state = &mut self.0;
        let result = state[0].wrapping_add(state[3]).rotate_left(23).wrapping_add(state[0]);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        result
    }

    /// In `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// In `[low, high)`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// One of `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    /// True with this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Log-normal with median 1.
    pub fn spread(&mut self, sigma: f64) -> f64 {
        (sigma * self.normal()).exp()
    }

    /// Poisson with this mean; by the normal where it is large.
    pub fn poisson(&mut self, mean: f64) -> f64 {
        if mean > 40.0 {
            return (mean + mean.sqrt() * self.normal()).round().max(0.0);
        }
        let (limit, mut product, mut count) = ((-mean).exp(), self.uniform(), 0.0);
        while product > limit {
            product *= self.uniform();
            count += 1.0;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_stream_and_other_seed_other_stream() {
        let draw = |seed: u64| {
            let mut chance = Chance::new(seed);
            [(); 8].map(|()| chance.next())
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn moments_are_what_they_should_be() {
        let mut chance = Chance::new(1);
        let mut mean_of = |draw: &dyn Fn(&mut Chance) -> f64| {
            (0..40_000).map(|_| draw(&mut chance)).sum::<f64>() / 40_000.0
        };
        assert!((mean_of(&|c| c.uniform()) - 0.5).abs() < 0.01);
        assert!((mean_of(&|c| c.exponential(3.0)) - 3.0).abs() < 0.1);
        assert!((mean_of(&|c| c.normal().powi(2)) - 1.0).abs() < 0.05);
        assert!((mean_of(&|c| c.poisson(2.5)) - 2.5).abs() < 0.05);
        assert!((mean_of(&|c| c.poisson(90.0)) - 90.0).abs() < 0.5);
    }
}

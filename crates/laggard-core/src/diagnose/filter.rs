//! The filter: anomalous now, if the score exceeded the threshold in at least `k` of the last `2k-1` windows.
//!
//! Windows in which nothing could be decided (nobody recorded, too few peers) are passed over: they are no evidence.

/// Recent windows of one component in one metric, newest in the lowest bit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    history: u64,
}

impl Filter {
    /// Takes the newest window; returns whether the component is anomalous now. The history holds `k` up to 32.
    pub fn push(&mut self, k: usize, exceeded: bool) -> bool {
        let length = (2 * k - 1).min(63);
        self.history = (self.history << 1 | u64::from(exceeded)) & ((1 << length) - 1);
        self.history.count_ones() as usize >= k
    }

    /// How many windows ago the oldest exceeding one that still counts was.
    pub fn oldest(self) -> u64 {
        u64::from(63 - (self.history | 1).leading_zeros())
    }

    /// Forgets everything, for the operator's "resolved".
    pub fn clear(&mut self) {
        self.history = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_five() {
        let mut filter = Filter::default();
        let fired: Vec<bool> =
            [true, false, true, false, true, false, false, true, true].map(|e| filter.push(3, e)).into();
        assert_eq!(fired, [false, false, false, false, true, false, false, false, true]);
        assert_eq!(filter.oldest(), 4);
    }

    #[test]
    fn k_of_one_fires_at_once() {
        let mut filter = Filter::default();
        assert!(!filter.push(1, false));
        assert!(filter.push(1, true));
        assert!(!filter.push(1, false));
    }
}

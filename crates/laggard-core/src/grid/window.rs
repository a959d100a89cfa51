//! From rows of samples to windows of smoothed samples: the moving average and the windows of `docs/methods.md`.
//!
//! Works slot by slot with bounded memory, so that live and offline diagnosis see the same values.

use super::{Params, Schedule, is_measurement};
use crate::ids::{Slot, WindowIndex};
use crate::stats::mean_of_present;
use std::collections::VecDeque;

/// With fewer peers that have data, no comparison can say which one is odd.
pub const FEWEST_PEERS: usize = 3;

/// Smoothed samples of one peer group in one window, component by component; NaN is missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    values: Vec<f64>,
    size: usize,
}

impl Window {
    /// A window from component-major values, `size` per component.
    pub fn new(values: Vec<f64>, size: usize) -> Window {
        assert!(size > 0 && values.len().is_multiple_of(size), "a window holds `size` values per component");
        let measured = |value: f64| if is_measurement(value) { value } else { f64::NAN };
        Window { values: values.into_iter().map(measured).collect(), size }
    }

    /// How many components.
    pub fn components(&self) -> usize {
        self.values.len() / self.size
    }

    /// How many slots.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The samples of one component.
    pub fn of(&self, component: usize) -> &[f64] {
        &self.values[component * self.size..][..self.size]
    }

    /// Whether a component has any sample.
    pub fn has_samples(&self, component: usize) -> bool {
        self.of(component).iter().any(|value| !value.is_nan())
    }

    /// The samples of each component in turn.
    pub fn each(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.size)
    }

    /// The same window of some of the components.
    pub fn only(&self, components: &[usize]) -> Window {
        Window {
            values: components.iter().flat_map(|&component| self.of(component)).copied().collect(),
            size: self.size,
        }
    }

    /// All samples that are present.
    pub fn present(&self) -> impl Iterator<Item = f64> {
        self.values.iter().copied().filter(|value| !value.is_nan())
    }

    /// Whether enough components have data for a comparison.
    pub fn is_comparable(&self) -> bool {
        self.each().filter(|samples| samples.iter().any(|value| !value.is_nan())).take(FEWEST_PEERS).count()
            == FEWEST_PEERS
    }

    /// Mean of the present samples of each component; NaN without any.
    pub fn levels(&self) -> Vec<f64> {
        self.each().map(mean_of_present).collect()
    }
}

/// Takes rows (one value per component) slot by slot and yields a window each time one is complete.
#[derive(Debug, Clone)]
pub struct Windower {
    params: Params,
    width: usize,
    /// The last `smoothing` rows as they came.
    raw: VecDeque<Vec<f64>>,
    /// The last `size` smoothed rows.
    smooth: VecDeque<Vec<f64>>,
    /// Slots taken so far, counted from the origin.
    taken: u64,
    sums: Vec<f64>,
    counts: Vec<f64>,
    /// Memory of a window that is no longer needed.
    spare: Vec<f64>,
}

/// Values of a window whose memory is used again. Larger ones are given back: many groups would hold much.
const MOST_SPARE: usize = 1 << 19;

impl Windower {
    /// For `width` components.
    pub fn new(params: Params, width: usize) -> Windower {
        Windower {
            params,
            width,
            raw: VecDeque::new(),
            smooth: VecDeque::new(),
            taken: 0,
            sums: vec![0.0; width],
            counts: vec![0.0; width],
            spare: Vec::new(),
        }
    }

    /// Takes the row of slot `slot` (counted from the origin). Slots between the last row and this one had no data.
    /// Completed windows go to `found`, with their index.
    pub fn push(&mut self, slot: Slot, row: &[f64], found: &mut impl FnMut(WindowIndex, Window)) {
        debug_assert_eq!(row.len(), self.width);
        if slot.0 < self.taken {
            return;
        }
        self.pass_gap(slot.0, found);
        self.take(row, found);
    }

    /// Empty slots matter only while older samples are still in a window; after that the gap is jumped over.
    fn pass_gap(&mut self, until: u64, found: &mut impl FnMut(WindowIndex, Window)) {
        let memory = (self.params.smoothing + self.params.size) as u64;
        let nothing = vec![f64::NAN; self.width];
        for _ in 0..(until - self.taken).min(memory) {
            self.take(&nothing, found);
        }
        if self.taken < until {
            self.raw.clear();
            self.smooth.clear();
            self.taken = until;
        }
    }

    fn take(&mut self, row: &[f64], found: &mut impl FnMut(WindowIndex, Window)) {
        let reuse = if self.raw.len() == self.params.smoothing { self.raw.pop_front() } else { None };
        let mut stored = reuse.unwrap_or_else(|| vec![0.0; self.width]);
        for (kept, &value) in stored.iter_mut().zip(row) {
            *kept = if is_measurement(value) { value } else { f64::NAN };
        }
        self.raw.push_back(stored);
        self.smooth_last_slot();
        self.taken += 1;
        if let Some(index) = Schedule::new(self.params).completed_by(Slot(self.taken - 1)) {
            found(index, self.window());
        }
    }

    fn smooth_last_slot(&mut self) {
        self.sums.fill(0.0);
        self.counts.fill(0.0);
        for row in &self.raw {
            for ((sum, count), &value) in self.sums.iter_mut().zip(&mut self.counts).zip(row) {
                let present = !value.is_nan();
                *sum += if present { value } else { 0.0 };
                *count += if present { 1.0 } else { 0.0 };
            }
        }
        let reuse = if self.smooth.len() == self.params.size { self.smooth.pop_front() } else { None };
        let mut smoothed = reuse.unwrap_or_else(|| vec![0.0; self.width]);
        for ((out, sum), count) in smoothed.iter_mut().zip(&self.sums).zip(&self.counts) {
            *out = sum / count; // 0/0 is NaN, and NaN is missing
        }
        self.smooth.push_back(smoothed);
    }

    /// Takes back the memory of a window that is no longer needed.
    pub fn recycle(&mut self, window: Window) {
        if window.values.capacity() <= MOST_SPARE {
            self.spare = window.values;
        }
    }

    /// Transposes the smoothed rows, in blocks that stay in the cache; slots before a jumped gap's end are missing.
    fn window(&mut self) -> Window {
        const BLOCK: usize = 64;
        let size = self.params.size;
        let absent = size - self.smooth.len();
        let mut values = std::mem::take(&mut self.spare);
        values.clear();
        values.resize(self.width * size, f64::NAN);
        for block in (0..self.width).step_by(BLOCK) {
            let end = (block + BLOCK).min(self.width);
            for (slot, row) in self.smooth.iter().enumerate() {
                for component in block..end {
                    values[component * size + absent + slot] = row[component];
                }
            }
        }
        Window { values, size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: Params = Params { interval_s: 1, smoothing: 3, size: 4, shift: 2, k: 3 };

    fn windows(rows: &[(u64, f64)]) -> Vec<(u64, Vec<f64>)> {
        let mut windower = Windower::new(PARAMS, 1);
        let mut found = Vec::new();
        for &(slot, value) in rows {
            windower.push(Slot(slot), &[value], &mut |index, window| {
                found.push((index.0, window.of(0).to_vec()));
            });
        }
        found
    }

    #[test]
    fn the_average_is_trailing_and_over_present_samples() {
        let found = windows(&[(0, 3.0), (1, f64::NAN), (2, 6.0), (3, 9.0), (4, 0.0), (5, 3.0)]);
        assert_eq!(found, [(0, vec![3.0, 3.0, 4.5, 7.5]), (1, vec![4.5, 7.5, 5.0, 4.0])]);
    }

    #[test]
    fn a_long_gap_is_jumped_and_the_grid_of_windows_stays() {
        let mut rows = vec![(0, 1.0), (1, 1.0)];
        rows.extend((1_000_000_000..1_000_000_004).map(|slot| (slot, 5.0)));
        let found = windows(&rows);
        let (index, values) = found.last().unwrap();
        assert_eq!(*index, 500_000_000);
        assert_eq!(values, &[5.0; 4]);
        let first_after = &found[found.len() - 2];
        assert!(first_after.1[0].is_nan() && first_after.1[3] == 5.0);
    }

    #[test]
    fn infinities_are_missing() {
        let found = windows(&[(0, 1.0), (1, f64::INFINITY), (2, f64::NEG_INFINITY), (3, 2.0)]);
        assert_eq!(found[0].1[1], 1.0);
        assert_eq!(found[0].1[3], 2.0);
    }
}

//! The slowness of one member at several lengths of time: small, and the same whatever came before.

/// How slow a member is: logarithms; NaN is not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slowness {
    /// In a window.
    pub window: f64,
    /// In three of the last four [pieces](super::super::ledger) of it, where pieces are booked.
    pub brief: f64,
}

impl Slowness {
    /// No more than this.
    pub fn at_most(self, most: f64) -> Slowness {
        let at_most = |own: f64| if own > most { most } else { own };
        Slowness { window: at_most(self.window), brief: at_most(self.brief) }
    }

    /// Nothing is known.
    pub const UNKNOWN: Slowness = Slowness { window: f64::NAN, brief: f64::NAN };
}

/// Windows in a quarter of each length. The shortest has the last pieces of a window.
pub const QUARTERS: [u32; LENGTHS] = [0, 1, 3, 10, 30, 100, 300, 1000];
/// How many lengths there are.
pub const LENGTHS: usize = 8;
/// The length of the last pieces ...
const BRIEF: usize = 0;
/// ... and that of the last windows.
const WINDOWS: usize = 1;

/// A slowness at each length.
pub type Reached = [f32; LENGTHS];
/// Of what was never seen.
pub const NOTHING_REACHED: Reached = [f32::NEG_INFINITY; LENGTHS];

/// One length: the mean of each of its last quarters.
#[derive(Debug, Clone, Copy)]
struct Length {
    /// Sum and number of what is known of the quarter that is being filled, and its windows.
    sum: f32,
    known: u32,
    passed: u32,
    quarters: [f32; 4],
    /// What three of them reach.
    now: f32,
    /// The largest slowness of the block that is being filled.
    largest: f32,
    /// It was rarer than the budget in this block ...
    is_rare: bool,
    /// ... and in the one before.
    was_rare: bool,
}

impl Default for Length {
    fn default() -> Length {
        Length {
            sum: 0.0,
            known: 0,
            passed: 0,
            quarters: [f32::NEG_INFINITY; 4],
            now: f32::NEG_INFINITY,
            largest: f32::NEG_INFINITY,
            is_rare: false,
            was_rare: false,
        }
    }
}

impl Length {
    fn push(&mut self, slowness: f64, windows: u32) {
        if !slowness.is_nan() {
            self.sum += slowness as f32;
            self.known += 1;
        }
        self.passed += 1;
        if self.passed < windows {
            return;
        }
        // A quarter of which less than half is known says nothing, and so is not slow.
        let mean = if 2 * self.known >= windows { self.sum / self.known as f32 } else { f32::NEG_INFINITY };
        self.quarters.rotate_left(1);
        self.quarters[3] = mean;
        (self.sum, self.known, self.passed) = (0.0, 0, 0);
        let mut ordered = self.quarters;
        ordered.sort_unstable_by(f32::total_cmp);
        self.show(ordered[1]);
    }

    /// Three of four quarters reach this.
    fn show(&mut self, now: f32) {
        self.now = now;
        self.largest = self.largest.max(now);
    }
}

/// One member.
#[derive(Debug, Clone, Default)]
pub struct Lengths {
    lengths: [Length; LENGTHS],
}

impl Lengths {
    /// Takes a window.
    pub fn push(&mut self, slowness: Slowness) {
        let [brief, lengths @ ..] = &mut self.lengths;
        let is_known = !slowness.brief.is_nan();
        brief.show(if is_known { slowness.brief as f32 } else { f32::NEG_INFINITY });
        brief.quarters[3] = brief.now;
        for (length, windows) in lengths.iter_mut().zip(&QUARTERS[WINDOWS..]) {
            length.push(slowness.window, *windows);
        }
    }

    /// The slowness that three of the last four quarters of a length reach; minus infinity where they are not known.
    pub fn now(&self, length: usize) -> f32 {
        self.lengths[length].now
    }

    /// The slowness of the last quarter of a length.
    pub fn newest(&self, length: usize) -> f32 {
        self.lengths[length].quarters[3]
    }

    /// The slowness of late, as seen from a length: that of about the last tenth of it, and of this window where that is shorter.
    pub fn recent(&self, length: usize) -> f32 {
        match length {
            BRIEF => self.now(BRIEF),
            WINDOWS | 2 | 3 => self.now(WINDOWS).min(self.newest(WINDOWS)),
            longer => self.now(longer - 2),
        }
    }

    /// Keeps the largest slowness that would have been believed in this window, had the bars been known: slow in all of it, and now.
    pub fn reach(&self, reached: &mut Reached) {
        for (length, reached) in reached.iter_mut().enumerate() {
            // While it goes on, late windows are at half of the bar at least.
            let seen = self.now(length).min(self.newest(length)).min(2.0 * self.recent(length));
            *reached = reached.max(seen);
        }
    }

    /// The largest slowness of the block that ends, where what is rarer than the budget is common: all of it teaches.
    pub fn end_block_of_chance(&mut self, length: usize) -> Option<f32> {
        let own = &mut self.lengths[length];
        (own.is_rare, own.was_rare) = (false, false);
        Some(std::mem::replace(&mut own.largest, f32::NEG_INFINITY)).filter(|largest| largest.is_finite())
    }

    /// It is rarer than the budget now.
    pub fn note_rare(&mut self) {
        self.lengths.iter_mut().for_each(|length| length.is_rare = true);
    }

    /// The largest slowness of the block that ends; nothing where none is known. What was rarer than the budget teaches how often, not how
    /// far: no more than what is usual in the tail, and only when it is new. It may be chance, and it may be a fault that lasts.
    pub fn end_block(&mut self, length: usize, usual: f64) -> Option<f32> {
        let own = &mut self.lengths[length];
        let largest = std::mem::replace(&mut own.largest, f32::NEG_INFINITY);
        let is_rare = std::mem::take(&mut own.is_rare);
        let was_rare = std::mem::replace(&mut own.was_rare, is_rare);
        match (largest.is_finite(), is_rare) {
            (false, _) => None,
            (true, false) => Some(largest),
            (true, true) => (!was_rare).then_some(largest.min(usual as f32)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(slowness: f64) -> Slowness {
        Slowness { window: slowness, brief: f64::NAN }
    }

    #[test]
    fn three_of_four_quarters_must_be_slow() {
        let mut member = Lengths::default();
        [2.0, 2.0].into_iter().for_each(|slowness| member.push(window(slowness)));
        assert_eq!(member.now(WINDOWS), f32::NEG_INFINITY, "two windows are two quarters");
        member.push(window(2.0));
        assert_eq!(member.now(WINDOWS), 2.0);
        member.push(window(0.1));
        assert_eq!(member.now(WINDOWS), 2.0);
        member.push(window(0.1));
        assert!((member.now(WINDOWS) - 0.1).abs() < 1e-6);
        assert_eq!(member.end_block(WINDOWS, 1.0), Some(2.0));
        assert_eq!(member.end_block(WINDOWS, 1.0), None, "nothing since");
    }

    #[test]
    fn what_is_rarer_than_the_budget_teaches_once_and_no_more_than_what_is_usual() {
        let mut member = Lengths::default();
        let mut block = |is_rare: bool| {
            (0..4).for_each(|_| member.push(window(2.0)));
            if is_rare {
                member.note_rare();
            }
            member.end_block(WINDOWS, 1.5)
        };
        assert_eq!([block(true), block(true), block(false)], [Some(1.5), None, Some(2.0)]);
        assert_eq!(block(true), Some(1.5), "it was over, and is new");
    }

    #[test]
    fn the_last_pieces_are_a_length_of_their_own() {
        let mut member = Lengths::default();
        member.push(window(2.0));
        assert_eq!(member.now(BRIEF), f32::NEG_INFINITY);
        member.push(Slowness { window: 0.5, brief: 2.0 });
        assert_eq!([member.now(BRIEF), member.newest(BRIEF), member.recent(BRIEF)], [2.0; 3]);
        member.push(Slowness { window: 2.0, brief: 0.1 });
        assert!((member.now(BRIEF) - 0.1).abs() < 1e-6, "it is over");
        assert_eq!(member.end_block(BRIEF, 9.0), Some(2.0));
    }

    #[test]
    fn a_quarter_of_which_less_than_half_is_known_is_not_slow() {
        let mut member = Lengths::default();
        let pushed = |member: &mut Lengths, known: usize| {
            (0..3).for_each(|place| member.push(window(if place < known { 1.0 } else { f64::NAN })));
        };
        (0..3).for_each(|_| pushed(&mut member, 2));
        assert_eq!(member.now(2), 1.0);
        (0..2).for_each(|_| pushed(&mut member, 1));
        assert_eq!(member.now(2), f32::NEG_INFINITY);
        let ten = |known: usize| {
            let mut member = Lengths::default();
            for _ in 0..3 {
                (0..10).for_each(|place| member.push(window(if place < known { 1.0 } else { f64::NAN })));
            }
            member.now(3)
        };
        assert_eq!([ten(4), ten(5)], [f32::NEG_INFINITY, 1.0], "half is enough");
    }

    #[test]
    fn the_state_of_a_member_is_small() {
        assert!(size_of::<Lengths>() <= 360, "{}", size_of::<Lengths>());
    }
}

//! The numbers of rules: the bounds that they hold, and what they saw.

use std::fmt;

/// What "most" means, in every rule that says so.
pub const HALF: f64 = 0.5;
/// What "few" means; all but a quarter are nearly all.
pub const QUARTER: f64 = 0.25;
/// What "next to nothing" means; what differs by a tenth is alike.
pub const TENTH: f64 = 0.1;
/// Much more, or much less.
pub const TWICE: f64 = 2.0;
/// More than any uneven load.
pub const THREE_TIMES: f64 = 3.0;
/// Fewer parts than this are single ones.
pub const SEVERAL: f64 = 2.0;

/// A number that decides, with its name and unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Its name in the table of rules.
    pub name: &'static str,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

impl Bound {
    /// A bound with a name and a unit.
    pub const fn new(name: &'static str, value: f64, unit: &'static str) -> Bound {
        Bound { name, value, unit }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, self.value, self.unit)
    }
}

/// The most numbers that one ruling shows.
const MOST_NUMBERS: usize = 5;

/// The numbers that a rule spoke upon, by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Numbers {
    values: [(&'static str, f64); MOST_NUMBERS],
    count: usize,
}

impl Numbers {
    /// No number.
    pub const NONE: Numbers = Numbers { values: [("", 0.0); MOST_NUMBERS], count: 0 };

    /// These numbers, at most five.
    pub fn of(given: &[(&'static str, f64)]) -> Numbers {
        debug_assert!(given.len() <= MOST_NUMBERS, "more numbers than a ruling shows: {given:?}");
        let mut numbers = Numbers::NONE;
        numbers.count = given.len().min(MOST_NUMBERS);
        numbers.values[..numbers.count].copy_from_slice(&given[..numbers.count]);
        numbers
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.values[..self.count].iter().copied()
    }

    /// A number by name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

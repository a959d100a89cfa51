//! The numbers of rules: the bounds that they hold, and what they saw.

use std::fmt;

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

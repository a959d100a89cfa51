//! Warnings that are passed on, and remembered for the report.

use crate::{Listener, Stage, Warning};
use laggard_core::diagnose::Incomplete;
use laggard_core::model::Roster;
use laggard_store::Lost;
use std::cell::RefCell;

/// Passes everything on, and remembers the warnings.
pub struct Noted<'a> {
    listener: &'a dyn Listener,
    warnings: RefCell<Vec<Warning>>,
}

impl<'a> Noted<'a> {
    /// For a listener.
    pub fn new(listener: &'a dyn Listener) -> Noted<'a> {
        Noted { listener, warnings: RefCell::default() }
    }

    /// The components of which samples were lost, merged or not understood so far.
    pub fn incomplete(&self, roster: &Roster) -> Incomplete {
        let mut incomplete = Incomplete::default();
        for warning in self.warnings.borrow().iter() {
            match warning.lost() {
                Lost::Nothing => {}
                Lost::Unknown => incomplete.is_of_others = true,
                Lost::Of(names) => {
                    let known: Vec<_> = names.iter().map(|name| roster.components_of(name)).collect();
                    incomplete.is_of_others |= known.iter().any(Vec::is_empty);
                    incomplete.components.extend(known.into_iter().flatten());
                }
            }
        }
        incomplete.components.sort_unstable();
        incomplete.components.dedup();
        incomplete
    }

    /// All warnings.
    pub fn into_warnings(self) -> Vec<Warning> {
        self.warnings.into_inner()
    }
}

impl Listener for Noted<'_> {
    fn warn(&self, warning: &Warning) {
        self.warnings.borrow_mut().push(warning.clone());
        self.listener.warn(warning);
    }

    fn progress(&self, stage: Stage, done: u64, total: u64) {
        self.listener.progress(stage, done, total);
    }
}

//! Warnings that are passed on, and remembered for the report.

use crate::{Listener, Stage, Warning};
use laggard_core::diagnose::Incomplete;
use laggard_core::ids::ComponentId;
use laggard_core::model::Roster;
use laggard_store::Lost;
use std::cell::RefCell;
use std::collections::HashMap;

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
        let mut of_name: HashMap<&str, Vec<ComponentId>> = HashMap::new();
        for (id, component) in roster.components.enumerate() {
            of_name.entry(&component.name).or_default().push(id);
            for part in &component.parts {
                of_name.entry(&part.name).or_default().push(id);
            }
        }
        for warning in self.warnings.borrow().iter() {
            match warning.lost() {
                Lost::Nothing => {}
                Lost::Unknown => incomplete.is_of_others = true,
                Lost::Of(names) => {
                    for name in &names {
                        match of_name.get(name.as_str()) {
                            Some(known) => incomplete.components.extend(known),
                            None => incomplete.is_of_others = true,
                        }
                    }
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

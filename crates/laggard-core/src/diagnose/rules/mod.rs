//! The rules that decide, as data: one ordered table at three scopes.
//!
//! - [`window`]: one component in one window and one metric. Does it differ from its peers, and does the difference matter?
//! - [`episode`]: one trouble of one component. What is the cause, is it worth a report?
//! - [`site`]: all components in trouble, and the topology. Which part explains them? What could not be judged?
//!
//! A rule is one entry: its id, one sentence, its origin, its bounds, what it rules, and the function that says whether it
//! speaks. In each step the first rule that speaks decides, and leaves a trace; only what failed together (`Together`) is asked of all
//! rules in turn. The rules of the filter and of trained thresholds are labels of what the judge and the method do. A new rule is an entry
//! in the file of its scope; a verdict is decided nowhere else.

pub mod episode;
pub mod site;
pub mod window;

pub use super::bound::{Bound, Numbers};

use super::cause::Cause;
use super::incident::UndecidedReason;
use super::persistence::Trouble;
use episode::{Impact, Symptoms};
use site::{Claim, ComponentWindows, Coverage, GroupEffect, GroupState, SharedTrouble, Site};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What a rule decides upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// One component in one window.
    Window,
    /// All that was seen of one component.
    Episode,
    /// All components and the topology.
    Site,
}

impl Scope {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Window => "window",
            Scope::Episode => "episode",
            Scope::Site => "site",
        }
    }
}

/// What a rule says when it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// It speaks against the component; for a cause, or, with none, for whatever cause the rules of the episode name.
    Indicts(Option<Cause>),
    /// It tells of something that is no fault of a part: it is listed below the incidents, and nobody is woken for it.
    Observes(Cause),
    /// It speaks against no component by itself, but may explain what else is seen.
    Explains,
    /// It is no trouble.
    Excuses,
    /// Nothing can be said.
    Undecided,
}

impl Ruling {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Ruling::Indicts(_) => "indicts",
            Ruling::Observes(_) => "observes",
            Ruling::Explains => "explains",
            Ruling::Excuses => "excuses",
            Ruling::Undecided => "undecided",
        }
    }

    /// The cause it names, if it names one.
    pub fn cause(self) -> Option<Cause> {
        match self {
            Ruling::Indicts(cause) => cause,
            Ruling::Observes(cause) => Some(cause),
            Ruling::Explains | Ruling::Excuses | Ruling::Undecided => None,
        }
    }
}

/// The step at which a rule is asked, and the function that says whether it speaks, with the numbers it speaks upon.
#[derive(Clone, Copy)]
pub enum Step {
    /// Window: does the score exceed the threshold? Components of which it does not are cases only if they are asked for.
    Exceeds(fn(&super::case::Case) -> Option<Numbers>),
    /// Window: is it rarer than the budget of false alarms? Then it has lasted, and nothing else is asked.
    Rare(fn(&super::case::Case) -> Option<Numbers>),
    /// Window: does the component differ from its peers? A rule that speaks says no.
    Differs(fn(&super::case::Case) -> Option<Numbers>),
    /// Window: does the difference matter?
    Matters(fn(&super::case::Case) -> Option<Numbers>),
    /// Window: are thresholds trained? Then this rule speaks whatever the others say.
    Published,
    /// Window: did it last? Asked by the filter of each metric.
    Lasts,
    /// Episode: what is the cause?
    Cause(fn(&Symptoms) -> Option<Numbers>),
    /// Episode: is it worth a report? A rule that speaks says no.
    Reported(fn(&Impact) -> Option<Numbers>),
    /// Site: which parts explain the components in trouble? Asked until it has no more to say.
    Part(fn(&mut Site) -> Vec<Claim>),
    /// Site: which of those parts failed together?
    Together(fn(&Site, Vec<Claim>) -> Vec<Claim>),
    /// Site: why are the components behind one part in trouble?
    SharedCause(fn(&SharedTrouble) -> Option<Numbers>),
    /// Site: is a load worth a line? A rule that speaks says no.
    Told(fn(&Trouble) -> Option<Numbers>),
    /// Site: is a whole group slow against its own past?
    Group(fn(&GroupEffect) -> Option<Numbers>),
    /// Site: why can a group not be judged?
    Judged(fn(&GroupState) -> Option<UndecidedReason>),
    /// Site: why can a component of a group that was judged not be judged? Given its windows.
    HasData(fn(&ComponentWindows) -> Option<UndecidedReason>),
    /// Site: nothing is suspect; may that be said? A rule that speaks says no.
    AllClear(fn(&Coverage) -> Option<Numbers>),
}

/// One rule.
pub struct Rule {
    /// Its name in reports, in `--without` and in documents.
    pub id: &'static str,
    /// What it decides upon.
    pub scope: Scope,
    /// What it says, in one sentence.
    pub sentence: &'static str,
    /// The numbers it spoke upon, as a clause with their names in braces; `{metric}` is the metric.
    pub clause: &'static str,
    /// Section of a paper, or the run that taught it.
    pub origin: &'static str,
    /// The numbers that decide.
    pub bounds: &'static [Bound],
    /// What it rules when it speaks.
    pub ruling: Ruling,
    /// When it is asked, and by which function.
    pub step: Step,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.id == other.id
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

/// All rules, in the order in which they are asked.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    window::RULES.iter().chain(episode::RULES).chain(site::RULES)
}

/// Whether a cause is no fault: the rules that name it observe.
pub fn is_observation(cause: Cause) -> bool {
    all().any(|rule| rule.ruling == Ruling::Observes(cause))
}

/// A rule by its id.
pub fn find(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id)
}

/// Rules that are switched off, to see what each is worth; and a note of those that spoke, where that is wanted.
#[derive(Debug, Clone, Default)]
pub struct Without {
    rules: Vec<&'static Rule>,
    spoken: Option<Arc<Mutex<BTreeSet<&'static str>>>>,
}

impl Without {
    /// Without one rule.
    pub fn rule(rule: &'static Rule) -> Without {
        Without::rules(vec![rule])
    }

    /// Without these rules.
    pub fn rules(rules: Vec<&'static Rule>) -> Without {
        Without { rules, spoken: None }
    }

    /// Without another, too.
    pub fn and(&self, rule: &'static Rule) -> Without {
        Without::rules(self.rules.iter().copied().chain([rule]).collect())
    }

    /// The same, and rules that speak are noted, by all copies of it together.
    pub fn noted(&self) -> Without {
        Without { rules: self.rules.clone(), spoken: Some(Arc::default()) }
    }

    /// Whether a rule is asked.
    pub fn asks(&self, rule: &Rule) -> bool {
        !self.rules.contains(&rule)
    }

    /// The answer of the first rule that is asked and speaks.
    fn first<T>(
        &self,
        rules: &'static [Rule],
        mut speaks: impl FnMut(&'static Rule) -> Option<T>,
    ) -> Option<T> {
        let mut asked = rules.iter().filter(|rule| self.asks(rule));
        asked.find_map(|rule| speaks(rule).inspect(|_| self.note(rule)))
    }

    fn note(&self, rule: &Rule) {
        if let Some(spoken) = &self.spoken {
            spoken.lock().unwrap_or_else(PoisonError::into_inner).insert(rule.id);
        }
    }

    /// Whether a verdict may be another without this rule: the first that speaks decides, so that one that was noted nowhere
    /// changes nothing.
    pub fn may_differ_without(&self, rule: &Rule) -> bool {
        match rule.step {
            // They are not asked one after the other.
            Step::Exceeds(_) | Step::Published | Step::Lasts | Step::Together(_) => true,
            Step::Rare(_)
            | Step::Differs(_)
            | Step::Matters(_)
            | Step::Cause(_)
            | Step::Reported(_)
            | Step::Part(_)
            | Step::SharedCause(_)
            | Step::Told(_)
            | Step::Group(_)
            | Step::Judged(_)
            | Step::HasData(_)
            | Step::AllClear(_) => self
                .spoken
                .as_ref()
                .is_none_or(|spoken| spoken.lock().unwrap_or_else(PoisonError::into_inner).contains(rule.id)),
        }
    }
}

#[cfg(test)]
mod tests;

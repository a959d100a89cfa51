//! What could not be used of an input: file, line, what was found, how often.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Why a text is not of the format it should be: what was found, where, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    /// The line, counted from 1, if it is of one.
    pub line: Option<u64>,
    /// What was found there, and the remedy.
    pub message: String,
}

impl FormatError {
    /// In one line.
    pub fn at(line: u64, message: impl Into<String>) -> FormatError {
        FormatError { line: Some(line), message: message.into() }
    }
}

impl<T: Into<String>> From<T> for FormatError {
    fn from(message: T) -> FormatError {
        FormatError { line: None, message: message.into() }
    }
}

impl std::fmt::Display for FormatError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}, ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for FormatError {}

/// Samples that a problem lost, merged or left out: a fault may be hidden there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Lost {
    /// None, or too few to matter.
    #[default]
    Nothing,
    /// Of these components.
    Of(BTreeSet<String>),
    /// Of components that are not known.
    Unknown,
}

/// One kind of problem in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// The first line that has it.
    pub line: Option<u64>,
    /// What was found there, and the remedy.
    pub message: String,
    /// How many lines have it.
    pub count: u64,
    /// What may be hidden by it.
    pub lost: Lost,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)?;
        if self.count > 1 {
            write!(f, " (and {} more like it)", self.count - 1)?;
        }
        Ok(())
    }
}

/// Problems gathered while reading: each kind once per file, with a count.
#[derive(Debug, Default)]
pub struct Problems {
    list: Vec<Problem>,
    index: HashMap<(PathBuf, String), usize>,
}

impl Problems {
    /// Adds a problem; `kind` decides which are alike.
    pub fn add(&mut self, path: &Path, line: Option<u64>, kind: &str, message: impl FnOnce() -> String) {
        let key = (path.to_path_buf(), kind.to_string());
        match self.index.get(&key) {
            Some(&known) => self.list[known].count += 1,
            None => {
                self.index.insert(key, self.list.len());
                self.list.push(Problem {
                    path: path.into(),
                    line,
                    message: message(),
                    count: 1,
                    lost: Lost::Nothing,
                });
            }
        }
    }

    /// Adds a problem that may hide a fault.
    pub fn add_loss(&mut self, path: &Path, lost: Lost, message: String) {
        self.list.push(Problem { path: path.into(), line: None, message, count: 1, lost });
    }

    /// All problems, in the order found.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }
}

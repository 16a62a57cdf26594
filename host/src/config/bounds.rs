//! Collects what is wrong with settings, so that a person mends all of it at once.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::error::{Error, ErrorKind, Result};

/// Largest amount of memory that a setting may name, in bytes.
pub(super) const MAX_BYTES: u64 = 1 << 40;
/// Longest wait that a setting may name, in milliseconds: an hour.
pub(super) const MAX_WAIT_MS: u64 = 3_600_000;
/// One day, in milliseconds.
pub(super) const DAY_MS: u64 = 24 * 3_600_000;

/// One setting that is out of its bounds.
#[derive(Debug)]
pub(super) struct Problem {
    /// As in the file: `host.chunk_bytes`, `topic[2].lanes`.
    pub key: String,
    /// What is wrong with it; reads on from the key.
    pub text: String,
}

/// The problems found so far.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    problems: Vec<Problem>,
}

impl Bounds {
    /// Notes that `key` is wrong; `text` reads on from it.
    pub(super) fn problem(&mut self, key: &str, text: impl Into<String>) {
        self.problems.push(Problem { key: key.to_owned(), text: text.into() });
    }

    /// Notes a value outside `range`.
    pub(super) fn range<T: PartialOrd + Display>(&mut self, key: &str, value: T, range: RangeInclusive<T>) {
        if !range.contains(&value) {
            self.problem(key, format!("is {value}, expected {} to {}", range.start(), range.end()));
        }
    }

    /// Notes a limit that is neither -1 (none) nor at least 0.
    pub(super) fn unlimited_or(&mut self, key: &str, value: i64) {
        if value < -1 {
            self.problem(key, format!("is {value}, expected a limit from 0 up, or -1 for none"));
        }
    }

    pub(super) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// An error that lists every problem by key.
    pub(super) fn into_result(self) -> Result<()> {
        if self.problems.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = self.problems.iter().map(|p| format!("{} {}", p.key, p.text)).collect();
        Err(Error::new(ErrorKind::InvalidInput, lines.join("\n")))
    }
}

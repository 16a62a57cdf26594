//! Attempts that changed nothing, until they are in the stored history: a refusal must not fail for want of the store, nor wait for it.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::error::Error;
use crate::metadata::{Action, Change, MAX_ATTEMPTS, Place};
use crate::policy::FaultClass;
use crate::policy::wasm::LoadError;
use crate::types::TimestampMs;

/// The latest; older ones are forgotten.
#[derive(Default)]
pub(super) struct Attempts(Mutex<VecDeque<Change>>);

impl Attempts {
    pub(super) fn all(&self) -> Vec<Change> {
        self.0.lock().iter().cloned().collect()
    }

    pub(super) fn add(&self, attempt: Change) {
        let mut attempts = self.0.lock();
        if attempts.len() == MAX_ATTEMPTS {
            attempts.pop_front();
        }
        attempts.push_back(attempt);
    }

    /// The first so many are in the stored history. Only whoever has the turn adds or stores, so they are the same as when they were read.
    pub(super) fn stored(&self, count: usize) {
        self.0.lock().drain(..count);
    }
}

/// What somebody wanted to bind.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) place: Place,
    pub(super) plugin: String,
    pub(super) digest: String,
    pub(super) config: serde_json::Value,
    pub(super) source: String,
    pub(super) by: String,
}

impl Wanted {
    /// The entry of its failure.
    pub(super) fn failed(&self, error: &Error, generation: u64, at_ms: TimestampMs) -> Change {
        let class = error.cause::<LoadError>().map(LoadError::class);
        let action = if class == Some(FaultClass::Superseded) { Action::Superseded } else { Action::Refused };
        Change {
            generation,
            at_ms,
            by: self.by.clone(),
            action,
            pattern: self.place.pattern.clone(),
            kind: self.place.kind,
            plugin: self.plugin.clone(),
            digest: self.digest.clone(),
            config: self.config.clone(),
            source: self.source.clone(),
            before: None,
            state: String::new(),
            class: class.map_or_else(String::new, |class| class.as_str().to_owned()),
            message: error.to_string(),
        }
    }
}

//! What became of the bindings: an entry for each change, and for each attempt that changed nothing.
//!
//! The history is part of the set, so that a change and its entry are one write: it survives restarts, and every host tells the same story.
//! An entry says what it replaced, which is all that taking it back needs. It is bounded: old changes make room for new ones, old attempts
//! for new attempts, so that no number of refusals pushes out what can be gone back to.

use serde::{Deserialize, Serialize};

use super::{Binding, BindingSet};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::Kind;
use crate::types::TimestampMs;

/// Changes that are kept.
pub const MAX_CHANGES: usize = 64;
/// Attempts that changed nothing, of those that are kept.
pub const MAX_ATTEMPTS: usize = 32;
/// Longest text of an entry, in bytes; the rest is cut.
const MAX_TEXT: usize = 1_024;

/// What a binding is found by: the pattern to the letter, and the kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Glob over topic names.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
}

/// What was done, or tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// A component was bound.
    Set,
    /// A binding was removed.
    Unset,
    /// What had been there before was brought back.
    Rollback,
    /// A component was refused: nothing changed.
    Refused,
    /// A later request for the same place won: nothing changed.
    Superseded,
}

impl Action {
    /// Whether it changed what is bound.
    pub fn is_change(self) -> bool {
        !matches!(self, Self::Refused | Self::Superseded)
    }

    /// Its name in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Unset => "unset",
            Self::Rollback => "rollback",
            Self::Refused => "refused",
            Self::Superseded => "superseded",
        }
    }
}

/// A binding, and its place in the order of precedence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// Bindings below it.
    pub position: usize,
    /// The binding.
    pub binding: Binding,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Generation of the set that it made; of an attempt, of the set that it left as it was.
    pub generation: u64,
    /// When.
    pub at_ms: TimestampMs,
    /// Who.
    pub by: String,
    /// What.
    pub action: Action,
    /// Glob over topic names.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// Name of the plugin; empty: nothing is bound there now, or the component could not be read.
    #[serde(default)]
    pub plugin: String,
    /// Digest of the component; empty: nothing is bound there now.
    #[serde(default)]
    pub digest: String,
    /// The config that it was bound with.
    #[serde(default)]
    pub config: serde_json::Value,
    /// Where the component came from, for people.
    #[serde(default)]
    pub source: String,
    /// What it replaced; of an attempt always `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Placed>,
    /// How its instances take over what those before them had learned, as rehearsed: `warm`, or `cold: ` and why; empty: there is nothing to
    /// take over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// Class of the fault, such as `swap.canary_failed`; empty: there was none.
    #[serde(default)]
    pub class: String,
    /// For people.
    #[serde(default)]
    pub message: String,
}

impl Change {
    /// Whether it is about the binding of this place.
    pub fn is_of(&self, place: &Place) -> bool {
        self.kind == place.kind && self.pattern == place.pattern
    }

    fn bounded(mut self) -> Self {
        for text in [&mut self.by, &mut self.pattern, &mut self.plugin, &mut self.source, &mut self.message, &mut self.state] {
            text.truncate(text.floor_char_boundary(MAX_TEXT));
        }
        self
    }
}

impl BindingSet {
    /// The binding of a place, and its position.
    pub fn at(&self, place: &Place) -> Option<Placed> {
        let position = self.bindings.iter().position(|b| b.kind == place.kind && b.pattern == place.pattern)?;
        Some(Placed { position, binding: self.bindings[position].clone() })
    }

    /// Adds an entry and lets go of the oldest of its sort beyond what is kept.
    pub fn record(&mut self, change: Change) {
        let (sort, kept) = if change.action.is_change() { (true, MAX_CHANGES) } else { (false, MAX_ATTEMPTS) };
        self.history.push(change.bounded());
        let of_sort = self.history.iter().filter(|c| c.action.is_change() == sort).count();
        let mut surplus = of_sort.saturating_sub(kept);
        self.history.retain(|c| {
            let goes = surplus > 0 && c.action.is_change() == sort;
            surplus -= usize::from(goes);
            !goes
        });
    }

    /// What a place held before its last change.
    pub fn before(&self, place: &Place) -> Result<Option<Placed>> {
        let last = self.history.iter().rfind(|c| c.action.is_change() && c.is_of(place));
        let unknown = || {
            let Place { pattern, kind } = place;
            let problem = format!("the history knows no change of {kind} for exactly {pattern:?}: there is nothing to go back to");
            Error::new(ErrorKind::NotFound, problem)
        };
        Ok(last.ok_or_else(unknown)?.before.clone())
    }

    /// What a place held when the set had this generation.
    pub fn as_of(&self, place: &Place, generation: u64) -> Result<Option<Placed>> {
        let known = self.known_since();
        if generation < known || generation > self.generation {
            let problem = format!("generation {generation} is not known: the history reaches from {known} to {}", self.generation);
            return Err(Error::new(ErrorKind::NotFound, problem));
        }
        let next = self.history.iter().find(|c| c.action.is_change() && c.is_of(place) && c.generation > generation);
        Ok(next.map_or_else(|| self.at(place), |change| change.before.clone()))
    }

    /// The earliest generation whose bindings can be told: every later change is there.
    fn known_since(&self) -> u64 {
        let changes = self.history.iter().rev().filter(|c| c.action.is_change());
        changes.fold(self.generation, |known, change| if change.generation == known { known.saturating_sub(1) } else { known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(pattern: &str) -> Place {
        Place { pattern: pattern.into(), kind: Kind::Flush }
    }

    fn change(generation: u64, action: Action, pattern: &str) -> Change {
        Change {
            generation,
            at_ms: 1,
            by: "test".into(),
            action,
            pattern: pattern.into(),
            kind: Kind::Flush,
            plugin: String::new(),
            digest: String::new(),
            config: serde_json::Value::Null,
            source: String::new(),
            before: None,
            state: String::new(),
            class: String::new(),
            message: String::new(),
        }
    }

    #[test]
    fn attempts_never_push_out_changes() {
        let mut set = BindingSet::default();
        for generation in 1..=100 {
            set.generation = generation;
            set.record(change(generation, Action::Set, "*"));
        }
        for _ in 0..1_000 {
            set.record(change(100, Action::Refused, "*"));
        }
        let changes: Vec<u64> = set.history.iter().filter(|c| c.action.is_change()).map(|c| c.generation).collect();
        assert_eq!(changes, (100 - MAX_CHANGES as u64 + 1..=100).collect::<Vec<_>>());
        assert_eq!(set.history.len(), MAX_CHANGES + MAX_ATTEMPTS);
    }

    #[test]
    fn a_generation_that_the_history_has_let_go_of_is_not_guessed() {
        let mut set = BindingSet::default();
        for generation in 1..=100 {
            set.generation = generation;
            set.record(change(generation, Action::Set, "*"));
        }
        let error = set.as_of(&place("*"), 35).unwrap_err();
        assert_eq!((error.kind(), error.message().contains("from 36 to 100")), (ErrorKind::NotFound, true), "{error}");
        set.as_of(&place("*"), 36).unwrap();
        assert_eq!(set.as_of(&place("*"), 101).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_set_stored_without_a_history_is_read_and_has_nothing_to_go_back_to() {
        let stored = r#"{"generation":3,"bindings":[{"pattern":"*","kind":"flush","digest":"sha256:00","source":"f","config":{},"by":"me","at_ms":7}]}"#;
        let set: BindingSet = serde_json::from_str(stored).unwrap();
        assert_eq!((set.history.len(), set.bindings[0].generation, set.bindings[0].plugin.as_str()), (0, 0, ""));
        assert_eq!(set.before(&place("*")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(set.as_of(&place("*"), 3).unwrap(), set.at(&place("*")));
        assert_eq!(set.as_of(&place("*"), 2).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let mut set = BindingSet::default();
        set.record(Change { message: "é".repeat(MAX_TEXT), ..change(0, Action::Refused, "*") });
        assert_eq!(set.history[0].message.len(), MAX_TEXT);
        set.record(Change { message: format!("x{}", "é".repeat(MAX_TEXT)), ..change(0, Action::Refused, "*") });
        assert_eq!(set.history[1].message.len(), MAX_TEXT - 1);
    }
}

//! Ways to behave that are legal and cost a lot: an operator hears of them, the policy goes on deciding.
//!
//! *Thrashing*: it asks again and again for smaller or more frequent work than the host's floors. *Slow*: it takes much of its deadline again
//! and again. Both are noticed by counting within a window; a warning stands while it is renewed.

use std::time::Duration;

use crate::env::Instant;

/// What happens within so long a time counts together.
const WINDOW: Duration = Duration::from_secs(30);
/// A warning that is not renewed for so long is over.
const STANDS: Duration = Duration::from_secs(60);

/// What a policy is warned about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warning {
    Thrashing,
    Slow,
}

impl Warning {
    pub(crate) const ALL: [Warning; 2] = [Warning::Thrashing, Warning::Slow];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Warning::Thrashing => "thrashing",
            Warning::Slow => "slow",
        }
    }

    /// For people; reads on from "the policy".
    pub(super) fn text(self) -> &'static str {
        match self {
            Warning::Thrashing => "asks again and again for less than the host's floors; each time it is raised to them",
            Warning::Slow => "takes much of its deadline again and again; appends and fetches wait for it",
        }
    }

    /// So many within the window are too many.
    fn enough(self) -> u32 {
        match self {
            Warning::Thrashing => 64,
            // One call in eight is timed.
            Warning::Slow => 8,
        }
    }
}

/// Counts one kind of warning.
#[derive(Debug, Default)]
pub(super) struct Watch {
    began: Option<Instant>,
    seen: u32,
    warned: Option<Instant>,
}

impl Watch {
    /// Takes note of `count` more; true if that makes too many.
    pub(super) fn note(&mut self, warning: Warning, count: u32, now: Instant) -> bool {
        if self.began.is_none_or(|at| now.duration_since(at) >= WINDOW) {
            (self.began, self.seen) = (Some(now), 0);
        }
        self.seen = self.seen.saturating_add(count);
        if self.seen < warning.enough() {
            return false;
        }
        (self.began, self.seen, self.warned) = (None, 0, Some(now));
        true
    }

    /// Whether the warning stands at `now`.
    pub(super) fn stands(&self, now: Instant) -> bool {
        self.warned.is_some_and(|at| now.duration_since(at) < STANDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_many_within_a_short_time_are_warned_about_and_the_warning_passes() {
        let (start, second) = (crate::env::now(), Duration::from_secs(1));
        let mut rare = Watch::default();
        assert!((0..1_000).all(|n| !rare.note(Warning::Slow, 1, start + second * 5 * n)));
        let mut often = Watch::default();
        let warned: Vec<u32> = (1..=16).filter(|n| often.note(Warning::Slow, 1, start + second * *n)).collect();
        assert_eq!(warned, [8, 16]);
        let last = start + second * 16;
        assert!(often.stands(last + second * 59) && !often.stands(last + second * 60));
    }
}

//! A flush policy's last answer, compared natively until one of its bounds is crossed.

use std::time::Duration;

use super::WriteBuffer;
use crate::env::Instant;
use crate::policy::{FlushBounds, FlushDecision, UNBOUNDED};

/// What the policy said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// The policy has not been asked about this buffer yet.
    Ask,
    /// Seal as soon as an upload may start.
    Due,
    /// Wait for the first bound.
    Until(FlushBounds),
}

impl From<FlushDecision> for Plan {
    fn from(decision: FlushDecision) -> Self {
        match decision {
            FlushDecision::Now => Plan::Due,
            FlushDecision::Wait(bounds) => Plan::Until(bounds),
        }
    }
}

impl Plan {
    /// Whether a bound is crossed, with `uploads` in flight.
    pub fn crossed(&self, buffer: &WriteBuffer, uploads: u32, now: Instant) -> bool {
        match self {
            Plan::Ask => false,
            Plan::Due => true,
            Plan::Until(bounds) => {
                let since = |at: Instant| now.saturating_duration_since(at).as_micros() as u64;
                bounds.crossed(buffer.bytes(), buffer.records(), since(buffer.oldest()), since(buffer.newest()), uploads)
            }
        }
    }

    /// When a bound of time is crossed if nothing else happens.
    pub fn deadline(&self, buffer: &WriteBuffer) -> Option<Instant> {
        let Plan::Until(b) = self else { return None };
        let after = |start: Instant, us: u64| (us != UNBOUNDED).then(|| start.checked_add(Duration::from_micros(us))).flatten();
        after(buffer.oldest(), b.age_us).into_iter().chain(after(buffer.newest(), b.quiet_us)).min()
    }
}

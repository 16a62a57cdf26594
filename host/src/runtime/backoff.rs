//! When a lane that could not be opened is tried again.

use std::time::Duration;

use crate::env::{Env, Instant, now};
use crate::error::{Error, ErrorKind};

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// For what does not pass by itself: a damaged object, a manifest of a newer version.
const PERSISTENT: Duration = Duration::from_secs(30);

/// A failed opening.
#[derive(Debug)]
pub(super) struct Failure {
    error: Error,
    /// `None`: not before somebody asks for the lead.
    retry_at: Option<Instant>,
    /// Failures in a row.
    pub(super) count: u32,
}

impl Failure {
    pub(super) fn may_retry(&self, now: Instant) -> bool {
        self.retry_at.is_some_and(|at| now >= at)
    }

    /// What callers are told until then; `lane` is its name.
    pub(super) fn error(&self, lane: &str) -> Error {
        let left = self.retry_at.map(|at| at.saturating_duration_since(now()).as_millis());
        let remedy = match left {
            Some(ms) => format!("it is tried again in {ms} ms"),
            None => "another host leads it".to_owned(),
        };
        Error::new(self.error.kind(), format!("{lane} could not be opened ({remedy})")).with_source(self.error.clone())
    }
}

/// Doubles with each failure in a row for what may pass by itself; long for what needs a person.
pub(super) fn after(env: &Env, error: &Error, count: u32) -> Failure {
    let pause = match error.kind() {
        ErrorKind::NotLeader => None,
        ErrorKind::Unavailable | ErrorKind::OutcomeUnknown | ErrorKind::Busy => Some(doubling(count)),
        _ => Some(PERSISTENT),
    };
    let retry_at = pause.map(|pause| now() + env.jittered(pause));
    Failure { error: error.clone(), retry_at, count }
}

fn doubling(count: u32) -> Duration {
    (FIRST * 2u32.pow(count.saturating_sub(1).min(10))).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        assert_eq!(doubling(1), FIRST);
        assert_eq!(doubling(3), FIRST * 4);
        assert_eq!(doubling(60), LONGEST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_lane_is_not_tried_again_by_itself() {
        let env = Env::simulated(1, 0);
        let fenced = after(&env, &Error::new(ErrorKind::NotLeader, "fenced"), 1);
        let damaged = after(&env, &Error::new(ErrorKind::Corrupt, "bad footer"), 1);
        tokio::time::advance(PERSISTENT).await;
        assert!(!fenced.may_retry(now()));
        assert!(damaged.may_retry(now()));
    }
}

//! Pauses between the tries of a request that goes on until it has won or the lane has lost.

use std::time::Duration;

use crate::env::Env;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

/// Pauses that double up to five seconds, jittered.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self { next: FIRST }
    }

    /// The next pause at its longest.
    pub(super) fn at_most(&self) -> Duration {
        self.next
    }

    pub(super) async fn pause(&mut self, env: &Env) {
        tokio::time::sleep(env.jittered(self.next)).await;
        self.next = (self.next * 2).min(LONGEST);
    }
}

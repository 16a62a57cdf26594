//! A rate over the recent past.

use crate::env::{self, Instant};

/// Time constant of the mean, in seconds: what happened so long ago counts for a third.
const MEMORY_S: f64 = 5.0;

/// Bytes per second, exponentially weighted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    per_s: f64,
    at: Option<Instant>,
}

impl Rate {
    /// So many bytes now.
    pub fn add(&mut self, bytes: u64) {
        self.decay();
        self.per_s += bytes as f64 / MEMORY_S;
    }

    /// Bytes per second as of now.
    pub fn per_s(&mut self) -> u64 {
        self.decay();
        self.per_s as u64
    }

    fn decay(&mut self) {
        let now = env::now();
        let since = self.at.replace(now).map_or(0.0, |at| now.duration_since(at).as_secs_f64());
        self.per_s *= (-since / MEMORY_S).exp();
    }
}

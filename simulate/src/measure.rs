//! What a replay sees from outside the host.

use std::time::Duration;

use tidegate::env::Instant;

/// See the module.
#[derive(Clone, Debug)]
pub struct Measured {
    /// When the first request was due.
    pub began: Instant,
    /// When the last one was answered.
    pub ended: Instant,
    /// Of each append that was committed: when it came, in microseconds since the beginning, and the microseconds until its ack.
    pub acks: Vec<(u64, u64)>,
    /// Appends whose producer did not wait.
    pub sent: u64,
    /// Appends that were refused, or not known to be committed in time.
    pub failed_appends: u64,
    /// Bytes of batches that were taken.
    pub appended_bytes: u64,
    /// Of each fetch for which there was something to read, the microseconds until its answer.
    pub fetches_us: Vec<u64>,
    /// Fetches that were answered.
    pub fetches: u64,
    /// Bytes that they brought.
    pub fetched_bytes: u64,
    /// Fetches that failed.
    pub failed_fetches: u64,
    /// Polls of readers that still waited for an answer.
    pub skipped_fetches: u64,
    /// The most that the host held of batches, cache and what was read ahead, in bytes.
    pub memory_peak_bytes: u64,
}

impl Measured {
    pub(crate) fn new(began: Instant) -> Self {
        Self {
            began,
            ended: began,
            acks: Vec::new(),
            sent: 0,
            failed_appends: 0,
            appended_bytes: 0,
            fetches_us: Vec::new(),
            fetches: 0,
            fetched_bytes: 0,
            failed_fetches: 0,
            skipped_fetches: 0,
            memory_peak_bytes: 0,
        }
    }

    /// From the first request to the last answer.
    pub fn span(&self) -> Duration {
        self.ended.duration_since(self.began)
    }

    pub(crate) fn holds(&mut self, bytes: u64) {
        self.memory_peak_bytes = self.memory_peak_bytes.max(bytes);
    }

    pub(crate) fn acked(&mut self, bytes: u64, at: Duration, took: Duration) {
        self.appended_bytes += bytes;
        self.acks.push((micros(at), micros(took)));
    }

    pub(crate) fn fetched(&mut self, bytes: u64, took: Option<Duration>) {
        self.fetches += 1;
        self.fetched_bytes += bytes;
        self.fetches_us.extend(took.map(micros));
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

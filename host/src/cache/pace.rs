//! How the store has answered lately: what a read-ahead policy weighs a prefetch against.

use std::time::Duration;

use parking_lot::Mutex;

/// Answers up to so many bytes tell the time to the first byte; larger ones tell the throughput.
const SMALL_BYTES: u64 = 64 << 10;

#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<StorePace>);

/// Smoothed over recent requests; 0 where nothing is known yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StorePace {
    /// Time until an answer begins, in microseconds.
    pub first_byte_us: u64,
    /// Bytes a second of one request, once its answer has begun.
    pub bytes_per_s: u64,
}

/// An exponential mean of weight 1/8.
fn smooth(mean: u64, sample: u64) -> u64 {
    if mean == 0 { sample } else { mean - mean / 8 + sample / 8 }
}

impl Pace {
    pub(super) fn observe(&self, bytes: u64, took: Duration) {
        let us = (took.as_micros() as u64).max(1);
        let mut pace = self.0.lock();
        if bytes <= SMALL_BYTES || us < pace.first_byte_us || pace.first_byte_us == 0 {
            pace.first_byte_us = smooth(pace.first_byte_us, us).max(1);
        }
        if bytes > SMALL_BYTES {
            let body_us = us.saturating_sub(pace.first_byte_us).max(us / 8).max(1);
            pace.bytes_per_s = smooth(pace.bytes_per_s, bytes.saturating_mul(1_000_000) / body_us);
        }
    }

    pub(super) fn now(&self) -> StorePace {
        *self.0.lock()
    }
}

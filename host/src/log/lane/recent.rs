//! Small statistics for views: the last samples, and a rate over a few seconds.

use std::time::Duration;

use crate::env::Instant;

/// Samples that "recent" means in a view.
const SAMPLES: usize = 128;

/// The last 128 samples.
#[derive(Debug)]
pub(super) struct Recent {
    samples: [u64; SAMPLES],
    seen: usize,
}

impl Recent {
    pub(super) fn new() -> Self {
        Self { samples: [0; SAMPLES], seen: 0 }
    }

    pub(super) fn add(&mut self, duration: Duration) {
        self.samples[self.seen % SAMPLES] = duration.as_micros() as u64;
        self.seen += 1;
    }

    /// A percentile of the samples, by nearest rank; 0 without any.
    pub(super) fn percentile(&self, percent: usize) -> u64 {
        let mut sorted = self.samples;
        let len = self.seen.min(SAMPLES);
        if len == 0 {
            return 0;
        }
        let rank = (len * percent).div_ceil(100).clamp(1, len) - 1;
        *sorted[..len].select_nth_unstable(rank).1
    }
}

/// Exponentially decaying average of arrivals: a span of silence of [`Rate::SPAN_S`] seconds fades to 1/e.
#[derive(Debug)]
pub(super) struct Rate {
    bytes: f64,
    batches: f64,
    at: Instant,
}

impl Rate {
    const SPAN_S: f64 = 3.0;

    pub(super) fn new(now: Instant) -> Self {
        Self { bytes: 0.0, batches: 0.0, at: now }
    }

    pub(super) fn add(&mut self, bytes: usize, batches: usize, now: Instant) {
        self.decay(now);
        self.bytes += bytes as f64;
        self.batches += batches as f64;
    }

    /// Bytes and batches a second.
    pub(super) fn per_second(&mut self, now: Instant) -> (u64, u32) {
        self.decay(now);
        ((self.bytes / Self::SPAN_S) as u64, (self.batches / Self::SPAN_S) as u32)
    }

    fn decay(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        let keep = (-passed / Self::SPAN_S).exp();
        self.bytes *= keep;
        self.batches *= keep;
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_last_samples() {
        let mut recent = Recent::new();
        assert_eq!(recent.percentile(99), 0);
        (1..=1_000).for_each(|us| recent.add(Duration::from_micros(us)));
        assert_eq!((recent.percentile(50), recent.percentile(99), recent.percentile(100)), (936, 999, 1_000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_steady_rate_is_found_and_fades() {
        let mut rate = Rate::new(crate::env::now());
        for _ in 0..2_000 {
            tokio::time::advance(Duration::from_millis(10)).await;
            rate.add(1_000, 2, crate::env::now());
        }
        let (bytes, batches) = rate.per_second(crate::env::now());
        assert!((99_000..101_000).contains(&bytes) && (198..202).contains(&batches), "{bytes} {batches}");
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(rate.per_second(crate::env::now()), (0, 0));
    }
}

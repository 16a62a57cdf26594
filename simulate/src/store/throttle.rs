//! A limit on requests per second: a bucket that holds a second's worth of them.

use tidegate::env::{self, Instant};

/// See the module.
#[derive(Debug)]
pub(super) struct Throttle {
    per_s: u64,
    /// Thousandths of requests that may be sent now.
    tokens: u64,
    at: Instant,
}

impl Throttle {
    /// So many requests a second; 0: no limit.
    pub(super) fn new(per_s: u64) -> Self {
        Self { per_s, tokens: per_s.saturating_mul(1_000), at: env::now() }
    }

    /// Whether a request is served now.
    pub(super) fn admits(&mut self) -> bool {
        if self.per_s == 0 {
            return true;
        }
        let now = env::now();
        let passed_us = now.saturating_duration_since(self.at).as_micros() as u64;
        let earned = passed_us.saturating_mul(self.per_s) / 1_000;
        if earned > 0 {
            self.at = now;
            self.tokens = self.tokens.saturating_add(earned).min(self.per_s.saturating_mul(1_000));
        }
        let served = self.tokens >= 1_000;
        self.tokens -= if served { 1_000 } else { 0 };
        served
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_second_holds_so_many_requests() {
        let mut throttle = Throttle::new(100);
        let served = |throttle: &mut Throttle| (0..1_000).filter(|_| throttle.admits()).count();
        assert_eq!(served(&mut throttle), 100);
        tokio::time::advance(Duration::from_millis(250)).await;
        assert_eq!(served(&mut throttle), 25);
        assert_eq!(served(&mut Throttle::new(0)), 1_000);
    }
}

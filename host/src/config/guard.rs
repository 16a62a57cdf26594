//! How patient the host is with guests: the `[policy.breaker]` and `[policy.log]` sections.

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, MAX_WAIT_MS};

/// When a faulty policy is left alone, for each binding and topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerSettings {
    /// So many faults within the window open the breaker.
    pub faults: u32,
    /// So many faults within the window open it if missed deadlines are among them, which a stalled machine can cause.
    pub deadline_faults: u32,
    /// Faults older than that count no more, in milliseconds.
    pub window_ms: u64,
    /// First pause before the policy is tried again, in milliseconds; doubles with each fault of a trial.
    pub pause_ms: u64,
    /// Longest pause, in milliseconds.
    pub longest_pause_ms: u64,
    /// After so long without a fault all is forgotten, in milliseconds.
    pub clean_ms: u64,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { faults: 3, deadline_faults: 5, window_ms: 60_000, pause_ms: 30_000, longest_pause_ms: 600_000, clean_ms: 600_000 }
    }
}

impl BreakerSettings {
    pub(super) fn check(&self, bounds: &mut Bounds) {
        bounds.range("policy.breaker.faults", self.faults, 1..=1_000);
        bounds.range("policy.breaker.deadline_faults", self.deadline_faults, 1..=1_000);
        bounds.range("policy.breaker.window_ms", self.window_ms, 1..=24 * MAX_WAIT_MS);
        bounds.range("policy.breaker.pause_ms", self.pause_ms, 1..=MAX_WAIT_MS);
        bounds.range("policy.breaker.longest_pause_ms", self.longest_pause_ms, self.pause_ms..=24 * MAX_WAIT_MS);
        bounds.range("policy.breaker.clean_ms", self.clean_ms, 1..=24 * MAX_WAIT_MS);
    }
}

/// What one instance may log; the rest is counted and left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuestLogSettings {
    /// Longest line, in bytes, without what escaping adds.
    pub line_bytes: u32,
    /// Lines per second in the long run.
    pub lines_per_s: u32,
    /// Lines that may come at once.
    pub burst: u32,
}

impl Default for GuestLogSettings {
    fn default() -> Self {
        Self { line_bytes: 4 << 10, lines_per_s: 10, burst: 50 }
    }
}

impl GuestLogSettings {
    pub(super) fn check(&self, bounds: &mut Bounds) {
        bounds.range("policy.log.line_bytes", self.line_bytes, 256..=64 << 10);
        bounds.range("policy.log.lines_per_s", self.lines_per_s, 0..=10_000);
        bounds.range("policy.log.burst", self.burst, 1..=10_000);
    }
}

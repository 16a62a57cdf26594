//! Holds a target for the 99th percentile of ack latency with as few PUTs as it allows.
//!
//! A batch waits in the buffer and then for its upload. The later a buffer is sealed the fewer PUTs there are, so the policy looks for the
//! longest wait that keeps the target, called the *hold*:
//!
//! 1. It starts as the target less two typical uploads.
//! 2. It moves by what was observed: above the target it shrinks by what that was missed by, below nine tenths of it it grows by half of what
//!    is missing. What is observed covers the last 128 buffers, so it moves once in so many: sooner, it would shrink again for acks that were
//!    late before it shrank.
//! 3. While the store throttles it does not shrink: more requests would make that worse.
//!
//! Batches that nobody waits for are held for `idle_age_ms`.

use serde::Deserialize;
use tidegate_guest::{Context, Flush, FlushBounds, FlushDecision, FlushReason, FlushView, Policy};

/// Shortest hold, in microseconds: there is always a group of what arrives together.
const MIN_HOLD_US: u64 = 1_000;
/// Share of the host's buffers in use at which everything is flushed, in permille.
const PRESSURE_PERMILLE: u32 = 850;
/// Buffers that the observed percentile covers, and after which the hold moves for the first time.
const WINDOW: u32 = 128;
const FIRST: u32 = 16;
/// Share of throttled requests from which the store counts as throttling, in permille.
const THROTTLING_PERMILLE: u32 = 10;

/// The target.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// 99th percentile of the time from append to commit to hold, in milliseconds; 1 to 60000.
    pub target_ms: u64,
    /// Largest buffer, in bytes; 1 to 1 GiB.
    pub max_bytes: u64,
    /// Oldest that a batch gets while nobody waits for its ack, in milliseconds; 1 to 60000.
    pub idle_age_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { target_ms: 200, max_bytes: 16 << 20, idle_age_ms: 1_000 }
    }
}

/// See the crate.
#[derive(Debug)]
pub struct Latency {
    target_us: u64,
    max_bytes: u64,
    idle_age_us: u64,
    /// `None` until an upload has been seen.
    hold_us: Option<u64>,
    /// Buffers until it may move.
    settling: u32,
}

impl Policy for Latency {
    type Config = Config;

    fn new(config: Config, context: &Context) -> Result<Self, String> {
        tidegate_guest::in_ranges(&[
            ("target_ms", config.target_ms, 1, 60_000),
            ("max_bytes", config.max_bytes, 1, 1 << 30),
            ("idle_age_ms", config.idle_age_ms, 1, 60_000),
        ])?;
        Ok(Self {
            target_us: config.target_ms * 1_000,
            max_bytes: config.max_bytes.min(context.max_segment_bytes),
            idle_age_us: (config.idle_age_ms * 1_000).min(context.max_age_us),
            hold_us: None,
            settling: FIRST,
        })
    }

    /// The hold as it was learned, and when it may move; a successor with another target moves on from there.
    fn snapshot(&self) -> Vec<u8> {
        tidegate_guest::encode(&(self.hold_us, self.settling))
    }

    fn restore(&mut self, _: &str, snapshot: &[u8]) -> Result<(), String> {
        let (hold_us, settling): (Option<u64>, u32) = tidegate_guest::decode(snapshot)?;
        self.settling = settling;
        self.hold_us = hold_us.map(|hold| hold.clamp(MIN_HOLD_US, self.target_us.max(MIN_HOLD_US)));
        Ok(())
    }
}

impl Flush for Latency {
    fn decide(&mut self, view: &FlushView) -> FlushDecision {
        if view.reason == FlushReason::FirstAppend {
            self.learn(view);
        }
        if view.pressure_permille >= PRESSURE_PERMILLE {
            return FlushDecision::Now;
        }
        let age_us = if view.waiting_acks == 0 { self.idle_age_us } else { self.hold_us(view) };
        FlushBounds { bytes: self.max_bytes, age_us, ..FlushBounds::NONE }.on(view)
    }
}

impl Latency {
    /// How long a buffer may wait for its seal.
    fn hold_us(&self, view: &FlushView) -> u64 {
        self.hold_us.unwrap_or_else(|| self.first_hold_us(view)).min(self.idle_age_us)
    }

    fn first_hold_us(&self, view: &FlushView) -> u64 {
        self.target_us.saturating_sub(view.upload_p50_us.saturating_mul(2)).max(MIN_HOLD_US)
    }

    fn learn(&mut self, view: &FlushView) {
        if view.ack_p99_us == 0 {
            return;
        }
        self.settling = self.settling.saturating_sub(1);
        if self.settling > 0 {
            return;
        }
        self.settling = WINDOW;
        let hold = self.hold_us(view);
        let late = view.ack_p99_us.saturating_sub(self.target_us);
        let early = view.ack_p99_us < self.target_us / 10 * 9;
        let throttling = view.throttled_permille >= THROTTLING_PERMILLE;
        let moved = match (late, early) {
            (1.., _) if !throttling => hold - late.min(hold / 2),
            (_, true) => hold + (self.target_us / 20 * 19 - view.ack_p99_us) / 2,
            _ => hold,
        };
        self.hold_us = Some(moved.clamp(MIN_HOLD_US, self.target_us.max(MIN_HOLD_US)));
    }
}

tidegate_guest::export! {
    summary: "Holds a target of ack latency with as few PUTs as it allows",
    config_schema: include_str!("../config.schema.json"),
    state: carried,
    flush: Latency,
}

#[cfg(test)]
mod tests;

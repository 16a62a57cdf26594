//! Sizes segments to the arrival rate, within a latency bound and a PUT budget. The policy to begin with.
//!
//! Four ideas, in the order in which they are asked:
//!
//! 1. **Bounds.** A batch is never held beyond `max_age_ms`, a buffer never beyond `max_bytes`, and memory pressure flushes at once.
//! 2. **Budget.** With `puts_per_min` set, a flush that no bound asks for waits until the lane's share of the budget allows it.
//! 3. **Group commit.** While uploads run, what arrives meanwhile is the next segment, sealed when one of them finishes.
//! 4. **Quiet gap.** Producers stop sending once their few requests in flight wait for acks. If acks wait, nothing uploads and nothing has
//!    arrived for `quiet_us`, everybody waits for this flush: it goes. At low load an ack so takes a gap and an upload, not the whole age.
//!    A store that takes less than the gap for an upload (a local disk) makes the gap the larger part of an ack: there the buffer goes at once,
//!    and what arrives during its upload is the next group.
//!
//! While nobody waits for acks, only cost counts: segments grow to what arrives within `max_age_ms`.

use serde::{Deserialize, Serialize};
use tidegate_guest::{ANY_UPLOADS, Context, Flush, FlushBounds, FlushDecision, FlushReason, FlushView, Policy, PutBudget, UNBOUNDED};

/// Shortest time between flushes that the arrival rate alone asks for, in microseconds.
const MIN_INTERVAL_US: u64 = 5_000;
/// So much of the budget may be saved up, in milliseconds.
const SAVED_MS: u64 = 2_000;
/// Smallest size that is worth a PUT of its own while more arrives, in bytes.
const MIN_TARGET_BYTES: u64 = 64 << 10;
/// Share of the host's buffers in use at which everything is flushed, in permille.
const PRESSURE_PERMILLE: u32 = 850;
/// A throttled store is asked less often: the quiet gap grows by this for each permille of throttled requests, in microseconds.
const THROTTLED_US_PER_PERMILLE: u64 = 100;

/// The bounds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Oldest that a buffered batch gets, in milliseconds.
    pub max_age_ms: u64,
    /// Largest buffer, in bytes.
    pub max_bytes: u64,
    /// PUTs per minute of the whole topic; 0: no budget. `max_age_ms` and `max_bytes` hold even where that takes more.
    pub puts_per_min: u64,
    /// Pause of arrivals after which waiting producers are let go on, in microseconds.
    pub quiet_us: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { max_age_ms: 250, max_bytes: 16 << 20, puts_per_min: 0, quiet_us: 2_000 }
    }
}

/// See the crate.
#[derive(Debug)]
pub struct Adaptive {
    max_age_us: u64,
    max_bytes: u64,
    quiet_us: u64,
    budget: PutBudget,
    /// While more uploads than this run, the buffer waits for one of them.
    group: Option<u32>,
}

/// What it hands over at a swap; a later version adds fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Learned {
    tokens: u64,
    refilled_ms: u64,
    #[serde(default)]
    group: Option<u32>,
}

impl Policy for Adaptive {
    type Config = Config;

    fn new(config: Config, context: &Context) -> Result<Self, String> {
        for (key, value) in [("max_age_ms", config.max_age_ms), ("max_bytes", config.max_bytes), ("quiet_us", config.quiet_us)] {
            if value == 0 {
                return Err(format!("{key} is 0, expected at least 1"));
            }
        }
        Ok(Self {
            max_age_us: config.max_age_ms.saturating_mul(1_000).min(context.max_age_us),
            max_bytes: config.max_bytes.min(context.max_segment_bytes),
            quiet_us: config.quiet_us,
            budget: PutBudget::new(config.puts_per_min, SAVED_MS, context.lanes),
            group: None,
        })
    }

    fn snapshot(&self) -> Vec<u8> {
        let (tokens, refilled_ms) = self.budget.saved();
        tidegate_guest::encode(&Learned { tokens, refilled_ms, group: self.group })
    }

    fn restore(&mut self, _: &str, snapshot: &[u8]) -> Result<(), String> {
        let Learned { tokens, refilled_ms, group } = tidegate_guest::decode(snapshot)?;
        self.budget.go_on((tokens, refilled_ms));
        self.group = group;
        Ok(())
    }
}

impl Flush for Adaptive {
    fn decide(&mut self, view: &FlushView) -> FlushDecision {
        if view.reason == FlushReason::FirstAppend {
            self.group = None;
            self.budget.spend();
        }
        self.budget.refill(view.now_ms, view.topic_put_share_permille);
        if self.must_flush(view) {
            return FlushDecision::Now;
        }
        let bounds = FlushBounds { bytes: self.max_bytes, age_us: self.max_age_us, ..FlushBounds::NONE };
        if let Some(wait_ms) = self.budget.wait_ms() {
            let allowed_us = view.oldest_age_us.saturating_add(wait_ms.saturating_mul(1_000));
            return FlushDecision::Wait(FlushBounds { age_us: allowed_us.min(self.max_age_us), ..bounds });
        }
        if view.waiting_acks == 0 {
            return FlushBounds { bytes: self.target_bytes(view, self.max_age_us), ..bounds }.on(view);
        }
        self.for_waiting_producers(view, bounds)
    }
}

impl Adaptive {
    fn must_flush(&self, view: &FlushView) -> bool {
        view.pressure_permille >= PRESSURE_PERMILLE || view.oldest_age_us >= self.max_age_us || view.buffered_bytes >= self.max_bytes
    }

    fn for_waiting_producers(&mut self, view: &FlushView, bounds: FlushBounds) -> FlushDecision {
        let interval_us = view.upload_p50_us.max(MIN_INTERVAL_US).min(self.max_age_us);
        let bytes = self.target_bytes(view, interval_us);
        if view.uploads_in_flight > 0 {
            let group = *self.group.get_or_insert(view.uploads_in_flight - 1);
            return FlushBounds { bytes, uploads_at_most: group, ..bounds }.on(view);
        }
        let grouped = self.group.is_some() || view.reason == FlushReason::UploadDone;
        if grouped || self.outruns_a_gap(view) {
            return FlushDecision::Now;
        }
        let quiet_us = self.quiet_us.saturating_add(u64::from(view.throttled_permille) * THROTTLED_US_PER_PERMILLE);
        FlushBounds { bytes, age_us: interval_us, quiet_us, records: UNBOUNDED, uploads_at_most: ANY_UPLOADS }.on(view)
    }

    /// Whether an upload, as far as is known, takes less than the wait for a gap.
    fn outruns_a_gap(&self, view: &FlushView) -> bool {
        view.throttled_permille == 0 && (1..self.quiet_us).contains(&view.upload_p50_us)
    }

    /// What arrives within an interval.
    fn target_bytes(&self, view: &FlushView, interval_us: u64) -> u64 {
        let bytes = u128::from(view.arrival_bytes_per_s) * u128::from(interval_us) / 1_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX).max(MIN_TARGET_BYTES).min(self.max_bytes)
    }
}

tidegate_guest::export! {
    name: "flush-adaptive",
    summary: "Sizes segments to the arrival rate, within a latency bound and a PUT budget",
    config_schema: include_str!("../config.schema.json"),
    state: carried,
    flush: Adaptive,
}

#[cfg(test)]
mod tests;

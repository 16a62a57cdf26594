//! The lowest ack latency that a budget of PUTs pays for.
//!
//! A budget is a rate, and a burst that may be saved up. What it is spent on:
//!
//! 1. **A full bucket** means quiet times: a batch goes after `gather_ms`, and its ack takes little more than an upload.
//! 2. **As it empties**, batches are held for longer, up to the time in which one PUT is earned: the last saved PUTs last.
//! 3. **An empty bucket** paces flushes at the rate. Segments grow with the load then, and requests do not.
//! 4. **While nobody waits for acks** batches are held for `max_age_ms`, and the budget is saved for those who do.
//!
//! `max_age_ms`, `max_bytes` and memory pressure hold even where that takes more than the budget.

use serde::Deserialize;
use tidegate_guest::{Context, Flush, FlushBounds, FlushDecision, FlushReason, FlushView, Policy, PutBudget};

/// Share of the host's buffers in use at which everything is flushed, in permille.
const PRESSURE_PERMILLE: u32 = 850;

/// The budget, and the bounds beyond it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// PUTs per minute of the whole topic, in the long run; 1 to 1000000.
    pub puts_per_min: u64,
    /// PUTs of the whole topic that may be saved up; 0 to 1000000.
    pub burst: u64,
    /// Age at which a batch goes while the budget is full, in milliseconds; 1 to 60000.
    pub gather_ms: u64,
    /// Oldest that a batch gets, in milliseconds; 1 to 60000.
    pub max_age_ms: u64,
    /// Largest buffer, in bytes; 1 to 1 GiB.
    pub max_bytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { puts_per_min: 600, burst: 20, gather_ms: 5, max_age_ms: 1_000, max_bytes: 16 << 20 }
    }
}

/// See the crate.
#[derive(Debug)]
pub struct Budgeted {
    gather_us: u64,
    max_age_us: u64,
    max_bytes: u64,
    budget: PutBudget,
}

impl Policy for Budgeted {
    type Config = Config;

    fn new(config: Config, context: &Context) -> Result<Self, String> {
        tidegate_guest::in_ranges(&[
            ("puts_per_min", config.puts_per_min, 1, 1_000_000),
            ("burst", config.burst, 0, 1_000_000),
            ("gather_ms", config.gather_ms, 1, 60_000),
            ("max_age_ms", config.max_age_ms, 1, 60_000),
            ("max_bytes", config.max_bytes, 1, 1 << 30),
        ])?;
        let max_age_us = (config.max_age_ms * 1_000).min(context.max_age_us);
        Ok(Self {
            gather_us: (config.gather_ms * 1_000).min(max_age_us),
            max_age_us,
            max_bytes: config.max_bytes.min(context.max_segment_bytes),
            budget: PutBudget::new(config.puts_per_min, config.burst * 60_000 / config.puts_per_min, context.lanes),
        })
    }

    fn snapshot(&self) -> Vec<u8> {
        tidegate_guest::encode(&self.budget.saved())
    }

    fn restore(&mut self, _: &str, snapshot: &[u8]) -> Result<(), String> {
        self.budget.go_on(tidegate_guest::decode(snapshot)?);
        Ok(())
    }
}

impl Flush for Budgeted {
    fn decide(&mut self, view: &FlushView) -> FlushDecision {
        if view.reason == FlushReason::FirstAppend {
            self.budget.spend();
        }
        self.budget.refill(view.now_ms, view.topic_put_share_permille);
        if view.pressure_permille >= PRESSURE_PERMILLE {
            return FlushDecision::Now;
        }
        let age_us = if view.waiting_acks == 0 { self.max_age_us } else { self.hold_us(view) };
        FlushBounds { bytes: self.max_bytes, age_us, ..FlushBounds::NONE }.on(view)
    }
}

impl Budgeted {
    /// How old the oldest batch may get before its buffer goes.
    fn hold_us(&self, view: &FlushView) -> u64 {
        let paid_us = match self.budget.wait_ms() {
            Some(wait_ms) => view.oldest_age_us.saturating_add(wait_ms.saturating_mul(1_000)),
            // The emptier, the longer: up to what it takes to earn the PUT that this flush spends.
            None => self.budget.earn_ms().saturating_mul(1_000 - self.budget.full_permille()),
        };
        paid_us.max(self.gather_us).min(self.max_age_us)
    }
}

tidegate_guest::export! {
    summary: "The lowest ack latency that a budget of PUTs pays for",
    config_schema: include_str!("../config.schema.json"),
    state: carried,
    flush: Budgeted,
}

#[cfg(test)]
mod tests;

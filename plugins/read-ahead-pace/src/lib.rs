//! Reads as far ahead as a reader gets while a GET is on its way, by its own pace; without a memory of its own.
//!
//! What counts is time. At its pace, less what producers add, a reader is some time away from the high watermark:
//!
//! 1. **At the tail** (within `tail_ms`) it reads what was just written, which is cached: nothing to do.
//! 2. **Catching up**, it stays ahead by what it consumes during one GET and `horizon_ms` more: enough that it does not wait, and no more.
//! 3. **Backfill**: a reader that needs longer than `backfill_ms`, or never arrives, reads what nobody else reads soon. It is read past the cache.

use serde::Deserialize;
use tidegate_guest::{Context, Policy, ReadAhead, ReadAheadDecision, ReadAheadView};

/// Distances in time.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Time at the reader's pace to stay ahead by, on top of what one GET takes, in milliseconds; 0 to 60000.
    pub horizon_ms: u64,
    /// Furthest ahead of a reader, in bytes; 1 to 1 GiB.
    pub max_bytes: u64,
    /// Sequential fetches after which reading ahead begins; 1 to 1000.
    pub min_fetches: u32,
    /// A reader so close to the end of the log is not read ahead of, in milliseconds; 0 to 60000.
    pub tail_ms: u64,
    /// A reader that takes longer than this to reach the end of the log is read past the cache, in milliseconds; 0: never.
    pub backfill_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { horizon_ms: 100, max_bytes: 32 << 20, min_fetches: 2, tail_ms: 50, backfill_ms: 600_000 }
    }
}

/// See the crate.
#[derive(Debug)]
pub struct Pace(Config);

impl Policy for Pace {
    type Config = Config;

    fn new(config: Config, _: &Context) -> Result<Self, String> {
        tidegate_guest::in_ranges(&[
            ("horizon_ms", config.horizon_ms, 0, 60_000),
            ("max_bytes", config.max_bytes, 1, 1 << 30),
            ("min_fetches", config.min_fetches.into(), 1, 1_000),
            ("tail_ms", config.tail_ms, 0, 60_000),
            ("backfill_ms", config.backfill_ms, 0, u32::MAX.into()),
        ])?;
        Ok(Self(config))
    }
}

impl ReadAhead for Pace {
    fn decide(&mut self, view: &ReadAheadView) -> ReadAheadDecision {
        let to_end_ms = time_to_end_ms(view);
        let admit = self.0.backfill_ms == 0 || to_end_ms <= self.0.backfill_ms;
        let starting = view.run_fetches < self.0.min_fetches;
        let bytes = if starting || to_end_ms <= self.0.tail_ms { 0 } else { self.ahead(view) };
        ReadAheadDecision { bytes, slices: 0, admit }
    }
}

impl Pace {
    fn ahead(&self, view: &ReadAheadView) -> u64 {
        let ahead_us = u128::from(get_us(view)) + u128::from(self.0.horizon_ms) * 1_000;
        let consumed = u128::from(view.pace_bytes_per_s).saturating_mul(ahead_us) / 1_000_000;
        let bytes = u64::try_from(consumed).unwrap_or(u64::MAX).max(view.last_fetch_bytes);
        bytes.min(self.0.max_bytes).min(view.lag_bytes)
    }
}

/// What fetching as much as last time takes, in microseconds.
fn get_us(view: &ReadAheadView) -> u64 {
    let transfer_us = view.last_fetch_bytes.saturating_mul(1_000_000).checked_div(view.store_bytes_per_s).unwrap_or(0);
    view.store_first_byte_us.saturating_add(transfer_us)
}

/// When the reader reaches the high watermark at its pace; the largest number: never.
fn time_to_end_ms(view: &ReadAheadView) -> u64 {
    if view.lag_bytes == 0 {
        return 0;
    }
    let gained = view.pace_bytes_per_s.saturating_sub(view.arrival_bytes_per_s);
    view.lag_bytes.saturating_mul(1_000).checked_div(gained).unwrap_or(u64::MAX)
}

tidegate_guest::export! {
    summary: "Reads ahead by a reader's pace and its time to the high watermark",
    config_schema: include_str!("../config.schema.json"),
    read_ahead: Pace,
}

#[cfg(test)]
mod tests;

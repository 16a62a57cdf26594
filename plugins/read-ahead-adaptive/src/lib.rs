//! Reads as far ahead as a reader has shown to need, and no further than it has shown to use.
//!
//! Each stream has a distance, in bytes, that moves between `min_bytes` and its reach:
//!
//! 1. **Growth.** A fetch that waited for the store doubles the distance. A reader that is always served from memory is far enough ahead.
//! 2. **Reach.** The distance is bounded by what the reader consumes while `gets_ahead` GETs follow one another (its pace times the store's
//!    latency), and by `max_bytes`: further ahead, bytes would only lie in memory for longer.
//! 3. **Waste.** Prefetched bytes that were evicted or left behind unread halve the distance, which then does not grow for
//!    `cooldown_fetches`: a reader that seeks, or memory that does not hold them for long enough, makes reading ahead a cost.
//! 4. **Pressure.** A stream takes half of what is free of the prefetch budget at most, so that others find some. While the cache is full, a
//!    reader further behind than all of it is read past it: what it reads would push out what others read again.
//! 5. **Seeks.** A new run starts over.

use tidegate_guest::{Context, Policy, ReadAhead, ReadAheadDecision, ReadAheadView};

mod config;

pub use config::Config;

/// What the last view said: what counts are the differences.
#[derive(Clone, Copy, Debug)]
struct Seen {
    run_fetches: u32,
    misses: u32,
    wasted_bytes: u64,
}

impl Seen {
    fn of(view: &ReadAheadView) -> Self {
        let wasted_bytes = view.evicted_bytes.saturating_add(view.abandoned_bytes);
        Self { run_fetches: view.run_fetches, misses: view.misses, wasted_bytes }
    }
}

/// See the crate.
#[derive(Debug)]
pub struct Adaptive {
    config: Config,
    cache_bytes: u64,
    /// How far to stay ahead, in bytes.
    distance: u64,
    /// Fetches during which it does not grow.
    cooling: u32,
    /// `None` before the first view: what the partition wasted and missed before is not this reader's.
    seen: Option<Seen>,
}

impl Policy for Adaptive {
    type Config = Config;

    fn new(config: Config, context: &Context) -> Result<Self, String> {
        let config = config.checked()?;
        Ok(Self { distance: config.min_bytes, config, cache_bytes: context.cache_bytes, cooling: 0, seen: None })
    }
}

impl ReadAhead for Adaptive {
    fn decide(&mut self, view: &ReadAheadView) -> ReadAheadDecision {
        self.learn(view);
        let admit = !self.is_backfill(view);
        if view.run_fetches < self.config.min_fetches {
            return ReadAheadDecision { bytes: 0, slices: 0, admit };
        }
        let held = view.ready_bytes.saturating_add(view.in_flight_bytes);
        let share = held.saturating_add(view.budget_free_bytes / 2);
        ReadAheadDecision { bytes: self.distance.min(share).min(view.lag_bytes), slices: 0, admit }
    }
}

impl Adaptive {
    /// Moves the distance by what happened since the last view.
    fn learn(&mut self, view: &ReadAheadView) {
        let now = Seen::of(view);
        match self.seen.replace(now) {
            Some(before) if now.run_fetches >= before.run_fetches => self.move_by(&before, &now),
            _ => (self.distance, self.cooling) = (self.config.min_bytes, 0),
        }
        self.distance = self.distance.clamp(self.config.min_bytes, self.reach(view));
    }

    fn move_by(&mut self, before: &Seen, now: &Seen) {
        if now.wasted_bytes > before.wasted_bytes {
            self.distance /= 2;
            self.cooling = self.config.cooldown_fetches;
        } else if self.cooling > 0 {
            self.cooling -= 1;
        } else if now.misses > before.misses {
            self.distance = self.distance.saturating_mul(2);
        }
    }

    /// What the reader consumes while a few GETs follow one another, and one fetch at least.
    fn reach(&self, view: &ReadAheadView) -> u64 {
        let transfer_us = view.last_fetch_bytes.saturating_mul(1_000_000).checked_div(view.store_bytes_per_s).unwrap_or(0);
        let get_us = u128::from(view.store_first_byte_us) + u128::from(transfer_us);
        let gets_us = get_us.saturating_mul(self.config.gets_ahead.into());
        let consumed = u128::from(view.pace_bytes_per_s).saturating_mul(gets_us) / 1_000_000;
        let bytes = u64::try_from(consumed).unwrap_or(u64::MAX).max(view.last_fetch_bytes);
        bytes.clamp(self.config.min_bytes, self.config.max_bytes)
    }

    fn is_backfill(&self, view: &ReadAheadView) -> bool {
        view.cache_free_permille < self.config.full_cache_permille && view.lag_bytes > self.cache_bytes
    }
}

tidegate_guest::export! {
    summary: "Reads ahead by what a reader misses and wastes, within its pace times the store's latency",
    config_schema: include_str!("../config.schema.json"),
    read_ahead: Adaptive,
}

#[cfg(test)]
mod tests;

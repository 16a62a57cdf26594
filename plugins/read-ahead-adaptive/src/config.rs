//! The bounds that an operator sets, and their ranges.

use serde::Deserialize;

/// Most bytes that a bound may name: 1 GiB.
const MOST_BYTES: u64 = 1 << 30;

/// The bounds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where reading ahead begins, and where waste stops shrinking it, in bytes; 1 to `max_bytes`.
    pub min_bytes: u64,
    /// Furthest ahead of a reader, in bytes; 1 to 1 GiB.
    pub max_bytes: u64,
    /// Furthest ahead of a reader, in GETs: what it consumes while so many follow one another; 1 to 64.
    pub gets_ahead: u32,
    /// Sequential fetches after which reading ahead begins; 1 to 1000.
    pub min_fetches: u32,
    /// Fetches after waste during which it does not grow; 0 to 10000.
    pub cooldown_fetches: u32,
    /// Free share of the cache below which a reader further behind than the whole cache is read past it, in permille; 0 to 1000, 0: never.
    pub full_cache_permille: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { min_bytes: 256 << 10, max_bytes: 32 << 20, gets_ahead: 4, min_fetches: 2, cooldown_fetches: 16, full_cache_permille: 20 }
    }
}

impl Config {
    /// The config itself if every bound lies in its range.
    pub(crate) fn checked(self) -> Result<Self, String> {
        tidegate_guest::in_ranges(&[
            ("max_bytes", self.max_bytes, 1, MOST_BYTES),
            ("min_bytes", self.min_bytes, 1, self.max_bytes),
            ("gets_ahead", self.gets_ahead.into(), 1, 64),
            ("min_fetches", self.min_fetches.into(), 1, 1_000),
            ("cooldown_fetches", self.cooldown_fetches.into(), 0, 10_000),
            ("full_cache_permille", self.full_cache_permille.into(), 0, 1_000),
        ])?;
        Ok(self)
    }
}

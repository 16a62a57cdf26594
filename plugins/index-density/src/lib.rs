//! Spaces index entries by what seeks cost: dense where small fetches start inside segments, coarse where nobody seeks.
//!
//! A fetch that starts inside a segment reads from the entry before its record: half a spacing in vain, on average. Everybody who opens the
//! slice pays for its index. So:
//!
//! 1. **Nobody seeks**, and nobody looks times up: as coarse as the host allows.
//! 2. **Seeks**: half a spacing is `waste_permille` of a typical fetch.
//! 3. **Lookups by time**: entries are also spaced in record time, as if records were spread evenly.
//! 4. **Size**: the index never takes more than `index_permille` of its slice.

use serde::Deserialize;
use tidegate_guest::{Context, Index, IndexSpacing, IndexView, Policy, UNBOUNDED};

/// Largest spacing that is of use, in bytes: the host's own limit.
const COARSEST: u64 = 64 << 10;
/// Smallest, likewise.
const DENSEST: u64 = 4 << 10;

/// What seeks and indexes may cost.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Bytes read in vain before the record that a seek is for, for each 1000 bytes of a typical fetch; 1 to 1000.
    pub waste_permille: u32,
    /// Largest index, in bytes for each 1000 bytes of the slice; 1 to 100.
    pub index_permille: u32,
    /// Lookups by timestamp a minute from which entries are also spaced by time; at least 1.
    pub lookups_per_min: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { waste_permille: 100, index_permille: 2, lookups_per_min: 6 }
    }
}

/// See the crate.
#[derive(Debug)]
pub struct Density {
    config: Config,
    /// Spacing at which the index takes its largest share of a slice, in bytes.
    affordable: u64,
}

impl Policy for Density {
    type Config = Config;

    fn new(config: Config, context: &Context) -> Result<Self, String> {
        tidegate_guest::in_ranges(&[
            ("waste_permille", config.waste_permille.into(), 1, 1_000),
            ("index_permille", config.index_permille.into(), 1, 100),
            ("lookups_per_min", config.lookups_per_min.into(), 1, u32::MAX.into()),
        ])?;
        let affordable = (u64::from(context.index_entry_bytes) * 1_000).div_ceil(config.index_permille.into());
        Ok(Self { config, affordable: affordable.clamp(DENSEST, COARSEST) })
    }
}

impl Index for Density {
    fn decide(&mut self, view: &IndexView) -> IndexSpacing {
        let by_time = view.time_lookups_per_min >= self.config.lookups_per_min;
        if view.seeks_per_min == 0 && !by_time {
            return IndexSpacing { bytes: COARSEST, records: UNBOUNDED, time_ms: UNBOUNDED };
        }
        let bytes = self.bytes(view);
        IndexSpacing { bytes, records: UNBOUNDED, time_ms: if by_time { time_ms(view, bytes) } else { UNBOUNDED } }
    }
}

impl Density {
    fn bytes(&self, view: &IndexView) -> u64 {
        let in_vain = u128::from(view.fetch_p50_bytes) * u128::from(self.config.waste_permille) / 1_000;
        let spacing = u64::try_from(in_vain * 2).unwrap_or(COARSEST);
        spacing.clamp(self.affordable, COARSEST)
    }
}

/// The time in which so many bytes of the slice were written.
fn time_ms(view: &IndexView, bytes: u64) -> u64 {
    let span = u128::from(view.time_span_ms) * u128::from(bytes) / u128::from(view.slice_bytes.max(1));
    u64::try_from(span).unwrap_or(UNBOUNDED).max(1)
}

tidegate_guest::export! {
    summary: "Spaces index entries by the size of the fetches that seek",
    config_schema: include_str!("../config.schema.json"),
    index: Density,
}

#[cfg(test)]
mod tests;

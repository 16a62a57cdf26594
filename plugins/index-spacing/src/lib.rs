//! An index entry every so many bytes, records or milliseconds of record time: what Kafka's `index.interval.bytes` is to a log on disk.

use serde::Deserialize;
use tidegate_guest::{Context, Index, IndexSpacing, IndexView, Policy, UNBOUNDED};

/// The spacing; 0 leaves a bound out.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Bytes between entries; the host keeps it between 4 KiB and 64 KiB.
    pub bytes: u64,
    /// Records between entries.
    pub records: u64,
    /// Record time between entries, in milliseconds.
    pub time_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { bytes: 32 << 10, records: 0, time_ms: 0 }
    }
}

/// See the crate.
#[derive(Debug)]
pub struct Spacing(IndexSpacing);

impl Policy for Spacing {
    type Config = Config;

    fn new(config: Config, _: &Context) -> Result<Self, String> {
        let bound = |value: u64| if value == 0 { UNBOUNDED } else { value };
        Ok(Self(IndexSpacing { bytes: bound(config.bytes), records: bound(config.records), time_ms: bound(config.time_ms) }))
    }
}

impl Index for Spacing {
    fn decide(&mut self, _: &IndexView) -> IndexSpacing {
        self.0
    }
}

tidegate_guest::export! {
    summary: "An index entry every so many bytes, records or milliseconds",
    config_schema: include_str!("../config.schema.json"),
    index: Spacing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_what_is_configured() {
        let mut policy: Spacing = tidegate_guest::create(r#"{"bytes": 8192, "time_ms": 500}"#, &Context::default()).unwrap();
        assert_eq!(policy.decide(&IndexView::default()), IndexSpacing { bytes: 8_192, records: UNBOUNDED, time_ms: 500 });
    }

    #[test]
    fn a_wrong_config_is_refused_by_its_key() {
        let refused = tidegate_guest::create::<Spacing>(r#"{"interval": 1}"#, &Context::default());
        assert!(refused.unwrap_err().contains("`interval`"));
    }
}

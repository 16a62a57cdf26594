//! Flushes when a lane's buffer has so many bytes or records, or its oldest batch is so old: predictable, and blind to waiting producers.

use serde::Deserialize;
use tidegate_guest::{Context, Flush, FlushBounds, FlushDecision, FlushView, Policy, UNBOUNDED};

/// The thresholds; 0 leaves one out.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Buffered bytes.
    pub bytes: u64,
    /// Buffered records.
    pub records: u64,
    /// Age of the oldest buffered batch, in milliseconds.
    pub age_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { bytes: 8 << 20, records: 0, age_ms: 250 }
    }
}

/// See the crate.
#[derive(Debug)]
pub struct Threshold {
    bounds: FlushBounds,
}

impl Policy for Threshold {
    type Config = Config;

    fn new(config: Config, _: &Context) -> Result<Self, String> {
        if config.bytes == 0 && config.records == 0 && config.age_ms == 0 {
            return Err("bytes, records and age_ms are all 0: give at least one of them".into());
        }
        let bound = |value: u64| if value == 0 { UNBOUNDED } else { value };
        let bounds = FlushBounds {
            bytes: bound(config.bytes),
            records: bound(config.records),
            age_us: bound(config.age_ms.saturating_mul(1_000)),
            ..FlushBounds::NONE
        };
        Ok(Self { bounds })
    }
}

impl Flush for Threshold {
    fn decide(&mut self, view: &FlushView) -> FlushDecision {
        self.bounds.on(view)
    }
}

tidegate_guest::export! {
    summary: "Flushes at bytes, records or age",
    config_schema: include_str!("../config.schema.json"),
    flush: Threshold,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(config: &str) -> Result<Threshold, String> {
        tidegate_guest::create(config, &Context::default())
    }

    #[test]
    fn flushes_at_the_first_threshold_crossed() {
        let mut policy = policy(r#"{"bytes": 1000, "records": 10, "age_ms": 5}"#).unwrap();
        let below = FlushView { buffered_bytes: 999, buffered_records: 9, oldest_age_us: 4_999, ..FlushView::default() };
        assert!(matches!(policy.decide(&below), FlushDecision::Wait(bounds) if bounds.bytes == 1_000 && bounds.age_us == 5_000));
        assert_eq!(policy.decide(&FlushView { buffered_bytes: 1_000, ..below }), FlushDecision::Now);
        assert_eq!(policy.decide(&FlushView { buffered_records: 10, ..below }), FlushDecision::Now);
        assert_eq!(policy.decide(&FlushView { oldest_age_us: 5_000, ..below }), FlushDecision::Now);
    }

    #[test]
    fn a_wrong_config_is_refused_by_its_key() {
        assert!(policy(r#"{"byte": 1}"#).unwrap_err().contains("`byte`"));
        assert!(policy(r#"{"bytes": "1"}"#).unwrap_err().contains("string"));
        assert!(policy(r#"{"bytes": 0, "age_ms": 0}"#).unwrap_err().contains("age_ms"));
        assert!(policy("").is_ok());
    }
}

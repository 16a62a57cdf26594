//! Stays a fixed distance ahead of a reader that has shown to be sequential.

use serde::Deserialize;
use tidegate_guest::{Context, Policy, ReadAhead, ReadAheadDecision, ReadAheadView};

/// How far, and for whom.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Slices to stay ahead by; absent: what the topic asks for.
    pub slices: Option<u32>,
    /// Bytes to stay ahead by; the larger of the two counts.
    pub bytes: u64,
    /// Sequential fetches after which reading ahead begins.
    pub min_fetches: u32,
    /// Whether what is read enters the cache.
    pub admit: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { slices: None, bytes: 0, min_fetches: 2, admit: true }
    }
}

/// See the crate.
#[derive(Debug)]
pub struct Fixed {
    ahead: ReadAheadDecision,
    min_fetches: u32,
}

impl Policy for Fixed {
    type Config = Config;

    fn new(config: Config, context: &Context) -> Result<Self, String> {
        let slices = config.slices.unwrap_or(context.read_ahead_slices);
        Ok(Self { ahead: ReadAheadDecision { bytes: config.bytes, slices, admit: config.admit }, min_fetches: config.min_fetches })
    }
}

impl ReadAhead for Fixed {
    fn decide(&mut self, view: &ReadAheadView) -> ReadAheadDecision {
        if view.run_fetches < self.min_fetches { ReadAheadDecision { bytes: 0, slices: 0, ..self.ahead } } else { self.ahead }
    }
}

tidegate_guest::export! {
    summary: "Stays a fixed distance ahead of sequential readers",
    config_schema: include_str!("../config.schema.json"),
    read_ahead: Fixed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_ahead_of_sequential_readers_only() {
        let mut policy: Fixed = tidegate_guest::create(r#"{"bytes": 4096}"#, &Context::default()).unwrap();
        let first = ReadAheadView { run_fetches: 1, ..ReadAheadView::default() };
        assert_eq!(policy.decide(&first), ReadAheadDecision { bytes: 0, slices: 0, admit: true });
        let second = ReadAheadView { run_fetches: 2, ..first };
        assert_eq!(policy.decide(&second), ReadAheadDecision { bytes: 4_096, slices: 2, admit: true });
    }

    #[test]
    fn a_wrong_config_is_refused_by_its_key() {
        assert!(tidegate_guest::create::<Fixed>(r#"{"slice": 1}"#, &Context::default()).unwrap_err().contains("`slice`"));
    }
}

//! A policy for tests: harmless while it is tried out, it loops for ever at the first decision about a buffer with records.

use serde::Deserialize;
use tidegate_guest::{Context, Flush, FlushBounds, FlushDecision, FlushView, Policy};

/// When it shows itself.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Buffered records at which it loops.
    pub records: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { records: 1 }
    }
}

/// See the crate.
#[derive(Debug)]
pub struct Loops {
    records: u64,
}

impl Policy for Loops {
    type Config = Config;

    fn new(config: Config, _: &Context) -> Result<Self, String> {
        Ok(Self { records: config.records })
    }
}

impl Flush for Loops {
    fn decide(&mut self, view: &FlushView) -> FlushDecision {
        if view.buffered_records >= self.records {
            loop {
                std::hint::black_box(self.records);
            }
        }
        FlushDecision::Wait(FlushBounds::NONE)
    }
}

tidegate_guest::export! {
    summary: "Loops for ever",
    config_schema: "",
    flush: Loops,
}

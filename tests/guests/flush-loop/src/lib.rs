//! A policy for tests: harmless while it is tried out, it loops for ever after some decisions.

use serde::Deserialize;
use tidegate_guest::{Context, Flush, FlushBounds, FlushDecision, FlushView, Policy};

/// When it shows itself.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The decision at which it loops, counted from 1.
    pub decision: u32,
}

impl Default for Config {
    fn default() -> Self {
        // More than the views that a host tries a policy on.
        Self { decision: 40 }
    }
}

/// See the crate.
#[derive(Debug)]
pub struct Loops {
    decisions_left: u32,
}

impl Policy for Loops {
    type Config = Config;

    fn new(config: Config, _: &Context) -> Result<Self, String> {
        Ok(Self { decisions_left: config.decision })
    }
}

impl Flush for Loops {
    fn decide(&mut self, _: &FlushView) -> FlushDecision {
        self.decisions_left = self.decisions_left.saturating_sub(1);
        if self.decisions_left == 0 {
            loop {
                std::hint::black_box(self.decisions_left);
            }
        }
        FlushDecision::Wait(FlushBounds::NONE)
    }
}

tidegate_guest::export! {
    summary: "Loops for ever",
    config_schema: r#"{"type":"object","additionalProperties":false,"properties":{"decision":{"type":"integer","minimum":0}}}"#,
    flush: Loops,
}

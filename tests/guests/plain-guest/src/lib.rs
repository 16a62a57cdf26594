//! Flushes at a size, without a standard library: what is left of a guest then. A size of 0 panics at the first decision about records.

#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

use alloc::string::String;

use serde::Deserialize;
use tidegate_guest::{Context, Flush, FlushBounds, FlushDecision, FlushView, Policy};

#[cfg(target_arch = "wasm32")]
mod heap;

/// The config.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Buffered bytes to flush at.
    pub bytes: u64,
}

/// See the crate.
#[derive(Debug)]
pub struct Plain(u64);

impl Policy for Plain {
    type Config = Config;

    fn new(config: Config, _: &Context) -> Result<Self, String> {
        Ok(Self(config.bytes))
    }
}

impl Flush for Plain {
    fn decide(&mut self, view: &FlushView) -> FlushDecision {
        let Some(share) = view.buffered_records.checked_div(self.0) else {
            assert!(view.buffered_records == 0, "{} records and no size", view.buffered_records);
            return FlushDecision::Wait(FlushBounds::NONE);
        };
        FlushBounds { bytes: self.0, records: share.max(100_000), ..FlushBounds::NONE }.on(view)
    }
}

tidegate_guest::export! {
    summary: "Flushes at a size",
    config_schema: r#"{"type":"object","additionalProperties":false,"properties":{"bytes":{"type":"integer","minimum":0}}}"#,
    flush: Plain,
}

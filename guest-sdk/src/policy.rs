//! The traits that a policy implements.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde::de::DeserializeOwned;

use crate::types::{Context, FlushDecision, FlushView, IndexSpacing, IndexView, ReadAheadDecision, ReadAheadView};

/// What every policy is: made from a config and the facts that do not change.
pub trait Policy: Sized + 'static {
    /// The config, with its defaults; `#[serde(default, deny_unknown_fields)]` refuses unknown keys by name.
    type Config: DeserializeOwned;

    /// A new instance, once for each owner. The error reaches the operator who binds the policy: name the key, say what was
    /// expected and what was found.
    fn new(config: Self::Config, context: &Context) -> Result<Self, String>;

    /// What it has learned, for the instance that takes over when another version or config of this policy is bound: at most 64 KiB, within the
    /// deadline of a decision. Asked only of a plugin that exports `state` ([`export!`](crate::export)); see [`encode`](crate::encode).
    fn snapshot(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes over what an instance of `version` of this plugin had learned, before the first decision. The error reaches the operator, and the
    /// policy starts as [`new`](Self::new) made it: check before changing anything.
    fn restore(&mut self, version: &str, snapshot: &[u8]) -> Result<(), String> {
        let _ = (version, snapshot);
        Err("it takes over no state".to_owned())
    }
}

/// Decides when to seal a lane's write buffer.
pub trait Flush: Policy {
    /// Asked at the first append into an empty buffer, when a bound of the last answer is crossed, when an upload finishes, when memory pressure
    /// changes.
    fn decide(&mut self, view: &FlushView) -> FlushDecision;
}

/// Decides how densely to index a slice.
pub trait Index: Policy {
    /// Asked once for each slice of a segment that is being sealed.
    fn decide(&mut self, view: &IndexView) -> IndexSpacing;
}

/// Decides how far to read ahead of a sequential reader.
pub trait ReadAhead: Policy {
    /// Asked at each fetch.
    fn decide(&mut self, view: &ReadAheadView) -> ReadAheadDecision;
}

/// A new instance from a binding's JSON, as a host makes it: for tests and simulations.
pub fn create<P: Policy>(config: &str, context: &Context) -> Result<P, String> {
    P::new(crate::config::parse(config)?, context)
}

//! Components: checked, compiled, and run within limits. The only place that names wasmtime.
//!
//! ```text
//! bytes ── sniff ── outline ── digest ── contract ── compile ── trial ──▶ LoadedPlugin ── instance per owner and kind
//!          size,    all of it  if one    version,    cached by  resources, instantiate,
//!          kind     parsed     is pinned allow-list  digest     describe, one dry decision
//! ```
//!
//! A trap poisons a whole store, and instances are freed only with their store: so there is exactly one instance in each store, and both are
//! thrown away at any fault. A deadline is counted in ticks of a thread of our own and re-armed before every call. A guest has no
//! capability but the log; the WASI interfaces that a standard library imports unused are inert.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

mod bytes_kind;
mod checked;
mod compile;
mod compile_cache;
mod contract;
mod engine;
mod error;
mod fault;
mod guest_log;
mod inspect;
mod instance;
mod limits;
mod outline;
mod plugin;
#[cfg(test)]
mod tests;
mod wasi;

pub use bytes_kind::{digest, verify_digest};
pub use error::LoadError;
pub use inspect::{Inspection, check, load, load_metered};
pub use plugin::LoadedPlugin;

use crate::config::PolicySettings;
use engine::Machine;

/// Checks and compiles components; the same bytes give the same plugin while it is in use.
pub(super) struct Loader {
    settings: PolicySettings,
    /// Made for the first component: it comes with a thread.
    machine: Mutex<Option<Arc<Machine>>>,
    loaded: Mutex<BTreeMap<String, Weak<LoadedPlugin>>>,
}

impl Loader {
    pub(super) fn new(settings: PolicySettings) -> Self {
        Self { settings, machine: Mutex::default(), loaded: Mutex::default() }
    }

    /// Blocks while it is compiled and tried out, each within its limit. `pinned`: the digest that the bytes must have.
    pub(super) fn load(&self, component: &[u8], pinned: Option<&str>) -> Result<Arc<LoadedPlugin>, LoadError> {
        let digest = digest(component);
        if let Some(plugin) = self.loaded.lock().get(&digest).and_then(Weak::upgrade) {
            pinned.map_or(Ok(()), |pinned| verify_digest(component, pinned))?;
            return Ok(plugin);
        }
        let plugin = Arc::new(LoadedPlugin::load(self.machine()?, component, pinned)?);
        let mut loaded = self.loaded.lock();
        loaded.retain(|_, plugin| plugin.strong_count() > 0);
        loaded.insert(digest, Arc::downgrade(&plugin));
        Ok(plugin)
    }

    fn machine(&self) -> Result<Arc<Machine>, LoadError> {
        let mut machine = self.machine.lock();
        if let Some(machine) = &*machine {
            return Ok(machine.clone());
        }
        Ok(machine.insert(Machine::start(&self.settings)?).clone())
    }
}

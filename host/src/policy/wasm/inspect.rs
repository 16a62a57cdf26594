//! What a component is, for people and tools.

use std::sync::Arc;

use serde::Serialize;

use super::engine::Machine;
use super::{LoadError, LoadedPlugin};
use crate::config::PolicySettings;
use crate::policy::Kind;

/// What a component says of itself and what was found in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// Short name.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// One line.
    pub summary: String,
    /// JSON Schema of its config; empty: it takes none.
    pub config_schema: String,
    /// The kinds that it decides.
    pub kinds: Vec<Kind>,
    /// Whether it carries what it has learned over a swap.
    pub stateful: bool,
    /// Version of the contract that it was written for.
    pub contract: String,
    /// Interfaces that it imports.
    pub imports: Vec<String>,
    /// Size of the component, in bytes.
    pub size: u64,
    /// `sha256:` and 64 hex digits.
    pub digest: String,
    /// Linear memory of an instance before it is initialised, in bytes.
    pub memory_bytes: u64,
    /// What compiling it took, in microseconds; little where the compiled code was kept.
    pub compile_us: u64,
}

/// Loads a component outside of any host, with all checks that it passes before it is bound: for authors. Blocks while it compiles.
pub fn load(bytes: &[u8], settings: &PolicySettings) -> Result<Arc<LoadedPlugin>, LoadError> {
    Ok(Arc::new(LoadedPlugin::load(Machine::start(settings)?, bytes, None)?))
}

/// The same, and its instances count the work of each call: see [`Cost::fuel`](crate::policy::Cost).
pub fn load_metered(bytes: &[u8], settings: &PolicySettings) -> Result<Arc<LoadedPlugin>, LoadError> {
    Ok(Arc::new(LoadedPlugin::load(Machine::metered(settings)?, bytes, None)?))
}

/// Checks a component as a host would before it binds it: everything but `init` with a real config. Blocks while it compiles.
pub fn check(bytes: &[u8], settings: &PolicySettings) -> Result<Inspection, LoadError> {
    Ok(load(bytes, settings)?.inspection().clone())
}

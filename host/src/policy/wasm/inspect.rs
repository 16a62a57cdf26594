//! What a component is, for people and tools.

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
    /// Version of the contract that it was written for.
    pub contract: String,
    /// Interfaces that it imports.
    pub imports: Vec<String>,
    /// Size of the component, in bytes.
    pub size: u64,
    /// `sha256:` and 64 hex digits.
    pub digest: String,
}

/// Checks a component as a host would before it binds it: everything but `init` with a real config. Blocks while it compiles.
pub fn check(bytes: &[u8], settings: &PolicySettings) -> Result<Inspection, LoadError> {
    let plugin = LoadedPlugin::load(Machine::start(settings)?, bytes, None)?;
    Ok(plugin.inspection().clone())
}

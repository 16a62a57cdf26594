//! A component in a file, and the limits under which it is tried.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use tidegate::config::PolicySettings;
use tidegate::policy::ConfigSchema;
use tidegate::policy::wasm::{Inspection, check};

/// Which component, and what it may take.
#[derive(Debug, Args)]
pub(crate) struct ComponentArgs {
    /// A component
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// Limits of a host that an author may want to try others of.
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// Largest component that is taken, in bytes
    #[arg(long, default_value_t = PolicySettings::default().component_bytes)]
    component_bytes: u64,
    /// Linear memory of an instance at most, in bytes
    #[arg(long, default_value_t = PolicySettings::default().memory_bytes)]
    memory_bytes: u64,
    /// Longest decision, in milliseconds
    #[arg(long, default_value_t = PolicySettings::default().decision_deadline_ms)]
    decision_deadline_ms: u64,
    /// Longest instantiation, `describe` or `init`, in milliseconds
    #[arg(long, default_value_t = PolicySettings::default().init_deadline_ms)]
    init_deadline_ms: u64,
    /// Longest compilation, in milliseconds
    #[arg(long, default_value_t = PolicySettings::default().compile_timeout_ms)]
    compile_timeout_ms: u64,
}

impl LimitArgs {
    pub(crate) fn settings(&self) -> PolicySettings {
        PolicySettings {
            component_bytes: self.component_bytes,
            memory_bytes: self.memory_bytes,
            decision_deadline_ms: self.decision_deadline_ms,
            init_deadline_ms: self.init_deadline_ms,
            compile_timeout_ms: self.compile_timeout_ms,
            ..PolicySettings::default()
        }
    }
}

pub(crate) fn read(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("component {} cannot be read", file.display()))
}

/// What is found in a component, after all checks; and its schema.
pub(crate) fn inspect(file: &Path, bytes: &[u8], limits: &PolicySettings) -> Result<(Inspection, ConfigSchema)> {
    let found = check(bytes, limits).with_context(|| format!("{} is refused", file.display()))?;
    let schema = ConfigSchema::read(&found.config_schema).map_err(anyhow::Error::msg)?;
    Ok((found, schema))
}

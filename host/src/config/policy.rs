//! Limits on policies and policies bound at start: the `[policy]` and `[[binding]]` sections.

use serde::{Deserialize, Serialize};

use super::Pattern;
use super::bounds::Bounds;
use crate::types::Kind;

/// Limits on policies, and where bundled ones are found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicySettings {
    /// Directory of components that a binding may name without a path.
    pub directory: Option<std::path::PathBuf>,
    /// Compiled components are kept here; without it they are compiled at each start.
    pub compile_cache: Option<std::path::PathBuf>,
    /// Longest decision, in milliseconds; longer ones are interrupted and answered by the built-in.
    pub decision_deadline_ms: u64,
    /// Longest `init`, `describe` or instantiation, in milliseconds.
    pub init_deadline_ms: u64,
    /// Linear memory of one instance at most, in bytes.
    pub memory_bytes: u64,
    /// WebAssembly stack of one call at most, in bytes; must be well below a worker thread's stack.
    pub stack_bytes: u64,
    /// Largest component, in bytes.
    pub component_bytes: u64,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            directory: None,
            compile_cache: None,
            decision_deadline_ms: 5,
            init_deadline_ms: 250,
            memory_bytes: 4 << 20,
            stack_bytes: 256 << 10,
            component_bytes: 4 << 20,
        }
    }
}

/// A policy bound by the settings file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingRule {
    /// Glob over topic names.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// A component's path, or the name of one in `policy.directory`.
    pub plugin: String,
    /// Passed to its `init` as JSON.
    #[serde(default)]
    pub config: toml::Table,
}

/// Stack of the threads that decisions run on, in bytes. Whoever builds the runtime gives its workers this much.
pub const WORKER_STACK_BYTES: usize = 2 << 20;

impl PolicySettings {
    pub(super) fn check(&self, bounds: &mut Bounds) {
        bounds.range("policy.decision_deadline_ms", self.decision_deadline_ms, 1..=1_000);
        bounds.range("policy.init_deadline_ms", self.init_deadline_ms, 1..=60_000);
        bounds.range("policy.memory_bytes", self.memory_bytes, 64 << 10..=1 << 30);
        // A guest that overran the thread's own stack would abort the process, so half of it stays free.
        bounds.range("policy.stack_bytes", self.stack_bytes, 16 << 10..=WORKER_STACK_BYTES as u64 / 2);
        bounds.range("policy.component_bytes", self.component_bytes, 1 << 10..=256 << 20);
    }
}

impl BindingRule {
    pub(super) fn check(&self, at: usize, bounds: &mut Bounds) {
        if let Err(e) = Pattern::new(&self.pattern) {
            bounds.problem(&format!("binding[{at}].pattern"), e.message());
        }
        if self.plugin.is_empty() {
            bounds.problem(&format!("binding[{at}].plugin"), "is empty: name a component file");
        }
    }
}

//! Limits on policies and policies bound at start: the `[policy]` and `[[binding]]` sections.

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, MAX_WAIT_MS};
use super::{BreakerSettings, GuestLogSettings, Pattern};
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
    /// Deadlines are counted in ticks of so many milliseconds, and rounded up to whole ones. Longer: fewer wake-ups while policies are asked.
    pub tick_ms: u64,
    /// How long a caller waits for the compiler, in milliseconds. It cannot be interrupted: it goes on, and what it comes to is there for the
    /// next try.
    pub compile_timeout_ms: u64,
    /// Compilations that nobody waits for any more and that still run; while there are so many, new components are refused as busy.
    pub overdue_compiles: u32,
    /// Linear memory of one instance at most, in bytes.
    pub memory_bytes: u64,
    /// WebAssembly stack of one call at most, in bytes; must be well below a worker thread's stack.
    pub stack_bytes: u64,
    /// Largest component, in bytes.
    pub component_bytes: u64,
    /// Custom sections (names, debug information) of one component at most, in bytes.
    pub custom_bytes: u64,
    /// Elements of one table at most.
    pub table_elements: u32,
    /// What a guest may hand over in one call, in bytes.
    pub handover_bytes: u64,
    /// Instances that the host holds at most, of all policies; where there are so many, the built-in decides. On Linux one takes up to four of the
    /// process's memory mappings, of which there are 65,530 unless `vm.max_map_count` is raised.
    pub instances: u32,
    /// An owner that has decided nothing for so long gives its instance back, in milliseconds; its next decision is the built-in's, while
    /// another instance is made.
    pub idle_ms: u64,
    /// A decision that takes this share of its deadline is slow: many of them are warned about. In percent.
    pub slow_percent: u64,
    /// One log line for each binding, topic and class of fault in so long a time, in milliseconds.
    pub fault_log_interval_ms: u64,
    /// When a faulty policy is left alone, and for how long.
    pub breaker: BreakerSettings,
    /// What guests may log.
    pub log: GuestLogSettings,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            directory: None,
            compile_cache: None,
            decision_deadline_ms: 5,
            init_deadline_ms: 250,
            tick_ms: 1,
            compile_timeout_ms: 30_000,
            overdue_compiles: 2,
            memory_bytes: 4 << 20,
            stack_bytes: 256 << 10,
            component_bytes: 4 << 20,
            custom_bytes: 1 << 20,
            table_elements: 10_000,
            handover_bytes: 64 << 10,
            instances: 12_000,
            idle_ms: 60_000,
            slow_percent: 50,
            fault_log_interval_ms: 10_000,
            breaker: BreakerSettings::default(),
            log: GuestLogSettings::default(),
        }
    }
}

/// What [`PolicySettings::component_bytes`] may be at most.
pub const MAX_COMPONENT_BYTES: u64 = 256 << 20;

/// A policy bound by the settings file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingRule {
    /// Glob over topic names.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// A component's path, that of a directory with one component, the name of one in `policy.directory`, `s3://bucket/key`, or
    /// `oci://registry/name:tag`.
    pub plugin: String,
    /// Digest that it must have: `sha256:` and 64 hex digits; left out: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
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
        bounds.range("policy.tick_ms", self.tick_ms, 1..=100);
        bounds.range("policy.compile_timeout_ms", self.compile_timeout_ms, 1..=MAX_WAIT_MS);
        bounds.range("policy.overdue_compiles", self.overdue_compiles, 1..=64);
        bounds.range("policy.memory_bytes", self.memory_bytes, 64 << 10..=1 << 30);
        // A guest that overran the thread's own stack would abort the process, so half of it stays free.
        bounds.range("policy.stack_bytes", self.stack_bytes, 16 << 10..=WORKER_STACK_BYTES as u64 / 2);
        bounds.range("policy.component_bytes", self.component_bytes, 1 << 10..=MAX_COMPONENT_BYTES);
        bounds.range("policy.custom_bytes", self.custom_bytes, 0..=256 << 20);
        bounds.range("policy.table_elements", self.table_elements, 1..=10_000_000);
        bounds.range("policy.handover_bytes", self.handover_bytes, 4 << 10..=64 << 20);
        bounds.range("policy.instances", self.instances, 0..=10_000_000);
        bounds.range("policy.idle_ms", self.idle_ms, 10..=24 * MAX_WAIT_MS);
        bounds.range("policy.slow_percent", self.slow_percent, 1..=100);
        bounds.range("policy.fault_log_interval_ms", self.fault_log_interval_ms, 0..=MAX_WAIT_MS);
        self.breaker.check(bounds);
        self.log.check(bounds);
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
        if let Some(digest) = self.digest.as_ref().filter(|digest| !is_digest(digest)) {
            let problem = format!("is {digest:?}: expected `sha256:` and 64 hex digits, as `tidegate plugin inspect` prints it");
            bounds.problem(&format!("binding[{at}].digest"), problem);
        }
    }
}

/// Whether a text is `sha256:` and 64 hex digits, in either case.
fn is_digest(text: &str) -> bool {
    let hex = |digits: &str| digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    text.get(..7).is_some_and(|name| name.eq_ignore_ascii_case("sha256:")) && hex(&text[7..])
}

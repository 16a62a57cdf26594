//! What a guest may take, and what else a store holds.

use std::sync::Arc;

use wasmtime::ResourceLimiter;

use super::guest_log::GuestLog;
use crate::config::PolicySettings;

/// The data of a store.
pub(super) struct State {
    pub(super) limits: Limits,
    pub(super) log: GuestLog,
}

/// Bounds memories and tables, and remembers what it denied: denied growth surfaces as an ordinary trap.
#[derive(Debug)]
pub(super) struct Limits {
    memory_bytes: usize,
    table_elements: usize,
    used: usize,
    denied: Option<usize>,
}

impl State {
    pub(super) fn new(settings: &PolicySettings, topic: &str, plugin: Arc<str>) -> Self {
        let memory_bytes = usize::try_from(settings.memory_bytes).unwrap_or(usize::MAX);
        let limits = Limits { memory_bytes, table_elements: settings.table_elements as usize, used: 0, denied: None };
        Self { limits, log: GuestLog::new(settings.log, topic, plugin) }
    }

    /// Forgets what earlier calls left.
    pub(super) fn begin_call(&mut self) {
        self.limits.denied = None;
        self.log.begin_call();
    }

    /// The bytes of memory that the current call asked for and did not get.
    pub(super) fn denied(&self) -> Option<usize> {
        self.limits.denied
    }
}

impl Limits {
    /// Linear memory in use, in bytes.
    pub(super) fn used_bytes(&self) -> u64 {
        self.used as u64
    }
}

impl ResourceLimiter for Limits {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let wanted = self.used.saturating_add(desired.saturating_sub(current));
        if wanted > self.memory_bytes {
            self.denied = Some(wanted);
            return Ok(false);
        }
        self.used = wanted;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= self.table_elements)
    }

    fn instances(&self) -> usize {
        64
    }

    fn memories(&self) -> usize {
        4
    }

    fn tables(&self) -> usize {
        16
    }
}

//! Decisions, faults and fallbacks.

use prometheus_client::registry::Registry;

/// Decisions, faults and fallbacks.
#[derive(Debug)]
pub struct PolicyMetrics {}

impl PolicyMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let _ = registry;
        Self {}
    }
}

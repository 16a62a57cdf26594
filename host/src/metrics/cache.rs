//! Cache and read-ahead.

use prometheus_client::registry::Registry;

/// Cache and read-ahead.
#[derive(Debug)]
pub struct CacheMetrics {}

impl CacheMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let _ = registry;
        Self {}
    }
}

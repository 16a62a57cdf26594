//! Incremental fetch sessions, which the broker keeps.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Fetch sessions.
#[derive(Debug, Default)]
pub struct FetchMetrics {
    /// Sessions that are kept.
    pub sessions: Gauge,
    /// Partitions that they follow.
    pub session_partitions: Gauge,
    /// Bytes that they are counted with.
    pub session_bytes: Gauge,
    /// Sessions dropped to make room for others, or because they grew too large.
    pub session_evictions: Counter,
}

impl FetchMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("sessions", "Fetch sessions that are kept", metrics.sessions.clone());
        registry.register("session_partitions", "Partitions that fetch sessions follow", metrics.session_partitions.clone());
        registry.register("session_bytes", "Bytes that fetch sessions are counted with", metrics.session_bytes.clone());
        registry.register("session_evictions", "Fetch sessions dropped for lack of room", metrics.session_evictions.clone());
        metrics
    }
}

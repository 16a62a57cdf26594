//! Consumer groups: their offsets, and what the broker does for them.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Consumer groups.
#[derive(Debug, Default)]
pub struct GroupMetrics {
    /// Offset commits that became durable.
    pub offset_commits: Counter,
    /// Writes of offset shards: commits that wait together share one.
    pub offset_writes: Counter,
    /// Writes of offset shards that another host's change came before; they are tried again.
    pub offset_write_conflicts: Counter,
    /// Writes of offset shards that failed.
    pub offset_write_failures: Counter,
    /// Groups that a broker coordinates.
    pub groups: Gauge,
    /// Members of these groups.
    pub members: Gauge,
    /// Generations that began.
    pub rebalances: Counter,
    /// Members removed because they were silent for too long.
    pub expired_members: Counter,
}

impl GroupMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("offset_commits", "Offset commits that became durable", metrics.offset_commits.clone());
        registry.register("offset_writes", "Writes of offset shards", metrics.offset_writes.clone());
        let conflicts = "Writes of offset shards that another host's change came before";
        registry.register("offset_write_conflicts", conflicts, metrics.offset_write_conflicts.clone());
        registry.register("offset_write_failures", "Writes of offset shards that failed", metrics.offset_write_failures.clone());
        registry.register("groups", "Groups coordinated here", metrics.groups.clone());
        registry.register("members", "Members of groups coordinated here", metrics.members.clone());
        registry.register("rebalances", "Generations of groups that began", metrics.rebalances.clone());
        registry.register("expired_members", "Members removed because they were silent for too long", metrics.expired_members.clone());
        metrics
    }
}

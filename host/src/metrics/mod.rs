//! Counters and histograms, in Prometheus' terms. Each part of the host has its own file and struct; the
//! admin API prints them all. Names start with `tidegate_`, units are in the names.

use prometheus_client::registry::Registry;

pub mod cache;
mod fetch;
mod group;
mod lane;
mod policy;
mod recent;
mod runtime;
mod security;
mod shadow;
mod store;

pub use cache::CacheMetrics;
pub use fetch::FetchMetrics;
pub use group::GroupMetrics;
pub use lane::LaneMetrics;
pub use policy::{PolicyCounters, PolicyMetrics};
pub use recent::{Recent, StoreStats};
pub use runtime::RuntimeMetrics;
pub use security::SecurityMetrics;
pub use shadow::{ShadowCounters, ShadowMetrics};
pub use store::StoreMetrics;

/// All metrics of a host.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Requests to the object store.
    pub store: StoreMetrics,
    /// Appends, flushes, commits.
    pub lane: LaneMetrics,
    /// Hits, misses, prefetch and its waste.
    pub cache: CacheMetrics,
    /// Decisions, faults, fallbacks.
    pub policy: PolicyMetrics,
    /// Candidates that run beside live policies.
    pub shadow: ShadowMetrics,
    /// Topics, lanes, upkeep.
    pub runtime: RuntimeMetrics,
    /// Consumer groups.
    pub group: GroupMetrics,
    /// Fetch sessions of the broker.
    pub fetch: FetchMetrics,
    /// Who connects, and what they were kept from.
    pub security: SecurityMetrics,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("tidegate");
        Self {
            store: StoreMetrics::register(registry.sub_registry_with_prefix("store")),
            lane: LaneMetrics::register(registry.sub_registry_with_prefix("lane")),
            cache: CacheMetrics::register(registry.sub_registry_with_prefix("cache")),
            policy: PolicyMetrics::register(registry.sub_registry_with_prefix("policy")),
            shadow: ShadowMetrics::register(registry.sub_registry_with_prefix("shadow")),
            runtime: RuntimeMetrics::register(registry.sub_registry_with_prefix("runtime")),
            group: GroupMetrics::register(registry.sub_registry_with_prefix("group")),
            fetch: FetchMetrics::register(registry.sub_registry_with_prefix("fetch")),
            security: SecurityMetrics::register(registry.sub_registry_with_prefix("security")),
            registry,
        }
    }
}

impl Metrics {
    /// The metrics in OpenMetrics text format.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }
}

//! Topics, lanes and upkeep of a host.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

/// Topics, lanes and upkeep.
#[derive(Debug, Default)]
pub struct RuntimeMetrics {
    /// Lanes that this host took the lead of.
    pub lanes_opened: Counter,
    /// Openings of lanes that failed.
    pub lane_opening_failures: Counter,
    /// Rounds of retention, or of looking for other hosts' changes, that failed.
    pub upkeep_failures: Counter,
    /// Bindings whose component could not be loaded.
    pub binding_failures: Counter,
}

impl RuntimeMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("lanes_opened", "Lanes that this host took the lead of", metrics.lanes_opened.clone());
        registry.register("lane_opening_failures", "Openings of lanes that failed", metrics.lane_opening_failures.clone());
        registry.register("upkeep_failures", "Rounds of retention or refresh that failed", metrics.upkeep_failures.clone());
        registry.register("binding_failures", "Bindings whose component could not be loaded", metrics.binding_failures.clone());
        metrics
    }

    /// Counts the end of an opening.
    pub(crate) fn opened(&self, ok: bool) {
        let counter = if ok { &self.lanes_opened } else { &self.lane_opening_failures };
        counter.inc();
    }
}

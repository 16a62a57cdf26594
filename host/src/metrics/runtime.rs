//! Topics, lanes and upkeep of a host.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
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
    /// Policies of the settings whose component is not there yet, and is tried again.
    pub bindings_awaited: Gauge,
    /// Requests to change a binding, by what became of them.
    binding_requests: Family<Vec<(&'static str, &'static str)>, Counter>,
}

impl RuntimeMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("lanes_opened", "Lanes that this host took the lead of", metrics.lanes_opened.clone());
        registry.register("lane_opening_failures", "Openings of lanes that failed", metrics.lane_opening_failures.clone());
        registry.register("upkeep_failures", "Rounds of retention or refresh that failed", metrics.upkeep_failures.clone());
        registry.register("binding_failures", "Bindings whose component could not be loaded", metrics.binding_failures.clone());
        let help = "Policies of the settings whose component is not there yet, and is tried again";
        registry.register("bindings_awaited", help, metrics.bindings_awaited.clone());
        let help = "Requests to change a binding, by outcome: set, unset, rollback, unchanged, refused, superseded, failed";
        registry.register("binding_requests", help, metrics.binding_requests.clone());
        metrics
    }

    /// Counts a request to change a binding.
    pub(crate) fn binding_request(&self, outcome: &'static str) {
        self.binding_requests.get_or_create_owned(&vec![("outcome", outcome)]).inc();
    }

    /// Counts the end of an opening.
    pub(crate) fn opened(&self, ok: bool) {
        let counter = if ok { &self.lanes_opened } else { &self.lane_opening_failures };
        counter.inc();
    }
}

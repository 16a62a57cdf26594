//! Candidates that run beside live policies.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

type Labels = Vec<(&'static str, String)>;

/// Shadows, by kind and plugin.
#[derive(Debug)]
pub struct ShadowMetrics {
    decisions: Family<Labels, Counter>,
    compared: Family<Labels, Counter>,
    faults: Family<Labels, Counter>,
    dropped: Family<Labels, Counter>,
}

/// The counters of one shadow.
#[derive(Debug)]
pub struct ShadowCounters {
    labels: Labels,
    compared: Family<Labels, Counter>,
    faults: Family<Labels, Counter>,
    /// Calls of the candidate.
    pub decisions: Counter,
    /// Events that it was too slow for.
    pub dropped: Counter,
}

impl ShadowCounters {
    /// Counts a fault of a class.
    pub fn fault(&self, class: &'static str) {
        self.faults.get_or_create(&self.with("class", class)).inc();
    }

    /// Counts a comparison, by its direction.
    pub fn compared(&self, direction: &'static str) {
        self.compared.get_or_create(&self.with("direction", direction)).inc();
    }

    fn with(&self, name: &'static str, value: &str) -> Labels {
        let mut labels = self.labels.clone();
        labels.push((name, value.to_owned()));
        labels
    }
}

impl ShadowMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics =
            Self { decisions: Family::default(), compared: Family::default(), faults: Family::default(), dropped: Family::default() };
        registry.register("decisions", "Calls of a candidate that runs in a shadow", metrics.decisions.clone());
        registry.register("comparisons", "Comparisons of a candidate with the live policy, by direction", metrics.compared.clone());
        registry.register("faults", "Failures of a candidate, by class", metrics.faults.clone());
        registry.register("dropped_events", "Events that a shadow was too slow for", metrics.dropped.clone());
        metrics
    }

    /// The counters of one kind and plugin.
    pub fn counters(&self, kind: &'static str, plugin: &str) -> ShadowCounters {
        let labels = vec![("kind", kind.to_owned()), ("plugin", plugin.to_owned())];
        ShadowCounters {
            compared: self.compared.clone(),
            faults: self.faults.clone(),
            decisions: self.decisions.get_or_create_owned(&labels),
            dropped: self.dropped.get_or_create_owned(&labels),
            labels,
        }
    }
}

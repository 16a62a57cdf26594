//! Decisions, faults and fallbacks.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

type Labels = Vec<(&'static str, String)>;
type Seconds = Family<Labels, Histogram, fn() -> Histogram>;

/// Decisions, faults and fallbacks, by kind and plugin.
#[derive(Debug)]
pub struct PolicyMetrics {
    decisions: Family<Labels, Counter>,
    fallbacks: Family<Labels, Counter>,
    clamps: Family<Labels, Counter>,
    faults: Family<Labels, Counter>,
    seconds: Seconds,
}

/// The counters of one kind and plugin, looked up once: a call must not.
#[derive(Debug)]
pub struct PolicyCounters {
    labels: Labels,
    faults: Family<Labels, Counter>,
    /// Calls of the policy.
    pub decisions: Counter,
    /// Answers of the built-in in its place.
    pub fallbacks: Counter,
    /// Fields of answers moved into the host's limits.
    pub clamps: Counter,
    /// Time of a call, of those that are timed.
    pub seconds: Histogram,
}

impl PolicyCounters {
    /// Counts a fault of a class.
    pub fn fault(&self, class: &'static str) {
        let mut labels = self.labels.clone();
        labels.push(("class", class.to_owned()));
        self.faults.get_or_create(&labels).inc();
    }
}

impl PolicyMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let seconds: Seconds = Family::new_with_constructor(|| Histogram::new(exponential_buckets(1e-7, 4.0, 10)));
        let metrics = Self {
            decisions: Family::default(),
            fallbacks: Family::default(),
            clamps: Family::default(),
            faults: Family::default(),
            seconds,
        };
        registry.register("decisions", "Calls of a bound policy", metrics.decisions.clone());
        registry.register("fallbacks", "Answers of the built-in in place of a bound policy", metrics.fallbacks.clone());
        registry.register("clamps", "Fields of answers that were moved into the host's limits", metrics.clamps.clone());
        registry.register("faults", "Failures of a policy, by class", metrics.faults.clone());
        let help = "Time of a decision; one in eight is timed";
        registry.register_with_unit("decision", help, Unit::Seconds, metrics.seconds.clone());
        metrics
    }

    /// The counters of one kind and plugin.
    pub fn counters(&self, kind: &'static str, plugin: &str) -> PolicyCounters {
        let labels = vec![("kind", kind.to_owned()), ("plugin", plugin.to_owned())];
        PolicyCounters {
            faults: self.faults.clone(),
            decisions: self.decisions.get_or_create_owned(&labels),
            fallbacks: self.fallbacks.get_or_create_owned(&labels),
            clamps: self.clamps.get_or_create_owned(&labels),
            seconds: self.seconds.get_or_create_owned(&labels),
            labels,
        }
    }
}

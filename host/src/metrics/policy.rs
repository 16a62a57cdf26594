//! Decisions, faults, fallbacks and instances.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

type Labels = Vec<(&'static str, String)>;
type Seconds = Family<Labels, Histogram, fn() -> Histogram>;

/// Decisions, faults, fallbacks and instances, by kind and plugin.
#[derive(Debug)]
pub struct PolicyMetrics {
    decisions: Family<Labels, Counter>,
    fallbacks: Family<Labels, Counter>,
    clamps: Family<Labels, Counter>,
    faults: Family<Labels, Counter>,
    warnings: Family<Labels, Counter>,
    starts: Family<Labels, Counter>,
    instances: Family<Labels, Gauge>,
    seconds: Seconds,
}

/// The counters of one kind and plugin, looked up once: a call must not.
#[derive(Debug)]
pub struct PolicyCounters {
    labels: Labels,
    faults: Family<Labels, Counter>,
    warnings: Family<Labels, Counter>,
    starts: Family<Labels, Counter>,
    /// Calls of the policy.
    pub decisions: Counter,
    /// Answers of the built-in in its place.
    pub fallbacks: Counter,
    /// Fields of answers moved into the host's limits, in the order in which the fields were given.
    pub clamps: Vec<Counter>,
    /// Instances held.
    pub instances: Gauge,
    /// Time of a call, of those that are timed.
    pub seconds: Histogram,
}

impl PolicyCounters {
    /// Counts a fault of a class.
    pub fn fault(&self, class: &'static str) {
        self.faults.get_or_create(&with(&self.labels, "class", class)).inc();
    }

    /// Counts an instance that took over from one of another binding: `warm` or `cold`.
    pub fn start(&self, start: &'static str) {
        self.starts.get_or_create(&with(&self.labels, "start", start)).inc();
    }

    /// Counts a warning.
    pub fn warning(&self, warning: &'static str) {
        self.warnings.get_or_create(&with(&self.labels, "warning", warning)).inc();
    }
}

fn with(labels: &Labels, name: &'static str, value: &str) -> Labels {
    let mut labels = labels.clone();
    labels.push((name, value.to_owned()));
    labels
}

impl PolicyMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        // From 100 ns to the longest deadline that can be set.
        let seconds: Seconds = Family::new_with_constructor(|| Histogram::new(exponential_buckets(1e-7, 4.0, 13)));
        let metrics = Self {
            decisions: Family::default(),
            fallbacks: Family::default(),
            clamps: Family::default(),
            faults: Family::default(),
            warnings: Family::default(),
            starts: Family::default(),
            instances: Family::default(),
            seconds,
        };
        registry.register("decisions", "Calls of a bound policy", metrics.decisions.clone());
        registry.register("fallbacks", "Answers of the built-in in place of a bound policy", metrics.fallbacks.clone());
        registry.register("clamps", "Fields of answers that were moved into the host's limits, by field", metrics.clamps.clone());
        registry.register("faults", "Failures of a policy, by class", metrics.faults.clone());
        registry.register("warnings", "Times that a policy was found thrashing or slow", metrics.warnings.clone());
        registry.register("starts", "Instances that took over after a swap, warm or cold", metrics.starts.clone());
        registry.register("instances", "Instances of policies that are held", metrics.instances.clone());
        let help = "Time of a decision; one in eight is timed";
        registry.register_with_unit("decision", help, Unit::Seconds, metrics.seconds.clone());
        metrics
    }

    /// The counters of one kind and plugin; `fields` are those of its answers.
    pub fn counters(&self, kind: &'static str, plugin: &str, fields: &[&'static str]) -> PolicyCounters {
        let labels = vec![("kind", kind.to_owned()), ("plugin", plugin.to_owned())];
        PolicyCounters {
            faults: self.faults.clone(),
            warnings: self.warnings.clone(),
            starts: self.starts.clone(),
            decisions: self.decisions.get_or_create_owned(&labels),
            fallbacks: self.fallbacks.get_or_create_owned(&labels),
            clamps: fields.iter().map(|field| self.clamps.get_or_create_owned(&with(&labels, "field", field))).collect(),
            instances: self.instances.get_or_create_owned(&labels),
            seconds: self.seconds.get_or_create_owned(&labels),
            labels,
        }
    }
}

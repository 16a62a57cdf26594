//! Requests to the object store.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::recent::Recent;

type ByOperation = [(&'static str, &'static str); 1];
type ByError = [(&'static str, &'static str); 2];

/// Requests to the object store. A *try* is one request on the wire; a request has several when it is retried.
#[derive(Debug)]
pub struct StoreMetrics {
    tries: Family<ByOperation, Counter>,
    retries: Family<ByOperation, Counter>,
    errors: Family<ByError, Counter>,
    seconds: Family<ByOperation, Histogram, fn() -> Histogram>,
    bytes_up: Counter,
    bytes_down: Counter,
    /// Tries in flight.
    pub in_flight: Gauge,
    /// Tries that may be in flight now; shrinks while the store throttles.
    pub concurrency: Gauge,
    /// The last 128 samples, for policies.
    pub recent: Recent,
}

impl StoreMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            tries: Family::default(),
            retries: Family::default(),
            errors: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.000_5, 2.0, 17))),
            bytes_up: Counter::default(),
            bytes_down: Counter::default(),
            in_flight: Gauge::default(),
            concurrency: Gauge::default(),
            recent: Recent::default(),
        };
        registry.register("tries", "Requests sent, by operation, retries included", metrics.tries.clone());
        registry.register("retries", "Requests sent again, by operation", metrics.retries.clone());
        registry.register("errors", "Failed tries, by operation and class", metrics.errors.clone());
        registry.register("try_seconds", "Time of a try, by operation", metrics.seconds.clone());
        registry.register("upload_bytes", "Bytes of bodies sent", metrics.bytes_up.clone());
        registry.register("download_bytes", "Bytes of bodies received", metrics.bytes_down.clone());
        registry.register("in_flight", "Tries in flight", metrics.in_flight.clone());
        registry.register("concurrency", "Tries that may be in flight", metrics.concurrency.clone());
        metrics
    }

    /// A try ended after `took`; `error` is its class.
    pub fn tried(&self, operation: &'static str, took: Duration, error: Option<&'static str>) {
        self.tries.get_or_create(&[("operation", operation)]).inc();
        self.seconds.get_or_create(&[("operation", operation)]).observe(took.as_secs_f64());
        if let Some(class) = error {
            self.errors.get_or_create(&[("operation", operation), ("class", class)]).inc();
        }
    }

    /// A request will be tried again.
    pub fn retried(&self, operation: &'static str) {
        self.retries.get_or_create(&[("operation", operation)]).inc();
    }

    /// So many bytes were sent.
    pub fn sent(&self, bytes: u64) {
        self.bytes_up.inc_by(bytes);
    }

    /// So many bytes came.
    pub fn received(&self, bytes: u64) {
        self.bytes_down.inc_by(bytes);
    }

    /// Tries of one operation so far.
    pub fn tries(&self, operation: &'static str) -> u64 {
        self.tries.get_or_create(&[("operation", operation)]).get()
    }

    /// Retries of one operation so far.
    pub fn retries(&self, operation: &'static str) -> u64 {
        self.retries.get_or_create(&[("operation", operation)]).get()
    }

    /// Failed tries of one operation and class so far.
    pub fn errors(&self, operation: &'static str, class: &'static str) -> u64 {
        self.errors.get_or_create(&[("operation", operation), ("class", class)]).get()
    }
}

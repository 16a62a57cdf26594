//! Who connects, who they are, and what they were kept from.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

type Labels = Vec<(&'static str, &'static str)>;

/// Authentication, authorisation, TLS. Labels are words of the broker's own, never a client's.
#[derive(Debug, Default)]
pub struct SecurityMetrics {
    authentications: Family<Labels, Counter>,
    authentication_failures: Family<Labels, Counter>,
    denials: Family<Labels, Counter>,
    refused_connections: Family<Labels, Counter>,
    /// Connections whose client has to say who it is, and has not yet.
    pub unauthenticated_connections: Gauge,
    /// Certificates taken into use while clients were served.
    pub certificate_reloads: Counter,
    /// Changed certificate files that could not be used.
    pub certificate_failures: Counter,
    /// Looks at users and access rules in the store that failed.
    pub refresh_failures: Counter,
}

impl SecurityMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("authentications", "Clients that proved who they are", metrics.authentications.clone());
        registry.register("authentication_failures", "Clients that did not", metrics.authentication_failures.clone());
        registry.register("denials", "What was refused for lack of a right", metrics.denials.clone());
        registry.register("refused_connections", "Connections closed before their client was known", metrics.refused_connections.clone());
        let unauthenticated = "Connections whose client has to say who it is, and has not yet";
        registry.register("unauthenticated_connections", unauthenticated, metrics.unauthenticated_connections.clone());
        let reloads = "Certificates taken into use while clients were served";
        registry.register("certificate_reloads", reloads, metrics.certificate_reloads.clone());
        let failures = "Changed certificate files that could not be used";
        registry.register("certificate_failures", failures, metrics.certificate_failures.clone());
        let refresh = "Looks at users and access rules that failed";
        registry.register("refresh_failures", refresh, metrics.refresh_failures.clone());
        metrics
    }

    /// Counts a client that proved who it is by a mechanism (`SCRAM-SHA-512`).
    pub fn authenticated(&self, mechanism: &'static str) {
        self.authentications.get_or_create(&vec![("mechanism", mechanism)]).inc();
    }

    /// Counts a client that did not, by mechanism and class of reason.
    pub fn authentication_failed(&self, mechanism: &'static str, reason: &'static str) {
        self.authentication_failures.get_or_create(&vec![("mechanism", mechanism), ("reason", reason)]).inc();
    }

    /// Counts what was refused for lack of a right to an operation.
    pub fn denied(&self, operation: &'static str) {
        self.denials.get_or_create(&vec![("operation", operation)]).inc();
    }

    /// Counts a connection that was closed before its client was known.
    pub fn refused_connection(&self, reason: &'static str) {
        self.refused_connections.get_or_create(&vec![("reason", reason)]).inc();
    }
}

//! Appends, flushes and commits.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// Appends, flushes and commits, of all lanes.
#[derive(Debug)]
pub struct LaneMetrics {
    appended_bytes: Counter,
    appended_records: Counter,
    appended_batches: Counter,
    committed_bytes: Counter,
    ack_seconds: Histogram,
    segment_bytes: Histogram,
    /// Buffers sealed: one PUT each.
    pub flushes: Counter,
    /// Tries of a slot's PUT beyond the first.
    pub upload_retries: Counter,
    /// Manifests replaced by checkpoints.
    pub checkpoints: Counter,
    /// Lanes lost to another writer.
    pub fenced: Counter,
    /// Dead segments deleted.
    pub segments_deleted: Counter,
    /// Appends that were there already: idempotent producers sent them again.
    pub duplicates: Counter,
    /// Idempotent producers forgotten because their lane knew too many.
    pub producers_evicted: Counter,
}

impl LaneMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let metrics = Self {
            appended_bytes: counter("appended_bytes", "Record batch bytes taken into write buffers"),
            appended_records: counter("appended_records", "Records taken into write buffers"),
            appended_batches: counter("appended_batches", "Record batches taken into write buffers"),
            committed_bytes: counter("committed_bytes", "Bytes of committed segment objects"),
            flushes: counter("flushes", "Write buffers sealed, one PUT each"),
            upload_retries: counter("upload_retries", "Tries of a slot's PUT beyond the first"),
            checkpoints: counter("checkpoints", "Manifests replaced by checkpoints"),
            fenced: counter("fenced", "Lanes lost to another writer"),
            segments_deleted: counter("segments_deleted", "Dead segments deleted"),
            duplicates: counter("duplicates", "Appends of idempotent producers that were there already"),
            producers_evicted: counter("producers_evicted", "Idempotent producers forgotten because their lane knew too many"),
            ack_seconds: Histogram::new(exponential_buckets(0.000_5, 2.0, 16)),
            segment_bytes: Histogram::new(exponential_buckets(1024.0, 4.0, 10)),
        };
        registry.register("ack_seconds", "From the oldest append of a segment to its commit", metrics.ack_seconds.clone());
        registry.register("segment_bytes", "Sizes of committed segment objects", metrics.segment_bytes.clone());
        metrics
    }

    /// Counts one append.
    pub fn appended(&self, bytes: usize, records: u64, batches: usize) {
        self.appended_bytes.inc_by(bytes as u64);
        self.appended_records.inc_by(records);
        self.appended_batches.inc_by(batches as u64);
    }

    /// Counts one committed segment.
    pub fn committed(&self, bytes: u64, oldest_append_to_commit: Duration) {
        self.committed_bytes.inc_by(bytes);
        self.segment_bytes.observe(bytes as f64);
        self.ack_seconds.observe(oldest_append_to_commit.as_secs_f64());
    }
}

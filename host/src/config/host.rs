//! What one host may use: the `[host]` section.

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, DAY_MS, MAX_BYTES, MAX_WAIT_MS};
use crate::types::WINDOW;

/// Memory, concurrency and intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostSettings {
    /// Batches appended and not committed yet, of all topics, in bytes. Appends wait, then fail, when it is full.
    pub buffer_bytes: u64,
    /// How long an append waits for room in the buffer before it is refused as busy, in milliseconds.
    pub append_timeout_ms: u64,
    /// Cached chunks, in bytes of memory really held.
    pub cache_bytes: u64,
    /// Prefetched bytes not read yet, of all readers; demand reads come first.
    pub prefetch_bytes: u64,
    /// Unit of caching and of range requests, in bytes. Larger: fewer GETs; smaller: less read that nobody asked for.
    pub chunk_bytes: u64,
    /// Uploads in flight of one lane at most (never above 64).
    pub uploads_per_lane: u32,
    /// When an upload's waiters are told "outcome unknown", in milliseconds; the upload itself goes on.
    pub upload_deadline_ms: u64,
    /// How often retention looks at a lane, in milliseconds.
    pub retention_interval_ms: u64,
    /// How long a dead segment stays for readers that are still at it, in milliseconds.
    pub delete_grace_ms: u64,
    /// How long an idempotent producer is remembered after its last append, in milliseconds. What it sends again later is appended again.
    pub producer_expiry_ms: u64,
    /// Idempotent producers that a lane remembers at most, each counted once for every partition; beyond that those that were
    /// silent for longest are forgotten. About 350 bytes of memory each.
    pub producers_per_lane: u32,
    /// How long draining and closing may take, in milliseconds.
    pub drain_deadline_ms: u64,
    /// How often other hosts' changes to topics and bindings are looked for, in milliseconds.
    pub metadata_interval_ms: u64,
}

impl Default for HostSettings {
    fn default() -> Self {
        Self {
            buffer_bytes: 256 << 20,
            append_timeout_ms: 5_000,
            cache_bytes: 512 << 20,
            prefetch_bytes: 128 << 20,
            chunk_bytes: 1 << 20,
            uploads_per_lane: 8,
            upload_deadline_ms: 30_000,
            retention_interval_ms: 30_000,
            delete_grace_ms: 60_000,
            producer_expiry_ms: DAY_MS,
            producers_per_lane: 100_000,
            drain_deadline_ms: 30_000,
            metadata_interval_ms: 10_000,
        }
    }
}

impl HostSettings {
    pub(super) fn check(&self, bounds: &mut Bounds) {
        bounds.range("host.buffer_bytes", self.buffer_bytes, 64 << 10..=MAX_BYTES);
        bounds.range("host.append_timeout_ms", self.append_timeout_ms, 1..=MAX_WAIT_MS);
        bounds.range("host.cache_bytes", self.cache_bytes, 0..=MAX_BYTES);
        bounds.range("host.prefetch_bytes", self.prefetch_bytes, 0..=MAX_BYTES);
        bounds.range("host.chunk_bytes", self.chunk_bytes, 4 << 10..=64 << 20);
        bounds.range("host.uploads_per_lane", self.uploads_per_lane.into(), 1..=WINDOW);
        bounds.range("host.upload_deadline_ms", self.upload_deadline_ms, 1..=MAX_WAIT_MS);
        bounds.range("host.retention_interval_ms", self.retention_interval_ms, 1..=DAY_MS);
        bounds.range("host.delete_grace_ms", self.delete_grace_ms, 0..=30 * DAY_MS);
        bounds.range("host.producer_expiry_ms", self.producer_expiry_ms, 1..=30 * DAY_MS);
        bounds.range("host.producers_per_lane", self.producers_per_lane, 1..=1_000_000);
        bounds.range("host.drain_deadline_ms", self.drain_deadline_ms, 1..=MAX_WAIT_MS);
        bounds.range("host.metadata_interval_ms", self.metadata_interval_ms, 1..=MAX_WAIT_MS);
    }
}

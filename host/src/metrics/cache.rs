//! Cache and read-ahead.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

/// Where the bytes of a chunk came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Source {
    /// `memory`, `prefetch` or `store`.
    pub source: &'static str,
}

/// Why prefetched bytes were never read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Cause {
    /// `evicted` (unread for too long while room was short) or `abandoned` (the reader went elsewhere or left).
    pub cause: &'static str,
}

/// Chunks found in the cache.
pub const MEMORY: Source = Source { source: "memory" };
/// Chunks that had been read ahead.
pub const PREFETCH: Source = Source { source: "prefetch" };
/// Chunks that a reader waited for.
pub const STORE: Source = Source { source: "store" };
/// Unread for too long while room was short.
pub const EVICTED: Cause = Cause { cause: "evicted" };
/// The reader went elsewhere or left.
pub const ABANDONED: Cause = Cause { cause: "abandoned" };

/// Cache and read-ahead.
#[derive(Debug, Default)]
pub struct CacheMetrics {
    /// Chunks asked for, by where they were found.
    pub chunks: Family<Source, Counter>,
    /// Bytes of chunks asked for, by where they were found.
    pub chunk_bytes: Family<Source, Counter>,
    /// Chunks and indexes asked for while they were on the way for somebody else.
    pub joined: Counter,
    /// Requests to the store.
    pub gets: Counter,
    /// Bytes that they brought.
    pub get_bytes: Counter,
    /// Chunks and indexes that shared a request with a neighbour.
    pub coalesced: Counter,
    /// Bytes copied between the store's answer and a cached chunk.
    pub copied_bytes: Counter,
    /// Chunks and indexes that failed their checks.
    pub corrupt: Counter,
    /// Bytes of flushed slices put into the cache.
    pub seeded_bytes: Counter,
    /// Bytes that chunks in the cache keep in memory, prefetched ones not counted.
    pub resident_bytes: Gauge,
    /// Bytes asked for ahead of a reader.
    pub prefetch_issued_bytes: Counter,
    /// Prefetched bytes that a reader came for.
    pub prefetch_used_bytes: Counter,
    /// Prefetched bytes that nobody read, by cause.
    pub prefetch_wasted_bytes: Family<Cause, Counter>,
    /// Bytes whose prefetch was called off before they arrived.
    pub prefetch_cancelled_bytes: Counter,
    /// Prefetches left out because their budget was spent.
    pub prefetch_refused: Counter,
    /// Bytes reserved by prefetches: on the way, and unread.
    pub prefetch_reserved_bytes: Gauge,
}

impl CacheMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let m = Self::default();
        registry.register("chunks", "Chunks asked for, by where they were found", m.chunks.clone());
        registry.register_with_unit("chunk", "Bytes of chunks asked for", Unit::Bytes, m.chunk_bytes.clone());
        registry.register("joined", "Loads joined while on the way for another reader", m.joined.clone());
        registry.register("gets", "Requests to the store", m.gets.clone());
        registry.register_with_unit("get", "Bytes that requests brought", Unit::Bytes, m.get_bytes.clone());
        registry.register("coalesced", "Loads that shared a request with a neighbour", m.coalesced.clone());
        registry.register_with_unit("copied", "Bytes copied on the fetch path", Unit::Bytes, m.copied_bytes.clone());
        registry.register("corrupt", "Loads that failed their checks", m.corrupt.clone());
        registry.register_with_unit("seeded", "Bytes of flushed slices cached", Unit::Bytes, m.seeded_bytes.clone());
        registry.register_with_unit("resident", "Memory kept by cached chunks", Unit::Bytes, m.resident_bytes.clone());
        registry.register_with_unit("prefetch_issued", "Bytes read ahead", Unit::Bytes, m.prefetch_issued_bytes.clone());
        registry.register_with_unit("prefetch_used", "Bytes read ahead and read", Unit::Bytes, m.prefetch_used_bytes.clone());
        registry.register_with_unit("prefetch_wasted", "Bytes read ahead, never read", Unit::Bytes, m.prefetch_wasted_bytes.clone());
        registry.register_with_unit("prefetch_cancelled", "Prefetches called off", Unit::Bytes, m.prefetch_cancelled_bytes.clone());
        registry.register("prefetch_refused", "Prefetches left out for lack of budget", m.prefetch_refused.clone());
        registry.register_with_unit("prefetch_reserved", "Prefetch budget in use", Unit::Bytes, m.prefetch_reserved_bytes.clone());
        m
    }

    /// A chunk was found.
    pub(crate) fn found(&self, source: Source, bytes: u64) {
        self.chunks.get_or_create(&source).inc();
        self.chunk_bytes.get_or_create(&source).inc_by(bytes);
    }

    /// Prefetched bytes will never be read.
    pub(crate) fn wasted(&self, cause: Cause, bytes: u64) {
        self.prefetch_wasted_bytes.get_or_create(&cause).inc_by(bytes);
    }
}

//! The chunk cache: verified bytes of slices, weighed by what they really hold.
//!
//! What it promises:
//!
//! * Bytes that fail their checks never enter; the error names object and range, and other ranges stay readable.
//! * However many ask for a chunk at once, it is downloaded once; neighbours share a request (`download`).
//! * A backfill cannot push out the tail (`regions`), and a prefetch cannot push out anything (`prefetch`).
//! * Nothing is copied on a hit; what a reader holds does not change when its chunk leaves the cache.
//! * Nothing is downloaded that was not asked for: chunks begin and end with their slice (`layout`).

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::config::HostSettings;
use crate::error::Result;
use crate::index::SliceIndex;
use crate::metrics::Metrics;
use crate::metrics::cache::{MEMORY, PREFETCH, STORE};
use crate::segment::SliceMeta;
use crate::store::ObjectStore;

mod chunk;
mod download;
mod flight;
mod layout;
mod pace;
mod piece;
mod prefetch;
mod regions;
mod seed;

pub use chunk::{Chunk, Read, StoredBatch};
pub use flight::Ticket;
pub use layout::{IndexedSlice, Layout, Span};
pub use pace::StorePace;
pub use prefetch::{Reader, STALE_AFTER, Waste};

use download::{Answer, Loader};
use flight::{Loaded, Purpose};
use piece::Piece;
use prefetch::Budget;
use regions::{Key, Regions};

/// Chunks that one request to the store brings at most.
const CHUNKS_PER_GET: u64 = 8;
/// Smallest unit of caching, in bytes, whatever the settings say.
const MIN_CHUNK_BYTES: u64 = 4 << 10;

/// Chunks and slice indexes, with single-flight loading and a byte budget for prefetch.
pub struct ChunkCache {
    loader: Arc<Loader>,
    chunk_bytes: u64,
}

/// How a reader asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether what is loaded may stay in the cache when it is read again; else it stays only while it is being read.
    pub admit: bool,
    /// Whether neighbours in the object are likely to be asked for in a moment, so that waiting for them saves requests.
    pub gather: bool,
}

/// A chunk that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct ChunkRef<'a> {
    /// Key of the object.
    pub object: &'a Arc<str>,
    /// The slice, as the catalog knows it.
    pub slice: &'a SliceMeta,
    /// Its chunks.
    pub layout: &'a Layout,
    /// Which of them.
    pub span: usize,
}

impl ChunkRef<'_> {
    /// Where it lies.
    pub fn span(&self) -> Span {
        self.layout.spans()[self.span]
    }

    fn key(&self) -> Key {
        Key { object: self.object.clone(), position: self.span().position }
    }

    fn piece(&self, key: Key) -> Piece {
        match self.layout {
            Layout::Whole(_) => Piece::slice(key, self.slice),
            Layout::Indexed(slice) => Piece::blocks(key, self.span(), slice.clone()),
        }
    }
}

/// A chunk, or the wait for it.
#[derive(Debug)]
pub enum Requested {
    /// It was in memory.
    Here(Chunk),
    /// It is on its way.
    Wait(Ticket),
}

impl Requested {
    /// The chunk, once it is here.
    pub async fn chunk(self) -> Result<Chunk> {
        match self {
            Self::Here(chunk) => Ok(chunk),
            Self::Wait(ticket) => ticket.chunk().await,
        }
    }
}

/// What became of a prefetch.
#[derive(Debug)]
pub enum Prefetched {
    /// It was in memory or on its way.
    Needless,
    /// The budget is spent.
    Refused,
    /// It is on its way; dropping the ticket calls it off.
    Issued(Ticket),
}

impl fmt::Debug for ChunkCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkCache").field("resident", &self.loader.regions.resident()).finish_non_exhaustive()
    }
}

impl ChunkCache {
    /// An empty cache over `store`.
    pub fn new(store: Arc<dyn ObjectStore>, settings: &HostSettings, metrics: Arc<Metrics>) -> Self {
        let chunk_bytes = settings.chunk_bytes.max(MIN_CHUNK_BYTES);
        let budget = Budget::new(settings.prefetch_bytes, metrics.clone());
        let regions = Regions::new(settings.cache_bytes);
        Self { loader: Loader::new(store, metrics, regions, budget, CHUNKS_PER_GET * chunk_bytes), chunk_bytes }
    }

    /// The same, but what is evicted does not depend on the wall clock: evictions are carried out with each operation.
    pub fn evicting_at_once(mut self) -> Self {
        let loader = Arc::get_mut(&mut self.loader).expect("nothing is loaded before the cache is shared");
        loader.regions.evict_at_once();
        self
    }

    /// The chunks of a slice: at once where it is small or its index is cached.
    pub async fn layout(&self, object: &Arc<str>, slice: &SliceMeta, gather: bool) -> Result<Layout> {
        if let Some(layout) = self.layout_here(object, slice) {
            return Ok(layout);
        }
        let key = Key { object: object.clone(), position: slice.index_position };
        let piece = Piece::index(key.clone(), slice, self.chunk_bytes);
        let purpose = Purpose::Read { admit: true, gather };
        match self.loader.load(piece, purpose, |l| l.regions.layout(&key).map(Loaded::Layout)) {
            Answer::Here(Loaded::Layout(slice)) => Ok(Layout::Indexed(slice)),
            Answer::Here(Loaded::Chunk(_)) => unreachable!("only an index was looked for"),
            Answer::Wait(ticket) => ticket.layout().await.map(Layout::Indexed),
        }
    }

    /// The chunks of a slice, if that takes no request.
    pub fn layout_here(&self, object: &Arc<str>, slice: &SliceMeta) -> Option<Layout> {
        Layout::whole(slice, self.chunk_bytes).or_else(|| {
            let key = Key { object: object.clone(), position: slice.index_position };
            self.loader.regions.layout(&key).map(Layout::Indexed)
        })
    }

    /// A chunk for a reader: from memory, or on its way.
    pub fn request(&self, chunk: ChunkRef<'_>, access: Access) -> Requested {
        let key = chunk.key();
        if let Some(found) = self.loader.find(&key, access) {
            return Requested::Here(found);
        }
        let purpose = Purpose::Read { admit: access.admit, gather: access.gather && chunk.span().len < self.chunk_bytes };
        match self.loader.load(chunk.piece(key.clone()), purpose, |l| l.find(&key, access).map(Loaded::Chunk)) {
            Answer::Here(Loaded::Chunk(found)) => Requested::Here(found),
            Answer::Here(Loaded::Layout(_)) => unreachable!("only a chunk was looked for"),
            Answer::Wait(ticket) => {
                self.loader.metrics.cache.found(STORE, chunk.span().len);
                Requested::Wait(ticket)
            }
        }
    }

    /// A chunk for a reader, if it is in memory.
    pub fn request_here(&self, chunk: ChunkRef<'_>, access: Access) -> Option<Chunk> {
        self.loader.find(&chunk.key(), access)
    }

    /// Whether a chunk is in memory, prefetched or on its way. Counts nothing.
    pub fn expects(&self, chunk: ChunkRef<'_>) -> bool {
        let key = chunk.key();
        self.loader.regions.contains(&key) || self.loader.budget.contains(&key) || self.loader.is_loading(&key)
    }

    /// Loads a chunk ahead of a reader, within the prefetch budget.
    pub fn prefetch(&self, chunk: ChunkRef<'_>, reader: &Arc<Reader>, admit: bool) -> Prefetched {
        if self.expects(chunk) {
            return Prefetched::Needless;
        }
        let key = chunk.key();
        let Some(reservation) = self.loader.budget.reserve(Chunk::weight_of(chunk.span().len), reader, admit) else {
            return Prefetched::Refused;
        };
        let here = |l: &Loader| l.regions.find(&key).map(Loaded::Chunk);
        match self.loader.load(chunk.piece(key.clone()), Purpose::Ahead(reservation), here) {
            Answer::Here(_) => Prefetched::Needless,
            Answer::Wait(ticket) => Prefetched::Issued(ticket),
        }
    }

    /// A reader will not come for what was prefetched for it. Its tickets must be dropped before.
    pub fn abandon(&self, reader: &Arc<Reader>) {
        self.loader.quiesced(|| self.loader.budget.abandon(reader));
    }

    /// Puts the batches of a slice that was just flushed into the cache: shared, not copied. `batches` are the slice's bytes.
    pub fn seed(&self, object: &Arc<str>, slice: &SliceMeta, index: Arc<SliceIndex>, batches: &[Bytes]) {
        let layout =
            Layout::whole(slice, self.chunk_bytes).unwrap_or_else(|| Layout::Indexed(Arc::new(IndexedSlice::new(index, self.chunk_bytes))));
        if let Some(indexed) = layout.index() {
            self.loader.regions.seed_layout(Key { object: object.clone(), position: slice.index_position }, indexed.clone());
        }
        for (span, chunk) in seed::cut(&layout, slice.position, batches) {
            self.loader.metrics.cache.seeded_bytes.inc_by(span.len);
            self.loader.regions.seed(Key { object: object.clone(), position: span.position }, chunk);
        }
        self.loader.settled();
    }

    /// How the store has answered lately.
    pub fn store_pace(&self) -> StorePace {
        self.loader.pace.now()
    }

    /// Prefetch budget that is free, in bytes.
    pub fn prefetch_free_bytes(&self) -> u64 {
        self.loader.budget.free()
    }

    /// Room in the cache, in thousandths.
    pub fn free_permille(&self) -> u32 {
        let capacity = self.loader.regions.capacity().max(1);
        let free = capacity.saturating_sub(self.loader.regions.resident());
        (free.saturating_mul(1_000) / capacity) as u32
    }

    /// Memory that cached chunks and indexes keep alive, prefetched ones not counted, in bytes. Carries out evictions that are due.
    pub fn resident_bytes(&self) -> u64 {
        self.loader.regions.settle_now()
    }
}

impl Loader {
    /// A chunk in memory. A prefetched one moves into the cache: its reader has come.
    fn find(&self, key: &Key, access: Access) -> Option<Chunk> {
        if let Some(chunk) = self.regions.find(key) {
            self.metrics.cache.found(MEMORY, chunk.len());
            return Some(chunk);
        }
        let (chunk, admit) = self.budget.take(key)?;
        self.metrics.cache.found(PREFETCH, chunk.len());
        self.regions.load(key.clone(), chunk.clone(), admit && access.admit);
        self.settled();
        Some(chunk)
    }

    fn settled(&self) {
        if let Some(resident) = self.regions.settle() {
            self.metrics.cache.resident_bytes.set(resident as i64);
        }
    }
}

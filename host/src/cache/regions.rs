//! What is cached, in regions that cannot push each other out.
//!
//! Frequency alone (TinyLFU) would refuse every freshly flushed chunk once the cache is full of chunks that
//! were read twice, and recency alone would let one backfill push out the tail. So:
//!
//! | region | holds | rule |
//! |---|---|---|
//! | tail | what flushes seed | least recently used goes |
//! | window | what readers have just loaded: a chunk is not downloaded once per small fetch | least recently used goes, on to main if admitted |
//! | main | what is read again and again | TinyLFU: a scan does not get in |
//! | layouts | indexes of slices larger than a chunk; those of the tail apart | least recently used goes |
//!
//! A chunk larger than its region is not kept, and nothing goes for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::quality::FixedState;
use moka::notification::RemovalCause;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::chunk::Chunk;
use super::layout::IndexedSlice;

const TAIL_PERCENT: u64 = 40;
const WINDOW_PERCENT: u64 = 20;
/// Of the tail's indexes, and as much again of the others.
const LAYOUTS_PERCENT: u64 = 4;

/// Names a chunk or an index: object and position in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) object: Arc<str>,
    pub(super) position: u64,
}

#[derive(Clone)]
struct Entry {
    chunk: Chunk,
    admit: bool,
}

/// The same hashes in every process, so that simulations can be repeated: object names are ours, nobody else chooses them, so a hash that takes a
/// name's sixty bytes in a few steps will do. Of quality, since frequencies are counted by its bits.
type Hashes = FixedState;
type Region<V> = Cache<Key, V, Hashes>;

pub(super) struct Regions {
    tail: Region<Entry>,
    window: Region<Entry>,
    main: Region<Entry>,
    tail_layouts: Region<Arc<IndexedSlice>>,
    layouts: Region<Arc<IndexedSlice>>,
    capacity: u64,
    /// Bytes inserted since evictions were last carried out.
    unsettled: AtomicU64,
    /// Evictions are carried out with each operation.
    at_once: bool,
}

fn weigh(_: &Key, entry: &Entry) -> u32 {
    u32::try_from(entry.chunk.weight()).unwrap_or(u32::MAX)
}

impl Regions {
    pub(super) fn new(capacity: u64) -> Self {
        let share = |percent: u64| capacity * percent / 100;
        let chunks = |bytes| Cache::builder().max_capacity(bytes).weigher(weigh);
        let main = chunks(share(100 - TAIL_PERCENT - WINDOW_PERCENT - 2 * LAYOUTS_PERCENT)).build_with_hasher(Hashes::default());
        let admitted = main.clone();
        let window = chunks(share(WINDOW_PERCENT))
            .eviction_policy(EvictionPolicy::lru())
            .eviction_listener(move |key: Arc<Key>, entry: Entry, cause| {
                if cause == RemovalCause::Size && entry.admit {
                    admitted.insert(Key::clone(&key), entry);
                }
            })
            .build_with_hasher(Hashes::default());
        let layouts = || {
            Cache::builder()
                .max_capacity(share(LAYOUTS_PERCENT))
                .weigher(|_: &Key, slice: &Arc<IndexedSlice>| u32::try_from(slice.weight()).unwrap_or(u32::MAX))
                .eviction_policy(EvictionPolicy::lru())
                .build_with_hasher(Hashes::default())
        };
        Self {
            tail: chunks(share(TAIL_PERCENT)).eviction_policy(EvictionPolicy::lru()).build_with_hasher(Hashes::default()),
            window,
            main,
            tail_layouts: layouts(),
            layouts: layouts(),
            capacity,
            unsettled: AtomicU64::new(0),
            at_once: false,
        }
    }

    /// Carries out evictions with each operation from now on: when they happen otherwise depends on the wall clock too.
    pub(super) fn evict_at_once(&mut self) {
        self.at_once = true;
    }

    pub(super) fn find(&self, key: &Key) -> Option<Chunk> {
        let entry = self.tail.get(key).or_else(|| self.window.get(key)).or_else(|| self.main.get(key));
        self.touched(0);
        entry.map(|e| e.chunk)
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        self.tail.contains_key(key) || self.window.contains_key(key) || self.main.contains_key(key)
    }

    pub(super) fn seed(&self, key: Key, chunk: Chunk) {
        let weight = chunk.weight();
        self.tail.insert(key, Entry { chunk, admit: true });
        self.touched(weight);
    }

    pub(super) fn load(&self, key: Key, chunk: Chunk, admit: bool) {
        let weight = chunk.weight();
        self.window.insert(key, Entry { chunk, admit });
        self.touched(weight);
    }

    pub(super) fn layout(&self, key: &Key) -> Option<Arc<IndexedSlice>> {
        let found = self.tail_layouts.get(key).or_else(|| self.layouts.get(key));
        self.touched(0);
        found
    }

    pub(super) fn seed_layout(&self, key: Key, slice: Arc<IndexedSlice>) {
        let weight = slice.weight();
        self.tail_layouts.insert(key, slice);
        self.touched(weight);
    }

    pub(super) fn put_layout(&self, key: Key, slice: Arc<IndexedSlice>) {
        let weight = slice.weight();
        self.layouts.insert(key, slice);
        self.touched(weight);
    }

    /// Something was looked up, or so many bytes were inserted.
    fn touched(&self, inserted: u64) {
        self.unsettled.fetch_add(inserted, Ordering::Relaxed);
        if self.at_once {
            self.settle_now();
        }
    }

    /// Carries out evictions once enough was inserted: left to itself the cache does so every 64 operations, which
    /// may be 64 chunks too late.
    pub(super) fn settle(&self) -> Option<u64> {
        if !self.at_once && self.unsettled.load(Ordering::Relaxed) < (self.capacity / 256).min(1 << 20) {
            return None;
        }
        Some(self.settle_now())
    }

    /// Carries out all evictions that are due. Returns the bytes resident.
    pub(super) fn settle_now(&self) -> u64 {
        self.unsettled.store(0, Ordering::Relaxed);
        for region in [&self.tail, &self.window, &self.main] {
            region.run_pending_tasks();
        }
        self.tail_layouts.run_pending_tasks();
        self.layouts.run_pending_tasks();
        self.resident()
    }

    pub(super) fn resident(&self) -> u64 {
        let chunks = self.tail.weighted_size() + self.window.weighted_size() + self.main.weighted_size();
        chunks + self.tail_layouts.weighted_size() + self.layouts.weighted_size()
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }
}

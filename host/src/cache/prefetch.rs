//! Prefetched chunks until a reader comes for them, within a budget of their own.
//!
//! A prefetch reserves its bytes before it is issued; what does not fit is not issued, so prefetches never
//! displace each other or anything cached. The reservation lives as long as the bytes are on the way or unread.
//! What lies unread for [`STALE_AFTER`] makes room for others when they ask.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::chunk::Chunk;
use super::regions::Key;
use crate::env::{self, Instant};
use crate::metrics::Metrics;
use crate::metrics::cache::{ABANDONED, EVICTED};

/// How long a prefetched chunk is safe from other prefetches.
pub const STALE_AFTER: Duration = Duration::from_secs(30);

/// Whom a prefetch is for, and what became of it. One for each stream; the waste is shared by a partition's streams.
#[derive(Debug, Default)]
pub struct Reader {
    in_flight: AtomicU64,
    ready: AtomicU64,
    waste: Arc<Waste>,
}

/// Prefetched bytes that were never read.
#[derive(Debug, Default)]
pub struct Waste {
    evicted: AtomicU64,
    abandoned: AtomicU64,
}

impl Waste {
    /// Made room for others after lying unread for long, in bytes since the start.
    pub fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Left behind by a reader that went elsewhere, in bytes since the start.
    pub fn abandoned(&self) -> u64 {
        self.abandoned.load(Ordering::Relaxed)
    }
}

impl Reader {
    /// A reader whose waste is counted in `waste`.
    pub fn new(waste: Arc<Waste>) -> Arc<Self> {
        Arc::new(Self { waste, ..Self::default() })
    }

    /// Bytes prefetched for it that are on the way.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Bytes prefetched for it that lie ready, unread.
    pub fn ready(&self) -> u64 {
        self.ready.load(Ordering::Relaxed)
    }
}

pub(super) struct Budget {
    limit: u64,
    metrics: Arc<Metrics>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    reserved: u64,
    ready: HashMap<Key, Ready>,
    by_age: BTreeMap<u64, Key>,
    next: u64,
}

struct Ready {
    chunk: Chunk,
    admit: bool,
    reader: Arc<Reader>,
    bytes: u64,
    since: Instant,
    age: u64,
}

/// Room in the budget for a prefetch that is on the way; given back when dropped.
pub(super) struct Reservation {
    budget: Arc<Budget>,
    reader: Arc<Reader>,
    bytes: u64,
    admit: bool,
    landed: bool,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.reader.in_flight.fetch_sub(self.bytes, Ordering::Relaxed);
        if !self.landed {
            self.budget.release(&mut self.budget.table.lock(), self.bytes);
            self.budget.metrics.cache.prefetch_cancelled_bytes.inc_by(self.bytes);
        }
    }
}

impl Reservation {
    pub(super) fn admit(&self) -> bool {
        self.admit
    }
}

impl Budget {
    pub(super) fn new(limit: u64, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self { limit, metrics, table: Mutex::default() })
    }

    pub(super) fn free(&self) -> u64 {
        self.limit.saturating_sub(self.table.lock().reserved)
    }

    /// Room for `bytes`; `None` if there is none even without what lies unread for long.
    pub(super) fn reserve(self: &Arc<Self>, bytes: u64, reader: &Arc<Reader>, admit: bool) -> Option<Reservation> {
        let mut table = self.table.lock();
        while table.reserved + bytes > self.limit && self.evict_stale(&mut table) {}
        if table.reserved + bytes > self.limit {
            self.metrics.cache.prefetch_refused.inc();
            return None;
        }
        table.reserved += bytes;
        self.metrics.cache.prefetch_reserved_bytes.set(table.reserved as i64);
        self.metrics.cache.prefetch_issued_bytes.inc_by(bytes);
        reader.in_flight.fetch_add(bytes, Ordering::Relaxed);
        Some(Reservation { budget: self.clone(), reader: reader.clone(), bytes, admit, landed: false })
    }

    /// A prefetched chunk arrived and waits for its reader.
    pub(super) fn land(&self, key: Key, chunk: Chunk, mut reservation: Reservation) {
        reservation.landed = true;
        let (reader, bytes, admit) = (reservation.reader.clone(), reservation.bytes, reservation.admit);
        reader.ready.fetch_add(bytes, Ordering::Relaxed);
        let mut table = self.table.lock();
        let age = table.next;
        table.next += 1;
        table.by_age.insert(age, key.clone());
        let replaced = table.ready.insert(key, Ready { chunk, admit, reader, bytes, since: env::now(), age });
        if let Some(old) = replaced {
            table.by_age.remove(&old.age);
            old.reader.ready.fetch_sub(old.bytes, Ordering::Relaxed);
            self.release(&mut table, old.bytes);
        }
    }

    /// A prefetched chunk was taken up by a reader that joined while it was on the way.
    pub(super) fn used_in_flight(&self, mut reservation: Reservation) {
        reservation.landed = true;
        self.release(&mut self.table.lock(), reservation.bytes);
        self.metrics.cache.prefetch_used_bytes.inc_by(reservation.bytes);
    }

    /// A prefetched chunk arrived after its reader had left.
    pub(super) fn abandoned_in_flight(&self, mut reservation: Reservation) {
        reservation.landed = true;
        self.release(&mut self.table.lock(), reservation.bytes);
        reservation.reader.waste.abandoned.fetch_add(reservation.bytes, Ordering::Relaxed);
        self.metrics.cache.wasted(ABANDONED, reservation.bytes);
    }

    /// The chunk, for its reader, and whether it may enter the cache.
    pub(super) fn take(&self, key: &Key) -> Option<(Chunk, bool)> {
        let mut table = self.table.lock();
        let ready = self.remove(&mut table, key)?;
        self.metrics.cache.prefetch_used_bytes.inc_by(ready.bytes);
        Some((ready.chunk, ready.admit))
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        self.table.lock().ready.contains_key(key)
    }

    /// Everything that lies ready for a reader that will not come.
    pub(super) fn abandon(&self, reader: &Arc<Reader>) {
        let mut table = self.table.lock();
        if reader.ready() == 0 {
            return;
        }
        let keys: Vec<Key> = table.ready.iter().filter(|(_, r)| Arc::ptr_eq(&r.reader, reader)).map(|(k, _)| k.clone()).collect();
        for key in keys {
            if let Some(ready) = self.remove(&mut table, &key) {
                reader.waste.abandoned.fetch_add(ready.bytes, Ordering::Relaxed);
                self.metrics.cache.wasted(ABANDONED, ready.bytes);
            }
        }
    }

    fn evict_stale(&self, table: &mut Table) -> bool {
        let Some(key) = table.by_age.values().next().cloned() else { return false };
        if table.ready.get(&key).is_none_or(|r| env::now().duration_since(r.since) < STALE_AFTER) {
            return false;
        }
        let Some(ready) = self.remove(table, &key) else { return false };
        ready.reader.waste.evicted.fetch_add(ready.bytes, Ordering::Relaxed);
        self.metrics.cache.wasted(EVICTED, ready.bytes);
        true
    }

    fn remove(&self, table: &mut Table, key: &Key) -> Option<Ready> {
        let ready = table.ready.remove(key)?;
        table.by_age.remove(&ready.age);
        ready.reader.ready.fetch_sub(ready.bytes, Ordering::Relaxed);
        self.release(table, ready.bytes);
        Some(ready)
    }

    fn release(&self, table: &mut Table, bytes: u64) {
        table.reserved -= bytes;
        self.metrics.cache.prefetch_reserved_bytes.set(table.reserved as i64);
    }
}

//! A partition: offsets, watermark, extents, and the fetch path.
//!
//! It knows its newest extents, looks up older ones, and reads them through the cache. Invariants:
//!
//! * high watermark and log start never move back;
//! * an extent is known before the watermark covers it, so a reader below the watermark always finds its records;
//! * what a fetch returns is whole batches, slices of cached chunks, in offset order, below the watermark.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Extent, ExtentLookup, Shared, Topic};
use crate::error::{Error, ErrorKind, Result};
use crate::index::SliceIndex;
use crate::read_ahead::ReadAhead;
use crate::types::{Offset, PartitionId, TimestampMs};

mod ahead;
mod epochs;
mod extents;
mod fetch;
mod older;
mod reading;
mod state;
#[cfg(test)]
mod tests;
mod timestamp;
mod waiters;

use older::Older;
pub use reading::Reading;
use reading::ReadingStats;
use state::State;

/// A partition of an open lane. Clones share it.
#[derive(Clone)]
pub struct Partition(Arc<Inner>);

struct Inner {
    shared: Shared,
    topic: Arc<Topic>,
    partition: PartitionId,
    state: Mutex<State>,
    older: Older,
    read_ahead: ReadAhead,
    reading: Mutex<ReadingStats>,
}

/// The offsets that bound what can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// First readable offset.
    pub log_start: Offset,
    /// Offset after the last committed record.
    pub high_watermark: Offset,
}

/// What a fetch found.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The offsets at that moment.
    pub offsets: Offsets,
    /// Whole batches, the first one containing the offset asked for (or following it, behind a gap);
    /// none at the high watermark. Shared with the cache.
    pub chunks: Vec<Bytes>,
    /// Sum of the chunks' sizes, in bytes.
    pub len: usize,
    /// Where to go on.
    pub next_offset: Offset,
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partition").field("name", &self.name()).field("offsets", &self.offsets()).finish_non_exhaustive()
    }
}

impl Partition {
    /// A partition with the offsets that its lane recovered. Records below `high_watermark` are found through `lookup`.
    pub fn new(shared: Shared, topic: Arc<Topic>, partition: PartitionId, offsets: Offsets, lookup: Arc<dyn ExtentLookup>) -> Self {
        let read_ahead = ReadAhead::new(shared.cache.clone());
        Self(Arc::new(Inner {
            shared,
            topic,
            partition,
            state: Mutex::new(State::new(offsets)),
            older: Older::new(lookup, partition),
            read_ahead,
            reading: Mutex::default(),
        }))
    }

    /// Called by the lane, in offset order: the extent is committed and becomes readable. With the bytes just
    /// flushed the cache is seeded, so that a tail reader needs no request.
    pub fn commit(&self, extent: Extent, index: Arc<SliceIndex>, batches: &[Bytes]) {
        if self.0.topic.settings.load().cache_enabled && !batches.is_empty() {
            self.0.shared.cache.seed(&extent.object, &extent.slice, index, batches);
        }
        self.0.state.lock().commit(extent);
    }

    /// Called by the lane: the manifest says that the log starts here now.
    pub fn set_log_start(&self, offset: Offset) {
        self.0.state.lock().set_log_start(offset);
    }

    /// Called by the lane when it is fenced or closed: every reader and waiter gets this error from now on.
    pub fn fail(&self, error: Error) {
        self.0.state.lock().fail(error);
        self.0.read_ahead.clear();
    }

    /// The offsets now.
    pub fn offsets(&self) -> Result<Offsets> {
        self.0.state.lock().offsets()
    }

    /// Whole batches from `offset` on, up to `max_bytes` but at least one batch if `at_least_one`; never above the high watermark.
    /// Fewer than fit, where at least half of `max_bytes` is found and more would have to be downloaded.
    /// [`OffsetOutOfRange`](crate::ErrorKind::OffsetOutOfRange) below the log start or above the high watermark.
    pub async fn fetch(&self, offset: Offset, max_bytes: usize, at_least_one: bool) -> Result<Fetched> {
        self.or_gone(offset, || self.fetch_once(offset, max_bytes, at_least_one)).await
    }

    /// Offset and timestamp of the first record, from the log start on, whose timestamp is at least `timestamp`.
    pub async fn find_timestamp(&self, timestamp: TimestampMs) -> Result<Option<(Offset, TimestampMs)>> {
        self.0.reading.lock().time_lookup();
        let from = self.offsets()?.log_start;
        match self.find_timestamp_from(from, timestamp).await {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                self.0.older.forget();
                let from = self.offsets()?.log_start;
                self.find_timestamp_from(from, timestamp).await.map_err(|e| self.lost(e))
            }
            found => found,
        }
    }

    /// Brings the chunks from `offset` on into the cache, up to `bytes`.
    pub async fn warm(&self, offset: Offset, bytes: u64) -> Result<()> {
        self.or_gone(offset, || self.warm_once(offset, bytes)).await
    }

    /// Wakes `waiter` once, when the high watermark moves above `offset`, the log start above it, or the partition fails; at once if it
    /// already is so. Dropping the waiter unsubscribes.
    pub fn wake_when_readable(&self, offset: Offset, waiter: &Arc<Notify>) {
        let mut state = self.0.state.lock();
        if state.is_due(offset) {
            waiter.notify_one();
        } else {
            state.waiters.add(offset, waiter);
        }
    }

    /// How it has been read lately: for the index policy.
    pub fn reading(&self) -> Reading {
        self.0.reading.lock().summary()
    }

    fn name(&self) -> String {
        format!("partition {} of topic {}", self.0.partition, self.0.topic.name)
    }

    /// Runs a read of `offset`; once more if an object was gone: the catalog may have changed since it was looked at.
    async fn or_gone<T, F: Future<Output = Result<T>>>(&self, offset: Offset, read: impl Fn() -> F) -> Result<T> {
        match read().await {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            done => return done,
        }
        self.0.older.forget();
        self.readable(offset)?;
        match read().await {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                self.readable(offset)?;
                Err(self.lost(e))
            }
            done => done,
        }
    }

    fn lost(&self, e: Error) -> Error {
        let message = format!("an object of {} is gone that its catalog names; restore it from a copy of the bucket", self.name());
        Error::new(ErrorKind::Corrupt, message).with_source(e)
    }
}

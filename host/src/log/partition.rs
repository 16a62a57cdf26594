//! A partition: offsets, watermark, extents, and the fetch path.

use std::sync::Arc;

use bytes::Bytes;

use super::{Extent, ExtentLookup, Shared, Topic};
use crate::error::{Error, Result};
use crate::index::SliceIndex;
use crate::types::{Offset, PartitionId, TimestampMs};

/// A partition of an open lane.
pub struct Partition {
    topic: Arc<Topic>,
    partition: PartitionId,
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

impl Partition {
    /// A partition with the offsets that its lane recovered. Records below `high_watermark` are found through `lookup`.
    pub fn new(shared: Shared, topic: Arc<Topic>, partition: PartitionId, offsets: Offsets, lookup: Arc<dyn ExtentLookup>) -> Self {
        let _ = (shared, offsets, lookup);
        Self { topic, partition }
    }

    /// Called by the lane, in offset order: the extent is committed and becomes readable. With the bytes just
    /// flushed the cache is seeded, so that a tail reader needs no request.
    pub fn commit(&self, extent: Extent, index: Arc<SliceIndex>, bytes: Vec<Bytes>) {
        let _ = (extent, index, bytes, &self.topic, self.partition);
        todo!()
    }

    /// Called by the lane: the manifest says that the log starts here now.
    pub fn set_log_start(&self, offset: Offset) {
        let _ = offset;
        todo!()
    }

    /// Called by the lane when it is fenced or closed: every reader and waiter gets this error from now on.
    pub fn fail(&self, error: Error) {
        let _ = error;
        todo!()
    }

    /// The offsets now.
    pub fn offsets(&self) -> Result<Offsets> {
        todo!()
    }

    /// Whole batches from `offset` on, up to `max_bytes` but at least one batch if `at_least_one`; never above the high watermark.
    /// [`OffsetOutOfRange`](crate::ErrorKind::OffsetOutOfRange) below the log start or above the high watermark.
    pub async fn fetch(&self, offset: Offset, max_bytes: usize, at_least_one: bool) -> Result<Fetched> {
        let _ = (offset, max_bytes, at_least_one);
        todo!()
    }

    /// Offset and timestamp of the first record, from the log start on, whose timestamp is at least `timestamp`.
    pub async fn find_timestamp(&self, timestamp: TimestampMs) -> Result<Option<(Offset, TimestampMs)>> {
        let _ = timestamp;
        todo!()
    }

    /// Brings the chunks from `offset` on into the cache, up to `bytes`.
    pub async fn warm(&self, offset: Offset, bytes: u64) -> Result<()> {
        let _ = (offset, bytes);
        todo!()
    }

    /// Wakes `waiter` once, when the high watermark moves above `offset`, the log start above it, or the partition fails; at once if it
    /// already is so. Dropping the waiter unsubscribes.
    pub fn wake_when_readable(&self, offset: Offset, waiter: &Arc<tokio::sync::Notify>) {
        let _ = (offset, waiter);
        todo!()
    }
}

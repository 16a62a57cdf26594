//! Looking up an offset by timestamp, exact to the record as Kafka does it: extents and index blocks that are too old are
//! skipped by their largest timestamp, then batches by their headers, and one batch is decoded.
//!
//! A batch of a few kilobytes may decode to [`DECODE_LIMIT_BYTES`], and takes part of a second then. So decoding is done on
//! threads of its own, where it holds up nobody who appends or fetches, and at most [`DECODERS`] at once.

use bytes::Bytes;
use tokio::sync::Semaphore;

use super::Partition;
use super::state::Whereabouts;
use crate::cache::{Access, ChunkRef, Layout};
use crate::error::{Error, ErrorKind, Result};
use crate::log::Extent;
use crate::record::{self, BatchHeader, DECODE_LIMIT_BYTES, RecordError};
use crate::types::{Offset, TimestampMs};

/// Batches that are decoded at once, of all partitions of the process: bounds what that takes of memory and of processors.
const DECODERS: usize = 2;

static DECODING: Semaphore = Semaphore::const_new(DECODERS);

type Found = Option<(Offset, TimestampMs)>;

impl Partition {
    /// The first record from `from` on with a timestamp of at least `timestamp`. Goes on behind a batch whose header promised more
    /// than its records hold; each turn moves on by an extent.
    pub(super) async fn find_timestamp_from(&self, mut from: Offset, timestamp: TimestampMs) -> Result<Found> {
        while let Some(extent) = self.extent_at_time(from, timestamp).await? {
            if let Some(found) = self.find_in_extent(&extent, from, timestamp).await? {
                return Ok(Some(found));
            }
            from = extent.slice.next_offset;
        }
        Ok(None)
    }

    async fn extent_at_time(&self, from: Offset, timestamp: TimestampMs) -> Result<Option<Extent>> {
        let recent = {
            let state = self.0.state.lock();
            state.offsets()?;
            let older = matches!(state.find(from), Whereabouts::Older);
            (!older).then(|| state.recent_at_time(from, timestamp))
        };
        if let Some(found) = recent {
            return Ok(found);
        }
        let older = self.0.older.at_time(from, timestamp).await?;
        let state = self.0.state.lock();
        state.offsets()?;
        Ok(older.filter(|e| e.slice.next_offset > from).or_else(|| state.recent_at_time(from, timestamp)))
    }

    async fn find_in_extent(&self, extent: &Extent, from: Offset, timestamp: TimestampMs) -> Result<Found> {
        let cache = &self.0.shared.cache;
        let layout = cache.layout(&extent.object, &extent.slice, false).await?;
        let access = Access { admit: self.admits(), gather: false };
        for span in layout.span_of(from)..layout.spans().len() {
            if layout.spans()[span].max_timestamp < timestamp {
                continue;
            }
            let chunk = ChunkRef { object: &extent.object, slice: &extent.slice, layout: &layout, span };
            let chunk = cache.request(chunk, access).chunk().await?;
            let start = first_offset(&layout, from, timestamp);
            for batch in chunk.batches_from(start) {
                let found = find_in_batch(batch.bytes, from, timestamp).await.map_err(|e| unreadable(extent, batch.base_offset, e))?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }
}

/// Where the walk through batches may begin: the block that the index names, where there is an index.
fn first_offset(layout: &Layout, from: Offset, timestamp: TimestampMs) -> Offset {
    let Some(index) = layout.index().map(|i| i.index()) else { return from };
    let block = index.first_at_time(index.floor(from), timestamp);
    block.map_or(from, |block| index.entries()[block].offset.max(from))
}

/// Looks into one batch: here, where its header decides; else where it may take its time.
async fn find_in_batch(batch: Bytes, from: Offset, timestamp: TimestampMs) -> std::result::Result<Found, RecordError> {
    let header = BatchHeader::parse(&batch)?;
    if header.max_timestamp < timestamp || header.last_offset() < from {
        return Ok(None);
    }
    let permit = DECODING.acquire().await.expect("it is never closed");
    let decoding = tokio::task::spawn_blocking(move || {
        let found = record::find_timestamp(&batch, from, timestamp, DECODE_LIMIT_BYTES);
        drop(permit);
        found
    });
    decoding.await.expect("decoding does not panic, and only the end of the runtime cancels it")
}

fn unreadable(extent: &Extent, base_offset: Offset, e: RecordError) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the batch at offset {base_offset} in object {} has no whole header", extent.object))
        .with_source(e)
}

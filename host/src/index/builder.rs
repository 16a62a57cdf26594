//! Building an index while a slice is sealed.

use super::{IndexEntry, MAX_BLOCK_BYTES, SliceIndex};
use crate::policy::IndexSpacing;
use crate::record::BatchHeader;
use crate::types::{PartitionId, TimestampMs};

/// An index in the making. Batches are added in the order in which they lie in the slice.
#[derive(Debug)]
pub struct IndexBuilder {
    partition: PartitionId,
    spacing: IndexSpacing,
    entries: Vec<IndexEntry>,
    block: Block,
}

/// What the last block holds so far.
#[derive(Clone, Copy, Debug)]
struct Block {
    bytes: u64,
    records: u64,
    first_timestamp: TimestampMs,
    last_timestamp: TimestampMs,
}

impl Block {
    fn of(batch: &BatchHeader) -> Self {
        let (a, b) = (batch.first_timestamp(), batch.max_timestamp);
        Self {
            bytes: u64::from(batch.size),
            records: u64::from(batch.record_count.unsigned_abs()),
            first_timestamp: a.min(b),
            last_timestamp: a.max(b),
        }
    }

    fn with(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            records: self.records + other.records,
            first_timestamp: self.first_timestamp.min(other.first_timestamp),
            last_timestamp: self.last_timestamp.max(other.last_timestamp),
        }
    }

    fn fits(&self, spacing: &IndexSpacing) -> bool {
        self.bytes <= spacing.bytes.min(MAX_BLOCK_BYTES)
            && self.records <= spacing.records
            && self.last_timestamp.abs_diff(self.first_timestamp) <= spacing.time_ms
    }
}

impl IndexBuilder {
    /// An index of a slice of `partition`: a block holds at most so much as `spacing` says, or one batch.
    pub fn new(partition: PartitionId, spacing: IndexSpacing) -> Self {
        let block = Block { bytes: 0, records: 0, first_timestamp: 0, last_timestamp: 0 };
        Self { partition, spacing, entries: Vec::new(), block }
    }

    /// Adds the batch at `position` of the object. Asks for the running CRC-32 there only if a block starts with it.
    pub fn add(&mut self, batch: &BatchHeader, position: u64, running_crc32: impl FnOnce() -> u32) {
        let alone = Block::of(batch);
        let joined = self.block.with(alone);
        match self.entries.last_mut() {
            Some(entry) if joined.fits(&self.spacing) => {
                entry.max_timestamp = entry.max_timestamp.max(batch.max_timestamp);
                self.block = joined;
            }
            _ => {
                let (offset, max_timestamp) = (batch.base_offset, batch.max_timestamp);
                self.entries.push(IndexEntry { offset, position, max_timestamp, running_crc32: running_crc32() });
                self.block = alone;
            }
        }
    }

    /// The index of a slice that ends at `end_position` with this running CRC-32. At least one batch was added.
    pub fn finish(mut self, end_position: u64, end_crc32: u32) -> SliceIndex {
        assert!(!self.entries.is_empty(), "a slice has at least one batch");
        self.entries.shrink_to_fit();
        SliceIndex { partition: self.partition, entries: self.entries, end_position, end_crc32 }
    }
}

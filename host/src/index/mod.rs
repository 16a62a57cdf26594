//! The sparse index of a slice: where to start reading for an offset or a time, and what checksum to expect.
//!
//! An index cuts its slice into *blocks*, each of one or more whole batches. An entry holds the running CRC-32
//! of the segment's body at the start of its block, so any run of blocks is verified on its own, by continuing
//! from the entry in front of it, and nobody passes over the bytes twice to write it. However sparse a
//! policy wants the index, a block is at most [`MAX_BLOCK_BYTES`] or one batch.

use std::ops::Range;

use crate::types::{Offset, PartitionId, TimestampMs};

mod builder;
mod chunk;
mod encoding;
#[cfg(test)]
mod tests;
mod verify;

pub use builder::IndexBuilder;
pub use chunk::Chunk;
pub use encoding::encoded_len;

/// Longest run of bytes without an entry, unless one batch is larger: whatever a policy answers, a reader
/// verifies at most this much to trust one batch.
pub const MAX_BLOCK_BYTES: u64 = 64 << 10;
/// Encoded size of one entry, in bytes.
pub const ENTRY_LEN: usize = 28;

/// The start of a block: at least one whole batch, up to the next entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Base offset of the block's first batch.
    pub offset: Offset,
    /// Position of that batch in the object, in bytes.
    pub position: u64,
    /// Largest record timestamp in the block.
    pub max_timestamp: TimestampMs,
    /// CRC-32 (IEEE) of the segment's body from its first byte up to `position`.
    pub running_crc32: u32,
}

/// The index of one slice. Never empty; offsets and positions rise from entry to entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceIndex {
    partition: PartitionId,
    entries: Vec<IndexEntry>,
    /// Position behind the slice's last byte.
    end_position: u64,
    /// Running CRC-32 there.
    end_crc32: u32,
}

impl SliceIndex {
    /// The partition whose slice it is.
    pub fn partition(&self) -> PartitionId {
        self.partition
    }

    /// The blocks' entries, in order.
    pub fn entries(&self) -> &[IndexEntry] {
        &self.entries
    }

    /// The positions of the whole slice.
    pub fn range(&self) -> Range<u64> {
        self.entries[0].position..self.end_position
    }

    /// The block that holds `offset` if the slice does: the last one that begins at or below it, or else the first.
    pub fn floor(&self, offset: Offset) -> usize {
        self.entries.partition_point(|entry| entry.offset <= offset).saturating_sub(1)
    }

    /// The block in which a byte lies, or the nearest one.
    pub fn block_at(&self, position: u64) -> usize {
        self.entries.partition_point(|entry| entry.position <= position).saturating_sub(1)
    }

    /// The first block, from block `from` on, that has a record with a timestamp of at least `target`.
    pub fn first_at_time(&self, from: usize, target: TimestampMs) -> Option<usize> {
        let later = self.entries.get(from..)?;
        later.iter().position(|entry| entry.max_timestamp >= target).map(|found| from + found)
    }

    /// Positions of a run of blocks (not empty, within the index).
    pub fn range_of(&self, blocks: Range<usize>) -> Range<u64> {
        self.entries[blocks.start].position..self.position_after(blocks.end)
    }

    /// Memory it holds, in bytes.
    pub fn resident_bytes(&self) -> usize {
        size_of::<Self>() + self.entries.capacity() * size_of::<IndexEntry>()
    }

    /// Position behind the block before `block`: where `block` starts, or the end of the slice.
    fn position_after(&self, block: usize) -> u64 {
        self.entries.get(block).map_or(self.end_position, |entry| entry.position)
    }

    /// Running CRC-32 at [`Self::position_after`].
    fn crc32_after(&self, block: usize) -> u32 {
        self.entries.get(block).map_or(self.end_crc32, |entry| entry.running_crc32)
    }
}

//! The sparse index of a slice: where to start reading for an offset or a time, and what checksum to expect.

use crate::types::{Offset, TimestampMs};

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

/// The index of one slice. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceIndex {
    entries: Vec<IndexEntry>,
    /// Position behind the slice's last byte.
    end_position: u64,
    /// Running CRC-32 there.
    end_crc32: u32,
}

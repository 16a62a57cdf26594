//! Catalog pages and the manifest of a lane: which slice lies where.
//!
//! The manifest is the root of a tree: it lists pages, each with the offsets that it covers of every
//! partition, so that a lookup fetches one page a level. A leaf lists the slices of up to 16 segments; a node
//! lists up to [`FAN_OUT`] pages of the level below.
//!
//! Everything is written as differences to the line before in variable-length integers: what a page covers of a
//! partition takes about ten bytes, so a manifest stays small whatever the length of the log. Every object begins
//! with magic and version and ends with the CRC-32 of all of it; docs/format.md holds the tables.

use crate::segment::SliceMeta;
use crate::types::{Epoch, Nonce, Offset, PartitionId, Slot, TimestampMs};

mod leaf;
mod manifest;
mod page;
mod producers;
mod refs;
#[cfg(test)]
mod tests;

pub use manifest::{Manifest, PartitionState};
pub use producers::{ProducerStates, SnapshotRef, decode_snapshot, encode_snapshot};

/// Pages of one level that fold into one of the next.
pub const FAN_OUT: usize = 64;
/// Segments between checkpoints.
pub const CHECKPOINT_SEGMENTS: u64 = 16;
/// Largest encoded manifest, in bytes.
pub const MAX_MANIFEST_BYTES: usize = 256 << 10;

/// One slice as the catalog knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceEntry {
    /// Slot of its segment.
    pub slot: Slot,
    /// Epoch of its writer.
    pub epoch: Epoch,
    /// Where it lies, and what it holds.
    pub slice: SliceMeta,
    /// Bytes of its partition in all slices before it: sizes of ranges are differences of these.
    pub prior_bytes: u64,
}

/// What a page covers of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The partition.
    pub partition: PartitionId,
    /// Offset of the first record covered.
    pub base_offset: Offset,
    /// Offset after the last record covered.
    pub next_offset: Offset,
    /// Largest record timestamp covered.
    pub max_timestamp: TimestampMs,
}

/// Names a page and says what it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRef {
    /// 0 for a leaf.
    pub level: u8,
    /// First slot covered.
    pub first_slot: Slot,
    /// Slot after the last segment covered.
    pub end_slot: Slot,
    /// Epoch of its writer.
    pub epoch: Epoch,
    /// Nonce of its writer.
    pub nonce: Nonce,
    /// In partition order.
    pub coverage: Vec<Coverage>,
}

/// An immutable page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page {
    /// Slices, in slot and then partition order.
    Leaf(Vec<SliceEntry>),
    /// Pages of the level below, in slot order.
    Node(Vec<PageRef>),
}

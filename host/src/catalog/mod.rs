//! Catalog pages and the manifest of a lane: which slice lies where.
//!
//! The manifest is the root of a tree: it lists pages, each with the offsets that it covers of every
//! partition, so that a lookup fetches one page a level. A leaf lists the slices of up to 16 segments; a node
//! lists up to [`FAN_OUT`] pages of the level below.

use crate::segment::SliceMeta;
use crate::types::{Epoch, LaneId, Nonce, Offset, PartitionId, Slot, TimestampMs, TopicId};

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

/// A partition at the manifest's checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionState {
    /// The partition.
    pub partition: PartitionId,
    /// First readable offset.
    pub log_start: Offset,
    /// Offset after the last record below the checkpoint.
    pub next_offset: Offset,
    /// Bytes of all slices below the checkpoint, trimmed ones included.
    pub total_bytes: u64,
}

/// The one object of a lane that is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Topic of the lane.
    pub topic: TopicId,
    /// The lane.
    pub lane: LaneId,
    /// Who wrote this state.
    pub nonce: Nonce,
    /// Counts the replacements, whoever made them: with the nonce it tells one's own write from any other.
    pub counter: u64,
    /// Epoch of the leader.
    pub epoch: Epoch,
    /// The first slot that a walk looks at.
    pub checkpoint: Slot,
    /// The topic was deleted: the lane cannot be opened.
    pub tombstone: bool,
    /// In partition order; a partition that is not named starts at offset 0.
    pub partitions: Vec<PartitionState>,
    /// Slots of all fences of claims, in order. Never pruned.
    pub fences: Vec<Slot>,
    /// The pages not folded yet, in slot order (so levels go down).
    pub pages: Vec<PageRef>,
}

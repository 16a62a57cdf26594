//! Segment objects, version 2: one slice per partition, indexes and footer inside, everything covered by a
//! checksum. docs/format.md holds the byte tables.
//!
//! ```text
//! header | slices (the body) | slice indexes | footer | trailer
//! ```

use bytes::Bytes;

use crate::codec::Body;
use crate::index::SliceIndex;
use crate::policy::IndexSpacing;
use crate::record::AppendedSet;
use crate::types::{Epoch, LaneId, Nonce, Offset, PartitionId, Slot, TimestampMs, TopicId};

pub mod v1;

/// Who wrote an object, and where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Topic of the lane.
    pub topic: TopicId,
    /// The lane.
    pub lane: LaneId,
    /// The object's slot in the lane.
    pub slot: Slot,
    /// Epoch of its writer.
    pub epoch: Epoch,
    /// Nonce of its writer (of a fence: of the opening that made it).
    pub nonce: Nonce,
}

/// What a log object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogObjectKind {
    /// Slices of record batches.
    Segment,
    /// Nothing but the claim of an opening: the next slot is `WINDOW` further.
    Fence,
}

/// The first bytes of every log object, segment or fence: constant length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Segment or fence.
    pub kind: LogObjectKind,
    /// Who and where.
    pub identity: Identity,
    /// When it was sealed, by the writer's clock.
    pub created_ms: TimestampMs,
    /// Size of the body (all slices), in bytes; 0 for a fence.
    pub body_len: u64,
    /// CRC-32 (IEEE) of the body; 0 for a fence.
    pub body_crc32: u32,
}

/// One partition's part of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceMeta {
    /// The partition.
    pub partition: PartitionId,
    /// Offset of its first record.
    pub base_offset: Offset,
    /// Offset after its last record.
    pub next_offset: Offset,
    /// Position of its first byte in the object.
    pub position: u64,
    /// Its size in bytes.
    pub len: u64,
    /// Number of batches.
    pub batch_count: u32,
    /// Base timestamp of its first batch.
    pub first_timestamp: TimestampMs,
    /// Largest record timestamp.
    pub max_timestamp: TimestampMs,
    /// CRC-32 (IEEE) of its bytes.
    pub crc32: u32,
    /// Position of its index in the object.
    pub index_position: u64,
    /// Encoded size of its index, in bytes.
    pub index_len: u32,
}

/// One append of an idempotent producer, for the rebuilding of producer state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the protocol guide")]
pub struct ProducerAppend {
    pub partition: PartitionId,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub first_sequence: i32,
    pub last_sequence: i32,
    pub base_offset: Offset,
}

/// The table at the end of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footer {
    /// In partition order, at most one for each.
    pub slices: Vec<SliceMeta>,
    /// In append order.
    pub producers: Vec<ProducerAppend>,
}

/// What [`seal`] takes for one partition.
#[derive(Debug)]
pub struct SliceInput {
    /// The partition.
    pub partition: PartitionId,
    /// Its sets, in offset order; not empty.
    pub sets: Vec<AppendedSet>,
    /// Spacing of its index.
    pub spacing: IndexSpacing,
}

/// A sealed segment, ready to upload.
#[derive(Debug)]
pub struct Sealed {
    /// Header, batches as they came, indexes, footer, trailer: no batch byte is copied.
    pub body: Body,
    /// Its header.
    pub header: Header,
    /// Its footer.
    pub footer: Footer,
    /// The index of each slice of the footer, in the same order.
    pub indexes: Vec<SliceIndex>,
    /// The batches of each slice of the footer, in the same order.
    pub slices: Vec<Vec<Bytes>>,
}

/// Why an object was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} at {position}: {problem}")]
pub struct FormatError {
    /// `header`, `footer`, `index of partition 3`, `block`, ...
    pub part: String,
    /// Position in the object, in bytes.
    pub position: u64,
    /// Expected and found.
    pub problem: String,
}

//! Kafka record batches, version 2 (magic 2): validation before an offset is assigned, patching in place,
//! and reading them back.
//!
//! Source of the format: the Kafka protocol guide, "Record Batch". A batch is a 61-byte header and records,
//! perhaps compressed; its CRC-32C covers everything from the attributes on, so base offset and leader epoch
//! may be patched without touching it.

use bytes::{Bytes, BytesMut};

use crate::types::{Epoch, Offset, TimestampMs};

/// Bytes before the first record.
pub const BATCH_HEADER_LEN: usize = 61;

/// The header of one record batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the protocol guide")]
pub struct BatchHeader {
    pub base_offset: Offset,
    /// Whole size in bytes, the first 12 included.
    pub size: u32,
    pub leader_epoch: i32,
    pub crc: u32,
    pub attributes: u16,
    pub last_offset_delta: i32,
    pub base_timestamp: TimestampMs,
    pub max_timestamp: TimestampMs,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub record_count: i32,
}

/// Why a record set was refused. Nothing of it was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RecordError {
    #[error("record set is empty")]
    Empty,
    #[error("batch at position {position}: magic {magic}, only 2 is stored")]
    OldMagic { position: usize, magic: i8 },
    #[error("batch at position {position}: {problem}")]
    Malformed { position: usize, problem: String },
    #[error("batch at position {position}: crc-32c is {computed:#010x}, the header says {stored:#010x}")]
    WrongCrc { position: usize, stored: u32, computed: u32 },
    #[error("batch at position {position} has {size} bytes, at most {limit} are allowed")]
    TooLarge { position: usize, size: usize, limit: usize },
}

/// One batch inside a [`RecordSet`] or [`AppendedSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchMeta {
    /// Position of the batch in the set's bytes.
    pub position: usize,
    /// The header; in an [`AppendedSet`] as patched.
    pub header: BatchHeader,
}

/// One or more whole, validated batches, without offsets yet. Owns its bytes so that they are patched in place.
#[derive(Debug)]
pub struct RecordSet {
    bytes: BytesMut,
    batches: Vec<BatchMeta>,
}

/// A record set whose batches carry their final offsets and leader epoch.
#[derive(Clone, Debug)]
pub struct AppendedSet {
    /// All batches, contiguous.
    pub bytes: Bytes,
    /// One for each batch, in order.
    pub batches: Vec<BatchMeta>,
}

impl RecordSet {
    /// Checks every batch: length, magic, CRC-32C, last offset delta against the record count, and for
    /// uncompressed batches the records' own lengths and offset deltas. `max_batch_bytes` bounds each batch.
    /// Refuses the whole set if anything is wrong.
    pub fn validate(bytes: BytesMut, max_batch_bytes: usize) -> Result<Self, RecordError> {
        let _ = (bytes, max_batch_bytes);
        todo!()
    }

    /// Size in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never: an empty set is refused.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Records in all batches: the offsets that the set takes.
    pub fn record_count(&self) -> u64 {
        todo!()
    }

    /// The batches in order.
    pub fn batches(&self) -> &[BatchMeta] {
        &self.batches
    }

    /// Patches base offsets from `base_offset` on and the leader epoch, in place. With `append_time` also the
    /// timestamps (timestamp type "append time", which changes the CRC).
    pub fn assign(self, base_offset: Offset, epoch: Epoch, append_time: Option<TimestampMs>) -> AppendedSet {
        let _ = (base_offset, epoch, append_time);
        todo!()
    }
}

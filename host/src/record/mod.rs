//! Kafka record batches, version 2 (magic 2): validation before an offset is assigned, patching in place,
//! and reading them back.
//!
//! Source of the format: the Kafka protocol guide, "Record Batch". A batch is a 61-byte header and records,
//! perhaps compressed; its CRC-32C covers everything from the attributes on, so base offset and leader epoch
//! may be patched without touching it.
//!
//! Compressed records are never decoded on the write path: there only the header speaks for them, of their largest
//! timestamp too. Reading them back decodes up to a limit that the caller states, whatever the bytes claim.

use bytes::{Bytes, BytesMut};

use crate::types::Offset;

mod assign;
mod compression;
mod header;
mod records;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod time;
mod validate;

pub use compression::Compression;
pub use header::{BATCH_HEADER_LEN, BatchHeader};
pub use records::{DECODE_LIMIT_BYTES, Record, Records, batches, find_timestamp, records};
pub use validate::check_crc;

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

impl RecordError {
    fn malformed(position: usize, problem: impl Into<String>) -> Self {
        Self::Malformed { position, problem: problem.into() }
    }
}

/// One batch inside a [`RecordSet`] or [`AppendedSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchMeta {
    /// Position of the batch in the set's bytes.
    pub position: usize,
    /// The header; in an [`AppendedSet`] as patched.
    pub header: BatchHeader,
}

impl BatchMeta {
    /// Position behind the batch in the set's bytes.
    pub fn end(&self) -> usize {
        self.position + self.header.size as usize
    }
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
        self.batches.iter().map(|batch| u64::from(batch.header.record_count.unsigned_abs())).sum()
    }

    /// The batches in order.
    pub fn batches(&self) -> &[BatchMeta] {
        &self.batches
    }

    /// Whether any of them is of an idempotent producer.
    pub fn has_producers(&self) -> bool {
        self.batches.iter().any(|batch| batch.header.producer_id >= 0)
    }
}

impl AppendedSet {
    /// Offset of its first record.
    pub fn base_offset(&self) -> Offset {
        self.batches.first().expect("an empty set is refused").header.base_offset
    }

    /// Offset after its last record.
    pub fn next_offset(&self) -> Offset {
        self.batches.last().expect("an empty set is refused").header.next_offset()
    }
}

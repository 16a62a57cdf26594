//! One partition's part of a segment, and its 72 bytes in a footer.

use super::FormatError;
use crate::codec::{Reader, Writer};
use crate::index::{self, SliceIndex};
use crate::record::BATCH_HEADER_LEN;
use crate::types::{Offset, PartitionId, TimestampMs};

/// Encoded size of a [`SliceMeta`] in a footer, in bytes.
pub(super) const SLICE_LEN: usize = 72;

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
    /// Timestamp of its first batch: that of its first record, or of its append.
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

impl SliceMeta {
    /// Position behind its last byte.
    pub fn end_position(&self) -> u64 {
        self.position + self.len
    }

    /// Reads its index from the bytes that lie where it says, and checks that the two belong together.
    pub fn read_index(&self, bytes: &[u8]) -> Result<SliceIndex, FormatError> {
        let damaged =
            |problem: String| FormatError::damaged(format!("index of partition {}", self.partition), self.index_position, problem);
        if bytes.len() != self.index_len as usize {
            return Err(damaged(format!("{} bytes, expected {}", bytes.len(), self.index_len)));
        }
        let index = SliceIndex::decode(bytes, self.index_position)?;
        let (range, offset) = (index.range(), index.entries()[0].offset);
        if index.partition() != self.partition || offset != self.base_offset || range != (self.position..self.end_position()) {
            return Err(damaged(format!("it is of partition {}, offset {offset}, positions {range:?}", index.partition())));
        }
        Ok(index)
    }

    pub(super) fn encode(&self, w: &mut Writer) {
        w.u32(self.partition).i64(self.base_offset).i64(self.next_offset).u64(self.position).u64(self.len);
        w.u32(self.batch_count).i64(self.first_timestamp).i64(self.max_timestamp).u32(self.crc32);
        w.u64(self.index_position).u32(self.index_len);
    }

    pub(super) fn decode(r: &mut Reader<'_>) -> Result<Self, FormatError> {
        let slice = Self {
            partition: r.u32()?,
            base_offset: r.i64()?,
            next_offset: r.i64()?,
            position: r.u64()?,
            len: r.u64()?,
            batch_count: r.u32()?,
            first_timestamp: r.i64()?,
            max_timestamp: r.i64()?,
            crc32: r.u32()?,
            index_position: r.u64()?,
            index_len: r.u32()?,
        };
        slice.check().map_err(|problem| r.error(format!("slice of partition {}: {problem}", slice.partition)))?;
        Ok(slice)
    }

    /// What holds of every slice, wherever it is told of.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let offsets = 0 <= self.base_offset && self.base_offset < self.next_offset;
        let batches = self.batch_count > 0 && u64::from(self.batch_count) <= self.len / BATCH_HEADER_LEN as u64;
        let index = self.index_len as usize >= index::encoded_len(1);
        match (offsets, batches, index) {
            (false, ..) => Err("offsets are negative or not in order"),
            (_, false, _) => Err("batch count does not fit its size"),
            (.., false) => Err("index too short"),
            _ if self.position.checked_add(self.len).is_none() => Err("it ends past every position"),
            _ => Ok(()),
        }
    }
}

//! The 61 bytes in front of a batch's records.

use super::{Compression, RecordError};
use crate::codec::Reader;
use crate::types::{Offset, TimestampMs};

/// Bytes before the first record.
pub const BATCH_HEADER_LEN: usize = 61;
/// Bytes before those that the batch length counts.
const UNCOUNTED_LEN: usize = 12;
pub(super) const EPOCH_AT: usize = 12;
const MAGIC_AT: usize = 16;
pub(super) const CRC_AT: usize = 17;
pub(super) const ATTRIBUTES_AT: usize = 21;
pub(super) const MAX_TIMESTAMP_AT: usize = 35;
pub(super) const APPEND_TIME_BIT: u16 = 1 << 3;
pub(super) const TRANSACTIONAL_BIT: u16 = 1 << 4;
pub(super) const CONTROL_BIT: u16 = 1 << 5;

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

impl BatchHeader {
    /// Reads the header of the batch that `bytes` begin with, and checks what it says of itself: magic 2, a size that
    /// has room for a header, a known codec, at least one record, a last offset delta that matches.
    /// The bytes may end behind the header, or go on behind the batch.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordError> {
        Self::parse_at(bytes, 0)
    }

    /// [`Self::parse`] of the batch at `position` of a set, for the messages.
    pub(super) fn parse_at(bytes: &[u8], position: usize) -> Result<Self, RecordError> {
        if let Some(&magic) = bytes.get(MAGIC_AT)
            && magic != 2
        {
            return Err(RecordError::OldMagic { position, magic: magic as i8 });
        }
        if bytes.len() < BATCH_HEADER_LEN {
            let problem = format!("{} bytes left, a batch header has {BATCH_HEADER_LEN}", bytes.len());
            return Err(RecordError::malformed(position, problem));
        }
        let header = Self::fields(bytes).expect("the length was checked");
        header.check().map_err(|problem| RecordError::malformed(position, problem))?;
        Ok(header)
    }

    fn fields(bytes: &[u8]) -> Result<Self, crate::codec::FormatError> {
        let mut r = Reader::new("batch header", bytes, 0);
        let base_offset = r.i64()?;
        let length = r.i32()?;
        let leader_epoch = r.i32()?;
        r.i8()?;
        Ok(Self {
            base_offset,
            // Below zero, or so large that the sum is past the type: a size that no check lets through.
            size: u32::try_from(length).map_or(0, |length| length + UNCOUNTED_LEN as u32),
            leader_epoch,
            crc: r.u32()?,
            attributes: r.u16()?,
            last_offset_delta: r.i32()?,
            base_timestamp: r.i64()?,
            max_timestamp: r.i64()?,
            producer_id: r.i64()?,
            producer_epoch: r.i16()?,
            base_sequence: r.i32()?,
            record_count: r.i32()?,
        })
    }

    fn check(&self) -> Result<(), String> {
        if (self.size as usize) < BATCH_HEADER_LEN {
            return Err(format!("batch length has no room for the {BATCH_HEADER_LEN} bytes of a header"));
        }
        Compression::of_attributes(self.attributes)?;
        if self.record_count <= 0 {
            return Err(format!("record count {}, expected at least 1", self.record_count));
        }
        if self.last_offset_delta != self.record_count - 1 {
            let (delta, count) = (self.last_offset_delta, self.record_count);
            return Err(format!("last offset delta {delta}, expected {} for {count} records", count - 1));
        }
        Ok(())
    }

    /// Offset of its last record.
    pub fn last_offset(&self) -> Offset {
        self.base_offset.saturating_add(Offset::from(self.last_offset_delta))
    }

    /// Offset after its last record.
    pub fn next_offset(&self) -> Offset {
        self.last_offset().saturating_add(1)
    }

    /// Sequence of its last record: sequences wrap from `i32::MAX` to 0; -1 if it has none.
    pub fn last_sequence(&self) -> i32 {
        if self.base_sequence < 0 {
            return self.base_sequence;
        }
        ((i64::from(self.base_sequence) + i64::from(self.last_offset_delta)) & i64::from(i32::MAX)) as i32
    }

    /// How its records are compressed.
    pub fn compression(&self) -> Compression {
        Compression::of_attributes(self.attributes).expect("checked when parsed")
    }

    /// Whether the largest timestamp is that of every record: the time of the append.
    pub fn is_append_time(&self) -> bool {
        self.attributes & APPEND_TIME_BIT != 0
    }

    /// Whether it belongs to a transaction.
    pub fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL_BIT != 0
    }

    /// Whether its records are markers and not for consumers.
    pub fn is_control(&self) -> bool {
        self.attributes & CONTROL_BIT != 0
    }

    /// Timestamp of its first record, as far as the header tells.
    pub fn first_timestamp(&self) -> TimestampMs {
        if self.is_append_time() { self.max_timestamp } else { self.base_timestamp }
    }
}

/// CRC-32C of a whole batch, as its header should hold it.
pub(super) fn crc_of(batch: &[u8]) -> u32 {
    crc32c::crc32c(&batch[ATTRIBUTES_AT..])
}

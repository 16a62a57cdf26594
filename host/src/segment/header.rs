//! The first bytes of every log object, segment or fence: constant length, with a checksum of their own.

use super::{FormatError, Identity};
use crate::codec::{Reader, Writer};
use crate::types::{Nonce, TimestampMs, TopicId};

/// Encoded size of a [`Header`], in bytes.
pub const HEADER_LEN: usize = 80;
pub(super) const MAGIC: &[u8; 4] = b"KAFS";
pub(super) const VERSION: u16 = 2;
const FENCE_FLAG: u16 = 1;

/// What a log object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogObjectKind {
    /// Slices of record batches.
    Segment,
    /// Nothing but the claim of an opening: the next slot is `WINDOW` further.
    Fence,
}

/// The first bytes of every log object, segment or fence: constant length. Equal headers are one's own:
/// they name the writer's nonce and the body's checksum.
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

impl Header {
    /// The encoded header, [`HEADER_LEN`] bytes.
    pub fn encode(&self) -> bytes::Bytes {
        let id = &self.identity;
        let mut w = Writer::open(MAGIC, VERSION);
        w.u16(if self.kind == LogObjectKind::Fence { FENCE_FLAG } else { 0 });
        w.put(id.topic.0.as_bytes()).u32(id.lane).u32(id.epoch).u64(id.slot).u128(id.nonce.0);
        w.i64(self.created_ms).u64(self.body_len).u32(self.body_crc32);
        w.close()
    }

    /// Reads the header that an object begins with: of `bytes` exactly the first [`HEADER_LEN`] count.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::decode_at(bytes, 0)
    }

    /// The same for a copy of it that lies at `position`.
    pub(super) fn decode_at(bytes: &[u8], position: u64) -> Result<Self, FormatError> {
        let Some(bytes) = bytes.get(..HEADER_LEN) else {
            return Err(FormatError::damaged("header", position, format!("{} bytes, expected {HEADER_LEN}", bytes.len())));
        };
        if bytes.starts_with(MAGIC) && bytes[4..6] == [0, 1] {
            return Err(FormatError::damaged("header", position, "a segment of version 1, which no lane holds"));
        }
        let mut r = Reader::open("header", bytes, position, MAGIC, VERSION)?;
        let kind = match r.u16()? {
            0 => LogObjectKind::Segment,
            FENCE_FLAG => LogObjectKind::Fence,
            flags => return Err(r.error(format!("unknown flags {flags:#06x}"))),
        };
        let topic = TopicId(uuid::Uuid::from_u128(r.u128()?));
        let (lane, epoch, slot, nonce) = (r.u32()?, r.u32()?, r.u64()?, Nonce(r.u128()?));
        let identity = Identity { topic, lane, slot, epoch, nonce };
        let header = Self { kind, identity, created_ms: r.i64()?, body_len: r.u64()?, body_crc32: r.u32()? };
        r.finish()?;
        header.check(position)?;
        Ok(header)
    }

    fn check(&self, position: u64) -> Result<(), FormatError> {
        let is_fence = self.kind == LogObjectKind::Fence;
        if is_fence != (self.body_len == 0) || (is_fence && self.body_crc32 != 0) {
            return Err(FormatError::damaged("header", position, format!("{:?} with a body of {} bytes", self.kind, self.body_len)));
        }
        if self.identity.epoch > i32::MAX as u32 {
            return Err(FormatError::damaged("header", position, format!("epoch {} is out of range", self.identity.epoch)));
        }
        Ok(())
    }
}

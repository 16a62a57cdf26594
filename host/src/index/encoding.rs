//! The bytes of an index, in docs/format.md as well.
//!
//! A head of 28 bytes, entries of [`ENTRY_LEN`], and the CRC-32 of both.

use bytes::Bytes;

use super::{ENTRY_LEN, IndexEntry, SliceIndex};
use crate::codec::{FormatError, Reader, Writer};

const MAGIC: &[u8; 4] = b"KAFI";
const VERSION: u16 = 1;
const HEAD_LEN: usize = 28;
const CRC_LEN: usize = 4;

/// Encoded size of an index of so many entries, in bytes.
pub fn encoded_len(entries: usize) -> usize {
    HEAD_LEN + entries * ENTRY_LEN + CRC_LEN
}

impl SliceIndex {
    /// The encoded index.
    pub fn encode(&self) -> Bytes {
        let mut w = Writer::open(MAGIC, VERSION);
        w.u16(0).u32(self.partition).u32(self.entries.len() as u32).u64(self.end_position).u32(self.end_crc32);
        for entry in &self.entries {
            w.i64(entry.offset).u64(entry.position).i64(entry.max_timestamp).u32(entry.running_crc32);
        }
        w.close()
    }

    /// Reads an encoded index, which lies at `position` in its object.
    pub fn decode(bytes: &[u8], position: u64) -> Result<Self, FormatError> {
        let mut r = Reader::open("slice index", bytes, position, MAGIC, VERSION)?;
        let reserved = r.u16()?;
        r.check(reserved == 0, "reserved bytes are not 0")?;
        let partition = r.u32()?;
        let count = r.u32()? as usize;
        let (end_position, end_crc32) = (r.u64()?, r.u32()?);
        if count == 0 || r.remaining() != count.saturating_mul(ENTRY_LEN) {
            return Err(r.error(format!("{count} entries of {ENTRY_LEN} bytes, {} bytes are there", r.remaining())));
        }
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            let (offset, position, max_timestamp, running_crc32) = (r.i64()?, r.u64()?, r.i64()?, r.u32()?);
            entries.push(IndexEntry { offset, position, max_timestamp, running_crc32 });
        }
        let index = Self { partition, entries, end_position, end_crc32 };
        r.check(index.is_ordered(), "entries are not in rising order")?;
        r.finish()?;
        Ok(index)
    }

    fn is_ordered(&self) -> bool {
        let rising = |pair: &[IndexEntry]| pair[0].offset < pair[1].offset && pair[0].position < pair[1].position;
        let last = self.entries[self.entries.len() - 1];
        self.entries.windows(2).all(rising) && self.entries[0].offset >= 0 && last.position < self.end_position
    }
}

//! The index beside a segment.

use bytes::Bytes;

use super::{FOOTER_LEN, HEADER_LEN, Segment, VERSION};
use crate::codec::{FormatError, Reader, Writer};
use crate::record::BatchMeta;
use crate::types::Offset;

const MAGIC: &[u8; 4] = b"IDX\0";
const ENTRY_LEN: usize = 12;

/// Where a batch lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Base offset of the batch.
    pub offset: Offset,
    /// Its position in the segment, in bytes.
    pub position: u32,
}

/// The index of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Records from entry to entry, at least.
    pub interval: u32,
    /// In rising order; the first is the segment's first batch.
    pub entries: Vec<IndexEntry>,
}

impl Index {
    /// Reads an index of a segment of `segment_len` bytes that begins with offset `base_offset`. Whatever fails,
    /// [`Self::rebuild`] makes a good one from the data.
    pub fn decode(bytes: &[u8], base_offset: Offset, segment_len: u64) -> Result<Self, FormatError> {
        let mut r = Reader::new("index of version 1", bytes, 0);
        let magic = r.take(4)?;
        r.check(magic == MAGIC, "magic is not IDX")?;
        let version = r.u16()?;
        r.check(version == VERSION, "version is not 1")?;
        let (count, interval) = (r.i32()?, r.i32()?);
        r.u16()?;
        let interval = u32::try_from(interval).map_err(|_| r.error(format!("interval {interval}")))?;
        let room = r.remaining();
        let count = usize::try_from(count)
            .ok()
            .filter(|count| count.checked_mul(ENTRY_LEN) == Some(room))
            .ok_or_else(|| r.error(format!("{count} entries of {ENTRY_LEN} bytes, {room} bytes are there")))?;
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            let (offset, position) = (r.i64()?, r.i32()?);
            let position = u32::try_from(position).map_err(|_| r.error(format!("position {position}")))?;
            entries.push(IndexEntry { offset, position });
        }
        let index = Self { interval, entries };
        index.check(base_offset, segment_len).map_err(|problem| r.error(problem))?;
        Ok(index)
    }

    fn check(&self, base_offset: Offset, segment_len: u64) -> Result<(), String> {
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else {
            return Err("no entries".to_owned());
        };
        if first.offset != base_offset || first.position as usize != HEADER_LEN {
            return Err(format!("first entry is offset {} at {}, expected {base_offset} at {HEADER_LEN}", first.offset, first.position));
        }
        if !self.entries.is_sorted_by(|a, b| a.offset < b.offset && a.position < b.position) {
            return Err("entries are not in rising order".to_owned());
        }
        let body_end = segment_len.saturating_sub(FOOTER_LEN as u64);
        if u64::from(last.position) >= body_end {
            return Err(format!("last entry is at {}, the batches end at {body_end}", last.position));
        }
        Ok(())
    }

    /// The encoded index.
    pub fn encode(&self) -> Bytes {
        let mut w = Writer::with_capacity(16 + self.entries.len() * ENTRY_LEN);
        w.put(MAGIC).u16(VERSION).i32(self.entries.len() as i32).i32(self.interval as i32).u16(0);
        for entry in &self.entries {
            w.i64(entry.offset).i32(entry.position as i32);
        }
        w.into_bytes()
    }

    /// An index made from the data, with an entry at least every `interval` records.
    pub fn rebuild(segment: &Segment, interval: u32) -> Self {
        Self::build(&segment.batches, interval)
    }

    /// `batches` lie below position 2^31. At most `i32::MAX` records are left out between entries.
    pub(super) fn build(batches: &[BatchMeta], interval: u32) -> Self {
        let interval = interval.clamp(1, i32::MAX as u32);
        let mut entries = Vec::new();
        let mut records = 0u64;
        for batch in batches {
            let count = u64::from(batch.header.record_count.unsigned_abs());
            if entries.is_empty() || records + count > u64::from(interval) {
                let position = u32::try_from(batch.position).expect("a segment of version 1 is shorter than 2^31 bytes");
                entries.push(IndexEntry { offset: batch.header.base_offset, position });
                records = 0;
            }
            records += count;
        }
        Self { interval, entries }
    }

    /// Where to begin reading for `offset`: the position of the last entry at or below it, or the first batch.
    pub fn floor(&self, offset: Offset) -> u32 {
        let after = self.entries.partition_point(|entry| entry.offset <= offset);
        self.entries.get(after.saturating_sub(1)).map_or(HEADER_LEN as u32, |entry| entry.position)
    }
}

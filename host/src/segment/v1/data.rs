//! The segment: header, batches, footer.

use bytes::Bytes;

use super::{FOOTER_LEN, HEADER_LEN, Index, VERSION};
use crate::codec::{FormatError, Reader, Writer};
use crate::record::{BatchMeta, RecordError, batches, check_crc};
use crate::types::{Offset, TimestampMs};

const MAGIC: &[u8; 4] = b"KAFS";
const END_MAGIC: &[u8; 4] = b"END!";

/// What a segment holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset of its first record.
    pub base_offset: Offset,
    /// Offset of its last record.
    pub last_offset: Offset,
    /// Records in all batches.
    pub record_count: u32,
    /// When it was written.
    pub created_ms: TimestampMs,
    /// Its batches, by their positions in the segment.
    pub batches: Vec<BatchMeta>,
}

/// Why batches cannot be exported as one segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ExportError {
    #[error("nothing to export: a segment has at least one batch")]
    Empty,
    #[error("{what} is {found}, version 1 has room for {most}: export fewer batches at once")]
    TooLarge { what: &'static str, found: u64, most: u64 },
    #[error("batches are not in offset order: {found} follows {last}")]
    Disordered { last: Offset, found: Offset },
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Reads a whole segment: checks its framing, its checksum, and each batch with its CRC.
pub fn read(bytes: &[u8]) -> Result<Segment, FormatError> {
    let Some(body_end) = bytes.len().checked_sub(FOOTER_LEN).filter(|end| *end >= HEADER_LEN) else {
        let problem = format!("{} bytes, the smallest has {}", bytes.len(), HEADER_LEN + FOOTER_LEN);
        return Err(FormatError::damaged("segment of version 1", 0, problem));
    };
    if bytes.len() > i32::MAX as usize {
        let problem = format!("{} bytes, its positions have room for {}", bytes.len(), i32::MAX);
        return Err(FormatError::damaged("segment of version 1", 0, problem));
    }
    let (base_offset, record_count, created_ms) = header(&bytes[..HEADER_LEN])?;
    let last_offset = footer(&bytes[body_end..], body_end as u64, &bytes[HEADER_LEN..body_end])?;
    let batches = body(&bytes[HEADER_LEN..body_end])?;
    let segment = Segment { base_offset, last_offset, record_count, created_ms, batches };
    segment.check()?;
    Ok(segment)
}

fn header(bytes: &[u8]) -> Result<(Offset, u32, TimestampMs), FormatError> {
    let mut r = Reader::new("header of version 1", bytes, 0);
    let magic = r.take(4)?;
    r.check(magic == MAGIC, "magic is not KAFS")?;
    let version = r.u16()?;
    r.check(version == VERSION, "version is not 1")?;
    r.u16()?;
    let (base_offset, record_count, created_ms) = (r.i64()?, r.i32()?, r.i64()?);
    let record_count = u32::try_from(record_count).map_err(|_| r.error(format!("record count {record_count}")))?;
    r.check(base_offset >= 0, "base offset below 0")?;
    Ok((base_offset, record_count, created_ms))
}

fn footer(bytes: &[u8], position: u64, body: &[u8]) -> Result<Offset, FormatError> {
    let mut r = Reader::new("footer of version 1", bytes, position);
    let (stored, last_offset, magic) = (r.u32()?, r.i64()?, r.take(4)?);
    r.check(magic == END_MAGIC, "magic is not END!: the segment is cut short")?;
    let computed = crc32c::crc32c(body);
    r.check(computed == stored, &format!("crc-32c of the body is {computed:#010x}, the footer says {stored:#010x}"))?;
    Ok(last_offset)
}

fn body(bytes: &[u8]) -> Result<Vec<BatchMeta>, FormatError> {
    let mut found = Vec::new();
    for batch in batches(bytes) {
        let checked = batch.and_then(|batch| check_crc(&bytes[batch.position..batch.end()], &batch.header).map(|()| batch));
        let mut batch = checked.map_err(|e| FormatError::damaged("body of version 1", HEADER_LEN as u64, e.to_string()))?;
        batch.position += HEADER_LEN;
        found.push(batch);
    }
    Ok(found)
}

impl Segment {
    /// Header and footer say what the batches say.
    fn check(&self) -> Result<(), FormatError> {
        let damaged = |problem: String| Err(FormatError::damaged("segment of version 1", 0, problem));
        let (Some(first), Some(last)) = (self.batches.first(), self.batches.last()) else {
            return damaged("no batches".to_owned());
        };
        if !self.batches.is_sorted_by(|a, b| a.header.last_offset() < b.header.base_offset) {
            return damaged("batches are not in offset order".to_owned());
        }
        let (base, end) = (first.header.base_offset, last.header.last_offset());
        if (base, end) != (self.base_offset, self.last_offset) {
            return damaged(format!("offsets {}..={}, its batches have {base}..={end}", self.base_offset, self.last_offset));
        }
        match record_count(&self.batches) {
            count if count == u64::from(self.record_count) => Ok(()),
            count => damaged(format!("record count {}, its batches have {count}", self.record_count)),
        }
    }
}

fn record_count(batches: &[BatchMeta]) -> u64 {
    batches.iter().map(|batch| u64::from(batch.header.record_count.unsigned_abs())).sum()
}

/// Writes committed batches, each chunk of whole ones, as a segment and its index with an entry at least every
/// `interval` records. The same batches give the same bytes.
pub fn write(chunks: &[Bytes], created_ms: TimestampMs, interval: u32) -> Result<(Bytes, Bytes), ExportError> {
    let found = positions(chunks)?;
    let (first, last) = (found.first().ok_or(ExportError::Empty)?, found.last().ok_or(ExportError::Empty)?);
    let size = (last.end() + FOOTER_LEN) as u64;
    let count = fits("record count", record_count(&found), i32::MAX as u64)?;
    fits("size in bytes", size, i32::MAX as u64)?;
    let mut w = Writer::with_capacity(size as usize);
    w.put(MAGIC).u16(VERSION).u16(0).i64(first.header.base_offset).i32(count as i32).i64(created_ms).u32(0);
    let mut crc = 0;
    for chunk in chunks {
        crc = crc32c::crc32c_append(crc, chunk);
        w.put(chunk);
    }
    w.u32(crc).i64(last.header.last_offset()).put(END_MAGIC);
    Ok((w.into_bytes(), Index::build(&found, interval).encode()))
}

fn fits(what: &'static str, found: u64, most: u64) -> Result<u64, ExportError> {
    if found <= most { Ok(found) } else { Err(ExportError::TooLarge { what, found, most }) }
}

/// The batches of all chunks, by their positions in the segment to be.
fn positions(chunks: &[Bytes]) -> Result<Vec<BatchMeta>, ExportError> {
    let mut found: Vec<BatchMeta> = Vec::new();
    let mut start = HEADER_LEN;
    for chunk in chunks {
        for batch in batches(chunk) {
            let BatchMeta { position, header } = batch?;
            let last = found.last().map_or(-1, |batch| batch.header.last_offset());
            if header.base_offset <= last {
                return Err(ExportError::Disordered { last, found: header.base_offset });
            }
            found.push(BatchMeta { position: start + position, header });
        }
        start += chunk.len();
    }
    Ok(found)
}

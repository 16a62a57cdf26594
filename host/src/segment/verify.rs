//! Checking a whole object, down to its batches.

use super::header::HEADER_LEN;
use super::{Footer, FooterError, FormatError, Header, SliceMeta, read_footer};
use crate::index::SliceIndex;
use crate::record::{BatchHeader, batches, check_crc};

/// An object that holds what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Its footer, with its header.
    pub footer: Footer,
    /// The index of each slice of the footer, in the same order.
    pub indexes: Vec<SliceIndex>,
    /// Records in all slices.
    pub records: u64,
}

/// Checks every checksum of a whole object and that header, footer, indexes and batches agree with each other.
/// The error names the smallest part that is wrong.
pub fn verify(object: &[u8]) -> Result<Verified, FormatError> {
    let header = Header::decode(object)?;
    let footer = read_footer(object, object.len() as u64).map_err(|e| match e {
        FooterError::Format(e) => e,
        FooterError::NeedMore { tail_len } => FormatError::damaged("footer", 0, format!("it needs {tail_len} bytes, the object has fewer")),
    })?;
    if footer.header != header {
        return Err(FormatError::damaged("footer", 0, "its copy of the header is another"));
    }
    let mut indexes = Vec::with_capacity(footer.slices.len());
    let mut records = 0;
    for slice in &footer.slices {
        let (index, count) = verify_slice(object, slice)?;
        indexes.push(index);
        records += count;
    }
    let body = &object[HEADER_LEN..][..header.body_len as usize];
    expect_crc32("body", HEADER_LEN as u64, body, header.body_crc32)?;
    Ok(Verified { footer, indexes, records })
}

fn expect_crc32(part: &str, position: u64, bytes: &[u8], expected: u32) -> Result<(), FormatError> {
    match crc32fast::hash(bytes) {
        computed if computed == expected => Ok(()),
        computed => Err(FormatError::damaged(part, position, format!("crc-32 is {computed:#010x}, expected {expected:#010x}"))),
    }
}

fn verify_slice(object: &[u8], slice: &SliceMeta) -> Result<(SliceIndex, u64), FormatError> {
    let of = |position: u64, len: u64| &object[position as usize..(position + len) as usize];
    let index = slice.read_index(of(slice.index_position, u64::from(slice.index_len)))?;
    let bytes = of(slice.position, slice.len);
    index.verify(0..index.entries().len(), bytes)?;
    expect_crc32(&format!("slice of partition {}", slice.partition), slice.position, bytes, slice.crc32)?;
    let records = verify_batches(slice, bytes)?;
    Ok((index, records))
}

/// Batches fill the slice, follow each other by offset, and are as their footer entry says.
fn verify_batches(slice: &SliceMeta, bytes: &[u8]) -> Result<u64, FormatError> {
    let part = || format!("batch of partition {}", slice.partition);
    let first = BatchHeader::parse(bytes).map_err(|e| FormatError::damaged(part(), slice.position, e.to_string()))?;
    if first.base_offset != slice.base_offset {
        let problem = format!("base offset {}, the footer says {}", first.base_offset, slice.base_offset);
        return Err(FormatError::damaged(part(), slice.position, problem));
    }
    let (mut next_offset, mut count, mut records) = (slice.base_offset, 0u32, 0u64);
    let mut max_timestamp = i64::MIN;
    for batch in batches(bytes) {
        let batch = batch.map_err(|e| FormatError::damaged(part(), slice.position, e.to_string()))?;
        let position = slice.position + batch.position as u64;
        check_crc(&bytes[batch.position..batch.end()], &batch.header).map_err(|e| FormatError::damaged(part(), position, e.to_string()))?;
        let BatchHeader { base_offset, record_count, .. } = batch.header;
        if base_offset < next_offset {
            let problem = format!("base offset {base_offset}, expected at least {next_offset}");
            return Err(FormatError::damaged(part(), position, problem));
        }
        next_offset = batch.header.next_offset();
        max_timestamp = max_timestamp.max(batch.header.max_timestamp);
        count += 1;
        records += u64::from(record_count.unsigned_abs());
    }
    if (next_offset, count, max_timestamp) != (slice.next_offset, slice.batch_count, slice.max_timestamp) {
        let problem = format!("{count} batches up to offset {next_offset} and time {max_timestamp}, the footer says otherwise");
        return Err(FormatError::damaged(format!("slice of partition {}", slice.partition), slice.position, problem));
    }
    Ok(records)
}

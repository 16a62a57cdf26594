//! Reading batches and records back.

use std::borrow::Cow;

use super::validate::whole_batch;
use super::{BATCH_HEADER_LEN, BatchHeader, BatchMeta, Compression, RecordError};
use crate::codec::{FormatError, Reader};
use crate::types::{Offset, TimestampMs};

/// A limit for decoding one batch that no ordinary producer reaches, in bytes.
pub const DECODE_LIMIT_BYTES: usize = 128 << 20;
/// Smallest encoded record: a byte of length, then attributes, two deltas, two lengths and a header count.
const MIN_RECORD_LEN: usize = 7;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its offset.
    pub offset: Offset,
    /// Its timestamp; that of the append where the batch says so.
    pub timestamp: TimestampMs,
    /// Its key.
    pub key: Option<&'a [u8]>,
    /// Its value.
    pub value: Option<&'a [u8]>,
}

/// The records of one batch, decompressed.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    header: BatchHeader,
    payload: Cow<'a, [u8]>,
}

/// The batches that lie one behind the other in `bytes`, by their headers. Ends after the first error; the last
/// batch must be whole. CRCs are not checked: stored blocks have checksums of their own.
pub fn batches(bytes: &[u8]) -> impl Iterator<Item = Result<BatchMeta, RecordError>> + '_ {
    let mut position = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(position..).filter(|rest| !rest.is_empty())?;
        let header = BatchHeader::parse_at(rest, position).and_then(|header| whole_batch(rest, &header, position).map(|_| header));
        let at = position;
        position = header.as_ref().map_or(usize::MAX, |header| at + header.size as usize);
        Some(header.map(|header| BatchMeta { position: at, header }))
    })
}

/// Decodes the batch that `bytes` begin with. `limit_bytes` bounds its decompressed size.
pub fn records(bytes: &[u8], limit_bytes: usize) -> Result<Records<'_>, RecordError> {
    let header = BatchHeader::parse(bytes)?;
    let payload = &whole_batch(bytes, &header, 0)?[BATCH_HEADER_LEN..];
    let payload = match header.compression() {
        Compression::None => Cow::Borrowed(payload),
        codec => Cow::Owned(codec.decode(payload, limit_bytes).map_err(|problem| RecordError::malformed(0, problem))?),
    };
    Ok(Records { header, payload })
}

/// The first record of a batch, from `from_offset` on, whose timestamp is at least `target`: offset and timestamp.
/// Decodes nothing where the header decides. `limit_bytes` as in [`records`].
///
/// Nobody decodes what a producer compresses when it is appended, so it may be junk, or more than the limit. Such a batch
/// is spoken for by its header: who looks for a time is sent to its beginning rather than past records that may be there.
pub fn find_timestamp(
    batch: &[u8],
    from_offset: Offset,
    target: TimestampMs,
    limit_bytes: usize,
) -> Result<Option<(Offset, TimestampMs)>, RecordError> {
    let header = BatchHeader::parse(batch)?;
    if header.max_timestamp < target || header.last_offset() < from_offset {
        return Ok(None);
    }
    let of_header = Some((header.base_offset.max(from_offset), header.max_timestamp));
    if header.is_append_time() {
        return Ok(of_header);
    }
    let decoded = records(batch, limit_bytes).and_then(|records| first_at_time(&records, from_offset, target));
    Ok(decoded.unwrap_or(of_header))
}

fn first_at_time(records: &Records<'_>, from_offset: Offset, target: TimestampMs) -> Result<Option<(Offset, TimestampMs)>, RecordError> {
    for record in records.iter() {
        let record = record?;
        if record.timestamp >= target && record.offset >= from_offset {
            return Ok(Some((record.offset, record.timestamp)));
        }
    }
    Ok(None)
}

impl Records<'_> {
    /// The batch's header.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The records in order, as many as the header says. Ends after the first error.
    pub fn iter(&self) -> impl Iterator<Item = Result<Record<'_>, RecordError>> {
        let mut reader = Reader::new("record", &self.payload, 0);
        let mut left = self.header.record_count;
        std::iter::from_fn(move || {
            left = left.checked_sub(1).filter(|left| *left >= 0)?;
            let record = self.next_record(&mut reader);
            if record.is_err() {
                left = 0;
            }
            Some(record.map_err(|e| RecordError::malformed(0, e.to_string())))
        })
    }

    fn next_record<'a>(&self, reader: &mut Reader<'a>) -> Result<Record<'a>, FormatError> {
        let raw = raw_record(reader)?;
        let timestamp = if self.header.is_append_time() {
            self.header.max_timestamp
        } else {
            self.header.base_timestamp.wrapping_add(raw.timestamp_delta)
        };
        let offset = self.header.base_offset.wrapping_add(Offset::from(raw.offset_delta));
        Ok(Record { offset, timestamp, key: raw.key, value: raw.value })
    }
}

/// A record as it is encoded.
struct RawRecord<'a> {
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
}

/// Checks the records of an uncompressed batch: their number, offset deltas from 0 on, and that they fill it exactly. Returns the largest of
/// the timestamps that they carry.
pub(super) fn check_plain(header: &BatchHeader, payload: &[u8]) -> Result<TimestampMs, String> {
    check_records(header, payload).map_err(|e| e.to_string())
}

fn check_records(header: &BatchHeader, payload: &[u8]) -> Result<TimestampMs, FormatError> {
    let mut reader = Reader::new("records", payload, BATCH_HEADER_LEN as u64);
    let most = payload.len() / MIN_RECORD_LEN;
    if header.record_count as usize > most {
        return Err(reader.error(format!("record count {}, its {} bytes hold at most {most}", header.record_count, payload.len())));
    }
    let mut largest = TimestampMs::MIN;
    for delta in 0..header.record_count {
        let record = raw_record(&mut reader)?;
        if record.offset_delta != delta {
            return Err(reader.error(format!("offset delta {}, expected {delta}", record.offset_delta)));
        }
        largest = largest.max(header.base_timestamp.wrapping_add(record.timestamp_delta));
    }
    reader.finish().map(|()| largest)
}

#[inline]
fn raw_record<'a>(reader: &mut Reader<'a>) -> Result<RawRecord<'a>, FormatError> {
    let len = length(reader)?.ok_or_else(|| reader.error("record length below 0"))?;
    let position = reader.position();
    let mut body = Reader::new("record", reader.take(len)?, position);
    body.u8()?;
    let record = RawRecord {
        timestamp_delta: body.varint()?,
        offset_delta: small(&mut body)?,
        key: optional(&mut body)?,
        value: optional(&mut body)?,
    };
    let headers = small(&mut body)?;
    body.check(headers >= 0, "header count below 0")?;
    for _ in 0..headers {
        optional(&mut body)?.ok_or_else(|| body.error("header without a key"))?;
        optional(&mut body)?;
    }
    body.finish()?;
    Ok(record)
}

#[inline]
fn small(reader: &mut Reader<'_>) -> Result<i32, FormatError> {
    let value = reader.varint()?;
    i32::try_from(value).map_err(|_| reader.error(format!("{value} is out of range")))
}

/// A length of which -1 means none.
#[inline]
fn length(reader: &mut Reader<'_>) -> Result<Option<usize>, FormatError> {
    match small(reader)? {
        -1 => Ok(None),
        len => usize::try_from(len).map(Some).map_err(|_| reader.error(format!("length {len}"))),
    }
}

#[inline]
fn optional<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, FormatError> {
    length(reader)?.map(|len| reader.take(len)).transpose()
}

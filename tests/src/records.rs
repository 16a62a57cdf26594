//! Record batches as a client sees them: encoded and taken apart here by other code than the host's own, so
//! that both must agree.

use bytes::BytesMut;
use tidegate::record::testing::{TestRecord, batch_of};

/// One batch read back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the protocol guide")]
pub struct ReadBatch {
    pub base_offset: i64,
    pub leader_epoch: i32,
    pub append_time: bool,
    pub max_timestamp: i64,
    /// The values of its records, in order.
    pub values: Vec<Vec<u8>>,
}

/// A batch with one record.
pub fn one(value: impl AsRef<[u8]>) -> BytesMut {
    many([value])
}

/// A batch with these values, all at timestamp 0.
pub fn many<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> BytesMut {
    timed(values.into_iter().map(|v| (0, v)))
}

/// A batch of timestamps and values.
pub fn timed<V: AsRef<[u8]>>(records: impl IntoIterator<Item = (i64, V)>) -> BytesMut {
    let record = |(timestamp, value): (i64, V)| TestRecord { timestamp, key: None, value: Some(value.as_ref().to_vec()) };
    batch_of(records.into_iter().map(record).collect()).build()
}

/// All batches in these bytes; panics on anything that is not whole batches of uncompressed records.
pub fn parse(mut bytes: &[u8]) -> Vec<ReadBatch> {
    let mut batches = Vec::new();
    while !bytes.is_empty() {
        let size = 12 + i32_at(bytes, 8) as usize;
        assert!(size <= bytes.len(), "a batch of {size} bytes was cut at {}", bytes.len());
        batches.push(parse_one(&bytes[..size]));
        bytes = &bytes[size..];
    }
    batches
}

fn parse_one(batch: &[u8]) -> ReadBatch {
    assert_eq!(batch[16], 2, "magic");
    let crc = i32_at(batch, 17) as u32;
    assert_eq!(crc, crc32c::crc32c(&batch[21..]), "crc-32c of the batch at offset {}", i64_at(batch, 0));
    let count = i32_at(batch, 57);
    let mut rest = &batch[61..];
    let values = (0..count).map(|_| take_value(&mut rest)).collect();
    assert!(rest.is_empty(), "bytes behind the last record");
    ReadBatch {
        base_offset: i64_at(batch, 0),
        leader_epoch: i32_at(batch, 12),
        append_time: batch[22] & 1 << 3 != 0,
        max_timestamp: i64_at(batch, 35),
        values,
    }
}

fn take_value(rest: &mut &[u8]) -> Vec<u8> {
    varint(rest);
    *rest = &rest[1..];
    varint(rest);
    varint(rest);
    assert_eq!(varint(rest), -1, "these tests write no keys");
    let len = varint(rest) as usize;
    let value = rest[..len].to_vec();
    *rest = &rest[len..];
    assert_eq!(varint(rest), 0, "these tests write no headers");
    value
}

fn varint(rest: &mut &[u8]) -> i64 {
    let mut zigzag = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = rest[0];
        *rest = &rest[1..];
        zigzag |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)
}

fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn i64_at(bytes: &[u8], at: usize) -> i64 {
    i64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

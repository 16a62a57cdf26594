//! Valid batches, for the tests of whoever handles them.

use std::io::Write as _;

use bytes::BytesMut;

use super::header::{APPEND_TIME_BIT, CONTROL_BIT, CRC_AT, TRANSACTIONAL_BIT, crc_of};
use super::{BATCH_HEADER_LEN, Compression, RecordSet};
use crate::codec::Writer;
use crate::types::{Offset, TimestampMs};

/// A batch in the making; [`batch`] begins one.
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    records: Vec<TestRecord>,
    base_offset: Offset,
    compression: Compression,
    producer: (i64, i16, i32),
    attributes: u16,
}

/// A record to be encoded.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct TestRecord {
    pub timestamp: TimestampMs,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
}

/// A batch of `count` records with values of `value_len` bytes, without keys, all at timestamp 0.
pub fn batch(count: usize, value_len: usize) -> BatchBuilder {
    let value = |i: usize| (0..value_len).map(|j| (i * 31 + j * 7 + j / 13) as u8).collect();
    batch_of((0..count).map(|i| TestRecord { timestamp: 0, key: None, value: Some(value(i)) }).collect())
}

/// A batch of these records.
pub fn batch_of(records: Vec<TestRecord>) -> BatchBuilder {
    BatchBuilder { records, base_offset: 0, compression: Compression::None, producer: (-1, -1, -1), attributes: 0 }
}

/// Batches as one validated record set.
pub fn set(batches: &[BatchBuilder]) -> RecordSet {
    let mut bytes = BytesMut::new();
    for batch in batches {
        bytes.extend_from_slice(&batch.build());
    }
    RecordSet::validate(bytes, usize::MAX).expect("the builder builds valid batches")
}

impl BatchBuilder {
    /// Timestamps `first`, `first + step`, ...
    pub fn timestamps(mut self, first: TimestampMs, step: TimestampMs) -> Self {
        for (i, record) in self.records.iter_mut().enumerate() {
            record.timestamp = first + step * i as i64;
        }
        self
    }

    /// The offset that it says it begins with.
    pub fn base_offset(mut self, offset: Offset) -> Self {
        self.base_offset = offset;
        self
    }

    /// Producer id, epoch and base sequence.
    pub fn producer(mut self, id: i64, epoch: i16, base_sequence: i32) -> Self {
        self.producer = (id, epoch, base_sequence);
        self
    }

    /// Compresses the records (snappy: in xerial framing).
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Marks it as part of a transaction.
    pub fn transactional(mut self) -> Self {
        self.attributes |= TRANSACTIONAL_BIT;
        self
    }

    /// Marks it as a control batch.
    pub fn control(mut self) -> Self {
        self.attributes |= CONTROL_BIT;
        self
    }

    /// Marks its largest timestamp as the time of the append.
    pub fn append_time(mut self) -> Self {
        self.attributes |= APPEND_TIME_BIT;
        self
    }

    /// The encoded batch.
    pub fn build(&self) -> BytesMut {
        self.build_with(&compress(self.compression, &self.payload()))
    }

    /// The encoded batch with other bytes in place of its encoded records.
    pub fn build_with(&self, payload: &[u8]) -> BytesMut {
        let count = self.records.len() as i32;
        let (producer_id, producer_epoch, base_sequence) = self.producer;
        let mut w = Writer::with_capacity(BATCH_HEADER_LEN + payload.len());
        w.i64(self.base_offset).i32((BATCH_HEADER_LEN - 12 + payload.len()) as i32).i32(-1).u8(2).u32(0);
        w.u16(self.attributes | self.compression as u16).i32(count - 1);
        w.i64(self.base_timestamp()).i64(self.records.iter().map(|r| r.timestamp).max().unwrap_or(-1));
        w.i64(producer_id).i16(producer_epoch).i32(base_sequence).i32(count).put(payload);
        let mut bytes = BytesMut::from(w.as_slice());
        let crc = crc_of(&bytes);
        bytes[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_be_bytes());
        bytes
    }

    fn base_timestamp(&self) -> TimestampMs {
        self.records.first().map_or(-1, |r| r.timestamp)
    }

    fn payload(&self) -> Vec<u8> {
        let mut payload = Writer::default();
        for (delta, record) in self.records.iter().enumerate() {
            let mut body = Writer::default();
            body.u8(0).varint(record.timestamp - self.base_timestamp()).varint(delta as i64);
            for field in [&record.key, &record.value] {
                match field {
                    Some(bytes) => body.varint(bytes.len() as i64).put(bytes),
                    None => body.varint(-1),
                };
            }
            body.varint(0);
            payload.varint(body.len() as i64).put(body.as_slice());
        }
        payload.as_slice().to_vec()
    }
}

fn compress(compression: Compression, plain: &[u8]) -> Vec<u8> {
    match compression {
        Compression::None => plain.to_vec(),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(plain).expect("memory does not fail");
            encoder.finish().expect("memory does not fail")
        }
        Compression::Snappy => xerial(plain),
        Compression::Lz4 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(plain).expect("memory does not fail");
            encoder.finish().expect("memory does not fail")
        }
        Compression::Zstd => zstd::stream::encode_all(plain, 1).expect("memory does not fail"),
    }
}

fn xerial(plain: &[u8]) -> Vec<u8> {
    let mut w = Writer::default();
    w.put(b"\x82SNAPPY\0").u32(1).u32(1);
    for block in plain.chunks(32 << 10) {
        let block = snap::raw::Encoder::new().compress_vec(block).expect("a block of 32 KiB is compressible");
        w.u32(block.len() as u32).put(&block);
    }
    w.as_slice().to_vec()
}

//! Record batches of a size: what a trace leaves out, filled with zeros.

use bytes::{BufMut, BytesMut};
use tidegate::types::TimestampMs;

/// Bytes of a batch before its first record.
const HEADER: usize = 61;
const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;
/// What a record adds to its value at most, and at least.
const RECORD: usize = 16;
/// Memory that is asked for at a time: batches are cut from it, since the allocator would take longer over each than all the rest.
const ROOM: usize = 64 << 10;

/// Builds batches.
#[derive(Default)]
pub(crate) struct Batches {
    room: BytesMut,
}

impl Batches {
    /// A valid batch of about so many bytes (and at least what its records need), all its records at one time.
    pub(crate) fn of(&mut self, bytes: u32, records: u32, at_ms: TimestampMs) -> BytesMut {
        let (bytes, records) = (bytes as usize, records.max(1) as usize);
        let most = bytes.max(HEADER + RECORD * records);
        if self.room.capacity() < most {
            self.room = BytesMut::with_capacity(most.max(ROOM));
        }
        fill(&mut self.room, bytes, records, at_ms);
        self.room.split()
    }
}

/// Kafka's batch format, magic 2, without compression (kafka.apache.org/documentation/#recordbatch).
fn fill(batch: &mut BytesMut, bytes: usize, records: usize, at_ms: TimestampMs) {
    batch.put_u64(0);
    batch.put_u32(0);
    batch.put_i32(0);
    batch.put_u8(2);
    batch.put_u32(0);
    batch.put_u16(0);
    batch.put_u32(records as u32 - 1);
    batch.put_i64(at_ms);
    batch.put_i64(at_ms);
    // Producer id, epoch and base sequence: of no idempotent producer.
    batch.put_bytes(0xff, 14);
    batch.put_u32(records as u32);
    let room = bytes.saturating_sub(HEADER + RECORD * records);
    for record in 0..records {
        let value = room / records + usize::from(record < room % records);
        let (delta, length) = (zigzag(record as i64), zigzag(value as i64));
        // Attributes, a timestamp as the first one's, no key; the value, and that there are no headers.
        put_varint(batch, zigzag((2 + varint_len(delta) + 1 + varint_len(length) + value + 1) as i64));
        batch.put_u16(0);
        put_varint(batch, delta);
        put_varint(batch, zigzag(-1));
        put_varint(batch, length);
        batch.put_bytes(0, value + 1);
    }
    let length = batch.len() as u32 - 12;
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    let crc = crc32c::crc32c(&batch[ATTRIBUTES_AT..]);
    batch[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_be_bytes());
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Seven bits a byte, the lowest first.
fn put_varint(to: &mut BytesMut, mut bits: u64) {
    while bits >= 0x80 {
        to.put_u8(bits as u8 | 0x80);
        bits >>= 7;
    }
    to.put_u8(bits as u8);
}

/// Bytes of a varint.
fn varint_len(bits: u64) -> usize {
    (64 - (bits | 1).leading_zeros() as usize).div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_any_size_are_valid_and_about_as_large() {
        let mut batches = Batches::default();
        for (bytes, records) in [(61, 1), (100, 1), (100, 50), (1_000, 3), (4_096, 8), (1 << 20, 1), (1 << 20, 5_000)] {
            for at_ms in [0, 1_700_000_000_123] {
                let batch = batches.of(bytes, records, at_ms);
                let set = tidegate::record::RecordSet::validate(batch, usize::MAX).unwrap();
                assert_eq!((set.record_count(), set.batches().len()), (u64::from(records), 1));
                assert_eq!(set.batches()[0].header.max_timestamp, at_ms);
                let (least, most) = (HEADER + 7 * records as usize, (bytes as usize).max(HEADER + RECORD * records as usize));
                assert!((least..=most).contains(&set.len()), "{} for {bytes} bytes in {records} records", set.len());
                let needed = HEADER + RECORD * records as usize;
                assert!(set.len() + needed >= bytes as usize, "{} for {bytes} bytes in {records} records", set.len());
            }
        }
    }
}

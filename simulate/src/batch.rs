//! Record batches of a size: what a trace leaves out, filled with zeros.

use std::collections::HashMap;

use bytes::BytesMut;
use tidegate::types::TimestampMs;

/// Bytes of a batch before its first record.
const HEADER: usize = 61;
const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;
const TIMESTAMPS_AT: usize = 27;
/// What a record adds to its value at most, and at least.
const RECORD: usize = 16;
/// Templates that are kept; batches of other sizes are built anew each time.
const TEMPLATES: usize = 4_096;

/// Builds batches; those of one size are copies of one template.
#[derive(Default)]
pub(crate) struct Batches {
    templates: HashMap<(u32, u32), BytesMut>,
}

impl Batches {
    /// A valid batch of about so many bytes (and at least what its records need), all its records at one time.
    pub(crate) fn of(&mut self, bytes: u32, records: u32, at_ms: TimestampMs) -> BytesMut {
        let mut batch = match self.templates.get(&(bytes, records)) {
            Some(template) => template.clone(),
            None => {
                let template = template(bytes as usize, records.max(1));
                if self.templates.len() < TEMPLATES {
                    self.templates.insert((bytes, records), template.clone());
                }
                template
            }
        };
        batch[TIMESTAMPS_AT..TIMESTAMPS_AT + 8].copy_from_slice(&at_ms.to_be_bytes());
        batch[TIMESTAMPS_AT + 8..TIMESTAMPS_AT + 16].copy_from_slice(&at_ms.to_be_bytes());
        let crc = crc32c::crc32c(&batch[ATTRIBUTES_AT..]);
        batch[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_be_bytes());
        batch
    }
}

/// Kafka's batch format, magic 2, without compression (kafka.apache.org/documentation/#recordbatch); its checksum is left open.
fn template(bytes: usize, records: u32) -> BytesMut {
    let room = bytes.saturating_sub(HEADER + RECORD * records as usize);
    let mut batch = BytesMut::with_capacity(bytes.max(HEADER));
    batch.resize(HEADER, 0);
    batch[16] = 2;
    batch[23..27].copy_from_slice(&(records - 1).to_be_bytes());
    // Producer id, epoch and base sequence: of no idempotent producer.
    batch[43..57].fill(0xff);
    batch[57..61].copy_from_slice(&records.to_be_bytes());
    for record in 0..records {
        let value = room / records as usize + usize::from((record as usize) < room % records as usize);
        let mut body = vec![0, 0];
        varint(&mut body, i64::from(record));
        varint(&mut body, -1);
        varint(&mut body, value as i64);
        let mut length = Vec::new();
        varint(&mut length, (body.len() + value + 1) as i64);
        batch.extend_from_slice(&length);
        batch.extend_from_slice(&body);
        // The value, and that there are no headers.
        batch.resize(batch.len() + value + 1, 0);
    }
    let length = (batch.len() - 12) as u32;
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    batch
}

/// Zigzag, seven bits a byte, the lowest first.
fn varint(to: &mut Vec<u8>, value: i64) {
    let mut bits = ((value << 1) ^ (value >> 63)) as u64;
    while bits >= 0x80 {
        to.push(bits as u8 | 0x80);
        bits >>= 7;
    }
    to.push(bits as u8);
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

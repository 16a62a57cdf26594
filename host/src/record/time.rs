//! What the header of a batch says about time: the largest timestamp, and whether that is the time of the append.
//!
//! Lookups by time, indexes and retention go by headers. So a header must not claim what its records do not hold, whatever
//! a producer sends: of records that are not compressed the largest timestamp is computed, and whose clock it is of is a setting of
//! the topic. Apache Kafka does the same (`LogValidator`); of compressed records, which nobody decodes here, the header is believed.

use super::BatchHeader;
use super::header::{APPEND_TIME_BIT, ATTRIBUTES_AT, CRC_AT, MAX_TIMESTAMP_AT, crc_of};
use crate::types::TimestampMs;

/// Makes the header claim this largest timestamp of records that carry their own. Nearly always it does already: then nothing is written.
pub(super) fn correct(batch: &mut [u8], header: &mut BatchHeader, largest: TimestampMs) {
    if header.is_append_time() || header.max_timestamp != largest {
        write(batch, header, header.attributes & !APPEND_TIME_BIT, largest);
    }
}

/// Makes `time` the timestamp of all records: that of their append.
pub(super) fn stamp(batch: &mut [u8], header: &mut BatchHeader, time: TimestampMs) {
    write(batch, header, header.attributes | APPEND_TIME_BIT, time);
}

/// Patches one whole batch, and the CRC-32C that follows.
fn write(batch: &mut [u8], header: &mut BatchHeader, attributes: u16, max_timestamp: TimestampMs) {
    patch(batch, ATTRIBUTES_AT, &attributes.to_be_bytes());
    patch(batch, MAX_TIMESTAMP_AT, &max_timestamp.to_be_bytes());
    let crc = crc_of(batch);
    patch(batch, CRC_AT, &crc.to_be_bytes());
    *header = BatchHeader { attributes, max_timestamp, crc, ..*header };
}

/// Writes `with` over the bytes at a position.
pub(super) fn patch(bytes: &mut [u8], at: usize, with: &[u8]) {
    bytes[at..at + with.len()].copy_from_slice(with);
}

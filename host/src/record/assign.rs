//! Giving a record set its place in the log, in the bytes it came in.

use super::header::{APPEND_TIME_BIT, ATTRIBUTES_AT, CRC_AT, EPOCH_AT, MAX_TIMESTAMP_AT, crc_of};
use super::{AppendedSet, BatchHeader, RecordSet};
use crate::types::{Epoch, Offset, TimestampMs};

impl RecordSet {
    /// Patches base offsets from `base_offset` on and the leader epoch, in place. With `append_time` also the
    /// largest timestamp and the timestamp type "append time", which changes the CRC; the base timestamp and the
    /// records' deltas stay, and mean nothing any more: that is how Kafka stores it.
    pub fn assign(mut self, base_offset: Offset, epoch: Epoch, append_time: Option<TimestampMs>) -> AppendedSet {
        let leader_epoch = i32::try_from(epoch).expect("an epoch is at most i32::MAX");
        let mut next_offset = base_offset;
        for batch in &mut self.batches {
            let bytes = &mut self.bytes[batch.position..][..batch.header.size as usize];
            patch(bytes, 0, &next_offset.to_be_bytes());
            patch(bytes, EPOCH_AT, &leader_epoch.to_be_bytes());
            batch.header.base_offset = next_offset;
            batch.header.leader_epoch = leader_epoch;
            if let Some(time) = append_time {
                stamp(bytes, &mut batch.header, time);
            }
            next_offset = batch.header.next_offset();
        }
        AppendedSet { bytes: self.bytes.freeze(), batches: self.batches }
    }
}

fn stamp(bytes: &mut [u8], header: &mut BatchHeader, time: TimestampMs) {
    header.attributes |= APPEND_TIME_BIT;
    header.max_timestamp = time;
    patch(bytes, ATTRIBUTES_AT, &header.attributes.to_be_bytes());
    patch(bytes, MAX_TIMESTAMP_AT, &time.to_be_bytes());
    header.crc = crc_of(bytes);
    patch(bytes, CRC_AT, &header.crc.to_be_bytes());
}

fn patch(bytes: &mut [u8], at: usize, with: &[u8]) {
    bytes[at..at + with.len()].copy_from_slice(with);
}

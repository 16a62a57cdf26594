//! Giving a record set its place in the log, in the bytes it came in.

use super::header::EPOCH_AT;
use super::time::{patch, stamp};
use super::{AppendedSet, RecordSet};
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

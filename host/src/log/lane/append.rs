//! Appending: room in the shared memory, offsets, the buffer.

use std::sync::Arc;
use std::time::Duration;

use super::state::State;
use super::ticket::{Committed, Ticket};
use super::{Inner, Lane};
use crate::buffer::{Permit, Plan, WriteBuffer};
use crate::config::{TimestampType, TopicSettings};
use crate::env;
use crate::error::{Error, ErrorKind, Result};
use crate::record::RecordSet;
use crate::types::{MAX_SEGMENT_BYTES, Offset, PartitionId, TimestampMs, WINDOW};

/// Room in a segment that its header, indexes and footer may need beside the batches.
const OVERHEAD_BYTES: u64 = 16 << 20;

/// The outcome of an append that was taken into the buffer.
#[derive(Debug)]
pub struct Appended {
    /// Offset of its first record.
    pub base_offset: Offset,
    /// The append time stamped on it, if its topic keeps append times.
    pub append_time: Option<TimestampMs>,
    /// Log start of the partition.
    pub log_start: Offset,
    /// Resolves when the batches are committed, or are known to have failed. May be dropped: the append goes on.
    pub committed: Committed,
}

impl Lane {
    /// Gives a set offsets and takes it into the buffer; waits for room in the shared memory and in the buffer, at
    /// most the append time-out, then [`Busy`](ErrorKind::Busy). Cancelled before it returns, nothing was appended.
    pub async fn append(&self, partition: PartitionId, set: RecordSet) -> Result<Appended> {
        let inner = &*self.inner;
        let log_start = self.partition(partition)?.offsets()?.log_start;
        let len = set.len() as u64;
        if len > MAX_SEGMENT_BYTES - OVERHEAD_BYTES {
            let message = format!("record set of {len} bytes does not fit into a segment ({MAX_SEGMENT_BYTES} bytes at most)");
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let patience = Duration::from_millis(inner.shared.settings.append_timeout_ms);
        let deadline = env::now() + patience;
        let permit = inner.shared.buffers.acquire(set.len(), patience).await?;
        let settings = inner.topic.settings.load();
        let mut append = Some(Append { partition, set, permit });
        let taken = inner.wait_until(|state| match state.check_leading() {
            Err(error) => Some(Err(error)),
            Ok(()) if inner.has_room(state, &settings, len) => Some(Ok(inner.take(state, &settings, append.take()?))),
            Ok(()) => None,
        });
        let (base_offset, append_time, committed) = tokio::time::timeout_at(deadline, taken).await.map_err(|_| {
            let message = format!("{}: {WINDOW} segments wait for the object store and the write buffer is full", inner.id);
            Error::new(ErrorKind::Busy, message)
        })??;
        Ok(Appended { base_offset, append_time, log_start, committed })
    }
}

/// An append that has room in the shared memory.
struct Append {
    partition: PartitionId,
    set: RecordSet,
    permit: Permit,
}

impl Inner {
    /// Whether the buffer may take so many bytes; if not, the task is told to seal it.
    fn has_room(&self, state: &mut State, settings: &TopicSettings, len: u64) -> bool {
        let fits = match &state.buffer {
            None => true,
            Some((buffer, _)) => buffer.bytes() + len <= settings.max_segment_bytes.min(MAX_SEGMENT_BYTES - OVERHEAD_BYTES),
        };
        if !fits {
            state.flush_requested = true;
            self.wake.notify_one();
        }
        fits
    }

    fn take(&self, state: &mut State, settings: &TopicSettings, append: Append) -> (Offset, Option<TimestampMs>, Committed) {
        let Append { partition, set, permit } = append;
        let now = env::now();
        let append_time = (settings.timestamp_type == TimestampType::LogAppendTime).then(|| self.shared.env.unix_ms());
        let (len, records, batches) = (set.len(), set.record_count(), set.batches().len());
        let end = state.log_ends.entry(partition).or_insert(0);
        let base_offset = *end;
        *end += records as Offset;
        state.arrivals.add(len, batches, now);
        let set = set.assign(base_offset, self.epoch, append_time);
        let wakes = match &mut state.buffer {
            Some((buffer, _)) => {
                buffer.push(partition, set, records, permit, now);
                state.plan.crossed(buffer, u32::MAX, now)
            }
            empty => {
                state.plan = Plan::Ask;
                *empty = Some((WriteBuffer::new(partition, set, records, permit, now), Arc::new(Ticket::new())));
                true
            }
        };
        if wakes {
            self.wake.notify_one();
        }
        self.shared.metrics.lane.appended(len, records, batches);
        let (_, ticket) = state.buffer.as_ref().expect("filled just now");
        (base_offset, append_time, ticket.subscribe(now + self.patience()))
    }
}

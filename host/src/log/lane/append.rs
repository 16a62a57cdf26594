//! Appending: room in the shared memory, offsets, the buffer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::producers::{ProducerError, Verdict};
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

/// The outcome of an append that was taken into the buffer, now or, of a producer's retry, before.
#[derive(Debug)]
pub struct Appended {
    /// Offset of its first record.
    pub base_offset: Offset,
    /// The append time stamped on it, if its topic keeps append times. Not known of a retry.
    pub append_time: Option<TimestampMs>,
    /// Log start of the partition.
    pub log_start: Offset,
    /// Resolves when the batches are committed, or are known to have failed. May be dropped: the append goes on.
    pub committed: Committed,
}

impl Lane {
    /// Gives a set offsets and takes it into the buffer; waits for room in the shared memory and in the buffer, at
    /// most the append time-out, then [`Busy`](ErrorKind::Busy). Cancelled before it returns, nothing was appended.
    ///
    /// A set that its idempotent producer sends again is not appended again: it gets the offset and the fate of the first copy.
    /// [`InvalidInput`](ErrorKind::InvalidInput) has a [`ProducerError`] as its source where the producer's epoch or sequence is wrong;
    /// [`NotLeader`](ErrorKind::NotLeader) if another writer took the lead, even where it was not known before;
    /// [`Unavailable`](ErrorKind::Unavailable) while the store has no room for what was appended before.
    pub async fn append(&self, partition: PartitionId, set: RecordSet) -> Result<Appended> {
        let inner = &*self.inner;
        let log_start = self.partition(partition)?.offsets()?.log_start;
        let len = set.len() as u64;
        if len > MAX_SEGMENT_BYTES - OVERHEAD_BYTES {
            let message = format!("record set of {len} bytes does not fit into a segment ({MAX_SEGMENT_BYTES} bytes at most)");
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        // Before it waits for room: what is there already needs none.
        if let Some(known) = self.known_to_the_leader(partition, &set, log_start).await? {
            return Ok(known);
        }
        if inner.store_is_full.load(Ordering::Relaxed) {
            let message = format!("{}: the store is full, and nothing was appended: make room, and try again", inner.name());
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        let patience = Duration::from_millis(inner.shared.settings.append_timeout_ms);
        let deadline = env::now() + patience;
        let permit = inner.shared.buffers.acquire(set.len(), patience).await?;
        let settings = inner.topic.settings.load();
        let mut append = Some(Append { partition, log_start, set, permit });
        // There nearly always is room at once: then nothing is subscribed to and no timer made.
        if let Some(appended) = inner.try_take(&mut inner.state.lock(), &settings, &mut append)? {
            return Ok(appended);
        }
        let taken = inner.wait_until(|state| inner.try_take(state, &settings, &mut append).transpose());
        tokio::time::timeout_at(deadline, taken).await.map_err(|_| {
            let message = format!("{}: {WINDOW} segments wait for the object store and the write buffer is full", inner.name());
            Error::new(ErrorKind::Busy, message)
        })?
    }
}

impl Lane {
    /// As [`Inner::known`]; but a producer is refused only by a lane that leads at that moment.
    async fn known_to_the_leader(&self, partition: PartitionId, set: &RecordSet, log_start: Offset) -> Result<Option<Appended>> {
        let known = || self.inner.known(&self.inner.state.lock(), partition, set, log_start);
        match known() {
            Err(error) if error.cause::<ProducerError>().is_some() => {
                self.confirm_lead().await?;
                known()
            }
            known => known,
        }
    }
}

/// An append that has room in the shared memory.
struct Append {
    partition: PartitionId,
    log_start: Offset,
    set: RecordSet,
    permit: Permit,
}

impl Inner {
    /// The answer to a set that its producer appended before; `None` if it is new, or of no idempotent producer.
    fn known(&self, state: &State, partition: PartitionId, set: &RecordSet, log_start: Offset) -> Result<Option<Appended>> {
        if !set.has_producers() {
            return Ok(None);
        }
        state.check_leading()?;
        let verdict = state.producers.check(partition, set.batches()).map_err(|error| {
            let message = format!("record set for partition {partition} of topic {} refused", self.topic.name);
            Error::new(ErrorKind::InvalidInput, message).with_source(error)
        })?;
        let Verdict::Duplicate { base_offset, ticket } = verdict else { return Ok(None) };
        self.shared.metrics.lane.duplicates.inc();
        let deadline = env::now() + self.patience();
        let committed = ticket.map_or_else(Committed::already, |ticket| ticket.subscribe_again(deadline));
        Ok(Some(Appended { base_offset, append_time: None, log_start, committed }))
    }

    /// Takes an append if it is new, or answers it if it is not. `None`: there is no room for it.
    fn try_take(&self, state: &mut State, settings: &TopicSettings, append: &mut Option<Append>) -> Result<Option<Appended>> {
        state.check_leading()?;
        let Some(Append { partition, log_start, set, .. }) = append else { return Ok(None) };
        if let Some(known) = self.known(state, *partition, set, *log_start)? {
            return Ok(Some(known));
        }
        if !self.has_room(state, settings, set.len() as u64) {
            return Ok(None);
        }
        Ok(append.take().map(|append| self.take(state, settings, append)))
    }

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

    fn take(&self, state: &mut State, settings: &TopicSettings, append: Append) -> Appended {
        let Append { partition, log_start, set, permit } = append;
        let now = env::now();
        let append_time = (settings.timestamp_type == TimestampType::LogAppendTime).then(|| self.shared.env.unix_ms());
        let (len, records, batches) = (set.len(), set.record_count(), set.batches().len());
        let has_producers = set.has_producers();
        let end = state.log_ends.entry(partition).or_insert(0);
        let base_offset = *end;
        *end += records as Offset;
        state.arrivals.add(len, batches, now);
        state.shadow.appended(now, len as u64, records);
        let set = set.assign(base_offset, self.epoch, append_time);
        let ticket = state.buffer.as_ref().map_or_else(|| Arc::new(Ticket::new()), |(_, ticket)| ticket.clone());
        if has_producers {
            state.producers.appended(partition, &set.batches, &ticket, now);
            let evicted = state.producers.bound(self.shared.settings.producers_per_lane as usize);
            self.shared.metrics.lane.producers_evicted.inc_by(evicted as u64);
        }
        let committed = ticket.subscribe(now + self.patience());
        let wakes = match &mut state.buffer {
            Some((buffer, _)) => {
                buffer.push(partition, set, records, permit, now);
                state.plan.crossed(buffer, u32::MAX, now)
            }
            empty => {
                state.plan = Plan::Ask;
                *empty = Some((WriteBuffer::new(partition, set, records, permit, now), ticket));
                true
            }
        };
        if wakes {
            self.wake.notify_one();
        }
        self.shared.metrics.lane.appended(len, records, batches);
        Appended { base_offset, append_time, log_start, committed }
    }
}

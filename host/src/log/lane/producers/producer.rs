//! One producer in one partition.

use std::collections::VecDeque;
use std::sync::Weak;

use super::super::ticket::Ticket;
use super::{KEPT, ProducerError};
use crate::env::Instant;
use crate::record::BatchHeader;
use crate::segment::ProducerAppend;
use crate::types::{Offset, PartitionId};

/// One batch of a producer.
#[derive(Debug)]
pub(super) struct Batch {
    epoch: i16,
    first_sequence: i32,
    last_sequence: i32,
    pub(super) base_offset: Offset,
    /// Of the buffer that holds it; gone once that is committed and everybody was told.
    pub(super) ticket: Weak<Ticket>,
}

/// What a producer appended lately.
#[derive(Debug)]
pub(super) struct Producer {
    /// In append order: up to [`KEPT`] committed ones, then all that are in flight. Not empty once something was pushed.
    recent: VecDeque<Batch>,
    /// So many of them, from the front, are committed.
    committed: usize,
    seen: Instant,
}

impl Producer {
    pub(super) fn new(now: Instant) -> Self {
        Self { recent: VecDeque::with_capacity(1), committed: 0, seen: now }
    }

    /// Epoch and last sequence of its last batch.
    pub(super) fn last(&self) -> (i16, i32) {
        let last = self.recent.back().expect("a producer is known by what it appended");
        (last.epoch, last.last_sequence)
    }

    /// The batch that this one repeats: of the current epoch, and one of the last few.
    pub(super) fn find(&self, header: &BatchHeader) -> Option<&Batch> {
        let (epoch, _) = self.last();
        let repeats = |batch: &&Batch| {
            let found = (batch.epoch, batch.first_sequence, batch.last_sequence);
            found == (header.producer_epoch, header.base_sequence, header.last_sequence())
        };
        if header.producer_epoch == epoch { self.recent.iter().rev().take(KEPT).find(repeats) } else { None }
    }

    pub(super) fn push(&mut self, append: &ProducerAppend, ticket: Weak<Ticket>, now: Instant) {
        self.seen = now;
        self.recent.push_back(Batch {
            epoch: append.producer_epoch,
            first_sequence: append.first_sequence,
            last_sequence: append.last_sequence,
            base_offset: append.base_offset,
            ticket,
        });
    }

    /// The oldest batch in flight, which begins at this offset, is committed. An epoch ends with the first batch of the next.
    pub(super) fn commit(&mut self, base_offset: Offset) {
        let batch = &self.recent[self.committed];
        debug_assert_eq!(batch.base_offset, base_offset, "segments are committed in order");
        let epoch = batch.epoch;
        self.committed += 1;
        while self.committed > KEPT || self.recent[0].epoch != epoch {
            self.recent.pop_front();
            self.committed -= 1;
        }
    }

    /// Its committed batches, in order.
    pub(super) fn committed(&self, partition: PartitionId, producer_id: i64) -> impl Iterator<Item = ProducerAppend> {
        self.recent.iter().take(self.committed).map(move |batch| ProducerAppend {
            partition,
            producer_id,
            producer_epoch: batch.epoch,
            first_sequence: batch.first_sequence,
            last_sequence: batch.last_sequence,
            base_offset: batch.base_offset,
        })
    }

    pub(super) fn is_in_flight(&self) -> bool {
        self.committed < self.recent.len()
    }

    pub(super) fn seen(&self) -> Instant {
        self.seen
    }
}

/// Whether a batch may follow the last one of its producer, of which epoch and last sequence are given; `None`: it is not known.
pub(super) fn follows(last: Option<(i16, i32)>, header: &BatchHeader) -> Result<(), ProducerError> {
    let Some((current, last_sequence)) = last else { return Ok(()) };
    let BatchHeader { producer_id, producer_epoch: epoch, base_sequence: found, .. } = *header;
    if epoch < current {
        return Err(ProducerError::FencedEpoch { producer_id, current, found: epoch });
    }
    let expected = if epoch > current { 0 } else { last_sequence.checked_add(1).unwrap_or(0) };
    if found == expected { Ok(()) } else { Err(ProducerError::OutOfOrderSequence { producer_id, expected, found }) }
}

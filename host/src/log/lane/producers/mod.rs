//! What a lane knows of idempotent producers, so that a batch sent twice is in the log once.
//!
//! Kafka's rules. Each batch of a producer carries its epoch and the sequence of its first record; sequences go up by one a
//! record and wrap from `i32::MAX` to 0. A batch is taken if it follows the producer's last one in its partition, if it
//! begins a newer epoch at 0, or if the producer is not known there. One that is exactly one of the last
//! [`KEPT`] is a *duplicate*: it gets the offset of the first copy, and its fate. Anything else is refused.
//!
//! One table serves two purposes. What was *appended* decides what follows, so it is asked and changed under the lock under which
//! offsets are given. What is *committed* is what a checkpoint saves: for each producer a prefix of its appends, since
//! segments are committed in order. It is exactly what a replay of the log up to there yields, and an opening does just that.

use std::collections::BTreeMap;
use std::sync::Arc;

use self::producer::Producer;
use super::ticket::Ticket;
use crate::env::Instant;
use crate::record::BatchMeta;
use crate::segment::ProducerAppend;
use crate::types::{Offset, PartitionId};

mod producer;
#[cfg(test)]
mod tests;

/// Appends of a producer among which a duplicate is recognized: so many requests a Kafka client has in flight at most.
pub(super) const KEPT: usize = 5;

/// Why batches of an idempotent producer were refused. Nothing of them was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ProducerError {
    #[error(
        "producer {producer_id} sends sequence {found}, expected {expected}: batches before it are missing, or it was appended long ago"
    )]
    OutOfOrderSequence { producer_id: i64, expected: i32, found: i32 },
    #[error("producer {producer_id} sends epoch {found}, its epoch is {current}: a newer instance has taken over")]
    FencedEpoch { producer_id: i64, current: i16, found: i16 },
    #[error("a record set has batches of several producers, or some that were appended before beside new ones: send one batch at a time")]
    MixedSet,
}

/// What a partition remembers of an idempotent producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownProducer {
    /// Its id.
    pub id: i64,
    /// Its epoch.
    pub epoch: i16,
    /// Sequence of the last record that it appended, committed or not.
    pub last_sequence: i32,
}

/// What becomes of a record set.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is new.
    Append,
    /// Its batches were appended before.
    Duplicate {
        /// Offset of its first record.
        base_offset: Offset,
        /// Fate of the buffer that holds the last of them; `None` once it is committed.
        ticket: Option<Arc<Ticket>>,
    },
}

/// The producers of all partitions of a lane.
#[derive(Debug, Default)]
pub(super) struct Producers {
    known: BTreeMap<(PartitionId, i64), Producer>,
}

impl Producers {
    /// What becomes of these batches, which are one set with at least one producer id.
    pub(super) fn check(&self, partition: PartitionId, batches: &[BatchMeta]) -> Result<Verdict, ProducerError> {
        let of = |batch: &BatchMeta| (batch.header.producer_id, batch.header.producer_epoch);
        let first = of(batches.first().expect("an empty set is refused"));
        if batches.iter().any(|batch| of(batch) != first) {
            return Err(ProducerError::MixedSet);
        }
        let known = self.known.get(&(partition, first.0));
        let mut last = known.map(Producer::last);
        let (mut oldest, mut newest, mut duplicates) = (None, None, 0);
        for batch in batches {
            match known.and_then(|producer| producer.find(&batch.header)) {
                Some(duplicate) => {
                    oldest = oldest.or(Some(duplicate));
                    newest = Some(duplicate);
                    duplicates += 1;
                }
                None => {
                    producer::follows(last, &batch.header)?;
                    last = Some((batch.header.producer_epoch, batch.header.last_sequence()));
                }
            }
        }
        match (oldest, newest) {
            (Some(oldest), Some(newest)) if duplicates == batches.len() => {
                Ok(Verdict::Duplicate { base_offset: oldest.base_offset, ticket: newest.ticket.upgrade() })
            }
            (None, _) => Ok(Verdict::Append),
            _ => Err(ProducerError::MixedSet),
        }
    }

    /// Notes the batches of a set that passed the check, with the offsets that they were given.
    pub(super) fn appended(&mut self, partition: PartitionId, batches: &[BatchMeta], ticket: &Arc<Ticket>, now: Instant) {
        for BatchMeta { header, .. } in batches {
            let append = ProducerAppend::of(partition, header);
            self.producer(&append, now).push(&append, Arc::downgrade(ticket), now);
        }
    }

    /// Notes that the appends of a segment are committed: of each producer its oldest that were not.
    pub(super) fn committed(&mut self, appends: &[ProducerAppend]) {
        for append in appends {
            if let Some(producer) = self.known.get_mut(&(append.partition, append.producer_id)) {
                producer.commit(append.base_offset);
            }
        }
    }

    /// Notes an append that was committed before this lane was opened.
    pub(super) fn replay(&mut self, append: &ProducerAppend, now: Instant) {
        let producer = self.producer(append, now);
        producer.push(append, std::sync::Weak::new(), now);
        producer.commit(append.base_offset);
    }

    fn producer(&mut self, append: &ProducerAppend, now: Instant) -> &mut Producer {
        self.known.entry((append.partition, append.producer_id)).or_insert_with(|| Producer::new(now))
    }

    /// The producers of a partition, by id.
    pub(super) fn of(&self, partition: PartitionId) -> impl Iterator<Item = KnownProducer> {
        self.known.range((partition, i64::MIN)..=(partition, i64::MAX)).map(|((_, id), producer)| {
            let (epoch, last_sequence) = producer.last();
            KnownProducer { id: *id, epoch, last_sequence }
        })
    }

    /// The committed appends, from which a replay makes the same state: in append order for each producer and partition.
    pub(super) fn committed_appends(&self) -> Vec<ProducerAppend> {
        self.known.iter().flat_map(|((partition, id), producer)| producer.committed(*partition, *id)).collect()
    }

    /// Drops producers of whom nothing was appended since `oldest`.
    pub(super) fn expire(&mut self, oldest: Instant) {
        self.known.retain(|_, producer| producer.is_in_flight() || producer.seen() >= oldest);
    }

    /// Once there are more than `most`, drops those that were not seen for longest, a sixteenth at once. Says how many.
    pub(super) fn bound(&mut self, most: usize) -> usize {
        if self.known.len() <= most {
            return 0;
        }
        let excess = self.known.len() - (most - most / 16);
        let idle = self.known.iter().filter(|(_, producer)| !producer.is_in_flight());
        let mut idle: Vec<_> = idle.map(|(key, producer)| (producer.seen(), *key)).collect();
        let gone = excess.min(idle.len());
        if gone < idle.len() {
            idle.select_nth_unstable(gone);
        }
        idle[..gone].iter().for_each(|(_, key)| drop(self.known.remove(key)));
        gone
    }
}

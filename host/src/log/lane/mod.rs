//! A lane: one write buffer, one sequence of segment objects, one leader.

use std::sync::Arc;

use super::partition::Partition;
use super::{Shared, Topic};
use crate::error::Result;
use crate::record::RecordSet;
use crate::types::{Epoch, LaneId, Offset, PartitionId, TimestampMs, TopicLane};

/// A lane that this host leads, or led until it was fenced or closed.
pub struct Lane {}

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

/// Waits for a commit; cheap, cancellation-safe.
#[derive(Debug)]
pub struct Committed {}

impl Committed {
    /// `Ok` once the batches are committed and readable. [`NotLeader`](crate::ErrorKind::NotLeader): fenced before;
    /// [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): the store has not said, they may still appear.
    pub async fn wait(self) -> Result<()> {
        todo!()
    }
}

impl Lane {
    /// Writes the first manifests of all lanes of a new topic. May be repeated.
    pub async fn create_all(shared: &Shared, topic: &Topic) -> Result<()> {
        let _ = (shared, topic);
        todo!()
    }

    /// Takes the lead of a lane: walks its log, fences what an older leader has in flight, claims the next epoch, and starts its tasks.
    pub async fn open(shared: Shared, topic: Arc<Topic>, lane: LaneId) -> Result<Arc<Self>> {
        let _ = (shared, topic, lane);
        todo!()
    }

    /// Opens every lane of a deleted topic's, tombstones it and, after the grace period, deletes its objects. May be repeated.
    pub async fn tombstone(shared: &Shared, topic: Arc<Topic>, lane: LaneId) -> Result<()> {
        let _ = (shared, topic, lane);
        todo!()
    }

    /// Which lane this is.
    pub fn id(&self) -> TopicLane {
        todo!()
    }

    /// The epoch under which this host leads it.
    pub fn epoch(&self) -> Epoch {
        todo!()
    }

    /// A partition of this lane; [`NotFound`](crate::ErrorKind::NotFound) if it lives in another or does not exist.
    pub fn partition(&self, partition: PartitionId) -> Result<&Arc<Partition>> {
        let _ = partition;
        todo!()
    }

    /// Gives a set offsets and takes it into the buffer; waits for room in the shared memory, at most the append time-out.
    pub async fn append(&self, partition: PartitionId, set: RecordSet) -> Result<Appended> {
        let _ = (partition, set);
        todo!()
    }

    /// Seals what is buffered and waits until it is committed.
    pub async fn flush(&self) -> Result<()> {
        todo!()
    }

    /// Moves a log start, at most up to the high watermark; durable when this returns. Returns the log start.
    pub async fn trim(&self, partition: PartitionId, offset: Offset) -> Result<Offset> {
        let _ = (partition, offset);
        todo!()
    }

    /// One round of retention, and of deleting dead segments whose grace is over. The caller sets the interval.
    pub async fn maintain(&self) -> Result<()> {
        todo!()
    }

    /// Whether it still leads: neither fenced nor closed.
    pub fn leads(&self) -> bool {
        todo!()
    }

    /// Stops taking appends, flushes, commits, checkpoints. Idempotent.
    pub async fn close(&self) -> Result<()> {
        todo!()
    }

    /// Drops everything at once, as a crash would; dropping the last handle does the same.
    pub fn abort(&self) {
        todo!()
    }
}

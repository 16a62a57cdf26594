//! What a lane has taken and not sealed yet.

use std::collections::BTreeMap;

use super::Permit;
use crate::env::Instant;
use crate::record::AppendedSet;
use crate::types::PartitionId;

/// Batches by partition, in offset order, with what policies want to know of them. Not empty: it begins with its first set.
#[derive(Debug)]
pub struct WriteBuffer {
    sets: BTreeMap<PartitionId, Vec<AppendedSet>>,
    permit: Permit,
    bytes: u64,
    records: u64,
    oldest: Instant,
    newest: Instant,
}

impl WriteBuffer {
    /// A buffer that starts with one set.
    pub fn new(partition: PartitionId, set: AppendedSet, records: u64, permit: Permit, now: Instant) -> Self {
        let bytes = set.bytes.len() as u64;
        Self { sets: BTreeMap::from([(partition, vec![set])]), permit, bytes, records, oldest: now, newest: now }
    }

    /// Adds a set; its offsets follow those of its partition's sets before.
    pub fn push(&mut self, partition: PartitionId, set: AppendedSet, records: u64, permit: Permit, now: Instant) {
        self.bytes += set.bytes.len() as u64;
        self.records += records;
        self.newest = now;
        self.permit.merge(permit);
        self.sets.entry(partition).or_default().push(set);
    }

    /// Size of all batches, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Number of partitions with batches.
    pub fn partitions(&self) -> u32 {
        self.sets.len() as u32
    }

    /// When its first set came.
    pub fn oldest(&self) -> Instant {
        self.oldest
    }

    /// When its last set came.
    pub fn newest(&self) -> Instant {
        self.newest
    }

    /// The sets, and the room that they take.
    pub fn into_parts(self) -> (BTreeMap<PartitionId, Vec<AppendedSet>>, Permit) {
        (self.sets, self.permit)
    }
}

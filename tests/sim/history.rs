//! What writers were told, and whether the log agrees.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use tidegate::log::Topic;
use tidegate::log::lane::Lane;
use tidegate::record::{DECODE_LIMIT_BYTES, batches, records};
use tidegate::types::{Offset, PartitionId};

use crate::Totals;

#[derive(Default)]
pub(crate) struct History(Mutex<State>);

#[derive(Default)]
struct State {
    next_id: u64,
    acked: BTreeMap<(PartitionId, Offset), u64>,
    /// Where each acknowledged record is.
    places: BTreeMap<u64, (PartitionId, Offset)>,
    /// The furthest that anybody asked to trim to.
    trims: BTreeMap<PartitionId, Offset>,
    totals: Totals,
}

impl History {
    pub(crate) fn new_id(&self) -> u64 {
        let mut state = self.0.lock();
        state.next_id += 1;
        state.next_id
    }

    pub(crate) fn acked(&self, partition: PartitionId, base_offset: Offset, ids: &[u64]) {
        let mut state = self.0.lock();
        for (offset, id) in (base_offset..).zip(ids) {
            let place = (partition, offset);
            let other = state.acked.insert(place, *id).unwrap_or(*id);
            assert_eq!(other, *id, "offset {offset} of partition {partition} was acknowledged for two records");
            // A producer that sends again is told again, of the same place.
            match state.places.insert(*id, place) {
                Some(other) => assert_eq!(other, place, "record {id} was acknowledged at two places"),
                None => state.totals.acked += 1,
            }
        }
    }

    pub(crate) fn trimming(&self, partition: PartitionId, up_to: Offset) {
        let mut state = self.0.lock();
        let furthest = state.trims.entry(partition).or_insert(0);
        *furthest = up_to.max(*furthest);
        state.totals.trims += 1;
    }

    pub(crate) fn duplicates(&self, count: u64) {
        self.0.lock().totals.duplicates += count;
    }

    pub(crate) fn opened(&self) {
        self.0.lock().totals.openings += 1;
    }

    pub(crate) fn fenced(&self) {
        self.0.lock().totals.fenced += 1;
    }

    pub(crate) fn totals(&self) -> Totals {
        self.0.lock().totals
    }

    /// Reads the whole log and compares.
    pub(crate) async fn check(&self, seed: u64, lane: &Lane, topic: &Topic) {
        let mut seen = BTreeSet::new();
        for partition in topic.partitions_of(0) {
            let (log_start, found) = read(seed, lane, partition).await;
            for id in found.values() {
                assert!(seen.insert(*id), "seed {seed}: record {id} is in the log twice");
            }
            let state = self.0.lock();
            let trimmed = state.trims.get(&partition).copied().unwrap_or(0);
            assert!(log_start <= trimmed, "seed {seed}: partition {partition} starts at {log_start}, nobody trimmed beyond {trimmed}");
            for ((_, offset), id) in state.acked.range((partition, log_start)..(partition + 1, 0)) {
                let there = found.get(offset);
                assert_eq!(there, Some(id), "seed {seed}: acknowledged record {id} at offset {offset} of partition {partition}");
            }
        }
    }
}

/// The log start, and the ids of all records by their offsets, which have no gap.
async fn read(seed: u64, lane: &Lane, partition: PartitionId) -> (Offset, BTreeMap<Offset, u64>) {
    let reader = lane.partition(partition).unwrap();
    let offsets = reader.offsets().unwrap();
    let mut found = BTreeMap::new();
    let mut at = offsets.log_start;
    while at < offsets.high_watermark {
        let fetched = reader.fetch(at, 1 << 16, true).await.unwrap_or_else(|e| panic!("seed {seed}: partition {partition} at {at}: {e}"));
        assert!(fetched.next_offset > at, "seed {seed}: partition {partition} stands still at {at}");
        for chunk in &fetched.chunks {
            for batch in batches(chunk) {
                let batch = batch.unwrap();
                let bytes = &chunk[batch.position..batch.position + batch.header.size as usize];
                for record in records(bytes, DECODE_LIMIT_BYTES).unwrap().iter() {
                    let record = record.unwrap();
                    let id = u64::from_be_bytes(record.value.expect("has a value").try_into().expect("8 bytes"));
                    if record.offset >= offsets.log_start {
                        assert_eq!(found.insert(record.offset, id), None, "seed {seed}: offset {} twice", record.offset);
                    }
                }
            }
        }
        at = fetched.next_offset;
    }
    let expected: Vec<_> = (offsets.log_start..offsets.high_watermark).collect();
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), expected, "seed {seed}: offsets of partition {partition}");
    (offsets.log_start, found)
}

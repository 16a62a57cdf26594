//! The one object of a lane that is replaced.

use bytes::Bytes;

use super::{PageRef, ProducerStates, refs};
use crate::codec::{FormatError, Reader, Writer};
use crate::types::{Epoch, LaneId, Nonce, Offset, PartitionId, Slot, TopicId, TopicLane};

const MAGIC: &[u8; 4] = b"KAFM";
const VERSION: u16 = 1;
const TOMBSTONE_FLAG: u16 = 1;
/// Four integers of at least a byte.
const MIN_PARTITION_LEN: usize = 4;

/// A partition at the manifest's checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionState {
    /// The partition.
    pub partition: PartitionId,
    /// First readable offset.
    pub log_start: Offset,
    /// Offset after the last record below the checkpoint.
    pub next_offset: Offset,
    /// Bytes of all slices below the checkpoint, trimmed ones included.
    pub total_bytes: u64,
}

/// The one object of a lane that is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Topic of the lane.
    pub topic: TopicId,
    /// The lane.
    pub lane: LaneId,
    /// Who wrote this state.
    pub nonce: Nonce,
    /// Counts the replacements, whoever made them: with the nonce it tells one's own write from any other.
    pub counter: u64,
    /// Epoch of the leader.
    pub epoch: Epoch,
    /// The first slot that a walk looks at.
    pub checkpoint: Slot,
    /// The topic was deleted: the lane cannot be opened.
    pub tombstone: bool,
    /// In partition order; a partition that is not named starts at offset 0.
    pub partitions: Vec<PartitionState>,
    /// Slots of all fences of claims, in order. Never pruned.
    pub fences: Vec<Slot>,
    /// The pages not folded yet, in slot order (so levels go down).
    pub pages: Vec<PageRef>,
    /// State of idempotent producers at the checkpoint.
    pub producers: ProducerStates,
}

impl Manifest {
    /// The first manifest of a new lane: nothing written yet, epoch 0.
    pub fn first(lane: TopicLane, nonce: Nonce) -> Self {
        Self {
            topic: lane.topic,
            lane: lane.lane,
            nonce,
            counter: 0,
            epoch: 0,
            checkpoint: 0,
            tombstone: false,
            partitions: Vec::new(),
            fences: Vec::new(),
            pages: Vec::new(),
            producers: ProducerStates::Inline(Vec::new()),
        }
    }

    /// The encoded manifest: the same bytes for the same manifest. The lane keeps it below
    /// [`MAX_MANIFEST_BYTES`](super::MAX_MANIFEST_BYTES) by folding pages and by a snapshot of producer state.
    /// Panics if it could not be read again (lists not in order, offsets below 0): better than a lane that cannot be opened.
    pub fn encode(&self) -> Bytes {
        let mut w = Writer::open(MAGIC, VERSION);
        w.u16(if self.tombstone { TOMBSTONE_FLAG } else { 0 });
        w.put(self.topic.0.as_bytes()).u32(self.lane).u32(self.epoch).u128(self.nonce.0).u64(self.counter).u64(self.checkpoint);
        encode_partitions(&mut w, &self.partitions);
        w.uvarint(self.fences.len() as u64);
        let mut last = 0;
        for fence in &self.fences {
            w.uvarint(fence.wrapping_sub(last));
            last = *fence;
        }
        refs::encode(&mut w, &self.pages);
        self.producers.encode(&mut w);
        let bytes = w.close();
        assert_eq!(Self::decode(&bytes).as_ref(), Ok(self), "a manifest is written only if it reads back");
        bytes
    }

    /// Reads an encoded manifest. Damage and a newer version are told apart by [`FormatProblem::kind`](crate::codec::FormatProblem::kind).
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut r = Reader::open("manifest", bytes, 0, MAGIC, VERSION)?;
        let flags = r.u16()?;
        r.check(flags & !TOMBSTONE_FLAG == 0, "unknown flags")?;
        let manifest = Self {
            tombstone: flags != 0,
            topic: TopicId(uuid::Uuid::from_u128(r.u128()?)),
            lane: r.u32()?,
            epoch: r.u32()?,
            nonce: Nonce(r.u128()?),
            counter: r.u64()?,
            checkpoint: r.u64()?,
            partitions: decode_partitions(&mut r)?,
            fences: decode_fences(&mut r)?,
            pages: refs::decode(&mut r)?,
            producers: ProducerStates::decode(&mut r)?,
        };
        r.finish()?;
        Ok(manifest)
    }

    /// The state of a partition at the checkpoint; zeros if it is not named.
    pub fn partition(&self, partition: PartitionId) -> PartitionState {
        match self.partitions.binary_search_by_key(&partition, |state| state.partition) {
            Ok(found) => self.partitions[found],
            Err(_) => PartitionState { partition, ..PartitionState::default() },
        }
    }
}

fn encode_partitions(w: &mut Writer, partitions: &[PartitionState]) {
    w.uvarint(partitions.len() as u64);
    let mut next = 0;
    for of in partitions {
        w.uvarint(u64::from(of.partition.wrapping_sub(next)));
        w.uvarint(of.log_start as u64).uvarint(of.next_offset as u64).uvarint(of.total_bytes);
        next = of.partition.wrapping_add(1);
    }
}

fn decode_partitions(r: &mut Reader<'_>) -> Result<Vec<PartitionState>, FormatError> {
    let count = r.varint_count(MIN_PARTITION_LEN)?;
    let mut partitions = Vec::with_capacity(count);
    let mut next = 0u64;
    for _ in 0..count {
        let partition = next.saturating_add(r.uvarint()?);
        let partition = PartitionId::try_from(partition).map_err(|_| r.error(format!("partition {partition} is out of range")))?;
        next = u64::from(partition) + 1;
        let (log_start, next_offset, total_bytes) = (r.uvarint_as()?, r.uvarint_as()?, r.uvarint()?);
        partitions.push(PartitionState { partition, log_start, next_offset, total_bytes });
    }
    Ok(partitions)
}

fn decode_fences(r: &mut Reader<'_>) -> Result<Vec<Slot>, FormatError> {
    let count = r.varint_count(1)?;
    let mut fences: Vec<Slot> = Vec::with_capacity(count);
    for _ in 0..count {
        let last = fences.last().copied();
        let fence = last.unwrap_or(0).checked_add(r.uvarint()?).ok_or_else(|| r.error("slot past the last one"))?;
        r.check(last.is_none_or(|last| last < fence), "fences are not in rising order")?;
        fences.push(fence);
    }
    Ok(fences)
}

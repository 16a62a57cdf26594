//! Walking the dense run of log objects behind a checkpoint.
//!
//! A segment continues the log; a fence says that the next slot is its own + [`WINDOW`], and nothing else: it
//! may be that of an opening that failed. The listing tells the two apart by size, so that all objects of a
//! run are read at once.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};

use super::keys::Keys;
use super::manifest::StoredManifest;
use super::producers::Producers;
use super::snapshot;
use crate::catalog::{PartitionState, SliceEntry};
use crate::env::{self, Instant};
use crate::error::{Error, ErrorKind, Result};
use crate::log::Shared;
use crate::segment::{self, FENCE_LEN, Footer, FooterError, Header, LogObjectKind, TAIL_READ_BYTES};
use crate::store::GetRange;
use crate::types::{Epoch, PartitionId, Slot, TopicLane, WINDOW};

/// Objects read at once.
const CONCURRENCY: usize = 16;
/// Objects of one folder at most, strays included.
const FOLDER_LIMIT: usize = 1_000;

/// Where a walk is, and what it found.
pub(super) struct Walk {
    /// The next slot to look at; after [`advance`](Self::advance) the first free one.
    pub(super) slot: Slot,
    /// The highest epoch seen.
    pub(super) epoch: Epoch,
    /// Fences walked.
    pub(super) fences: Vec<Slot>,
    /// Slices walked, in order.
    pub(super) entries: Vec<SliceEntry>,
    /// The partitions at `slot`.
    pub(super) partitions: BTreeMap<PartitionId, PartitionState>,
    /// The producers at `slot`, all of them last seen when the walk began.
    pub(super) producers: Producers,
    began: Instant,
}

impl Walk {
    /// A walk that begins at the checkpoint of a manifest.
    pub(super) async fn from_manifest(shared: &Shared, keys: &Keys, stored: &StoredManifest) -> Result<Self> {
        let (manifest, began) = (&stored.manifest, env::now());
        let mut producers = Producers::default();
        for append in snapshot::load(shared, keys, stored).await? {
            producers.replay(&append, began);
        }
        Ok(Self {
            slot: manifest.checkpoint,
            epoch: manifest.epoch,
            fences: Vec::new(),
            entries: Vec::new(),
            partitions: manifest.partitions.iter().map(|p| (p.partition, *p)).collect(),
            producers,
            began,
        })
    }

    /// Walks on to the first free slot.
    pub(super) async fn advance(&mut self, shared: &Shared, keys: &Keys, lane: TopicLane) -> Result<()> {
        loop {
            let folder_end = Keys::next_folder(self.slot);
            let run = self.dense_run(shared, keys).await?;
            let read = |(slot, size)| async move { Ok::<_, Error>((slot, read_object(shared, keys, lane, slot, size).await?)) };
            let found: Vec<_> = stream::iter(run).map(read).buffered(CONCURRENCY).try_collect().await?;
            for (slot, object) in found {
                self.step(keys, slot, object)?;
            }
            if self.slot < folder_end {
                return Ok(());
            }
        }
    }

    /// The objects from `slot` on without a gap, as far as this slot's folder goes, and their sizes.
    async fn dense_run(&self, shared: &Shared, keys: &Keys) -> Result<Vec<(Slot, u64)>> {
        let folder = keys.folder(self.slot);
        let before = self.slot.checked_sub(1).map(|s| keys.slot(s)).filter(|key| key.starts_with(&folder));
        let listed = shared.store.list(&folder, before.as_deref(), FOLDER_LIMIT).await?;
        let sizes: BTreeMap<_, _> = listed.iter().filter_map(|o| Some((keys.parse_slot(&o.key)?, o.size))).collect();
        let mut run = Vec::new();
        let mut slot = self.slot;
        while let Some(size) = sizes.get(&slot) {
            run.push((slot, *size));
            slot += if is_fence(*size) { WINDOW } else { 1 };
        }
        Ok(run)
    }

    fn step(&mut self, keys: &Keys, slot: Slot, footer: Footer) -> Result<()> {
        debug_assert_eq!(slot, self.slot, "a run is dense");
        let epoch = footer.header.identity.epoch;
        self.epoch = self.epoch.max(epoch);
        if footer.header.kind == LogObjectKind::Fence {
            self.fences.push(slot);
            self.slot = slot + WINDOW;
            return Ok(());
        }
        for slice in footer.slices {
            let p = self.partitions.entry(slice.partition).or_default();
            p.partition = slice.partition;
            if slice.base_offset != p.next_offset {
                let problem = format!("partition {} goes on at offset {}, expected {}", slice.partition, slice.base_offset, p.next_offset);
                return Err(damaged(keys, slot, &problem));
            }
            self.entries.push(SliceEntry { slot, epoch, slice, prior_bytes: p.total_bytes });
            p.next_offset = slice.next_offset;
            p.total_bytes += slice.len;
        }
        footer.producers.iter().for_each(|append| self.producers.replay(append, self.began));
        self.slot = slot + 1;
        Ok(())
    }
}

/// Whether an object of this size is a fence; a segment is always larger.
pub(super) fn is_fence(size: u64) -> bool {
    size == FENCE_LEN
}

/// The footer of a log object, which must be what its key and its size say.
async fn read_object(shared: &Shared, keys: &Keys, lane: TopicLane, slot: Slot, size: u64) -> Result<Footer> {
    let key = keys.slot(slot);
    let mut tail_len = TAIL_READ_BYTES;
    loop {
        let object = shared.store.get(&key, GetRange::Tail(tail_len)).await?;
        match segment::read_footer(&object.bytes, object.size) {
            Ok(footer) => {
                let Header { kind, identity, .. } = footer.header;
                let here = (identity.topic, identity.lane, identity.slot) == (lane.topic, lane.lane, slot);
                let good = here && (kind == LogObjectKind::Fence) == is_fence(size);
                return if good { Ok(footer) } else { Err(damaged(keys, slot, "it says that it is another object")) };
            }
            Err(FooterError::NeedMore { tail_len: more }) if more > tail_len => tail_len = more,
            Err(error) => return Err(damaged(keys, slot, &error.to_string())),
        }
    }
}

fn damaged(keys: &Keys, slot: Slot, problem: &str) -> Error {
    let message = format!(
        "log object {:?} is damaged: {problem}. The lane is not opened, so that nothing behind it is lost: \
         restore the object from a backup (`tidegate segment verify` checks one)",
        keys.slot(slot)
    );
    Error::new(ErrorKind::Corrupt, message)
}

//! Checkpoints: a catalog page with the segments since the last one, producer state if that is large, then the manifest.
//!
//! One at a time in a lane, and each goes on until it has won or the lane has lost: so the objects of a writer
//! have one content each, whatever the network does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Inner;
use super::backoff::Backoff;
use super::keys::Keys;
use super::state::State;
use super::{manifest, snapshot};
use crate::catalog::{FAN_OUT, MAX_MANIFEST_BYTES, Manifest, Page, PageRef, PartitionState, SliceEntry};
use crate::codec::Body;
use crate::error::{Error, Result};
use crate::log::Shared;
use crate::segment::ProducerAppend;
use crate::store::{PutMode, StoreErrorKind};
use crate::types::{Epoch, Nonce, Slot};

/// What the manifest is to say.
pub(super) struct Goal {
    slot: Slot,
    segments: u64,
    partitions: Vec<PartitionState>,
    /// `None`: no segment was committed since the manifest's checkpoint, so that what it says of producers still holds.
    producers: Option<Vec<ProducerAppend>>,
}

impl Goal {
    /// All that is committed, with the log starts that are wanted: nothing of what is buffered or in flight.
    pub(super) fn from_state(state: &mut State) -> Self {
        let mut partitions = state.committed.clone();
        for (partition, start) in std::mem::take(&mut state.wanted_starts) {
            let p = partitions.entry(partition).or_insert(PartitionState { partition, ..PartitionState::default() });
            p.log_start = p.log_start.max(start.min(p.next_offset));
        }
        let segments = state.since_checkpoint;
        let producers = (segments > 0).then(|| state.producers.committed_appends());
        Self { slot: state.committed_slot, segments, partitions: partitions.into_values().collect(), producers }
    }
}

/// What the manifest says now.
pub(super) struct Moved {
    goal: Goal,
    pages: Vec<PageRef>,
}

/// Moves the manifest to `goal`. [`NotLeader`](crate::ErrorKind::NotLeader): another writer was first.
pub(super) async fn run(inner: Arc<Inner>, mut goal: Goal) -> Result<Moved> {
    let mut stored = inner.manifest.lock().await;
    let mut next = Manifest {
        nonce: inner.nonce,
        counter: stored.manifest.counter + 1,
        checkpoint: goal.slot,
        partitions: goal.partitions.clone(),
        ..stored.manifest.clone()
    };
    next.pages.retain(|page| !inner.sweep.lock().is_gone(page));
    let writer = ObjectWriter { shared: &inner.shared, keys: &inner.keys, epoch: inner.epoch, nonce: inner.nonce };
    if let Some(producers) = goal.producers.take() {
        next.producers = snapshot::save(&writer, goal.slot, producers).await?;
        inner.snapshots.lock().named(&next.producers);
    }
    writer.extend(&mut next, inner.catalog.tail_before(goal.slot)).await?;
    *stored = manifest::replace(&inner.shared, &inner.keys, &stored, next).await?;
    inner.shared.metrics.lane.checkpoints.inc();
    Ok(Moved { goal, pages: stored.manifest.pages.clone() })
}

impl Inner {
    /// Takes over what the manifest says: only now may log starts move for readers.
    pub(super) fn apply(&self, moved: Moved) {
        let Moved { goal, pages } = moved;
        self.catalog.install(pages, goal.slot);
        let starts: BTreeMap<_, _> = goal.partitions.iter().map(|p| (p.partition, p.log_start)).collect();
        {
            let mut state = self.state.lock();
            state.since_checkpoint -= goal.segments;
            for (partition, start) in &starts {
                let p = state.committed.entry(*partition).or_default();
                p.partition = *partition;
                p.log_start = *start;
            }
        }
        // After the state: a partition that is added now starts where the state says.
        let partitions = self.partitions.load();
        for (partition, start) in starts {
            if let Some(p) = partitions.get(&partition) {
                p.set_log_start(start);
            }
        }
        self.advance();
    }
}

/// Creates what the manifest of one writer will name.
pub(super) struct ObjectWriter<'a> {
    pub(super) shared: &'a Shared,
    pub(super) keys: &'a Keys,
    pub(super) epoch: Epoch,
    pub(super) nonce: Nonce,
}

impl ObjectWriter<'_> {
    /// Adds a leaf of `entries` to the manifest's pages, and folds what has become too many.
    pub(super) async fn extend(&self, manifest: &mut Manifest, entries: Vec<SliceEntry>) -> Result<()> {
        if !entries.is_empty() {
            manifest.pages.push(self.write(0, Page::Leaf(entries)).await?);
        }
        while let Some(level) = level_to_fold(manifest) {
            let first = manifest.pages.iter().position(|p| p.level == level).expect("the level has pages");
            let last = manifest.pages.iter().rposition(|p| p.level == level).expect("the level has pages");
            let children: Vec<_> = manifest.pages.drain(first..=last).collect();
            let parent = self.write(level + 1, Page::Node(children)).await?;
            manifest.pages.insert(first, parent);
        }
        Ok(())
    }

    async fn write(&self, level: u8, page: Page) -> Result<PageRef> {
        let slots = page.slots().expect("only pages with entries are written");
        let named = PageRef {
            level,
            first_slot: slots.start,
            end_slot: slots.end,
            epoch: self.epoch,
            nonce: self.nonce,
            coverage: page.coverage(),
        };
        self.create(&self.keys.page(&named), page.encode().into()).await?;
        Ok(named)
    }

    /// Creates an object whose key has this writer's nonce, and for which there is one content; however long it takes.
    pub(super) async fn create(&self, key: &str, body: Body) -> Result<()> {
        let patience = Duration::from_millis(self.shared.settings.upload_deadline_ms);
        let mut backoff = Backoff::new();
        loop {
            let put = self.shared.store.put(key, body.clone(), PutMode::Create);
            let problem = match tokio::time::timeout(patience, put).await {
                Ok(Ok(_)) => return Ok(()),
                // An earlier try of the same.
                Ok(Err(e)) if e.kind == StoreErrorKind::AlreadyExists => return Ok(()),
                Ok(Err(e)) if !e.kind.is_transient() => return Err(Error::from(e)),
                Ok(Err(e)) => e.to_string(),
                Err(_) => format!("no answer within {} ms", patience.as_millis()),
            };
            tracing::warn!(key, problem, "what the next manifest names was not written; trying again");
            backoff.pause(&self.shared.env).await;
        }
    }
}

/// The lowest level with too many pages; of a manifest that is too large, the one with most.
fn level_to_fold(manifest: &Manifest) -> Option<u8> {
    let mut counts = BTreeMap::<u8, usize>::new();
    manifest.pages.iter().for_each(|p| *counts.entry(p.level).or_default() += 1);
    let crowded = counts.iter().find(|(_, count)| **count >= FAN_OUT).map(|(level, _)| *level);
    crowded.or_else(|| {
        let most = counts.iter().filter(|(_, count)| **count > 1).max_by_key(|(_, count)| **count)?;
        (manifest.encode().len() > MAX_MANIFEST_BYTES).then_some(*most.0)
    })
}

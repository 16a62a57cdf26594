//! A lane: one write buffer, one sequence of segment objects, one leader.
//!
//! docs/commit.md is the protocol and binds; the names here are its names. The parts:
//!
//! - [`open`] walks the log, fences, claims: the result is a lane that leads; [`partitions`] grows it with its topic.
//! - [`append`] gives offsets and fills the buffer; it never asks a policy and never waits for the store.
//! - [`task`] is the one task that drives a lane: asks the flush policy, seals, starts uploads, commits in
//!   slot order, starts checkpoints. Everything that a lane runs lives in it, so aborting it is a crash.
//! - [`upload`] puts a segment into its slot, [`checkpoint`] moves the manifest, [`catalog`] finds old extents.
//! - [`lead`] asks the store whether the lane still leads, before a producer is refused.
//! - [`producers`] knows what idempotent producers appended, [`snapshot`] keeps that where a manifest has no room for it.
//! - [`retention`] moves log starts, [`sweep`] deletes what no reader can reach.
//!
//! Invariants: a slot's bytes never change; at most [`WINDOW`](crate::types::WINDOW) slots are outstanding; a
//! segment is acknowledged, and its partitions' high watermarks move, only when all slots before it are
//! committed; nothing is deleted that the manifest in the store still needs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::AbortHandle;

use super::partition::Partition;
use super::{Shared, Topic};
use crate::env::{self, Instant};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{FlushPolicy, IndexPolicy};
use crate::types::{Epoch, Nonce, PartitionId, TopicLane};

mod append;
mod backoff;
mod catalog;
mod checkpoint;
mod keys;
mod lead;
mod lifecycle;
mod manifest;
mod open;
mod partitions;
mod producers;
mod recent;
mod retention;
mod snapshot;
mod state;
mod sweep;
mod task;
#[cfg(test)]
mod tests;
mod ticket;
mod upload;
mod view;
mod walk;

pub use append::Appended;
use catalog::Catalog;
use keys::Keys;
use manifest::StoredManifest;
pub use producers::{KnownProducer, ProducerError};
use state::{Phase, State};
pub use ticket::Committed;

/// What the tasks and the handle of a lane share.
struct Inner {
    shared: Shared,
    topic: Arc<Topic>,
    id: TopicLane,
    keys: Keys,
    epoch: Epoch,
    nonce: Nonce,
    opened: Instant,
    /// Grows with the topic; changed under the lock of the state.
    partitions: ArcSwap<BTreeMap<PartitionId, Arc<Partition>>>,
    state: Mutex<State>,
    /// Asked by the lane's task alone, never under the lock of its state: appends do not wait for a decision.
    flush_policy: Mutex<Box<dyn FlushPolicy>>,
    index_policy: Mutex<Box<dyn IndexPolicy>>,
    catalog: Arc<Catalog>,
    /// The manifest in the store, as far as known; whoever replaces it holds the lock.
    manifest: tokio::sync::Mutex<StoredManifest>,
    sweep: Mutex<sweep::Dead>,
    snapshots: Mutex<snapshot::Leftovers>,
    /// The last look into the store for another leader; one at a time.
    look: tokio::sync::Mutex<Option<lead::Look>>,
    uploads: Semaphore,
    /// The last try of an upload found no room in the store.
    store_is_full: AtomicBool,
    /// Wakes the task: the buffer, the plan or a request has changed.
    wake: Notify,
    /// Counts what waiters look for: commits, checkpoints, room in the buffer, the end.
    progress: watch::Sender<u64>,
}

impl Inner {
    fn advance(&self) {
        self.progress.send_modify(|count| *count += 1);
    }

    /// Waits until `done` answers something, asked at once and after each progress.
    async fn wait_until<T>(&self, mut done: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut progress = self.progress.subscribe();
        loop {
            progress.borrow_and_update();
            if let Some(value) = done(&mut self.state.lock()) {
                return value;
            }
            progress.changed().await.expect("the sender lives as long as this borrow");
        }
    }

    /// For messages.
    fn name(&self) -> String {
        self.topic.lane_name(self.id.lane)
    }

    /// How long a batch may wait for its commit before its producer is told that the outcome is unknown: in the buffer, for the uploads
    /// before it, and for its own.
    fn patience(&self) -> Duration {
        Duration::from_millis(self.topic.settings.load().max_age_ms + 2 * self.shared.settings.upload_deadline_ms)
    }

    /// Ends the lane once: waiters, readers and later callers get `error`.
    fn end(&self, error: Error) {
        {
            let mut state = self.state.lock();
            if matches!(state.phase, Phase::Ended(_)) {
                return;
            }
            state.end(&error);
        }
        self.partitions.load().values().for_each(|p| p.fail(error.clone()));
        self.advance();
    }
}

/// A lane that this host leads, or led until it was fenced or closed.
pub struct Lane {
    inner: Arc<Inner>,
    task: AbortHandle,
}

impl Lane {
    /// Which lane this is.
    pub fn id(&self) -> TopicLane {
        self.inner.id
    }

    /// How it is called in messages.
    pub fn name(&self) -> String {
        self.inner.name()
    }

    /// The epoch under which this host leads it.
    pub fn epoch(&self) -> Epoch {
        self.inner.epoch
    }

    /// A partition of this lane; [`NotFound`](crate::ErrorKind::NotFound) if it lives in another or does not exist.
    pub fn partition(&self, partition: PartitionId) -> Result<Arc<Partition>> {
        match self.inner.partitions.load().get(&partition) {
            Some(known) => Ok(known.clone()),
            None => self.inner.grown(partition),
        }
    }

    /// The idempotent producers that a partition remembers, by id.
    pub fn producers(&self, partition: PartitionId) -> Result<Vec<KnownProducer>> {
        self.partition(partition)?;
        let state = self.inner.state.lock();
        match &state.phase {
            Phase::Ended(error) => Err(error.clone()),
            Phase::Leading | Phase::Draining => Ok(state.producers.of(partition).collect()),
        }
    }

    /// Whether it still leads: neither fenced nor closed.
    pub fn leads(&self) -> bool {
        matches!(self.inner.state.lock().phase, Phase::Leading)
    }

    /// Upkeep looks by: the policies of a lane that is idle, and of its readers, give their instances back.
    pub fn rest(&self) {
        // One that is being asked is not idle.
        if let Some(mut policy) = self.inner.flush_policy.try_lock() {
            policy.rest();
        }
        if let Some(mut policy) = self.inner.index_policy.try_lock() {
            policy.rest();
        }
        self.inner.partitions.load().values().for_each(|partition| partition.rest());
    }

    /// Seals what is buffered and waits until all that was appended before this call is committed.
    pub async fn flush(&self) -> Result<()> {
        let newest = {
            let mut state = self.inner.state.lock();
            if let Phase::Ended(error) = &state.phase {
                return Err(error.clone());
            }
            state.flush_requested = state.buffer.is_some();
            let ticket = state.buffer.as_ref().map(|(_, t)| t).or(state.pending.back().map(|p| &p.ticket));
            ticket.map(|t| t.subscribe(env::now() + self.inner.patience()))
        };
        self.inner.wake.notify_one();
        match newest {
            Some(committed) => committed.wait().await,
            None => Ok(()),
        }
    }

    /// Stops taking appends, flushes, commits, checkpoints; readers go on. Idempotent. An upload without outcome keeps it waiting: the
    /// caller sets the deadline, and then [aborts](Self::abort).
    pub async fn close(&self) -> Result<()> {
        {
            let mut state = self.inner.state.lock();
            if matches!(state.phase, Phase::Leading) {
                state.phase = Phase::Draining;
            }
            state.flush_requested = state.buffer.is_some();
        }
        self.inner.wake.notify_one();
        let drained = |state: &mut State| match &state.phase {
            Phase::Ended(error) if error.kind() == ErrorKind::Closed => Some(Ok(())),
            Phase::Ended(error) => Some(Err(error.clone())),
            _ if state.is_idle() && state.since_checkpoint == 0 => Some(Ok(())),
            _ if state.is_idle() => {
                state.checkpoint_requested = true;
                self.inner.wake.notify_one();
                None
            }
            _ => None,
        };
        self.inner.wait_until(drained).await
    }

    /// Drops everything at once, as a crash would; dropping the last handle does the same.
    pub fn abort(&self) {
        self.task.abort();
        self.inner.end(Error::new(ErrorKind::Closed, format!("{} was closed by this host", self.inner.name())));
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.abort();
    }
}

//! The task that drives a lane.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::MutexGuard;
use tokio::task::JoinSet;

use super::checkpoint::{self, Moved};
use super::state::State;
use super::upload::{Outcome, seal_and_upload};
use super::{Inner, Phase};
use crate::buffer::{Plan, Pressure};
use crate::catalog::CHECKPOINT_SEGMENTS;
use crate::env::{self, Instant};
use crate::error::{Error, ErrorKind};
use crate::log::{Event, Extent};
use crate::policy::FlushReason;
use crate::segment::Identity;
use crate::types::{Slot, WINDOW};

/// Segments behind the checkpoint at which no more are sealed until the manifest has moved: what an opening has to walk is bounded.
const MOST_SINCE_CHECKPOINT: u64 = 1_024;

/// Runs the lane until it ends. Everything that it started ends with it.
pub(super) async fn run(inner: Arc<Inner>) {
    let mut task = Task { uploads: JoinSet::new(), checkpoint: JoinSet::new(), inner };
    let mut pressure = task.inner.shared.buffers.pressure();
    loop {
        let reason = tokio::select! {
            biased;
            Some(done) = task.uploads.join_next() => {
                task.uploaded(done.expect("an upload neither panics nor is aborted alone"));
                FlushReason::UploadDone
            }
            Some(moved) = task.checkpoint.join_next() => {
                task.checkpointed(moved.expect("a checkpoint neither panics nor is aborted alone"));
                FlushReason::Bound
            }
            _ = task.inner.wake.notified() => FlushReason::Bound,
            _ = pressure.changed() => FlushReason::Pressure,
            _ = sleep_until(task.inner.deadline()) => FlushReason::Bound,
        };
        if matches!(task.inner.state.lock().phase, Phase::Ended(_)) {
            return;
        }
        // Copied first: appends announce pressure under the lock of the state, and must never wait here for a guard of it.
        let level = *pressure.borrow();
        task.seal_what_is_due(reason, level);
        task.checkpoint_if_due();
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

struct Task {
    inner: Arc<Inner>,
    uploads: JoinSet<Outcome>,
    /// At most one.
    checkpoint: JoinSet<Result<Moved, Error>>,
}

impl Task {
    fn seal_what_is_due(&mut self, mut reason: FlushReason, pressure: Pressure) {
        let mut state = self.inner.state.lock();
        while self.inner.is_due(&mut state, reason, pressure) {
            let sealing = state.seal().expect("a buffer is due");
            state.shadow.sealed(env::now());
            self.uploads.spawn(seal_and_upload(self.inner.clone(), sealing));
            self.inner.topic.count_put(self.inner.id.lane, env::now());
            self.inner.shared.metrics.lane.flushes.inc();
            self.inner.advance();
            reason = FlushReason::Bound;
        }
    }

    fn uploaded(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Fenced(slot, other) => self.inner.fenced_by(slot, other),
            Outcome::Stored(slot, stored, took) => {
                let mut state = self.inner.state.lock();
                if matches!(state.phase, Phase::Ended(_)) {
                    return;
                }
                state.uploads_us.add(took);
                state.shadow.uploaded(took);
                state.stored(slot, *stored);
                drop(state);
                self.inner.commit_in_order();
            }
        }
    }

    fn checkpoint_if_due(&mut self) {
        if !self.checkpoint.is_empty() {
            return;
        }
        let mut state = self.inner.state.lock();
        let due = state.checkpoint_requested || state.since_checkpoint >= CHECKPOINT_SEGMENTS || !state.wanted_starts.is_empty();
        if due {
            state.checkpoint_requested = false;
            self.inner.forget_silent_producers(&mut state);
            let goal = checkpoint::Goal::from_state(&mut state);
            drop(state);
            self.checkpoint.spawn(checkpoint::run(self.inner.clone(), goal));
        }
    }

    fn checkpointed(&mut self, moved: Result<Moved, Error>) {
        match moved {
            Ok(moved) => self.inner.apply(moved),
            Err(error) if error.kind() == ErrorKind::NotLeader => self.inner.fence(error.message().to_owned()),
            Err(error) => self.inner.end(error),
        }
    }
}

impl Inner {
    /// Whether the buffer must be sealed now: the host's own limits first, then the policy.
    fn is_due(&self, state: &mut MutexGuard<'_, State>, reason: FlushReason, pressure: Pressure) -> bool {
        let now = env::now();
        let Some((buffer, _)) = &state.buffer else { return false };
        if state.pending.len() as u64 >= WINDOW || state.since_checkpoint >= MOST_SINCE_CHECKPOINT {
            return false;
        }
        let settings = self.topic.settings.load();
        let full = buffer.bytes() >= settings.max_segment_bytes;
        if state.flush_requested || full || pressure == Pressure::Full {
            return true;
        }
        let uploads = state.uploads();
        if uploads >= self.shared.settings.uploads_per_lane {
            return false;
        }
        let old = buffer.oldest() + Duration::from_millis(settings.max_age_ms) <= now;
        old || self.policy_wants(state, reason, uploads, now)
    }

    /// The policy decides while appends go on: it may be slow, and only this task asks it and seals.
    fn policy_wants(&self, state: &mut MutexGuard<'_, State>, reason: FlushReason, uploads: u32, now: Instant) -> bool {
        let reason = match (state.plan, reason) {
            (Plan::Due, _) => return true,
            (Plan::Ask, _) => FlushReason::FirstAppend,
            (Plan::Until(_), FlushReason::Bound) if !self.is_crossed(state, uploads, now) => return false,
            (Plan::Until(_), reason) => reason,
        };
        let Some(view) = self.flush_view(state, reason, now) else { return false };
        state.shadow.asked(&view);
        let decision = MutexGuard::unlocked(state, || self.flush_policy.lock().decide(&view));
        state.plan = decision.into();
        self.is_crossed(state, uploads, now)
    }

    fn is_crossed(&self, state: &State, uploads: u32, now: Instant) -> bool {
        state.buffer.as_ref().is_some_and(|(buffer, _)| state.plan.crossed(buffer, uploads, now))
    }

    /// When the task must look again though nothing happens.
    fn deadline(&self) -> Option<Instant> {
        let state = self.state.lock();
        let (buffer, _) = state.buffer.as_ref()?;
        let blocked = state.pending.len() as u64 >= WINDOW
            || state.since_checkpoint >= MOST_SINCE_CHECKPOINT
            || state.uploads() >= self.shared.settings.uploads_per_lane;
        if blocked {
            return None;
        }
        let oldest = buffer.oldest() + Duration::from_millis(self.topic.settings.load().max_age_ms);
        Some(state.plan.deadline(buffer).map_or(oldest, |at| at.min(oldest)))
    }

    /// Commits what the store has, as far as no slot before it is missing: readers first, then the waiters.
    fn commit_in_order(&self) {
        loop {
            let mut state = self.state.lock();
            let Some((pending, mut stored)) = state.next_committed() else { break };
            let extents = self.note_committed(&mut state, pending.slot, &stored.sealed);
            let waited = pending.oldest.elapsed();
            state.acks_us.add(waited);
            state.shadow.committed(waited);
            drop(state);
            let indexes = std::mem::take(&mut stored.sealed.indexes);
            let parts = extents.into_iter().zip(indexes).zip(stored.sealed.slices());
            let partitions = self.partitions.load();
            for ((extent, index), batches) in parts {
                partitions[&extent.slice.partition].commit(extent, Arc::new(index), batches);
            }
            self.shared.metrics.lane.committed(stored.sealed.body.len(), pending.oldest.elapsed());
            pending.ticket.decide(Ok(()));
            drop(stored.permit);
            self.advance();
        }
    }

    /// Ends the lane, since a slot holds an object of another writer.
    pub(super) fn fenced_by(&self, slot: Slot, other: Identity) {
        let (epoch, nonce) = (other.epoch, other.nonce);
        self.wake.notify_one();
        self.fence(format!("{} is led by another writer: slot {slot} holds an object of epoch {epoch}, nonce {nonce}", self.name()));
    }

    fn fence(&self, message: String) {
        tracing::warn!(topic = %self.topic.name, lane = %self.id, message, "fenced");
        self.shared.metrics.lane.fenced.inc();
        self.end(Error::new(ErrorKind::NotLeader, message));
        let _ = self.shared.events.send(Event::Fenced(self.id));
    }

    /// Enters a committed segment into the catalog's tail and the partitions' ends; its extents in slice order.
    fn note_committed(&self, state: &mut State, slot: Slot, sealed: &crate::segment::Sealed) -> Vec<Extent> {
        let object = self.keys.slot(slot);
        let mut extents = Vec::with_capacity(sealed.footer.slices.len());
        for slice in &sealed.footer.slices {
            let end = state.committed.entry(slice.partition).or_default();
            end.partition = slice.partition;
            let entry = crate::catalog::SliceEntry { slot, epoch: self.epoch, slice: *slice, prior_bytes: end.total_bytes };
            end.next_offset = slice.next_offset;
            end.total_bytes += slice.len;
            extents.push(Extent { object: object.clone(), slice: *slice, epoch: self.epoch, prior_bytes: entry.prior_bytes });
            self.catalog.push(entry);
        }
        state.producers.committed(&sealed.footer.producers);
        extents
    }

    /// Drops producers that were not heard of for the expiry time.
    fn forget_silent_producers(&self, state: &mut State) {
        if let Some(oldest) = env::now().checked_sub(Duration::from_millis(self.shared.settings.producer_expiry_ms)) {
            state.producers.expire(oldest);
        }
    }
}

//! What a lane knows, under one lock that is never held across an await.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::producers::Producers;
use super::recent::{Rate, Recent};
use super::ticket::Ticket;
use crate::buffer::{Permit, Plan, WriteBuffer};
use crate::catalog::PartitionState;
use crate::env::Instant;
use crate::error::{Error, Result};
use crate::policy::ShadowTap;
use crate::record::AppendedSet;
use crate::segment::Sealed;
use crate::types::{Offset, PartitionId, Slot};

/// Whether the lane takes appends.
#[derive(Debug)]
pub(super) enum Phase {
    /// It leads.
    Leading,
    /// It finishes what it has and takes nothing new.
    Draining,
    /// It is over: fenced, closed or aborted.
    Ended(Error),
}

/// A slot that is assigned and not committed in order yet.
pub(super) struct Pending {
    pub(super) slot: Slot,
    pub(super) ticket: Arc<Ticket>,
    /// When its oldest batch was appended.
    pub(super) oldest: Instant,
    /// Set once the store has it.
    pub(super) stored: Option<Stored>,
}

/// A segment that the store has.
pub(super) struct Stored {
    pub(super) sealed: Sealed,
    /// Room of its batches in the shared budget, given back when they are committed.
    pub(super) permit: Permit,
}

/// A buffer on its way to become a segment.
pub(super) struct Sealing {
    pub(super) slot: Slot,
    pub(super) ticket: Arc<Ticket>,
    pub(super) sets: BTreeMap<PartitionId, Vec<AppendedSet>>,
    pub(super) permit: Permit,
}

pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) buffer: Option<(WriteBuffer, Arc<Ticket>)>,
    pub(super) plan: Plan,
    /// Somebody wants the buffer sealed whatever the policy says.
    pub(super) flush_requested: bool,
    /// Log end offsets: where the next append goes.
    pub(super) log_ends: BTreeMap<PartitionId, Offset>,
    /// What idempotent producers appended, up to the log ends; what of it is committed, up to `committed_slot`.
    pub(super) producers: Producers,
    pub(super) next_slot: Slot,
    /// Assigned slots in order; the first one is the oldest that is not committed.
    pub(super) pending: VecDeque<Pending>,
    /// Slot after the last one committed in order.
    pub(super) committed_slot: Slot,
    /// Each partition up to `committed_slot`; log starts are those of the manifest in the store.
    pub(super) committed: BTreeMap<PartitionId, PartitionState>,
    /// Segments behind the manifest's checkpoint.
    pub(super) since_checkpoint: u64,
    /// Log starts to move with the next manifest.
    pub(super) wanted_starts: BTreeMap<PartitionId, Offset>,
    pub(super) checkpoint_requested: bool,
    pub(super) arrivals: Rate,
    pub(super) acks_us: Recent,
    pub(super) uploads_us: Recent,
    /// Told of what goes through, for candidates that run beside the flush policy.
    pub(super) shadow: ShadowTap,
}

impl State {
    /// An error if appends are over.
    pub(super) fn check_leading(&self) -> Result<()> {
        match &self.phase {
            Phase::Leading => Ok(()),
            Phase::Draining => Err(Error::new(crate::ErrorKind::Closed, "the lane is closing and takes no appends")),
            Phase::Ended(error) => Err(error.clone()),
        }
    }

    /// Uploads not known to be stored.
    pub(super) fn uploads(&self) -> u32 {
        self.pending.iter().filter(|p| p.stored.is_none()).count() as u32
    }

    /// Takes the buffer and assigns its slot.
    pub(super) fn seal(&mut self) -> Option<Sealing> {
        let (buffer, ticket) = self.buffer.take()?;
        let slot = self.next_slot;
        self.next_slot += 1;
        self.flush_requested = false;
        self.plan = Plan::Ask;
        self.pending.push_back(Pending { slot, ticket: ticket.clone(), oldest: buffer.oldest(), stored: None });
        let (sets, permit) = buffer.into_parts();
        Some(Sealing { slot, ticket, sets, permit })
    }

    /// Notes that the store has a slot's segment.
    pub(super) fn stored(&mut self, slot: Slot, stored: Stored) {
        let first = self.pending.front().expect("a slot being uploaded is pending").slot;
        self.pending[(slot - first) as usize].stored = Some(stored);
    }

    /// The oldest pending segment, once the store has it: it is committed now.
    pub(super) fn next_committed(&mut self) -> Option<(Pending, Stored)> {
        let stored = self.pending.front_mut()?.stored.take()?;
        let pending = self.pending.pop_front().expect("looked at just now");
        self.committed_slot = pending.slot + 1;
        self.since_checkpoint += 1;
        Some((pending, stored))
    }

    /// Ends the lane: whoever waits is told.
    pub(super) fn end(&mut self, error: &Error) {
        if let Some((_, ticket)) = self.buffer.take() {
            ticket.decide(Err(error.clone()));
        }
        for pending in self.pending.drain(..) {
            pending.ticket.decide(Err(error.clone()));
        }
        self.phase = Phase::Ended(error.clone());
    }

    /// Whether nothing is buffered or in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.buffer.is_none() && self.pending.is_empty()
    }
}

//! Runs a shadow: round after round, what its owners told, through their models.

use std::sync::Arc;

use super::candidate::{Ask, Candidate};
use super::queue::Taken;
use super::{Model, Queue, Shadow};
use crate::env::Instant;

/// One shadow's side of the thread.
pub(super) trait Run: Send {
    /// Takes in what has happened up to `now`.
    fn round(&mut self, shadow: &Shadow, now: Instant);
}

/// See the module.
pub(super) struct Runner<K: Model> {
    owners: Vec<Owner<K>>,
}

struct Owner<K: Model> {
    candidate: Candidate<K>,
    known: K::Owner,
    /// Given back to the queue: nothing is allocated while events are few.
    spare: Vec<super::Event>,
}

impl<K: Model> Default for Runner<K> {
    fn default() -> Self {
        Self { owners: Vec::new() }
    }
}

impl<K: Model> Run for Runner<K> {
    fn round(&mut self, shadow: &Shadow, now: Instant) {
        self.follow(shadow);
        for owner in &mut self.owners {
            if shadow.has_ended() {
                break;
            }
            owner.round(shadow, now);
        }
        if shadow.has_ended() {
            self.owners.iter_mut().for_each(|owner| owner.candidate.rest());
        }
        shadow.state.lock().instances = self.owners.iter().filter(|owner| owner.candidate.holds_instance()).count() as u64;
    }
}

impl<K: Model> Runner<K> {
    /// Takes up owners that are new, lets go of those that are gone.
    fn follow(&mut self, shadow: &Shadow) {
        let mut queues = shadow.queues.lock();
        // The owner's own, the list's and this one: where the owner's is missing, it is gone.
        let gone = |queue: &Arc<Queue>| Arc::strong_count(queue) < 3;
        self.owners.retain(|owner| !gone(owner.candidate.queue()));
        queues.retain(|queue| Arc::strong_count(queue) > 1);
        for queue in queues.iter().skip(self.owners.len()) {
            self.owners.push(Owner { candidate: Candidate::new(queue.clone()), known: K::owner(), spare: Vec::new() });
        }
    }
}

impl<K: Model> Owner<K> {
    fn round(&mut self, shadow: &Shadow, now: Instant) {
        let Taken { mut events, dropped, complete_to } = self.candidate.queue().take(std::mem::take(&mut self.spare));
        let mut ask = Ask { candidate: &mut self.candidate, shadow };
        if dropped > 0 {
            shadow.counters.dropped.inc_by(dropped);
            ask.count(|figures| figures.dropped += dropped);
        }
        for event in events.drain(..) {
            K::happened(&mut self.known, event, &mut ask);
        }
        K::passed(&mut self.known, complete_to.unwrap_or(now), &mut ask);
        self.spare = events;
    }
}

//! The fate of one write buffer, shared by all appends in it.

use tokio::sync::watch;

use crate::env::{self, Instant};
use crate::error::{Error, ErrorKind, Result};

/// Decides the fate.
#[derive(Debug)]
pub(super) struct Ticket {
    fate: watch::Sender<Option<Result<()>>>,
}

impl Ticket {
    pub(super) fn new() -> Self {
        Self { fate: watch::Sender::new(None) }
    }

    /// A waiter that gives up at `deadline`, whatever holds the buffer or its segment back.
    pub(super) fn subscribe(&self, deadline: Instant) -> Committed {
        Committed { fate: self.fate.subscribe(), deadline, knows_unknown: false }
    }

    /// A waiter that was told "outcome unknown" before, if it was said: it waits for more than that.
    pub(super) fn subscribe_again(&self, deadline: Instant) -> Committed {
        let fate = self.fate.subscribe();
        let knows_unknown = fate.borrow().as_ref().is_some_and(is_unknown);
        Committed { fate, deadline, knows_unknown }
    }

    /// How many wait for it.
    pub(super) fn waiting(&self) -> u32 {
        self.fate.receiver_count() as u32
    }

    /// Tells the waiters. "Outcome unknown" may still turn into something better; nothing else changes.
    pub(super) fn decide(&self, outcome: Result<()>) {
        self.fate.send_if_modified(|fate| {
            let open = fate.as_ref().is_none_or(is_unknown);
            if open {
                *fate = Some(outcome);
            }
            open
        });
    }
}

fn is_unknown(outcome: &Result<()>) -> bool {
    outcome.as_ref().is_err_and(|e| e.kind() == ErrorKind::OutcomeUnknown)
}

/// Waits for a commit; cheap, cancellation-safe.
#[derive(Debug)]
pub struct Committed {
    fate: watch::Receiver<Option<Result<()>>>,
    /// While the store does not answer, a buffer may wait behind full slots, and a stored segment behind an older one: neither is bounded
    /// by the deadline of an upload.
    deadline: Instant,
    /// "Outcome unknown" is no news.
    knows_unknown: bool,
}

impl Committed {
    /// Of batches that are committed.
    pub(super) fn already() -> Self {
        let ticket = Ticket::new();
        ticket.decide(Ok(()));
        ticket.subscribe(env::now())
    }

    /// `Ok` once the batches are committed and readable. [`NotLeader`](crate::ErrorKind::NotLeader): fenced before;
    /// [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): the store has not said in time, they may still appear.
    pub async fn wait(mut self) -> Result<()> {
        let unknown = |why| Err(Error::new(ErrorKind::OutcomeUnknown, why));
        let is_news = |fate: &Option<Result<()>>| fate.as_ref().is_some_and(|outcome| !(self.knows_unknown && is_unknown(outcome)));
        match tokio::time::timeout_at(self.deadline, self.fate.wait_for(is_news)).await {
            Ok(Ok(fate)) => fate.clone().expect("the wait ends when there is a fate"),
            Ok(Err(_)) => unknown("the host stopped before the batches were known to be committed"),
            Err(_) => unknown("the object store did not take the batches in time; they are still waiting for it"),
        }
    }
}

//! The fate of one write buffer, shared by all appends in it.

use tokio::sync::watch;

use crate::env::Instant;
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
        Committed { fate: self.fate.subscribe(), deadline }
    }

    /// How many wait for it.
    pub(super) fn waiting(&self) -> u32 {
        self.fate.receiver_count() as u32
    }

    /// Tells the waiters. "Outcome unknown" may still turn into something better; nothing else changes.
    pub(super) fn decide(&self, outcome: Result<()>) {
        self.fate.send_if_modified(|fate| {
            let open = match fate {
                None => true,
                Some(Err(e)) => e.kind() == ErrorKind::OutcomeUnknown,
                Some(Ok(())) => false,
            };
            if open {
                *fate = Some(outcome);
            }
            open
        });
    }
}

/// Waits for a commit; cheap, cancellation-safe.
#[derive(Debug)]
pub struct Committed {
    fate: watch::Receiver<Option<Result<()>>>,
    /// While the store does not answer, a buffer may wait behind full slots, and a stored segment behind an older one: neither is bounded
    /// by the deadline of an upload.
    deadline: Instant,
}

impl Committed {
    /// `Ok` once the batches are committed and readable. [`NotLeader`](crate::ErrorKind::NotLeader): fenced before;
    /// [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): the store has not said in time, they may still appear.
    pub async fn wait(mut self) -> Result<()> {
        let unknown = |why| Err(Error::new(ErrorKind::OutcomeUnknown, why));
        match tokio::time::timeout_at(self.deadline, self.fate.wait_for(Option::is_some)).await {
            Ok(Ok(fate)) => fate.clone().expect("the wait ends when there is a fate"),
            Ok(Err(_)) => unknown("the host stopped before the batches were known to be committed"),
            Err(_) => unknown("the object store did not take the batches in time; they are still waiting for it"),
        }
    }
}

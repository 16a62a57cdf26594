//! The fate of one write buffer, shared by all appends in it.

use tokio::sync::watch;

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

    pub(super) fn subscribe(&self) -> Committed {
        Committed { fate: self.fate.subscribe() }
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
}

impl Committed {
    /// `Ok` once the batches are committed and readable. [`NotLeader`](crate::ErrorKind::NotLeader): fenced before;
    /// [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): the store has not said, they may still appear.
    pub async fn wait(mut self) -> Result<()> {
        let decided = self.fate.wait_for(Option::is_some).await;
        match decided {
            Ok(fate) => fate.clone().expect("the wait ends when there is a fate"),
            Err(_) => Err(Error::new(ErrorKind::OutcomeUnknown, "the host stopped before the batches were known to be committed")),
        }
    }
}

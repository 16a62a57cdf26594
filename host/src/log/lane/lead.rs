//! Whether a lane still leads, asked of the store.
//!
//! Another writer that takes the lead puts a fence into the first free slot, and this lane learns of it with its next
//! segment. Until then what it knows of idempotent producers may be old: one that wrote to the other leader meanwhile
//! looks as if it had left batches out. Such a producer must be sent on to the leader, not told that it is at fault,
//! since that ends it. So before a lane refuses a producer it waits for the fate of what it has in flight, and looks
//! into its next slot: nothing there means that nobody else had the lead up to then.

use std::time::Duration;

use super::upload::read_header;
use super::{Inner, Lane};
use crate::env::{self, Instant};
use crate::error::{Error, ErrorKind, Result};
use crate::segment::Identity;
use crate::store::StoreErrorKind;
use crate::types::Slot;

/// Looks into the store are so far apart at least, whatever producers do.
const PAUSE: Duration = Duration::from_millis(100);
/// How often a lane that never stands still is looked at.
const TRIES: usize = 3;

/// The last look.
#[derive(Debug)]
pub(super) struct Look {
    began: Instant,
    /// Whether it found that the lane leads.
    leads: bool,
}

impl Lane {
    /// `Ok` if no other writer had taken the lead when this was called. [`NotLeader`](ErrorKind::NotLeader) if one had: the lane has ended
    /// then. Callers share a look that begins after they came.
    pub(super) async fn confirm_lead(&self) -> Result<()> {
        let (inner, came) = (&*self.inner, env::now());
        let mut last = inner.look.lock().await;
        if let Some(look) = &*last {
            if look.leads && look.began >= came {
                return inner.state.lock().check_leading();
            }
            tokio::time::sleep_until(look.began + PAUSE).await;
        }
        let began = env::now();
        let found = self.look().await;
        *last = Some(Look { began, leads: found.is_ok() });
        found
    }

    async fn look(&self) -> Result<()> {
        let inner = &*self.inner;
        for _ in 0..TRIES {
            inner.settled().await?;
            let Some(slot) = inner.free_slot()? else { continue };
            match read_header(&*inner.shared.store, &inner.keys.slot(slot)).await {
                Err(error) if error.kind == StoreErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error.into()),
                Ok(header) if inner.wrote(&header.identity) => {}
                Ok(header) => {
                    inner.fenced_by(slot, header.identity);
                    return inner.state.lock().check_leading();
                }
            }
        }
        Err(Error::new(ErrorKind::Busy, format!("{} is too busy to tell whether it still leads; try again", inner.name())))
    }
}

impl Inner {
    /// Waits for the fate of what is buffered and in flight.
    async fn settled(&self) -> Result<()> {
        let newest = {
            let state = self.state.lock();
            state.check_leading()?;
            let ticket = state.buffer.as_ref().map(|(_, ticket)| ticket).or(state.pending.back().map(|pending| &pending.ticket));
            ticket.map(|ticket| ticket.subscribe(env::now() + self.patience()))
        };
        match newest {
            Some(committed) => committed.wait().await,
            None => Ok(()),
        }
    }

    /// The next slot, if nothing is on its way into one.
    fn free_slot(&self) -> Result<Option<Slot>> {
        let state = self.state.lock();
        state.check_leading()?;
        Ok(state.pending.is_empty().then_some(state.next_slot))
    }

    fn wrote(&self, identity: &Identity) -> bool {
        (identity.epoch, identity.nonce) == (self.epoch, self.nonce)
    }
}

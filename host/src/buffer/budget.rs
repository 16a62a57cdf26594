//! The memory of uncommitted batches, shared by all lanes of a host.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::error::{Error, ErrorKind, Result};

/// Room taken in a [`BufferBudget`]; dropping it gives it back.
#[derive(Debug)]
pub struct Permit {
    held: OwnedSemaphorePermit,
    budget: Arc<BufferBudget>,
}

impl Permit {
    /// Adds another permit of the same budget to this one.
    pub fn merge(&mut self, mut other: Permit) {
        self.held.merge(other.held.split(other.held.num_permits()).expect("a permit can be split by all that it holds"));
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let bytes = self.held.num_permits() as u64;
        if bytes == 0 {
            return;
        }
        self.budget.announce(self.budget.used().saturating_sub(bytes));
    }
}

/// How full the budget is, coarsely: lanes are woken when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pressure {
    /// Under half.
    Low,
    /// Under four fifths.
    Medium,
    /// Four fifths and more: policies are asked again.
    High,
    /// Somebody waits for room: every lane flushes, whatever its policy says.
    Full,
}

/// Bounds the memory of uncommitted batches.
#[derive(Debug)]
pub struct BufferBudget {
    capacity: u64,
    room: Arc<Semaphore>,
    pressure: watch::Sender<Pressure>,
}

impl BufferBudget {
    /// A budget of `capacity` bytes, at most `u32::MAX`.
    pub fn new(capacity: u64) -> Arc<Self> {
        let capacity = capacity.clamp(1, u64::from(u32::MAX));
        let room = Arc::new(Semaphore::new(capacity as usize));
        Arc::new(Self { capacity, room, pressure: watch::Sender::new(Pressure::Low) })
    }

    /// Takes room for `bytes`, waiting at most `patience`; [`Busy`](ErrorKind::Busy) then.
    /// [`InvalidInput`](ErrorKind::InvalidInput) for more than the whole budget.
    pub async fn acquire(self: &Arc<Self>, bytes: usize, patience: Duration) -> Result<Permit> {
        let wanted = u32::try_from(bytes).ok().filter(|b| u64::from(*b) <= self.capacity).ok_or_else(|| {
            let message = format!("record set of {bytes} bytes is larger than the whole write buffer (buffer_bytes = {})", self.capacity);
            Error::new(ErrorKind::InvalidInput, message)
        })?;
        let held = match self.room.clone().try_acquire_many_owned(wanted) {
            Ok(held) => held,
            Err(_) => self.wait_for_room(wanted, patience).await?,
        };
        self.announce(self.used());
        Ok(Permit { held, budget: self.clone() })
    }

    async fn wait_for_room(&self, wanted: u32, patience: Duration) -> Result<OwnedSemaphorePermit> {
        self.pressure.send_replace(Pressure::Full);
        let waiting = tokio::time::timeout(patience, self.room.clone().acquire_many_owned(wanted)).await;
        waiting.map(|held| held.expect("the semaphore is never closed")).map_err(|_| {
            let message = format!(
                "write buffer full: {} of {} bytes hold batches that are not committed yet; no room for {wanted} bytes within {} ms",
                self.used(),
                self.capacity,
                patience.as_millis()
            );
            Error::new(ErrorKind::Busy, message)
        })
    }

    /// Bytes taken.
    pub fn used(&self) -> u64 {
        self.capacity - self.room.available_permits() as u64
    }

    /// Share of the budget that is taken, in permille.
    pub fn permille(&self) -> u32 {
        (self.used() * 1000 / self.capacity) as u32
    }

    /// Follows the pressure.
    pub fn pressure(&self) -> watch::Receiver<Pressure> {
        self.pressure.subscribe()
    }

    fn announce(&self, used: u64) {
        let level = match used * 10 / self.capacity {
            0..5 => Pressure::Low,
            5..8 => Pressure::Medium,
            _ => Pressure::High,
        };
        // Looked at first, which takes no lock that excludes others: nearly always nothing has changed.
        let changed = *self.pressure.borrow() != level;
        if changed {
            self.pressure.send_if_modified(|old| std::mem::replace(old, level) != level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn a_full_buffer_is_busy_and_a_dropped_permit_gives_room() {
        let budget = BufferBudget::new(100);
        let mut permit = budget.acquire(60, MS).await.unwrap();
        permit.merge(budget.acquire(40, MS).await.unwrap());
        assert_eq!(budget.permille(), 1000);
        assert_eq!(budget.acquire(1, MS).await.unwrap_err().kind(), ErrorKind::Busy);
        assert_eq!(*budget.pressure().borrow(), Pressure::Full);
        drop(permit);
        assert_eq!((budget.used(), *budget.pressure().borrow()), (0, Pressure::Low));
        assert_eq!(budget.acquire(101, MS).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_wait_takes_nothing() {
        let budget = BufferBudget::new(10);
        let permit = budget.acquire(10, MS).await.unwrap();
        assert!(tokio::time::timeout(MS, budget.acquire(5, MS * 100)).await.is_err());
        drop(permit);
        assert_eq!(budget.used(), 0);
    }
}

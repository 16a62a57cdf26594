//! Readers that wait for an offset.
//!
//! A reader waits with one [`Notify`] for many partitions; each of them knows it weakly. Dropping it
//! unsubscribes: its entries go when the table is looked at next, at the latest when it has doubled.

use std::sync::{Arc, Weak};

use tokio::sync::Notify;

use crate::types::Offset;

/// Waiters of one partition at most. Beyond, the oldest is woken early; it looks, and waits again.
const MAX_WAITERS: usize = 65_536;

#[derive(Default)]
pub(super) struct Waiters {
    entries: Vec<(Offset, Weak<Notify>)>,
    /// Size at which dropped waiters are cleared away.
    sweep_at: usize,
}

impl Waiters {
    pub(super) fn add(&mut self, offset: Offset, waiter: &Arc<Notify>) {
        if self.entries.len() >= self.sweep_at.max(16) {
            self.entries.retain(|(_, w)| w.strong_count() > 0);
            self.sweep_at = self.entries.len() * 2;
        }
        if self.entries.len() >= MAX_WAITERS
            && let Some(oldest) = self.entries.remove(0).1.upgrade()
        {
            oldest.notify_one();
        }
        self.entries.push((offset, Arc::downgrade(waiter)));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Wakes those whose offset lies below `offset`.
    pub(super) fn wake_below(&mut self, offset: Offset) {
        self.entries.retain(|(wanted, waiter)| {
            let Some(waiter) = waiter.upgrade() else { return false };
            if *wanted < offset {
                waiter.notify_one();
            }
            *wanted >= offset
        });
    }

    pub(super) fn wake_all(&mut self) {
        for (_, waiter) in std::mem::take(&mut self.entries) {
            if let Some(waiter) = waiter.upgrade() {
                waiter.notify_one();
            }
        }
    }
}

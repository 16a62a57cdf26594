//! How many clients there may be that are not known yet, where they have to be.

use std::sync::Arc;

use tidegate::metrics::Metrics;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// There are as many already.
#[derive(Debug, thiserror::Error)]
#[error("broker.limits.unauthenticated_connections are open")]
pub(crate) struct Full;

/// Counts clients that are not known yet.
pub(crate) struct Strangers {
    slots: Arc<Semaphore>,
    metrics: Arc<Metrics>,
}

/// The place of one, free again once dropped.
pub(crate) struct Probationer {
    _slot: OwnedSemaphorePermit,
    metrics: Arc<Metrics>,
}

impl Strangers {
    pub(crate) fn new(most: u32, metrics: Arc<Metrics>) -> Self {
        Self { slots: Arc::new(Semaphore::new(most as usize)), metrics }
    }

    /// A place for one more.
    pub(crate) fn admit(&self) -> Result<Probationer, Full> {
        let slot = self.slots.clone().try_acquire_owned().map_err(|_| Full)?;
        self.metrics.security.unauthenticated_connections.inc();
        Ok(Probationer { _slot: slot, metrics: self.metrics.clone() })
    }
}

impl Drop for Probationer {
    fn drop(&mut self) {
        self.metrics.security.unauthenticated_connections.dec();
    }
}

//! The only place that reads time or entropy.
//!
//! Monotonic time and timers are tokio's, so that a runtime started with paused time runs a whole host in
//! virtual time; wall-clock time and chance come from an [`Env`] that a test seeds.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};
pub use tokio::time::Instant;

use crate::types::{Nonce, TimestampMs};

/// Source of wall-clock time.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970, UTC.
    fn unix_ms(&self) -> TimestampMs;
}

struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is the place that reads the clock")]
    fn unix_ms(&self) -> TimestampMs {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |d| d.as_millis() as TimestampMs)
    }
}

/// Wall-clock time that follows tokio's (virtual) clock from a fixed start.
struct VirtualClock {
    start_ms: TimestampMs,
    started: Instant,
}

impl Clock for VirtualClock {
    fn unix_ms(&self) -> TimestampMs {
        self.start_ms + now().duration_since(self.started).as_millis() as TimestampMs
    }
}

/// Time and chance, passed to everything that needs them.
#[derive(Clone)]
pub struct Env {
    clock: Arc<dyn Clock>,
    rng: Arc<Mutex<StdRng>>,
}

impl Env {
    /// The machine's clock and entropy.
    #[allow(clippy::disallowed_methods, reason = "this is the place that reads entropy")]
    pub fn system() -> Self {
        Self { clock: Arc::new(SystemClock), rng: Arc::new(Mutex::new(StdRng::from_os_rng())) }
    }

    /// A seeded environment on tokio's clock: with paused time, one seed gives one run.
    pub fn simulated(seed: u64, start_ms: TimestampMs) -> Self {
        let clock = Arc::new(VirtualClock { start_ms, started: now() });
        Self { clock, rng: Arc::new(Mutex::new(StdRng::seed_from_u64(seed))) }
    }

    /// With another wall clock.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Wall-clock time in milliseconds since 1970.
    pub fn unix_ms(&self) -> TimestampMs {
        self.clock.unix_ms()
    }

    /// A number that no other writer has.
    pub fn nonce(&self) -> Nonce {
        let mut bytes = [0; 16];
        self.rng.lock().fill_bytes(&mut bytes);
        Nonce(u128::from_be_bytes(bytes))
    }

    /// A random (version 4) UUID.
    pub fn uuid(&self) -> uuid::Uuid {
        uuid::Builder::from_random_bytes(self.nonce().0.to_be_bytes()).into_uuid()
    }

    /// A duration drawn evenly from `[base / 2, base]`: back-off that does not march in step.
    pub fn jittered(&self, base: Duration) -> Duration {
        base.mul_f64(self.rng.lock().random_range(0.5..=1.0))
    }
}

/// Monotonic time; virtual where tokio's clock is paused.
#[allow(clippy::disallowed_methods, reason = "this is the place that reads the clock")]
pub fn now() -> Instant {
    Instant::now()
}

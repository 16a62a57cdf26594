//! A store in memory that answers as a [`StoreModel`] says, and counts what it was asked.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tidegate::cost::Usage;
use tidegate::env::{self, Env, Instant};
use tidegate::segment::FENCE_LEN;
use tidegate::store::{Fault, GetRange, MemoryStore, Operation, Request, StoreErrorKind};

mod latency;
mod model;
mod throttle;

use latency::Draws;
pub use latency::Latency;
pub use model::StoreModel;
use throttle::Throttle;

/// How soon a request is told to slow down.
const REFUSED_AFTER: Duration = Duration::from_millis(5);

/// A segment that was uploaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// When its request came.
    pub at: Instant,
    /// Its size, in bytes.
    pub bytes: u64,
}

/// What a store was asked.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Requests, refused ones included.
    pub usage: Usage,
    /// Requests that were told to slow down.
    pub throttled: u64,
    /// Segments, in the order of their requests.
    pub segments: Vec<Uploaded>,
}

/// See the module. Clones are the same store.
#[derive(Clone, Debug)]
pub struct ModelStore {
    objects: MemoryStore,
    asked: Arc<Mutex<Asked>>,
}

impl ModelStore {
    /// An empty store; `seed` decides how long each request takes.
    pub fn new(env: Env, model: &StoreModel, seed: u64) -> Self {
        let store = Self { objects: MemoryStore::new(env), asked: Arc::default() };
        let mut script = Script {
            puts: Throttle::new(model.puts_per_s),
            gets: Throttle::new(model.gets_per_s),
            model: model.clone(),
            draws: Draws::new(seed),
            asked: store.asked.clone(),
        };
        // Batches of a trace are nearly nothing else.
        store.objects.leave_out_zeros();
        store.objects.set_script(move |request: &Request<'_>| script.answer(request));
        store
    }

    /// As a store for a host.
    pub fn shared(&self) -> Arc<MemoryStore> {
        Arc::new(self.objects.clone())
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Asked {
        let mut asked = self.asked.lock().clone();
        asked.usage.bytes_up = self.objects.bytes_up();
        asked.usage.bytes_down = self.objects.bytes_down();
        asked
    }
}

struct Script {
    model: StoreModel,
    draws: Draws,
    puts: Throttle,
    gets: Throttle,
    asked: Arc<Mutex<Asked>>,
}

impl Script {
    fn answer(&mut self, request: &Request<'_>) -> Fault {
        let (latency, throttle) = match request.operation {
            Operation::Put | Operation::Delete => (&self.model.put, &mut self.puts),
            Operation::Get | Operation::Head | Operation::List => (&self.model.get, &mut self.gets),
        };
        let served = throttle.admits();
        let mut asked = self.asked.lock();
        asked.count(request, served);
        if !served {
            return Fault::fail(StoreErrorKind::Throttled).before(REFUSED_AFTER);
        }
        Fault::none().before(latency.of(self.draws.next(request), bytes_of(request)))
    }
}

impl Asked {
    fn count(&mut self, request: &Request<'_>, served: bool) {
        let usage = &mut self.usage;
        let counter = match request.operation {
            Operation::Put => &mut usage.puts,
            Operation::Get => &mut usage.gets,
            Operation::Head => &mut usage.heads,
            Operation::List => &mut usage.lists,
            Operation::Delete => &mut usage.deletes,
        };
        *counter += 1;
        self.throttled += u64::from(!served);
        let is_segment = request.operation == Operation::Put && request.size > FENCE_LEN && request.key.contains("/log/");
        if served && is_segment {
            self.segments.push(Uploaded { at: env::now(), bytes: request.size });
        }
    }
}

/// Bytes that travel, as far as a request tells.
fn bytes_of(request: &Request<'_>) -> u64 {
    match request.range {
        Some(GetRange::Bounded(range)) => range.end.saturating_sub(range.start),
        Some(GetRange::Tail(bytes)) => *bytes,
        Some(GetRange::Full) | None => request.size,
    }
}

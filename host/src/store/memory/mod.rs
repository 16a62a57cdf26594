//! A store in memory, with scripted faults: what simulations and most tests run on.
//!
//! It is a whole store, not a mock: preconditions are atomic, versions never repeat, ranges and listings behave
//! as S3's do. A [`Script`] decides the fate of each request (see [`Fault`]), so that a test can lose a reply,
//! let a put arrive after its writer crashed, or answer 503 for a minute.
//!
//! Deterministic: no iteration in hash order, no clock but tokio's. With one seed and paused time, two runs give
//! the same [`log`](MemoryStore::log) and the same [`snapshot`](MemoryStore::snapshot).

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::key::{check_key, check_prefix, check_range};
use super::{Body, GetRange, Object, ObjectMeta, ObjectStore, Operation, PutMode, StoreError, StoreErrorKind, Version};
use crate::env::Env;

mod fault;
mod inspect;
mod objects;
mod sparse;

pub use fault::{Damage, Effect, Fault, Gate, Reply, Request, Script};
use objects::Objects;

/// Requests that the log keeps; older ones are dropped.
const LOG_REQUESTS: usize = 1 << 16;

/// How a store treats the preconditions of puts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conditions {
    /// As it should.
    #[default]
    Honoured,
    /// It answers 200 and overwrites.
    Ignored,
    /// It answers 501.
    Refused,
}

/// One request, as it was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// Which request.
    pub operation: Operation,
    /// Key, or prefix of a listing.
    pub key: String,
    /// Precondition of a put.
    pub mode: Option<PutMode>,
    /// Range of a get.
    pub range: Option<GetRange>,
    /// Bytes of a put's body.
    pub size: u64,
}

/// Objects in memory. Clones share them.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

struct Shared {
    env: Env,
    state: Mutex<State>,
    script: Mutex<Option<Box<dyn Script>>>,
}

#[derive(Default)]
struct State {
    objects: Objects,
    full: bool,
    requests: BTreeMap<Operation, u64>,
    bytes_up: u64,
    bytes_down: u64,
    log: VecDeque<RequestRecord>,
    attempts: BTreeMap<(Operation, String), u32>,
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("objects", &self.shared.state.lock().objects.len()).finish()
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Env::simulated(0, 0))
    }
}

impl MemoryStore {
    /// An empty store; `env` gives the times of modification.
    pub fn new(env: Env) -> Self {
        Self { shared: Arc::new(Shared { env, state: Mutex::default(), script: Mutex::new(None) }) }
    }

    fn count(&self, operation: Operation, bytes_up: u64) {
        let mut state = self.shared.state.lock();
        *state.requests.entry(operation).or_default() += 1;
        state.bytes_up += bytes_up;
    }

    async fn run<T, F>(&self, record: RequestRecord, apply: F) -> Result<(T, Option<Damage>), StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Shared) -> Result<T, StoreError> + Send + 'static,
    {
        let (operation, key) = (record.operation, record.key.clone());
        let fault = self.shared.fate(record);
        let shared = self.shared.clone();
        let (gate, before) = (fault.gate, fault.before);
        let arrival = async move {
            if let Some(gate) = gate {
                gate.passed().await;
            }
            pause(before).await;
        };
        let truth = match fault.effect {
            Effect::Apply => {
                arrival.await;
                Some(apply(&shared))
            }
            Effect::Detached => {
                let sent = tokio::spawn(async move {
                    arrival.await;
                    apply(&shared)
                });
                sent.await.ok()
            }
            Effect::Late(delay) => {
                tokio::spawn(async move {
                    arrival.await;
                    pause(delay).await;
                    apply(&shared)
                });
                None
            }
            Effect::Skip => {
                arrival.await;
                None
            }
        };
        pause(fault.after).await;
        let scripted = |kind| StoreError::new(kind, operation, &key, "as the script says");
        match fault.reply {
            Reply::Truth => truth.unwrap_or_else(|| Err(scripted(StoreErrorKind::OutcomeUnknown))).map(|value| (value, fault.damage)),
            Reply::Fail(kind) => Err(scripted(kind)),
            Reply::Hang => std::future::pending().await,
        }
    }
}

impl Shared {
    /// Logs a request and asks the script.
    fn fate(&self, record: RequestRecord) -> Fault {
        let scripted = self.script.lock().is_some();
        let attempt = {
            let mut state = self.state.lock();
            if state.log.len() == LOG_REQUESTS {
                state.log.pop_front();
            }
            state.log.push_back(record.clone());
            if !scripted {
                return Fault::none();
            }
            let attempt = state.attempts.entry((record.operation, record.key.clone())).or_default();
            *attempt += 1;
            *attempt
        };
        let request = Request {
            operation: record.operation,
            key: &record.key,
            attempt,
            mode: record.mode.as_ref(),
            range: record.range.as_ref(),
            size: record.size,
        };
        // Not under the lock of the state: a script may look at the store.
        self.script.lock().as_mut().map_or_else(Fault::none, |script| script.fault(&request))
    }
}

async fn pause(duration: Duration) {
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}

fn record(operation: Operation, key: &str) -> RequestRecord {
    RequestRecord { operation, key: key.to_owned(), mode: None, range: None, size: 0 }
}

#[async_trait]
impl ObjectStore for MemoryStore {
    async fn put(&self, key: &str, body: Body, mode: PutMode) -> Result<Version, StoreError> {
        check_key(Operation::Put, key)?;
        self.count(Operation::Put, body.len());
        let request = RequestRecord { mode: Some(mode.clone()), size: body.len(), ..record(Operation::Put, key) };
        let key = key.to_owned();
        let apply = move |shared: &Shared| {
            let now = shared.env.unix_ms();
            shared.state.lock().objects.put(&key, &body, &mode, now)
        };
        self.run(request, apply).await.map(|(version, _)| version)
    }

    async fn get(&self, key: &str, range: GetRange) -> Result<Object, StoreError> {
        check_key(Operation::Get, key)?;
        check_range(key, &range)?;
        self.count(Operation::Get, 0);
        let request = RequestRecord { range: Some(range.clone()), ..record(Operation::Get, key) };
        let key = key.to_owned();
        let (mut object, damage) = self.run(request, move |shared| shared.state.lock().objects.get(&key, &range)).await?;
        if let Some(damage) = damage {
            object.bytes = damage.apply(object.bytes);
        }
        self.shared.state.lock().bytes_down += object.bytes.len() as u64;
        Ok(object)
    }

    async fn head(&self, key: &str) -> Result<ObjectMeta, StoreError> {
        check_key(Operation::Head, key)?;
        self.count(Operation::Head, 0);
        let owned = key.to_owned();
        let apply = move |shared: &Shared| shared.state.lock().objects.head(&owned);
        self.run(record(Operation::Head, key), apply).await.map(|(meta, _)| meta)
    }

    async fn list(&self, prefix: &str, start_after: Option<&str>, limit: usize) -> Result<Vec<ObjectMeta>, StoreError> {
        check_prefix(Operation::List, prefix)?;
        self.count(Operation::List, 0);
        let (owned, start_after) = (prefix.to_owned(), start_after.map(str::to_owned));
        let apply = move |shared: &Shared| Ok(shared.state.lock().objects.list(&owned, start_after.as_deref(), limit));
        self.run(record(Operation::List, prefix), apply).await.map(|(metas, _)| metas)
    }

    async fn delete(&self, keys: &[String]) -> Result<(), StoreError> {
        for key in keys {
            check_key(Operation::Delete, key)?;
        }
        self.count(Operation::Delete, 0);
        let mut outcome = Ok(());
        for key in keys {
            let owned = key.clone();
            let apply = move |shared: &Shared| {
                shared.state.lock().objects.remove(&owned);
                Ok(())
            };
            let deleted = self.run(record(Operation::Delete, key), apply).await;
            outcome = outcome.and(deleted.map(|_| ()));
        }
        outcome
    }

    fn has_room(&self, _bytes: u64) -> bool {
        !self.shared.state.lock().full
    }
}

#[cfg(test)]
mod tests;

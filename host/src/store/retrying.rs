//! Any store, with time-outs, retries, a shared budget of requests in flight, and metrics.
//!
//! A retried put has the same bytes, the same key and the same precondition, so it can do no harm; but its answer
//! can mislead: a try whose reply was lost may have taken effect. So a put that fails after such a try is reported
//! as [`OutcomeUnknown`](StoreErrorKind::OutcomeUnknown), or as `AlreadyExists` or `VersionMismatch`, after which
//! the trait tells the caller to read whose bytes are there. It never becomes an error that says "nothing was written".
//!
//! Being throttled does not use up tries: the request waits in the budget's queue, a minute at most.
//! [`Full`](StoreErrorKind::Full) is reported at once: it lasts, and the caller has better things to do.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::budget::Budget;
use super::{Body, GetRange, Object, ObjectMeta, ObjectStore, Operation, PutMode, StoreError, StoreErrorKind, Version};
use crate::env::{self, Env};
use crate::metrics::Metrics;

/// Longest time that a request waits and retries because of throttling.
const PATIENCE: Duration = Duration::from_secs(60);
/// Back-off after the first failed try; doubles with each.
const FIRST_BACKOFF: Duration = Duration::from_millis(50);
const LONGEST_BACKOFF: Duration = Duration::from_secs(5);
/// What an upload must reach, in bytes per second, beyond the time-out of a request.
const SLOWEST_UPLOAD: u64 = 1 << 20;
/// Keys in a page of a listing, and in a delete.
const PAGE: usize = 1_000;

/// How a [`Retrying`] store behaves.
#[derive(Clone, Debug)]
pub struct RetryOptions {
    /// Of one try. An upload gets a second more for each MiB.
    pub timeout: Duration,
    /// Of one try of a get or a delete, body included: longer, where the store itself watches that bytes come.
    pub long_timeout: Duration,
    /// Tries of a request, the first included; at least 1. Throttled ones do not count.
    pub tries: u32,
    /// Requests in flight at most; at least 1.
    pub concurrency: u32,
    /// The store reports times of first bytes itself; otherwise a whole get is taken for it.
    pub store_times_gets: bool,
}

impl Default for RetryOptions {
    fn default() -> Self {
        let timeout = Duration::from_secs(10);
        Self { timeout, long_timeout: timeout, tries: 5, concurrency: 128, store_times_gets: false }
    }
}

/// A store that tries again.
#[derive(Debug)]
pub struct Retrying {
    inner: Arc<dyn ObjectStore>,
    options: RetryOptions,
    budget: Budget,
    env: EnvHandle,
    metrics: Arc<Metrics>,
}

/// [`Env`] has no `Debug`.
struct EnvHandle(Env);

impl std::fmt::Debug for EnvHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Env")
    }
}

impl Retrying {
    /// Wraps a store.
    pub fn new(inner: Arc<dyn ObjectStore>, options: RetryOptions, env: Env, metrics: Arc<Metrics>) -> Self {
        let budget = Budget::new(options.concurrency, metrics.store.concurrency.clone());
        Self { inner, options, budget, env: EnvHandle(env), metrics }
    }

    async fn run<T, F, R>(&self, operation: Operation, key: &str, timeout: Duration, request: F) -> Result<T, StoreError>
    where
        F: Fn() -> R + Send + Sync,
        R: Future<Output = Result<T, StoreError>> + Send,
        T: Send,
    {
        let patience = env::now() + PATIENCE;
        let mut tries = 0;
        let mut unknown = false;
        loop {
            let error = match self.attempt(operation, key, timeout, patience, request()).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let throttled = error.kind == StoreErrorKind::Throttled;
            unknown |= error.kind == StoreErrorKind::OutcomeUnknown;
            tries += u32::from(!throttled);
            let left = if throttled { env::now() < patience } else { tries < self.options.tries };
            if !left || !worth_retrying(error.kind) {
                return Err(if unknown && operation == Operation::Put { in_doubt(error) } else { error });
            }
            self.metrics.store.retried(operation.as_str());
            if !throttled {
                tokio::time::sleep(self.env.0.jittered(backoff(tries))).await;
            }
        }
    }

    /// One try, once the budget allows it.
    async fn attempt<T>(
        &self,
        operation: Operation,
        key: &str,
        timeout: Duration,
        patience: env::Instant,
        request: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let Ok(_permit) = tokio::time::timeout_at(patience, self.budget.acquire()).await else {
            let message = format!("the store throttles: no request could be sent within {} s", PATIENCE.as_secs());
            return Err(StoreError::new(StoreErrorKind::Throttled, operation, key, message));
        };
        let sent = env::now();
        let in_flight = InFlight::begin(&self.metrics);
        let result = tokio::time::timeout(timeout, request).await.unwrap_or_else(|_| {
            let message = format!("no answer within {} ms", timeout.as_millis());
            Err(StoreError::new(StoreErrorKind::OutcomeUnknown, operation, key, message))
        });
        drop(in_flight);
        let kind = result.as_ref().err().map(|e| e.kind);
        self.metrics.store.tried(operation.as_str(), env::now() - sent, kind.map(StoreErrorKind::as_str));
        let throttled = kind == Some(StoreErrorKind::Throttled);
        self.metrics.store.recent.answered(throttled);
        match kind {
            Some(StoreErrorKind::Throttled) => self.budget.throttled(sent, &self.env.0),
            // No answer is no sign that the store keeps up.
            Some(StoreErrorKind::OutcomeUnknown | StoreErrorKind::Unavailable) => {}
            _ => self.budget.served(),
        }
        result
    }

    async fn page(&self, prefix: &str, start_after: Option<&str>, limit: usize) -> Result<Vec<ObjectMeta>, StoreError> {
        self.run(Operation::List, prefix, self.options.timeout, || self.inner.list(prefix, start_after, limit)).await
    }
}

/// Counts a try as in flight until it is dropped, also when its caller is cancelled.
struct InFlight<'a>(&'a Metrics);

impl<'a> InFlight<'a> {
    fn begin(metrics: &'a Metrics) -> Self {
        metrics.store.in_flight.inc();
        Self(metrics)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.store.in_flight.dec();
    }
}

fn worth_retrying(kind: StoreErrorKind) -> bool {
    kind.is_transient() && kind != StoreErrorKind::Full
}

fn backoff(tries: u32) -> Duration {
    FIRST_BACKOFF.saturating_mul(1 << (tries - 1).min(10)).min(LONGEST_BACKOFF)
}

/// The error of a put of which one try may have taken effect.
fn in_doubt(error: StoreError) -> StoreError {
    use StoreErrorKind::{AlreadyExists, OutcomeUnknown, VersionMismatch};
    if matches!(error.kind, AlreadyExists | VersionMismatch | OutcomeUnknown) {
        return error;
    }
    let message = format!("an earlier try may have taken effect; the last one failed: {}", error.message);
    StoreError { kind: OutcomeUnknown, message, ..error }
}

#[async_trait]
impl ObjectStore for Retrying {
    async fn put(&self, key: &str, body: Body, mode: PutMode) -> Result<Version, StoreError> {
        let began = env::now();
        let timeout = self.options.timeout + Duration::from_secs(body.len() / SLOWEST_UPLOAD);
        let request = || {
            self.metrics.store.sent(body.len());
            self.inner.put(key, body.clone(), mode.clone())
        };
        let version = self.run(Operation::Put, key, timeout, request).await?;
        self.metrics.store.recent.uploaded(env::now() - began);
        Ok(version)
    }

    async fn get(&self, key: &str, range: GetRange) -> Result<Object, StoreError> {
        let request = || async {
            let sent = env::now();
            let object = self.inner.get(key, range.clone()).await?;
            let bytes = object.bytes.len() as u64;
            self.metrics.store.received(bytes);
            if !self.options.store_times_gets {
                let took = env::now() - sent;
                self.metrics.store.recent.downloaded(bytes, took, took);
            }
            Ok(object)
        };
        self.run(Operation::Get, key, self.options.long_timeout, request).await
    }

    async fn head(&self, key: &str) -> Result<ObjectMeta, StoreError> {
        self.run(Operation::Head, key, self.options.timeout, || self.inner.head(key)).await
    }

    async fn list(&self, prefix: &str, start_after: Option<&str>, limit: usize) -> Result<Vec<ObjectMeta>, StoreError> {
        let mut all = Vec::new();
        let mut after = start_after.map(str::to_owned);
        loop {
            let wanted = (limit - all.len()).min(PAGE);
            let page = self.page(prefix, after.as_deref(), wanted).await?;
            let complete = page.len() < wanted;
            all.extend(page);
            if complete || all.len() >= limit {
                return Ok(all);
            }
            after = all.last().map(|meta: &ObjectMeta| meta.key.clone());
        }
    }

    async fn delete(&self, keys: &[String]) -> Result<(), StoreError> {
        for batch in keys.chunks(PAGE) {
            self.run(Operation::Delete, &batch[0], self.options.long_timeout, || self.inner.delete(batch)).await?;
        }
        Ok(())
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.inner.has_room(bytes)
    }
}

#[cfg(test)]
mod tests;

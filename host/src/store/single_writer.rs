//! Preconditions for a store that has none, kept by this process alone.
//!
//! Each put looks first and writes then, one at a time for each key. That keeps apart the tasks of one process
//! and nothing else: a second process, or a request of a former one that is still on its way, is not held back.
//! Only an operator can know that there is none, by setting `single_writer`.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;

use super::{Body, GetRange, Object, ObjectMeta, ObjectStore, Operation, PutMode, StoreError, StoreErrorKind, Version};

/// Keys share this many locks.
const LOCKS: usize = 256;

/// A store that checks preconditions itself before it writes. The inner store should ignore them.
#[derive(Debug)]
pub struct SingleWriter {
    inner: Arc<dyn ObjectStore>,
    locks: Vec<Mutex<()>>,
}

impl SingleWriter {
    /// Wraps a store that ignores preconditions.
    pub fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self { inner, locks: (0..LOCKS).map(|_| Mutex::default()).collect() }
    }

    async fn check(&self, key: &str, mode: &PutMode) -> Result<(), StoreError> {
        let found = match self.inner.head(key).await {
            Ok(meta) => Some(meta),
            Err(e) if e.kind == StoreErrorKind::NotFound => None,
            Err(e) => return Err(unwritten(e)),
        };
        let failed = |kind, message: String| Err(StoreError::new(kind, Operation::Put, key, message));
        match (mode, found) {
            (PutMode::Create, None) => Ok(()),
            (PutMode::Create, Some(_)) => failed(StoreErrorKind::AlreadyExists, "the key is taken".to_owned()),
            (PutMode::Replace(version), Some(meta)) if meta.version.as_ref() == Some(version) => Ok(()),
            (PutMode::Replace(version), found) => failed(
                StoreErrorKind::VersionMismatch,
                format!("expected version {}, found {:?}", version.0, found.and_then(|m| m.version)),
            ),
        }
    }
}

/// The look failed, so nothing was written.
fn unwritten(error: StoreError) -> StoreError {
    let kind = if error.kind == StoreErrorKind::OutcomeUnknown { StoreErrorKind::Unavailable } else { error.kind };
    StoreError { kind, operation: Operation::Put.as_str(), ..error }
}

#[async_trait]
impl ObjectStore for SingleWriter {
    async fn put(&self, key: &str, body: Body, mode: PutMode) -> Result<Version, StoreError> {
        let _lock = self.locks[crc32fast::hash(key.as_bytes()) as usize % LOCKS].lock().await;
        self.check(key, &mode).await?;
        self.inner.put(key, body, mode).await
    }

    async fn get(&self, key: &str, range: GetRange) -> Result<Object, StoreError> {
        self.inner.get(key, range).await
    }

    async fn head(&self, key: &str) -> Result<ObjectMeta, StoreError> {
        self.inner.head(key).await
    }

    async fn list(&self, prefix: &str, start_after: Option<&str>, limit: usize) -> Result<Vec<ObjectMeta>, StoreError> {
        self.inner.list(prefix, start_after, limit).await
    }

    async fn delete(&self, keys: &[String]) -> Result<(), StoreError> {
        self.inner.delete(keys).await
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.inner.has_room(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Env;
    use crate::store::conformance::conformance;
    use crate::store::{Conditions, MemoryStore, Probe, probe};

    #[tokio::test]
    async fn one_process_is_safe_on_a_store_without_preconditions() {
        let memory = MemoryStore::default();
        memory.set_conditions(Conditions::Ignored);
        let store = Arc::new(SingleWriter::new(Arc::new(memory)));
        assert_eq!(probe(&*store, &Env::simulated(1, 0)).await.unwrap(), Probe::Safe);
        conformance(store, "suite").await;
    }
}

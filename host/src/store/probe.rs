//! Does the store keep the preconditions that the commit protocol stands on?
//!
//! Asked once at start, on keys of its own: create, create again, replace, replace on a stale version, two racing
//! creates. A store that answers 200 where 412 is due would let two leaders write one slot; nothing in the
//! protocol could notice it later.

use bytes::Bytes;

use super::{GetRange, ObjectStore, PutMode, StoreError, StoreErrorKind, Version};
use crate::env::Env;
use crate::error::{Error, ErrorKind, Result};

/// What the probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// All preconditions hold.
    Safe,
    /// They do not; says what the store answered where.
    Unsafe(String),
}

impl Probe {
    /// Fails if the store is unsafe: what a host with other writers beside it must do.
    pub fn require_safe(self) -> Result<()> {
        match self {
            Probe::Safe => Ok(()),
            Probe::Unsafe(what) => {
                let remedy =
                    "use a store with conditional writes, or, if no other process ever writes here, set store.single_writer = true";
                Err(Error::new(ErrorKind::Unsupported, format!("the object store cannot keep writers apart: {what}; {remedy}")))
            }
        }
    }
}

/// Probes a store, below `probe/`. An error means that the store could not be asked.
pub async fn probe(store: &dyn ObjectStore, env: &Env) -> Result<Probe> {
    let key = format!("probe/{}", env.nonce());
    let race = format!("{key}-race");
    let found = match preconditions(store, &key).await {
        Ok(Probe::Safe) => racing_creates(store, &race).await,
        other => other,
    };
    // What stays behind is small and has a name of its own, so a failed clean-up says nothing about the store.
    if let Err(error) = store.delete(&[key, race]).await {
        tracing::warn!(%error, "the probe's objects could not be deleted");
    }
    found.map_err(|e| Error::new(Error::from(e.clone()).kind(), "cannot probe the object store").with_source(e))
}

fn unsafe_answer(answer: &str, to: &str) -> Probe {
    Probe::Unsafe(format!("it answered {answer} to {to}"))
}

async fn preconditions(store: &dyn ObjectStore, key: &str) -> Result<Probe, StoreError> {
    let put = async |bytes: &'static [u8], mode| own_put(store, key, bytes, mode).await;
    let first = match put(b"1", PutMode::Create).await {
        Err(e) if e.kind == StoreErrorKind::Unsupported => {
            return Ok(unsafe_answer("501 (not implemented)", "a create (If-None-Match: *)"));
        }
        first => first?,
    };
    match put(b"2", PutMode::Create).await {
        Err(e) if e.kind == StoreErrorKind::AlreadyExists => {}
        Err(e) => return Err(e),
        Ok(_) => return Ok(unsafe_answer("200 where 412 was due", "a create (If-None-Match: *) of an existing key")),
    }
    match put(b"3", PutMode::Replace(first.clone())).await {
        Ok(_) => {}
        Err(e) if e.kind == StoreErrorKind::Unsupported => return Ok(unsafe_answer("501 (not implemented)", "a replace (If-Match)")),
        Err(e) if e.kind == StoreErrorKind::VersionMismatch => {
            return Ok(unsafe_answer("412", "a replace (If-Match) of the current version"));
        }
        Err(e) => return Err(e),
    }
    match put(b"4", PutMode::Replace(first)).await {
        Err(e) if e.kind == StoreErrorKind::VersionMismatch => Ok(Probe::Safe),
        Err(e) => Err(e),
        Ok(_) => Ok(unsafe_answer("200 where 412 was due", "a replace (If-Match) of a stale version")),
    }
}

/// A put whose refusal is believed only if the bytes are not its own: a retry may have met what the first try wrote.
async fn own_put(store: &dyn ObjectStore, key: &str, bytes: &'static [u8], mode: PutMode) -> Result<Version, StoreError> {
    let error = match store.put(key, Bytes::from_static(bytes).into(), mode).await {
        Ok(version) => return Ok(version),
        Err(error) => error,
    };
    if matches!(error.kind, StoreErrorKind::AlreadyExists | StoreErrorKind::VersionMismatch | StoreErrorKind::OutcomeUnknown) {
        let object = store.get(key, GetRange::Full).await?;
        if object.bytes == bytes {
            return Ok(object.version);
        }
    }
    Err(error)
}

async fn racing_creates(store: &dyn ObjectStore, key: &str) -> Result<Probe, StoreError> {
    let racer = |bytes: &'static [u8]| own_put(store, key, bytes, PutMode::Create);
    let (a, b) = tokio::join!(racer(b"a"), racer(b"b"));
    match (a, b) {
        (Ok(_), Ok(_)) => Ok(unsafe_answer("200 twice", "two creates (If-None-Match: *) at once")),
        (Ok(_), Err(e)) | (Err(e), Ok(_)) if e.kind == StoreErrorKind::AlreadyExists => Ok(Probe::Safe),
        (Err(e), _) | (_, Err(e)) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::metrics::Metrics;
    use crate::store::{Conditions, Fault, MemoryStore, Request, RetryOptions, Retrying};

    fn env() -> Env {
        Env::simulated(1, 0)
    }

    #[tokio::test(start_paused = true)]
    async fn a_good_store_is_safe_and_left_clean() {
        let store = MemoryStore::default();
        assert_eq!(probe(&store, &env()).await.unwrap(), Probe::Safe);
        assert!(store.snapshot().is_empty());
    }

    /// FAULTS.md D13.
    #[tokio::test(start_paused = true)]
    async fn a_store_without_preconditions_is_refused_and_named() {
        for (conditions, answer) in [(Conditions::Ignored, "200 where 412 was due"), (Conditions::Refused, "501")] {
            let store = MemoryStore::default();
            store.set_conditions(conditions);
            let error = probe(&store, &env()).await.unwrap().require_safe().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.message().contains(answer), "{error}");
            assert!(error.message().contains("store.single_writer"), "{error}");
            assert!(store.snapshot().is_empty());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn lost_replies_are_not_held_against_the_store() {
        let memory = MemoryStore::default();
        memory.set_script(|r: &Request<'_>| if r.size > 0 && r.attempt % 2 == 1 { Fault::lost_reply() } else { Fault::none() });
        let store = Retrying::new(Arc::new(memory), RetryOptions::default(), env(), Arc::new(Metrics::default()));
        assert_eq!(probe(&store, &env()).await.unwrap(), Probe::Safe);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_cannot_be_asked_is_an_error() {
        let store = MemoryStore::default();
        store.set_script(|_: &Request<'_>| Fault::fail(StoreErrorKind::Refused).before(Duration::from_millis(1)));
        assert_eq!(probe(&store, &env()).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

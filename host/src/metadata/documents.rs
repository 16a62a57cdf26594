//! Documents that an embedder keeps for itself: who its users are, what they may do.
//!
//! A document is small, read as a whole, and replaced on the version that was read. A change is a pure function of the
//! document: where another host's change comes first, it is made again on the newer state, and nobody's is lost.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{SharedMetadata, Versioned};
use crate::env::Env;
use crate::error::{Error, ErrorKind, Result};

/// Largest document, in bytes of JSON.
pub const MAX_DOCUMENT_BYTES: usize = 8 << 20;
/// Longest name, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Rounds against others that change the same document.
const ROUNDS: u32 = 8;
/// Pause before another round, at first; it doubles.
const PAUSE: Duration = Duration::from_millis(10);

/// Typed documents in a metadata store. Cheap to clone.
#[derive(Clone)]
pub struct Documents {
    metadata: SharedMetadata,
    env: Env,
}

impl std::fmt::Debug for Documents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Documents").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

impl Documents {
    /// The documents of a metadata store.
    pub fn new(metadata: SharedMetadata, env: Env) -> Self {
        Self { metadata, env }
    }

    /// A document as stored now; its default if it was never stored.
    pub async fn read<T: DeserializeOwned + Default>(&self, name: &str) -> Result<Versioned<T>> {
        let Versioned { value, version } = self.metadata.document(name).await?;
        let value = value.map(serde_json::from_value).transpose().map_err(|error| {
            let message = format!("the metadata document {name:?} is not what this version writes; restore it from a backup");
            Error::new(ErrorKind::Corrupt, message).with_source(error)
        })?;
        Ok(Versioned { value: value.unwrap_or_default(), version })
    }

    /// Changes a document and gives what is stored then, with what `change` gave; it may be called again on a newer state. A change
    /// that leaves the document as it was writes nothing. What `change` refuses is refused, and nothing is written.
    ///
    /// [`Unavailable`](ErrorKind::Unavailable): others changed it too often; else the error of the store.
    pub async fn change<T, R>(&self, name: &str, mut change: impl FnMut(&mut T) -> Result<R> + Send) -> Result<(Versioned<T>, R)>
    where
        T: Serialize + DeserializeOwned + Default + Clone + PartialEq + Send + Sync,
        R: Send,
    {
        let mut pause = PAUSE;
        for _ in 0..ROUNDS {
            let Versioned { value: mut next, version } = self.read::<T>(name).await?;
            let before = next.clone();
            let outcome = change(&mut next)?;
            if next == before {
                return Ok((Versioned { value: next, version }, outcome));
            }
            let value = serde_json::to_value(&next).map_err(|error| unwritable(name, error))?;
            match self.metadata.put_document(name, Versioned { value, version }).await {
                Ok(version) => return Ok((Versioned { value: next, version: Some(version) }, outcome)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    tokio::time::sleep(self.env.jittered(pause)).await;
                    pause *= 2;
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, format!("document {name:?} was changed by others {ROUNDS} times in a row; try again")))
    }
}

fn unwritable(name: &str, error: serde_json::Error) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("document {name:?} cannot be written as JSON")).with_source(error)
}

/// The key of a document.
pub(super) fn key(name: &str) -> Result<String> {
    let good = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(good) {
        let message = format!("document name {name:?}, expected 1 to {MAX_NAME_BYTES} of a-z 0-9 -");
        return Err(Error::new(ErrorKind::InvalidInput, message));
    }
    Ok(format!("meta/documents/{name}"))
}

/// Refuses what is too large to be read and replaced as a whole.
pub(super) fn check_size(name: &str, value: &serde_json::Value) -> Result<()> {
    let size = serde_json::to_vec(value).map_err(|error| unwritable(name, error))?.len();
    if size > MAX_DOCUMENT_BYTES {
        let message = format!("document {name:?} would have {size} bytes, at most {MAX_DOCUMENT_BYTES} are kept");
        return Err(Error::new(ErrorKind::InvalidInput, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::metadata::ObjectMetadata;
    use crate::store::{MemoryStore, Operation};

    fn documents(store: &MemoryStore, seed: u64) -> Documents {
        let env = Env::simulated(seed, 0);
        Documents::new(Arc::new(ObjectMetadata::new(Arc::new(store.clone()), env.clone())), env)
    }

    #[tokio::test(start_paused = true)]
    async fn changes_of_many_hosts_are_all_made() {
        let store = MemoryStore::default();
        let hosts: Vec<_> = (0..4).map(|seed| documents(&store, seed)).collect();
        let add = async |host: usize| {
            for n in 0..5 {
                let added = hosts[host].change("set", |set: &mut BTreeSet<usize>| Ok(set.insert(host * 10 + n))).await;
                assert!(added.unwrap().1);
            }
        };
        tokio::join!(add(0), add(1), add(2), add(3));
        assert_eq!(documents(&store, 9).read::<BTreeSet<usize>>("set").await.unwrap().value.len(), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_changes_nothing_or_is_refused_writes_nothing() {
        let store = MemoryStore::default();
        let documents = documents(&store, 1);
        documents.change("set", |set: &mut BTreeSet<u8>| Ok(set.insert(1))).await.unwrap();
        let puts = || store.log().iter().filter(|request| request.operation == Operation::Put).count();
        let before = puts();
        assert!(!documents.change("set", |set: &mut BTreeSet<u8>| Ok(set.insert(1))).await.unwrap().1);
        let refused = |set: &mut BTreeSet<u8>| {
            set.clear();
            Err::<(), _>(Error::new(ErrorKind::InvalidInput, "no"))
        };
        documents.change("set", refused).await.unwrap_err();
        assert_eq!(puts(), before);
        assert_eq!(documents.read::<BTreeSet<u8>>("set").await.unwrap().value, [1].into());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_understood_is_not_overwritten() {
        let store = MemoryStore::default();
        let stored = r#"{"format":1,"nonce":"0","value":"text"}"#;
        store.insert("meta/documents/set", stored);
        let error = documents(&store, 1).change("set", |set: &mut BTreeSet<u8>| Ok(set.insert(1))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!(store.snapshot()["meta/documents/set"], stored);
    }

    #[test]
    fn no_name_reaches_a_key_unchecked() {
        for name in ["", "../x", "a/b", "A", "a b", "a\0", &"x".repeat(65)] {
            assert_eq!(key(name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
        }
        assert_eq!(key("acl-2").unwrap(), "meta/documents/acl-2");
    }
}

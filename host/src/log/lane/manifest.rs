//! Reading a lane's manifest, and replacing it on the version that was read.

use std::time::Duration;

use super::Shared;
use super::backoff::Backoff;
use super::keys::Keys;
use crate::catalog::Manifest;
use crate::codec::Body;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{GetRange, PutMode, StoreErrorKind, Version};

/// A manifest and the state of its object.
#[derive(Clone, Debug)]
pub(super) struct StoredManifest {
    pub(super) manifest: Manifest,
    pub(super) version: Version,
}

/// Reads the manifest. Missing or damaged is [`Corrupt`](ErrorKind::Corrupt), a newer format [`Unsupported`](ErrorKind::Unsupported).
pub(super) async fn read(shared: &Shared, keys: &Keys) -> Result<StoredManifest> {
    let key = keys.manifest();
    let object = shared.store.get(&key, GetRange::Full).await.map_err(|e| match e.kind {
        StoreErrorKind::NotFound => {
            let message = format!(
                "manifest {key:?} is gone: the lane is not opened, so that no offset is used twice; restore the object from a backup"
            );
            Error::new(ErrorKind::Corrupt, message)
        }
        _ => e.into(),
    })?;
    let manifest = Manifest::decode(&object.bytes).map_err(|e| e.in_object(&key))?;
    Ok(StoredManifest { manifest, version: object.version })
}

/// Replaces `old` by `new`, however long it takes. [`NotLeader`](ErrorKind::NotLeader) if another writer replaced it first.
///
/// A refusal or a lost reply proves nothing: the manifest is read, and its nonce and counter say whether this very write has won.
pub(super) async fn replace(shared: &Shared, keys: &Keys, old: &StoredManifest, new: Manifest) -> Result<StoredManifest> {
    let key = keys.manifest();
    let body: Body = new.encode().into();
    let patience = Duration::from_millis(shared.settings.upload_deadline_ms);
    let mut backoff = Backoff::new();
    loop {
        let put = shared.store.put(&key, body.clone(), PutMode::Replace(old.version.clone()));
        let problem = match tokio::time::timeout(patience, put).await {
            Ok(Ok(version)) => return Ok(StoredManifest { manifest: new, version }),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} ms", patience.as_millis()),
        };
        match tokio::time::timeout(patience, read(shared, keys)).await {
            Ok(Ok(found)) if (found.manifest.nonce, found.manifest.counter) == (new.nonce, new.counter) => return Ok(found),
            Ok(Ok(found)) if found.version != old.version => {
                let message = format!("{key:?} was replaced by another writer, of epoch {}", found.manifest.epoch);
                return Err(Error::new(ErrorKind::NotLeader, message));
            }
            Ok(Err(error)) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => return Err(error),
            _ => {}
        }
        tracing::warn!(key, problem, "manifest was not replaced; trying again");
        backoff.pause(&shared.env).await;
    }
}

//! The bytes of bound components, in the object store by their digest.

use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};
use crate::metadata::Binding;
use crate::policy::signature::Trust;
use crate::policy::wasm::{digest, verify_digest};
use crate::policy::{PolicyHost, PolicySource};
use crate::store::{Body, GetRange, ObjectStore, PutMode, StoreErrorKind};

/// Keeps components, and loads them for the policy host.
pub(super) struct Components {
    store: Arc<dyn ObjectStore>,
    policies: PolicyHost,
    trust: Trust,
}

impl Components {
    pub(super) fn new(store: Arc<dyn ObjectStore>, policies: PolicyHost, trust: Trust) -> Self {
        Self { store, policies, trust }
    }

    /// Stores a component, unless it is there; a damaged one is mended.
    pub(super) async fn keep(&self, digest: &str, component: Bytes) -> Result<()> {
        let key = key_of(digest)?;
        match self.store.put(&key, Body::from(component.clone()), PutMode::Create).await {
            Ok(_) => return Ok(()),
            Err(e) if e.kind == StoreErrorKind::AlreadyExists => {}
            Err(e) => return Err(e.into()),
        }
        let found = self.store.get(&key, GetRange::Full).await?;
        if verify_digest(&found.bytes, digest).is_err() {
            tracing::warn!(key, "a stored component is damaged; it is written again");
            self.store.put(&key, Body::from(component), PutMode::Replace(found.version)).await?;
        }
        Ok(())
    }

    /// The component of a digest, from the store.
    pub(super) async fn bytes(&self, wanted: &str) -> Result<Bytes> {
        let key = key_of(wanted)?;
        let object = self.store.get(&key, GetRange::Full).await?;
        let found = digest(&object.bytes);
        if found != wanted {
            let message = format!("{key} is damaged: its digest is {found}; delete it and bind the component again");
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        Ok(object.bytes)
    }

    /// The plugin of a binding; the problem is for people.
    pub(super) async fn load(&self, binding: &Binding) -> Result<Arc<dyn PolicySource>, String> {
        // Whoever bound it may have trusted others, or nobody.
        let signature = Some(binding.signature.as_str()).filter(|signature| !signature.is_empty());
        self.trust.check(&binding.digest, signature).map_err(|e| e.to_string())?;
        let bytes = self.bytes(&binding.digest).await.map_err(|e| e.to_string())?;
        let plugin = self.policies.check_and_load(bytes).await.map_err(|e| e.to_string())?;
        if plugin.kinds().contains(&binding.kind) { Ok(plugin) } else { Err(format!("{} decides no {}", plugin.name(), binding.kind)) }
    }
}

/// A digest comes from metadata that others write: what is none must not become a key.
fn key_of(digest: &str) -> Result<String> {
    let hex = digest.strip_prefix("sha256:").filter(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
    let invalid = || Error::new(ErrorKind::InvalidInput, format!("{digest:?} is not `sha256:` and 64 hex digits"));
    hex.map(|hex| format!("plugins/{hex}.wasm")).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_digest_becomes_a_key() {
        let digest = digest(b"");
        assert_eq!(digest, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(key_of(&digest).unwrap(), format!("plugins/{}.wasm", &digest[7..]));
        for bad in ["", "sha256:", "sha256:../../x", &digest[..70], &digest.replace("sha256", "md5")] {
            key_of(bad).unwrap_err();
        }
    }
}

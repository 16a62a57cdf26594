//! Where plugins may come from and whose signatures count: the `[plugins]` section.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, MAX_WAIT_MS};
use super::store::S3Settings;

/// Where plugins come from, and whom this host believes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginSettings {
    /// Refuses every component that no trusted key has signed, at start and at run time.
    pub require_signed: bool,
    /// Longest fetch of one component, in milliseconds.
    pub fetch_timeout_ms: u64,
    /// A component that a `[[binding]]` names and that was not to be had at start is tried again after pauses that double from a second up to
    /// this, in milliseconds.
    pub retry_max_ms: u64,
    /// Keys whose signatures count.
    pub trust: Vec<TrustedKey>,
    /// How `s3://bucket/key` is reached; without it as the store is, if that is S3. Its `bucket` and `prefix` are not used.
    pub s3: Option<S3Settings>,
    /// Registries that `oci://` names and that need more than a name, by host and port.
    pub registry: BTreeMap<String, RegistrySettings>,
}

/// A key, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedKey {
    /// Whose; shown with what it has signed.
    pub name: String,
    /// `ed25519:` and 32 bytes in base64, as `tidegate plugin keygen` prints it.
    pub key: String,
}

/// How a registry is spoken to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RegistrySettings {
    /// Without TLS.
    pub plain_http: bool,
    /// Who this host is there; empty: nobody in particular.
    pub username: String,
    /// Goes with `username`.
    pub password: String,
    /// A file of certificates in PEM: authorities that count for this registry beside those of the machine.
    pub ca: Option<std::path::PathBuf>,
}

impl Default for PluginSettings {
    fn default() -> Self {
        Self {
            require_signed: false,
            fetch_timeout_ms: 30_000,
            retry_max_ms: 60_000,
            trust: Vec::new(),
            s3: None,
            registry: BTreeMap::new(),
        }
    }
}

impl PluginSettings {
    pub(super) fn check(&self, bounds: &mut Bounds) {
        bounds.range("plugins.fetch_timeout_ms", self.fetch_timeout_ms, 1..=MAX_WAIT_MS);
        bounds.range("plugins.retry_max_ms", self.retry_max_ms, 1..=MAX_WAIT_MS);
        for (at, trusted) in self.trust.iter().enumerate() {
            if trusted.name.trim().is_empty() {
                bounds.problem(&format!("plugins.trust[{at}].name"), "is empty: say whose key it is");
            }
            if let Some(other) = self.trust[..at].iter().position(|other| other.name == trusted.name) {
                let problem =
                    format!("is {:?} as plugins.trust[{other}].name: name them so that a signature tells whose it is", trusted.name);
                bounds.problem(&format!("plugins.trust[{at}].name"), problem);
            }
            if !is_key(&trusted.key) {
                let problem =
                    format!("is {:?}: expected `ed25519:` and 32 bytes in base64, as `tidegate plugin keygen` prints it", trusted.key);
                bounds.problem(&format!("plugins.trust[{at}].key"), problem);
            }
        }
        for (name, registry) in &self.registry {
            if registry.plain_http && registry.ca.is_some() {
                bounds.problem(&format!("plugins.registry.{name:?}.ca"), "is set and plain_http too: leave one of them out");
            }
        }
        if self.require_signed && self.trust.is_empty() {
            bounds.problem("plugins.require_signed", "is set and plugins.trust is empty: no component could be loaded; add a key");
        }
    }
}

fn is_key(text: &str) -> bool {
    use base64::Engine;
    let bytes = text.strip_prefix("ed25519:").and_then(|text| base64::engine::general_purpose::STANDARD.decode(text).ok());
    bytes.is_some_and(|bytes| bytes.len() == 32)
}

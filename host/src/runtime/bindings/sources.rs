//! Where components come from: a file, a directory with one component in it, `s3://bucket/key`, `oci://registry/name:tag@sha256:...`.
//!
//! What is fetched is bounded in size and time, and comes with its signature, if there is one: a file or an object of the same name and `.sig`, or an
//! annotation in a registry. What cannot be had is [`load.unavailable`](FaultClass::Unavailable) and says where it was looked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{rules, stable};
use crate::config::{PluginSettings, S3Settings, Settings, StoreSettings};
use crate::env::Env;
use crate::error::{Error, ErrorKind};
use crate::metrics::Metrics;
use crate::policy::FaultClass;
use crate::policy::wasm::{LoadError, verify_digest};
use crate::runtime::api::Component;
use crate::store::{self, GetRange, HttpClient, ObjectStore, StoreErrorKind};

mod oci;
mod reference;

use reference::Reference;

/// Longest signature, in bytes.
const SIGNATURE_BYTES: u64 = 4 << 10;
const S3: &str = "s3://";

/// Fetches components.
pub(super) struct Sources {
    plugins: PluginSettings,
    s3: Option<S3Settings>,
    directory: Option<PathBuf>,
    limit: u64,
    env: Env,
    metrics: Arc<Metrics>,
    http: HttpClient,
}

fn unavailable(problem: impl Into<String>, remedy: &str) -> LoadError {
    LoadError::new(FaultClass::Unavailable, problem, remedy)
}

/// Whether a name says where to fetch a component from, rather than which file it is.
pub(super) fn is_remote(source: &str) -> bool {
    source.starts_with(S3) || source.starts_with(reference::SCHEME)
}

impl Sources {
    pub(super) fn new(settings: &Settings, env: Env, metrics: Arc<Metrics>) -> Self {
        let of_store = match &settings.store {
            StoreSettings::S3(s3) => Some(s3.clone()),
            _ => None,
        };
        Self {
            plugins: settings.plugins.clone(),
            s3: settings.plugins.s3.clone().or(of_store),
            directory: settings.policy.directory.clone(),
            limit: settings.policy.component_bytes,
            env,
            metrics,
            http: HttpClient::default(),
        }
    }

    /// The component at a place, whatever kind of place it is; `pinned`: the digest that it must have.
    pub(super) async fn fetch(&self, source: &str, pinned: Option<&str>) -> Result<Component, LoadError> {
        let patience = Duration::from_millis(self.plugins.fetch_timeout_ms);
        let fetched = tokio::time::timeout(patience, self.fetch_from(source)).await;
        let late = |_| {
            unavailable(format!("{source} did not come within {} ms", patience.as_millis()), "raise plugins.fetch_timeout_ms, or try again")
        };
        let component = fetched.map_err(late)??;
        pinned.map_or(Ok(()), |pinned| verify_digest(&component.bytes, pinned))?;
        Ok(component)
    }

    async fn fetch_from(&self, source: &str) -> Result<Component, LoadError> {
        if let Some(place) = source.strip_prefix(S3) {
            self.in_s3(source, place).await
        } else if source.starts_with(reference::SCHEME) {
            self.in_registry(Reference::parse(source)?).await
        } else {
            self.at_path(&rules::locate(source, self.directory.as_deref())).await
        }
    }

    async fn at_path(&self, path: &Path) -> Result<Component, LoadError> {
        let missing = |problem: String| unavailable(problem, "name a component's file, or a directory with one component");
        let path = if path.is_dir() { only_component(path).map_err(missing)? } else { path.to_owned() };
        let bytes = stable::read(&path, self.limit).await.map_err(missing)?;
        let signature = match stable::read(&beside(&path), SIGNATURE_BYTES).await {
            Ok(signature) => Some(text(signature)?),
            Err(_) if !beside(&path).exists() => None,
            Err(problem) => return Err(missing(problem)),
        };
        Ok(Component { bytes: bytes.into(), source: path.display().to_string(), signature })
    }

    async fn in_s3(&self, source: &str, place: &str) -> Result<Component, LoadError> {
        let Some((bucket, key)) = place.split_once('/').filter(|(bucket, key)| !bucket.is_empty() && !key.is_empty()) else {
            return Err(unavailable(format!("{source:?} is no place in S3"), "expected s3://bucket/key"));
        };
        let Some(s3) = &self.s3 else {
            let problem = format!("{source}: this host's store is not S3, and plugins.s3 is not set");
            return Err(unavailable(problem, "set plugins.s3 (endpoint, region, keys)"));
        };
        let settings = StoreSettings::S3(S3Settings { bucket: bucket.to_owned(), prefix: String::new(), ..s3.clone() });
        let failed = |e: &dyn std::fmt::Display| unavailable(format!("{source}: {e}"), "check the name, and what this host may read there");
        let bucket = store::connect(&settings, &self.env, &self.metrics).await.map_err(|e| failed(&e))?;
        let size = bucket.head(key).await.map_err(|e| failed(&e))?.size;
        if size > self.limit {
            let problem = format!("{source} has {size} bytes, at most {} are allowed", self.limit);
            return Err(LoadError::new(
                FaultClass::TooLarge,
                problem,
                "build it with the profile `plugin`, or raise policy.component_bytes",
            ));
        }
        let bytes = bucket.get(key, GetRange::Full).await.map_err(|e| failed(&e))?.bytes;
        let signature = signature_of(&*bucket, key).await.map_err(|e| failed(&e))?;
        Ok(Component { bytes, source: source.to_owned(), signature: signature.map(text).transpose()? })
    }
}

/// The signature beside an object, if there is one.
async fn signature_of(bucket: &dyn ObjectStore, key: &str) -> Result<Option<Vec<u8>>, store::StoreError> {
    match bucket.get(&format!("{key}.sig"), GetRange::Bounded(0..SIGNATURE_BYTES)).await {
        Ok(object) => Ok(Some(object.bytes.to_vec())),
        Err(e) if e.kind == StoreErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

fn text(signature: Vec<u8>) -> Result<String, LoadError> {
    let wrong = |_| LoadError::new(FaultClass::BadSignature, "the signature is no text", "sign the component again");
    String::from_utf8(signature).map_err(wrong)
}

/// Where the signature of a file lies.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sig");
    name.into()
}

/// The component of a directory that has one; the problem is for people.
fn only_component(directory: &Path) -> Result<PathBuf, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", directory.display());
    let entries = std::fs::read_dir(directory).map_err(failed)?.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|ending| ending == "wasm")).collect();
    found.sort();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(format!("{} has no component (*.wasm)", directory.display())),
        several => {
            let names: Vec<String> = several.iter().take(16).map(|path| path.display().to_string()).collect();
            Err(format!("{} has {} components: name one of {}", directory.display(), several.len(), names.join(", ")))
        }
    }
}

/// A refusal as an error of the host.
pub(super) fn refused(refusal: LoadError) -> Error {
    let kind = if refusal.class() == FaultClass::Unavailable { ErrorKind::Unavailable } else { ErrorKind::InvalidInput };
    Error::new(kind, "the component cannot be had").with_source(refusal)
}

#[cfg(test)]
mod tests;

//! From settings to a store that is ready for use.

use std::sync::Arc;
use std::time::Duration;

use super::{LocalStore, MemoryStore, ObjectStore, Probe, RetryOptions, Retrying, S3Store, SingleWriter, probe};
use crate::config::{S3Settings, StoreSettings};
use crate::env::Env;
use crate::error::{Error, ErrorKind, Result};
use crate::metrics::Metrics;

/// A get or a delete may take so many time-outs in all: the S3 store itself watches that bytes keep coming.
const LONG: u32 = 30;

/// Opens the store that the settings name, with retries and limits, and probes it: a store that cannot keep writers
/// apart is refused, unless the settings state that there is only one.
pub async fn open(settings: &StoreSettings, env: &Env, metrics: &Arc<Metrics>) -> Result<Arc<dyn ObjectStore>> {
    let store = connect(settings, env, metrics).await?;
    let found = probe(&*store, env).await?;
    match (settings, found) {
        (StoreSettings::S3(s3), Probe::Unsafe(what)) if s3.single_writer => {
            tracing::warn!(
                bucket = s3.bucket,
                prefix = s3.prefix,
                "THE STORE CANNOT KEEP WRITERS APART ({what}) and store.single_writer is set: a second process here loses data"
            );
            let unconditional = S3Store::connect(s3, env.clone(), metrics.clone())?.without_conditions();
            Ok(retrying(Arc::new(SingleWriter::new(Arc::new(unconditional))), s3_options(s3), env, metrics))
        }
        (_, found) => found.require_safe().map(|()| store),
    }
}

/// The same without the probe: for tools that only read.
pub async fn connect(settings: &StoreSettings, env: &Env, metrics: &Arc<Metrics>) -> Result<Arc<dyn ObjectStore>> {
    match settings {
        StoreSettings::Memory => Ok(retrying(Arc::new(MemoryStore::new(env.clone())), RetryOptions::default(), env, metrics)),
        StoreSettings::Local { path } => {
            let (path, opening) = (path.clone(), env.clone());
            let opened = tokio::task::spawn_blocking(move || LocalStore::open(&path, &opening));
            let store =
                opened.await.map_err(|e| Error::new(ErrorKind::Closed, "opening the local store was cut short").with_source(e))??;
            Ok(retrying(Arc::new(store), local_options(), env, metrics))
        }
        StoreSettings::S3(s3) => {
            let store = S3Store::connect(s3, env.clone(), metrics.clone())?;
            Ok(retrying(Arc::new(store), s3_options(s3), env, metrics))
        }
    }
}

fn retrying(store: Arc<dyn ObjectStore>, options: RetryOptions, env: &Env, metrics: &Arc<Metrics>) -> Arc<dyn ObjectStore> {
    Arc::new(Retrying::new(store, options, env.clone(), metrics.clone()))
}

/// A disk that syncs may take its time; what it was asked it does, so patience costs less than doubt.
fn local_options() -> RetryOptions {
    let timeout = Duration::from_secs(30);
    RetryOptions { timeout, long_timeout: timeout, ..RetryOptions::default() }
}

fn s3_options(s3: &S3Settings) -> RetryOptions {
    let timeout = Duration::from_millis(s3.timeout_ms);
    RetryOptions { timeout, long_timeout: timeout * LONG, tries: s3.tries, concurrency: s3.concurrency, store_times_gets: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Spoil = fn(&mut S3Settings);

    #[tokio::test]
    async fn memory_and_local_open_safely() {
        let dir = tempfile::tempdir().unwrap();
        let (env, metrics) = (Env::system(), Arc::new(Metrics::default()));
        for settings in [StoreSettings::Memory, StoreSettings::Local { path: dir.path().join("new/store") }] {
            let store = open(&settings, &env, &metrics).await.unwrap();
            assert!(store.list("", None, 10).await.unwrap().is_empty());
        }
    }

    #[tokio::test]
    async fn a_bad_s3_setting_is_an_error_that_names_the_key() {
        let good = S3Settings { bucket: "b".into(), access_key: Some("a".into()), secret_key: Some("s".into()), ..S3Settings::default() };
        let cases: [(&str, Spoil); 9] = [
            ("store.bucket", |s| s.bucket.clear()),
            ("store.prefix", |s| s.prefix = "../x".into()),
            ("store.prefix", |s| s.prefix = "x/".into()),
            ("store.region", |s| s.region.clear()),
            ("store.endpoint", |s| s.endpoint = Some("127.0.0.1:8333".into())),
            ("store.secret_key", |s| s.secret_key = None),
            ("store.timeout_ms", |s| s.timeout_ms = 0),
            ("store.tries", |s| s.tries = 0),
            ("store.concurrency", |s| s.concurrency = 0),
        ];
        for (key, spoil) in cases {
            let mut settings = good.clone();
            spoil(&mut settings);
            let error = connect(&StoreSettings::S3(settings), &Env::system(), &Arc::new(Metrics::default())).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{key}");
            assert!(error.message().contains(key), "{key}: {error}");
        }
    }
}

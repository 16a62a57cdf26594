//! Where objects live: the `[store]` section.

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, MAX_WAIT_MS};

/// Which object store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum StoreSettings {
    /// A directory on a local file system.
    Local {
        /// The directory; created if missing.
        path: std::path::PathBuf,
    },
    /// S3 or a server that speaks it.
    S3(S3Settings),
    /// Memory: everything is lost at exit. For tests and trials.
    Memory,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self::Local { path: "tidegate-data".into() }
    }
}

/// An S3 bucket and how to talk to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct S3Settings {
    /// Bucket name; it must exist.
    pub bucket: String,
    /// Prepended to every key, without a trailing slash; several clusters can share a bucket.
    pub prefix: String,
    /// Region; AWS needs the right one.
    pub region: String,
    /// Base URL of a server that is not AWS, such as `http://127.0.0.1:8333`.
    pub endpoint: Option<String>,
    /// Path-style addresses (`endpoint/bucket/key`): most servers that are not AWS want them.
    pub path_style: bool,
    /// Access key; without it the environment (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`) is read.
    pub access_key: Option<String>,
    /// Secret key; goes with `access_key`.
    pub secret_key: Option<String>,
    /// Time-out of one try of a request, in milliseconds; a body gets so long without a byte.
    pub timeout_ms: u64,
    /// Tries of a request, the first included, before its error is reported.
    pub tries: u32,
    /// Requests in flight at most; shrinks by itself while the store throttles.
    pub concurrency: u32,
    /// States that no other process writes to this prefix, and so lifts the need for conditional puts. Two writers then lose data.
    pub single_writer: bool,
}

impl Default for S3Settings {
    fn default() -> Self {
        Self {
            bucket: String::new(),
            prefix: String::new(),
            region: "us-east-1".into(),
            endpoint: None,
            path_style: true,
            access_key: None,
            secret_key: None,
            timeout_ms: 10_000,
            tries: 5,
            concurrency: 128,
            single_writer: false,
        }
    }
}

impl StoreSettings {
    pub(super) fn check(&self, bounds: &mut Bounds) {
        match self {
            Self::Local { path } if path.as_os_str().is_empty() => bounds.problem("store.path", "is empty: name a directory"),
            Self::S3(s3) => s3.check(bounds),
            Self::Local { .. } | Self::Memory => {}
        }
    }
}

impl S3Settings {
    fn check(&self, bounds: &mut Bounds) {
        if !is_bucket_name(&self.bucket) {
            bounds.problem(
                "store.bucket",
                format!("is {:?}: a bucket's name has 3 to 63 of a-z, 0-9, `.` and `-`, and must be given", self.bucket),
            );
        }
        if !is_prefix(&self.prefix) {
            bounds.problem(
                "store.prefix",
                format!("is {:?}: expected segments of A-Z a-z 0-9 . _ - with `/` between them, none at either end", self.prefix),
            );
        }
        if self.region.is_empty() {
            bounds.problem("store.region", "is empty: AWS needs the bucket's region, other servers take any word");
        }
        if let Some(endpoint) = &self.endpoint
            && !["http://", "https://"].iter().any(|scheme| endpoint.len() > scheme.len() && endpoint.starts_with(scheme))
        {
            bounds.problem("store.endpoint", format!("is {endpoint:?}: expected a base URL such as \"http://127.0.0.1:8333\""));
        }
        if self.access_key.is_some() != self.secret_key.is_some() {
            bounds.problem("store.access_key", "and store.secret_key go together: give both, or neither to take them from the environment");
        }
        bounds.range("store.timeout_ms", self.timeout_ms, 1..=MAX_WAIT_MS);
        bounds.range("store.tries", self.tries, 1..=20);
        bounds.range("store.concurrency", self.concurrency, 1..=10_000);
    }
}

fn is_bucket_name(name: &str) -> bool {
    (3..=63).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-".contains(&b))
}

/// A key prefix is empty or a path of key segments: what is appended to it must stay a valid key.
fn is_prefix(prefix: &str) -> bool {
    let valid_segment = |s: &str| !matches!(s, "" | "." | "..") && s.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    prefix.is_empty() || (prefix.len() <= 512 && prefix.split('/').all(valid_segment))
}

//! Object stores: the boundary to S3, a local directory, and a scripted memory store.
//!
//! The trait is small on purpose: whole-object puts with a precondition, ranged gets, list, delete. No
//! multipart (a segment is one PUT of at most 256 MiB), no copy, no rename.
//!
//! Ambiguity is part of the contract: a put may be retried by a wrapper, and a reply may be lost. So after
//! [`StoreErrorKind::AlreadyExists`], [`StoreErrorKind::VersionMismatch`] or [`StoreErrorKind::OutcomeUnknown`]
//! the caller reads the object to learn whether its own bytes won.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

pub use crate::codec::Body;
use crate::error::{Error, ErrorKind};
use crate::types::TimestampMs;

mod budget;
pub mod conformance;
mod http;
mod key;
mod local;
mod memory;
mod open;
mod probe;
mod retrying;
mod s3;
mod single_writer;

pub use crate::metrics::StoreStats;
pub use http::{HttpAnswer, HttpClient, HttpGet};
pub use key::{MAX_KEY_BYTES, MAX_OBJECT_BYTES};
pub use local::LocalStore;
pub use memory::{Conditions, Damage, Effect, Fault, Gate, MemoryStore, Reply, Request, RequestRecord, Script};
pub use open::{connect, open};
pub use probe::{Probe, probe};
pub use retrying::{RetryOptions, Retrying};
pub use s3::S3Store;
pub use single_writer::SingleWriter;

/// Identifies one state of an object (S3: its ETag). Opaque; compared for equality only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version(pub Arc<str>);

/// The precondition of a put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutMode {
    /// Only if the key is free (`If-None-Match: *`).
    Create,
    /// Only if the object is still at this version (`If-Match`).
    Replace(Version),
}

/// Which bytes of an object to get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GetRange {
    /// All of it.
    Full,
    /// These positions, at least one; a range past the end is cut there, one that starts at or past it is an error.
    Bounded(Range<u64>),
    /// The last so many bytes, at least one, or all where there are fewer.
    Tail(u64),
}

/// What a listing or a head tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Full key.
    pub key: String,
    /// Size in bytes.
    pub size: u64,
    /// State of the object; a listing may leave it out.
    pub version: Option<Version>,
    /// When it was written, by the store's clock.
    pub modified_ms: TimestampMs,
}

/// The answer to a get.
#[derive(Clone, Debug)]
pub struct Object {
    /// The bytes asked for.
    pub bytes: Bytes,
    /// Position of the first of them in the object.
    pub position: u64,
    /// Size of the whole object.
    pub size: u64,
    /// State of the object.
    pub version: Version,
}

/// An object store. Keys are `/`-separated segments of `[A-Za-z0-9._-]`, at most 1,024 bytes, no segment `.` or `..`.
#[async_trait]
pub trait ObjectStore: Send + Sync + fmt::Debug + 'static {
    /// Writes a whole object durably, or nothing. Readers see all of it or none.
    async fn put(&self, key: &str, body: Body, mode: PutMode) -> Result<Version, StoreError>;

    /// Reads bytes of one state of an object.
    async fn get(&self, key: &str, range: GetRange) -> Result<Object, StoreError>;

    /// Size and version of an object.
    async fn head(&self, key: &str) -> Result<ObjectMeta, StoreError>;

    /// All objects whose key starts with `prefix` and sorts after `start_after`, in key order, at most `limit`.
    /// Pages of the store are joined; a page that fails is asked for again.
    ///
    /// Some S3 servers keep folders and sort a folder by its bare name, so that `a/1` comes before `a-b/1`. Key
    /// layouts therefore give sibling folders names of one length, and `start_after` is a key and no folder.
    async fn list(&self, prefix: &str, start_after: Option<&str>, limit: usize) -> Result<Vec<ObjectMeta>, StoreError>;

    /// Deletes objects; a key that is gone is fine. On an error some may be deleted; the call may be repeated.
    async fn delete(&self, keys: &[String]) -> Result<(), StoreError>;

    /// Whether a segment of so many bytes leaves room for the small writes that make room (manifests, notes of deletions). A store without an
    /// end says yes.
    fn has_room(&self, bytes: u64) -> bool {
        let _ = bytes;
        true
    }
}

/// The requests of an [`ObjectStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is the method of its name")]
pub enum Operation {
    Put,
    Get,
    Head,
    List,
    Delete,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 5] = [Self::Put, Self::Get, Self::Head, Self::List, Self::Delete];

    /// `put`, `get`, `head`, `list` or `delete`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Get => "get",
            Self::Head => "head",
            Self::List => "list",
            Self::Delete => "delete",
        }
    }
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreErrorKind {
    /// No such object (also: the range starts past its end).
    NotFound,
    /// [`PutMode::Create`] found the key taken; after a retry perhaps by the caller's own bytes.
    AlreadyExists,
    /// [`PutMode::Replace`] found another version or none.
    VersionMismatch,
    /// The store refused because of a concurrent request (HTTP 409); try again.
    Conflict,
    /// The store asks to slow down (503 SlowDown, 429).
    Throttled,
    /// No answer in time, or the connection broke: a write may have happened and may still happen.
    OutcomeUnknown,
    /// The request failed for a passing reason (5xx, connection refused); a write did not happen.
    Unavailable,
    /// No room left; recovers once there is.
    Full,
    /// The store lacks this function (501), or refuses the precondition.
    Unsupported,
    /// Credentials, permissions, an unknown bucket, a malformed request: a person must act.
    Refused,
    /// The bytes that came are not those that were stored (checksum).
    Corrupt,
}

impl StoreErrorKind {
    /// Whether the same request may succeed later without anybody acting.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Conflict | Self::Throttled | Self::OutcomeUnknown | Self::Unavailable | Self::Full)
    }

    /// All kinds.
    pub const ALL: [StoreErrorKind; 11] = [
        Self::NotFound,
        Self::AlreadyExists,
        Self::VersionMismatch,
        Self::Conflict,
        Self::Throttled,
        Self::OutcomeUnknown,
        Self::Unavailable,
        Self::Full,
        Self::Unsupported,
        Self::Refused,
        Self::Corrupt,
    ];

    /// Its name in metrics, such as `already_exists`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::AlreadyExists => "already_exists",
            Self::VersionMismatch => "version_mismatch",
            Self::Conflict => "conflict",
            Self::Throttled => "throttled",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Unavailable => "unavailable",
            Self::Full => "full",
            Self::Unsupported => "unsupported",
            Self::Refused => "refused",
            Self::Corrupt => "corrupt",
        }
    }
}

/// A failed request to an object store.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{operation} {key:?}: {message}")]
pub struct StoreError {
    /// Why.
    pub kind: StoreErrorKind,
    /// `put`, `get`, `head`, `list` or `delete`.
    pub operation: &'static str,
    /// Key or prefix.
    pub key: String,
    /// What the store said.
    pub message: String,
}

impl StoreError {
    /// A failure of `operation` on `key` (or prefix).
    pub fn new(kind: StoreErrorKind, operation: Operation, key: &str, message: impl Into<String>) -> Self {
        Self { kind, operation: operation.as_str(), key: key.to_owned(), message: message.into() }
    }
}

impl From<StoreError> for Error {
    fn from(e: StoreError) -> Self {
        use StoreErrorKind as K;
        let kind = match e.kind {
            K::NotFound => ErrorKind::NotFound,
            K::AlreadyExists | K::VersionMismatch => ErrorKind::AlreadyExists,
            K::Conflict | K::Throttled | K::Unavailable | K::Full => ErrorKind::Unavailable,
            K::OutcomeUnknown => ErrorKind::OutcomeUnknown,
            K::Unsupported => ErrorKind::Unsupported,
            K::Refused => ErrorKind::InvalidInput,
            K::Corrupt => ErrorKind::Corrupt,
        };
        Error::new(kind, "object store request failed").with_source(e)
    }
}

//! The objects themselves: pure, under the store's lock.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::{Bytes, BytesMut};

use super::sparse::Contents;
use super::{Conditions, Damage};
use crate::store::key::resolve;
use crate::store::{Body, GetRange, Object, ObjectMeta, Operation, PutMode, StoreError, StoreErrorKind, Version};
use crate::types::TimestampMs;

#[derive(Default)]
pub(super) struct Objects {
    pub(super) conditions: Conditions,
    /// Runs of zeros are left out.
    pub(super) sparse: bool,
    objects: BTreeMap<String, Stored>,
    /// Counts the writes: versions never repeat, even for equal bytes.
    writes: u64,
}

struct Stored {
    contents: Contents,
    version: Version,
    modified_ms: TimestampMs,
}

impl Stored {
    fn meta(&self, key: &str) -> ObjectMeta {
        ObjectMeta {
            key: key.to_owned(),
            size: self.contents.len() as u64,
            version: Some(self.version.clone()),
            modified_ms: self.modified_ms,
        }
    }
}

impl Objects {
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn snapshot(&self) -> BTreeMap<String, Bytes> {
        self.objects.iter().map(|(key, stored)| (key.clone(), stored.contents.all())).collect()
    }

    pub(super) fn insert(&mut self, key: &str, contents: Contents, now: TimestampMs) -> Version {
        self.writes += 1;
        let version = Version(format!("v{}", self.writes).into());
        self.objects.insert(key.to_owned(), Stored { contents, version: version.clone(), modified_ms: now });
        version
    }

    pub(super) fn remove(&mut self, key: &str) -> bool {
        self.objects.remove(key).is_some()
    }

    pub(super) fn tamper(&mut self, key: &str, change: impl FnOnce(&mut BytesMut)) -> bool {
        let Some(stored) = self.objects.get_mut(key) else { return false };
        let mut bytes = BytesMut::from(stored.contents.all());
        change(&mut bytes);
        stored.contents = Contents::Whole(bytes.freeze());
        true
    }

    pub(super) fn put(&mut self, key: &str, body: &Body, mode: &PutMode, now: TimestampMs) -> Result<Version, StoreError> {
        self.check(key, mode)?;
        let contents = if self.sparse { Contents::sparse(body) } else { Contents::whole(body) };
        Ok(self.insert(key, contents, now))
    }

    fn check(&self, key: &str, mode: &PutMode) -> Result<(), StoreError> {
        let failed = |kind, message: String| Err(StoreError::new(kind, Operation::Put, key, message));
        match self.conditions {
            Conditions::Honoured => {}
            Conditions::Ignored => return Ok(()),
            Conditions::Refused => return failed(StoreErrorKind::Unsupported, "conditional puts are not implemented".to_owned()),
        }
        match (mode, self.objects.get(key)) {
            (PutMode::Create, None) => Ok(()),
            (PutMode::Create, Some(_)) => failed(StoreErrorKind::AlreadyExists, "the key is taken".to_owned()),
            (PutMode::Replace(version), Some(stored)) if stored.version == *version => Ok(()),
            (PutMode::Replace(version), found) => {
                let found = found.map(|stored| &stored.version.0);
                failed(StoreErrorKind::VersionMismatch, format!("expected version {}, found {found:?}", version.0))
            }
        }
    }

    pub(super) fn get(&self, key: &str, range: &GetRange) -> Result<Object, StoreError> {
        let stored = self.stored(Operation::Get, key)?;
        let size = stored.contents.len() as u64;
        let positions = resolve(key, range, size)?;
        let bytes = stored.contents.slice(positions.start as usize..positions.end as usize);
        Ok(Object { bytes, position: positions.start, size, version: stored.version.clone() })
    }

    pub(super) fn head(&self, key: &str) -> Result<ObjectMeta, StoreError> {
        self.stored(Operation::Head, key).map(|stored| stored.meta(key))
    }

    pub(super) fn list(&self, prefix: &str, start_after: Option<&str>, limit: usize) -> Vec<ObjectMeta> {
        let from = match start_after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let range = self.objects.range::<str, _>((from, Bound::Unbounded));
        let matching = range.take_while(|(key, _)| key.starts_with(prefix)).take(limit);
        matching.map(|(key, stored)| stored.meta(key)).collect()
    }

    fn stored(&self, operation: Operation, key: &str) -> Result<&Stored, StoreError> {
        self.objects.get(key).ok_or_else(|| StoreError::new(StoreErrorKind::NotFound, operation, key, "no such object"))
    }
}

impl Damage {
    pub(super) fn apply(self, bytes: Bytes) -> Bytes {
        match self {
            Damage::Truncate(missing) => bytes.slice(..bytes.len().saturating_sub(missing)),
            Damage::Flip(_) if bytes.is_empty() => bytes,
            Damage::Flip(index) => {
                let mut damaged = BytesMut::from(&bytes[..]);
                let index = index % damaged.len();
                damaged[index] ^= 1;
                damaged.freeze()
            }
        }
    }
}

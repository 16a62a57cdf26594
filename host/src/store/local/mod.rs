//! A store in a directory of a local file system. An object is a plain file that holds exactly its bytes.
//!
//! - **Create** is a temporary file, `fsync`, a rename that replaces nothing (or `link(2)` where the file system knows no such),
//!   `fsync` of the directory: the name appears with all its bytes or not at all, and only if it was free. Who finds the name taken syncs the file and its
//!   directory before saying so: the answer must survive a power cut as much as a success.
//! - **Replace** holds a lock (`flock`), compares the version, renames over the name, syncs the directory.
//! - A **version** is modification time (ns), inode and length. A replace sets the new file's modification time
//!   above the old one's where the clock did not, so the version changes with every replace, whatever the clock does.
//! - **Folders** that appear are synced up to the root, once for each process; a folder is removed only while no
//!   process has the store open, so what was synced stays.
//! - Opening syncs the file system: what a process that died had named but not yet synced is durable before
//!   anybody acts on it.
//!
//! Names that start with `~` are no keys: `~lock` is held (shared) by whoever has the store open, `~locks` are
//! those of replaces, `~tmp` holds temporary files, swept by whoever opens the store first, `~reserve` is room kept back (`reserve`).
//!
//! A key may not be a folder of another (`a` and `a/b`), nor have a segment of more than 255 bytes. Network file
//! systems are out: their `flock` and renames promise less.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::key::{check_key, check_prefix, check_range};
use super::{Body, GetRange, Object, ObjectMeta, ObjectStore, Operation, PutMode, StoreError, StoreErrorKind, Version};
use crate::env::Env;
use crate::error::{Error, ErrorKind, Result};

mod cached;
mod disk;
mod file;
mod open;
mod reserve;
mod walk;

use disk::{Disk, Failure};

/// Threads that wait for the disk at a time.
const THREADS: usize = 32;
/// Tries to get the lock of a replace, and the pause between two.
const LOCK_TRIES: u32 = 1_000;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Objects in a directory. Clones share it.
#[derive(Clone)]
pub struct LocalStore {
    disk: Arc<Disk>,
    threads: Arc<Semaphore>,
}

impl std::fmt::Debug for LocalStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalStore").field("path", &self.disk.root()).finish()
    }
}

impl LocalStore {
    /// Opens (or makes) the directory, and sweeps it if no other process has it open. Blocks for some disk requests.
    pub fn open(path: &Path, env: &Env) -> Result<Self> {
        Self::open_with(path, env, Box::new(file::Plain))
    }

    fn open_with(path: &Path, env: &Env, medium: Box<dyn file::Medium>) -> Result<Self> {
        let disk = Disk::open(path, env, medium).map_err(|e| {
            let message = format!("cannot open the store in {}; check that it is a directory this process may write", path.display());
            Error::new(ErrorKind::InvalidInput, message).with_source(e)
        })?;
        Ok(Self { disk: Arc::new(disk), threads: Arc::new(Semaphore::new(THREADS)) })
    }

    /// Where an object's file is.
    pub fn path(&self, key: &str) -> Result<PathBuf, StoreError> {
        check_key(Operation::Get, key)?;
        Ok(self.disk.path(key))
    }

    /// Runs `work` on a thread that may block. Once begun it ends by itself, caller or no caller.
    async fn blocking<T, F>(&self, operation: Operation, key: &str, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Disk) -> Result<T, Failure> + Send + 'static,
    {
        let permit = self.threads.clone().acquire_owned().await.expect("the semaphore is never closed");
        let disk = self.disk.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&disk)
        });
        match done.await {
            Ok(result) => result.map_err(|failure| failure.into_error(operation, key)),
            Err(e) => Err(StoreError::new(StoreErrorKind::OutcomeUnknown, operation, key, format!("the thread did not finish: {e}"))),
        }
    }

    async fn replace(&self, key: &str, body: Body, version: Version) -> Result<Version, StoreError> {
        for _ in 0..LOCK_TRIES {
            let (owned, body, version) = (key.to_owned(), body.clone(), version.clone());
            if let Some(version) = self.blocking(Operation::Put, key, move |disk| disk.replace(&owned, &body, &version)).await? {
                return Ok(version);
            }
            tokio::time::sleep(LOCK_PAUSE).await;
        }
        Err(StoreError::new(StoreErrorKind::Conflict, Operation::Put, key, "another process holds the lock of this key"))
    }
}

#[async_trait]
impl ObjectStore for LocalStore {
    async fn put(&self, key: &str, body: Body, mode: PutMode) -> Result<Version, StoreError> {
        check_key(Operation::Put, key)?;
        match mode {
            PutMode::Create => {
                let owned = key.to_owned();
                self.blocking(Operation::Put, key, move |disk| disk.create(&owned, &body)).await
            }
            PutMode::Replace(version) => self.replace(key, body, version).await,
        }
    }

    async fn get(&self, key: &str, range: GetRange) -> Result<Object, StoreError> {
        check_key(Operation::Get, key)?;
        check_range(key, &range)?;
        if let Some(object) = self.disk.get_cached(key, &range) {
            return Ok(object);
        }
        let owned = key.to_owned();
        self.blocking(Operation::Get, key, move |disk| disk.get(&owned, &range)).await
    }

    async fn head(&self, key: &str) -> Result<ObjectMeta, StoreError> {
        check_key(Operation::Head, key)?;
        let owned = key.to_owned();
        self.blocking(Operation::Head, key, move |disk| disk.head(&owned)).await
    }

    async fn list(&self, prefix: &str, start_after: Option<&str>, limit: usize) -> Result<Vec<ObjectMeta>, StoreError> {
        check_prefix(Operation::List, prefix)?;
        let (owned, start_after) = (prefix.to_owned(), start_after.map(str::to_owned));
        self.blocking(Operation::List, prefix, move |disk| {
            walk::list(disk.root(), &owned, start_after.as_deref(), limit).map_err(Failure::from)
        })
        .await
    }

    async fn delete(&self, keys: &[String]) -> Result<(), StoreError> {
        for key in keys {
            check_key(Operation::Delete, key)?;
        }
        let Some(first) = keys.first() else { return Ok(()) };
        let owned = keys.to_vec();
        self.blocking(Operation::Delete, first, move |disk| disk.delete(&owned)).await
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.disk.has_room(bytes)
    }
}

/// What an error of the disk means for a write that has not taken effect.
fn kind_of(error: &io::Error) -> StoreErrorKind {
    use io::ErrorKind as E;
    match error.kind() {
        E::StorageFull | E::QuotaExceeded | E::FileTooLarge => StoreErrorKind::Full,
        E::NotFound => StoreErrorKind::NotFound,
        E::PermissionDenied | E::ReadOnlyFilesystem | E::NotADirectory | E::IsADirectory | E::InvalidFilename | E::Unsupported => {
            StoreErrorKind::Refused
        }
        _ => StoreErrorKind::Unavailable,
    }
}

#[cfg(test)]
mod tests;

//! The requests, as blocking calls.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::BytesMut;
use parking_lot::Mutex;
use rustix::fs::{FlockOperation, flock};

use super::cached::KernelCache;
use super::file::{Medium, Temporary, modified_ms, modify_after, sync_dir, version};
use super::kind_of;
use super::reserve::Reserve;
use crate::store::key::resolve;
use crate::store::{Body, GetRange, Object, ObjectMeta, Operation, StoreError, StoreErrorKind, Version};

/// Locks that the keys share: a replace waits for at most those of its lock's other keys.
const LOCKS: u32 = 256;
/// Folders remembered as synced; beyond, all are forgotten and synced again.
const SYNCED_FOLDERS: usize = 1 << 16;

/// An open directory.
pub(super) struct Disk {
    pub(super) root: PathBuf,
    pub(super) temporary: PathBuf,
    pub(super) locks: PathBuf,
    /// Distinguishes this process's temporary files.
    pub(super) instance: String,
    pub(super) counter: AtomicU64,
    /// Folders whose names are durable up to the root.
    pub(super) synced: Mutex<BTreeSet<PathBuf>>,
    pub(super) medium: Box<dyn Medium>,
    pub(super) reserve: Reserve,
    pub(super) cache: KernelCache,
    /// Locked (shared) as long as the store is open.
    pub(super) _in_use: File,
}

/// Why a request failed, before it is told which request it was.
#[derive(Debug)]
pub(super) enum Failure {
    Disk(io::Error),
    Store(StoreErrorKind, String),
    Error(StoreError),
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        Self::Disk(e)
    }
}

impl Failure {
    pub(super) fn into_error(self, operation: Operation, key: &str) -> StoreError {
        match self {
            Self::Disk(e) => StoreError::new(kind_of(&e), operation, key, e.to_string()),
            Self::Store(kind, message) => StoreError::new(kind, operation, key, message),
            Self::Error(error) => error,
        }
    }

    fn is_full(&self) -> bool {
        matches!(self, Self::Disk(e) if kind_of(e) == StoreErrorKind::Full)
    }

    /// The name is there, but not surely for ever.
    fn unsynced(e: io::Error) -> Self {
        Self::Store(StoreErrorKind::OutcomeUnknown, format!("the object was written, its folder could not be synced: {e}"))
    }
}

impl Disk {
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The file of a checked key.
    pub(super) fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    /// Whether a segment of so many bytes leaves room for the writes that make room.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.reserve.has_room(bytes, &*self.medium)
    }

    pub(super) fn create(&self, key: &str, body: &Body) -> Result<Version, Failure> {
        self.within_reserve(|| self.try_create(key, body))
    }

    /// `None`: another process holds the lock.
    pub(super) fn replace(&self, key: &str, body: &Body, expected: &Version) -> Result<Option<Version>, Failure> {
        self.within_reserve(|| self.try_replace(key, body, expected))
    }

    /// Does it again with the room that was kept back, if there is none without.
    fn within_reserve<T>(&self, write: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
        match write() {
            Err(failure) if failure.is_full() && self.reserve.release() => write(),
            outcome => outcome,
        }
    }

    fn try_create(&self, key: &str, body: &Body) -> Result<Version, Failure> {
        let path = self.path(key);
        let folder = path.parent().expect("a key's file lies in the root or below").to_owned();
        let temporary = self.write_temporary(body, None)?;
        let version = version(&temporary.file.metadata()?);
        self.make_folder(&folder)?;
        match temporary.name(&path) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(self.taken(&path, &folder)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(Failure::Store(StoreErrorKind::Unavailable, format!("its folder was removed meanwhile: {e}")));
            }
            Err(e) => return Err(e.into()),
        }
        sync_dir(&folder).map_err(Failure::unsynced)?;
        Ok(version)
    }

    /// The answer to a create that found the name taken; true also after a power cut.
    fn taken(&self, path: &Path, folder: &Path) -> Failure {
        let synced =
            File::open(path).and_then(|file| file.sync_all()).and_then(|()| self.make_folder(folder)).and_then(|()| sync_dir(folder));
        match synced {
            Ok(()) => Failure::Store(StoreErrorKind::AlreadyExists, "the key is taken".to_owned()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Failure::Store(StoreErrorKind::Conflict, "the object was deleted meanwhile".to_owned())
            }
            Err(e) => Failure::Store(StoreErrorKind::Unavailable, format!("the key is taken by an object that could not be synced: {e}")),
        }
    }

    fn try_replace(&self, key: &str, body: &Body, expected: &Version) -> Result<Option<Version>, Failure> {
        let path = self.path(key);
        let folder = path.parent().expect("a key's file lies in the root or below").to_owned();
        let lock = File::options().create(true).truncate(false).write(true).open(self.lock_path(key))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(e) => return Err(io::Error::from(e).into()),
        }
        let mismatch =
            |found: String| Failure::Store(StoreErrorKind::VersionMismatch, format!("expected version {}, found {found}", expected.0));
        let old = match path.metadata() {
            Ok(old) => old,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(mismatch("no object".to_owned())),
            Err(e) => return Err(e.into()),
        };
        let found = version(&old);
        if found != *expected {
            sync_dir(&folder)?;
            return Err(mismatch(found.0.to_string()));
        }
        let temporary = self.write_temporary(body, Some(&old))?;
        let new = version(&temporary.file.metadata()?);
        temporary.rename(&path)?;
        sync_dir(&folder).map_err(Failure::unsynced)?;
        Ok(Some(new))
    }

    pub(super) fn get(&self, key: &str, range: &GetRange) -> Result<Object, Failure> {
        let part = Part::of(File::open(self.path(key))?, key, range)?;
        Ok(part.read(|file, bytes, position| file.read_exact_at(bytes, position))?)
    }

    /// The same without waiting for the disk; `None`: it would have to be, or fails.
    pub(super) fn get_cached(&self, key: &str, range: &GetRange) -> Option<Object> {
        let part = Part::of(self.cache.open(&self.path(key))?, key, range).ok()?;
        if !KernelCache::may_copy(part.len()) {
            return None;
        }
        part.read(|file, bytes, position| self.cache.read(file, bytes, position).ok_or(())).ok()
    }

    pub(super) fn head(&self, key: &str) -> Result<ObjectMeta, Failure> {
        let metadata = self.path(key).metadata()?;
        if !metadata.is_file() {
            return Err(Failure::Store(StoreErrorKind::NotFound, "it is a folder".to_owned()));
        }
        Ok(ObjectMeta { key: key.to_owned(), size: metadata.len(), version: Some(version(&metadata)), modified_ms: modified_ms(&metadata) })
    }

    /// Deletes, and syncs each folder once.
    pub(super) fn delete(&self, keys: &[String]) -> Result<(), Failure> {
        let mut folders = BTreeSet::new();
        let mut outcome = Ok(());
        for key in keys {
            let path = self.path(key);
            match std::fs::remove_file(&path) {
                Ok(()) => drop(path.parent().map(|folder| folders.insert(folder.to_owned()))),
                Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(e) => outcome = Err(Failure::Store(kind_of(&e), format!("delete of {key}: {e}"))),
            }
        }
        for folder in folders {
            sync_dir(&folder)?;
        }
        outcome
    }

    /// A temporary file with these bytes, durable; modified after `old`.
    fn write_temporary(&self, body: &Body, old: Option<&Metadata>) -> io::Result<Temporary> {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let mut temporary = Temporary::create(self.temporary.join(format!("{}-{number}", self.instance)))?;
        self.medium.write(&mut temporary.file, body.chunks())?;
        if let Some(old) = old {
            modify_after(&temporary.file, old)?;
        }
        temporary.file.sync_all()?;
        Ok(temporary)
    }

    /// Makes a folder durable together with all above it; once for each process, since none is removed while a store is open.
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        if folder == self.root || self.synced.lock().contains(folder) {
            return Ok(());
        }
        std::fs::create_dir_all(folder)?;
        let above = || folder.ancestors().skip(1).take_while(|above| above.starts_with(&self.root));
        for above in above() {
            sync_dir(above)?;
        }
        let mut synced = self.synced.lock();
        if synced.len() >= SYNCED_FOLDERS {
            synced.clear();
        }
        synced.insert(folder.to_owned());
        Ok(())
    }

    fn lock_path(&self, key: &str) -> PathBuf {
        self.locks.join(format!("{:03}", crc32fast::hash(key.as_bytes()) % LOCKS))
    }
}

/// What a read is of.
struct Part {
    file: File,
    metadata: Metadata,
    positions: Range<u64>,
}

impl Part {
    fn of(file: File, key: &str, range: &GetRange) -> Result<Self, Failure> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(Failure::Store(StoreErrorKind::NotFound, "it is a folder".to_owned()));
        }
        let positions = resolve(key, range, metadata.len()).map_err(Failure::Error)?;
        Ok(Self { file, metadata, positions })
    }

    fn len(&self) -> usize {
        (self.positions.end - self.positions.start) as usize
    }

    fn read<E>(self, read: impl FnOnce(&File, &mut [u8], u64) -> Result<(), E>) -> Result<Object, E> {
        let mut bytes = BytesMut::zeroed(self.len());
        read(&self.file, &mut bytes, self.positions.start)?;
        let version = version(&self.metadata);
        Ok(Object { bytes: bytes.freeze(), position: self.positions.start, size: self.metadata.len(), version })
    }
}

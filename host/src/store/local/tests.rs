use std::fs::{self, File};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::*;
use crate::store::conformance::{conformance, strict_order};

fn open(path: &Path) -> LocalStore {
    LocalStore::open(path, &Env::system()).unwrap()
}

fn body(bytes: &'static [u8]) -> Body {
    Bytes::from_static(bytes).into()
}

fn temporary_files(path: &Path) -> usize {
    fs::read_dir(path.join("~tmp")).unwrap().count()
}

#[tokio::test]
async fn local_passes_the_conformance_suite() {
    let dir = tempfile::tempdir().unwrap();
    conformance(Arc::new(open(dir.path())), "suite").await;
    strict_order(Arc::new(open(dir.path())), "suite").await;
    assert_eq!(temporary_files(dir.path()), 0);
}

#[tokio::test]
async fn two_processes_share_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (open(dir.path()), open(dir.path()));
    let version = a.put("x/k", body(b"a"), PutMode::Create).await.unwrap();
    assert_eq!(b.put("x/k", body(b"b"), PutMode::Create).await.unwrap_err().kind, StoreErrorKind::AlreadyExists);
    let newer = b.put("x/k", body(b"b"), PutMode::Replace(version.clone())).await.unwrap();
    assert_eq!(a.put("x/k", body(b"c"), PutMode::Replace(version)).await.unwrap_err().kind, StoreErrorKind::VersionMismatch);
    assert_eq!(a.head("x/k").await.unwrap().version, Some(newer));
}

#[tokio::test]
async fn every_replace_changes_the_version_whatever_the_clock_does() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.put("k", body(b"00"), PutMode::Create).await.unwrap();
    // The clock was ahead when the object was written: a later write would look older.
    let future = std::time::UNIX_EPOCH + Duration::from_secs(5_000_000_000);
    File::options().write(true).open(store.path("k").unwrap()).unwrap().set_modified(future).unwrap();
    let mut version = store.head("k").await.unwrap().version.unwrap();
    let mut times = vec![fs::metadata(store.path("k").unwrap()).unwrap().modified().unwrap()];
    for _ in 0..20 {
        version = store.put("k", body(b"11"), PutMode::Replace(version)).await.unwrap();
        times.push(fs::metadata(store.path("k").unwrap()).unwrap().modified().unwrap());
    }
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
}

#[tokio::test]
async fn a_replace_waits_for_the_lock_and_not_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let version = store.put("k", body(b"0"), PutMode::Create).await.unwrap();
    let locks: Vec<_> = (0..256).map(|i| File::create(dir.path().join(format!("~locks/{i:03}"))).unwrap()).collect();
    for lock in &locks {
        rustix::fs::flock(lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    }
    tokio::time::pause();
    let held = store.put("k", body(b"1"), PutMode::Replace(version.clone())).await.unwrap_err();
    assert_eq!(held.kind, StoreErrorKind::Conflict);
    drop(locks);
    store.put("k", body(b"1"), PutMode::Replace(version)).await.unwrap();
}

#[tokio::test]
async fn temporary_files_of_a_crash_are_swept_but_never_those_of_the_living() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.put("a/b/c", body(b"kept"), PutMode::Create).await.unwrap();
    store.put("d/e", body(b"x"), PutMode::Create).await.unwrap();
    store.delete(&["d/e".to_owned()]).await.unwrap();
    fs::write(dir.path().join("~tmp/left"), b"half an object").unwrap();
    let second = open(dir.path());
    assert_eq!(temporary_files(dir.path()), 1, "somebody has the store open: it may be theirs");
    drop((store, second));
    let store = open(dir.path());
    assert_eq!(temporary_files(dir.path()), 0);
    assert!(!dir.path().join("d").exists(), "empty folders go too");
    assert_eq!(&store.get("a/b/c", GetRange::Full).await.unwrap().bytes[..], b"kept");
}

#[tokio::test]
async fn an_object_is_a_plain_file_of_its_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.put("t/log/0/1", body(b"exactly this"), PutMode::Create).await.unwrap();
    assert_eq!(fs::read(dir.path().join("t/log/0/1")).unwrap(), b"exactly this");
    assert_eq!(store.path("t/log/0/1").unwrap(), dir.path().canonicalize().unwrap().join("t/log/0/1"));
}

/// Who holds every thread of the store.
async fn threads(store: &LocalStore) -> tokio::sync::SemaphorePermit<'_> {
    store.threads.acquire_many(THREADS as u32).await.unwrap()
}

#[tokio::test]
async fn what_was_just_written_is_read_without_a_thread() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let bytes: Vec<u8> = (0..300_000_u32).map(|at| at as u8).collect();
    store.put("t/k", Bytes::from(bytes.clone()).into(), PutMode::Create).await.unwrap();
    if store.disk.get_cached("t/k", &GetRange::Tail(1)).is_none() {
        // This file system cannot tell what it has cached: a thread reads it all, as the other tests see.
        return;
    }
    let busy = threads(&store).await;
    let object = store.get("t/k", GetRange::Bounded(100_000..200_000)).await.unwrap();
    assert_eq!((object.bytes.as_ref(), object.position, object.size), (&bytes[100_000..200_000], 100_000, 300_000));
    assert_eq!(object.version, store.disk.head("t/k").map(|meta| meta.version.unwrap()).unwrap());
    assert!(store.disk.get_cached("t/k", &GetRange::Full).is_none(), "so much is copied elsewhere");
    assert!(store.disk.get_cached("t/none", &GetRange::Full).is_none());
    assert!(store.disk.get_cached("t", &GetRange::Full).is_none());
    drop(busy);
    assert_eq!(store.get("t/k", GetRange::Full).await.unwrap().bytes, bytes);
}

#[tokio::test]
async fn what_is_not_wholly_cached_is_not_read_in_part() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let bytes = vec![7; 200_000];
    store.put("k", Bytes::from(bytes.clone()).into(), PutMode::Create).await.unwrap();
    let file = File::open(store.path("k").unwrap()).unwrap();
    rustix::fs::fadvise(&file, 102_400, None, rustix::fs::Advice::DontNeed).unwrap();
    let read = store.disk.get_cached("k", &GetRange::Full);
    assert!(read.is_none_or(|object| object.bytes == bytes), "all of it or none");
    assert_eq!(store.get("k", GetRange::Full).await.unwrap().bytes, bytes);
}

/// A disk with so many bytes free.
struct Free(Arc<AtomicU64>);

impl file::Medium for Free {
    fn write(&self, file: &mut File, chunks: &[Bytes]) -> io::Result<()> {
        for chunk in chunks {
            let fits = self.0.load(Ordering::Relaxed).min(chunk.len() as u64);
            file::Plain.write(file, &[chunk.slice(..fits as usize)])?;
            self.0.fetch_sub(fits, Ordering::Relaxed);
            if fits < chunk.len() as u64 {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_full_disk_leaves_no_half_object_and_recovers() {
    let dir = tempfile::tempdir().unwrap();
    let free = Arc::new(AtomicU64::new(1_000));
    let store = LocalStore::open_with(dir.path(), &Env::system(), Box::new(Free(free.clone()))).unwrap();
    let manifest = store.put("manifest", Bytes::from(vec![1; 400]).into(), PutMode::Create).await.unwrap();
    let segment = Body::with_crc32(vec![Bytes::from(vec![2; 500]); 2], 0);
    let full = |result: Result<Version, StoreError>| assert_eq!(result.unwrap_err().kind, StoreErrorKind::Full);
    full(store.put("log/0/1", segment.clone(), PutMode::Create).await);
    full(store.put("manifest", Bytes::from(vec![3; 700]).into(), PutMode::Replace(manifest.clone())).await);
    assert_eq!(temporary_files(dir.path()), 0, "a failed write gives its room back");
    assert_eq!(store.get("log/0/1", GetRange::Full).await.unwrap_err().kind, StoreErrorKind::NotFound);
    assert_eq!(store.get("manifest", GetRange::Full).await.unwrap().bytes, vec![1; 400]);
    free.store(10_000, Ordering::Relaxed);
    store.put("log/0/1", segment, PutMode::Create).await.unwrap();
    store.put("manifest", Bytes::from(vec![3; 700]).into(), PutMode::Replace(manifest)).await.unwrap();
    assert_eq!(store.get("log/0/1", GetRange::Full).await.unwrap().size, 1_000);
}

/// A disk of 1 GiB that says how much is free, and is full for writes while room is kept back.
struct Tight {
    reserve: PathBuf,
    free: Arc<AtomicU64>,
}

impl file::Medium for Tight {
    fn write(&self, file: &mut File, chunks: &[Bytes]) -> io::Result<()> {
        let is_full = self.free.load(Ordering::Relaxed) == 0 && self.reserve.exists();
        if is_full { Err(io::ErrorKind::StorageFull.into()) } else { file::Plain.write(file, chunks) }
    }

    fn space(&self, _directory: &Path) -> io::Result<file::Space> {
        Ok(file::Space { free: self.free.load(Ordering::Relaxed), total: 1 << 30 })
    }
}

#[tokio::test]
async fn the_last_room_of_a_disk_is_for_what_makes_room() {
    let dir = tempfile::tempdir().unwrap();
    let (reserve, free) = (dir.path().join("~reserve"), Arc::new(AtomicU64::new(1 << 29)));
    let tight = Tight { reserve: reserve.clone(), free: free.clone() };
    let store = LocalStore::open_with(dir.path(), &Env::system(), Box::new(tight)).unwrap();
    assert_eq!(reserve.metadata().unwrap().len(), 4 << 20);
    assert!(store.has_room(1 << 20));
    let manifest = store.put("manifest", body(b"1"), PutMode::Create).await.unwrap();

    free.store(0, Ordering::Relaxed);
    assert!(!store.has_room(0));
    store.put("manifest", body(b"2"), PutMode::Replace(manifest)).await.unwrap();
    assert!(!reserve.exists(), "it was let go for the manifest");
    free.store(4 << 20, Ordering::Relaxed);
    assert!(!store.has_room(1), "a segment does not take what was let go");

    free.store(1 << 29, Ordering::Relaxed);
    assert!(store.has_room(1));
    assert!(reserve.exists(), "there is plenty again");
    assert!(store.list("", None, 10).await.unwrap().iter().all(|object| object.key == "manifest"));
}

#[tokio::test]
async fn listing_enters_only_folders_that_can_matter() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for key in ["t/0/log/0/1", "t/1/log/0/1", "t/1/log/1/1", "t/1/log/2/1", "t/2/log/0/1"] {
        store.put(key, body(b"x"), PutMode::Create).await.unwrap();
    }
    let entered = |prefix, after, limit| walk::walk(dir.path(), prefix, after, limit).unwrap().entered;
    assert_eq!(entered("t/1/log/", None, 10), 4, "log and its three");
    assert_eq!(entered("t/1/log/1", None, 10), 2, "log and 1");
    assert_eq!(entered("t/1/log/", Some("t/1/log/1/0"), 10), 3, "not the one before");
    assert_eq!(entered("t/1/log/", None, 1), 2, "no further than the limit");
    assert_eq!(entered("nothing/", None, 10), 0);
}

#[tokio::test]
async fn a_directory_that_cannot_be_one_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, b"").unwrap();
    let error = LocalStore::open(&file, &Env::system()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("file"), "{error}");
}

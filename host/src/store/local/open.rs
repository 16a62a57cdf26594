//! Opening a directory: who is first sweeps it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, flock, syncfs};

use super::cached::KernelCache;
use super::disk::Disk;
use super::file::{Medium, sync_dir};
use super::reserve::Reserve;
use crate::env::Env;

impl Disk {
    pub(super) fn open(root: &Path, env: &Env, medium: Box<dyn Medium>) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        let root = root.canonicalize()?;
        let in_use = File::options().create(true).truncate(false).write(true).open(root.join("~lock"))?;
        let (temporary, locks) = (root.join("~tmp"), root.join("~locks"));
        fs::create_dir_all(&temporary)?;
        fs::create_dir_all(&locks)?;
        // Nobody else has it open, or waits here until the sweep is over.
        if flock(&in_use, FlockOperation::NonBlockingLockExclusive).is_ok() {
            sweep(&root, &temporary)?;
        }
        flock(&in_use, FlockOperation::LockShared)?;
        syncfs(&File::open(&root)?)?;
        if let Some(above) = root.parent() {
            sync_dir(above)?;
        }
        Ok(Self {
            temporary,
            locks,
            instance: env.nonce().to_string(),
            counter: AtomicU64::new(0),
            synced: Mutex::new(BTreeSet::new()),
            reserve: Reserve::new(&root, &*medium),
            medium,
            cache: KernelCache::new(),
            _in_use: in_use,
            root,
        })
    }
}

fn sweep(root: &Path, temporary: &Path) -> io::Result<()> {
    for entry in fs::read_dir(temporary)? {
        fs::remove_file(entry?.path())?;
    }
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && !entry.file_name().as_encoded_bytes().starts_with(b"~") {
            remove_empty(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a folder if nothing but empty folders is in it; says whether it did.
fn remove_empty(folder: &Path) -> io::Result<bool> {
    let mut empty = true;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        empty &= entry.file_type()?.is_dir() && remove_empty(&entry.path())?;
    }
    if empty {
        fs::remove_dir(folder)?;
    }
    Ok(empty)
}

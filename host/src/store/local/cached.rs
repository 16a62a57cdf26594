//! Reads that the kernel answers from its caches, on the thread that asks.
//!
//! What was just written is read back without a thread being woken for it. `openat2` with `RESOLVE_CACHED` and `preadv2` with `RWF_NOWAIT`
//! give up where a disk would have to be waited for; so does this, and a thread that may wait does it all again.

use std::fs::File;
use std::io::IoSliceMut;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// Bytes that are copied at most before the caller's thread turns to others: some tens of microseconds.
const MOST: usize = 256 << 10;

/// See the module.
pub(super) struct KernelCache {
    /// Cleared where kernel or file system knows no such reads.
    known: AtomicBool,
}

impl KernelCache {
    pub(super) fn new() -> Self {
        Self { known: AtomicBool::new(true) }
    }

    /// `None`: the disk has to be asked, or says what is wrong.
    pub(super) fn open(&self, path: &Path) -> Option<File> {
        if !self.known.load(Ordering::Relaxed) {
            return None;
        }
        let opened = openat2(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::CACHED);
        Some(self.known(opened)?.into())
    }

    /// Fills `bytes` from a position on; `None`: not all of it is here.
    pub(super) fn read(&self, file: &File, bytes: &mut [u8], position: u64) -> Option<()> {
        let wanted = bytes.len();
        let read = preadv2(file, &mut [IoSliceMut::new(bytes)], position, ReadWriteFlags::NOWAIT);
        self.known(read).filter(|read| *read == wanted).map(drop)
    }

    /// Whether so much may be copied by the caller's thread.
    pub(super) fn may_copy(bytes: usize) -> bool {
        bytes <= MOST
    }

    fn known<T>(&self, result: rustix::io::Result<T>) -> Option<T> {
        if let Err(Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP | Errno::PERM) = result {
            self.known.store(false, Ordering::Relaxed);
        }
        result.ok()
    }
}

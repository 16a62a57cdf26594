//! Room that is kept back for the writes which make room.
//!
//! Every way to free a full disk begins with a small write: the manifest that names a segment no longer, the note of a deletion, the claim of
//! who leads. So a file holds some megabytes. A write that finds the disk full lets it go and tries again, and it is
//! taken again once there is plenty. Segments are asked for beforehand and leave twice as much, so none of them takes what was let go.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, fallocate};

use super::file::{Medium, Space};

/// Bytes that are kept back, but for small disks.
const BYTES: u64 = 4 << 20;
/// The part of a small disk.
const PART: u64 = 16;
/// Free room in which the reserve is taken, in its own size.
const PLENTY: u64 = 4;
/// What a segment leaves free, in the same.
const LEFT: u64 = 2;

/// See the module.
pub(super) struct Reserve {
    root: PathBuf,
    path: PathBuf,
    /// Taken, or not to be had on this file system: no more to do.
    settled: AtomicBool,
}

impl Reserve {
    /// Takes it, if there is plenty.
    pub(super) fn new(root: &Path, medium: &dyn Medium) -> Self {
        let reserve = Self { root: root.to_owned(), path: root.join("~reserve"), settled: AtomicBool::new(false) };
        if let Ok(space) = medium.space(root) {
            reserve.take(space);
        }
        reserve
    }

    /// Lets it go; says whether there was one.
    pub(super) fn release(&self) -> bool {
        let released = std::fs::remove_file(&self.path).is_ok();
        if released {
            self.settled.store(false, Ordering::Relaxed);
            tracing::warn!(path = %self.root.display(), "the disk is full: what was kept back for manifests and deletions is let go");
        }
        released
    }

    /// Whether a segment of so many bytes leaves enough. A disk that does not tell is taken for large.
    pub(super) fn has_room(&self, bytes: u64, medium: &dyn Medium) -> bool {
        let Ok(space) = medium.space(&self.root) else { return true };
        self.take(space);
        space.free >= bytes.saturating_add(LEFT * size(space))
    }

    fn take(&self, space: Space) {
        let is_due = space.free >= PLENTY * size(space) && !self.settled.swap(true, Ordering::Relaxed);
        if is_due && let Err(error) = self.allocate(size(space)) {
            tracing::warn!(path = %self.path.display(), %error, "no room can be kept back on this file system");
        }
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        let file = File::options().create(true).truncate(false).write(true).open(&self.path)?;
        let allocated = fallocate(&file, FallocateFlags::empty(), 0, bytes);
        allocated.map_err(|e| {
            let _ = std::fs::remove_file(&self.path);
            e.into()
        })
    }
}

fn size(space: Space) -> u64 {
    BYTES.min(space.total / PART)
}

//! Files: writing chunks, temporary names, versions.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use rustix::fs::{CWD, RenameFlags, renameat_with, statvfs};
use rustix::io::Errno;

use crate::store::Version;
use crate::types::TimestampMs;

/// Chunks handed to the kernel in one call: its own limit.
const CHUNKS_PER_WRITE: usize = 1024;

/// What runs full.
pub(super) trait Medium: Send + Sync {
    /// Writes chunks to a file.
    fn write(&self, file: &mut File, chunks: &[Bytes]) -> io::Result<()>;

    /// How large the file system of a directory is.
    fn space(&self, directory: &Path) -> io::Result<Space> {
        let found = statvfs(directory)?;
        Ok(Space { free: found.f_bavail.saturating_mul(found.f_frsize), total: found.f_blocks.saturating_mul(found.f_frsize) })
    }
}

/// Of a file system, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Space {
    pub(super) free: u64,
    pub(super) total: u64,
}

/// A disk.
pub(super) struct Plain;

impl Medium for Plain {
    fn write(&self, file: &mut File, chunks: &[Bytes]) -> io::Result<()> {
        for group in chunks.chunks(CHUNKS_PER_WRITE) {
            let mut slices: Vec<_> = group.iter().filter(|c| !c.is_empty()).map(|c| IoSlice::new(c)).collect();
            let mut rest = &mut slices[..];
            while !rest.is_empty() {
                match file.write_vectored(rest) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => IoSlice::advance_slices(&mut rest, written),
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(())
    }
}

/// A file without a key yet; removed when dropped, unless it was renamed.
pub(super) struct Temporary {
    path: PathBuf,
    pub(super) file: File,
    renamed: bool,
}

impl Temporary {
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok(Self { path, file, renamed: false })
    }

    /// Gives it the name if that is free.
    pub(super) fn name(mut self, path: &Path) -> io::Result<()> {
        match renameat_with(CWD, &self.path, CWD, path, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.renamed = true;
                Ok(())
            }
            // A file system that replaces or nothing: a second name does as well.
            Err(Errno::INVAL | Errno::NOSYS) => std::fs::hard_link(&self.path, path),
            Err(e) => Err(e.into()),
        }
    }

    /// Gives it the name, whoever had it.
    pub(super) fn rename(mut self, path: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, path)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // If it stays, the next opening sweeps it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

pub(super) fn version(metadata: &Metadata) -> Version {
    let modified_ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    Version(format!("{modified_ns:x}-{:x}-{:x}", metadata.ino(), metadata.len()).into())
}

pub(super) fn modified_ms(metadata: &Metadata) -> TimestampMs {
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
    metadata.modified().ok().and_then(since).map_or(0, |d| d.as_millis() as TimestampMs)
}

/// Makes sure that `file` counts as modified after `old`, and so gets another version.
pub(super) fn modify_after(file: &File, old: &Metadata) -> io::Result<()> {
    let old = old.modified()?;
    if file.metadata()?.modified()? > old {
        return Ok(());
    }
    file.set_modified(old + Duration::from_nanos(1))?;
    if file.metadata()?.modified()? > old {
        return Ok(());
    }
    // Some file systems keep times to the second or to 100 ns.
    file.set_modified(old + Duration::from_secs(2))
}

/// Makes the entries of a directory durable.
pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

//! Reading a component from a file that somebody may be replacing at that moment: only bytes that were read twice in a row are taken.
//!
//! Whoever names the file need not mean well: nothing but a regular file is opened (reading a pipe may wait for ever, a device may never
//! end), and no more of it is read than is allowed, whatever it said of its size.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use crate::policy::wasm::digest;

/// How long a file gets to settle between two reads.
const SETTLE: Duration = Duration::from_millis(20);
/// Reads before it is given up.
const READS: usize = 50;

/// The bytes of a file of at most `limit` bytes; the problem is for people.
pub(super) async fn read(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    let once = || async {
        let found = tokio::fs::metadata(path).await.map_err(failed)?;
        if !found.is_file() {
            return Err(format!("{} is no regular file", path.display()));
        }
        let mut bytes = Vec::new();
        let file = tokio::fs::File::open(path).await.map_err(failed)?;
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).await.map_err(failed)?;
        if bytes.len() as u64 > limit {
            let size = found.len().max(bytes.len() as u64);
            return Err(format!("{} has {size} bytes, policy.component_bytes allows {limit}", path.display()));
        }
        Ok(bytes)
    };
    let changes = || format!("{} changes while it is read: rename a finished file into its place", path.display());
    settled(once).await?.ok_or_else(changes)
}

/// What `read` gave twice in a row; `None`: it never did.
async fn settled<F>(read: impl Fn() -> F) -> Result<Option<Vec<u8>>, String>
where
    F: Future<Output = Result<Vec<u8>, String>>,
{
    let mut before = digest(&read().await?);
    for _ in 1..READS {
        tokio::time::sleep(SETTLE).await;
        let bytes = read().await?;
        let found = digest(&bytes);
        if found == before {
            return Ok(Some(bytes));
        }
        before = found;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A file that is another at each of the first `changes` reads.
    async fn read_while_it_changes(changes: usize) -> (Option<Vec<u8>>, usize) {
        let reads = Cell::new(0);
        let read = || {
            reads.set(reads.get() + 1);
            let at = reads.get().min(changes);
            async move { Ok(format!("version {at}").into_bytes()) }
        };
        let bytes = settled(read).await.unwrap();
        (bytes, reads.get())
    }

    #[tokio::test(start_paused = true)]
    async fn only_bytes_that_were_read_twice_in_a_row_are_taken() {
        assert_eq!(read_while_it_changes(1).await, (Some(b"version 1".to_vec()), 2));
        assert_eq!(read_while_it_changes(7).await, (Some(b"version 7".to_vec()), 8));
        assert_eq!(read_while_it_changes(usize::MAX).await, (None, READS));
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_grows_beyond_the_limit_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("policy.wasm");
        std::fs::write(&path, [0; 100]).unwrap();
        assert_eq!(read(&path, 100).await.unwrap().len(), 100);
        let problem = read(&path, 99).await.unwrap_err();
        assert!(problem.contains("policy.component_bytes"), "{problem}");
        assert!(read(&directory.path().join("none"), 99).await.unwrap_err().contains("none"));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn only_regular_files_are_opened_and_a_size_that_lies_is_not_believed() {
        let directory = tempfile::tempdir().unwrap();
        let device = directory.path().join("policy.wasm");
        std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
        assert_eq!(read(&device, 99).await.unwrap_err(), format!("{} is no regular file", device.display()));
        assert_eq!(read(directory.path(), 99).await.unwrap_err(), format!("{} is no regular file", directory.path().display()));
        // It says that it has 0 bytes.
        let problem = read(Path::new("/proc/self/maps"), 99).await.unwrap_err();
        assert!(problem.contains("/proc/self/maps has 100 bytes, policy.component_bytes allows 99"), "{problem}");
    }
}

//! Compiled components on disk, so that a restart compiles nothing.
//!
//! Compiled code is trusted code: the directory is the host's own (mode 0700, checked at each use), a file is named by the component's digest and
//! the compiler's configuration, and carries a digest of itself. Whatever is unreadable, foreign or damaged is a miss, never an error.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

const HASH_LEN: usize = 32;

/// See the module.
pub(super) struct CompileCache {
    directory: PathBuf,
    compiler: u64,
    written: AtomicU64,
}

impl CompileCache {
    pub(super) fn new(directory: &Path, engine: &Engine) -> Self {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self { directory: directory.to_owned(), compiler: hasher.finish(), written: AtomicU64::new(0) }
    }

    /// The compiled component, if it is there.
    pub(super) fn get(&self, engine: &Engine, digest: &str) -> Option<Component> {
        self.is_private().then(|| read(engine, &self.path(digest))).flatten()
    }

    /// Keeps a compiled component. What cannot be kept is compiled again at the next start: no reason to fail.
    pub(super) fn put(&self, component: &Component, digest: &str) {
        let path = self.path(digest);
        if let Err(error) = component.serialize().map_err(std::io::Error::other).and_then(|code| self.write(&path, &code)) {
            tracing::warn!(%error, path = %path.display(), "cannot keep a compiled component; it is compiled again at the next start");
        }
    }

    fn path(&self, digest: &str) -> PathBuf {
        let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
        self.directory.join(format!("{hex}-{:016x}.cwasm", self.compiler))
    }

    /// Whether nobody else can have put code there.
    fn is_private(&self) -> bool {
        let ours = rustix::process::geteuid().as_raw();
        let meta = fs::symlink_metadata(&self.directory);
        meta.is_ok_and(|meta| meta.is_dir() && meta.uid() == ours && meta.permissions().mode() & 0o077 == 0)
    }

    fn write(&self, path: &Path, code: &[u8]) -> std::io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        if !self.is_private() {
            return Err(std::io::Error::other("policy.compile_cache must be a directory of this user with mode 0700"));
        }
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
        let content = [Sha256::digest(code).as_slice(), code].concat();
        let renamed = fs::write(&temporary, content).and_then(|()| fs::rename(&temporary, path));
        renamed.inspect_err(|_| drop(fs::remove_file(&temporary)))
    }
}

fn read(engine: &Engine, path: &Path) -> Option<Component> {
    let content = fs::read(path).ok()?;
    let (hash, code) = content.split_at_checked(HASH_LEN)?;
    if Sha256::digest(code).as_slice() != hash {
        tracing::warn!(path = %path.display(), "a cached component is damaged; it is compiled again");
        return None;
    }
    load(engine, code)
}

#[allow(unsafe_code, reason = "compiled code can only be loaded unsafely")]
fn load(engine: &Engine, code: &[u8]) -> Option<Component> {
    // SAFETY: the bytes were written by `write` of this program, into a directory that only its user can write to, and their digest is intact;
    // the engine itself refuses code of another version or configuration.
    unsafe { Component::deserialize(engine, code) }.ok()
}

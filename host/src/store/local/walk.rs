//! Listing in key order: a walk that enters only folders which can hold a key that is asked for.
//!
//! In key order a folder sorts as its name and a slash: `a-b` comes before `a/1`, `a0` after it.

use std::fs;
use std::io;
use std::path::Path;

use super::file::{modified_ms, version};
use crate::store::ObjectMeta;

pub(super) struct Walk<'a> {
    prefix: &'a str,
    start_after: Option<&'a str>,
    limit: usize,
    found: Vec<ObjectMeta>,
    /// Folders entered.
    pub(super) entered: usize,
}

/// The objects of a checked prefix.
pub(super) fn list(root: &Path, prefix: &str, start_after: Option<&str>, limit: usize) -> io::Result<Vec<ObjectMeta>> {
    walk(root, prefix, start_after, limit).map(|walk| walk.found)
}

pub(super) fn walk<'a>(root: &Path, prefix: &'a str, start_after: Option<&'a str>, limit: usize) -> io::Result<Walk<'a>> {
    let mut walk = Walk { prefix, start_after, limit, found: Vec::new(), entered: 0 };
    let top = prefix.rfind('/').map_or("", |slash| &prefix[..=slash]);
    walk.folder(&root.join(top), top)?;
    Ok(walk)
}

impl Walk<'_> {
    /// `path` is the folder's, with a slash at the end unless it is the root's.
    fn folder(&mut self, folder: &Path, path: &str) -> io::Result<()> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(()),
            Err(e) => return Err(e),
        };
        self.entered += 1;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with('~') {
                continue;
            }
            let slash = if entry.file_type()?.is_dir() { "/" } else { "" };
            let name = format!("{path}{name}{slash}");
            if self.may_hold(&name) {
                names.push(name);
            }
        }
        names.sort_unstable();
        for name in names {
            if self.found.len() >= self.limit {
                return Ok(());
            }
            let file = folder.join(&name[path.len()..]);
            if name.ends_with('/') {
                self.folder(&file, &name)?;
            } else {
                self.file(&file, name)?;
            }
        }
        Ok(())
    }

    /// Whether a key that is asked for can be (or, for a folder, begin with) this name.
    fn may_hold(&self, name: &str) -> bool {
        let folder = name.ends_with('/');
        let matches = name.starts_with(self.prefix) || (folder && self.prefix.starts_with(name));
        let after = self.start_after.is_none_or(|after| name > after || (folder && after.starts_with(name)));
        matches && after
    }

    fn file(&mut self, file: &Path, key: String) -> io::Result<()> {
        match file.metadata() {
            Ok(metadata) => {
                let (version, modified_ms) = (version(&metadata), modified_ms(&metadata));
                self.found.push(ObjectMeta { key, size: metadata.len(), version: Some(version), modified_ms });
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
        }
    }
}

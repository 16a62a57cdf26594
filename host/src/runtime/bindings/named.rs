//! Components by name, for whoever may name a policy and must not name a file: a bare name in `policy.directory`, or the digest of a
//! component that is stored. No other place on this machine can be reached through them.

use std::path::Path;

use super::{Bindings, rules, sources};
use crate::config::PolicySettings;
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::api::Component;

/// Longest name, in bytes.
const MAX_NAME: usize = 128;
/// Names listed to whoever asked for one that is not there.
const MOST_NAMES: usize = 32;
const DIGEST: &str = "sha256:";

impl Bindings {
    /// The component of a bare name or a digest. [`InvalidInput`](ErrorKind::InvalidInput) says which names there are.
    pub(in crate::runtime) async fn component(&self, name: &str, settings: &PolicySettings) -> Result<Component> {
        if name.starts_with(DIGEST) {
            let missing = |e: Error| {
                Error::new(ErrorKind::InvalidInput, format!("no component with the digest {name} is stored; bind it once by name"))
                    .with_source(e)
            };
            let stored = self.components.bytes(name).await;
            let bytes = stored.map_err(|e| if e.kind() == ErrorKind::NotFound { missing(e) } else { e })?;
            return Ok(Component { bytes, source: name.to_owned(), signature: self.signature_of(name) });
        }
        if !is_bare(name) {
            let message = format!("{:?} is no name of a policy: letters, digits, '.', '_' and '-' are allowed", shortened(name));
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let Some(directory) = settings.directory.as_deref() else {
            let message = format!("there is no policy {name:?}: policy.directory is not set, set it to where the components lie");
            return Err(Error::new(ErrorKind::InvalidInput, message));
        };
        let path = rules::in_directory(name, directory);
        if !path.is_file() {
            let there = names_in(directory).join(", ");
            let message = format!("there is no policy {name:?} in policy.directory, expected one of: {there}");
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let path = path.to_str().ok_or_else(|| Error::new(ErrorKind::InvalidInput, "the path of policy.directory is no UTF-8"))?;
        let component = self.sources.fetch(path, None).await.map_err(sources::refused)?;
        Ok(Component { source: name.to_owned(), ..component })
    }

    /// The component at a place: [`component`](Self::component) of a bare name or a digest, or what `s3://` and `oci://` name.
    pub(in crate::runtime) async fn fetch(&self, source: &str, pinned: Option<&str>, settings: &PolicySettings) -> Result<Component> {
        if sources::is_remote(source) {
            return self.sources.fetch(source, pinned).await.map_err(sources::refused);
        }
        self.component(source, settings).await
    }

    /// The signature that a stored component was bound with.
    fn signature_of(&self, digest: &str) -> Option<String> {
        let set = self.in_force();
        let earlier = set.history.iter().filter_map(|change| change.before.as_ref()).map(|placed| &placed.binding);
        let bound = set.bindings.iter().chain(earlier).filter(|binding| binding.digest == digest);
        bound.map(|binding| &binding.signature).find(|signature| !signature.is_empty()).cloned()
    }
}

fn is_bare(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(plain) && !name.starts_with('.')
}

fn shortened(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}

/// The names that a directory has, in order; what cannot be listed has none.
fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| Some(entry.file_name().to_str()?.strip_suffix(".wasm")?.to_owned());
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort_unstable();
    names.truncate(MOST_NAMES);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_directory() {
        for name in ["flush-adaptive", "a.wasm", "A_1"] {
            assert!(is_bare(name), "{name}");
        }
        for name in ["", ".", "..", "../a", "a/b", "/etc/passwd", "a\\b", ".hidden", "a b", &"x".repeat(129)] {
            assert!(!is_bare(name), "{name}");
        }
    }
}

//! A component on this machine: a file, or a directory with one in it; and its signature beside it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::input::Input;
use crate::plugin::component;

const SIGNATURE: Input = Input { what: "signature", most_bytes: 4 << 10, remedy: "expected one line, as `tidegate plugin sign` writes it" };

/// What was found.
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    pub(super) signature: Option<String>,
}

pub(super) fn read(path: &Path) -> Result<Found> {
    let path = if path.is_dir() { only_component(path)? } else { path.to_owned() };
    let bytes = component::read(&path)?;
    let signature = signature_of(&path)?;
    Ok(Found { path, bytes, signature })
}

/// The text of `FILE.sig`, if it is there.
fn signature_of(path: &Path) -> Result<Option<String>> {
    let mut name = path.as_os_str().to_owned();
    name.push(".sig");
    let file = Path::new(&name);
    if file.exists() { SIGNATURE.text(file).map(Some) } else { Ok(None) }
}

fn only_component(directory: &Path) -> Result<PathBuf> {
    let entries = std::fs::read_dir(directory).with_context(|| format!("{} cannot be read", directory.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let found: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|ending| ending == "wasm")).collect();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        several => bail!("{} has {} components (*.wasm), expected one: name its file", directory.display(), several.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_stands_for_its_only_component_and_the_signature_beside_it_is_found() {
        let directory = std::env::temp_dir().join(format!("tidegate-source-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        assert!(read(&directory).is_err(), "it is empty");
        let file = directory.join("a.wasm");
        std::fs::write(&file, b"a").unwrap();
        let found = read(&directory).unwrap();
        assert_eq!((found.path, found.bytes, found.signature), (file.clone(), b"a".to_vec(), None));
        std::fs::write(directory.join("a.wasm.sig"), "signed").unwrap();
        assert_eq!(read(&file).unwrap().signature.as_deref(), Some("signed"));
        std::fs::write(directory.join("b.wasm"), b"b").unwrap();
        assert!(read(&directory).err().unwrap().to_string().contains("2 components"));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

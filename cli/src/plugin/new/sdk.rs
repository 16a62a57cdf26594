//! Where a new project has the guest SDK from.

use anyhow::{Context, Result};

use super::template::File;
use crate::failure::Usage;

macro_rules! embedded {
    ($($path:literal),* $(,)?) => { [$(($path, include_str!(concat!("../../../../guest-sdk/", $path)))),*] };
}

/// The SDK of this binary.
const FILES: [(&str, &str); 13] = embedded![
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "src/bindings.rs",
    "src/budget.rs",
    "src/config.rs",
    "src/export.rs",
    "src/lib.rs",
    "src/logging.rs",
    "src/policy.rs",
    "src/state.rs",
    "src/types.rs",
    "wit/policy.wit",
];

/// See the module.
#[derive(Debug)]
pub(super) enum Sdk {
    /// A copy of this binary's own.
    Embedded,
    /// An absolute path.
    Path(String),
    /// Published.
    Version(String),
}

impl Sdk {
    /// A directory if there is one of that name, else a version.
    pub(super) fn of(given: Option<&str>) -> Result<Self> {
        let Some(given) = given else { return Ok(Self::Embedded) };
        let path = std::path::Path::new(given);
        if path.join("Cargo.toml").is_file() {
            let path = path.canonicalize().with_context(|| format!("{given} cannot be read"))?;
            return Ok(Self::Path(path.display().to_string()));
        }
        let is_version =
            given.starts_with(|c: char| c.is_ascii_digit()) && given.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
        if is_version {
            return Ok(Self::Version(given.to_owned()));
        }
        Err(Usage(format!("--sdk {given:?}: neither a directory with the SDK's Cargo.toml nor a version such as 0.1")).into())
    }

    /// As the dependency of a manifest.
    pub(super) fn dependency(&self) -> Result<String> {
        let quoted = |text: &str| serde_json::to_string(text);
        Ok(match self {
            Self::Embedded => r#"{ path = "sdk" }"#.to_owned(),
            Self::Path(path) => format!("{{ path = {} }}", quoted(path)?),
            Self::Version(version) => quoted(version)?,
        })
    }

    /// The files that come with the project.
    pub(super) fn files(&self) -> Vec<File> {
        match self {
            Self::Embedded => FILES.iter().map(|(path, text)| (format!("sdk/{path}"), (*text).to_owned())).collect(),
            Self::Path(_) | Self::Version(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn all_below(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { all_below(&path, found) } else { found.push(path) }
        }
    }

    #[test]
    fn the_embedded_sdk_is_all_of_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk");
        let mut found = Vec::new();
        all_below(&root.join("src"), &mut found);
        let there: BTreeSet<String> = found.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
        let embedded: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).filter(|path| path.starts_with("src/")).collect();
        assert_eq!(embedded, there);
    }

    #[test]
    fn a_dependency_is_a_directory_a_version_or_the_copy() {
        let told = |given| Sdk::of(given).unwrap().dependency().unwrap();
        assert_eq!(told(None), r#"{ path = "sdk" }"#);
        assert_eq!(told(Some("0.1")), r#""0.1""#);
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/../guest-sdk");
        assert!(told(Some(here)).starts_with("{ path = \"/"), "{}", told(Some(here)));
        assert!(Sdk::of(Some("../nowhere")).unwrap_err().is::<Usage>());
    }
}

//! `tidegate plugin new`: a project that builds and passes its tests at once.
//!
//! What it needs comes out of this binary, the guest SDK too: the two always fit, and nothing has to be published or checked out. An SDK of
//! another place, or a published version, is a flag away.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::failure::Usage;

mod sdk;
mod template;

use sdk::Sdk;

const HELP: &str = "\
Examples:
  tidegate plugin new my-policy --kind flush
  tidegate plugin new my-policy --kind all --sdk ../tidegate/guest-sdk
  tidegate plugin new my-policy --kind index --sdk 0.1";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct NewArgs {
    /// Name of the crate and of its directory: lower case letters, digits, `-` and `_`
    name: String,
    /// What it is to decide
    #[arg(long, value_enum)]
    kind: Kinds,
    /// The language; others write against `wit/`
    #[arg(long, value_enum, default_value_t)]
    lang: Language,
    /// The guest SDK: a directory, or a published version [default: a copy of this binary's own, in `sdk/`]
    #[arg(long, value_name = "PATH|VERSION")]
    sdk: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kinds {
    /// When a write buffer is flushed
    Flush,
    /// How densely a slice is indexed
    Index,
    /// How far to read ahead of a reader
    ReadAhead,
    /// All three
    All,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Language {
    #[default]
    Rust,
}

/// What was made.
#[derive(Debug, Serialize)]
pub(super) struct Made {
    directory: PathBuf,
    files: Vec<String>,
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let directory = self.directory.display();
        writeln!(f, "made {directory} with {} files; go on with", self.files.len())?;
        writeln!(f, "  cd {directory}\n  cargo test\n  tidegate plugin test .")
    }
}

pub(super) fn run(args: &NewArgs) -> Result<Made> {
    let Language::Rust = args.lang;
    let name = &args.name;
    if !is_name(name) {
        let expected = "lower case letters, digits, `-` and `_`, a letter first, at most 64 characters, and no word of Rust's";
        return Err(Usage(format!("{name:?} is no name of a crate: expected {expected}")).into());
    }
    let directory = PathBuf::from(name);
    if directory.exists() {
        bail!("{} is there already: choose another name, or remove it", directory.display());
    }
    let sdk = Sdk::of(args.sdk.as_deref())?;
    let mut files = template::files(name, args.kind, &sdk)?;
    files.extend(sdk.files());
    for (path, text) in &files {
        write(&directory.join(path), text)?;
    }
    Ok(Made { directory, files: files.into_iter().map(|(path, _)| path).collect() })
}

fn write(path: &Path, text: &str) -> Result<()> {
    let directory = path.parent().context("a file lies in a directory")?;
    std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// What cargo takes, of that what makes a file name everywhere.
fn is_name(name: &str) -> bool {
    const TAKEN: [&str; 12] =
        ["test", "core", "std", "alloc", "proc-macro", "crate", "self", "super", "mod", "type", "serde", "tidegate-guest"];
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.len() <= 64 && name.chars().all(plain) && !TAKEN.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_of_a_crate_and_of_no_other_place() {
        for good in ["a", "my-policy", "my_policy2"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "-a", "2a", "A", "a/b", "..", "a b", "core", "é", &"x".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}

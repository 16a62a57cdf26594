//! The compiler's WebAssembly targets: found with the compiler that a crate's folder chooses, and installed by `rustup` where they are missing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::output::progress;

/// Installs a target, unless it is there. `at`: the crate's folder, since a folder may choose its own toolchain.
pub(super) fn require(triple: &str, at: &Path) -> Result<()> {
    if is_there(triple, at)? {
        return Ok(());
    }
    progress(&format!("installing the target {triple} with rustup"));
    let added = Command::new("rustup").args(["target", "add", triple]).current_dir(at).stdout(Stdio::null()).status();
    match added {
        Ok(status) if status.success() && is_there(triple, at)? => Ok(()),
        Ok(_) => bail!("rustup could not install the target {triple}; without a network, copy it from a machine that has one"),
        Err(error) => bail!("the target {triple} is missing, and rustup, which installs it, does not run ({error}): see https://rustup.rs"),
    }
}

/// A target is there if the compiler has a standard library for it.
fn is_there(triple: &str, at: &Path) -> Result<bool> {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc")));
    rustc.args(["--print", "target-libdir", "--target", triple]).current_dir(at);
    let asked = rustc.output().context("cannot run rustc; is Rust installed? see https://rustup.rs")?;
    let libraries = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
    Ok(asked.status.success() && std::fs::read_dir(libraries).is_ok_and(|mut found| found.next().is_some()))
}

/// A setting for cargo by which sources of the registry have the same paths on every machine: paths are in the messages of panics, and so in the
/// bytes that a digest is of. Nor does a component tell whose folder it was built in.
pub(super) fn same_paths_everywhere(triple: &str) -> Option<String> {
    let home =
        std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let flag = toml::Value::String(format!("--remap-path-prefix={}=cargo", home.to_str()?));
    Some(format!("target.{triple}.rustflags=[{flag}]"))
}

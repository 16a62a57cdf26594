//! Builds policy crates into components: cargo makes a core module, which is then wrapped. No other tool is needed.
//!
//! With WASI cargo's own linker makes the component, and it imports the interfaces of a standard library, which a host serves inertly.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use wit_component::ComponentEncoder;

use super::toolchain;

/// What is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Imports nothing but the contract's log.
    Plain,
    /// For crates whose dependencies insist on WASI.
    Wasi,
}

impl Target {
    fn triple(self) -> &'static str {
        match self {
            Target::Plain => "wasm32-unknown-unknown",
            Target::Wasi => "wasm32-wasip2",
        }
    }
}

/// Small code: it is compiled at load and sent over the network. A crate's own profile of this name is not needed.
const PROFILE: [&str; 6] = [
    "profile.plugin.inherits='release'",
    "profile.plugin.opt-level='s'",
    "profile.plugin.lto=true",
    "profile.plugin.codegen-units=1",
    "profile.plugin.panic='abort'",
    "profile.plugin.strip=true",
];

/// One component that was built.
#[derive(Debug, Serialize)]
pub(crate) struct Built {
    name: String,
    pub(super) path: PathBuf,
    bytes: usize,
}

impl Built {
    /// A component in a file, of so many bytes.
    pub(super) fn new(path: &Path, bytes: usize) -> Self {
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().replace('_', "-"));
        Self { name, path: path.to_owned(), bytes }
    }
}

impl fmt::Display for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} bytes", self.path.display(), self.bytes)
    }
}

/// The part of cargo's messages that matters here.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    manifest_path: Option<PathBuf>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// Builds each crate into `out`, or else into `plugins` in cargo's target directory.
pub(crate) fn build(crates: &[PathBuf], target: Target, out: Option<&Path>) -> Result<Vec<Built>> {
    crates.iter().map(|directory| build_one(directory, target, out)).collect()
}

pub(super) fn build_one(directory: &Path, target: Target, out: Option<&Path>) -> Result<Built> {
    let manifest = directory.join("Cargo.toml");
    let manifest = manifest.canonicalize().with_context(|| format!("{} is no crate: it has no Cargo.toml", directory.display()))?;
    let module = compile(&manifest, target)?;
    let built = std::fs::read(&module).with_context(|| format!("cannot read {}", module.display()))?;
    let component = match target {
        Target::Plain => encode(&built).with_context(|| format!("cannot make a component of {}", directory.display()))?,
        Target::Wasi => built,
    };
    let out = match out {
        Some(out) => out.to_owned(),
        None => module.ancestors().nth(3).context("cargo's target directory has an unknown layout; give --out")?.join("plugins"),
    };
    let stem = module.file_stem().context("cargo named a module without a name")?.to_string_lossy();
    let name = stem.replace('_', "-");
    let path = out.join(format!("{name}.wasm"));
    std::fs::create_dir_all(&out).with_context(|| format!("cannot create {}", out.display()))?;
    std::fs::write(&path, &component).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Built { name, path, bytes: component.len() })
}

/// Wraps a core module that carries the contract's metadata, as the guest SDK's `export!` leaves it.
pub(super) fn encode(core: &[u8]) -> Result<Vec<u8>> {
    ComponentEncoder::default().validate(true).module(core)?.encode()
}

fn compile(manifest: &Path, target: Target) -> Result<PathBuf> {
    let triple = target.triple();
    toolchain::require(triple, manifest.parent().unwrap_or(manifest))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--lib", "--profile", "plugin", "--target", triple, "--message-format", "json-render-diagnostics"]);
    command.args(PROFILE.iter().flat_map(|setting| ["--config", setting])).arg("--manifest-path").arg(manifest);
    command.args(toolchain::same_paths_everywhere(triple).iter().flat_map(|setting| ["--config", setting]));
    let output = command.stderr(Stdio::inherit()).output().context("cannot run cargo; is it installed?")?;
    if !output.status.success() {
        bail!("cargo could not build {}; what it says above tells why", manifest.display());
    }
    let artifacts = output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Artifact>(line).ok());
    let ours = |artifact: &Artifact| artifact.reason == "compiler-artifact" && artifact.manifest_path.as_deref() == Some(manifest);
    let mut modules = artifacts.filter(ours).flat_map(|artifact| artifact.filenames);
    let module = modules.find(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    module.with_context(|| format!("{} builds no module: it needs `crate-type = [\"cdylib\", \"rlib\"]`", manifest.display()))
}

//! The versions of the contract that this host serves, and what a component may import.
//!
//! One generated module for each version, nothing else. A component's version is that of the interfaces it names, so that an old or a new one
//! can be told apart without compiling it, whatever language it was written in. Interfaces match by semver: `0.1.x` serves `0.1.y`.

use super::LoadError;
use super::guest_log::Level;
use super::limits::State;
use super::outline::Outline;
use super::wasi;
use crate::policy::Kind;
use crate::policy::guard::FaultClass;

const PACKAGE: &str = "tidegate:policy/";
/// What this host serves, for people.
pub(super) const SERVED: &str = "0.1";
/// The interfaces of the served version.
const INTERFACES: [&str; 7] = ["types", "log", "describe", "flush", "index", "read-ahead", "state"];

/// Version 0.1, as generated from `wit/`.
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "generated")]
pub(super) mod v0_1 {
    pub mod flush {
        wasmtime::component::bindgen!({ path: "../wit", world: "flush-policy" });
    }
    pub mod index {
        wasmtime::component::bindgen!({ path: "../wit", world: "index-policy", with: {
            "tidegate:policy/types": super::flush::tidegate::policy::types,
            "tidegate:policy/log": super::flush::tidegate::policy::log,
        } });
    }
    pub mod read_ahead {
        wasmtime::component::bindgen!({ path: "../wit", world: "read-ahead-policy", with: {
            "tidegate:policy/types": super::flush::tidegate::policy::types,
            "tidegate:policy/log": super::flush::tidegate::policy::log,
        } });
    }
    /// Optional: found by its name.
    pub mod state {
        wasmtime::component::bindgen!({ path: "../wit", world: "stateful" });
    }
}

pub(super) use v0_1::flush::tidegate::policy::{log, types};

impl types::Host for State {}

impl log::Host for State {
    fn log(&mut self, level: log::Level, line: String) {
        let level = match level {
            log::Level::Debug => Level::Debug,
            log::Level::Info => Level::Info,
            log::Level::Warn => Level::Warn,
            log::Level::Error => Level::Error,
        };
        self.log.line(level, &line);
    }
}

/// What the names of a component say of it.
#[derive(Debug)]
pub(super) struct Contract {
    /// Version of the contract that it was written for.
    pub(super) version: String,
    /// The kinds that it decides.
    pub(super) kinds: Vec<Kind>,
    /// Whether it carries its state over a swap.
    pub(super) stateful: bool,
}

impl Contract {
    /// Checks version, imports and exports, in this order.
    pub(super) fn of(outline: &Outline) -> Result<Self, LoadError> {
        let version = version(outline)?;
        refuse_imports(outline, &version)?;
        let exports = |interface: &str| outline.exports.iter().any(|name| interface_of(name) == Some(interface));
        let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| exports(kind.as_str())).collect();
        let missing = match (kinds.is_empty(), exports("describe")) {
            (false, true) => return Ok(Self { version, kinds, stateful: exports("state") }),
            (true, _) => "one of tidegate:policy/flush, index or read-ahead",
            (false, false) => "tidegate:policy/describe",
        };
        let problem = format!("the component does not export {missing}; it exports {}", listed(&outline.exports));
        Err(LoadError::new(FaultClass::MissingExport, problem, "export what the contract asks for; the guest SDK's `export!` does"))
    }
}

fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(16).map(|name| super::guest_log::escape(name, 128)).collect();
    if shown.is_empty() { "nothing".to_owned() } else { shown.join(", ") }
}

/// `flush` of `tidegate:policy/flush@0.1.0`.
fn interface_of(name: &str) -> Option<&str> {
    let name = name.strip_prefix(PACKAGE)?;
    Some(name.split_once('@').map_or(name, |(interface, _)| interface))
}

fn version(outline: &Outline) -> Result<String, LoadError> {
    let ours = |name: &String| {
        name.strip_prefix(PACKAGE).map(|name| name.split_once('@').map_or(String::new(), |(_, version)| version.to_owned()))
    };
    let mut versions = outline.exports.iter().chain(&outline.imports).filter_map(ours);
    let Some(first) = versions.next() else {
        let problem = format!(
            "the component is no Tidegate policy: nothing in it is of the package tidegate:policy; it exports {}",
            listed(&outline.exports)
        );
        return Err(LoadError::new(FaultClass::NoMarker, problem, "build it against the contract in wit/, for example with the guest SDK"));
    };
    let served =
        |version: &str| version == SERVED || version.strip_prefix(SERVED).is_some_and(|rest| rest.starts_with('.') && !rest.contains('-'));
    match std::iter::once(first.clone()).chain(versions).find(|version| !served(version)) {
        None => Ok(first),
        Some(version) => {
            let version = super::guest_log::escape(&version, 64);
            let problem = format!("the component needs version {version} of the policy contract, this host serves {SERVED}");
            Err(LoadError::new(FaultClass::Unsupported, problem, "use a host that serves it, or build the plugin against this host's wit/"))
        }
    }
}

/// A newer version of the contract may have interfaces that this one has not; all else is nobody's.
fn refuse_imports(outline: &Outline, version: &str) -> Result<(), LoadError> {
    let newer = |name: &&String| interface_of(name).is_some_and(|interface| !INTERFACES.contains(&interface));
    if let Some(name) = outline.imports.iter().find(newer) {
        let (name, version) = (super::guest_log::escape(name, 128), super::guest_log::escape(version, 64));
        let problem =
            format!("the component needs {name}: it was written for version {version} of the policy contract, this host serves {SERVED}");
        return Err(LoadError::new(FaultClass::Unsupported, problem, "use a newer host, or build the plugin against this host's wit/"));
    }
    let allowed = |name: &&String| matches!(interface_of(name), Some("types" | "log")) || wasi::is_inert(name);
    let forbidden: Vec<String> = outline.imports.iter().filter(|name| !allowed(name)).cloned().collect();
    if forbidden.is_empty() {
        return Ok(());
    }
    let problem = format!("the component imports {}, which no policy gets", listed(&forbidden));
    Err(LoadError::new(
        FaultClass::ForbiddenImport,
        problem,
        "a policy sees its views and may log, nothing else: remove what needs these imports",
    ))
}

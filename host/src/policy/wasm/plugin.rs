//! A plugin: a component that passed every check, compiled, with one prepared instance for each of its kinds.

use std::sync::Arc;

use wasmtime::component::{Component, HasSelf, Linker};

use super::LoadError;
use super::checked::{Checked, require_resources};
use super::contract::{Contract, log};
use super::engine::Machine;
use super::guest_log::escape;
use super::inspect::Inspection;
use super::instance::{Description, GuestKind, Instance, Prepared, arm, at_init, new_store};
use super::limits::State;
use super::wasi;
use crate::env::now;
use crate::policy::Kind;
use crate::policy::config_schema::ConfigSchema;
use crate::policy::guard::{Fault, FaultClass};
use crate::policy::kinds::{Flush, Index, InitRequest, Policy, PolicySource, ReadAhead};
use crate::policy::types::Context;

/// Texts of a description are cut there, in bytes.
const MAX_TEXT: usize = 4 << 10;
const INSTANTIATE: &str = "its start section and data must fit its memory, and return";
const DESCRIBE: &str = "`describe` needs no config: return constants";
const SCHEMA: &str = "describe the config with the keywords that docs/plugin-guide.md lists";
const MAX_NAME: usize = 64;
const MAX_SCHEMA: usize = 16 << 10;

/// See the module.
pub struct LoadedPlugin {
    machine: Arc<Machine>,
    inspection: Inspection,
    name: Arc<str>,
    schema: ConfigSchema,
    flush: Option<Prepared<Flush>>,
    index: Option<Prepared<Index>>,
    read_ahead: Option<Prepared<ReadAhead>>,
}

impl std::fmt::Debug for LoadedPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LoadedPlugin({} {}, {})", self.name, self.inspection.version, self.inspection.digest)
    }
}

impl LoadedPlugin {
    /// All checks in their order, each with its own class and remedy.
    pub(super) fn load(machine: Arc<Machine>, bytes: &[u8], pinned: Option<&str>) -> Result<Self, LoadError> {
        let Checked { outline, contract, digest } = Checked::read(bytes, pinned, &machine.settings)?;
        let began = now();
        let component = machine.compiler.compile(bytes, &digest)?;
        let compile_us = u64::try_from(now().duration_since(began).as_micros()).unwrap_or(u64::MAX);
        require_resources(&machine.settings, &component)?;
        let linker = link(&machine, &component)?;
        let mut plugin = prepare(machine, &linker, &component, &contract)?;
        let (size, version) = (bytes.len() as u64, contract.version);
        plugin.inspection = Inspection {
            size,
            digest,
            contract: version,
            imports: outline.imports,
            kinds: contract.kinds,
            compile_us,
            stateful: contract.stateful,
            ..plugin.inspection
        };
        plugin.describe()?;
        plugin.rehearse()?;
        Ok(plugin)
    }

    /// What is known of it.
    pub fn inspection(&self) -> &Inspection {
        &self.inspection
    }

    /// What its config may be.
    pub fn config_schema(&self) -> &ConfigSchema {
        &self.schema
    }

    fn describe(&mut self) -> Result<(), LoadError> {
        let (described, memory_bytes) = match (&self.flush, &self.index, &self.read_ahead) {
            (Some(pre), _, _) => self.describe_kind::<Flush>(pre)?,
            (_, Some(pre), _) => self.describe_kind::<Index>(pre)?,
            (_, _, Some(pre)) => self.describe_kind::<ReadAhead>(pre)?,
            (None, None, None) => return Ok(()),
        };
        if described.name.trim().is_empty() {
            return Err(LoadError::new(FaultClass::BadValue, "the plugin describes itself without a name", DESCRIBE));
        }
        let it = &mut self.inspection;
        (it.name, it.version) = (escape(&described.name, MAX_NAME), escape(&described.version, MAX_NAME));
        (it.summary, it.memory_bytes) = (escape(&described.summary, MAX_TEXT), memory_bytes);
        self.name = it.name.as_str().into();
        self.schema = read_schema(&described.config_schema)?;
        self.inspection.config_schema = described.config_schema;
        Ok(())
    }

    /// What it says, and the memory that an instance has by then, in bytes.
    fn describe_kind<K: GuestKind>(&self, pre: &Prepared<K>) -> Result<(Description, u64), LoadError> {
        let mut store = new_store(&self.machine, "(load)", self.name.clone());
        let _running = self.machine.clock.run();
        let exports = pre.instantiate(&mut store);
        let (exports, _) = exports.map_err(|error| LoadError::from_fault(at_init(&error, &store, "instantiating it"), INSTANTIATE))?;
        arm(&mut store, self.machine.init_ticks());
        let described = K::describe(&exports, &mut store);
        let described = described.map_err(|error| LoadError::from_fault(at_init(&error, &store, "describe"), DESCRIBE))?;
        Ok((described, store.data().limits.used_bytes()))
    }

    /// One instance and one decision of each kind, without a config. A plugin may insist on a config: that is for the binding to give.
    fn rehearse(&self) -> Result<(), LoadError> {
        self.rehearse_kind::<Flush>(&self.flush)?;
        self.rehearse_kind::<Index>(&self.index)?;
        self.rehearse_kind::<ReadAhead>(&self.read_ahead)
    }

    fn rehearse_kind<K: GuestKind>(&self, pre: &Option<Prepared<K>>) -> Result<(), LoadError>
    where
        K::View: Default,
    {
        let Some(pre) = pre else { return Ok(()) };
        let request = InitRequest { topic: "(load)", config: "{}", context: &Context::default() };
        let instance = match Instance::<K>::new(&self.machine, pre, self.name.clone(), &request) {
            Err(fault) if fault.class == FaultClass::ConfigRejected => return Ok(()),
            other => other.map_err(|fault| LoadError::from_fault(fault, "`init` must return, with a message where it refuses a config"))?,
        };
        let remedy = "a decision must return for any view, one of zeros too";
        instance
            .patient()
            .decide(&K::View::default())
            .map(drop)
            .map_err(|fault| LoadError::new(FaultClass::CanaryFailed, format!("a trial decision of {} failed: {fault}", K::KIND), remedy))
    }

    fn instance<K: GuestKind>(&self, pre: &Option<Prepared<K>>, request: &InitRequest<'_>) -> Result<Box<dyn Policy<K>>, Fault> {
        let missing = || Fault::new(FaultClass::MissingExport, format!("plugin {} exports no {}", self.name, K::KIND));
        let pre = pre.as_ref().ok_or_else(missing)?;
        Ok(Box::new(Instance::<K>::new(&self.machine, pre, self.name.clone(), request)?))
    }
}

impl PolicySource for LoadedPlugin {
    fn name(&self) -> &str {
        &self.name
    }
    fn version(&self) -> &str {
        &self.inspection.version
    }
    fn digest(&self) -> &str {
        &self.inspection.digest
    }
    fn kinds(&self) -> Vec<Kind> {
        self.inspection.kinds.clone()
    }
    fn check_config(&self, config: &serde_json::Value) -> Result<(), String> {
        self.schema.check(config)
    }
    fn flush(&self, request: &InitRequest<'_>) -> Result<Box<dyn Policy<Flush>>, Fault> {
        self.instance::<Flush>(&self.flush, request)
    }
    fn index(&self, request: &InitRequest<'_>) -> Result<Box<dyn Policy<Index>>, Fault> {
        self.instance::<Index>(&self.index, request)
    }
    fn read_ahead(&self, request: &InitRequest<'_>) -> Result<Box<dyn Policy<ReadAhead>>, Fault> {
        self.instance::<ReadAhead>(&self.read_ahead, request)
    }
}

fn link(machine: &Machine, component: &Component) -> Result<Linker<State>, LoadError> {
    let mut linker = Linker::new(&machine.engine);
    let linked = log::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state);
    linked.and_then(|()| wasi::link(&mut linker, component, &machine.engine)).map_err(|error| mismatch(&error))?;
    Ok(linker)
}

fn prepare(machine: Arc<Machine>, linker: &Linker<State>, component: &Component, contract: &Contract) -> Result<LoadedPlugin, LoadError> {
    let pre = linker.instantiate_pre(component).map_err(|error| mismatch(&error))?;
    let has = |kind| contract.kinds.contains(&kind);
    let flush = has(Kind::Flush).then(|| Prepared::new(&pre, contract.stateful)).transpose();
    let index = has(Kind::Index).then(|| Prepared::new(&pre, contract.stateful)).transpose();
    let read_ahead = has(Kind::ReadAhead).then(|| Prepared::new(&pre, contract.stateful)).transpose();
    Ok(LoadedPlugin {
        machine,
        inspection: Inspection::default(),
        name: "(unnamed)".into(),
        schema: ConfigSchema::default(),
        flush: flush.map_err(|error| mismatch(&error))?,
        index: index.map_err(|error| mismatch(&error))?,
        read_ahead: read_ahead.map_err(|error| mismatch(&error))?,
    })
}

fn mismatch(error: &wasmtime::Error) -> LoadError {
    let problem = format!("an import or export has other types than the contract: {}", escape(&format!("{error:#}"), MAX_TEXT));
    LoadError::new(FaultClass::TypeMismatch, problem, "generate its bindings from the wit/ of this host's version, unchanged")
}

fn read_schema(text: &str) -> Result<ConfigSchema, LoadError> {
    let refuse = |problem: String| LoadError::new(FaultClass::BadSchema, problem, SCHEMA);
    if text.len() > MAX_SCHEMA {
        return Err(refuse(format!("its config schema has {} bytes, at most {MAX_SCHEMA} are allowed", text.len())));
    }
    ConfigSchema::read(text).map_err(|problem| refuse(escape(&problem, MAX_TEXT)))
}

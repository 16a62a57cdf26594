//! The checks that a component passes before it is instantiated, in the order in which a person mends them: what comes first makes the rest
//! meaningless.
//!
//! size · kind of bytes · all of it parses · pinned digest · contract · imports · exports — then it is compiled — memory and tables

use wasmtime::component::Component;

use super::LoadError;
use super::bytes_kind::{digest, require_component, verify_digest};
use super::contract::Contract;
use super::outline::Outline;
use crate::config::PolicySettings;
use crate::policy::guard::FaultClass;

/// Memories are counted in pages.
const PAGE_BYTES: u64 = 64 << 10;

/// What is known of a component that may be compiled.
pub(super) struct Checked {
    pub(super) outline: Outline,
    pub(super) contract: Contract,
    pub(super) digest: String,
}

impl Checked {
    /// Everything that can be told from the bytes alone.
    pub(super) fn read(bytes: &[u8], pinned: Option<&str>, limits: &PolicySettings) -> Result<Self, LoadError> {
        require_component(bytes, limits.component_bytes)?;
        let other = pinned.and_then(|pinned| verify_digest(bytes, pinned).err());
        let outline = match (Outline::read(bytes, limits.custom_bytes), other) {
            (Ok(outline), None) => outline,
            (Ok(_), Some(other)) => return Err(other),
            (Err(broken), None) => return Err(broken),
            (Err(broken), Some(other)) => return Err(broken.after(&other)),
        };
        let contract = Contract::of(&outline)?;
        Ok(Self { outline, contract, digest: digest(bytes) })
    }
}

/// Refuses a component that begins with more than an instance may have.
pub(super) fn require_resources(limits: &PolicySettings, component: &Component) -> Result<(), LoadError> {
    let Some(needs) = component.resources_required() else { return Ok(()) };
    let memory = needs.max_initial_memory_size.unwrap_or(0).saturating_mul(PAGE_BYTES);
    if memory > limits.memory_bytes {
        let problem = format!("the component starts with {memory} bytes of memory, at most {} are allowed", limits.memory_bytes);
        return Err(LoadError::new(FaultClass::InitOom, problem, "reserve less in it, or raise policy.memory_bytes"));
    }
    let (elements, most) = (needs.max_initial_table_size.unwrap_or(0), limits.table_elements);
    if elements > u64::from(most) {
        let problem = format!("the component starts with a table of {elements} elements, at most {most} are allowed");
        let remedy = "leave out what fills the table (it has that many functions called indirectly), or raise policy.table_elements";
        return Err(LoadError::new(FaultClass::InitLimit, problem, remedy));
    }
    Ok(())
}

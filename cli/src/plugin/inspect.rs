//! `tidegate plugin inspect`: what a component says of itself, what was found in it, and the limits under which it was tried out.

use anyhow::Result;
use serde::Serialize;
use tidegate::config::PolicySettings;
use tidegate::policy::ConfigKey;
use tidegate::policy::wasm::Inspection;

use super::component::{self, ComponentArgs};

/// A component, and the limits under which it was tried out.
#[derive(Serialize)]
pub(super) struct Inspected {
    #[serde(flatten)]
    found: Inspection,
    config_keys: Vec<ConfigKey>,
    limits: PolicySettings,
}

pub(super) fn run(args: &ComponentArgs) -> Result<Inspected> {
    let limits = args.limits.settings()?;
    let bytes = component::read(&args.file)?;
    let (found, schema) = component::inspect(&args.file, &bytes, &limits)?;
    Ok(Inspected { found, config_keys: schema.keys(), limits })
}

pub(super) fn kinds(found: &Inspection) -> String {
    found.kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ")
}

impl Inspected {
    pub(super) fn describe(&self) -> String {
        let found = &self.found;
        let list = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
        let keys: Vec<String> = self.config_keys.iter().map(|key| key.key.clone()).collect();
        let schema = if found.config_schema.is_empty() { "none: it takes no config" } else { found.config_schema.trim() };
        let rows = [
            ("name", found.name.clone()),
            ("version", found.version.clone()),
            ("summary", found.summary.clone()),
            ("decides", kinds(found)),
            ("state", if found.stateful { "carried over a swap" } else { "starts over at a swap" }.to_owned()),
            ("contract", found.contract.clone()),
            ("imports", list(&found.imports)),
            ("size", format!("{} bytes", found.size)),
            ("memory", format!("{} bytes before init", found.memory_bytes)),
            ("compiled in", format!("{} ms", found.compile_us.div_ceil(1_000))),
            ("digest", found.digest.clone()),
            ("config keys", list(&keys)),
            ("config schema", schema.to_owned()),
            ("limits", limits(&self.limits)),
        ];
        rows.iter().map(|(key, value)| format!("{key:14} {value}\n")).collect()
    }
}

fn limits(limits: &PolicySettings) -> String {
    let (breaker, log) = (&limits.breaker, &limits.log);
    format!(
        "a decision {} ms, init {} ms, in ticks of {} ms; memory {} bytes, stack {} bytes, tables {} elements, {} bytes handed over in a call; \
         component {} bytes, {} of them custom, compiled within {} ms; log {} lines/s (burst {}) of {} bytes; \
         left alone after {} faults ({} with missed deadlines) in {} ms, for {} to {} ms",
        limits.decision_deadline_ms,
        limits.init_deadline_ms,
        limits.tick_ms,
        limits.memory_bytes,
        limits.stack_bytes,
        limits.table_elements,
        limits.handover_bytes,
        limits.component_bytes,
        limits.custom_bytes,
        limits.compile_timeout_ms,
        log.lines_per_s,
        log.burst,
        log.line_bytes,
        breaker.faults,
        breaker.deadline_faults,
        breaker.window_ms,
        breaker.pause_ms,
        breaker.longest_pause_ms,
    )
}

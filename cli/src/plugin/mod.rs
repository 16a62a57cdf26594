//! `tidegate plugin`: build, check and inspect policies without a broker.
//!
//! Each command writes one answer (text, or one line of JSON) to the writer it is given and fails with what to do about it.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde::Serialize;
use tidegate::config::PolicySettings;
use tidegate::policy::wasm::{Inspection, check};

mod build;

/// `tidegate plugin`.
#[derive(Debug, Args)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Debug, Subcommand)]
enum PluginCommand {
    /// Build crates into components with `cargo`
    Build(BuildArgs),
    /// Check a component as a host does before it binds it
    Check(FileArgs),
    /// Show what a component says of itself and what was found in it
    Inspect(FileArgs),
}

#[derive(Debug, Args)]
struct BuildArgs {
    /// Directories of crates
    #[arg(required = true, value_name = "CRATE_DIR")]
    crates: Vec<PathBuf>,
    /// Where the components go [default: `plugins` in cargo's target directory]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Build for wasm32-wasip2, for crates whose dependencies insist on WASI; a host serves none of it but empty answers
    #[arg(long)]
    wasi: bool,
}

#[derive(Debug, Args)]
struct FileArgs {
    /// A component
    file: PathBuf,
    /// Largest component that is taken, in bytes
    #[arg(long, default_value_t = PolicySettings::default().component_bytes)]
    component_bytes: u64,
    /// Linear memory of an instance at most, in bytes
    #[arg(long, default_value_t = PolicySettings::default().memory_bytes)]
    memory_bytes: u64,
}

/// Runs a command; `json` asks for one line of JSON.
pub(crate) fn run(args: &PluginArgs, json: bool, out: &mut dyn Write) -> Result<()> {
    match &args.command {
        PluginCommand::Build(args) => {
            let target = if args.wasi { build::Target::Wasi } else { build::Target::Plain };
            let built = build::build(&args.crates, target, args.out.as_deref())?;
            answer(json, out, &built, |built| built.iter().map(|one| format!("{one}\n")).collect())
        }
        PluginCommand::Check(args) => answer(json, out, &args.check(&args.limits())?, |found| {
            format!("ok: {} {} decides {}, contract {}\n", found.name, found.version, kinds(found), found.contract)
        }),
        PluginCommand::Inspect(args) => {
            let limits = args.limits();
            answer(json, out, &Inspected { found: args.check(&limits)?, limits }, Inspected::describe)
        }
    }
}

impl FileArgs {
    fn limits(&self) -> PolicySettings {
        PolicySettings { component_bytes: self.component_bytes, memory_bytes: self.memory_bytes, ..PolicySettings::default() }
    }

    fn check(&self, limits: &PolicySettings) -> Result<Inspection> {
        let bytes = std::fs::read(&self.file).with_context(|| format!("cannot read {}", self.file.display()))?;
        check(&bytes, limits).with_context(|| format!("{} is refused", self.file.display()))
    }
}

fn answer<T: Serialize>(json: bool, out: &mut dyn Write, value: &T, text: impl FnOnce(&T) -> String) -> Result<()> {
    let shown = if json { serde_json::to_string(value)? + "\n" } else { text(value) };
    out.write_all(shown.as_bytes())?;
    Ok(out.flush()?)
}

fn kinds(found: &Inspection) -> String {
    found.kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ")
}

/// A component, and the limits under which it was tried out.
#[derive(Serialize)]
struct Inspected {
    #[serde(flatten)]
    found: Inspection,
    limits: PolicySettings,
}

impl Inspected {
    fn describe(&self) -> String {
        let found = &self.found;
        let list = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
        let schema = if found.config_schema.is_empty() { "none" } else { found.config_schema.trim() };
        let rows = [
            ("name", found.name.clone()),
            ("version", found.version.clone()),
            ("summary", found.summary.clone()),
            ("decides", kinds(found)),
            ("contract", found.contract.clone()),
            ("imports", list(&found.imports)),
            ("size", format!("{} bytes", found.size)),
            ("digest", found.digest.clone()),
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

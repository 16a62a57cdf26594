//! `tidegate plugin`: begin, build, check, inspect, test and measure policies without a broker.
//!
//! Each command writes one answer (text, or one line of JSON) to the writer it is given and fails with what to do about it.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde::Serialize;

mod bench;
mod build;
mod check;
pub(crate) mod component;
mod inspect;
mod new;
mod play;
mod scenario;
mod sign;
mod test;
mod toolchain;
mod wrap;

/// `tidegate plugin`.
#[derive(Debug, Args)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Debug, Subcommand)]
enum PluginCommand {
    /// Begin a policy: a project that builds and passes its tests at once
    New(new::NewArgs),
    /// Build crates into components with `cargo`
    Build(BuildArgs),
    /// Make a component of a core module: for compilers, as of C, that make none
    Wrap(wrap::WrapArgs),
    /// Check a component as a host does before it binds it, and try it out on everyday views
    Check(check::CheckArgs),
    /// Show what a component says of itself and what was found in it
    Inspect(component::ComponentArgs),
    /// Run scenarios (views, and what is to be decided on them) in the engine of a broker
    Test(test::TestArgs),
    /// Measure a component beside the built-in policies
    Bench(bench::BenchArgs),
    /// Make a key to sign with
    Keygen(sign::KeygenArgs),
    /// Sign components: whoever trusts the key knows that they are yours
    Sign(sign::SignArgs),
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

/// Runs a command; `json` asks for one line of JSON.
pub(crate) fn run(args: &PluginArgs, json: bool, out: &mut dyn Write) -> Result<()> {
    match &args.command {
        PluginCommand::New(args) => answer(json, out, &new::run(args)?, |made| made.to_string()),
        PluginCommand::Build(args) => {
            let target = if args.wasi { build::Target::Wasi } else { build::Target::Plain };
            let built = build::build(&args.crates, target, args.out.as_deref())?;
            answer(json, out, &built, |built| built.iter().map(|one| format!("{one}\n")).collect())
        }
        PluginCommand::Wrap(args) => answer(json, out, &wrap::run(args)?, |built| format!("{built}\n")),
        PluginCommand::Check(args) => answer(json, out, &check::run(args)?, |found| {
            format!("ok: {} {} decides {}, contract {}\n", found.name, found.version, inspect::kinds(found), found.contract)
        }),
        PluginCommand::Keygen(args) => answer(json, out, &sign::keygen(args)?, sign::Key::describe),
        PluginCommand::Sign(args) => answer(json, out, &sign::sign(args)?, |signed| signed.iter().map(|one| format!("{one}\n")).collect()),
        PluginCommand::Inspect(args) => answer(json, out, &inspect::run(args)?, inspect::Inspected::describe),
        PluginCommand::Test(args) => {
            let report = test::run(args)?;
            answer(json, out, &report, test::Report::describe)?;
            match report.failed {
                0 => Ok(()),
                failed => bail!("{failed} of {} scenarios failed", failed + report.passed),
            }
        }
        PluginCommand::Bench(args) => answer(json, out, &bench::run(args)?, bench::Measured::describe),
    }
}

fn answer<T: Serialize>(json: bool, out: &mut dyn Write, value: &T, text: impl FnOnce(&T) -> String) -> Result<()> {
    let shown = if json { serde_json::to_string(value)? + "\n" } else { text(value) };
    out.write_all(shown.as_bytes())?;
    Ok(out.flush()?)
}

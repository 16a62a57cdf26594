//! `tidegate plugin wrap`: a component of a core module that keeps the contract, for compilers that make none.
//!
//! A C compiler, say, knows nothing of components: it makes a module whose exports have the contract's names. The types of the contract, which are in
//! this binary, are added to it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use tidegate::policy::Kind;
use wit_component::{StringEncoding, embed_component_metadata};

use super::build::{Built, encode};
use super::component;

/// The contract.
const WIT: &str = include_str!("../../../wit/policy.wit");

#[derive(Debug, Args)]
pub(crate) struct WrapArgs {
    /// A core module with the exports of a kind, such as `tidegate:policy/flush@0.1.0#decide`
    module: PathBuf,
    /// What it decides: flush, index or read-ahead; left out: all three
    #[arg(long)]
    kind: Option<Kind>,
    /// Where the component goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn run(args: &WrapArgs) -> Result<Built> {
    let mut module = component::read(&args.module)?;
    let mut resolve = wit_parser::Resolve::default();
    let package = resolve.push_str("policy.wit", WIT).context("the contract does not parse")?;
    let world = args.kind.map_or_else(|| "policy".to_owned(), |kind| format!("{kind}-policy"));
    let world = resolve.select_world(&[package], Some(&world)).context("the contract has no such world")?;
    let cannot = || format!("{} is no module of a policy", args.module.display());
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).with_context(cannot)?;
    let component = encode(&module).with_context(cannot)?;
    std::fs::write(&args.out, &component).with_context(|| format!("cannot write {}", args.out.display()))?;
    Ok(Built::new(&args.out, component.len()))
}

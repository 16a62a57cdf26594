//! `tidegate plugin test`: scenarios in the engine of a broker, without one.
//!
//! Each scenario is played on two fresh instances, which must answer the same, and on a third one that counts its work. Every kind also gets the
//! everyday views that a host tries a policy on before it binds it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::{Map, Value};
use tidegate::policy::wasm::{LoadedPlugin, load, load_metered};
use tidegate::policy::{Flush, Index, Kind, PolicySource, ReadAhead};

use super::build::{self, Target};
use super::component::{self, LimitArgs};
use super::play::{Play, Told, play, views};
use super::scenario::{Case, Scenario, Scenarios, Step, differs};
use crate::config;

mod report;

pub(super) use report::Report;
use report::{Outcome, Plays};

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// A component, or the directory of a crate, which is built first
    #[arg(default_value = ".", value_name = "PATH")]
    path: PathBuf,
    /// Scenarios [default: `scenarios.toml` in the crate's directory]
    #[arg(long, value_name = "FILE")]
    scenarios: Option<PathBuf>,
    /// Config where the scenarios say nothing else: JSON, or `@FILE` to read it from a file
    #[arg(long, value_name = "JSON")]
    config: Option<String>,
    #[command(flatten)]
    limits: LimitArgs,
}

/// A plugin twice: as it runs in a broker, and counting its work.
struct Tested {
    plugin: std::sync::Arc<LoadedPlugin>,
    metered: std::sync::Arc<LoadedPlugin>,
}

/// Runs all scenarios; what failed is in the report.
pub(super) fn run(args: &TestArgs) -> Result<Report> {
    let component = if args.path.is_dir() { build::build_one(&args.path, Target::Plain, None)?.path } else { args.path.clone() };
    let beside = Some(args.path.join("scenarios.toml")).filter(|file| file.is_file());
    let mut scenarios = args.scenarios.clone().or(beside).map(|file| Scenarios::read(&file)).transpose()?.unwrap_or_default();
    let given = args.config.as_deref().map(config::parse).transpose()?;
    let tested = Tested::load(&component, args)?;
    let kinds = tested.plugin.kinds();
    let config = scenarios.config_or(given);
    let mut cases = scenarios.cases(&kinds)?;
    cases.extend(kinds.iter().map(|kind| everyday(*kind, &config)));
    let outcomes = cases.iter().map(|case| tested.play(case)).collect::<Result<Vec<_>>>()?;
    Ok(Report::new(tested.plugin.inspection(), outcomes))
}

/// A scenario without expectations, of the views that a host tries a policy on.
fn everyday(kind: Kind, config: &Map<String, Value>) -> Case {
    fn steps<K: Told>() -> Vec<Step> {
        let view = |view: K::View| serde_json::to_value(view).ok()?.as_object().cloned();
        K::everyday().into_iter().filter_map(view).map(|view| Step { view, expect: None }).collect()
    }
    let step = match kind {
        Kind::Flush => steps::<Flush>(),
        Kind::Index => steps::<Index>(),
        Kind::ReadAhead => steps::<ReadAhead>(),
    };
    let scenario = Scenario::of("everyday views", step);
    Case { kind, config: Value::Object(config.clone()), context: tidegate::policy::Context::default(), scenario }
}

impl Tested {
    fn load(file: &Path, args: &TestArgs) -> Result<Self> {
        let (bytes, limits) = (component::read(file)?, args.limits.settings()?);
        let refused = || format!("{} is refused", file.display());
        Ok(Self { plugin: load(&bytes, &limits).with_context(refused)?, metered: load_metered(&bytes, &limits).with_context(refused)? })
    }

    fn play(&self, case: &Case) -> Result<Outcome> {
        let plays = match case.kind {
            Kind::Flush => self.plays::<Flush>(case),
            Kind::Index => self.plays::<Index>(case),
            Kind::ReadAhead => self.plays::<ReadAhead>(case),
        };
        let plays = plays.with_context(|| format!("scenario {:?}", case.scenario.name))?;
        let problem = problem(&case.scenario, &plays.first).or_else(|| differ(&plays.first, &plays.second));
        Ok(Outcome::new(case, problem, plays))
    }

    fn plays<K: Told>(&self, case: &Case) -> Result<Plays> {
        let views = views::<K>(case.scenario.step.iter().map(|step| &step.view))?;
        let on = |plugin: &LoadedPlugin| play::<K>(plugin, &case.config, &case.context, &views);
        Ok(Plays { first: on(&self.plugin), second: on(&self.plugin), metered: on(&self.metered) })
    }
}

/// What is not as the scenario says; the first of it.
fn problem(scenario: &Scenario, play: &Play) -> Option<String> {
    match (&scenario.refused, &play.refused) {
        (Some(wanted), Some(said)) => return (!said.contains(wanted)).then(|| format!("it was to name {wanted:?}, it said: {said}")),
        (Some(_), None) => return Some("its config was to be refused, and was taken".to_owned()),
        (None, Some(said)) => return Some(format!("its config is refused: {said}")),
        (None, None) => {}
    }
    for (at, (step, call)) in scenario.step.iter().zip(&play.calls).enumerate() {
        if let Some(difference) = step.expect.as_ref().and_then(|expected| differs(expected, &call.answer)) {
            return Some(format!("step {}: {difference}", at + 1));
        }
    }
    play.fault.as_ref().map(|fault| {
        if fault.class.as_str().starts_with("init") { fault.to_string() } else { format!("step {}: {fault}", play.calls.len() + 1) }
    })
}

/// How two instances differ that were asked the same.
fn differ(first: &Play, second: &Play) -> Option<String> {
    if first.outcome() == second.outcome() {
        return None;
    }
    let answers = first.calls.iter().zip(&second.calls).enumerate();
    let told = answers
        .filter(|(_, (a, b))| a.answer != b.answer)
        .map(|(at, (a, b))| format!("step {}: {} and {}", at + 1, a.answer, b.answer))
        .next();
    Some(format!("two instances that were asked the same differ: {}", told.unwrap_or_else(|| "one of them failed".to_owned())))
}

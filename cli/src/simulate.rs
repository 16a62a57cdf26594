//! `tidegate simulate`.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use tidegate::Settings;
use tidegate_simulate::{Candidate, Outcome, Plugins, Simulation, StoreModel, Trace, report};

use crate::failure::Usage;
use crate::output::Output;

const HELP: &str = "\
A trace is replayed through the real buffers, flush pipeline, cache and read-ahead, with the real components deciding, over a modelled
store, on a clock that does not wait. The same trace with the same seed gives the same answer.

A policy is `built-in`, or a component by path or by its name in --plugins, with its config behind `=`; several of different kinds
are joined by `+`. Costs are of requests and transfer; storage costs the same whatever a policy decides.

Examples:
  tidegate trace generate bursty > bursty.csv
  tidegate simulate --trace bursty.csv --plugins target/plugins --policy built-in --policy flush-adaptive
  tidegate simulate --trace bursty.csv --policy 'flush-threshold={\"bytes\":1048576}+read-ahead-pace' --store s3-express --html page.html";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SimulateArgs {
    /// Trace (CSV), as `tidegate trace` makes it; may be repeated, each with all policies.
    #[arg(long, value_name = "FILE", required = true)]
    trace: Vec<PathBuf>,
    /// Policies to simulate together; may be repeated, one column each.
    #[arg(long, value_name = "NAME[=JSON][+...]", default_value = "built-in")]
    policy: Vec<String>,
    /// Directory where components are found by name.
    #[arg(long, value_name = "DIR", env = "TIDEGATE_PLUGINS")]
    plugins: Option<PathBuf>,
    /// Settings of the simulated host and its topics; its store and its bindings are left out.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How the store answers, and what it charges: s3-standard, s3-express, or a file (TOML).
    #[arg(long, value_name = "MODEL", default_value = "s3-standard")]
    store: String,
    /// Decides what is left to chance.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write a page with plots, which needs nothing but itself; goes with one --trace.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Answer with a Markdown table, one line for each policy.
    #[arg(long)]
    markdown: bool,
}

pub(crate) fn run(args: SimulateArgs, output: &Output) -> Result<()> {
    if args.html.is_some() && args.trace.len() > 1 {
        let problem = format!("--html is a page of one trace, and {} are given: call it once for each", args.trace.len());
        return Err(Usage(problem).into());
    }
    let settings = match &args.config {
        Some(file) => Settings::load(file)?,
        None => Settings::default(),
    };
    let candidates = load(&args, &settings)?;
    let simulation = Simulation { settings, model: StoreModel::named(&args.store)?, seed: args.seed };
    let mut answers = Vec::new();
    for file in &args.trace {
        let trace = read(file)?;
        let outcomes = candidates.iter().map(|candidate| tidegate_simulate::run(&simulation, &trace, candidate));
        let outcomes = outcomes.collect::<tidegate::Result<Vec<Outcome>>>()?;
        if let Some(page) = &args.html {
            let title = format!("{}, on {}", name_of(file), simulation.model.name);
            std::fs::write(page, report::page(&title, &outcomes)).with_context(|| format!("page {} cannot be written", page.display()))?;
        }
        answers.push((name_of(file), outcomes));
    }
    output.answer(&answers.iter().map(|(trace, outcomes)| Answer { trace, outcomes }).collect::<Vec<_>>(), |answers| {
        let shown = |answer: &Answer<'_>| {
            let table = if args.markdown { report::markdown(answer.outcomes) } else { report::table(answer.outcomes) };
            format!("{}, on {}\n\n{table}", answer.trace, simulation.model.name)
        };
        answers.iter().map(shown).collect::<Vec<_>>().join("\n\n")
    })
}

/// What came of one trace.
#[derive(serde::Serialize)]
struct Answer<'a> {
    trace: &'a str,
    outcomes: &'a [Outcome],
}

fn load(args: &SimulateArgs, settings: &Settings) -> Result<Vec<Candidate>> {
    let plugins = Plugins::new(args.plugins.as_deref(), &settings.policy);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    args.policy.iter().map(|text| Ok(runtime.block_on(plugins.candidate(text))?)).collect()
}

fn read(file: &Path) -> Result<Trace> {
    let opened = File::open(file).with_context(|| format!("trace {} cannot be read", file.display()))?;
    Ok(Trace::read(&file.display().to_string(), BufReader::new(opened))?)
}

fn name_of(file: &Path) -> String {
    file.file_stem().map_or_else(|| file.display().to_string(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Simulate {
        #[command(flatten)]
        args: SimulateArgs,
    }

    #[test]
    fn a_page_is_of_one_trace() {
        let told = |traces: &[&str]| {
            let line = ["simulate", "--html", "/no/such/page.html"].into_iter().chain(traces.iter().flat_map(|trace| ["--trace", trace]));
            run(Simulate::parse_from(line).args, &Output::new(false)).unwrap_err()
        };
        let refused = told(&["/no/such/a.csv", "/no/such/b.csv"]);
        assert!(
            refused.is::<Usage>() && refused.to_string().contains("of one trace, and 2 are given"),
            "{refused}: before anything is read"
        );
        assert_eq!(told(&["/no/such/a.csv"]).to_string(), "trace /no/such/a.csv cannot be read");
    }
}

//! Simulations beside the real thing: how long a million events take in virtual time, and whether PUTs and ack latency are those of the same trace
//! in real time, against a store in memory that really takes the modelled times.

use anyhow::{Context, Result, ensure};
use tidegate::env::Env;
use tidegate::{Settings, Storage};
use tidegate_simulate::replay::{prepare, replay};
use tidegate_simulate::trace::{Shape, Shaped};
use tidegate_simulate::{Candidate, Latencies, ModelStore, Simulation, StoreModel, Trace, run};

use crate::host::{Plugins, runtime};
use crate::measure::{Pair, median, seconds};
use crate::report::Report;

const EVENTS: usize = 1_000_000;
const SEED: u64 = 1;
/// The policy under which both are compared: it answers by what it sees of the store.
const POLICY: &str = "flush-adaptive";
const ROUNDS: u64 = 3;

pub(crate) fn run_case(report: &Report, plugins: &Plugins) -> Result<()> {
    let candidate = candidate(plugins)?;
    report.value("million", million(&candidate)?, "s");
    let (mut puts, mut p99, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 1..=ROUNDS {
        let trace = Shaped { seconds: 60, rate: 300, seed, ..Shaped::new(Shape::Bursty) }.trace()?;
        let (simulated, measured) = (simulated(&trace, &candidate, seed)?, measured(&trace, plugins, seed)?);
        puts.push(simulated.puts / measured.puts);
        p99.push(simulated.ack_p99_ms / measured.ack_p99_ms);
        values.push((simulated, measured));
    }
    let of = |figure: fn(&Figures) -> f64, side: fn(&(Figures, Figures)) -> &Figures| {
        median(values.iter().map(|both| figure(side(both))).collect())
    };
    let pair = |figure: fn(&Figures) -> f64, ratios: Vec<f64>| Pair {
        value: of(figure, |both| &both.0),
        baseline: of(figure, |both| &both.1),
        ratio: median(ratios),
    };
    report.compared("puts", pair(|figures| figures.puts, puts), "requests", "the same trace in real time");
    report.compared("ack-p99", pair(|figures| figures.ack_p99_ms, p99), "ms", "the same trace in real time");
    Ok(())
}

/// What both sides are compared by.
struct Figures {
    puts: f64,
    ack_p99_ms: f64,
}

fn candidate(plugins: &Plugins) -> Result<Candidate> {
    let loader = tidegate_simulate::Plugins::new(Some(plugins.directory()), &Settings::default().policy);
    Ok(runtime()?.block_on(loader.candidate(POLICY))?)
}

/// Seconds that a million events take.
fn million(candidate: &Candidate) -> Result<f64> {
    let mut trace = Shaped { seconds: 120, rate: 8_500, bytes: 1 << 10, ..Shaped::new(Shape::Bursty) }.trace()?;
    ensure!(trace.events.len() >= EVENTS, "the trace has {} events", trace.events.len());
    trace.events.truncate(EVENTS);
    let simulation = Simulation { settings: Settings::default(), model: StoreModel::s3_standard(), seed: SEED };
    let mut outcome = None;
    let taken = seconds(|| outcome = Some(run(&simulation, &trace, candidate)));
    let outcome = outcome.context("it has run")??;
    ensure!(outcome.failed_appends == 0 && outcome.faults == 0, "{} appends failed", outcome.failed_appends);
    Ok(taken)
}

fn simulated(trace: &Trace, candidate: &Candidate, seed: u64) -> Result<Figures> {
    let simulation = Simulation { settings: Settings::default(), model: StoreModel::s3_standard(), seed };
    let outcome = run(&simulation, trace, candidate)?;
    Ok(Figures { puts: outcome.usage.puts as f64, ack_p99_ms: outcome.acks.p99_us as f64 / 1e3 })
}

/// The same trace, policy and store on a runtime like a broker's, as long as the trace is.
fn measured(trace: &Trace, plugins: &Plugins, seed: u64) -> Result<Figures> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let env = Env::system();
        let store = ModelStore::new(env.clone(), &StoreModel::s3_standard(), seed);
        let storage = Storage::builder(Settings::default()).store(store.shared()).env(env).open().await?;
        plugins.bind(&storage, tidegate::policy::Kind::Flush, POLICY).await?;
        let topics = prepare(&storage, trace).await?;
        let before = store.asked();
        let measured = replay(&storage, trace, &topics).await;
        let usage = store.asked().usage.since(&before.usage);
        storage.close().await?;
        let acks = Latencies::of(measured.acks.into_iter().map(|(_, took)| took).collect());
        Ok(Figures { puts: usage.puts as f64, ack_p99_ms: acks.p99_us as f64 / 1e3 })
    })
}

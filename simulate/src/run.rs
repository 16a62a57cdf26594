//! One candidate in virtual time, on a host and a store of its own.

use tidegate::env::Env;
use tidegate::error::{Error, ErrorKind, Result};
use tidegate::{Settings, Storage};

use crate::outcome::Outcome;
use crate::policy::Candidate;
use crate::replay::{prepare, replay};
use crate::store::{ModelStore, StoreModel};
use crate::trace::Trace;

/// When a simulation begins: 2026-01-01, UTC.
const START_MS: i64 = 1_767_225_600_000;

/// The surroundings of a candidate.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Of the host. Its store and its bindings are left out: model and candidate take their place.
    pub settings: Settings,
    /// How the store answers.
    pub model: StoreModel,
    /// Decides everything that is left to chance: the same trace with the same seed gives the same outcome.
    pub seed: u64,
}

/// Simulates a candidate. Blocks, and must not be called on a runtime's worker.
///
/// [`InvalidInput`](ErrorKind::InvalidInput) if the trace or the settings are wrong.
pub fn run(simulation: &Simulation, trace: &Trace, candidate: &Candidate) -> Result<Outcome> {
    trace.check()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|e| Error::new(ErrorKind::Unavailable, "a runtime for the simulation cannot be made").with_source(e))?;
    runtime.block_on(simulate(simulation, trace, candidate))
}

async fn simulate(simulation: &Simulation, trace: &Trace, candidate: &Candidate) -> Result<Outcome> {
    let env = Env::simulated(simulation.seed, START_MS);
    let store = ModelStore::new(env.clone(), &simulation.model, simulation.seed);
    let mut settings = simulation.settings.clone();
    settings.bindings.clear();
    let host = Storage::builder(settings).store(store.shared()).env(env).policies(candidate.bindings.clone()).reproducible();
    let storage = host.open().await?;
    let topics = prepare(&storage, trace).await?;
    let before = store.asked();
    let measured = replay(&storage, trace, &topics).await;
    let outcome = Outcome::new(&candidate.name, &simulation.model, &storage, measured, &before, &store.asked());
    storage.close().await?;
    Ok(outcome)
}

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
    let host = Storage::builder(settings)
        .store(store.shared())
        .env(env)
        .prices(simulation.model.prices)
        .policies(candidate.bindings.clone())
        .reproducible();
    let storage = host.open().await?;
    let topics = prepare(&storage, trace).await?;
    let before = store.asked();
    let measured = replay(&storage, trace, &topics).await;
    let outcome = Outcome::new(&candidate.name, &simulation.model, &storage, measured, &before, &store.asked());
    storage.close().await?;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tidegate::policy::{ActiveBinding, Context, Fault, FaultClass, Flush, Index, InitRequest, Kind, Policy, PolicySource, ReadAhead};

    use super::*;
    use crate::trace::{Shape, Shaped};

    /// Takes down what it is told of its surroundings, and decides nothing.
    #[derive(Default)]
    struct Listener(Mutex<Vec<(Kind, Context)>>);

    impl Listener {
        fn noted<T>(&self, request: &InitRequest<'_>, kind: Kind) -> std::result::Result<T, Fault> {
            self.0.lock().push((kind, *request.context));
            Err(Fault::new(FaultClass::MissingExport, "it only listens"))
        }
    }

    impl PolicySource for Listener {
        fn name(&self) -> &str {
            "listener"
        }
        fn version(&self) -> &str {
            "0.0.0"
        }
        fn digest(&self) -> &str {
            "listener"
        }
        fn kinds(&self) -> Vec<Kind> {
            vec![Kind::Flush, Kind::Index, Kind::ReadAhead]
        }
        fn flush(&self, request: &InitRequest<'_>) -> std::result::Result<Box<dyn Policy<Flush>>, Fault> {
            self.noted(request, Kind::Flush)
        }
        fn index(&self, request: &InitRequest<'_>) -> std::result::Result<Box<dyn Policy<Index>>, Fault> {
            self.noted(request, Kind::Index)
        }
        fn read_ahead(&self, request: &InitRequest<'_>) -> std::result::Result<Box<dyn Policy<ReadAhead>>, Fault> {
            self.noted(request, Kind::ReadAhead)
        }
    }

    #[test]
    fn policies_are_told_what_the_modelled_store_charges() {
        let listener = Arc::new(Listener::default());
        let binding = |kind| ActiveBinding {
            pattern: "*".to_owned(),
            kind,
            plugin: Ok(listener.clone() as Arc<dyn PolicySource>),
            config: serde_json::Value::Null,
            source: "listener".to_owned(),
        };
        let kinds = [Kind::Flush, Kind::Index, Kind::ReadAhead];
        let candidate = Candidate { name: "listener".to_owned(), bindings: kinds.map(binding).into() };
        let mut settings = Settings::default();
        settings.host.cache_bytes = 1 << 20;
        let simulation = Simulation { settings, model: StoreModel::s3_express(), seed: 1 };
        let trace = Shaped { seconds: 8, rate: 100, ..Shaped::new(Shape::CatchUp) }.trace().unwrap();
        run(&simulation, &trace, &candidate).unwrap();
        let (heard, prices) = (listener.0.lock(), simulation.model.prices);
        assert!(kinds.iter().all(|kind| heard.iter().any(|(of, _)| of == kind)), "{:?}", heard.iter().map(|(of, _)| of));
        for (kind, context) in heard.iter() {
            assert_eq!((context.put_price_nano, context.get_price_nano), (prices.put_nano, prices.get_nano), "{kind}");
        }
    }
}

//! One lane on a scripted store in virtual time: two writers that crash at any await, requests that are
//! delayed, refused, lost and late, trims and deletions. Whatever happens, everything acknowledged is there
//! once, in order; what idempotent producers send again and again is there exactly once; the same seed gives the same bytes.

mod clients;
mod history;
mod network;
mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clients::Clients;
use history::History;
use tidegate::buffer::BufferBudget;
use tidegate::cache::ChunkCache;
use tidegate::config::{HostSettings, PolicySettings, TopicSettings};
use tidegate::cost::Prices;
use tidegate::env::Env;
use tidegate::log::lane::Lane;
use tidegate::log::{Shared, Topic};
use tidegate::metrics::Metrics;
use tidegate::policy::PolicyHost;
use tidegate::store::MemoryStore;
use tidegate::types::{TopicId, TopicName};

/// Seeds that every run of the tests tries.
const SEEDS: u64 = 300;
/// Seeds that are run twice.
const REPLAYED_SEEDS: u64 = 12;
const PARTITIONS: u32 = 3;
const START_MS: i64 = 1_700_000_000_000;

/// How much happened, so that a simulation that does nothing is noticed.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    acked: usize,
    openings: u64,
    fenced: u64,
    trims: u64,
    /// Batches that were sent again and were there already.
    duplicates: u64,
}

fn simulate(seed: u64) -> (BTreeMap<String, Bytes>, Totals) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(scenario(seed))
}

async fn scenario(seed: u64) -> (BTreeMap<String, Bytes>, Totals) {
    let env = Env::simulated(seed, START_MS);
    let store = MemoryStore::new(env.clone());
    let topic = Arc::new(topic(&env));
    let history = Arc::new(History::default());
    let clients = Arc::new(Clients::new(history.clone()));
    Lane::create_all(&shared(&env, &store), &topic).await.unwrap();

    store.set_script(network::Network::new(seed));
    let writers = (0..2u64).map(|number| {
        let run = writer::Writer::new(seed * 2 + number, topic.clone(), history.clone(), clients.clone());
        run.run(shared(&env, &store))
    });
    futures::future::join_all(writers).await;

    store.clear_script();
    tokio::time::sleep(network::LATEST).await;
    let last =
        Lane::open(shared(&env, &store), topic.clone(), 0).await.unwrap_or_else(|e| panic!("seed {seed}: the log cannot be opened: {e}"));
    clients.finish(seed, &last).await;
    history.check(seed, &last, &topic).await;
    last.close().await.unwrap();
    let totals = history.totals();
    (store.snapshot(), totals)
}

fn topic(env: &Env) -> Topic {
    let settings = TopicSettings { max_age_ms: 40, retention_ms: -1, ..TopicSettings::default() };
    Topic::new(TopicId(env.uuid()), TopicName::new("sim").unwrap(), PARTITIONS, 1, settings)
}

fn shared(env: &Env, store: &MemoryStore) -> Shared {
    let settings = HostSettings {
        upload_deadline_ms: 2_000,
        delete_grace_ms: 500,
        uploads_per_lane: 4,
        append_timeout_ms: 1_000,
        cache_bytes: 1 << 20,
        ..HostSettings::default()
    };
    let metrics = Arc::new(Metrics::default());
    let store: Arc<dyn tidegate::store::ObjectStore> = Arc::new(store.clone());
    Shared {
        env: env.clone(),
        prices: Prices::default(),
        cache: Arc::new(ChunkCache::new(store.clone(), &settings, metrics.clone())),
        policies: Arc::new(PolicyHost::inline(PolicySettings::default(), metrics.clone(), Arc::new(|_| {}))),
        buffers: BufferBudget::new(settings.buffer_bytes),
        settings: Arc::new(settings),
        events: tokio::sync::broadcast::Sender::new(16),
        metrics,
        store,
    }
}

#[test]
fn everything_acknowledged_is_there_once_and_in_order() {
    let from: u64 = std::env::var("TIDEGATE_SIM_SEED").map_or(0, |s| s.parse().expect("TIDEGATE_SIM_SEED is a number"));
    let count: u64 = std::env::var("TIDEGATE_SIM_SEEDS").map_or(SEEDS, |s| s.parse().expect("TIDEGATE_SIM_SEEDS is a number"));
    let mut all = Totals::default();
    for seed in from..from + count {
        let (_, totals) = simulate(seed);
        all.acked += totals.acked;
        all.openings += totals.openings;
        all.fenced += totals.fenced;
        all.trims += totals.trims;
        all.duplicates += totals.duplicates;
    }
    if count >= SEEDS {
        let lively = all.acked as u64 > count * 20 && all.openings > count * 4 && all.fenced > count / 2 && all.trims > count;
        let lively = lively && all.duplicates > count;
        assert!(lively, "the simulation does too little to prove anything: {all:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for seed in 0..REPLAYED_SEEDS {
        let (first, _) = simulate(seed);
        let (second, _) = simulate(seed);
        let keys = |s: &BTreeMap<String, Bytes>| s.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&first), keys(&second), "seed {seed}: other objects");
        assert!(first == second, "seed {seed}: other bytes");
    }
}

/// A pause drawn from a seeded source.
fn pause(rng: &mut impl rand::Rng, at_most_ms: u64) -> Duration {
    Duration::from_millis(rng.random_range(0..=at_most_ms))
}

//! A modelled store is a store, and what it refuses is tried again.

use std::time::Duration;

use tidegate::Settings;
use tidegate::env::{self, Env};
use tidegate::store::{Body, ObjectStore, PutMode, conformance};
use tidegate_simulate::trace::{Shape, Shaped};
use tidegate_simulate::{Candidate, ModelStore, Simulation, StoreModel, run};

#[tokio::test(start_paused = true)]
async fn a_modelled_store_passes_the_suite_of_stores() {
    let store = ModelStore::new(Env::simulated(1, 0), &StoreModel { puts_per_s: 0, gets_per_s: 0, ..StoreModel::s3_express() }, 1);
    conformance::conformance(store.shared(), "suite").await;
}

#[tokio::test(start_paused = true)]
async fn a_put_takes_its_time_and_is_counted() {
    let model = StoreModel::s3_standard();
    let store = ModelStore::new(Env::simulated(1, 0), &model, 1);
    let began = env::now();
    store.shared().put("a", Body::from(vec![0; 8_000_000]), PutMode::Create).await.unwrap();
    // 8 MB at 80 MB/s, beyond the time that a request takes anyway.
    assert!(began.elapsed() >= Duration::from_millis(100));
    let usage = store.asked().usage;
    assert_eq!((usage.puts, usage.gets, usage.bytes_up), (1, 0, 8_000_000));
}

#[test]
fn a_store_that_throttles_costs_time_and_loses_nothing() {
    let trace = Shaped { seconds: 10, rate: 100, readers: 0, ..Shaped::new(Shape::Steady) }.trace().unwrap();
    let mut settings = Settings::default();
    settings.topic_defaults.max_age_ms = 20;
    let simulate = |puts_per_s| {
        let model = StoreModel { puts_per_s, ..StoreModel::s3_express() };
        run(&Simulation { settings: settings.clone(), model, seed: 1 }, &trace, &Candidate::built_in()).unwrap()
    };
    let (free, throttled) = (simulate(0), simulate(20));
    assert_eq!((free.throttled, free.failed_appends, throttled.failed_appends), (0, 0, 0));
    assert!(throttled.throttled > 10, "{}", throttled.throttled);
    assert_eq!(throttled.acks.count, free.acks.count);
    assert!(throttled.acks.p99_us > free.acks.p99_us && throttled.segments.count < free.segments.count);
}

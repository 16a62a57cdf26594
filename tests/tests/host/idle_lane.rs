//! A lane that falls silent still flushes, in time, and once.

use std::time::Duration;

use tidegate::env;
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, create, read_values, value};

fn world() -> World {
    World::with(|settings| settings.topic_defaults.max_age_ms = 20)
}

#[tokio::test(start_paused = true)]
async fn one_append_then_silence_is_flushed_once_and_in_time() {
    let world = world();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    host.offsets(at(&topic, 0)).await.unwrap();
    let began = env::now();
    let appended = host.append(at(&topic, 0), one(value("only"))).await.unwrap();
    appended.committed.wait().await.unwrap();
    assert!(began.elapsed() <= Duration::from_millis(25), "flushed after {:?}", began.elapsed());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.segments().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn shutdown_flushes_what_is_buffered() {
    let mut world = world();
    world.settings.topic_defaults.max_age_ms = 60_000;
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let appended = host.append(at(&topic, 0), one(value("last words"))).await.unwrap();
    host.close().await.unwrap();
    appended.committed.wait().await.unwrap();
    assert_eq!(world.segments().len(), 1);
    let values = read_values(&world.open().await, at(&topic, 0)).await.unwrap();
    assert_eq!(values.into_values().collect::<Vec<_>>(), [value("last words")]);
}

#[tokio::test(start_paused = true)]
async fn consumers_of_an_idle_topic_cost_no_requests() {
    let world = world();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    host.offsets(at(&topic, 0)).await.unwrap();
    let ours = |key: &str| key.contains(&topic.id.to_string());
    let before = world.store.log().iter().filter(|r| ours(&r.key)).count();
    for _ in 0..120 {
        assert!(!host.wait_for_data(&[(at(&topic, 0), 0)], Duration::from_secs(30)).await);
    }
    let after = world.store.log().iter().filter(|r| ours(&r.key)).count();
    assert_eq!(after - before, 0, "an hour of polling asked the store");
}

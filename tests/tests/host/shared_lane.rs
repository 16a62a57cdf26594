//! Partitions share a lane's objects, and nothing else.

use std::time::Duration;

use tidegate::env;
use tidegate::runtime::FetchPartition;
use tidegate::store::{Fault, Operation, Request};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, is_log_key, read_values, value};

#[tokio::test(start_paused = true)]
async fn a_shared_object_goes_only_with_its_last_slice() {
    let world = World::with(|s| {
        s.host.retention_interval_ms = 1_000;
        s.host.delete_grace_ms = 5_000;
        s.topic_defaults.max_age_ms = 60_000;
    });
    let host = world.open().await;
    let topic = create(&host, "orders", 2, 1).await;
    let (left, right) = (at(&topic, 0), at(&topic, 1));
    host.offsets(left).await.unwrap();
    let mut pending = Vec::new();
    for i in 0..3 {
        pending.push(host.append(left, one(value(format!("left {i}")))).await.unwrap());
        pending.push(host.append(right, one(value(format!("right {i}")))).await.unwrap());
    }
    host.flush(left).await.unwrap();
    let shared = world.segments();
    assert_eq!(shared.len(), 1, "both partitions lie in one object");

    assert_eq!(host.trim(left, 3).await.unwrap(), 3);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.segments(), shared, "one slice is still alive");
    let expected = (0..3).map(|i| (i, value(format!("right {i}")))).collect();
    assert_eq!(read_values(&host, right).await.unwrap(), expected);
    assert_eq!(read_values(&host, left).await.unwrap(), [].into());
    assert_eq!(read_values(&world.open().await, right).await.unwrap(), expected, "also for the next host");

    let host = world.open().await;
    host.take_lead(&topic.name, 0).await.unwrap();
    assert_eq!(host.trim(right, 3).await.unwrap(), 3);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.segments(), Vec::<String>::new(), "nothing in it is alive");
    assert_eq!(commit(&host, left, one(value("later"))).await.unwrap(), 3, "offsets go on");
    assert_eq!(commit(&host, right, one(value("later"))).await.unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_outlives_its_slices_by_the_grace_period() {
    let world = World::with(|s| {
        s.host.retention_interval_ms = 100;
        s.host.delete_grace_ms = 60_000;
    });
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    commit(&host, at(&topic, 0), one(value("old"))).await.unwrap();
    host.trim(at(&topic, 0), 1).await.unwrap();
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(world.segments().len(), 1);
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(world.segments().len(), 0);
}

/// One loud partition and three quiet ones; a round trip to the store takes 20 ms.
async fn loud_and_quiet() -> (World, tidegate::metadata::TopicRecord) {
    let world = World::with(|s| s.topic_defaults.max_age_ms = 100);
    world.store.set_script(|_: &Request<'_>| Fault::none().before(Duration::from_millis(10)).after(Duration::from_millis(10)));
    let host = world.open().await;
    let topic = create(&host, "orders", 4, 1).await;
    host.offsets(at(&topic, 0)).await.unwrap();
    for round in 0..20 {
        let mut loud = Vec::new();
        for i in 0..50 {
            loud.push(host.append(at(&topic, 0), one(vec![i; 20_000])).await.unwrap());
        }
        let began = env::now();
        commit(&host, at(&topic, 1 + round % 3), one(value(round))).await.unwrap();
        assert!(began.elapsed() < Duration::from_millis(300), "round {round}: the quiet ack took {:?}", began.elapsed());
    }
    host.close().await.unwrap();
    (world, topic)
}

#[tokio::test(start_paused = true)]
async fn a_quiet_partition_pays_for_its_own_bytes_only() {
    let (world, topic) = loud_and_quiet().await;
    world.store.clear_script();
    let host = world.open().await;
    host.offsets(at(&topic, 2)).await.unwrap();
    world.store.reset_counters();
    let ask = FetchPartition { partition: at(&topic, 2), offset: 0, max_bytes: 1 << 20 };
    let first = host.fetch_one(ask, true).await.unwrap();
    assert!(first.len > 0);
    let values = read_values(&host, at(&topic, 2)).await.unwrap();
    assert_eq!(values.len(), 7);
    let total: usize = world.store.snapshot().iter().filter(|(k, _)| is_log_key(k)).map(|(_, b)| b.len()).sum();
    assert!(total > 20_000_000);
    let down = world.store.bytes_down();
    assert!(down < 100_000, "{down} bytes downloaded for 7 small records beside {total}");
    assert!(world.count(Operation::Get, |_| true) <= 3 * values.len() + 4);
}

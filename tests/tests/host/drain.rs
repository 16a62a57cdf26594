//! The end of a host.

use std::time::Duration;

use tidegate::ErrorKind;
use tidegate::env;
use tidegate::runtime::FetchPartition;
use tidegate::store::{Fault, Request};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, is_segment_put, read_values, value};

#[tokio::test(start_paused = true)]
async fn a_drained_host_refuses_writes_and_still_reads() {
    let world = World::with(|s| s.topic_defaults.max_age_ms = 60_000);
    let host = world.open().await;
    let topic = create(&host, "orders", 8, 4).await;
    let mut pending = Vec::new();
    for partition in 0..8 {
        pending.push(host.append(at(&topic, partition), one(value(partition))).await.unwrap());
    }
    host.drain().await.unwrap();
    for appended in pending {
        appended.committed.wait().await.unwrap();
    }
    assert_eq!(host.append(at(&topic, 0), one(value("late"))).await.unwrap_err().kind(), ErrorKind::Closed);
    for partition in 0..8 {
        assert_eq!(read_values(&host, at(&topic, partition)).await.unwrap(), [(0, value(partition))].into());
    }
    host.drain().await.unwrap();
    host.close().await.unwrap();
    let ask = FetchPartition { partition: at(&topic, 0), offset: 0, max_bytes: 1 };
    assert_eq!(host.fetch_one(ask, true).await.unwrap_err().kind(), ErrorKind::Closed);
    host.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn draining_gives_up_at_its_deadline_and_says_so() {
    let world = World::with(|s| {
        s.host.drain_deadline_ms = 3_000;
        s.host.upload_deadline_ms = 60_000;
    });
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    commit(&host, at(&topic, 0), one(value("before"))).await.unwrap();
    world.store.set_script(|r: &Request<'_>| if is_segment_put(r) { Fault::hang() } else { Fault::none() });
    let appended = host.append(at(&topic, 0), one(value("stuck"))).await.unwrap();
    let began = env::now();
    assert_eq!(host.close().await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    appended.committed.wait().await.unwrap_err();
    world.store.clear_script();
    assert_eq!(read_values(&world.open().await, at(&topic, 0)).await.unwrap(), [(0, value("before"))].into());
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_on_after_the_last_handle_is_dropped() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    commit(&host, at(&topic, 0), one(value("x"))).await.unwrap();
    drop(host);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = world.store.total_requests();
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(world.store.total_requests(), asked);
}

//! Memory for uncommitted batches is bounded: appends wait, then are told to slow down, and nothing leaks.

use std::time::Duration;

use tidegate::ErrorKind;
use tidegate::env;
use tidegate::store::{Fault, Gate, Request};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, is_segment_put, read_values, value};

const ROOM: u64 = 1 << 20;

/// A world whose segments wait at the gate; opened by dropping the script's hold.
fn stalled() -> (World, Gate) {
    let world = World::with(|s| {
        s.host.buffer_bytes = ROOM;
        s.host.append_timeout_ms = 2_000;
        s.topic_defaults.max_age_ms = 5;
        s.topic_defaults.max_batch_bytes = 256 << 10;
    });
    let gate = Gate::new();
    let held = gate.clone();
    world.store.set_script(move |r: &Request<'_>| if is_segment_put(r) { Fault::none().held(&held) } else { Fault::none() });
    (world, gate)
}

#[tokio::test(start_paused = true)]
async fn a_full_buffer_makes_appends_wait_then_refuses_them_as_busy() {
    let (world, gate) = stalled();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    let mut taken = Vec::new();
    let refused = loop {
        let began = env::now();
        match host.append(partition, one(vec![1; 100_000])).await {
            Ok(appended) => taken.push(appended),
            Err(error) => break (error, began.elapsed()),
        }
        assert!(taken.len() < 100, "the buffer has no bound");
    };
    assert_eq!(refused.0.kind(), ErrorKind::Busy, "{}", refused.0);
    assert!(refused.1 >= Duration::from_millis(2_000) && refused.1 < Duration::from_millis(3_000), "{:?}", refused.1);
    assert!(taken.len() >= 5 && taken.len() as u64 * 100_000 <= ROOM + (64 << 10), "{} batches taken", taken.len());

    let waiting = tokio::spawn({
        let host = host.clone();
        async move { host.append(partition, one(vec![2; 100_000])).await }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!waiting.is_finished());
    gate.open();
    let count = taken.len() as i64;
    for appended in taken {
        appended.committed.wait().await.unwrap();
    }
    assert_eq!(waiting.await.unwrap().unwrap().base_offset, count, "the refused set took no offset");
    for _ in 0..50 {
        commit(&host, partition, one(vec![3; 100_000])).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_append_dropped_while_it_waits_was_not_made() {
    let (world, gate) = stalled();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    let mut taken = Vec::new();
    while let Ok(Ok(appended)) = tokio::time::timeout(Duration::from_millis(500), host.append(partition, one(vec![1; 100_000]))).await {
        taken.push(appended);
    }
    drop(host.append(partition, one(value("never polled"))));
    gate.open();
    host.flush(partition).await.unwrap();
    let offset = commit(&host, partition, one(value("last"))).await.unwrap();
    assert_eq!(offset, taken.len() as i64);
    assert_eq!(read_values(&host, partition).await.unwrap().len(), taken.len() + 1);
}

#[tokio::test(start_paused = true)]
async fn an_append_whose_outcome_nobody_awaits_goes_on() {
    let (world, gate) = stalled();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    drop(host.append(partition, one(value("kept"))).await.unwrap());
    let appended = host.append(partition, one(value("kept too"))).await.unwrap();
    let waited = tokio::time::timeout(Duration::from_millis(50), appended.committed.wait()).await;
    assert!(waited.is_err(), "not committed yet");
    gate.open();
    host.flush(partition).await.unwrap();
    let expected = [(0, value("kept")), (1, value("kept too"))];
    assert_eq!(read_values(&host, partition).await.unwrap(), expected.into());
}

//! Records on their way out: whole batches, a share for everyone, and quiet while there are none.

use std::collections::BTreeSet;

use kafka_protocol::messages::FetchRequest;
use tidegate::store::Operation;
use tidegate_tests::wire::{Running, batch, fetch, offsets, produce};

/// Fault case D05.
#[tokio::test]
async fn a_batch_larger_than_asked_for_comes_back_whole() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let records = batch(&[&[7; 20_000 - 7][..]]);
    let size = records.len();
    client.produce("topic", 0, records).await?;
    client.produce("topic", 0, batch(&[b"next"])).await?;
    let found = client.fetch("topic", 0, 0, 10_000).await?.records.unwrap();
    assert_eq!(found.len(), size);
    assert_eq!(offsets(&found), [(0, 0)]);
    broker.stop().await
}

/// Fault case D31: the client asks in the same order each time and the first partition always has records.
#[tokio::test]
async fn every_partition_is_served_over_successive_fetches() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 8).await?;
    let large = batch(&[&[1; 700_000][..]]).freeze();
    client.call(9, &produce("topic", (0..8).map(|partition| (partition, large.clone())).collect())).await?;
    let wanted: Vec<(i32, i64)> = (0..8).map(|partition| (partition, 0)).collect();
    let mut served = BTreeSet::new();
    for _ in 0..8 {
        let response = client.call(11, &fetch("topic", &wanted, 1 << 20, 0)).await?;
        let partitions = &response.responses[0].partitions;
        assert_eq!(partitions.iter().map(|partition| partition.partition_index).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
        let found = partitions.iter().filter(|partition| partition.records.as_ref().is_some_and(|records| !records.is_empty()));
        let found: Vec<i32> = found.map(|partition| partition.partition_index).collect();
        assert!(!found.is_empty() && found.len() < 8, "{found:?}");
        served.extend(found);
    }
    assert_eq!(served.len(), 8, "{served:?}");
    broker.stop().await
}

/// Fault case D32.
#[tokio::test]
async fn polling_an_empty_topic_costs_no_store_requests() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 4).await?;
    let wanted: Vec<(i32, i64)> = (0..4).map(|partition| (partition, 0)).collect();
    client.call(11, &fetch("topic", &wanted, 1 << 20, 0)).await?;
    broker.store.reset_counters();
    for _ in 0..50 {
        let response = client.call(11, &fetch("topic", &wanted, 1 << 20, 10)).await?;
        let partitions = &response.responses[0].partitions;
        assert!(partitions.iter().all(|partition| partition.error_code == 0 && partition.records.as_deref() == Some(&[])));
    }
    let reads = [Operation::Get, Operation::Head, Operation::List].map(|operation| broker.store.requests(operation));
    assert_eq!((reads, broker.store.requests(Operation::Put)), ([0; 3], 0));
    broker.stop().await
}

/// Fault case D40: 49 of 50 partitions are empty; the records of the last end the wait for all.
#[tokio::test]
async fn one_partition_with_records_ends_the_wait_for_fifty() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 50).await?;
    client.produce("topic", 49, batch(&[b"a"])).await?;
    let wanted: Vec<(i32, i64)> = (0..50).map(|partition| (partition, 0)).collect();
    let response = client.call(11, &fetch("topic", &wanted, 1 << 20, i32::MAX)).await?;
    assert_eq!(offsets(response.responses[0].partitions[49].records.as_ref().unwrap()), [(0, 0)]);
    broker.stop().await
}

#[tokio::test]
async fn what_cannot_be_read_says_why() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    client.produce("topic", 0, batch(&[b"a"])).await?;
    assert_eq!(client.fetch("topic", 0, 2, 100).await?.error_code, 1, "above the end");
    assert_eq!(client.fetch("topic", 0, -7, 100).await?.error_code, 1, "below the start");
    assert_eq!(client.fetch("topic", 1, 0, 100).await?.error_code, 3, "no such partition");
    assert_eq!(client.fetch("topic", -1, 0, 100).await?.error_code, 3, "no such partition");
    assert_eq!(client.fetch("other", 0, 0, 100).await?.error_code, 3, "no such topic, and none is made");
    assert_eq!(broker.storage.topics().await?.len(), 1);
    let mut session = fetch("topic", &[(0, 0)], 100, 0).with_session_id(5).with_session_epoch(1);
    assert_eq!(client.call(11, &session).await?.error_code, 70, "sessions are not kept");
    session.topics[0].partitions[0].current_leader_epoch = i32::MAX;
    let response = client.call(11, &session.with_session_id(0).with_session_epoch(0)).await?;
    assert_eq!(response.responses[0].partitions[0].error_code, 75, "an epoch that is not there yet");
    broker.stop().await
}

/// The answer comes, empty: the client is not left to wait for a connection that is gone.
#[tokio::test]
async fn a_stop_ends_long_waits_with_an_answer() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 2).await?;
    client.send(11, &fetch("topic", &[(0, 0)], 1 << 20, i32::MAX)).await?;
    client.send(9, &produce("topic", vec![(1, batch(&[b"behind the fetch"]).freeze())]).with_acks(0)).await?;
    let mut other = broker.client().await?;
    let seen = other.call(11, &fetch("topic", &[(1, 0)], 1 << 20, i32::MAX)).await?;
    assert_eq!(seen.responses[0].partitions[0].high_watermark, 1, "so the fetch before it was taken up too");
    let (stopped, answer) = tokio::join!(broker.stop(), client.receive::<FetchRequest>(11));
    stopped?;
    let partition = &answer?.responses[0].partitions[0];
    assert_eq!((partition.error_code, partition.records.as_deref()), (0, Some(&[][..])));
    assert!(client.is_closed().await);
    Ok(())
}

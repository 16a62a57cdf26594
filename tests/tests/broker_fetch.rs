//! Records on their way out: whole batches, a share for everyone, and quiet while there are none.

use std::collections::BTreeSet;

use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{FetchRequest, FetchResponse, ListOffsetsRequest};
use tidegate::store::Operation;
use tidegate::types::TopicPartition;
use tidegate_tests::wire::{Running, batch, fetch, name, offsets, produce};

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
    let partition = TopicPartition { topic: broker.storage.topics().await?[0].id, partition: 0 };
    for (offset, what) in [(2, "above the end"), (-7, "below the start"), (i64::MAX, "far above"), (i64::MIN, "far below")] {
        let refused = client.fetch("topic", 0, offset, 100).await?;
        assert_eq!((refused.error_code, refused.log_start_offset, refused.high_watermark), (1, 0, 1), "{what}: the range is told");
    }
    broker.storage.trim(partition, 1).await?;
    let below = client.fetch("topic", 0, 0, 100).await?;
    assert_eq!((below.error_code, below.log_start_offset), (1, 1), "below the log start, after it moved");
    assert_eq!(client.fetch("topic", 1, 0, 100).await?.error_code, 3, "no such partition");
    assert_eq!(client.fetch("topic", -1, 0, 100).await?.error_code, 3, "no such partition");
    assert_eq!(client.fetch("other", 0, 0, 100).await?.error_code, 3, "no such topic, and none is made");
    assert_eq!(broker.storage.topics().await?.len(), 1);
    broker.stop().await
}

/// A client that knows an older leader than this one must look for its epoch, one that knows a newer one waits.
#[tokio::test]
async fn a_leader_epoch_that_is_not_the_current_one_is_refused() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    client.produce("topic", 0, batch(&[b"a"])).await?;
    let partition = TopicPartition { topic: broker.storage.topics().await?[0].id, partition: 0 };
    let epoch = broker.storage.leader_epoch(partition).await? as i32;
    for (known, code) in [(-1, 0), (epoch, 0), (epoch - 1, 74), (epoch + 1, 75), (i32::MAX, 75)] {
        let mut request = fetch("topic", &[(0, 0)], 100, i32::MAX);
        request.topics[0].partitions[0].current_leader_epoch = known;
        let response = client.call(11, &request).await?;
        assert_eq!(response.responses[0].partitions[0].error_code, code, "fetch with epoch {known}");
        let asked = ListOffsetsPartition::default().with_timestamp(-1).with_current_leader_epoch(known);
        let topic = ListOffsetsTopic::default().with_name(name("topic")).with_partitions(vec![asked]);
        let response = client.call(7, &ListOffsetsRequest::default().with_topics(vec![topic])).await?;
        let found = &response.topics[0].partitions[0];
        assert_eq!((found.error_code, found.offset), (code, if code == 0 { 1 } else { -1 }), "offsets with epoch {known}");
    }
    broker.stop().await
}

/// Without transactions nothing is ever undecided.
#[tokio::test]
async fn both_isolation_levels_see_the_same() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    client.produce("topic", 0, batch(&[b"a", b"b"])).await?;
    for isolation in [0, 1] {
        let response = client.call(11, &fetch("topic", &[(0, 0)], 1 << 20, 0).with_isolation_level(isolation)).await?;
        let found = &response.responses[0].partitions[0];
        assert_eq!((found.high_watermark, found.last_stable_offset), (2, 2));
        assert_eq!(offsets(found.records.as_ref().unwrap()), [(0, 1)]);
    }
    broker.stop().await
}

/// The answer waits until the partitions together have enough, and holds no more than it was asked for.
#[tokio::test]
async fn sizes_count_over_all_partitions() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 3).await?;
    let one = batch(&[&[1; 900][..]]).freeze();
    let size = one.len();
    let all: Vec<(i32, i64)> = (0..3).map(|partition| (partition, 0)).collect();
    client.send(11, &fetch("topic", &all, 1 << 20, i32::MAX).with_min_bytes(2 * size as i32 + 1)).await?;
    let mut other = broker.client().await?;
    for partition in 0..3 {
        assert_eq!(other.produce("topic", partition, one.clone()).await?.error_code, 0);
    }
    let response = client.receive::<FetchRequest>(11).await?;
    let sizes = |response: &FetchResponse| -> Vec<usize> {
        response.responses[0].partitions.iter().map(|partition| partition.records.as_ref().unwrap().len()).collect()
    };
    assert_eq!(sizes(&response), [size; 3]);
    let response = client.call(11, &fetch("topic", &all, 2 * size as i32, 0).with_max_bytes(2 * size as i32)).await?;
    assert_eq!(sizes(&response).iter().sum::<usize>(), 2 * size);
    let mut request = fetch("topic", &all, 0, 0).with_max_bytes(1 << 20);
    request.topics[0].partitions[2].partition_max_bytes = 1 << 20;
    let response = broker.client().await?.call(11, &request).await?;
    assert_eq!(sizes(&response), [size, 0, size], "each partition has its own bound, but the first one gives a batch");
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

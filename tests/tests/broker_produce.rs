//! Records on their way in: what is refused, what is waited for, and in which order.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{ApiVersionsRequest, FetchRequest, ListOffsetsRequest, MetadataRequest, ProduceRequest};
use tidegate::store::{Fault, Gate, Operation, Request};
use tidegate_tests::records::{parse, timed};
use tidegate_tests::wire::{Running, batch, changed, fetch, name, offsets, old_message, produce, seal};

const CORRUPT_MESSAGE: i16 = 2;
const MESSAGE_TOO_LARGE: i16 = 10;
const INVALID_RECORD: i16 = 87;

/// Fault case D08.
#[tokio::test]
async fn a_bad_record_set_is_refused_before_it_gets_an_offset() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let mut wrong_crc = batch(&[b"a"]);
    wrong_crc[17] ^= 1;
    let bad = [
        ("last offset delta below 0", changed(23, &(-1i32).to_be_bytes()), INVALID_RECORD),
        ("record count that does not match", changed(57, &7i32.to_be_bytes()), INVALID_RECORD),
        ("length beyond the set", changed(8, &9_999i32.to_be_bytes()), INVALID_RECORD),
        ("wrong crc", wrong_crc, CORRUPT_MESSAGE),
        ("magic 1", changed(16, &[1]), INVALID_RECORD),
        ("too large", batch(&[&vec![0; 2 << 20]]), MESSAGE_TOO_LARGE),
        ("empty", BytesMut::new(), INVALID_RECORD),
        ("cut short", BytesMut::from(&batch(&[b"abcdef"])[..40]), INVALID_RECORD),
    ];
    for (what, records, code) in bad {
        let answer = client.produce("topic", 0, records).await?;
        assert_eq!((answer.error_code, answer.base_offset), (code, -1), "{what}");
    }
    let mut two = batch(&[b"a", b"b"]);
    two.extend_from_slice(&batch(&[b"c"]));
    assert_eq!(client.produce("topic", 0, two).await?.base_offset, 0, "nothing took an offset before");
    let found = client.fetch("topic", 0, 0, 1 << 20).await?;
    assert_eq!(offsets(&found.records.unwrap()), [(0, 1), (2, 2)]);
    broker.stop().await
}

/// Fault case D41: a message set of the old formats is no record batch, and stays out.
#[tokio::test]
async fn old_message_sets_are_never_stored() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    for magic in [0, 1] {
        let mut set = BytesMut::new();
        for offset in 0..2 {
            set.extend_from_slice(&old_message(magic, offset));
        }
        assert_eq!(client.produce("topic", 0, set).await?.error_code, INVALID_RECORD, "magic {magic}");
    }
    assert_eq!(client.fetch("topic", 0, 0, 1 << 20).await?.high_watermark, 0);
    broker.stop().await
}

/// Fault case D40: all partitions are appended, then one round of flushes serves them all.
#[tokio::test]
async fn one_request_for_many_partitions_costs_one_round_of_flushes() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 16).await?;
    let everywhere = || produce("topic", (0..16).map(|partition| (partition, batch(&[b"x"]).freeze())).collect());
    client.call(9, &everywhere()).await?;
    broker.store.reset_counters();
    let response = client.call(9, &everywhere()).await?;
    assert!(response.responses[0].partition_responses.iter().all(|partition| (partition.error_code, partition.base_offset) == (0, 1)));
    let lanes = u64::from(broker.storage.topics().await?[0].lanes);
    let segments = broker.store.log().iter().filter(|request| request.operation == Operation::Put && request.key.contains("/log/")).count();
    assert!(segments as u64 <= 2 * lanes, "{segments} segments for 16 partitions in {lanes} lanes");
    broker.stop().await
}

/// Fault case D40: while a commit hangs, later requests of the connection are appended and answered in order.
#[tokio::test]
async fn later_requests_are_appended_while_a_commit_hangs() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    client.produce("topic", 0, batch(&[b"first"])).await?;
    let gate = Arc::new(Gate::new());
    let held = gate.clone();
    broker.store.set_script(move |request: &Request<'_>| match request.operation {
        Operation::Put => Fault::none().held(&held),
        _ => Fault::none(),
    });
    for value in [&b"a"[..], b"b", b"c"] {
        client.send(9, &produce("topic", vec![(0, batch(&[value]).freeze())])).await?;
    }
    client.send(1, &MetadataRequest::default().with_topics(None)).await?;
    let mut other = broker.client().await?;
    assert_eq!(other.fetch("topic", 0, 0, 1 << 20).await?.high_watermark, 1, "nothing uncommitted is shown");
    gate.open();
    for expected in 1..=3 {
        let response = client.receive::<ProduceRequest>(9).await?;
        let partition = &response.responses[0].partition_responses[0];
        assert_eq!((partition.error_code, partition.base_offset), (0, expected));
    }
    assert_eq!(client.receive::<MetadataRequest>(1).await?.topics.len(), 1);
    broker.stop().await
}

/// A long poll and the records it waits for may share a connection.
#[tokio::test]
async fn a_waiting_fetch_does_not_hold_up_the_produce_behind_it() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    client.send(11, &fetch("topic", &[(0, 0)], 1 << 20, 60_000)).await?;
    client.send(9, &produce("topic", vec![(0, batch(&[b"a"]).freeze())])).await?;
    let found = tokio::time::timeout(Duration::from_secs(30), client.receive::<FetchRequest>(11)).await??;
    assert_eq!(offsets(found.responses[0].partitions[0].records.as_ref().unwrap()), [(0, 0)]);
    assert_eq!(client.receive::<ProduceRequest>(9).await?.responses[0].partition_responses[0].base_offset, 0);
    broker.stop().await
}

#[tokio::test]
async fn records_without_acks_are_not_answered_and_not_lost() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    client.send(9, &produce("topic", vec![(0, batch(&[b"a"]).freeze())]).with_acks(0)).await?;
    let mut other = broker.client().await?;
    let found = other.call(11, &fetch("topic", &[(0, 0)], 1 << 20, 30_000)).await?;
    assert_eq!(offsets(found.responses[0].partitions[0].records.as_ref().unwrap()), [(0, 0)]);
    client.send(9, &produce("topic", vec![(0, Bytes::from_static(b"no batch"))]).with_acks(0)).await?;
    assert!(client.is_closed().await, "a closed connection is the only word of failure without acks");
    broker.stop().await
}

#[tokio::test]
async fn an_unknown_count_of_acks_is_refused() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let response = client.call(9, &produce("topic", vec![(0, batch(&[b"a"]).freeze())]).with_acks(2)).await?;
    assert_eq!(response.responses[0].partition_responses[0].error_code, 21);
    assert_eq!(client.call(0, &ApiVersionsRequest::default()).await?.error_code, 0);
    assert_eq!(client.fetch("topic", 0, 0, 1 << 20).await?.high_watermark, 0);
    broker.stop().await
}

/// As Apache Kafka does: lookups by time skip batches by what their headers claim.
#[tokio::test]
async fn records_are_found_by_their_own_timestamps_whatever_their_batch_claims() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let mut late = timed([(100, "a"), (300, "b"), (200, "c")]);
    late[35..43].copy_from_slice(&150i64.to_be_bytes());
    let mut early = timed([(400, "d")]);
    early[35..43].copy_from_slice(&i64::MAX.to_be_bytes());
    let mut stamped = timed([(500, "e"), (600, "f")]);
    stamped[22] |= 1 << 3;
    for mut records in [late, early, stamped] {
        seal(&mut records);
        assert_eq!(client.produce("topic", 0, records).await?.error_code, 0);
    }
    for (timestamp, found) in [(151, (1, 300)), (301, (3, 400)), (401, (4, 500)), (501, (5, 600)), (601, (-1, -1)), (-3, (5, 600))] {
        let asked = ListOffsetsPartition::default().with_timestamp(timestamp);
        let topic = ListOffsetsTopic::default().with_name(name("topic")).with_partitions(vec![asked]);
        let response = client.call(7, &ListOffsetsRequest::default().with_topics(vec![topic])).await?;
        let partition = &response.topics[0].partitions[0];
        assert_eq!((partition.error_code, (partition.offset, partition.timestamp)), (0, found), "timestamp {timestamp}");
    }
    let fetched = client.fetch("topic", 0, 0, 1 << 20).await?.records.unwrap();
    let stored = parse(&fetched);
    assert_eq!(stored.iter().map(|batch| batch.max_timestamp).collect::<Vec<_>>(), [300, 400, 600]);
    assert!(stored.iter().all(|batch| !batch.append_time));
    broker.stop().await
}

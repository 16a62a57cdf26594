//! Idempotent producers, as their clients see it.

use std::sync::Arc;

use bytes::BytesMut;
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, DescribeProducersRequest, InitProducerIdRequest, InitProducerIdResponse, ProduceRequest,
};
use kafka_protocol::protocol::StrBytes;
use tidegate::store::{Fault, Gate, Operation, Request};
use tidegate_tests::wire::{Client, Running, name, of_producer, offsets, produce, seal};

const INVALID_REQUEST: i16 = 42;
const OUT_OF_ORDER_SEQUENCE_NUMBER: i16 = 45;
const INVALID_PRODUCER_EPOCH: i16 = 47;
const TRANSACTIONAL_ID_AUTHORIZATION_FAILED: i16 = 53;
const INVALID_RECORD: i16 = 87;

fn with_attributes(mut batch: BytesMut, attributes: u16) -> BytesMut {
    batch[21..23].copy_from_slice(&attributes.to_be_bytes());
    seal(&mut batch);
    batch
}

async fn init(client: &mut Client, version: i16, given: Option<(i64, i16)>) -> anyhow::Result<InitProducerIdResponse> {
    let request = InitProducerIdRequest::default().with_transactional_id(None).with_transaction_timeout_ms(60_000);
    let request = match given {
        Some((id, epoch)) => request.with_producer_id(id.into()).with_producer_epoch(epoch),
        None => request,
    };
    client.call(version, &request).await
}

/// Error code and base offset.
async fn send(client: &mut Client, records: BytesMut) -> anyhow::Result<(i16, i64)> {
    let answer = client.produce("topic", 0, records).await?;
    Ok((answer.error_code, answer.base_offset))
}

#[tokio::test]
async fn every_producer_gets_an_id_of_its_own_in_every_version() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    let listed = client.call(0, &ApiVersionsRequest::default()).await?;
    let api = listed.api_keys.iter().find(|api| api.api_key == ApiKey::InitProducerId as i16).expect("it is listed");
    let mut given = std::collections::BTreeSet::new();
    for version in api.min_version..=api.max_version {
        for _ in 0..3 {
            let answer = init(&mut client, version, None).await?;
            assert_eq!((answer.error_code, answer.producer_epoch), (0, 0), "version {version}");
            assert!(answer.producer_id.0 >= 0 && given.insert(answer.producer_id.0), "version {version}: {answer:?}");
        }
    }
    let writes = broker.store.log().iter().filter(|r| r.operation == Operation::Put && r.key == "meta/producer-ids").count();
    assert_eq!(writes, 1, "ids are taken from the store in blocks");
    broker.stop().await
}

#[tokio::test]
async fn a_producer_with_an_id_gets_the_next_epoch() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    for version in 3..=5 {
        let answer = init(&mut client, version, Some((77, 4))).await?;
        assert_eq!((answer.error_code, answer.producer_id.0, answer.producer_epoch), (0, 77, 5));
        let exhausted = init(&mut client, version, Some((77, i16::MAX - 1))).await?;
        assert_eq!((exhausted.error_code, exhausted.producer_epoch), (0, 0));
        assert_ne!(exhausted.producer_id.0, 77);
        let half = init(&mut client, version, Some((77, -1))).await?;
        assert_eq!((half.error_code, half.producer_id.0, half.producer_epoch), (INVALID_REQUEST, -1, -1));
    }
    broker.stop().await
}

#[tokio::test]
async fn transactions_are_refused_for_good() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    for version in 0..=5 {
        let id = StrBytes::from_static_str("payments").into();
        let request = InitProducerIdRequest::default().with_transactional_id(Some(id)).with_transaction_timeout_ms(60_000);
        assert_eq!(client.call(version, &request).await?.error_code, TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "version {version}");
    }
    assert_eq!(send(&mut client, with_attributes(of_producer((7, 0, 0)), 1 << 4)).await?, (TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1));
    assert_eq!(send(&mut client, with_attributes(of_producer((7, 0, 0)), 1 << 5)).await?, (INVALID_RECORD, -1));
    let mut second = of_producer((7, 0, 0));
    second.extend_from_slice(&with_attributes(of_producer((7, 0, 2)), 1 << 4));
    assert_eq!(send(&mut client, second).await?, (TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1), "also behind a good one");
    assert_eq!(send(&mut client, of_producer((7, 0, 0))).await?, (0, 0), "nothing of them was kept");
    let served = client.call(0, &ApiVersionsRequest::default()).await?.api_keys;
    for api in [ApiKey::AddPartitionsToTxn, ApiKey::AddOffsetsToTxn, ApiKey::EndTxn, ApiKey::TxnOffsetCommit] {
        assert!(!served.iter().any(|listed| listed.api_key == api as i16), "{api:?} is listed");
    }
    broker.stop().await
}

#[tokio::test]
async fn what_is_sent_twice_is_answered_twice_and_stored_once() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let topic = broker.storage.topics().await?[0].id.0;
    let listed = client.call(0, &ApiVersionsRequest::default()).await?;
    let api = listed.api_keys.iter().find(|api| api.api_key == ApiKey::Produce as i16).expect("it is listed").clone();
    let mut end = 0;
    for version in api.min_version..=api.max_version {
        for _ in 0..2 {
            let data = PartitionProduceData::default().with_records(Some(of_producer((7, 0, end as i32)).freeze()));
            let sent = TopicProduceData::default().with_partition_data(vec![data]);
            let sent = if version >= 13 { sent.with_topic_id(topic) } else { sent.with_name(name("topic")) };
            let request = ProduceRequest::default().with_acks(-1).with_timeout_ms(30_000).with_topic_data(vec![sent]);
            let answer = client.call(version, &request).await?.responses.remove(0).partition_responses.remove(0);
            assert_eq!((answer.error_code, answer.base_offset), (0, end), "version {version}");
        }
        end += 2;
    }
    let found = client.fetch("topic", 0, 0, 1 << 20).await?;
    assert_eq!(found.high_watermark, end);
    assert_eq!(offsets(&found.records.unwrap()).len() as i64, end / 2);
    broker.stop().await
}

#[tokio::test]
async fn a_gap_and_an_old_epoch_have_their_own_errors() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    assert_eq!(send(&mut client, of_producer((7, 1, 0))).await?, (0, 0));
    assert_eq!(send(&mut client, of_producer((7, 1, 4))).await?, (OUT_OF_ORDER_SEQUENCE_NUMBER, -1));
    assert_eq!(send(&mut client, of_producer((7, 2, 2))).await?, (OUT_OF_ORDER_SEQUENCE_NUMBER, -1));
    assert_eq!(send(&mut client, of_producer((7, 0, 0))).await?, (INVALID_PRODUCER_EPOCH, -1));
    assert_eq!(send(&mut client, of_producer((7, 2, 0))).await?, (0, 2));
    assert_eq!(send(&mut client, of_producer((7, 1, 2))).await?, (INVALID_PRODUCER_EPOCH, -1), "the older instance is fenced");
    let mut mixed = of_producer((7, 2, 0));
    mixed.extend_from_slice(&of_producer((7, 2, 2)));
    assert_eq!(send(&mut client, mixed).await?, (INVALID_RECORD, -1));
    assert_eq!(send(&mut client, of_producer((7, 2, -1))).await?, (INVALID_RECORD, -1));
    broker.stop().await
}

#[tokio::test]
async fn the_producers_of_a_partition_are_described() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 2).await?;
    for (id, epoch, sequence) in [(9, 0, 0), (7, 2, 4), (7, 2, 6)] {
        assert_eq!(send(&mut client, of_producer((id, epoch, sequence))).await?.0, 0);
    }
    let of = |topic: &str, partitions: &[i32]| TopicRequest::default().with_name(name(topic)).with_partition_indexes(partitions.to_vec());
    let request = DescribeProducersRequest::default().with_topics(vec![of("topic", &[0, 1, 2]), of("none", &[0])]);
    let answer = client.call(0, &request).await?;
    let [known, none, missing] = &answer.topics[0].partitions[..] else { panic!("three partitions were asked for") };
    let found: Vec<_> = known.active_producers.iter().map(|p| (p.producer_id.0, p.producer_epoch, p.last_sequence)).collect();
    assert_eq!((known.error_code, found), (0, vec![(7, 2, 7), (9, 0, 1)]));
    assert_eq!((none.error_code, none.active_producers.len()), (0, 0));
    assert_eq!((missing.error_code, answer.topics[1].partitions[0].error_code), (3, 3));
    broker.stop().await
}

/// A client that gave up waiting sends again on another connection, while the first copy is still on its way to the store.
#[tokio::test]
async fn a_retry_on_another_connection_is_answered_with_the_commit_of_the_first_copy() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    assert_eq!(send(&mut client, of_producer((7, 0, 0))).await?, (0, 0));
    let gate = Arc::new(Gate::new());
    let held = gate.clone();
    broker.store.set_script(move |request: &Request<'_>| match request.operation {
        Operation::Put => Fault::none().held(&held),
        _ => Fault::none(),
    });
    client.send(9, &produce("topic", vec![(0, of_producer((7, 0, 2)).freeze())])).await?;
    let mut impatient = broker.client().await?;
    let request = produce("topic", vec![(0, of_producer((7, 0, 2)).freeze())]).with_timeout_ms(50);
    let late = impatient.call(9, &request).await?;
    assert_eq!(late.responses[0].partition_responses[0].error_code, 7, "not acknowledged without a commit");
    drop(impatient);
    let mut other = broker.client().await?;
    other.send(9, &produce("topic", vec![(0, of_producer((7, 0, 2)).freeze())])).await?;
    gate.open();
    for waiting in [&mut client, &mut other] {
        let response = waiting.receive::<ProduceRequest>(9).await?;
        let partition = &response.responses[0].partition_responses[0];
        assert_eq!((partition.error_code, partition.base_offset), (0, 2));
    }
    assert_eq!(other.fetch("topic", 0, 0, 1 << 20).await?.high_watermark, 4);
    broker.stop().await
}

//! Every API that is listed works at every version that is listed, for old and new clients.

use bytes::{Buf, BufMut, BytesMut};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use tidegate_tests::wire::{Running, batch, name, offsets};

#[tokio::test]
async fn api_versions_is_answered_in_every_version() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    for version in client.listed(ApiKey::ApiVersions).await? {
        let mut request = ApiVersionsRequest::default();
        if version >= 3 {
            let text = StrBytes::from_static_str("x");
            request = request.with_client_software_name(text.clone()).with_client_software_version(text);
        }
        let response = client.call(version, &request).await?;
        assert!(response.error_code == 0 && response.api_keys.len() >= 39, "version {version}: {response:?}");
    }
    broker.stop().await
}

#[tokio::test]
async fn a_newer_api_versions_request_is_told_so_in_version_0() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    for version in [5, 6, i16::MAX, -1] {
        let mut frame = BytesMut::new();
        RequestHeader::default()
            .with_request_api_key(18)
            .with_request_api_version(version)
            .with_correlation_id(77)
            .encode(&mut frame, 2)?;
        frame.put_slice(b"a body that nobody knows");
        client.send_raw(&(frame.len() as u32).to_be_bytes()).await?;
        client.send_raw(&frame).await?;
        let mut answer = client.receive_raw().await?;
        assert_eq!(answer.get_i32(), 77);
        let response = ApiVersionsResponse::decode(&mut answer, 0)?;
        assert_eq!(response.error_code, 35);
        assert!(response.api_keys.iter().any(|api| api.api_key == 18 && api.max_version == 4));
    }
    assert_eq!(client.call(0, &ApiVersionsRequest::default()).await?.error_code, 0, "the connection goes on");
    broker.stop().await
}

#[tokio::test]
async fn metadata_is_answered_in_every_version() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 3).await?;
    for version in client.listed(ApiKey::Metadata).await? {
        let topic = MetadataRequestTopic::default().with_name(Some(name("topic")));
        let response = client.call(version, &MetadataRequest::default().with_topics(Some(vec![topic]))).await?;
        let node = &response.brokers[0];
        assert_eq!((node.host.as_str(), node.port), ("127.0.0.1", i32::from(broker.address.port())), "version {version}");
        assert_eq!((response.topics[0].error_code, response.topics[0].partitions.len()), (0, 3), "version {version}");
        assert!(response.topics[0].partitions.iter().all(|p| p.leader_id == node.node_id && p.error_code == 0));
        let all = if version == 0 { Some(vec![]) } else { None };
        assert_eq!(client.call(version, &MetadataRequest::default().with_topics(all)).await?.topics.len(), 1, "version {version}");
        if version >= 10 {
            assert!(!response.topics[0].topic_id.is_nil());
        }
        if version >= 12 {
            let by_id = MetadataRequestTopic::default().with_name(None).with_topic_id(response.topics[0].topic_id);
            let found = client.call(version, &MetadataRequest::default().with_topics(Some(vec![by_id]))).await?;
            assert_eq!(found.topics[0].name, Some(name("topic")), "version {version}");
        }
    }
    broker.stop().await
}

#[tokio::test]
async fn records_go_in_and_come_out_in_every_version() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let id = broker.storage.topics().await?[0].id.0;
    let mut next = 0;
    for version in client.listed(ApiKey::Produce).await? {
        for acks in [1, -1] {
            let data = PartitionProduceData::default().with_records(Some(batch(&[b"a", b"b"]).freeze()));
            let topic = TopicProduceData::default().with_partition_data(vec![data]);
            let topic = if version >= 13 { topic.with_topic_id(id) } else { topic.with_name(name("topic")) };
            let request = ProduceRequest::default().with_acks(acks).with_timeout_ms(30_000).with_topic_data(vec![topic]);
            let response = client.call(version, &request).await?;
            let partition = &response.responses[0].partition_responses[0];
            assert_eq!((partition.error_code, partition.base_offset), (0, next), "version {version}");
            next += 2;
        }
    }
    for version in client.listed(ApiKey::Fetch).await? {
        let wanted = FetchPartition::default().with_fetch_offset(0).with_partition_max_bytes(1 << 20);
        let end = FetchPartition::default().with_fetch_offset(next).with_partition_max_bytes(1 << 20);
        let topic = FetchTopic::default().with_partitions(vec![wanted, end]);
        let topic = if version >= 13 { topic.with_topic_id(id) } else { topic.with_topic(name("topic")) };
        let request = FetchRequest::default().with_max_wait_ms(0).with_max_bytes(1 << 20).with_topics(vec![topic]);
        let request = if version <= 14 { request.with_replica_id((-1).into()) } else { request };
        let response = client.call(version, &request).await?;
        let [full, empty] = &response.responses[0].partitions[..] else { panic!("two partitions were asked for") };
        assert_eq!((full.error_code, full.high_watermark), (0, next), "version {version}");
        let found = offsets(full.records.as_ref().expect("records"));
        assert_eq!((found[0].0, found.last().map(|batch| batch.1)), (0, Some(next - 1)), "version {version}");
        assert_eq!(empty.records.as_deref(), Some(&[][..]), "empty, not null, in version {version}");
        assert_eq!((response.session_id, empty.error_code), (0, 0));
    }
    broker.stop().await
}

#[tokio::test]
async fn offsets_are_listed_in_every_version() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    client.produce("topic", 0, batch(&[b"a", b"b", b"c"])).await?;
    for version in client.listed(ApiKey::ListOffsets).await? {
        for (timestamp, expected) in [(-1, 3), (-2, 0), (1_000, 0), (1_001, -1)] {
            let partition = ListOffsetsPartition::default().with_timestamp(timestamp);
            let topic = ListOffsetsTopic::default().with_name(name("topic")).with_partitions(vec![partition]);
            let request = ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![topic]);
            let response = client.call(version, &request).await?;
            let partition = &response.topics[0].partitions[0];
            assert_eq!((partition.error_code, partition.offset), (0, expected), "version {version}, timestamp {timestamp}");
        }
    }
    broker.stop().await
}

#[tokio::test]
async fn topics_come_and_go_in_every_version() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    for version in client.listed(ApiKey::CreateTopics).await? {
        let topic = CreatableTopic::default().with_name(name(&format!("t{version}"))).with_num_partitions(2).with_replication_factor(1);
        let request = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(1_000);
        assert_eq!(client.call(version, &request).await?.topics[0].error_code, 0, "version {version}");
        assert_eq!(client.call(version, &request).await?.topics[0].error_code, 36, "again in version {version}");
    }
    for version in client.listed(ApiKey::DeleteTopics).await? {
        client.create("gone", 1).await?;
        let request = DeleteTopicsRequest::default().with_timeout_ms(1_000);
        let request = match version {
            6.. => request.with_topics(vec![DeleteTopicState::default().with_name(Some(name("gone")))]),
            _ => request.with_topic_names(vec![name("gone")]),
        };
        assert_eq!(client.call(version, &request).await?.responses[0].error_code, 0, "version {version}");
        assert_eq!(client.call(version, &request).await?.responses[0].error_code, 3, "again in version {version}");
    }
    broker.stop().await
}

#[tokio::test]
async fn what_is_not_served_closes_the_connection() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    for (key, version) in [(0, 2), (1, 3), (1, 99), (3, 14), (68, 0), (9, 10), (999, 0), (-1, 0)] {
        let mut client = broker.client().await?;
        let mut frame = BytesMut::new();
        RequestHeader::default().with_request_api_key(key).with_request_api_version(version).encode(&mut frame, 1)?;
        client.send_raw(&(frame.len() as u32).to_be_bytes()).await?;
        client.send_raw(&frame).await?;
        assert!(client.is_closed().await, "api {key} version {version}");
    }
    broker.stop().await
}

#[tokio::test]
async fn malformed_requests_close_their_connection_alone() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut good = broker.client().await?;
    let frames: [&[u8]; 6] = [
        &[0xff; 40],
        &[0, 0, 0, 8, 0, 3, 0, 0, 0, 0, 0, 1],
        &[0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 0],
        &[0, 0, 0, 14, 0, 3, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff],
        &[0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00],
        &[0, 0, 0, 10, 0, 0, 0, 9, 0, 0, 0, 1, 0x7f, 0xff],
    ];
    for frame in frames {
        let mut bad = broker.client().await?;
        bad.send_raw(frame).await?;
        assert!(bad.is_closed().await, "{frame:?}");
    }
    assert_eq!(good.call(0, &ApiVersionsRequest::default()).await?.error_code, 0);
    broker.stop().await
}

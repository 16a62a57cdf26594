//! Records that are deleted by offset, where epochs end, which timestamps are special, and how large partitions are.

use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::{ApiKey, DeleteRecordsRequest, DescribeLogDirsRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest};
use tidegate_tests::wire::{Client, Running, batch, name, offsets};

const OFFSET_OUT_OF_RANGE: i16 = 1;
const UNKNOWN_TOPIC: i16 = 3;
const INVALID_TOPIC: i16 = 17;
const UNSUPPORTED_VERSION: i16 = 35;
const POLICY_VIOLATION: i16 = 44;
const FENCED_LEADER_EPOCH: i16 = 74;
const UNKNOWN_LEADER_EPOCH: i16 = 75;

async fn five_records(client: &mut Client, topic: &str) -> anyhow::Result<()> {
    for value in [b"a", b"b", b"c", b"d", b"e"] {
        client.produce(topic, 0, batch(&[value])).await?;
    }
    Ok(())
}

/// Error code and log start.
async fn delete(client: &mut Client, version: i16, topic: &str, partition: i32, offset: i64) -> anyhow::Result<(i16, i64)> {
    let partition = DeleteRecordsPartition::default().with_partition_index(partition).with_offset(offset);
    let topic = DeleteRecordsTopic::default().with_name(name(topic)).with_partitions(vec![partition]);
    let answer = client.call(version, &DeleteRecordsRequest::default().with_topics(vec![topic]).with_timeout_ms(30_000)).await?;
    let partition = &answer.topics[0].partitions[0];
    Ok((partition.error_code, partition.low_watermark))
}

#[tokio::test]
async fn deleted_records_are_gone_and_the_rest_stays_in_every_version() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    for version in client.listed(ApiKey::DeleteRecords).await? {
        let topic = format!("t{version}");
        client.create(&topic, 1).await?;
        five_records(&mut client, &topic).await?;
        assert_eq!(delete(&mut client, version, &topic, 0, 2).await?, (0, 2), "version {version}");
        assert_eq!(client.fetch(&topic, 0, 1, 1 << 20).await?.error_code, OFFSET_OUT_OF_RANGE);
        let left = client.fetch(&topic, 0, 2, 1 << 20).await?;
        assert_eq!(offsets(&left.records.expect("records")).first(), Some(&(2, 2)));
        assert_eq!(left.log_start_offset, 2);
        assert_eq!(delete(&mut client, version, &topic, 0, 1).await?, (0, 2), "what is gone is gone already");
        assert_eq!(delete(&mut client, version, &topic, 0, -1).await?, (0, 5), "up to the high watermark");
        assert_eq!(client.produce(&topic, 0, batch(&[b"f"])).await?.base_offset, 5, "offsets go on");
    }
    broker.stop().await
}

#[tokio::test]
async fn records_that_cannot_be_deleted_are_refused_by_code() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    five_records(&mut client, "topic").await?;
    for offset in [6, i64::MAX, -2, i64::MIN] {
        assert_eq!(delete(&mut client, 2, "topic", 0, offset).await?, (OFFSET_OUT_OF_RANGE, -1), "offset {offset}");
    }
    assert_eq!(delete(&mut client, 2, "topic", 1, 0).await?, (UNKNOWN_TOPIC, -1));
    assert_eq!(delete(&mut client, 2, "topic", -1, 0).await?, (UNKNOWN_TOPIC, -1));
    assert_eq!(delete(&mut client, 2, "missing", 0, 0).await?, (UNKNOWN_TOPIC, -1));
    assert_eq!(delete(&mut client, 2, "a/b", 0, 0).await?, (INVALID_TOPIC, -1));
    let compact = |topic: &mut tidegate::metadata::TopicRecord| {
        topic.config.insert("cleanup_policy".into(), "compact".into());
        Ok::<(), tidegate::Error>(())
    };
    broker.storage.alter_topic(&tidegate::types::TopicName::new("topic")?, compact).await?;
    assert_eq!(delete(&mut client, 2, "topic", 0, 1).await?, (POLICY_VIOLATION, -1));
    broker.stop().await
}

async fn list(client: &mut Client, version: i16, timestamp: i64) -> anyhow::Result<(i16, i64, i64)> {
    let partition = ListOffsetsPartition::default().with_timestamp(timestamp);
    let topic = ListOffsetsTopic::default().with_name(name("topic")).with_partitions(vec![partition]);
    let answer = client.call(version, &ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![topic])).await?;
    let partition = &answer.topics[0].partitions[0];
    Ok((partition.error_code, partition.offset, partition.timestamp))
}

#[tokio::test]
async fn special_timestamps_mean_what_they_mean_where_there_is_one_tier() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    assert_eq!(list(&mut client, 10, -3).await?, (0, -1, -1), "of an empty partition");
    five_records(&mut client, "topic").await?;
    delete(&mut client, 2, "topic", 0, 2).await?;
    assert_eq!(list(&mut client, 10, -1).await?, (0, 5, -1), "latest");
    assert_eq!(list(&mut client, 10, -2).await?, (0, 2, -1), "earliest");
    assert_eq!(list(&mut client, 10, -3).await?, (0, 2, 1_000), "the first with the largest timestamp");
    assert_eq!(list(&mut client, 10, -4).await?, (0, 2, -1), "all that is there is local");
    assert_eq!(list(&mut client, 10, -5).await?, (0, -1, -1), "nothing is elsewhere");
    for (version, timestamp) in [(6, -3), (7, -4), (8, -5), (10, -6), (10, -99)] {
        assert_eq!(list(&mut client, version, timestamp).await?.0, UNSUPPORTED_VERSION, "version {version}, timestamp {timestamp}");
    }
    broker.stop().await
}

#[tokio::test]
async fn epochs_end_where_their_records_do_in_every_version() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    five_records(&mut client, "topic").await?;
    let topic = broker.storage.topics().await?.remove(0);
    let at = tidegate::types::TopicPartition { topic: topic.id, partition: 0 };
    let epoch = broker.storage.leader_epoch(at).await? as i32;
    for version in client.listed(ApiKey::OffsetForLeaderEpoch).await? {
        let cases = [
            ("topic", 0, epoch, epoch, (0, epoch, 5)),
            ("topic", 0, -1, epoch, (0, epoch, 5)),
            ("topic", 0, -1, epoch + 1, (0, -1, -1)),
            ("topic", 0, -1, -1, (0, -1, -1)),
            ("topic", 0, -1, epoch - 1, (0, epoch - 1, 0)),
            ("topic", 0, epoch - 1, epoch, (FENCED_LEADER_EPOCH, -1, -1)),
            ("topic", 0, epoch + 1, epoch, (UNKNOWN_LEADER_EPOCH, -1, -1)),
            ("topic", 9, -1, epoch, (UNKNOWN_TOPIC, -1, -1)),
            ("missing", 0, -1, epoch, (UNKNOWN_TOPIC, -1, -1)),
        ];
        for (topic, index, current, asked, expected) in cases {
            let partition = OffsetForLeaderPartition::default().with_partition(index).with_current_leader_epoch(current);
            let topic = OffsetForLeaderTopic::default().with_topic(name(topic)).with_partitions(vec![partition.with_leader_epoch(asked)]);
            let answer = client.call(version, &OffsetForLeaderEpochRequest::default().with_topics(vec![topic])).await?;
            let found = &answer.topics[0].partitions[0];
            let found = (found.error_code, found.leader_epoch, found.end_offset);
            assert_eq!(found, expected, "version {version}, current epoch {current}, asked {asked}");
        }
    }
    broker.stop().await
}

#[tokio::test]
async fn the_store_is_the_one_log_directory_in_every_version() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 2).await?;
    client.create("other", 1).await?;
    five_records(&mut client, "topic").await?;
    let size = 5 * batch(&[b"a"]).len() as i64;
    for version in client.listed(ApiKey::DescribeLogDirs).await? {
        let named = DescribableLogDirTopic::default().with_topic(name("topic")).with_partitions(vec![0, 1, 7]);
        let missing = DescribableLogDirTopic::default().with_topic(name("missing")).with_partitions(vec![0]);
        let answer = client.call(version, &DescribeLogDirsRequest::default().with_topics(Some(vec![named, missing]))).await?;
        let [directory] = &answer.results[..] else { panic!("one directory: {answer:?}") };
        assert_eq!(directory.error_code, 0);
        let [topic] = &directory.topics[..] else { panic!("one topic: {answer:?}") };
        let sizes: Vec<(i32, i64)> = topic.partitions.iter().map(|p| (p.partition_index, p.partition_size)).collect();
        assert_eq!(sizes, [(0, size), (1, 0)], "version {version}");
        let all = client.call(version, &DescribeLogDirsRequest::default().with_topics(None)).await?;
        let names: Vec<&str> = all.results[0].topics.iter().map(|topic| topic.name.as_str()).collect();
        assert_eq!(names, ["topic"], "what this broker has open, in version {version}");
    }
    broker.stop().await
}
